// Fits the frame of a still picture, as the page does (page/state.js): it holds the ridge of the roofs that matter and
// the dots that carry the time.
#include <algorithm>
#include <cmath>

#include "plot/chart.h"

namespace pagoda::present::plot {
namespace {

// The share of the dots' time that may lie outside each end of an axis, as marks at the edge. A few light rows far from
// all others would else leave most of the plot empty.
constexpr double kOutside = 0.01;
constexpr double kMargin = 0.06;  // share of the span, on each side

// Ends of one axis, in decades.
struct Span {
  double low = INFINITY, high = -INFINITY;

  void take(double value) {
    if (value > 0) low = std::min(low, std::log10(value)), high = std::max(high, std::log10(value));
  }
  // Takes places without those at both ends that carry less than kOutside of the weight; pairs of place and weight.
  void take_most(std::vector<std::pair<double, double>> places) {
    std::ranges::sort(places);
    double all = 0, below = 0;
    for (const auto& [value, weight] : places) all += weight;
    for (const auto& [value, weight] : places) {
      if (below + weight > kOutside * all && all - below > kOutside * all) take(value);
      below += weight;
    }
  }
  bool is_empty() const { return !(high >= low); }
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

void take_dots(const Series& series, Span& xs, Span& ys) {
  std::vector<std::pair<double, double>> x, y;
  for (const Dot& dot : series.dots)
    for (const auto* at : {&dot.estimated, &dot.measured})
      if (*at && !dot.rail && dot.seconds > 0)
        x.emplace_back((*at)->x, dot.seconds), y.emplace_back((*at)->y, dot.seconds);
  xs.take_most(std::move(x)), ys.take_most(std::move(y));
}

// The ridge of the main roof; without one, of each roof that is drawn.
void take_ridges(const Roofs& roofs, Span& xs, Span& ys) {
  for (std::size_t i = 0; i < roofs.compute.size(); ++i)
    if (roofs.has_main ? i == roofs.main : roofs.compute[i].shown)
      xs.take(roofs.ridge(i)), ys.take(roofs.compute[i].value);
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
  for (const Series& series : chart.series) {
    if (!chart.by_model) take_dots(series, xs, ys);  // charts of several models compare whole models
    take_stars(series, xs, ys);
  }
  for (const Star& star : chart.path) xs.take(star.x()), ys.take(star.y());
  if (xs.is_empty()) return;
  take_ridges(chart.roofs, xs, ys);
  for (const Machine& machine : chart.machines) xs.take(machine.peak / machine.bandwidth), ys.take(machine.peak);
  chart.frame = frame_of(xs.ends(1), ys.ends(1));
  for (Series& series : chart.series) count_outside(series, chart.frame);
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
