#include "plot/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "draw/text.h"
#include "pagoda/base/sha256.h"
#include "pagoda/base/text.h"
#include "pagoda/measured/join.h"

namespace pagoda::present::plot {
namespace {

constexpr double kSame = 1e-9;
constexpr std::size_t kMaxSeries = 6;   // readers cannot distinguish more lines of stars
constexpr std::size_t kMaxChanges = 6;  // arrows

// Whether the bounds in the estimate were made with these roofs. Equal device names are not enough: the ceilings file
// may have changed.
bool is_same_device(const ChartEstimate& estimate, const Chart& chart) {
  const auto& roofline = estimate.document().roofline;
  if (!roofline || roofline->device != chart.device.id) return false;
  const double bandwidth = chart.roofs.bandwidth.front().value;
  for (const RowBound& bound : roofline->nodes) {
    if (bound.bound == Bound::Unknown || bound.level != "dram" || bound.memory_seconds <= 0) continue;
    return std::abs(bound.bytes / bound.memory_seconds / bandwidth - 1) < kSame;
  }
  return true;
}

std::string stem(const std::string& path) {
  const std::string name = path.substr(path.find_last_of("/\\") + 1);  // npos + 1 is 0
  return name.substr(0, name.rfind('.'));
}

std::string base_name(std::string path) {
  if (const std::size_t slash = path.find_last_of("/\\"); slash != std::string::npos) path.erase(0, slash + 1);
  return path;
}

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
        estimate.source->name + ": its time bounds are for " + estimate.document().roofline->device_name +
        "; here they are taken anew, from the FLOPs, bytes and types of its file under the roofs of " +
        chart.device.name);
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
    throw Error(file +
                ": holds times of whole runs and no kernels; a run is drawn at the FLOPs and bytes of its model: "
                "give the model's estimate with --estimate");
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
  series.label = series.estimate ? chart.estimates[*series.estimate].label() : measured.source;
  if (series.estimate) {
    const ChartEstimate& estimate = chart.estimates[*series.estimate];
    series.items = joined_items(estimate, measured, chart.roofs, is_same_device(estimate, chart));
  } else {
    series.items = kernel_items(measured);
  }
  if (measured.seconds.value_or(0) > 0) series.run_seconds = measured.seconds;
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
    Star star{.label = estimate.sweep->dims.front() + "=" + base::shortest(static_cast<double>(point.sizes.front())),
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
  const Series& first = chart.series.front();
  if (!first.estimate) return;
  const ChartEstimate& base = chart.estimates[*first.estimate];
  for (const Series& series : chart.series) {
    if (!series.estimate) return;
    const ChartEstimate& other = chart.estimates[*series.estimate];
    if (other.model() != base.model() || other.document().bindings.size() != base.document().bindings.size()) return;
    for (const auto& [name, size] : base.document().bindings) {
      const auto found = other.document().bindings.find(name);
      if (found == other.document().bindings.end()) return;
      if (found->second == size) continue;
      if (dim && *dim != name) return;
      dim = name;
    }
  }
  if (!dim) return;
  for (const Series& series : chart.series) {
    const auto& star = series.measured_star ? series.measured_star : series.bound_star;
    if (!star) continue;
    const double size = static_cast<double>(chart.estimates[*series.estimate].document().bindings.at(*dim).value_or(1));
    points.emplace_back(size, Star{*dim + "=" + base::shortest(size), star->flops, star->bytes, star->seconds});
  }
  std::ranges::stable_sort(points, {}, &std::pair<double, Star>::first);
  chart.path_dim = *dim;
  for (auto& [size, star] : points) chart.path.push_back(std::move(star));
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
    const Change change{item.name,
                        *old.work() / *old.traffic(),
                        *old.work() / *old.time(),
                        *item.work() / *item.traffic(),
                        *item.work() / *item.time(),
                        *old.time(),
                        *item.time()};
    const auto same = std::ranges::find_if(chart.changes, [&](const Change& other) {
      return other.before_x == change.before_x && other.before_y == change.before_y &&
             other.after_x == change.after_x && other.after_y == change.after_y;
    });
    if (same == chart.changes.end()) {
      chart.changes.push_back(change);
      continue;
    }
    ++same->count;
    same->before_seconds += change.before_seconds;
    same->after_seconds += change.after_seconds;
  }
  if (is_estimate && !chart.changes.empty() && before.bound_star && after.bound_star) {
    const Star &from = *before.bound_star, &to = *after.bound_star;
    chart.changes = {{after.label, from.x(), from.y(), to.x(), to.y(), from.seconds, to.seconds}};
  }
  std::ranges::stable_sort(chart.changes, [](const Change& a, const Change& b) {
    return std::abs(a.after_seconds - a.before_seconds) > std::abs(b.after_seconds - b.before_seconds);
  });
  if (chart.changes.size() > kMaxChanges) chart.changes.resize(kMaxChanges);
}

