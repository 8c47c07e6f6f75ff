// Fits the frame of a still picture to the dots that carry the time, as the page does (page/state.js).
#include <algorithm>
#include <cmath>

#include "plot/chart.h"

namespace pagoda::present::plot {
namespace {

constexpr double kTime = 0.99;    // share of the dots' total time to be shown
constexpr double kMargin = 0.14;  // share of the span, on each side
constexpr double kReach = 0.7;    // the frame includes a ridge within this many decades of the dots

// Ends of one axis, in decades.
struct Span {
  double low = INFINITY, high = -INFINITY;

  void take(double value) {
    if (value > 0) low = std::min(low, std::log10(value)), high = std::max(high, std::log10(value));
  }
  bool is_empty() const { return !(high >= low); }
  bool is_near(double value) const { return std::log10(value) > low - kReach && std::log10(value) < high + kReach; }
  // The ends with a margin, at least `least` decades apart, extended to the next 1, 2 or 5 on both sides.
  std::pair<double, double> ends(double least) const {
    const double more = std::max({kMargin * (high - low), (least - (high - low)) / 2, 0.08});
    return {-step(-(low - more)), step(high + more)};
  }

 private:
  // Rounds up to the next of log10 1, 2, 5, 10 … in any decade; −step(−x) rounds down.
  static double step(double value) {
    const double whole = std::floor(value), part = value - whole;
    for (const double next : {0.0, std::log10(2.0), std::log10(5.0)})
      if (part <= next + 1e-9) return whole + next;
    return whole + 1;
  }
};

void add_dots(const Series& series, Span& xs, Span& ys, bool& has_rail) {
  double all = 0, sum = 0;
  for (const Dot& dot : series.dots) all += dot.rail ? 0 : dot.seconds;
  for (const Dot& dot : series.dots) {
    has_rail = has_rail || dot.rail;
    if (dot.rail || sum >= kTime * all) continue;
    sum += dot.seconds;
    for (const auto* at : {&dot.estimated, &dot.measured})
      if (*at) xs.take((*at)->x), ys.take((*at)->y);
  }
}

void take_stars(const Series& series, Span& xs, Span& ys) {
  const auto take = [&](const Star& star) { xs.take(star.x()), ys.take(star.y()); };
  for (const auto* star : {&series.bound_star, &series.measured_star})
    if (*star) take(**star);
  for (const std::vector<Star>* stars : {&series.trajectory, &series.runs, &series.other_runs})
    for (const Star& star : *stars) take(star);
}

bool is_fixed(const PlotOptions& options) { return options.machine_frame || options.x_limits || options.y_limits; }

Frame frame_of(const std::pair<double, double>& x, const std::pair<double, double>& y) {
  return {std::pow(10, x.first), std::pow(10, x.second), std::pow(10, y.first), std::pow(10, y.second)};
}

}  // namespace

void count_outside(Series& series, const Frame& frame) {
  series.outside = 0;
  series.outside_share = 0;
  for (const Dot& dot : series.dots) {
    if (dot.rail || !dot.place() || frame.holds(*dot.place())) continue;
    series.outside += dot.items.size();
    series.outside_share += dot.share;
  }
}

void fit_frame(Chart& chart) {
  if (is_fixed(chart.options)) return;
  Span xs, ys;
  bool has_rail = false;
  for (const Series& series : chart.series) {
    if (!chart.by_model) add_dots(series, xs, ys, has_rail);  // charts of several models compare whole models
    take_stars(series, xs, ys);
  }
  for (const Star& star : chart.path) xs.take(star.x()), ys.take(star.y());
  if (xs.is_empty()) return;
  const double ridge = chart.roofs.ridge(chart.roofs.main), peak = chart.roofs.compute[chart.roofs.main].value;
  if (xs.is_near(ridge)) xs.take(ridge), ys.take(peak);
  for (const Machine& machine : chart.machines) xs.take(machine.peak / machine.bandwidth), ys.take(machine.peak);
  const auto x = xs.ends(1);
  // Work without FLOPs is drawn at the left end, at the height where its bytes per second meet the roof.
  if (has_rail) ys.take(std::pow(10, x.first) * chart.roofs.bandwidth.front().value);
  chart.frame = frame_of(x, ys.ends(1));
  for (Series& series : chart.series) {
    for (Dot& dot : series.dots)
      for (auto* at : {&dot.estimated, &dot.measured})
        if (dot.rail && *at) (*at)->x = chart.frame.x0;
    count_outside(series, chart.frame);
  }
}

void fit_energy_frame(Chart& view) {
  if (is_fixed(view.options)) return;
  Span xs, ys;
  for (const Series& series : view.series) {
    for (const Dot& dot : series.dots)
      if (dot.measured) xs.take(dot.measured->x), ys.take(dot.measured->y);
    take_stars(series, xs, ys);
  }
  if (xs.is_empty()) return;
  const std::optional<EnergyModel>& model = view.energy->model;
  if (model)
    for (const double balance : {time_balance(*model), energy_balance(*model), half_peak_intensity(*model)})
      xs.take(balance);
  const auto x = xs.ends(2);
  if (model) ys.take(flops_per_joule(*model, std::pow(10, x.first))), ys.take(peak_flops_per_joule(*model));
  view.frame = frame_of(x, ys.ends(1));
}

}  // namespace pagoda::present::plot
