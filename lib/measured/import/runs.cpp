// Medians over runs.
#include "import/runs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "import/timeline.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/plural.h"
#include "pagoda/base/statistics.h"
#include "pagoda/base/text.h"

namespace pagoda::measured::import {
namespace {

using documents::plus;

documents::Spread spread_of(const base::Summary& summary, const std::vector<double>& samples) {
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(summary.n);
  return {summary.min, summary.max, mean, static_cast<std::int64_t>(summary.n)};
}

// Length of the shortest sequence that the whole list repeats; that of the list if it repeats none. By the prefix
// function of Knuth, Morris and Pratt.
std::size_t period(const std::vector<std::size_t>& list) {
  std::vector<std::size_t> border(list.size(), 0);
  for (std::size_t i = 1; i < list.size(); ++i) {
    std::size_t length = border[i - 1];
    while (length > 0 && list[i] != list[length]) length = border[length - 1];
    border[i] = length + (list[i] == list[length] ? 1 : 0);
  }
  const std::size_t shortest = list.empty() ? 0 : list.size() - border.back();
  return shortest > 0 && list.size() % shortest == 0 ? shortest : list.size();
}

// Finds runs by the order of launches. A list of equal launches shows none: they may be layers or runs.
RunLength repeated_length(std::size_t launches, std::string_view noun,
                          const std::function<LaunchLabel(std::size_t)>& launch) {
  std::unordered_map<std::string, std::size_t> kinds;
  std::vector<std::size_t> list;
  list.reserve(launches);
  for (std::size_t i = 0; i < launches; ++i) {
    const auto [name, nvtx, detail] = launch(i);
    list.push_back(kinds.try_emplace(cat(name, "\n", nvtx, "\n", detail), kinds.size()).first->second);
  }
  const std::size_t length = period(list), runs = length > 0 ? launches / length : 1;
  if (runs > 1 && length > 1)
    return {length, cat("the same ", length, " launches follow each other in the same order ", runs,
                        " times: taken as ", runs, " runs; give ", base::field("runs", "1"), " if they are one run")};
  if (launches > 1 && runs == launches)
    return {launches, cat("the file holds ", launches, " ", noun,
                          "es of one kernel and does not say whether they are one run or ", launches,
                          "; taken as one: give ", base::field("runs", "N"), " for another number")};
  return {launches, "the file does not say how many runs of the model it holds; it is taken as one"};
}

// The first name whose launches cannot be split evenly: ": "aten::relu" comes 3 times"; empty if all can.
std::string uneven_name(std::size_t launches, std::size_t runs, const std::function<LaunchLabel(std::size_t)>& launch) {
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> counts;
  for (std::size_t i = 0; i < launches; ++i) ++counts[{launch(i).name, launch(i).nvtx}];
  for (std::size_t i = 0; i < launches; ++i)
    if (const std::size_t count = counts[{launch(i).name, launch(i).nvtx}]; count % runs != 0)
      return cat(": \"", launch(i).name, "\" comes ", base::counted(static_cast<std::int64_t>(count), "time"));
  return "";
}

// Clears impossible times.
void check_launches(std::vector<Launch>& launches, std::string_view noun, std::vector<std::string>& notes) {
  std::unordered_map<std::string, std::int64_t> lanes;
  std::vector<Stretch> stretches;
  std::vector<std::size_t> stamped;
  const auto name = [&](std::size_t i) { return std::string_view(launches[stamped[i]].kernel.name); };
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const Launch& launch = launches[i];
    if (!launch.start) continue;
    const std::int64_t lane = lanes.try_emplace(launch.stream, static_cast<std::int64_t>(lanes.size())).first->second;
    stretches.push_back({*launch.start, launch.seconds, lane, !launch.stream.empty()});
    stamped.push_back(i);
  }
  ImpossibleTimes found;
  const bool is_lost = has_lost_digits(stretches, name);
  for (Stretch& each : stretches) each.is_alone = each.is_alone && !is_lost;
  const std::size_t dependent = check_times(stretches, {.are_kernels = true}, name, found);
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    launches[stamped[i]].start = is_lost ? std::nullopt : std::optional(stretches[i].start);
    launches[stamped[i]].seconds = stretches[i].seconds;
  }
  if (is_lost) note_lost_digits(notes);
  found.note(std::string(noun), cat(noun, "es"), notes);
  note_dependent(dependent, noun, notes);
}

}  // namespace

