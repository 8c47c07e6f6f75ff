// The energy roofline: the time chart with joules in place of seconds. Work per joule over intensity is the arch
// of Choi, Bedard, Fowler and Vuduc (core/energy.h): 1 / (ε_f + ε_m/I + π_0·max(τ_f, τ_m/I)), below its two asymptotes,
// work alone at 1/(ε_f + π_0·τ_f) and traffic alone at I/(ε_m + π_0·τ_m).
#include <algorithm>
#include <cmath>

#include "draw/text.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "pagoda/measured/energy_table.h"
#include "plot/draw.h"

namespace pagoda::present::plot {
namespace {

constexpr std::size_t kFewestRuns = 4;  // one more than the number of constants

// Runs and kernels of the chart with known joules; adds the number of the others to `without`.
std::vector<measured::EnergyRun> measured_rows(const Chart& chart, std::size_t& without) {
  std::vector<measured::EnergyRun> rows;
  const auto add = [&](const std::string& label, double flops, double bytes, double seconds,
                       const std::optional<double>& joules) {
    if (joules.value_or(0) > 0 && flops > 0 && bytes > 0 && seconds > 0)
      rows.push_back(
          {.label = label, .config = {}, .flops = flops, .bytes = bytes, .seconds = seconds, .joules = *joules});
    else
      ++without;
  };
  for (const Series& series : chart.series) {
    for (const std::vector<Star>* runs : {&series.runs, &series.other_runs})
      for (const Star& run : *runs) add(series.label, run.flops, run.bytes, run.seconds, run.joules);
    for (const Item& item : series.items)
      if (item.seconds) add(item.name, item.work().value_or(0), item.traffic().value_or(0), *item.seconds, item.joules);
  }
  return rows;
}

// The device's constants for a precision of the main roof.
std::optional<EnergyModel> stated_model(const Chart& chart) {
  for (const Precision precision : chart.roofs.compute[chart.roofs.main].precisions)
    if (auto model = energy_model(chart.device, precision)) return model;
  return energy_model(chart.device);
}

// " (joules_per_byte: came out as 0 in …)": why the device's energy section gives no arch. Empty: it does, or the
// device has no such section.
std::string because(const Chart& chart) {
  if (stated_model(chart)) return {};
  const std::vector<Precision>& precisions = chart.roofs.compute[chart.roofs.main].precisions;
  const std::vector<std::string> missing =
      missing_energy(chart.device, precisions.empty() ? std::nullopt : std::optional(precisions.front()));
  return missing.empty() ? "" : " (" + base::joined(missing, "; ") + ")";
}

std::optional<EnergyModel> fitted_model(const Chart& chart, const std::vector<measured::EnergyRun>& rows,
                                        std::string& source) {
  if (rows.size() < kFewestRuns) return std::nullopt;
  const measured::EnergyFit fit = measured::fit_energy(rows);
  const auto is_known = [](const measured::EnergyTerm& term) { return term.value > 0; };
  if (!fit.indistinct.empty() || !std::ranges::all_of(fit.terms, is_known)) return std::nullopt;
  source = cat("fitted to ", rows.size(), " runs of this chart, mean error ", percent_text(fit.mean_error));
  return EnergyModel{.joules_per_flop = fit.terms[0].value,
                     .joules_per_byte = fit.terms[1].value,
                     .constant_watts = fit.terms[2].value,
                     .flops_per_second = chart.roofs.compute[chart.roofs.main].value,
                     .bytes_per_second = chart.roofs.bandwidth.front().value};
}

// A star with joules in place of seconds: its y is FLOP/J.
std::optional<Star> with_joules(const std::optional<Star>& star, const std::optional<double>& joules) {
  if (!star || !joules || !(*joules > 0)) return std::nullopt;
  return Star{.label = star->label, .flops = star->flops, .bytes = star->bytes, .seconds = *joules, .joules = joules};
}

// Joules by the constants, for the star's own time.
std::optional<double> joules_by(const std::optional<EnergyModel>& model, const std::optional<Star>& star) {
  if (!model || !star) return std::nullopt;
  return joules(*model, star->flops, star->bytes, star->seconds);
}

std::vector<Star> path_over(const std::vector<Star>& stars, const std::optional<EnergyModel>* by) {
  std::vector<Star> path;
  for (const Star& star : stars)
    if (auto point = with_joules(star, by == nullptr ? star.joules : joules_by(*by, star))) path.push_back(*point);
  return path;
}

void set_series(Series& series, const std::optional<EnergyModel>& model) {
  series.trajectory = path_over(series.trajectory, &model);
  std::optional<double> joules = 0;
  for (const Item& item : series.items)
    if (item.seconds) joules = documents::plus(joules, item.joules);
  if (series.measured_star && series.measured_star->joules) joules = series.measured_star->joules;
  series.measured_star = with_joules(series.measured_star, joules);
  series.bound_star = with_joules(series.bound_star, joules_by(model, series.bound_star));
  series.runs = path_over(series.runs, nullptr);
  series.other_runs = path_over(series.other_runs, nullptr);
  keep_best(series);  // the run with the least energy may be a slower one
  if (series.runs.size() == 1 && series.measured_star) series.measured_star = series.runs.front();
  for (Dot& dot : series.dots) {
    Star whole;
    std::optional<double> sum = 0;
    for (const std::size_t at : dot.items) {
      const Item& item = series.items[at];
      whole.flops += item.work().value_or(0);
      whole.bytes += item.traffic().value_or(0);
      sum = documents::plus(sum, item.joules);
    }
    dot.estimated = dot.measured = std::nullopt;
    dot.l1_x = dot.l2_x = dot.low_y = dot.high_y = std::nullopt;
    if (const auto star = with_joules(whole, sum); star && whole.flops > 0 && whole.bytes > 0)
      dot.measured = star->place();
    dot.above_roof = dot.rail = false;
  }
}

Frame energy_frame(const Chart& chart) {
  Frame frame = chart.frame;
  double low = INFINITY, high = 0;
  const auto take = [&](const std::optional<double>& value) {
    if (value && *value > 0) low = std::min(low, *value), high = std::max(high, *value);
  };
  if (const auto& model = chart.energy->model) {
    take(flops_per_joule(*model, frame.x0));
    take(1.4 * peak_flops_per_joule(*model));
  }
  for (const Series& series : chart.series) {
    for (const std::vector<Star>* runs : {&series.runs, &series.other_runs})
      for (const Star& run : *runs) take(run.y());
    for (const Dot& dot : series.dots)
      if (dot.measured) take(dot.measured->y);
    for (const auto* star : {&series.measured_star, &series.bound_star})
      if (*star) take((*star)->y());
  }
  if (!(high > 0)) low = 1, high = 10;
  frame.y0 = std::pow(10, std::floor(std::log10(low)));
  frame.y1 = std::max(frame.y0 * 10, std::pow(10, std::ceil(std::log10(high))));
  if (chart.options.y_limits) frame.y0 = (*chart.options.y_limits)[0], frame.y1 = (*chart.options.y_limits)[1];
  return frame;
}

// The asymptotes of the arch, as thin lines.
Roofs asymptotes(const Chart& chart) {
  Roofs roofs = chart.roofs;
  Roof work = roofs.compute[roofs.main], traffic = roofs.bandwidth.front();
  const auto& model = chart.energy->model;
  for (Roof* roof : {&work, &traffic}) {
    roof->is_energy = roof->shown = true;
    roof->measured = false;
    roof->spec.reset();
  }
  work.name = "work alone";
  traffic.name = "traffic alone";
  work.shown = traffic.shown = model.has_value();
  if (model) {
    work.value = peak_flops_per_joule(*model);
    traffic.value = 1 / joules(*model, 0, 1);
  }
  roofs.compute = {work};
  roofs.bandwidth = {traffic};
  roofs.main = 0;
  roofs.has_main = model.has_value();
  return roofs;
}

}  // namespace

void add_energy(Chart& chart) {
  ChartEnergy energy;
  const std::vector<measured::EnergyRun> rows = measured_rows(chart, energy.without_joules);
  energy.model = stated_model(chart);
  if (energy.model)
    energy.source = chart.device.measured ? "measured with the ceilings" : "stated by the device";
  else
    energy.model = fitted_model(chart, rows, energy.source);
  if (energy.model || !rows.empty()) chart.energy = std::move(energy);
}

Chart energy_view(const Chart& chart) {
  if (!chart.energy)
    throw Error(
        "no energy roofline: " + chart.device.name + " states no constants of energy" + because(chart) +
        " and no run or kernel has joules; fit constants with pagoda-calibrate --energy, or give --measured runs "
        "with joules");
  Chart view = chart;
  view.is_energy = true;
  view.changes.clear();
  view.path.clear();
  for (Series& series : view.series) set_series(series, chart.energy->model);
  view.roofs = asymptotes(chart);
  view.frame = energy_frame(view);
  fit_energy_frame(view);
  view.warnings.clear();
  if (chart.energy->without_joules > 0)
    view.warnings.push_back(
        count_text(chart.energy->without_joules, "measured run or kernel has", "measured runs or kernels have") +
        " no joules and no place here");
  for (const Machine& machine : chart.machines)
    if (!machine.energy)
      view.warnings.push_back(machine.label +
                              ": no constants of energy are known at its clocks, so that it has no arch");
  const std::string reasons = because(chart);
  if (!chart.energy->model)
    view.warnings.push_back(cat("the energy constants are not known", reasons,
                                ", so there is no arch to draw: fit them with pagoda-calibrate --energy"));
  else if (!reasons.empty())
    view.warnings.push_back(cat("the constants that ", chart.device.name, " states are not used", reasons));
  if (chart.options.title.empty()) view.title = "Energy: " + chart.title;
  return view;
}

std::string arch_path(const Scale& scale, const EnergyModel& model, int steps) {
  std::vector<Point> points;
  points.reserve(static_cast<std::size_t>(steps) + 1);
  for (int i = 0; i <= steps; ++i) {
    const double x = scale.frame.x0 * std::pow(scale.frame.x1 / scale.frame.x0, static_cast<double>(i) / steps);
    points.push_back(scale({x, flops_per_joule(model, x)}));
  }
  return polyline(points);
}

void draw_arch(Svg& svg, const Chart& chart, const Layout& layout) {
  if (!chart.energy->model) return;
  const EnergyModel& model = *chart.energy->model;
  const Scale& scale = layout.scale;
  svg.open("g id='arch' fill='none'");
  svg.leaf("path class='roof main' stroke='%' stroke-width='2.6' d='%'", {kInk, arch_path(scale, model, 200)});
  double drop = 9;
  for (const auto& [balance, name] : {std::pair{time_balance(model), "time balance "},
                                      {energy_balance(model), "energy balance "},
                                      {half_peak_intensity(model), "half of the best "}}) {
    if (const auto at = scale.inside({balance, flops_per_joule(model, balance)})) {
      svg.leaf("path class='ridge' stroke='%' stroke-dasharray='2 4' d='M% %V%'",
               {kMuted, at->x, at->y, scale.plot.y1});
      svg.text(at->x + 5, scale.plot.y1 - drop, name + plain(balance) + " FLOP/B", "class='halo' fill='%'", {kInk});
    }
    drop += 17;
  }
  svg.close();
}

}  // namespace pagoda::present::plot
