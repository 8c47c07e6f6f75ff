// Medians over runs.
#include "import/runs.h"

#include <algorithm>
#include <numeric>

#include "pagoda/base/cat.h"
#include "pagoda/base/plural.h"
#include "pagoda/base/statistics.h"

namespace pagoda::measured::import {
namespace {

using documents::plus;

documents::Spread spread_of(const base::Summary& summary, const std::vector<double>& samples) {
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(summary.n);
  return {summary.min, summary.max, mean, static_cast<std::int64_t>(summary.n)};
}

}  // namespace

void set_runs(std::size_t runs, const std::optional<std::int64_t>& warmup, documents::Measured& measured) {
  const auto all = static_cast<std::int64_t>(std::max<std::size_t>(1, runs));
  measured.warmup = std::clamp<std::int64_t>(warmup.value_or(all >= 3 ? 1 : 0), 0, all - 1);
  measured.repeats = all - measured.warmup;
}

void set_run_seconds(std::vector<double> seconds, documents::Measured& measured) {
  seconds.erase(seconds.begin(), seconds.begin() + measured.warmup);
  const base::Summary summary = base::summarize(seconds);
  measured.seconds = summary.median;
  if (seconds.size() > 1) measured.spread = spread_of(summary, seconds);
}

std::size_t launches_per_run(std::size_t launches, const ImportOptions& options, std::string_view subject,
                             std::string_view noun,
                             const std::function<std::pair<std::string_view, std::string_view>(std::size_t)>& launch) {
  const auto runs = static_cast<std::size_t>(std::max<std::int64_t>(1, options.runs.value_or(1)));
  if (launches % runs != 0)
    base::fail(subject, cat("holds ", launches, " ", noun, "es, which are not ", runs, " equal runs"));
  const std::size_t per_run = launches / runs;
  for (std::size_t i = per_run; i < launches; ++i)
    if (const auto now = launch(i), before = launch(i % per_run); now != before)
      base::fail(subject, cat(noun, " ", i % per_run + 1, " of run ", i / per_run + 1, " is \"", now.first,
                              "\", of run 1 \"", before.first, "\"; the runs differ, so give another number of runs"));
  return per_run;
}

void add_missing(documents::Measured& measured, std::initializer_list<documents::Missing> missing) {
  measured.missing.insert(measured.missing.end(), missing);
}

void accumulate(LaunchSample& sum, const LaunchSample& sample) {
  sum.seconds = plus(sum.seconds, sample.seconds);
  for (const documents::LevelField& level : documents::kLevels)
    sum.bytes.*level.bytes = plus(sum.bytes.*level.bytes, sample.bytes.*level.bytes);
  for (auto& [precision, flops] : sum.flops) flops = plus(flops, documents::amount(sample.flops, precision));
  for (const auto& [precision, flops] : sample.flops) sum.flops.try_emplace(precision);
}

documents::Measured measured_of(const std::vector<Launch>& launches, std::string_view noun, std::string_view subject,
                                const ImportOptions& options,
                                const std::function<LaunchSample(const Launch&)>& sample) {
  if (launches.empty()) base::fail(subject, cat("holds no ", noun, " below its header"));
  const std::size_t per_run = launches_per_run(launches.size(), options, subject, noun, [&](std::size_t i) {
    return std::pair<std::string_view, std::string_view>(launches[i].kernel.name, launches[i].kernel.nvtx);
  });
  documents::Measured measured;
  set_runs(launches.size() / per_run, options.warmup, measured);
  KernelRows rows;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const documents::MeasuredKernel& kernel = launches[i].kernel;
    if (measured.device.empty()) measured.device = launches[i].device;
    rows.add(cat(kernel.nvtx, "\n", kernel.name, "\n", kernel.detail), kernel, i / per_run, sample(launches[i]));
  }
  std::move(rows).finish(measured);
  if (!options.runs)
    measured.notes.emplace_back("the file does not say how many runs of the model it holds; it is taken as one");
  return measured;
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

void KernelRows::finish(documents::Measured& measured) && {
  const auto first = static_cast<std::size_t>(measured.warmup),
             last = first + static_cast<std::size_t>(measured.repeats);
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
    const base::Summary times = base::summarize(seconds), counts = base::summarize(launches);
    if (counts.min != counts.max) ++uneven;
    documents::MeasuredKernel kernel = std::move(row.kernel);
    kernel.launches = static_cast<std::int64_t>(counts.median);
    if (total.seconds) {
      kernel.seconds = times.median;
      if (last - first > 1) kernel.spread = spread_of(times, seconds);
    }
    const auto mean = [&](const std::optional<double>& sum) {
      return sum ? std::optional(*sum / static_cast<double>(last - first)) : std::nullopt;
    };
    for (const auto& [precision, flops] : total.flops) kernel.flops[precision] = mean(flops);
    for (const documents::LevelField& level : documents::kLevels)
      kernel.bytes.*level.bytes = mean(total.bytes.*level.bytes);
    measured.kernels.push_back(std::move(kernel));
  }
  if (uneven > 0)
    measured.notes.push_back(cat(base::counted(uneven, "kernel was", "kernels were"),
                                 " launched differently often in the runs; numbers are medians"));
}

}  // namespace pagoda::measured::import
