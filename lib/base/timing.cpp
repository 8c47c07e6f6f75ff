// The measuring loop: warm-up, chunks, when to stop.
#include "pagoda/base/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "pagoda/base/statistics.h"

namespace pagoda::base {
namespace {

// Chunks are long enough that decisions between them are rare, and short enough to keep to the budget.
constexpr double kChunkSeconds = 0.05;
constexpr std::int64_t kLargestChunk = 4096;
constexpr std::size_t kSettleWindow = 5;  // minimum, in runs

std::int64_t chunk(double seconds_each, double seconds_left, std::int64_t runs_left) {
  const double wanted = seconds_each > 0 ? std::min(kChunkSeconds, seconds_left) / seconds_each : kLargestChunk;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::min(wanted, double{kLargestChunk})), 1,
                                  std::max<std::int64_t>(1, runs_left));
}

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// A window is a tenth of the warm-up so far, so that slow drift is detected as well as fast drift. The first call,
// already in `warm`, is never in a window. `each` becomes the median of the last chunk.
void warm_up(const std::function<std::vector<double>(std::int64_t)>& run, const TimingOptions& options,
             std::vector<double>& warm, Timing& timing, double& each) {
  const auto left = [&] { return options.warmup_iterations - static_cast<std::int64_t>(warm.size()); };
  const bool is_counted = options.warmup_iterations > 0;
  while (is_counted ? left() > 0 : timing.warmup_seconds < options.warmup_seconds) {
    const std::vector<double> more =
        is_counted ? run(chunk(each, kChunkSeconds, left()))
                   : run(chunk(each, options.warmup_seconds - timing.warmup_seconds, options.max_iterations));
    if (more.empty()) break;
    warm.insert(warm.end(), more.begin(), more.end());
    timing.warmup_seconds += sum(more);
    each = median(more);
    const std::span<const double> after_first = std::span(warm).subspan(1);
    const std::size_t window = std::max(kSettleWindow, after_first.size() / 10);
    timing.settled = settled(after_first, window, options.settle);
    if (timing.settled && !is_counted) break;
  }
}

}  // namespace

Latency summarize_latency(std::span<const double> seconds, double half_width) {
  Latency latency;
  latency.n = static_cast<std::int64_t>(seconds.size());
  if (seconds.empty()) return latency;
  std::vector<double> sorted(seconds.begin(), seconds.end());
  std::sort(sorted.begin(), sorted.end());
  const Summary summary = summarize(seconds);
  const auto n = static_cast<double>(seconds.size());
  latency.p50 = summary.median;
  latency.p95 = summary.p95;
  latency.p99 = quantile(sorted, 0.99);
  latency.min = summary.min;
  latency.max = summary.max;
  latency.mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / n;
  double squares = 0;
  for (const double value : sorted) squares += (value - latency.mean) * (value - latency.mean);
  latency.std = sorted.size() > 1 ? std::sqrt(squares / (n - 1)) : 0;
  latency.ci95 = summary.ci95;
  const std::optional<double> half = summary.relative_half_width();
  latency.converged = half && *half <= half_width;
  const std::size_t kept = std::min(seconds.size(), kKeptSamples);
  for (std::size_t i = 0; i < kept; ++i) latency.samples.push_back(seconds[i * seconds.size() / kept]);
  return latency;
}

Timing time_runs(const std::function<std::vector<double>(std::int64_t)>& run, const TimingOptions& options) {
  Timing timing;
  std::vector<double> warm = run(1);
  if (warm.empty()) return timing;
  timing.first_call_seconds = warm.front();
  timing.warmup_seconds = warm.front();

  double each = warm.front();
  warm_up(run, options, warm, timing, each);
  timing.warmup_iterations = static_cast<std::int64_t>(warm.size());

  std::vector<double> samples;
  double spent = 0;
  // Computing the interval needs a sort, so it is checked only after the samples have grown by a tenth.
  std::size_t look_at = static_cast<std::size_t>(std::max<std::int64_t>(1, options.min_iterations));
  while (true) {
    const auto have = static_cast<std::int64_t>(samples.size());
    const bool enough = have >= options.min_iterations;
    if (have >= options.max_iterations || (enough && spent >= options.budget_seconds)) break;
    if (enough && samples.size() >= look_at) {
      const std::optional<double> half = summarize(samples).relative_half_width();
      if (half && *half <= options.half_width) break;
      look_at = samples.size() + std::max<std::size_t>(1, samples.size() / 10);
    }
    const double left = enough ? options.budget_seconds - spent : options.budget_seconds;
    const std::int64_t wanted = enough ? options.max_iterations - have : options.min_iterations - have;
    const std::vector<double> more = run(chunk(each, std::max(left, 0.0), wanted));
    if (more.empty()) break;
    samples.insert(samples.end(), more.begin(), more.end());
    spent += sum(more);
    each = median(more);
  }
  timing.latency = summarize_latency(samples, options.half_width);
  return timing;
}

std::string utc_now() {
  using namespace std::chrono;
  const auto now = floor<seconds>(system_clock::now());
  const auto day = floor<days>(now);
  const year_month_day date(day);
  const hh_mm_ss time(now - day);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", int{date.year()}, unsigned{date.month()},
                unsigned{date.day()}, static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return text;
}

}  // namespace pagoda::base