bool outlives(double kernel_end, double range_end, double range_seconds) {
  return kernel_end > range_end + std::max(1e-6, 0.1 * range_seconds);
}

bool is_total(double seconds, double all_seconds, std::size_t rows) {
  constexpr double kRounding = 1e-5;
  return rows > 2 && seconds > 0 && std::abs(2 * seconds - all_seconds) <= kRounding * seconds;
}

void note_total(std::string_view name, std::vector<std::string>& notes) {
  notes.push_back(cat("\"", name, "\" is the sum of all others: taken as their total, and left out"));
}

void note_devices(std::size_t devices, std::vector<std::string>& notes) {
  if (devices > 1)
    notes.push_back(
        cat("the kernels ran on ", devices, " devices, which work at the same time: their sum is no latency"));
}

void note_dependent(std::size_t launches, std::string_view noun, std::vector<std::string>& notes) {
  if (launches > 0)
    notes.push_back(cat(base::counted(static_cast<std::int64_t>(launches), cat(noun, " starts"), cat(noun, "es start")),
                        " before the one ahead in the stream ends, as dependent launches do; the overlap counts once"));
}

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

RunLength launches_per_run(std::size_t launches, const ImportOptions& options, std::string_view subject,
                           std::string_view noun, const std::function<LaunchLabel(std::size_t)>& launch) {
  if (!options.runs) return repeated_length(launches, noun, launch);
  const auto runs = static_cast<std::size_t>(std::max<std::int64_t>(1, *options.runs));
  if (launches % runs != 0)
    base::fail(subject, cat("holds ", launches, " ", noun, "es, which are not ", runs, " equal runs",
                            uneven_name(launches, runs, launch)));
  const std::size_t per_run = launches / runs;
  for (std::size_t i = per_run; i < launches; ++i)
    if (const auto now = launch(i), before = launch(i % per_run); now.name != before.name || now.nvtx != before.nvtx)
      base::fail(subject, cat(noun, " ", i % per_run + 1, " of run ", i / per_run + 1, " is \"", now.name,
                              "\", of run 1 \"", before.name, "\"; the runs differ, so give another number of runs"));
  return {per_run};
}

void add_missing(documents::Measured& measured, std::initializer_list<documents::Missing> missing) {
  measured.missing.insert(measured.missing.end(), missing);
}

void accumulate(LaunchSample& sum, const LaunchSample& sample) {
  sum.seconds = plus(sum.seconds, sample.seconds);
  sum.shapes += sample.shapes;
  for (const documents::LevelField& level : documents::kLevels)
    sum.bytes.*level.bytes = plus(sum.bytes.*level.bytes, sample.bytes.*level.bytes);
  for (auto& [precision, flops] : sum.flops) flops = plus(flops, documents::amount(sample.flops, precision));
  for (const auto& [precision, flops] : sample.flops) sum.flops.try_emplace(precision);
}

documents::Measured measured_of(std::vector<Launch> launches, std::string_view noun, std::string_view subject,
                                const ImportOptions& options,
                                const std::function<LaunchSample(const Launch&)>& sample) {
  if (launches.empty()) base::fail(subject, cat("holds no ", noun, " below its header"));
  const auto [per_run, note] = launches_per_run(launches.size(), options, subject, noun, [&](std::size_t i) {
    const documents::MeasuredKernel& kernel = launches[i].kernel;
    return LaunchLabel{kernel.name, kernel.nvtx, kernel.detail};
  });
  documents::Measured measured;
  set_runs(launches.size() / per_run, options.warmup, measured);
  check_launches(launches, noun, measured.notes);
  KernelRows rows;
  std::set<std::string> agents;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const Launch& launch = launches[i];
    if (measured.device.empty()) measured.device = launch.device;
    agents.insert(launch.agent);
    LaunchSample numbers = sample(launch);
    numbers.start = launch.start;
    const documents::MeasuredKernel& kernel = launch.kernel;
    rows.add(cat(launch.agent, "\n", kernel.nvtx, "\n", kernel.name, "\n", kernel.detail), kernel, i / per_run,
             numbers);
  }
  std::move(rows).finish(measured);
  note_devices(agents.size(), measured.notes);
  if (!note.empty()) measured.notes.push_back(note);
  return measured;
}

