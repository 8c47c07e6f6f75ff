#include "plot/chart.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "draw/text.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/sha256.h"
#include "pagoda/base/text.h"
#include "pagoda/core/conventions.h"
#include "pagoda/documents/columns.h"
#include "pagoda/estimate/measured_runs.h"
#include "pagoda/measured/join.h"

namespace pagoda::present::plot {
namespace {

constexpr double kSame = 1e-9;
constexpr std::size_t kMaxSeries = 6;   // readers cannot distinguish more lines of stars
constexpr std::size_t kMaxChanges = 6;  // arrows

// True if the bounds in the estimate were made with these roofs. Equal device names are not enough: the ceilings file
// may have changed.
bool is_same_device(const ChartEstimate& estimate, const Chart& chart) {
  const auto& roofline = estimate.document().roofline;
  if (!roofline || roofline->device != chart.device.id) return false;
  const double bandwidth = chart.roofs.bandwidth.front().value;
  for (const RowBound& bound : roofline->rows) {
    if (bound.bound == Bound::Unknown || bound.level != "dram" || bound.memory_seconds <= 0) continue;
    return std::abs(bound.bytes / bound.memory_seconds / bandwidth - 1) < kSame;
  }
  return true;
}

std::string base_name(const std::string& path) { return path.substr(path.find_last_of("/\\") + 1); }  // npos + 1 is 0

// The estimate of a measurement: the one that its join names, else the one at the same position.
std::optional<std::size_t> estimate_of(const Chart& chart, std::size_t measured) {
  if (chart.estimates.empty()) return std::nullopt;
  const auto& join = chart.measured[measured].join;
  if (join && !join->model.empty()) {
    std::vector<std::size_t> fitting;
    for (std::size_t i = 0; i < chart.estimates.size(); ++i)
      if (base_name(chart.estimates[i].model()) == base_name(join->model)) fitting.push_back(i);
    if (fitting.size() == 1) return fitting.front();
  }
  return std::min(measured, chart.estimates.size() - 1);
}

Series estimate_series(Chart& chart, std::size_t at) {
  const ChartEstimate& estimate = chart.estimates[at];
  const bool same = is_same_device(estimate, chart);
  Series series;
  series.label = estimate.label();
  series.estimate = at;
  series.items = estimate_items(estimate, chart.roofs, same);
  if (estimate.document().roofline && !same)
    chart.warnings.push_back(
        cat(estimate.source->name, ": its time bounds are for ", estimate.document().roofline->device_name,
            "; here they are taken anew, from the FLOPs, bytes and types of its file under the roofs of ",
            chart.device.name));
  return series;
}

bool is_joined(const documents::Measured& measured) {
  return measured.join || std::ranges::any_of(measured.kernels, [](const documents::MeasuredKernel& kernel) {
           return kernel.joined.has_value();
         });
}

// The estimate's operators at their bounds, and the runs beside them.
Series run_series(Chart& chart, std::size_t at, const PlotInput& input) {
  const std::string& file = input.measured[at].name;
  const std::optional<std::size_t> estimate = estimate_of(chart, at);
  if (!estimate)
    throw Error(cat(file,
                    ": holds times of whole runs and no kernels; a run is drawn at the FLOPs and bytes of its "
                    "model: give the model's estimate with --estimate"));
  Series series = estimate_series(chart, *estimate);
  series.run_file = at;
  add_runs(series, chart, chart.measured[at], file);
  // The sizes that differ are shown beside the runs.
  if (series.runs.size() > 1) series.label = chart.estimates[*estimate].label_without_free();
  return series;
}

Series measured_series(Chart& chart, std::size_t at, const PlotInput& input) {
  if (is_of_whole_runs(chart.measured[at])) return run_series(chart, at, input);
  documents::Measured& measured = chart.measured[at];
  Series series;
  series.measured = series.run_file = at;
  series.estimate = estimate_of(chart, at);
  if (series.estimate && !is_joined(measured)) measured::join(measured, chart.estimates[*series.estimate].document());
  const ChartEstimate* const estimate = chart.estimate_of(series);
  series.label = estimate == nullptr ? measured.source : estimate->label();
  series.items = estimate == nullptr ? kernel_items(measured)
                                     : joined_items(*estimate, measured, chart.roofs, is_same_device(*estimate, chart));
  series.ran_in = counted_precision(measured, chart.roofs);
  const documents::MeasuredBasis basis = estimate::basis_of(measured);
  const std::optional<double>& run = basis == documents::MeasuredBasis::Busy ? measured.busy_seconds : measured.seconds;
  if (run && *run > 0) series.run_seconds = run, series.basis = basis;
  double joined = 0, all = 0;
  for (const Item& item : series.items) {
    all += item.seconds.value_or(0);
    if (!item.nodes.empty()) joined += item.seconds.value_or(0);
  }
  if (all > 0) series.joined_share = joined / all;
  return series;
}

void add_trajectory(const Chart& chart, Series& series) {
  if (!series.estimate) return;
  const ChartEstimate& estimate = chart.estimates[*series.estimate];
  if (estimate.sweep == nullptr || !is_same_device(estimate, chart)) return;
  if (estimate.sweep->points.size() > 1) series.label = estimate.label_without_free();
  const bool has_runs = !series.runs.empty();  // of a file of whole runs; those of the sweep are then the same
  for (const documents::EstimatePoint& point : estimate.sweep->points) {
    Star star{.label = cat(estimate.sweep->dims.front(), "=", point.sizes.front()),
              .flops = documents::real(point.counts.flops).value_or(0),
              .bytes = documents::real(point.counts.bytes).value_or(0)};
    if (star.flops <= 0 || star.bytes <= 0) continue;
    star.seconds = least_seconds(point).value_or(0);
    if (star.seconds > 0) series.trajectory.push_back(star);
    star.seconds = point.measured_seconds.value_or(0);
    star.joules = point.measured_joules;
    if (!has_runs && star.seconds > 0) series.runs.push_back(star);
  }
  if (!has_runs && series.runs.size() == 1) series.measured_star = series.runs.front();
}

// Makes a path of several estimates of one model that differ in one size.
void add_path(Chart& chart) {
  if (chart.series.size() < 2) return;
  std::optional<std::string> dim;
  std::vector<std::pair<double, Star>> points;
  const ChartEstimate* const base = chart.estimate_of(chart.series.front());
  for (const Series& series : chart.series) {
    const ChartEstimate* const other = chart.estimate_of(series);
    if (base == nullptr || other == nullptr || other->model() != base->model()) return;
    const auto &sizes = base->document().bindings, &others = other->document().bindings;
    if (sizes.size() != others.size()) return;
    for (const auto& [name, size] : sizes) {
      const auto found = others.find(name);
      if (found == others.end()) return;
      if (found->second == size) continue;
      if (dim && *dim != name) return;
      dim = name;
    }
  }
  if (!dim) return;
  for (const Series& series : chart.series) {
    const auto& star = series.has_time() || series.measured_star ? series.measured_star : series.bound_star;
    if (!star) continue;
    const std::int64_t size = chart.estimates[*series.estimate].document().bindings.at(*dim).value_or(1);
    points.emplace_back(static_cast<double>(size), Star{cat(*dim, "=", size), star->flops, star->bytes, star->seconds});
  }
  std::ranges::stable_sort(points, {}, &std::pair<double, Star>::first);
  chart.path_dim = *dim;
  for (auto& [size, star] : points) chart.path.push_back(std::move(star));
}

Change change_of(const std::string& name, const Star& from, const Star& to) {
  return {name, from.place(), to.place(), from.seconds, to.seconds};
}

// The moves from the first series to the second: measured items by name, with identical moves merged. Estimated items
// lie on their roofs by definition, so that only the move of the whole model is shown.
void add_changes(Chart& chart) {
  if (chart.series.size() != 2 || !chart.path.empty()) return;
  const Series &before = chart.series[0], &after = chart.series[1];
  // Bounds from the estimate and bounds recomputed here differ in more than the model.
  if (before.estimate && after.estimate &&
      is_same_device(chart.estimates[*before.estimate], chart) !=
          is_same_device(chart.estimates[*after.estimate], chart))
    return;
  std::map<std::string, const Item*> by_name;
  for (const Item& item : before.items) by_name.emplace(item.name, &item);
  bool is_estimate = true;
  for (const Item& item : after.items) {
    const auto found = by_name.find(item.name);
    if (found == by_name.end() || item.absence != Absence::None || found->second->absence != Absence::None) continue;
    const Item& old = *found->second;
    if (old.seconds.has_value() != item.seconds.has_value() || !old.time() || !item.time()) continue;
    if (std::abs(*item.time() / *old.time() - 1) < 0.05) continue;
    is_estimate = is_estimate && !item.seconds;
    const Star from{"", *old.work(), *old.traffic(), *old.time()}, to{"", *item.work(), *item.traffic(), *item.time()};
    const Change change = change_of(item.name, from, to);
    const auto same = std::ranges::find_if(chart.changes, [&](const Change& other) {
      return other.before == change.before && other.after == change.after;
    });
    if (same == chart.changes.end()) {
      chart.changes.push_back(change);
      continue;
    }
    ++same->count;
    same->before_seconds += change.before_seconds;
    same->after_seconds += change.after_seconds;
  }
  if (is_estimate && !chart.changes.empty() && before.bound_star && after.bound_star)
    chart.changes = {change_of(after.label, *before.bound_star, *after.bound_star)};
  std::ranges::stable_sort(chart.changes, std::greater(),
                           [](const Change& change) { return std::abs(change.after_seconds - change.before_seconds); });
  if (chart.changes.size() > kMaxChanges) chart.changes.resize(kMaxChanges);
}

// The roof of the items with most FLOPs is the main one: what the model is made of runs under it. Each model counts the
// same. Roofs with more than 1% of the time are drawn.
void choose_roofs(Chart& chart) {
  std::vector<double> share(chart.roofs.compute.size(), 0), work = share;
  double sum = 0, all_work = 0;
  for (const Series& series : chart.series) {
    double flops = 0;
    for (const Item& item : series.items) flops += item.work().value_or(0);
    if (flops <= 0) continue;
    all_work += 1;
    for (const Item& item : series.items)
      if (item.roof) work[*item.roof] += item.work().value_or(0) / flops;
  }
  for (const Series& series : chart.series)
    for (const Item& item : series.items)
      if (item.roof && series.seconds > 0) {
        const double part = item.time().value_or(0) / series.seconds;
        share[*item.roof] += part;
        sum += part;
      }
  const auto most = std::ranges::max_element(work);
  if (*most > 0) chart.roofs.main = static_cast<std::size_t>(most - work.begin());
  chart.roofs.has_main = *most > 0.5 * all_work;
  for (std::size_t i = 0; i < share.size(); ++i) chart.roofs.compute[i].shown = sum <= 0 || share[i] > 0.01 * sum;
  if (chart.options.precision) {
    const Precision precision = *chart.options.precision;
    std::optional<std::size_t> wanted = roof_named(chart.roofs, precision, Unit::Tensor);
    if (!wanted) wanted = roof_named(chart.roofs, precision, Unit::Vector);
    if (!wanted) throw Error(cat(chart.device.name, ": no peak of ", to_string(precision), " is known"));
    chart.roofs.main = *wanted;
    chart.roofs.has_main = true;
  }
  if (chart.roofs.has_main) chart.roofs.compute[chart.roofs.main].shown = true;
  // Intensities use DRAM bytes: roofs of other levels are only drawn if bytes were measured at those levels.
  const auto has_bytes = [&](std::optional<double> Item::*bytes) {
    return std::ranges::any_of(chart.series, [&](const Series& series) {
      return std::ranges::any_of(series.items, [&](const Item& item) { return (item.*bytes).has_value(); });
    });
  };
  const bool has_l2 = has_bytes(&Item::l2_bytes), has_l1 = has_bytes(&Item::l1_bytes);
  for (std::size_t i = 1; i < chart.roofs.bandwidth.size(); ++i) {
    Roof& roof = chart.roofs.bandwidth[i];
    roof.shown = chart.series.empty() || (roof.level == "l1" || roof.level == "shared" ? has_l1 : has_l2);
  }
}

// "observed_hz": 4e9 reads as "observed_hz 4 GHz" without its unit, other settings as they are; empty if it has no
// value.
std::string setting_text(const std::string& key, const base::Setting& setting) {
  if (const auto* text = std::get_if<std::string>(&setting)) return text->empty() ? "" : cat(key, " ", *text);
  if (const auto* is_set = std::get_if<bool>(&setting)) return cat(key, *is_set ? " yes" : " no");
  const auto* real = std::get_if<double>(&setting);
  const auto* whole = std::get_if<std::int64_t>(&setting);
  if (real == nullptr && whole == nullptr) return "";
  for (const auto& [ending, unit] : {std::pair{"_hz", "Hz"}, {"_watts", "W"}, {"_bytes", "B"}})
    if (key.ends_with(ending))
      return cat(key.substr(0, key.rfind('_')), " ",
                 base::si_text(real != nullptr ? *real : static_cast<double>(*whole), unit));
  return cat(key, " ", real != nullptr ? number(*real, 4) : std::to_string(*whole));
}

std::string settings_text(const base::Settings& settings) {
  std::vector<std::string> texts;
  for (const auto& [key, value] : settings)
    if (std::string text = setting_text(key, value); !text.empty()) texts.push_back(std::move(text));
  std::string text = base::joined(texts);
  std::ranges::replace(text, '_', ' ');
  return text;
}

void add_provenance(Chart& chart, const PlotInput& input) {
  const auto add = [&](const char* name, const std::string& fact) {
    if (!fact.empty()) chart.provenance.emplace_back(name, fact);
  };
  add("machine", chart.device.name + (chart.device.measured ? " (measured ceilings)" : " (as the vendor states it)"));
  add("power mode", chart.device.power_mode);
  const auto add_file = [&](const char* kind, const std::string& name, const std::string& sha256,
                            const std::string& tool) {
    add(kind, cat(base_name(name), tool.empty() ? "" : " by ", tool, sha256.empty() ? "" : ", sha256 ",
                  sha256.substr(0, 12)));
  };
  const auto hash = [](const PlotFile& file) { return base::hex(base::sha256(file.text)); };
  if (input.ceilings && chart.ceilings) {
    add_file("ceilings", input.ceilings->name, hash(*input.ceilings), chart.ceilings->tool);
    add("clocks", settings_text(chart.ceilings->clocks));
    add("environment", settings_text(chart.ceilings->env));
  }
  for (const ChartEstimate& estimate : chart.estimates)
    add_file("estimate", estimate.source->name, estimate.source->sha256, estimate.document().tool);
  for (std::size_t i = 0; i < input.measured.size(); ++i) {
    const documents::Measured& measured = chart.measured[i];
    add_file("measured", input.measured[i].name, hash(input.measured[i]),
             measured.tool.empty() ? measured.source : measured.tool);
    add("measured at", settings_text(measured.clocks));
  }
  add("chart", chart.options.tool);
}

void add_machines(Chart& chart, const std::vector<DeviceSpec>& others) {
  const Roof& main = chart.roofs.compute[chart.roofs.main];
  for (const DeviceSpec& other : others) {
    Machine machine;
    machine.mode = other.power_mode;
    machine.label = other.id + (other.power_mode.empty() ? "" : ":" + other.power_mode);
    for (const Precision precision : main.precisions) {
      const Peak* peak = other.peak(precision, main.unit);
      if (peak == nullptr || *peak->flops_per_second.value <= machine.peak) continue;
      machine.peak = *peak->flops_per_second.value;
      machine.energy = energy_model(other, precision);
    }
    const MemoryLevel* dram = other.level("dram");
    if (machine.peak <= 0 || dram == nullptr || !dram->bytes_per_second.known())
      throw Error(machine.label + ": no peak of " + main.name +
                  " or no bandwidth of memory is known, so that its roofline "
                  "cannot stand beside that of " +
                  chart.device.name);
    machine.bandwidth = *dram->bytes_per_second.value;
    chart.machines.push_back(std::move(machine));
  }
}

// Sets by_model for several models, unless they are one model before and after a change.
void find_models(Chart& chart) {
  std::set<std::string> models;
  bool has_path = false;
  for (const Series& series : chart.series) {
    models.insert(series.estimate ? chart.estimates[*series.estimate].model() : series.label);
    has_path = has_path || series.runs.size() > 1 || series.trajectory.size() > 1;
  }
  chart.by_model = models.size() > 1 && (has_path || chart.series.size() > 2 || chart.changes.empty());
}

void add_warnings(Chart& chart) {
  const auto warn = [&](const std::string& subject, const auto&... text) {
    chart.warnings.push_back(cat(subject, ": ", text...));
  };
  for (const std::vector<std::string>* remarks : {&chart.device.cautions, &chart.device.notes})
    for (const std::string& remark : *remarks) warn(chart.device.name, remark);
  const auto count_of = [](const ChartEstimate& estimate) { return estimate.document().count; };
  for (const ChartEstimate& estimate : chart.estimates) {
    const std::string& name = estimate.source->name;
    for (const std::string& note : estimate.notes) warn(name, note);
    // Only once if all estimates agree.
    const Convention count = count_of(estimate);
    const bool is_common = std::ranges::all_of(
        chart.estimates, [&](Convention other) { return other == count; }, count_of);
    if (count != Convention::Flops && (!is_common || &estimate == &chart.estimates.front()))
      chart.warnings.push_back(cat(is_common && chart.estimates.size() > 1 ? "" : name + ": ",
                                   "FLOPs are counted as \"", to_string(count), "\""));
    if (const std::int64_t unmodelled = estimate.document().totals.unmodelled_nodes; unmodelled > 0)
      warn(name, count_text(static_cast<std::size_t>(unmodelled), "node is", "nodes are"),
           " not modelled; totals are lower bounds");
  }
  for (const Series& series : chart.series) {
    std::size_t above = 0;
    for (const Dot& dot : series.dots) above += dot.above_roof ? dot.items.size() : 0;
    if (above > 0)
      warn(series.label, count_text(above, "operator is", "operators are"),
           " above the roof by more than 5%; check units, precision, FLOP counts, bytes that stayed in a cache");
    if (chart.estimate_of(series) != nullptr && series.joined_share && *series.joined_share < 0.995)
      warn(series.label, "kernels of ", percent_text(1 - *series.joined_share),
           " of the measured time joined no node of the estimate");
  }
}

// Distinguishes series with the same model and sizes by their files.
void label_by_file(Chart& chart, const PlotInput& input) {
  std::map<std::string, int> count;
  for (const Series& series : chart.series) ++count[series.label];
  for (Series& series : chart.series) {
    if (count[series.label] < 2) continue;
    if (!series.run_file && !series.estimate) continue;
    const std::string file = base_name(series.run_file ? input.measured[*series.run_file].name
                                                       : chart.estimates[*series.estimate].source->name);
    series.label += cat(" (", file.substr(0, file.rfind('.')), ")");
  }
}

std::string default_title(const Chart& chart) {
  std::string title;
  const std::string machine = cat(" ", before_machine(chart), " ", machine_text(chart));
  if (chart.series.empty()) return "Roofline of " + chart.device.name;
  // One condition of all models stands at the end, several stand beside their models.
  const auto condition = [&](const Series& series) { return condition_text(chart, series); };
  const bool is_common = std::ranges::all_of(
      chart.series, [&](const std::string& each) { return each == condition(chart.series.front()); }, condition);
  const std::string end = is_common ? cat(machine, ": ", condition(chart.series.front())) : machine;
  if (chart.path.size() > 1) {
    // "resnet50, batch=1 … 256": one size differs.
    const ChartEstimate& base = chart.estimates[*chart.series.front().estimate];
    return cat(base.label(chart.path_dim), ", ", chart.path.front().label, " … ",
               chart.path.back().label.substr(chart.path_dim.size() + 1), end);
  }
  for (const Series& series : chart.series) {
    const std::string part = series.label + (is_common ? "" : cat(" [", condition(series), "]"));
    if (title.find(part) == std::string::npos) title += (title.empty() ? "" : " · ") + part;
  }
  return title + end;
}

// The published rules count different FLOPs and bytes than the bounds of the rows: the star of the whole model uses the
// published counts, with the same time.
void use_published_counts(Series& series, const Chart& chart) {
  if (!series.estimate || !series.bound_star) return;
  const documents::EstimateDocument& estimate = chart.estimates[*series.estimate].document();
  const std::optional<double> flops = documents::real(estimate.totals.counts.flops),
                              bytes = documents::real(estimate.totals.counts.bytes);
  if (!is_published(estimate.count) || flops.value_or(0) <= 0 || bytes.value_or(0) <= 0) return;
  series.bound_star->flops = *flops;
  series.bound_star->bytes = *bytes;
}

}  // namespace

std::string condition_text(const Chart& chart, const Series& series) {
  const ChartEstimate* const of = chart.estimate_of(series);
  const documents::EstimateDocument* const estimate = of == nullptr ? nullptr : &of->document();
  const TrafficModel model =
      estimate != nullptr && estimate->traffic ? estimate->traffic->model : TrafficModel::Unfused;
  std::string precision;
  if (series.ran_in)
    precision = to_string(*series.ran_in);
  else if (estimate != nullptr)
    precision = documents::precision_text(*estimate, model, estimate->precision);
  const std::string traffic(series.has_time() || estimate == nullptr ? "measured" : to_string(model));
  return precision.empty() ? traffic : cat(precision, ", ", traffic);
}

std::int64_t device_count(const ChartEstimate& estimate, const Chart& chart) {
  const auto& roofline = estimate.document().roofline;
  return roofline && roofline->device == chart.device.id && roofline->parallel ? roofline->parallel->devices.devices()
                                                                               : 1;
}

std::string machine_text(const Chart& chart) {
  const std::int64_t count = chart.estimates.empty() ? 1 : device_count(chart.estimates.front(), chart);
  const bool is_common = std::ranges::all_of(
      chart.estimates, [&](const ChartEstimate& estimate) { return device_count(estimate, chart) == count; });
  return (is_common && count > 1 ? base::grouped(count) + " × " : "") + chart.device.name;
}

std::string_view before_machine(const Chart& chart) {
  const bool is_known = std::ranges::none_of(chart.measured, &std::string::empty, &documents::Measured::device);
  return is_known ? "on" : "under the roofs of";
}

Chart make_chart(const PlotInput& input, const PlotOptions& options) {
  Chart chart;
  chart.options = options;
  chart.device = input.device;
  if (input.ceilings) {
    chart.ceilings = documents::parse_ceilings(input.ceilings->text, input.ceilings->name);
    if (!chart.ceilings->name().empty()) chart.device.name = chart.ceilings->name();
  }
  chart.roofs = make_roofs(input, chart.ceilings);
  chart.frame = make_frame(chart.roofs, options);
  chart.sheet = make_sheet(options);
  for (const PlotEstimate& estimate : input.estimates) chart.estimates.push_back(chart_estimate(estimate));
  for (const PlotFile& file : input.measured) {
    chart.measured.push_back(documents::parse_measured(file.text, file.name));
    for (const std::string& member : chart.measured.back().unknown)
      chart.warnings.push_back(file.name + ": " + documents::left_out(member));
    for (const std::string& note : chart.measured.back().notes) chart.warnings.push_back(file.name + ": " + note);
  }

  std::vector<bool> is_covered(chart.estimates.size(), false);
  std::vector<Series> measured;
  for (std::size_t i = 0; i < chart.measured.size(); ++i) {
    measured.push_back(measured_series(chart, i, input));
    if (measured.back().estimate) is_covered[*measured.back().estimate] = true;
  }
  for (std::size_t i = 0; i < chart.estimates.size(); ++i)
    if (!is_covered[i]) chart.series.push_back(estimate_series(chart, i));
  std::move(measured.begin(), measured.end(), std::back_inserter(chart.series));
  if (chart.series.size() > kMaxSeries)
    throw Error(cat(chart.series.size(), " models or runs; a chart holds at most ", kMaxSeries,
                    "; make several charts (their frames are equal)"));
  for (Series& series : chart.series) add_trajectory(chart, series);
  label_by_file(chart, input);
  for (Series& series : chart.series) {
    finish_series(series, chart);
    use_published_counts(series, chart);
  }
  choose_roofs(chart);
  add_path(chart);
  add_changes(chart);
  find_models(chart);
  add_machines(chart, input.others);
  add_energy(chart);
  add_warnings(chart);
  add_provenance(chart, input);
  chart.title = options.title.empty() ? default_title(chart) : options.title;
  return chart;
}

}  // namespace pagoda::present::plot
