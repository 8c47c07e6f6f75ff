// The verdict on two estimates: what decides, per run, item or token, and never "faster" for bounds.
#include <algorithm>
#include <cmath>

#include "pagoda/base/cat.h"
#include "report/rows.h"

namespace pagoda::present::report {
namespace {

TrafficModel traffic_of(const EstimateDocument& estimate) {
  return estimate.roofline  ? estimate.roofline->traffic
         : estimate.traffic ? estimate.traffic->model
                            : TrafficModel::Unfused;
}

std::vector<std::string> basis_of(const EstimateDocument& estimate, TrafficModel traffic) {
  return {std::string(to_string(traffic)), documents::precision_text(estimate, traffic, estimate.precision)};
}

// `is_launched`: with one launch a kernel.
ComparedTime time_of(const EstimateDocument& estimate, TimeKind kind, bool is_launched) {
  const documents::EstimateRoofline& roofline = *estimate.roofline;
  const RooflineTotals& bound =
      estimate.training && estimate.training->time ? *estimate.training->time : roofline.totals;
  ComparedTime time{.flops = documents::real(estimate.totals.counts.flops),
                    .units = documents::real(roofline.items),
                    .are_tokens = estimate.phase.has_value(),
                    .basis = basis_of(estimate, traffic_of(estimate))};
  switch (kind) {
    case TimeKind::Bound:
      time.seconds = is_launched ? *bound.eager_seconds : bound.seconds;
      if (is_launched) time.basis.emplace_back("launched kernel by kernel");
      break;
    case TimeKind::Predicted:
      time.seconds = roofline.predicted->seconds.value_or(0);
      time.low = roofline.predicted->low, time.high = roofline.predicted->high;
      time.basis.front() = base::printable(roofline.predicted->engine);
      break;
    case TimeKind::Measured:
      time.seconds = estimate.measured->seconds;
      time.low = estimate.measured->shortest, time.high = estimate.measured->longest;
      time.basis = {base::printable(estimate.measured->source)};
      break;
  }
  return time;
}

// "float32 → int8"; once if both are alike.
std::string both(const std::string& before, const std::string& after) {
  return before == after ? before : cat(before, " → ", after);
}

// ", fused, float32 → int8".
std::string both(const std::vector<std::string>& before, const std::vector<std::string>& after) {
  std::string text;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i)
    if (!before[i].empty() || !after[i].empty()) text += ", " + both(before[i], after[i]);
  return text;
}

bool differ(double before, double after) {
  constexpr double kWorthSaying = 0.05;
  return std::abs(after - before) > kWorthSaying * std::max(before, after);
}

constexpr double kAlike = 1.005;  // factors below it print as 1.00×

// "10.8× lower".
std::string times_text(double before, double after, const char* less, const char* more) {
  const double factor = std::max(before / after, after / before);
  return factor < kAlike ? "unchanged" : cat(base::rounded(factor), "× ", after < before ? less : more);
}

std::string seconds_text(double before, double after) {
  return cat(base::si_seconds(before), " → ", base::si_seconds(after));
}

}  // namespace

TimeChange time_change(TimeKind kind, const ComparedTime& before, const ComparedTime& after) {
  const bool has_units =
      before.units.value_or(0) > 0 && after.units.value_or(0) > 0 && before.are_tokens == after.are_tokens;
  const bool is_each = has_units && (before.units != after.units ||
                                     (before.flops && after.flops && differ(*before.flops, *after.flops)));
  const double of = is_each ? *before.units : 1, to = is_each ? *after.units : 1;
  const double x = before.seconds / of, y = after.seconds / to;
  const bool has_intervals = before.low && before.high && after.low && after.high;
  const bool overlap = has_intervals && *before.low / of <= *after.high / to && *after.low / to <= *before.high / of;
  const std::string unit = !is_each ? "" : before.are_tokens ? " a token" : " an item";
  TimeChange change;
  if (kind == TimeKind::Bound)
    change.verdict = cat("lower bound", unit, " ", times_text(x, y, "lower", "higher"));
  else if (has_intervals && overlap)
    change.verdict = cat("no difference", unit, " beyond the intervals");
  else if (has_intervals)
    change.verdict = cat(times_text(x, y, "faster", "slower"), unit);
  else
    change.verdict = cat(kind == TimeKind::Predicted ? "predicted" : "measured", " time", unit, " ",
                         times_text(x, y, "lower", "higher"));
  change.times = seconds_text(x, y) + both(before.basis, after.basis);
  return change;
}

