// The verdict on a chart: that of its estimate, or of the kernels of a run.
#include <algorithm>
#include <cmath>

#include "draw/text.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "plot/draw.h"
#include "report/rows.h"

namespace pagoda::present::plot {
namespace {

using documents::EstimateDocument;

// If more than this share of the time is far from all roofs, traffic and arithmetic are not the problem.
constexpr double kFarFromRoofs = 0.5;

std::string percent(double share) { return report::share_cell(share) + " %"; }

// "Start with dense/MatMul ×12: 1.2 ms, could be 0.3 ms".
std::string heaviest_text(const Series& series) {
  const auto dot = std::ranges::find_if(series.dots, [](const Dot& each) { return !each.aggregate; });
  if (dot == series.dots.end() || dot->share <= 0) return "";
  double bound = 0;
  for (const std::size_t i : dot->items) bound += series.items[i].bound_seconds.value_or(0);
  return cat("Start with ", short_name(dot->name, 40), dot->items.size() > 1 ? cat(" ×", dot->items.size()) : "", ": ",
             base::si_seconds(dot->seconds),
             bound > 0 && bound < dot->seconds ? cat(", could be ", base::si_seconds(bound)) : "");
}

// A run with the times of its kernels. Its estimate, if any, has already said its bounds.
void add_measured(const Series& series, const documents::EstimateMeasured* known, Verdict& verdict) {
  constexpr double kWorthALine = 0.005;  // of the run, between kernels or in kernels that overlap
  const double seconds = series.whole_seconds();
  const bool is_run = std::abs(seconds - series.seconds) > kWorthALine * seconds;
  report::Measurement run{
      .seconds = seconds, .basis = series.basis, .is_least = series.is_at_least(), .has_kernels = true};
  // The estimate holds a run against the roofs of the precision that it ran in; without one, kernels have their own.
  if (known != nullptr && std::abs(known->seconds - seconds) <= kWorthALine * seconds)
    run.bound_share = known->bound_share, run.precision = known->precision;
  const bool has_bound = series.bound_seconds > 0 && !run.is_least;
  if (!run.bound_share && has_bound) run.bound_share = series.bound_seconds / seconds;
  if (verdict.ladder.empty() && has_bound) verdict.ladder.push_back({"roofs", series.bound_seconds});
  if (is_run) verdict.ladder.push_back({"kernels", series.seconds});
  report::say_measured(verdict, run);
  if (is_run && seconds > series.seconds)
    verdict.actions.push_back({cat(base::si_seconds(seconds - series.seconds), ", ",
                                   percent(1 - series.seconds / seconds), " of the run, lies between kernels")});
  else if (is_run)
    verdict.actions.push_back({cat("Kernels overlap: their times sum up to ", base::si_seconds(series.seconds))});
  double far = 0;
  for (const Item& item : series.items)
    if (item.limit == Limit::Neither) far += item.seconds.value_or(0);
  if (series.seconds > 0 && series.bound_seconds > 0 && far / series.seconds > kFarFromRoofs)
    verdict.actions.push_back({cat(percent(far / series.seconds), is_run ? " of the time in kernels" : " of the time",
                                   " is near no roof: look at kernels, threads and launches, not traffic")});
  if (const std::string text = heaviest_text(series); !text.empty()) verdict.actions.push_back({text});
}

// The bounds of a series by the roofs of the chart, if its estimate has none for this machine.
report::Bounds bounds_of(const DeviceSpec& device, const Series& series, const EstimateDocument* estimate) {
  RooflineTotals totals;
  totals.seconds = series.seconds;
  report::Bounds bounds{.seconds = series.seconds, .memory_share = series.memory_share, .device = device.name};
  if (estimate != nullptr && estimate->traffic) bounds.traffic = estimate->traffic->model;
  // Another machine launches the same kernels.
  if (estimate != nullptr && estimate->roofline && device.launch_overhead_seconds.known()) {
    totals.launches = estimate->roofline->totals.launches;
    totals.eager_seconds =
        std::max(totals.seconds, static_cast<double>(totals.launches) * *device.launch_overhead_seconds.value);
    bounds.launched = totals.eager_seconds;
  }
  bounds.graph = totals.graph_seconds();
  return bounds;
}

// The verdict on two series: on their estimates if both have one of this device, otherwise on their times.
report::TimeChange contrast_of(const Chart& chart, const Series& before, const Series& after,
                               std::vector<std::string>& remarks) {
  const auto document = [&](const Series& series) {
    const ChartEstimate* const of = chart.estimate_of(series);
    return of == nullptr ? nullptr : &of->document();
  };
  const auto is_here = [&](const Series& series) {
    const EstimateDocument* const estimate = document(series);
    return !series.has_time() && estimate != nullptr && estimate->roofline &&
           estimate->roofline->device == chart.device.id;
  };
  if (is_here(before) && is_here(after)) {
    report::Contrast contrast = report::contrast(*document(before), *document(after));
    remarks.insert(remarks.end(), contrast.remarks.begin(), contrast.remarks.end());
    return contrast;
  }
  const auto time = [&](const Series& series) {
    report::ComparedTime result{.seconds = series.whole_seconds()};
    if (series.bound_star) result.flops = series.bound_star->flops;
    const EstimateDocument* const estimate = document(series);
    if (estimate == nullptr || !estimate->roofline) return result;
    result.units = documents::real(estimate->roofline->items);
    result.are_tokens = estimate->phase.has_value();
    return result;
  };
  return report::time_change(after.has_time() ? report::TimeKind::Measured : report::TimeKind::Bound, time(before),
                             time(after));
}

}  // namespace

std::string reach_text(const Chart& chart, const Series& series) {
  std::vector<Star> stars = series.runs;
  if (stars.empty() && series.measured_star) stars.push_back(*series.measured_star);
  const bool is_bound = stars.empty();
  if (is_bound) stars = series.trajectory;
  if (is_bound && stars.empty() && series.bound_star) stars.push_back(*series.bound_star);
  if (stars.empty()) return "no place here";
  double low = INFINITY, high = 0, share_low = INFINITY, share_high = 0;
  for (const Star& star : stars) {
    low = std::min(low, star.y()), high = std::max(high, star.y());
    const double roof = chart.is_energy && chart.energy->model ? flops_per_joule(*chart.energy->model, star.x())
                                                               : attainable(chart.roofs.compute[chart.roofs.main],
                                                                            chart.roofs.bandwidth.front(), star.x());
    share_low = std::min(share_low, star.y() / roof), share_high = std::max(share_high, star.y() / roof);
  }
  const std::string last = base::si_text(high, chart.is_energy ? "FLOP/J" : "FLOP/s");
  const std::string text = stars.size() > 1 ? base::si_text(low, "") + " … " + last : last;
  if (is_bound) return (chart.is_energy ? "" : "≤ ") + text;
  if (chart.is_energy && !chart.energy->model) return text;
  const auto percent = [](double share) { return base::rounded(100 * share, 2); };
  return text + ", " + (stars.size() > 1 ? percent(share_low) + " … " : "") + percent(share_high) + "%";
}

ShortLabels short_labels(const Chart& chart) {
  // Sizes follow the name: "bert_base, batch=8, sequence=128".
  constexpr std::string_view kComma = ", ";
  std::vector<std::vector<std::string>> parts;
  parts.reserve(chart.series.size());
  for (const Series& series : chart.series) parts.push_back(base::split(series.label, kComma));
  ShortLabels result;
  if (parts.empty()) return result;
  for (std::size_t i = 1; i < parts.front().size();) {
    const std::string part = parts.front()[i];
    const bool is_common = std::ranges::all_of(
        parts, [&](const auto& own) { return std::find(own.begin() + 1, own.end(), part) != own.end(); });
    if (!is_common) {
      ++i;
      continue;
    }
    for (auto& own : parts) own.erase(std::find(own.begin() + 1, own.end(), part));
    result.common.append(kComma).append(part);
  }
  for (const auto& own : parts) result.labels.push_back(base::joined(own));
  return result;
}

std::vector<Rung> ladder_of(const Chart& chart) {
  std::vector<Rung> ladder;
  const ShortLabels names = short_labels(chart);
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    const bool is_alike = series.has_time() == chart.series.front().has_time();
    if (!is_alike || series.seconds <= 0 || series.is_at_least() || !series.runs.empty() || !series.trajectory.empty())
      return {};
    ladder.push_back({names.labels[i], series.whole_seconds()});
  }
  return ladder.size() > 1 ? ladder : std::vector<Rung>();
}

