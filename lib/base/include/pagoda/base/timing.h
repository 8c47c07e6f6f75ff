// How long a thing takes: warmed up until it settles, then repeated until the interval of the median is narrow.
//
//   Timing t = time_runs([&](std::int64_t n) { return seconds_of(n); }, {.budget_seconds = 5});
//   t.latency.p50, t.latency.ci95, t.latency.converged;
//
// The loop asks for runs in chunks and decides between them, so that deciding costs nothing inside a run.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#pragma GCC visibility push(default)
namespace pagoda::base {

struct TimingOptions {
  double budget_seconds = 10;  // of measured runs
  double half_width = 0.01;    // of the 95 % interval of the median, as a part of it: narrow enough to stop
  double warmup_seconds = 10;  // at most
  double settle = 0.02;        // how far medians of two neighbouring windows of warm-up may lie apart
  std::int64_t min_iterations = 10;
  std::int64_t max_iterations = 100000;
  std::int64_t warmup_iterations = 0;  // how many, with the first call; 0: as many as it takes to settle
};

struct Latency {
  std::int64_t n = 0;
  double p50 = 0, p95 = 0, p99 = 0, mean = 0, std = 0, min = 0, max = 0;  // seconds
  std::optional<std::array<double, 2>> ci95;                              // of the median; see statistics.h
  bool converged = false;       // the interval became as narrow as was asked for
  std::vector<double> samples;  // at most kKeptSamples, evenly spread over the run
};
inline constexpr std::size_t kKeptSamples = 200;

struct Timing {
  Latency latency;
  double first_call_seconds = 0;
  std::int64_t warmup_iterations = 0;  // the first call included
  double warmup_seconds = 0;
  bool settled = false;  // warm-up ended because it settled, not because its time was over
};

// Percentiles by linear interpolation, the standard deviation of a sample (n - 1; 0 for one).
Latency summarize_latency(std::span<const double> seconds, double half_width);

// `run(n)` makes n runs and returns the seconds of each, in order. Stops early where it returns fewer.
Timing time_runs(const std::function<std::vector<double>(std::int64_t)>& run, const TimingOptions& options);

}  // namespace pagoda::base
#pragma GCC visibility pop