Contrast contrast(const EstimateDocument& before, const EstimateDocument& after) {
  Contrast result;
  const auto add = [&](const std::string& remark) { result.remarks.push_back(remark); };
  const EstimateCounts &x = before.totals.counts, &y = after.totals.counts;
  const auto both_have = [&](const auto& has) { return has(before) && has(after); };
  const bool is_timed =
      both_have([](const EstimateDocument& each) { return each.roofline && each.roofline->totals.seconds > 0; });
  // As in the headlines of both: launches decide where they are the limit of one.
  const Bounds bound_before = is_timed ? bounds_of(before) : Bounds(),
               bound_after = is_timed ? bounds_of(after) : Bounds();
  const bool is_launched = bound_before.launched && bound_after.launched &&
                           (bound_before.is_launch_bound() || bound_after.is_launch_bound());
  const auto counted = [&](const Count& a, const Count& b, const std::string& unit) {
    return both(cell(a, unit), cell(b, unit));
  };
  if (is_timed) {
    // One run measures one of them.
    const bool is_measured =
        before.measured && after.measured && !before.measured->at_least && !after.measured->at_least &&
        (before.measured->source != after.measured->source || before.measured->seconds != after.measured->seconds);
    const auto has_prediction = [](const EstimateDocument& each) {
      return each.roofline->predicted && each.roofline->predicted->seconds;
    };
    const auto is_below_bound = [](const EstimateDocument& each) {
      return *each.roofline->predicted->seconds < each.roofline->totals.seconds;
    };
    bool is_predicted = both_have(has_prediction);
    if (is_predicted && (is_below_bound(before) || is_below_bound(after))) {
      is_predicted = false;
      add("a prediction lies below its bound, which no run can: the bounds are compared");
    }
    const TimeKind kind = is_measured ? TimeKind::Measured : is_predicted ? TimeKind::Predicted : TimeKind::Bound;
    const auto change = [&](TimeKind of, bool with_launches) {
      return time_change(of, time_of(before, of, with_launches), time_of(after, of, with_launches));
    };
    static_cast<TimeChange&>(result) = change(kind, is_launched);
    if (kind != TimeKind::Bound) {
      const TimeChange bound = change(TimeKind::Bound, is_launched);
      add(cat(bound.verdict, ": ", bound.times));
    }
  } else {
    result.verdict = cat("work ", counted(x.flops, y.flops, operation(after.count)));
    result.times = cat("traffic ", counted(x.bytes, y.bytes, "B"),
                       both(basis_of(before, traffic_of(before)), basis_of(after, traffic_of(after))));
    std::vector<std::string> unset = before.unset;
    for (const std::string& dim : after.unset)
      if (std::ranges::find(unset, dim) == unset.end()) unset.push_back(dim);
    if (!unset.empty()) add(cat("set ", base::joined(unset, ", ", base::printable), " to compare times"));
  }
  // Under other conditions the verdict can turn round.
  const auto other = [&](std::string_view label, const std::optional<double>& a, const std::optional<double>& b,
                         const std::optional<TrafficModel>& model = std::nullopt) {
    if (!a || !b || *a <= 0 || *b <= 0) return;
    ComparedTime from = time_of(before, TimeKind::Bound, false), to = time_of(after, TimeKind::Bound, false);
    from.seconds = *a, to.seconds = *b;
    from.basis.clear(), to.basis.clear();
    if (model && basis_of(before, *model) != basis_of(after, *model))
      from.basis = {basis_of(before, *model).back()}, to.basis = {basis_of(after, *model).back()};
    const TimeChange change = time_change(TimeKind::Bound, from, to);
    add(cat(label, ": ", change.verdict, ", ", change.times));
  };
  if (is_timed) {
    const documents::EstimateRoofline &from = *before.roofline, &to = *after.roofline;
    const RooflineTotals &a = from.totals, &b = to.totals;
    const auto all_are = [&](TrafficModel model) { return traffic_of(before) == model && traffic_of(after) == model; };
    const std::string without = is_launched ? ", without launches" : "";
    if (!all_are(TrafficModel::Fused))
      other("if every kernel is fused" + without, from.fused_seconds, to.fused_seconds, TrafficModel::Fused);
    if (!all_are(TrafficModel::Unfused))
      other("if every kernel is unfused" + without, from.unfused_seconds, to.unfused_seconds, TrafficModel::Unfused);
    if (is_launched) other("captured as one graph", bound_before.graph, bound_after.graph);
    if (a.at_least || b.at_least) add("times of the modelled part");
    if (x.flops && y.flops && differ(*documents::real(x.flops), *documents::real(y.flops)))
      add(cat("work of a run ", counted(x.flops, y.flops, operation(after.count))));
  }
  for (const auto& [name, side] : {std::pair{"before", &before}, {"after", &after}})
    if (!side->cannot_run.empty())
      add(cat(name, " cannot run: ", base::printable(side->cannot_run)));
    else if (side->fit && side->fit->fits == false)
      add(cat(name, " does not fit: ", cell(side->fit->total_bytes, "B"), " of ", cell(side->fit->device_bytes, "B")));
  return result;
}

}  // namespace pagoda::present::report
