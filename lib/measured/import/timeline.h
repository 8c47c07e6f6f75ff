// Finds impossible times by comparing the stamps of a timeline. Launches of one stream follow each other, nothing lasts
// longer than its trace, and a stamp of 0 means that there is none. Impossible times become unknown, and a note counts
// them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pagoda::measured::import {

// A launch or an operator on a timeline, in seconds.
struct Stretch {
  double start = 0;
  std::optional<double> seconds = std::nullopt;  // empty: not known; below 0: ends before it starts
  std::int64_t lane = 0;                         // its stream or thread
  bool is_alone = true;                          // nothing else runs in its lane meanwhile
};

enum class Fault : std::uint8_t { Unstamped, Zero, Backward, Overlapping, TooLong };

// Counts impossible times by cause, with an example of each.
class ImpossibleTimes {
 public:
  void add(Fault fault, std::string_view name, const std::optional<double>& seconds);
  // Appends a note per cause: "1 launch has an impossible time, left unknown: … ("kern0", 1.60 s)".
  void note(const std::string& one, const std::string& several, std::vector<std::string>& notes) const;

 private:
  struct Cases {
    std::size_t count = 0;
    std::string example;
  };
  std::array<Cases, 5> cases_;  // by Fault
};

struct TimelineRules {
  double resolution = 0;                         // seconds by which rounded stamps may contradict each other
  std::optional<double> longest = std::nullopt;  // seconds that the trace lasted; empty: not known
  // Kernels of a GPU: each takes time, and a dependent launch may begin while the last blocks of the one ahead run.
  bool are_kernels = false;
};

// Whether a quarter of the launches or more start when another of their stream does. A spreadsheet that saves a table
// rounds 1867241234567 to 1.86724E+12: such stamps show neither order nor overlap.
bool has_lost_digits(const std::vector<Stretch>& stretches, const std::function<std::string_view(std::size_t)>& name);
void note_lost_digits(std::vector<std::string>& notes);

// Clears impossible seconds and adds them to `found`. A dependent launch that overlaps the one ahead starts where that
// one ends, so that the overlap counts once. Returns the number of such launches.
std::size_t check_times(std::vector<Stretch>& stretches, const TimelineRules& rules,
                        const std::function<std::string_view(std::size_t)>& name, ImpossibleTimes& found);

// Seconds covered by at least one of the intervals [start, end].
double covered_seconds(std::vector<std::pair<double, double>> intervals);

}  // namespace pagoda::measured::import
