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

#include "import/timeline.h"
#include "pagoda/documents/measured.h"
#include "pagoda/measured/import.h"

namespace pagoda::measured::import {

// Sets how many of the runs in the source count and how many are skipped at its start: as requested (at most all but
// one), else 1 of three or more, since the first run includes allocation and cold caches.
void set_runs(std::size_t runs, const std::optional<std::int64_t>& warmup, documents::Measured& measured);
// Sets the median and the spread of whole runs from the seconds of each run in the source.
void set_run_seconds(std::vector<double> seconds, documents::Measured& measured);

// The launches of one run, and what to say about that number; empty: nothing.
struct RunLength {
  std::size_t launches = 0;
  std::string note = {};
};
struct LaunchLabel {
  std::string_view name, nvtx, detail;
};
// Splits a list of launches into equal runs: as many as `options` states, else as often as the whole list repeats one
// sequence of different launches, else one. Throws Error if the stated runs differ; `noun` is "launch".
RunLength launches_per_run(std::size_t launches, const ImportOptions& options, std::string_view subject,
                           std::string_view noun, const std::function<LaunchLabel(std::size_t)>& launch);

// Notes on the times that check_times() found; `noun` is as above.
void note_times(const ImpossibleTimes& found, std::size_t dependent, std::string_view noun,
                std::vector<std::string>& notes);
// Begins the note on runs whose shapes differ.
inline constexpr std::string_view kRunsOfSizes = "the runs are of ";
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
  std::string agent = {};                 // tells devices apart; empty: unknown
  std::string stream = {};                // whose launches follow each other; empty: unknown
  std::optional<double> start = std::nullopt, seconds = std::nullopt;
  std::map<std::string, double> counters = {};  // by the table's names
};
// Reads a table as runs of a model, which launches_per_run() finds. Launches with equal names, ranges and details are
// one kernel. Times that cannot be are unknown. Throws Error if there is no launch or the runs differ; `noun` is as
// above.
documents::Measured measured_of(std::vector<Launch> launches, std::string_view noun, std::string_view subject,
                                const ImportOptions& options, const std::function<LaunchSample(const Launch&)>& sample);

class KernelRows {
 public:
  // Adds one launch in run `run` (0-based). Launches with the same `key` are one kernel, described by the first one's
  // `kernel`.
  void add(const std::string& key, const documents::MeasuredKernel& kernel, std::size_t run,
           const LaunchSample& sample);

  // The rows in order of their first launch, over the runs that set_runs() counts: medians of seconds, means of
  // counters (each run does the same work). Kernels not launched in these runs are left out. A count that any launch
  // lacks is unknown for its kernel; its seconds are those of the runs whose launches all have a time. A note is added
  // if runs launch a kernel a different number of times, are of different sizes, or kernels overlap.
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
