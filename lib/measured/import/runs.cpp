// Medians over runs.
#include "import/runs.h"

#include <algorithm>
#include <numeric>

#include "pagoda/base/statistics.h"

namespace pagoda::measured::import {
namespace {

// The sum is unknown if either term is.
std::optional<double> plus(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return std::nullopt;
  return *a + *b;
}

std::optional<double> divided(const std::optional<double>& value, double by) {
  if (!value) return std::nullopt;
  return *value / by;
}

void accumulate(LaunchSample& sum, const LaunchSample& sample) {
  sum.seconds = plus(sum.seconds, sample.seconds);
  for (const documents::LevelField& level : documents::kLevels)
    sum.bytes.*level.bytes = plus(sum.bytes.*level.bytes, sample.bytes.*level.bytes);
  for (auto& [precision, flops] : sum.flops)
    if (!sample.flops.contains(precision)) flops = std::nullopt;
  for (const auto& [precision, flops] : sample.flops) {
    const auto found = sum.flops.find(precision);
    if (found == sum.flops.end())
      sum.flops[precision] = std::nullopt;
    else
      found->second = plus(found->second, flops);
  }
}

}  // namespace

Summary summarize(const std::vector<double>& samples) {
  const base::Summary summary = base::summarize(samples);
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(summary.n);
  return {summary.median, {summary.min, summary.max, mean, static_cast<std::int64_t>(summary.n)}};
}

std::int64_t warmup_runs(std::int64_t runs, const ImportOptions& options) {
  const std::int64_t asked = options.warmup.value_or(runs >= 3 ? 1 : 0);
  return std::clamp<std::int64_t>(asked, 0, std::max<std::int64_t>(0, runs - 1));
}

void KernelRows::add(const std::string& key, const documents::MeasuredKernel& kernel, std::size_t run,
                     const LaunchSample& sample) {
  const auto [found, is_new] = index_.try_emplace(key, rows_.size());
  if (is_new) rows_.push_back({kernel, {}});
  std::vector<Sum>& sums = rows_[found->second].sums;
  // Runs arrive nearly in order, so search from the end.
  auto sum = std::find_if(sums.rbegin(), sums.rend(), [&](const Sum& s) { return s.run == run; });
  if (sum == sums.rend()) {
    sums.push_back({run, 1, sample});
    return;
  }
  ++sum->launches;
  accumulate(sum->sample, sample);
}

void KernelRows::finish(std::size_t first, std::size_t last, documents::Measured& measured) && {
  std::size_t uneven = 0;
  for (Row& row : rows_) {
    std::erase_if(row.sums, [&](const Sum& sum) { return sum.run < first || sum.run >= last; });
    if (row.sums.empty()) continue;
    std::vector<double> seconds(last - first - row.sums.size(), 0.0), launches = seconds;
    LaunchSample total = row.sums.front().sample;
    for (const Sum& sum : row.sums) {
      seconds.push_back(sum.sample.seconds.value_or(0));
      launches.push_back(static_cast<double>(sum.launches));
      if (&sum != &row.sums.front()) accumulate(total, sum.sample);
    }
    const Summary times = summarize(seconds), counts = summarize(launches);
    if (counts.spread.min != counts.spread.max) ++uneven;
    documents::MeasuredKernel kernel = std::move(row.kernel);
    kernel.launches = static_cast<std::int64_t>(counts.median);
    if (total.seconds) {
      kernel.seconds = times.median;
      if (last - first > 1) kernel.spread = times.spread;
    }
    const auto runs = static_cast<double>(last - first);
    for (auto& [precision, flops] : total.flops) kernel.flops[precision] = divided(flops, runs);
    for (const documents::LevelField& level : documents::kLevels)
      kernel.bytes.*level.bytes = divided(total.bytes.*level.bytes, runs);
    measured.kernels.push_back(std::move(kernel));
  }
  if (uneven > 0)
    measured.notes.push_back(std::to_string(uneven) +
                             " kernels were launched differently often in the runs; their numbers are medians");
}

}  // namespace pagoda::measured::import
