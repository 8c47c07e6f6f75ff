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

// Splits a list of launches into the number of equal runs that `options` states, and returns the launches of one run.
// `launch` gives the name and the ranges of a launch. Throws Error if the runs differ; `noun` is "launch".
std::size_t launches_per_run(std::size_t launches, const ImportOptions& options, std::string_view subject,
                             std::string_view noun,
                             const std::function<std::pair<std::string_view, std::string_view>(std::size_t)>& launch);

void add_missing(documents::Measured& measured, std::initializer_list<documents::Missing> missing);

// Measurements of one launch.
struct LaunchSample {
  std::optional<double> seconds;
  std::map<std::string, std::optional<double>> flops = {};
  documents::LevelBytes bytes = {};
};
// Adds a launch. A number that one of the two lacks is unknown in the sum.
void accumulate(LaunchSample& sum, const LaunchSample& sample);

// A launch in a table of launches.
struct Launch {
  documents::MeasuredKernel kernel = {};  // without numbers
  std::string device = {};                // empty: unknown
  std::optional<double> seconds = std::nullopt;
  std::map<std::string, double> counters = {};  // by the table's names
};
// Reads a table as runs of a model: as many equal runs as `options` states, else one. Launches with equal names, ranges
// and details are one kernel. Throws Error if there is no launch or the runs differ; `noun` is as above.
documents::Measured measured_of(const std::vector<Launch>& launches, std::string_view noun, std::string_view subject,
                                const ImportOptions& options, const std::function<LaunchSample(const Launch&)>& sample);

class KernelRows {
 public:
  // Adds one launch in run `run` (0-based). Launches with the same `key` are one kernel, described by the first one's
  // `kernel`.
  void add(const std::string& key, const documents::MeasuredKernel& kernel, std::size_t run,
           const LaunchSample& sample);

  // The rows in order of their first launch, over the runs that set_runs() counts: medians of seconds, means of
  // counters (each run does the same work). Kernels not launched in these runs are left out. A number that any launch
  // lacks is unknown for its kernel. A note is added if runs launch a kernel a different number of times.
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

  std::unordered_map<std::string, std::size_t> index_;
  std::vector<Row> rows_;
};

}  // namespace pagoda::measured::import
