// Merges the kernels of several runs of a model into one row per kernel: sums over launches, then medians over runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pagoda/documents/measured.h"
#include "pagoda/measured/import.h"

namespace pagoda::measured::import {

// Sets how many of the runs in the source count and how many are skipped at its start: as requested (at most all but
// one), else 1 of three or more, since the first run includes allocation and cold caches.
void set_runs(std::size_t runs, const std::optional<std::int64_t>& warmup, documents::Measured& measured);
// Sets the median and the spread of whole runs from the seconds of each run in the source.
void set_run_seconds(std::vector<double> seconds, documents::Measured& measured);

struct RunLength {
  std::size_t launches = 0;  // in one run
  std::string note = {};     // how that number was found; empty: it was given
};
// The texts that distinguish kinds of launches.
struct LaunchLabel {
  std::string_view name, nvtx, detail;
};
// Splits a list of launches into equal runs: the number in `options`, else the number of times that the whole list
// repeats one sequence of different launches, else one. Throws Error if the list is not the given number of equal runs.
// `noun`: "launch" or "dispatch".
RunLength launches_per_run(std::size_t launches, const ImportOptions& options, std::string_view subject,
                           std::string_view noun, const std::function<LaunchLabel(std::size_t)>& launch);

// A range of the host that kernels outlive is no time of a run. A last kernel may end a tenth of the range behind it,
// as clocks of host and device differ, and by the microsecond to which old traces round.
bool outlives(double kernel_end, double range_end, double range_seconds);

// Whether the time is that of all other rows of a table together, given the sum over all rows.
bool is_total(double seconds, double all_seconds, std::size_t rows);
void note_total(std::string_view name, std::vector<std::string>& notes);

// Notes the launches whose overlap check_times() counted once.
void note_dependent(std::size_t launches, std::string_view noun, std::vector<std::string>& notes);
// The beginning of the note on runs whose shapes differ.
inline constexpr std::string_view kRunsOfSizes = "the runs are of ";
// Notes that several devices worked at the same time.
void note_devices(std::size_t devices, std::vector<std::string>& notes);

void add_missing(documents::Measured& measured, std::initializer_list<documents::Missing> missing);

// Measurements of one launch.
struct LaunchSample {
  std::optional<double> seconds;
  std::map<std::string, std::optional<double>> flops = {};
  documents::LevelBytes bytes = {};
  std::optional<double> start = std::nullopt;  // on the timeline of the source
  std::size_t shapes = 0;                      // hash of the shapes it worked on
};
// Adds a launch. A number that one of the two lacks is unknown in the sum.
void accumulate(LaunchSample& sum, const LaunchSample& sample);

// A launch in a table of launches.
struct Launch {
  documents::MeasuredKernel kernel = {};  // without numbers
  std::string device = {};                // empty: unknown
  std::string agent = {};                 // number of the device; empty: unknown
  std::string stream = {};                // launches of one stream follow each other; empty: unknown
  std::optional<double> start = std::nullopt, seconds = std::nullopt;
  std::map<std::string, double> counters = {};  // by the table's names
};
// Merges the launches of a table into kernels: launches with equal names, ranges and details are one kernel.
// launches_per_run() splits the table into runs. Impossible times become unknown. Throws Error if there is no launch,
// or if the runs differ.
documents::Measured measured_of(std::vector<Launch> launches, std::string_view noun, std::string_view subject,
                                const ImportOptions& options, const std::function<LaunchSample(const Launch&)>& sample);

class KernelRows {
 public:
  // Adds one launch in run `run` (0-based). Launches with the same `key` are one kernel, described by the first one's
  // `kernel`.
  void add(const std::string& key, const documents::MeasuredKernel& kernel, std::size_t run,
           const LaunchSample& sample);

  // Adds the rows in order of their first launch, over the runs that set_runs() counts: medians of seconds, means of
  // counters (each run does the same work). Leaves out kernels that these runs do not launch. Seconds are of the runs
  // in which all launches of the kernel have a time. A counter that one launch lacks is unknown. Notes say if runs
  // launch a kernel a different number of times, if runs have different sizes, and if kernels overlap.
  void finish(documents::Measured& measured) &&;

 private:
  struct Sum {
    std::size_t run = 0;
    std::int64_t launches = 0;
    LaunchSample sample;
  };
  struct Row {
    documents::MeasuredKernel kernel;
    std::vector<Sum> sums;  // one per run that launched it, in order of appearance
  };

  // A run on the timeline.
  struct Span {
    std::vector<std::pair<double, double>> intervals;
    bool is_whole = true;  // each launch has a start and a time
  };
  void set_busy_seconds(documents::Measured& measured) const;

  std::unordered_map<std::string, std::size_t> index_;
  std::vector<Row> rows_;
  std::map<std::size_t, Span> spans_;  // by run
};

}  // namespace pagoda::measured::import
