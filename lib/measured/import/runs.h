// Merges the kernels of several runs of a model into one row per kernel: sums over launches, then medians over runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "pagoda/documents/measured.h"
#include "pagoda/measured/import.h"

namespace pagoda::measured::import {

struct Summary {
  double median = 0;
  documents::Spread spread;
};
// Needs at least one sample.
Summary summarize(const std::vector<double>& samples);

// Number of runs to skip at the start: as requested (at most all but one), else 1 of three or more, since the first run
// includes allocation and cold caches.
std::int64_t warmup_runs(std::int64_t runs, const ImportOptions& options);

// Measurements of one launch.
struct LaunchSample {
  std::optional<double> seconds;
  std::map<std::string, std::optional<double>> flops = {};
  documents::LevelBytes bytes = {};
};

class KernelRows {
 public:
  // Adds one launch in run `run` (0-based). Launches with the same `key` are one kernel, described by the first one's
  // `kernel`.
  void add(const std::string& key, const documents::MeasuredKernel& kernel, std::size_t run,
           const LaunchSample& sample);

  // The rows in order of their first launch, over the runs [first, last): medians of seconds, means of counters (each
  // run does the same work). Kernels not launched in these runs are left out. A number that any launch lacks is unknown
  // for its kernel. A note is added if runs launch a kernel a different number of times.
  void finish(std::size_t first, std::size_t last, documents::Measured& measured) &&;

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
