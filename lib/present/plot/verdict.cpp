// The verdict on a chart.
#include <algorithm>
#include <cmath>

#include "draw/text.h"
#include "pagoda/base/text.h"
#include "plot/draw.h"
#include "report/rows.h"

namespace pagoda::present::plot {
namespace {

using documents::EstimateDocument;

// If more than this share of the time is far from all roofs, traffic and arithmetic are not the problem.
constexpr double kFarFromRoofs = 0.5;

std::string percent(double share) { return report::share_cell(share) + " %"; }

std::string fit_text(const documents::EstimateFit& fit, bool is_each) {
  if (!fit.fits || !fit.device_bytes) return "";
  const std::string used = report::cell(fit.total_bytes, "B"), whole = report::cell(fit.device_bytes, "B");
  std::string text = *fit.fits ? "fits: " : "does not fit: ";
  text += (fit.at_least ? "≥ " : "") + used + " of " + whole;
  if (used == whole && fit.total_bytes != fit.device_bytes)  // "141 GB of 141 GB" explains nothing
    text += " (" + report::memory_share(static_cast<double>(*fit.total_bytes), static_cast<double>(*fit.device_bytes)) +
            ")";
  return text + (is_each ? " each" : "");
}

std::string advice_text(const documents::EstimateAdvice& advice, double now) {
  const std::string gain = base::rounded(advice.gain) + "×", to = base::si_seconds(advice.seconds);
  if (advice.traffic) return "Fuse: " + base::si_seconds(now) + " → " + to + " (" + gain + ").";
  if (advice.precision)
    return "Compute in " + std::string(to_string(*advice.precision)) + ": " + base::si_seconds(now) + " → " + to +
           " (" + gain + ").";
  return "Batch " + base::grouped(advice.batch.value_or(1)) + ": " + gain + " less time an item, " + to + " a run.";
}

// "Largest: dense/MatMul ×12, 8.36 % of the time".
std::string heaviest_text(const Series& series) {
  const auto dot = std::ranges::find_if(series.dots, [](const Dot& each) { return !each.aggregate; });
  if (dot == series.dots.end() || dot->share <= 0) return "";
  const std::string name =
      short_name(dot->name, 40) + (dot->items.size() > 1 ? " ×" + std::to_string(dot->items.size()) : "");
  if (!series.has_time()) return "Largest: " + name + ", " + percent(dot->share) + " of the time.";
  double bound = 0;
  for (const std::size_t i : dot->items) bound += series.items[i].bound_seconds.value_or(0);
  return "Start with " + name + ": " + base::si_seconds(dot->seconds) +
         (bound > 0 && bound < dot->seconds ? ", could be " + base::si_seconds(bound) : "") + ".";
}

void add_measured(const Chart& chart, const Series& series, Verdict& verdict) {
  constexpr double kWorthALine = 0.005;  // of the run, between kernels or in kernels that overlap
  const double seconds = series.whole_seconds(), share = series.bound_seconds / seconds;
  const bool is_run = std::abs(seconds - series.seconds) > kWorthALine * seconds;
  verdict.time = base::si_seconds(seconds) + " measured";
  if (is_run && seconds > series.seconds)
    verdict.actions.push_back(base::si_seconds(seconds - series.seconds) + ", " +
                              percent(1 - series.seconds / seconds) + " of the run, lies between kernels.");
  else if (is_run)
    verdict.actions.push_back("Kernels overlap: their times sum up to " + base::si_seconds(series.seconds) + ".");
  if (series.bound_seconds <= 0) return;
  verdict.bound =
      percent(std::min(1.0, share)) + " of what " + (chart.device.kind == "cpu" ? "this CPU" : "its roofs") + " can do";
  verdict.ladder = {{"roofs", series.bound_seconds}};
  if (is_run) verdict.ladder.push_back({"kernels", series.seconds});
  verdict.ladder.push_back({"measured", seconds});
  double far = 0;
  for (const Item& item : series.items)
    if (item.limit == Limit::Neither) far += item.seconds.value_or(0);
  if (far / series.seconds > kFarFromRoofs)
    verdict.actions.push_back(percent(far / series.seconds) +
                              std::string(is_run ? " of the time in kernels" : " of the time") +
                              " is near no roof: look at kernels, threads and launches, not traffic.");
}

void add_estimated(const Series& series, const EstimateDocument& estimate, Verdict& verdict) {
  const auto& roofline = estimate.roofline;
  const bool is_step = estimate.training && estimate.training->time;
  const RooflineTotals* totals = !roofline ? nullptr : is_step ? &*estimate.training->time : &roofline->totals;
  const double seconds = totals != nullptr && totals->seconds > 0 ? totals->seconds : series.seconds;
  const bool at_least = totals != nullptr && totals->at_least;
  verdict.time = "at least " + base::si_seconds(seconds) + (at_least ? " for what is modelled" : "");
  if (roofline && !is_step)
    verdict.bound = report::split_text(*roofline);
  else
    verdict.bound = report::split_text(series.memory_share, series.latency_share);
  const bool is_fused = roofline && roofline->traffic != TrafficModel::Unfused;
  verdict.ladder.push_back({is_fused ? "fused" : "unfused", seconds});
  for (const documents::EstimateAdvice& advice : estimate.advice) {
    if (advice.traffic) verdict.ladder.push_back({"fused", advice.seconds});
    verdict.actions.push_back(advice_text(advice, seconds));
  }
  if (totals != nullptr && totals->floor_seconds > 0) verdict.ladder.push_back({"floor", totals->floor_seconds});
  if (roofline && roofline->predicted) verdict.ladder.push_back({"predicted", *roofline->predicted->seconds});
  // A measured point of a sweep has a size of its own.
  if (series.measured_star && series.trajectory.empty())
    verdict.ladder.push_back({"measured", series.measured_star->seconds});
  else if (estimate.measured)
    verdict.ladder.push_back({"measured", estimate.measured->seconds});
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

std::string Verdict::headline(std::string_view separator) const {
  std::string text = model + " on " + device;
  text.append(separator.empty() ? ": " : separator).append(time);
  if (!bound.empty()) text += ", " + bound;
  if (!fit.empty()) text.append(separator.empty() ? "; " : separator).append(fit);
  return text;
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
    if (!is_alike || series.seconds <= 0 || !series.runs.empty() || !series.trajectory.empty()) return {};
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
  verdict.time = (after.has_time() ? "" : "at least ") + base::si_seconds(after.whole_seconds()) + " instead of " +
                 base::si_seconds(before.whole_seconds());
  const double factor = before.whole_seconds() / after.whole_seconds();
  verdict.bound = factor > 1.005   ? base::rounded(factor) + "× faster"
                  : factor < 0.995 ? base::rounded(1 / factor) + "× slower"
                                   : "no change";
  if (before.bound_star && after.bound_star) {
    const auto say = [](const char* what, double from, double to, const char* unit) {
      return std::string(what) + base::si_text(from, unit) + " → " + base::si_text(to, unit);
    };
    const Star &from = *before.bound_star, &to = *after.bound_star;
    verdict.actions.push_back(say("Traffic ", from.bytes, to.bytes, "B") + ", " +
                              say("work ", from.flops, to.flops, "FLOP") + ".");
  }
  verdict.actions.push_back("Memory bounds " + percent(before.memory_share) + " of the time before, " +
                            percent(after.memory_share) + " after.");
  return verdict;
}

std::optional<Verdict> verdict_of(const Chart& chart, const Series& series) {
  if (series.seconds <= 0) return std::nullopt;
  Verdict verdict;
  const EstimateDocument* estimate = series.estimate ? &chart.estimates[*series.estimate].document() : nullptr;
  const bool is_here = estimate != nullptr && estimate->roofline && estimate->roofline->device == chart.device.id;
  verdict.model = series.label;
  const std::int64_t devices = is_here ? device_count(chart.estimates[*series.estimate], chart) : 1;
  if (devices > 1) verdict.device = base::grouped(devices) + " × ";
  verdict.device += is_here ? report::device_text(*estimate->roofline) : chart.device.name;
  if (is_here && estimate->roofline->precision)
    verdict.device += " (" + std::string(to_string(*estimate->roofline->precision)) + ")";
  if (series.has_time())
    add_measured(chart, series, verdict);
  else if (is_here)
    add_estimated(series, *estimate, verdict);
  else
    add_estimated(series, EstimateDocument{}, verdict);
  if (!chart.is_energy && !series.has_time() && series.runs.size() > 1)
    verdict.actions.insert(verdict.actions.begin(), count_text(series.runs.size(), "measured run", "measured runs") +
                                                        ": " + reach_text(chart, series) + " of the roofs.");
  if (is_here && estimate->fit) verdict.fit = fit_text(*estimate->fit, devices > 1);
  if (const std::string text = heaviest_text(series); !text.empty()) verdict.actions.push_back(text);
  return verdict;
}

}  // namespace pagoda::present::plot