std::optional<Verdict> verdict_of(const Chart& chart) {
  if (chart.series.size() == 1) return verdict_of(chart, chart.series.front());
  if (chart.series.size() != 2 || !chart.path.empty()) return std::nullopt;
  Verdict verdict;
  verdict.ladder = ladder_of(chart);
  if (verdict.ladder.empty()) return std::nullopt;
  const Series &before = chart.series[0], &after = chart.series[1];
  const ShortLabels names = short_labels(chart);
  verdict.model = names.labels[1] + " against " + names.labels[0] + names.common;
  verdict.device = machine_text(chart);
  std::vector<std::string> remarks;
  const report::TimeChange change = contrast_of(chart, before, after, remarks);
  verdict.time = change.verdict;
  verdict.limit = change.times;
  remarks.insert(remarks.end(), chart.options.remarks.begin(), chart.options.remarks.end());
  for (std::string& remark : remarks) verdict.actions.push_back({.text = std::move(remark)});
  if (before.bound_star && after.bound_star) {
    const auto say = [](const char* name, double old, double now, const char* of) {
      return cat(name, base::si_text(old, of), " → ", base::si_text(now, of));
    };
    const Star &first = *before.bound_star, &second = *after.bound_star;
    verdict.actions.push_back(
        {say("Traffic ", first.bytes, second.bytes, "B") + ", " + say("work ", first.flops, second.flops, "FLOP")});
  }
  return verdict;
}

std::optional<Verdict> verdict_of(const Chart& chart, const Series& series) {
  const EstimateDocument* estimate = series.estimate ? &chart.estimates[*series.estimate].document() : nullptr;
  const bool is_here = estimate != nullptr && estimate->roofline && estimate->roofline->device == chart.device.id;
  const bool is_blocked = estimate != nullptr && !estimate->can_run();
  if (series.seconds <= 0 && !is_blocked) return std::nullopt;
  Verdict verdict;
  if (is_here || is_blocked) {
    verdict = report::verdict_of(*estimate).value_or(Verdict());
  } else if (!series.has_time()) {
    report::say_bounds(verdict, bounds_of(chart.device, series, estimate));
  }
  verdict.model = series.label;
  if (verdict.device.empty()) verdict.device = chart.device.name;
  if (is_blocked) return verdict;
  if (series.has_time())
    add_measured(series, is_here && estimate->measured ? &*estimate->measured : nullptr, verdict);
  else if (series.measured_star && series.trajectory.empty() && !(is_here && estimate->measured))
    // A measured point of a sweep has a size of its own.
    verdict.ladder.push_back({"measured", series.measured_star->seconds});
  if (!chart.is_energy && !series.has_time() && series.runs.size() > 1)
    verdict.actions.insert(verdict.actions.begin(),
                           {cat(count_text(series.runs.size(), "measured run", "measured runs"), ": ",
                                reach_text(chart, series), " of the roofs")});
  return verdict;
}

}  // namespace pagoda::present::plot
