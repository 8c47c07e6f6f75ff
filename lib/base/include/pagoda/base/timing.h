// Measures how long something takes: warms up until times settle, then repeats until the median's interval is narrow.
//
//   Timing t = time_runs([&](std::int64_t n) { return seconds_of(n); }, {.budget_seconds = 5});
//   t.latency.p50, t.latency.ci95, t.latency.converged;
//
// The loop requests runs in chunks and decides between chunks, so the decisions do not affect the runs.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pagoda::base {

struct TimingOptions {
  double budget_seconds = 10;  // of measured runs
  double half_width = 0.01;    // of the median's 95 % interval, as a fraction of the median: stops at this width
  double warmup_seconds = 10;  // at most
  double settle = 0.02;        // largest relative difference between the medians of two adjacent warm-up windows
  std::int64_t min_iterations = 10;
  std::int64_t max_iterations = 100000;
  std::int64_t warmup_iterations = 0;  // including the first call; 0: until settled
};

struct Latency {
  std::int64_t n = 0;
  double p50 = 0, p95 = 0, p99 = 0, mean = 0, std = 0, min = 0, max = 0;  // seconds
  std::optional<std::array<double, 2>> ci95;                              // of the median; see statistics.h
  bool converged = false;                                                 // the interval reached the requested width
  std::vector<double> samples;  // at most kKeptSamples, evenly spread over the run
};
inline constexpr std::size_t kKeptSamples = 200;

struct Timing {
  Latency latency;
  double first_call_seconds = 0;
  std::int64_t warmup_iterations = 0;  // the first call included
  double warmup_seconds = 0;
  bool settled = false;  // warm-up ended settled, not because time ran out
};

// Percentiles by linear interpolation; sample standard deviation (n - 1; 0 for a single value).
Latency summarize_latency(std::span<const double> seconds, double half_width);

// `run(n)` executes n runs and returns the seconds of each, in order. Stops early if it returns none.
Timing time_runs(const std::function<std::vector<double>(std::int64_t)>& run, const TimingOptions& options);

std::string utc_now();  // "2026-01-31T12:00:00Z"

}  // namespace pagoda::base
#pragma GCC visibility pop