void KernelRows::add(const std::string& key, const documents::MeasuredKernel& kernel, std::size_t run,
                     const LaunchSample& sample) {
  const auto [found, is_new] = index_.try_emplace(key, rows_.size());
  if (is_new) rows_.push_back({kernel, {}});
  Span& span = spans_[run];
  span.is_whole = span.is_whole && sample.start && sample.seconds;
  if (sample.start && sample.seconds) span.intervals.emplace_back(*sample.start, *sample.start + *sample.seconds);
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
  std::size_t uneven = 0, sizes = 0;
  for (Row& row : rows_) {
    std::erase_if(row.sums, [&](const Sum& sum) { return sum.run < first || sum.run >= last; });
    if (row.sums.empty()) continue;
    std::vector<double> seconds(last - first - row.sums.size(), 0.0), launches = seconds;
    LaunchSample total = row.sums.front().sample;
    for (const Sum& sum : row.sums) {
      if (sum.sample.seconds) seconds.push_back(*sum.sample.seconds);
      launches.push_back(static_cast<double>(sum.launches));
      if (&sum != &row.sums.front()) accumulate(total, sum.sample);
    }
    const base::Summary counts = base::summarize(launches);
    std::set<std::size_t> shapes;
    for (const Sum& sum : row.sums) shapes.insert(sum.sample.shapes);
    if (counts.min != counts.max)
      ++uneven;
    else
      sizes = std::max(sizes, shapes.size());
    documents::MeasuredKernel kernel = std::move(row.kernel);
    kernel.launches = static_cast<std::int64_t>(counts.median);
    if (std::ranges::any_of(row.sums, [](const Sum& sum) { return sum.sample.seconds.has_value(); })) {
      const base::Summary times = base::summarize(seconds);
      kernel.seconds = times.median;
      if (seconds.size() > 1) kernel.spread = spread_of(times, seconds);
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
  if (sizes > 1)
    measured.notes.push_back(cat(kRunsOfSizes, sizes,
                                 " sizes, as their shapes show: the median of a kernel is the time of none of them; "
                                 "profile runs of one size"));
  set_busy_seconds(measured);
}

void KernelRows::set_busy_seconds(documents::Measured& measured) const {
  constexpr double kNotable = 1.02, kOtherSize = 2;  // a run that takes twice as long as another
  std::vector<double> busy;
  double all = 0, covered = 0;
  for (const auto& [run, span] : spans_) {
    const auto at = static_cast<std::int64_t>(run);
    if (!span.is_whole || at < measured.warmup || at >= measured.warmup + measured.repeats) continue;
    busy.push_back(covered_seconds(span.intervals));
    covered += busy.back();
    for (const auto& [start, end] : span.intervals) all += end - start;
  }
  if (busy.empty()) return;
  const base::Summary summary = base::summarize(busy);
  measured.busy_seconds = summary.median;
  const bool is_noted =
      std::ranges::any_of(measured.notes, [](const std::string& note) { return note.starts_with(kRunsOfSizes); });
  if (summary.min > 0 && summary.max > kOtherSize * summary.min && !is_noted)
    measured.notes.push_back(cat("the runs differ: kernels run for ", base::si_seconds(summary.min),
                                 " of one, and for ", base::si_seconds(summary.max),
                                 " of another; if they are of several sizes, their median is the time of none"));
  const auto runs = static_cast<double>(busy.size());
  if (all > kNotable * covered)
    measured.notes.push_back(cat("kernels overlap: those of a run add up to ", base::si_seconds(all / runs), ", in ",
                                 base::si_seconds(covered / runs), " in which at least one runs"));
}

}  // namespace pagoda::measured::import