// The roof of the items with the most time is the main one; roofs with more than 1% of the time are drawn.
void choose_roofs(Chart& chart) {
  std::vector<double> share(chart.roofs.compute.size(), 0);
  double sum = 0;
  for (const Series& series : chart.series)
    for (const Item& item : series.items)
      if (item.roof && series.seconds > 0) {
        const double part = item.time().value_or(0) / series.seconds;
        share[*item.roof] += part;
        sum += part;
      }
  if (sum > 0) chart.roofs.main = static_cast<std::size_t>(std::ranges::max_element(share) - share.begin());
  for (std::size_t i = 0; i < share.size(); ++i) chart.roofs.compute[i].shown = sum <= 0 || share[i] > 0.01 * sum;
  if (chart.options.precision) {
    std::optional<std::size_t> wanted = roof_named(chart.roofs, *chart.options.precision, Unit::Tensor);
    if (!wanted) wanted = roof_named(chart.roofs, *chart.options.precision, Unit::Vector);
    if (!wanted)
      throw Error(chart.device.name + ": no peak of " + std::string(to_string(*chart.options.precision)) + " is known");
    chart.roofs.main = *wanted;
  }
  chart.roofs.compute[chart.roofs.main].shown = true;
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

std::string setting_text(const base::Setting& setting) {
  if (const auto* text = std::get_if<std::string>(&setting)) return *text;
  if (const auto* value = std::get_if<double>(&setting)) return number(*value, 4);
  if (const auto* value = std::get_if<std::int64_t>(&setting)) return std::to_string(*value);
  if (const auto* value = std::get_if<bool>(&setting)) return *value ? "yes" : "no";
  return "";
}

// "observed_hz": 4e9 reads as "observed 4 GHz".
std::string named_setting(const std::string& key, const base::Setting& setting) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kUnits = {
      {{"_hz", "Hz"}, {"_watts", "W"}, {"_bytes", "B"}}};
  const auto* real = std::get_if<double>(&setting);
  const auto* whole = std::get_if<std::int64_t>(&setting);
  for (const auto& [ending, unit] : kUnits)
    if (key.ends_with(ending) && (real != nullptr || whole != nullptr))
      return key.substr(0, key.size() - ending.size()) + " " +
             base::si_text(real != nullptr ? *real : static_cast<double>(*whole), std::string(unit));
  const std::string shown = setting_text(setting);
  return shown.empty() ? shown : key + " " + shown;
}

std::string settings_text(const base::Settings& settings) {
  std::string text;
  for (const auto& [key, value] : settings)
    if (const std::string shown = named_setting(key, value); !shown.empty()) text += (text.empty() ? "" : ", ") + shown;
  std::ranges::replace(text, '_', ' ');
  return text;
}

