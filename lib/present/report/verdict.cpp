#include "report/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "pagoda/core/decoder.h"
#include "pagoda/core/parallel.h"
#include "pagoda/estimate/measured_runs.h"
#include "report/rows.h"

namespace pagoda::present {
namespace report {
namespace {

using documents::AdviceKind;
using documents::EstimateAdvice;
using documents::EstimateFit;
using documents::EstimatePoint;
using documents::EstimateRoofline;
using documents::EstimateSweep;
using documents::EstimateVariant;

using Named = std::pair<std::string_view, std::string_view>;

// clang-format off
constexpr std::array<Named, 19> kSentences = {{
    {"bound",     "{time} {what} ({others})"},
    {"least",     "≥ {time} {what} ({others})"},
    {"part",      "≥ {time} {what} for what is modelled ({others})"},
    {"floor",     "floor {time}"},
    {"other",     "{time} {what}"},
    {"launched",  "launch-bound: ≥ {launched}; {time} as a {graph}"},
    {"once",      "launch-bound: ≥ {launched}"},
    {"limit",     "{limit}-bound for {share} % of the time"},
    {"fits",      "fits: {part}"},
    {"misfit",    "does not fit: {part}"},
    {"unset",     "set {dims} first"},
    {"table",     "cannot run: {table}"},
    {"rate",      "at most {rate}"},
    {"rates",     "at most {rate}; {graph_rate} as a {graph}"},
    {"graph",     "Capture a {graph}: {from} → {to}"},
    {"fuse",      "Fuse: {from} → {to}"},
    {"precision", "Compute in {precision}: {from} → {to}"},
    {"batch",     "Batch {batch}: {rate}, {time} a {run}"},
    {"cure",      "To fit: {how}, {time} a run"}}};
constexpr std::array<Named, 3> kGraphs = {{{"NVIDIA", "CUDA graph"}, {"AMD Instinct", "HIP graph"}, {"", "single graph"}}};
// clang-format on

std::string_view sentence(std::string_view name) { return std::ranges::find(kSentences, name, &Named::first)->second; }

std::string part_of_time(double share) { return base::rounded(100 * share, 2); }

// A time without its unit, as long as all have that of the first: "2.10 ms (1.24; 826 µs)", "34.0 ms (826 µs; 1.24
// ms)".
std::string beside(double seconds, std::string& first) {
  std::string text = base::si_seconds(seconds);
  const std::size_t blank = std::min(text.size(), text.rfind(' '));
  if (first.ends_with(text.substr(blank)))
    text.resize(blank);
  else
    first = "another";
  return text;
}

// Traffic takes longer than arithmetic there. A launch is no part of a bound, so that it limits none.
bool is_memory_bound(const RowBound& kernel) {
  return kernel.bound == Bound::Memory ||
         (kernel.bound == Bound::Latency && kernel.memory_seconds > kernel.compute_seconds);
}

// The kernels' share of time in traffic. Nodes in fused kernels have no own bound.
double memory_share_of(const EstimateDocument& estimate) {
  double memory = 0, all = 0;
  const auto add = [&](const RowBound& kernel) {
    all += kernel.seconds;
    if (is_memory_bound(kernel)) memory += kernel.seconds;
  };
  if (estimate.training && estimate.training->time)
    for (const auto& row : estimate.training->rows) add(row.bound);
  else
    std::ranges::for_each(estimate.roofline->groups.empty() ? estimate.roofline->rows : estimate.roofline->groups, add);
  return all > 0 ? memory / all : 0;
}

std::string fit_text(const EstimateFit& fit, bool is_each) {
  if (!fit.fits || !fit.device_bytes || !fit.total_bytes) return "";
  const std::string used = cell(Count(*fit.total_bytes), "B"), whole = cell(fit.device_bytes, "B");
  std::string part = cat(fits_bytes(fit), " of ", whole);
  if (used == whole && *fit.total_bytes != *fit.device_bytes)  // "141 GB of 141 GB" explains nothing
    part += cat(" (", memory_share(static_cast<double>(*fit.total_bytes), static_cast<double>(*fit.device_bytes)), ")");
  return said(sentence(*fit.fits ? "fits" : "misfit"), {{"part", part + (is_each ? " each" : "")}});
}

}  // namespace

double items_kept(const EstimateDocument& estimate) {
  const double items = documents::real(estimate.roofline->items).value_or(1);
  if (!estimate.phase || !estimate.phase->speculated) return items;
  const auto& speculated = *estimate.phase->speculated;
  return items * speculated.tokens_per_step / static_cast<double>(speculated.tokens + 1);
}

namespace {

Action advised(const EstimateAdvice& advice, const EstimateDocument& estimate, const Bounds& bounds) {
  const std::string to = base::si_seconds(advice.seconds);
  const Values times = {{"from", base::si_seconds(advice.seconds * advice.gain)},
                        {"to", to},
                        {"graph", graph_name(bounds.device)},
                        {"precision", advice.precision ? std::string(to_string(*advice.precision)) : ""}};
  Action action{.gain = advice.gain, .request = advice.change, .lowers_bound = true};
  if (advice.kind == AdviceKind::Fit) {
    const std::string how = advice.precision ? cat("compute in ", to_string(*advice.precision))
                            : advice.batch   ? cat("batch ", base::grouped(*advice.batch))
                                             : cat(base::grouped(advice.devices.value_or(1)), " devices");
    return {.text = said(sentence("cure"), {{"how", how}, {"time", to}}), .request = advice.change};
  }
  if (advice.kind == AdviceKind::Launch)
    return {.text = said(sentence("graph"), times), .gain = advice.gain, .lowers_bound = true};
  if (!advice.batch) {
    action.text = said(sentence(advice.precision ? "precision" : "fuse"), times);
    return action;
  }
  const bool has_items = estimate.roofline->items.has_value();
  action.of_what = has_items ? rate_unit(estimate) : "items/s";
  const double now = std::max(bounds.seconds, bounds.launched.value_or(0));
  // Without items of its own, a run of the larger batch has that many.
  const double rate =
      has_items ? items_kept(estimate) / now * advice.gain : static_cast<double>(*advice.batch) / advice.seconds;
  action.text = said(sentence("batch"), {{"batch", base::grouped(*advice.batch)},
                                         {"rate", rate_text(rate, action.of_what)},
                                         {"time", to},
                                         {"run", estimate.phase ? "step" : "run"}});
  if (advice.needs_export) action.text += ", after an export with a free batch";
  return action;
}

// Times of advice include launches. Where those are the limit, a graph comes first: without advice on it, the sentence
// follows from the bounds.
void add_advice(Verdict& verdict, const EstimateDocument& estimate, const Bounds& bounds) {
  std::vector<EstimateAdvice> advice = estimate.advice;
  if (bounds.gains_from_graph() && std::ranges::find(advice, AdviceKind::Launch, &EstimateAdvice::kind) == advice.end())
    advice.push_back({.kind = AdviceKind::Launch, .seconds = bounds.graph, .gain = *bounds.launched / bounds.graph});
  std::ranges::stable_sort(advice, std::greater(), &EstimateAdvice::gain);
  std::ranges::stable_sort(advice, {},
                           [](const EstimateAdvice& each) { return std::min(each.kind, AdviceKind::Traffic); });
  for (const EstimateAdvice& each : advice) verdict.actions.push_back(advised(each, estimate, bounds));
}

constexpr std::string_view kKernelsAndLaunches = "kernels and launches";

// Time above a bound that is far below says nothing about traffic and arithmetic: advice on them would mislead.
void say_gap(Verdict& verdict, double seconds, double bound, std::string_view of, std::string_view look_at,
             bool is_explained = false) {
  std::erase_if(verdict.actions, [](const Action& action) { return action.is_gap; });  // of the prediction
  if (bound <= 0 || seconds < estimate::kFarAboveBound * bound) return;
  std::erase_if(verdict.actions, [](const Action& action) { return action.lowers_bound; });
  if (is_explained) return;
  verdict.actions.push_back({.text = cat("Look at ", look_at, " first: ", base::si_seconds(seconds - bound), " of the ",
                                         of, " lie above the bound"),
                             .is_gap = true});
}

void say_predicted(Verdict& verdict, const EstimateRoofline& roofline, const Bounds& bounds) {
  const documents::EstimatePrediction& predicted = *roofline.predicted;
  const Rung rung{"predicted", *predicted.seconds, predicted.low, predicted.high};
  verdict.ladder.push_back(rung);
  const std::string time = base::si_seconds(rung.seconds);
  verdict.time = cat(time, " predicted");
  if (rung.low && rung.high) verdict.time += time_text(rung).substr(time.size());
  if (bounds.seconds <= 0) return;
  verdict.limit = cat(base::rounded(rung.seconds / bounds.seconds, 2), "× the bound");
  say_gap(verdict, rung.seconds, bounds.seconds, "prediction", kKernelsAndLaunches);
}

// "batch=8, sequence=384", without the dims of a sweep.
std::string model_text(const EstimateDocument& estimate) {
  std::string text = estimate::short_model_name(estimate);
  for (const auto& [dim, size] : estimate.bindings)
    if (!estimate.sweep || std::ranges::find(estimate.sweep->dims, dim) == estimate.sweep->dims.end())
      text += cat(", ", dim, "=", size ? std::to_string(*size) : "1 (free)");
  return base::printable(text);
}

// Seconds of a point, of the best source: measured, else predicted, else the bound with its launches.
std::optional<double> seconds_of(const EstimateSweep& sweep, const EstimatePoint& point) {
  if (sweep.has_measurements) return point.measured_seconds;
  if (sweep.has_predictions) return point.predicted_seconds;
  if (!point.time || point.time->seconds <= 0) return std::nullopt;
  return std::max(point.time->seconds, point.time->eager_seconds.value_or(0));
}

bool fits(const EstimateSweep& sweep, const EstimatePoint& point) {
  return !sweep.device_bytes || !point.memory_bytes || *point.memory_bytes <= *sweep.device_bytes;
}

void say_sweep(Verdict& verdict, const EstimateDocument& estimate) {
  const EstimateSweep& sweep = *estimate.sweep;
  verdict.subject = "sweep";
  const char* const said_by = sweep.has_measurements ? " measured" : sweep.has_predictions ? " predicted" : "";
  const std::string dim = base::printable(sweep.dims.front());
  if (const std::optional<Knee> knee = knee_of(sweep)) {
    const std::string rate = rate_text(knee->rate / knee->share, estimate.phase ? "tokens/s" : "items/s");
    verdict.time = knee_text(sweep, *knee);
    verdict.rate = *said_by == '\0' ? said(sentence("rate"), {{"rate", rate}}) : rate + said_by;
    for (const EstimatePoint& point : sweep.points)
      if (!fits(sweep, point)) {
        verdict.limit = cat("from ", dim, " ", base::grouped(point.sizes.front()), " on it does not fit");
        break;
      }
    return;
  }
  // Without a rate, or over several dims: the shortest and the longest run.
  std::vector<std::pair<double, const EstimatePoint*>> times;
  for (const EstimatePoint& point : sweep.points)
    if (const auto seconds = seconds_of(sweep, point); seconds && fits(sweep, point))
      times.emplace_back(*seconds, &point);
  if (times.empty()) {
    const auto large =
        std::ranges::find_if(sweep.points, [&](const EstimatePoint& point) { return !fits(sweep, point); });
    verdict.time = "no time of the sweep is known";
    if (large != sweep.points.end())
      verdict.time = cat("none of its sizes fits: ", dim, " ", base::grouped(large->sizes.front()), " takes ",
                         cell(large->memory_bytes, "B"), " of ", cell(sweep.device_bytes, "B"));
    return;
  }
  const auto text = [&](const std::pair<double, const EstimatePoint*>& each) {
    std::vector<std::string> sizes;
    for (std::size_t i = 0; i < sweep.dims.size(); ++i)
      sizes.push_back(cat(base::printable(sweep.dims[i]), " ", base::grouped(each.second->sizes[i])));
    return cat(base::si_seconds(each.first), said_by, " at ", base::joined(sizes));
  };
  const auto [least, most] = std::ranges::minmax_element(times);
  verdict.time = text(*least);
  if (least != most) verdict.limit = text(*most);
}

// The fastest of several devices, precisions or traffic models, and the next.
void say_variants(Verdict& verdict, const EstimateDocument& estimate) {
  const std::vector<EstimateVariant>& all = estimate.variants;
  const auto seconds = [&](const EstimateVariant& each) {
    if (each.predicted && each.predicted->seconds) return each.predicted->seconds;
    return documents::compared_seconds(all, each);
  };
  const auto differs = [&](auto key) {
    return std::ranges::any_of(
        all, [&](const EstimateVariant& each) { return std::invoke(key, each) != std::invoke(key, all.front()); });
  };
  const bool of_device = differs(&EstimateVariant::device), of_count = differs(&EstimateVariant::devices),
             of_precision = differs(&EstimateVariant::precision), of_traffic = differs(&EstimateVariant::traffic);
  std::vector<const EstimateVariant*> known;
  for (const EstimateVariant& each : all)
    if (each.refused.empty() && each.fits.value_or(true) && seconds(each)) known.push_back(&each);
  verdict.subject = "fastest";
  if (known.empty()) {
    const bool is_small = std::ranges::any_of(all, [](const auto& each) { return each.fits == false; });
    verdict.is_blocked = is_small;
    verdict.subject = is_small ? "fits" : "time";
    (is_small ? verdict.fit : verdict.time) = is_small ? "does not fit any of them" : "no time is known";
    return;
  }
  // Where launches are the limit of several, a graph makes the difference.
  std::ranges::stable_sort(
      known, {}, [&](const EstimateVariant* each) { return std::pair(*seconds(*each), each->seconds.value_or(0)); });
  const bool names_device = of_device || of_count || !of_precision;
  const auto text = [&](const EstimateVariant& each) {
    std::vector<std::string> parts;
    if (names_device) parts.push_back((of_count ? cat(each.devices(), " × ") : "") + base::printable(each.device));
    if (of_precision) parts.push_back(documents::precision_text(estimate, each.traffic, each.precision));
    if (of_traffic) parts.emplace_back(to_string(each.traffic));
    const std::string time = base::si_seconds(*seconds(each));
    return cat(base::joined(parts), ": ", each.predicted ? cat(time, " predicted") : cat("≥ ", time),
               !each.predicted && *seconds(each) > kWorthALine * *each.seconds ? " launched" : "");
  };
  verdict.time = cat(names_device ? "fastest on " : "fastest in ", text(*known.front()));
  if (known.size() > 1)
    verdict.limit = cat("then ", text(*known[1]), " (", base::rounded(*seconds(*known[1]) / *seconds(*known[0])), "×)");
}

}  // namespace

std::string fits_bytes(const EstimateFit& fit) {
  if (fit.fits.value_or(false) && fit.most_bytes) return cat("at most ", cell(fit.most_bytes, "B"));
  return cell(fit.total_bytes.at_least(fit.at_least), "B");
}

std::string graph_name(std::string_view device) {
  return std::string(
      std::ranges::find_if(kGraphs, [&](const Named& each) { return device.starts_with(each.first); })->second);
}

Bounds bounds_of(const EstimateDocument& estimate) {
  const EstimateRoofline& roofline = *estimate.roofline;
  const bool is_step = estimate.training && estimate.training->time;
  const RooflineTotals& totals = is_step ? *estimate.training->time : roofline.totals;
  Bounds bounds{.seconds = totals.seconds,
                .traffic = roofline.traffic,
                .launched = totals.eager_seconds,
                .graph = totals.graph_seconds(),
                .memory_share = memory_share_of(estimate),
                .is_least = totals.at_least,
                .is_part = estimate.totals.partial || totals.unknown_rows > 0,
                .device = roofline.device_name};
  if (totals.floor_seconds > 0) bounds.floor = totals.floor_seconds;
  if (is_step) return bounds;  // the other bounds are of the forward pass
  bounds.fused = roofline.fused_seconds;
  bounds.unfused = roofline.unfused_seconds;
  return bounds;
}

std::string said(std::string_view sentence, const Values& values) {
  std::string text(sentence);
  for (const auto& [name, value] : values) {
    const std::string hole = cat("{", name, "}");
    if (const std::size_t at = text.find(hole); at != std::string::npos) text.replace(at, hole.size(), value);
  }
  if (text.ends_with(" ()")) text.resize(text.size() - 3);
  return text;
}

std::span<const std::pair<std::string_view, std::string_view>> sentences() { return kSentences; }

std::string time_text(const Rung& rung) {
  const std::string time = base::si_seconds(rung.seconds);
  if (!rung.low || !rung.high) return time;
  std::string first = time;
  const std::string low = beside(*rung.low, first), high = beside(*rung.high, first);
  if (first == time) return cat(time, " (", low, "–", high, ")");
  return cat(time, " (", base::si_seconds(*rung.low), " – ", base::si_seconds(*rung.high), ")");
}

std::string Action::sentence() const {
  if (!gain) return text + ".";
  return cat(text, " (", base::rounded(*gain), "×", of_what.empty() ? " lower bound" : " the ", of_what, ").");
}

std::vector<Verdict::Part> Verdict::parts() const {
  std::vector<Part> parts;
  const auto add = [&](std::string_view name, std::string_view separator, const std::string& text) {
    if (!text.empty()) parts.push_back({name, parts.empty() ? "" : separator, &text});
  };
  if (is_blocked) add("fit", "", fit);
  add("time", "; ", time);
  add("bound", ", ", limit);
  add("rate", ", ", rate);
  if (!is_blocked) add("fit", "; ", fit);
  return parts;
}

std::string Verdict::headline() const {
  std::string text;
  for (const Part& part : parts()) text.append(part.separator).append(*part.text);
  return text;
}

std::string Verdict::headline(std::string_view separator) const {
  return base::joined(parts(), separator, [](const Part& part) { return *part.text; });
}

bool Bounds::is_launch_bound() const { return launched && seconds > 0 && *launched > kWorthALine * seconds; }

bool Bounds::gains_from_graph() const { return is_launch_bound() && *launched > kWorthALine * graph; }

void say_bounds(Verdict& verdict, const Bounds& bounds) {
  const std::string time = base::si_seconds(bounds.seconds), what(to_string(bounds.traffic));
  const std::pair<TrafficModel, std::optional<double>> others[] = {{TrafficModel::Fused, bounds.fused},
                                                                   {TrafficModel::Unfused, bounds.unfused}};
  std::string beside_it, first = time;
  const auto add = [&](std::string_view name, double seconds, std::string_view traffic) {
    beside_it += (beside_it.empty() ? "" : "; ") +
                 said(sentence(name), {{"time", beside(seconds, first)}, {"what", std::string(traffic)}});
  };
  if (bounds.floor) add("floor", *bounds.floor, "");
  for (const auto& [traffic, seconds] : others)
    if (seconds && traffic != bounds.traffic) add("other", *seconds, to_string(traffic));
  verdict.time = said(sentence(bounds.is_part    ? "part"
                               : bounds.is_least ? "least"
                                                 : "bound"),
                      {{"time", time}, {"what", what}, {"others", beside_it}});
  const bool is_memory = bounds.memory_share >= 0.5;
  verdict.limit =
      said(sentence("limit"), {{"limit", is_memory ? "memory" : "compute"},
                               {"share", part_of_time(is_memory ? bounds.memory_share : 1 - bounds.memory_share)}});
  if (bounds.is_launch_bound()) {
    verdict.time = said(sentence(bounds.gains_from_graph() ? "launched" : "once"),
                        {{"launched", base::si_seconds(*bounds.launched)},
                         {"time", (bounds.is_least ? "≥ " : "") + base::si_seconds(bounds.graph)},
                         {"graph", graph_name(bounds.device)}});
    verdict.limit.clear();
  }
  // From the slowest engine to what none can beat.
  if (bounds.traffic == TrafficModel::Unfused || bounds.unfused)
    verdict.ladder.push_back({"unfused", bounds.traffic == TrafficModel::Unfused ? bounds.seconds : *bounds.unfused});
  if (bounds.traffic == TrafficModel::Fused || bounds.fused)
    verdict.ladder.push_back({"fused", bounds.traffic == TrafficModel::Fused ? bounds.seconds : *bounds.fused});
  if (bounds.traffic == TrafficModel::Resident) verdict.ladder.push_back({"resident", bounds.seconds});
  if (bounds.floor) verdict.ladder.push_back({"floor", *bounds.floor});
  if (bounds.is_launch_bound()) verdict.ladder.push_back({"launched", *bounds.launched});
}

void say_measured(Verdict& verdict, const Measurement& run) {
  const std::string time = cat(run.is_least ? "≥ " : "", base::si_seconds(run.seconds));
  switch (run.basis) {
    case documents::MeasuredBasis::Run:
      verdict.time = cat(time, " measured");
      break;
    case documents::MeasuredBasis::Busy:
      verdict.time = cat("kernels ran for ", time);
      break;
    case documents::MeasuredBasis::Kernels:
      verdict.time = cat("kernels add up to ", time);
      break;
  }
  verdict.limit.clear();
  if (run.bound_share) {
    const std::string roofs = run.precision ? cat("its ", to_string(*run.precision), " roofs") : "its roofs";
    // A run below the bound did other work than the bound is of: no share of a roof says so.
    verdict.limit = *run.bound_share > 1 ? cat(base::rounded(*run.bound_share), "× faster than its bound")
                                         : cat(part_of_time(*run.bound_share), " % of what ", roofs, " can do");
    const bool is_run = run.basis == documents::MeasuredBasis::Run;  // kernels' times hold no launches
    say_gap(verdict, run.seconds, *run.bound_share * run.seconds, is_run ? "run" : "kernels' time",
            is_run ? kKernelsAndLaunches : "kernels", run.has_kernels);
    // Advice starts from the bound, which such a run is already below.
    if (*run.bound_share > 1) std::erase_if(verdict.actions, [](const Action& action) { return action.lowers_bound; });
  }
  std::erase_if(verdict.ladder, [](const Rung& rung) { return rung.name == "measured"; });
  if (!run.is_least) verdict.ladder.push_back({"measured", run.seconds});
}

std::optional<Knee> knee_of(const EstimateSweep& sweep) {
  if (sweep.dims.size() != 1) return std::nullopt;
  std::vector<Knee> rates;
  std::int64_t largest = 0;  // of the sizes tried
  for (const EstimatePoint& point : sweep.points) {
    const auto seconds = seconds_of(sweep, point);
    largest = std::max(largest, point.sizes.front());
    const bool is_possible = !point.time || seconds.value_or(0) >= point.time->floor_seconds;
    if (seconds && *seconds > 0 && point.items && fits(sweep, point) && is_possible)
      rates.push_back({point.sizes.front(), static_cast<double>(*point.items) / *seconds});
  }
  if (rates.size() < 2) return std::nullopt;
  std::ranges::sort(rates, {}, &Knee::size);
  const double best = std::ranges::max(rates, {}, &Knee::rate).rate;
  // The last size below the limit: all larger ones are good enough.
  auto at = rates.end() - 1;
  while (at != rates.begin() && (at - 1)->rate >= kEnough * best) --at;
  if (sweep.best && !sweep.has_measurements && !sweep.has_predictions)
    if (const auto known = std::ranges::find(rates, sweep.best->size, &Knee::size); known != rates.end()) at = known;
  // Rates that fall again have a best size of their own.
  const double last = rates.back().rate;
  if (last < kEnough * best) {
    at = std::ranges::max_element(rates, {}, &Knee::rate);
    at->falls_to = last / best;
  }
  at->share = at->rate / best;
  at->is_last = at + 1 == rates.end();
  at->is_largest = at->size == largest;
  at->largest = rates.back().size;
  return *at;
}

std::string knee_text(const EstimateSweep& sweep, const Knee& knee) {
  const std::string size = cat(base::printable(sweep.dims.front()), " ", base::grouped(knee.size));
  if (knee.falls_to > 0)
    return cat("best at ", size, "; ", part_of_time(knee.falls_to), " % of it at ", base::grouped(knee.largest));
  if (knee.is_last) return cat("best at ", size, knee.is_largest ? ", the largest tried" : "");
  return cat("from ", size, " on ", part_of_time(knee.share), " % of the best");
}

std::string rate_text(double value, std::string_view unit) {
  if (value >= 999'500'000) return base::si_rate(value, unit);
  if (value < 999.5) return cat(base::rounded(value), " ", unit);
  if (value >= 999'500) return cat(base::rounded(value / 1e6), " M ", unit);
  double place = 1;  // of the third digit
  while (value / place >= 999.5) place *= 10;
  return cat(base::grouped(Int{std::llround(value / place)} * static_cast<Int>(place)), " ", unit);
}

std::string table_text(const EstimateDocument& estimate) {
  return said(sentence("table"), {{"table", base::printable(estimate.cannot_run)}});
}

const char* rate_unit(const EstimateDocument& estimate) {
  if (!estimate.roofline || !estimate.roofline->items) return "runs/s";
  return estimate.phase ? "tokens/s" : "items/s";
}

std::string precision_text(const EstimateRoofline& roofline) {
  std::map<Precision, double> work;
  for (const RowBound& row : roofline.rows)
    if (row.precision) work[*row.precision] += row.flops;
  const auto most = std::ranges::max_element(work, {}, &std::pair<const Precision, double>::second);
  const std::string_view of_most = most == work.end() ? "" : to_string(most->first);
  return roofline.precision ? documents::precision_text(*roofline.precision, of_most) : std::string(of_most);
}

std::optional<Verdict> verdict_of(const EstimateDocument& estimate) {
  Verdict verdict{.model = model_text(estimate)};
  const auto& roofline = estimate.roofline;
  const std::int64_t devices = roofline && roofline->parallel ? roofline->parallel->devices.devices() : 1;
  if (roofline) {
    const std::string precision = precision_text(*roofline);
    verdict.device = cat(devices > 1 ? cat(base::grouped(devices), " × ") : "", device_text(*roofline),
                         precision.empty() ? "" : cat(" (", precision, ")"));
  }
  if (!estimate.unset.empty()) {
    verdict.subject = "sizes";
    verdict.is_blocked = true;
    verdict.time = said(sentence("unset"), {{"dims", base::joined(estimate.unset, ", ", base::printable)}});
    return verdict;
  }
  if (!estimate.cannot_run.empty()) {  // on no device, however long it takes
    verdict.subject = "sizes";
    verdict.is_blocked = true;
    verdict.time = table_text(estimate);
    return verdict;
  }
  if (estimate.sweep && roofline) {
    say_sweep(verdict, estimate);
    return verdict;
  }
  if (estimate.variants.size() > 1) {
    verdict.device.clear();  // each row has its own
    say_variants(verdict, estimate);
    return verdict;
  }
  if (!roofline) return std::nullopt;
  if (estimate.fit) verdict.fit = fit_text(*estimate.fit, devices > 1);
  if (estimate.fit && estimate.fit->fits == false) {
    verdict.is_blocked = !verdict.fit.empty();
    verdict.subject = "fits";
  }
  const Bounds bounds = bounds_of(estimate);
  if (bounds.seconds > 0) {
    say_bounds(verdict, bounds);
    if (estimate.training) {
      const bool is_launched = bounds.is_launch_bound();
      const std::size_t at = verdict.time.find(is_launched ? ";" : to_string(bounds.traffic));
      if (at != std::string::npos) verdict.time.insert(at, is_launched ? " a training step" : "a training step, ");
    }
    if (estimate.phase && roofline->items) {
      const auto rate = [&](double seconds) { return rate_text(items_kept(estimate) / seconds, rate_unit(estimate)); };
      const bool is_launched = bounds.is_launch_bound();
      verdict.rate = said(sentence(bounds.gains_from_graph() ? "rates" : "rate"),
                          {{"rate", rate(is_launched ? *bounds.launched : bounds.seconds)},
                           {"graph_rate", rate(bounds.graph)},
                           {"graph", graph_name(bounds.device)}});
    }
    add_advice(verdict, estimate, bounds);
  } else {
    verdict.time = roofline->totals.unknown_rows > 0 ? "no row's least time is known" : "none: no kernel runs";
  }
  if (roofline->predicted && roofline->predicted->seconds) {
    say_predicted(verdict, *roofline, bounds);
    if (estimate.phase) verdict.rate.clear();  // that of the bound
  }
  if (const auto& run = estimate.measured) {
    say_measured(
        verdict,
        {.seconds = run->seconds, .bound_share = run->bound_share, .precision = run->precision, .basis = run->basis});
    verdict.rate.clear();
  }
  return verdict;
}

}  // namespace report

std::string headline(const documents::EstimateDocument& estimate) {
  const std::optional<report::Verdict> verdict = report::verdict_of(estimate);
  return verdict ? verdict->headline() : "";
}

}  // namespace pagoda::present
