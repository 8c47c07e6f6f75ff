// Kernels of several runs of a model gathered into one row a kernel: medians over runs of sums over launches.
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
// Of at least one sample.
Summary summarize(const std::vector<double>& samples);

// Runs to leave out at the start of `runs`: as asked for (at most all but one), else the first of three or more, which
// pays for allocation and caches.
std::int64_t warmup_runs(std::int64_t runs, const ImportOptions& options);

// What was measured of one launch.
struct LaunchSample {
  std::optional<double> seconds;
  std::map<std::string, std::optional<double>> flops = {};
  documents::LevelBytes bytes = {};
};

class KernelRows {
 public:
  // One launch in run `run` (0-based). Launches with one `key` are one kernel; the first one's `kernel` describes it.
  void add(const std::string& key, const documents::MeasuredKernel& kernel, std::size_t run,
           const LaunchSample& sample);

  // The rows in order of their first launch, over the runs [first, last): medians of seconds, means of counters (a run
  // does the same work each time). Kernels that no such run launched are left out. A number that one launch lacks is
  // unknown for its kernel. Where runs launch a kernel differently often, a note says so.
  void finish(std::size_t first, std::size_t last, documents::Measured& measured) &&;

 private:
  struct Sum {
    std::size_t run = 0;
    std::int64_t launches = 0;
    LaunchSample sample;
  };
  struct Row {
    documents::MeasuredKernel kernel;
    std::vector<Sum> sums;  // one a run that launched it, in order of appearance
  };

  std::unordered_map<std::string, std::size_t> index_;
  std::vector<Row> rows_;
};

}  // namespace pagoda::measured::import