void add_provenance(Chart& chart, const PlotInput& input) {
  auto& facts = chart.provenance;
  facts.emplace_back(
      "machine", chart.device.name + (chart.device.measured ? " (measured ceilings)" : " (as the vendor states it)"));
  if (!chart.device.power_mode.empty()) facts.emplace_back("power mode", chart.device.power_mode);
  const auto hashed = [&](const char* kind, const std::string& name, const std::string& sha256,
                          const std::string& more) {
    facts.emplace_back(kind, base_name(name) + (more.empty() ? "" : " by " + more) +
                                 (sha256.empty() ? "" : ", sha256 " + sha256.substr(0, 12)));
  };
  const auto hash = [](const PlotFile& file) { return base::hex(base::sha256(file.text)); };
  if (input.ceilings && chart.ceilings) {
    hashed("ceilings", input.ceilings->name, hash(*input.ceilings), chart.ceilings->tool);
    if (const std::string text = settings_text(chart.ceilings->clocks); !text.empty())
      facts.emplace_back("clocks", text);
    if (const std::string text = settings_text(chart.ceilings->env); !text.empty())
      facts.emplace_back("environment", text);
  }
  for (const ChartEstimate& estimate : chart.estimates)
    hashed("estimate", estimate.source->name, estimate.source->sha256, estimate.document().tool);
  for (std::size_t i = 0; i < input.measured.size(); ++i) {
    const documents::Measured& measured = chart.measured[i];
    hashed("measured", input.measured[i].name, hash(input.measured[i]),
           measured.tool.empty() ? measured.source : measured.tool);
    if (const std::string text = settings_text(measured.clocks); !text.empty()) facts.emplace_back("measured at", text);
  }
  if (!chart.options.tool.empty()) facts.emplace_back("chart", chart.options.tool);
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
  for (const std::vector<std::string>* remarks : {&chart.device.cautions, &chart.device.notes})
    for (const std::string& remark : *remarks) chart.warnings.push_back(chart.device.name + ": " + remark);
  for (const ChartEstimate& estimate : chart.estimates) {
    for (const std::string& note : estimate.notes) chart.warnings.push_back(estimate.source->name + ": " + note);
    // Only once if all estimates agree.
    const bool is_common = std::ranges::all_of(chart.estimates, [&](const ChartEstimate& other) {
      return other.document().count == estimate.document().count;
    });
    if (estimate.document().count != Convention::Flops && (!is_common || &estimate == &chart.estimates.front()))
      chart.warnings.push_back((is_common && chart.estimates.size() > 1 ? "" : estimate.source->name + ": ") +
                               "FLOPs are counted as \"" + std::string(to_string(estimate.document().count)) + "\"");
    if (const std::int64_t unmodelled = estimate.document().totals.unmodelled_nodes; unmodelled > 0)
      chart.warnings.push_back(estimate.source->name + ": " +
                               count_text(static_cast<std::size_t>(unmodelled), "node is", "nodes are") +
                               " not modelled; totals are lower bounds");
  }
  for (const Series& series : chart.series) {
    std::size_t above = 0;
    for (const Dot& dot : series.dots) above += dot.above_roof ? dot.items.size() : 0;
    if (above > 0)
      chart.warnings.push_back(
          series.label + ": " + count_text(above, "operator is", "operators are") +
          " above the roof by more than 5%; check units, precision, FLOP counts, bytes that stayed in a cache");
    if (series.joined_share && *series.joined_share < 0.995)
      chart.warnings.push_back(series.label + ": kernels of " + percent_text(1 - *series.joined_share) +
                               " of the measured time joined no node of the estimate");
  }
}

// Distinguishes series with the same model and sizes by their files.
void tell_apart(Chart& chart, const PlotInput& input) {
  std::map<std::string, int> count;
  for (const Series& series : chart.series) ++count[series.label];
  for (Series& series : chart.series) {
    if (count[series.label] < 2) continue;
    if (series.run_file)
      series.label += " (" + stem(input.measured[*series.run_file].name) + ")";
    else if (series.estimate)
      series.label += " (" + stem(chart.estimates[*series.estimate].source->name) + ")";
  }
}

std::string default_title(const Chart& chart) {
  std::string title;
  const std::string machine = " on " + machine_text(chart);
  if (chart.path.size() > 1) {
    // "resnet50, batch=1 … 256": one size differs.
    const ChartEstimate& base = chart.estimates[*chart.series.front().estimate];
    const std::string last = chart.path.back().label;
    return base.label(chart.path_dim) + ", " + chart.path.front().label + " … " +
           last.substr(chart.path_dim.size() + 1) + machine;
  }
  for (const Series& series : chart.series) {
    if (title.find(series.label) != std::string::npos) continue;
    title += (title.empty() ? "" : " · ") + series.label;
  }
  return title.empty() ? "Roofline of " + chart.device.name : title + machine;
}

// The published rules count different FLOPs and bytes than the bounds of the rows: the star of the whole model uses the
// published counts, with the same time.
void use_published_counts(Series& series, const Chart& chart) {
  if (!series.estimate || !series.bound_star) return;
  const documents::EstimateDocument& estimate = chart.estimates[*series.estimate].document();
  const std::optional<double> flops = documents::real(estimate.totals.counts.flops),
                              bytes = documents::real(estimate.totals.counts.bytes);
  if (estimate.count != Convention::Pagoda || flops.value_or(0) <= 0 || bytes.value_or(0) <= 0) return;
  series.bound_star->flops = *flops;
  series.bound_star->bytes = *bytes;
}

}  // namespace

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
    throw Error(std::to_string(chart.series.size()) + " models or runs; a chart holds at most " +
                std::to_string(kMaxSeries) + "; make several charts (their frames are equal)");
  for (Series& series : chart.series) add_trajectory(chart, series);
  tell_apart(chart, input);
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
