#include "plot/views.h"

#include <algorithm>
#include <cmath>

#include "pagoda/base/text.h"
#include "plot/draw.h"
#include "plot/text.h"

namespace pagoda::present::plot {
namespace {

constexpr double kCardWidth = 560, kCardHeight = 300, kCardLeft = 64, kCardRight = 30, kCardTop = 44, kCardBottom = 40;

// A small picture with a title, one line below it, and axes.
class Card {
 public:
  Card(const std::string& title, const std::string& subtitle, double height = kCardHeight) : height_(height) {
    svg_.open("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                      {"viewBox", "0 0 " + px(kCardWidth) + " " + px(height)},
                      {"font-family", std::string(kFont)},
                      {"font-size", px(kSmallText)},
                      {"role", "img"},
                      {"aria-label", title + ". " + subtitle}});
    svg_.text(8, 18, title,
              {{"class", "ink"}, {"font-size", "14"}, {"font-weight", "bold"}, {"fill", std::string(kInk)}});
    svg_.text(8, 35, fit(subtitle, kSmallText, kCardWidth - 16), {{"class", "muted"}, {"fill", std::string(kMuted)}});
  }

  Svg& svg() { return svg_; }
  double bottom() const { return height_ - kCardBottom; }
  void note(double x, double y, const std::string& text, const char* anchor = "", std::string_view color = kMuted) {
    svg_.text(x, y, text,
              {{"class", color == kInk ? "ink" : "muted"}, {"text-anchor", anchor}, {"fill", std::string(color)}});
  }
  void grid(const std::string& path) {
    svg_.leaf("path", {{"class", "grid"}, {"stroke", "#dde1e6"}, {"fill", "none"}, {"d", path}});
  }
  std::string done() && {
    svg_.close();
    return std::move(svg_).done();
  }

 private:
  Svg svg_;
  double height_;
};

// A step of 1, 2 or 5 times a power of ten, with at most five steps to `top`.
double step_to(double top) {
  double step = std::pow(10, std::floor(std::log10(top)));
  while (top / step > 5) step *= 2;
  for (const double finer : {0.2, 0.5})
    if (top / (step * finer) <= 5) return step * finer;
  return step;
}

struct LogAxis {
  double low = 1, high = 10, from = 0, to = 1;  // pixels

  double operator()(double value) const { return from + (to - from) * std::log(value / low) / std::log(high / low); }
};

LogAxis log_axis(double low, double high, double from, double to) {
  const double first = std::pow(10, std::floor(std::log10(low) + 1e-9)),
               last = std::pow(10, std::ceil(std::log10(high) - 1e-9));
  return {first, last > first ? last : first * 10, from, to};
}

template <typename Tick>
void each_decade(const LogAxis& axis, Tick tick) {
  const int first = static_cast<int>(std::lround(std::log10(axis.low))),
            last = static_cast<int>(std::lround(std::log10(axis.high)));
  const int stride = std::max(1, (last - first) / 6);
  for (int exponent = first; exponent <= last; exponent += stride) tick(std::pow(10.0, exponent), exponent);
}

// 1, 2 and 5 times powers of ten within the ends; only powers of ten if high/low > 300.
std::vector<double> round_values(double low, double high) {
  std::vector<double> values;
  const bool is_wide = high / low > 300;
  for (int e = static_cast<int>(std::floor(std::log10(low))); e <= static_cast<int>(std::ceil(std::log10(high))); ++e)
    for (const double step : {1.0, 2.0, 5.0})
      if (const double value = step * std::pow(10.0, e);
          (step == 1 || !is_wide) && value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9))
        values.push_back(value);
  return values;
}

std::string second_tick(int exponent) { return base::si_text(std::pow(10.0, exponent), "s"); }

}  // namespace

// Live bytes at each step; steps that share a pixel show their maximum.
std::string draw_memory_view(const EstimateFile& estimate) {
  if (!estimate.document.memory) return {};
  const documents::EstimateMemory& memory = *estimate.document.memory;
  if (memory.timeline.empty() || memory.peak_bytes <= 0) return {};
  const double top = static_cast<double>(memory.peak_bytes);
  std::string subtitle = "peak " + base::si_text(top, "B") + " at step " + std::to_string(memory.peak_step);
  if (memory.peak_step < memory.order.size())
    if (const auto at = estimate.position(static_cast<std::size_t>(memory.order[memory.peak_step])))
      subtitle += ", " + short_name(estimate.nodes()[*at].name, 30);
  if (const auto weights = estimate.weight_bytes()) subtitle += "; weights " + base::si_text(*weights, "B");
  Card card("Activations alive at each step", subtitle);
  const double width = kCardWidth - kCardLeft - kCardRight, height = card.bottom() - kCardTop;
  std::string lines;
  for (double mark = 0, step = step_to(top); mark <= top * 1.0001; mark += step) {
    const double y = card.bottom() - height * mark / top;
    lines += "M" + px(kCardLeft) + " " + px(y) + "H" + px(kCardWidth - kCardRight);
    card.note(kCardLeft - 6, y + 4, base::si_text(mark, "B"), "end");
  }
  card.grid(lines);
  const std::size_t steps = memory.timeline.size(), columns = std::min(steps, static_cast<std::size_t>(width));
  std::string path = "M" + px(kCardLeft) + " " + px(card.bottom());
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t begin = column * steps / columns, end = (column + 1) * steps / columns;
    const double highest =
        static_cast<double>(*std::max_element(memory.timeline.begin() + static_cast<std::ptrdiff_t>(begin),
                                              memory.timeline.begin() + static_cast<std::ptrdiff_t>(end)));
    path += "V" + px(card.bottom() - height * std::min(1.0, highest / top)) + "H" +
            px(kCardLeft + width * static_cast<double>(end) / static_cast<double>(steps));
  }
  card.svg().leaf("path", {{"fill", "#0072B2"},
                           {"fill-opacity", "0.3"},
                           {"stroke", "#0072B2"},
                           {"d", path + "V" + px(card.bottom()) + "Z"}});
  card.svg().leaf(
      "circle",
      {{"cx", px(kCardLeft + width * (static_cast<double>(memory.peak_step) + 0.5) / static_cast<double>(steps))},
       {"cy", px(kCardTop)},
       {"r", "4"},
       {"fill", "#D55E00"}});
  card.note(kCardLeft, card.bottom() + 16, "0");
  card.note(kCardWidth - kCardRight, card.bottom() + 16, std::to_string(steps), "end");
  card.note(kCardLeft + width / 2, card.bottom() + 16, "step, in the order of execution", "middle");
  card.note(kCardLeft + width / 2, card.bottom() + 32, fit("not counted: " + memory.excludes, kSmallText, width + 20),
            "middle");
  return std::move(card).done();
}

// Time, speed and memory over a swept size: one panel each, with its own axis; all axes are logarithmic, so that a
// straight line is a power law.
std::string draw_sweep_view(const EstimateFile& estimate) {
  if (!estimate.sweep || estimate.sweep->points.size() < 2) return {};
  const EstimateCurve& sweep = *estimate.sweep;
  struct Curve {
    const char* title;
    const char* unit;
    std::string_view color;
    std::vector<std::pair<double, double>> points = {}, measured = {};
  };
  std::array<Curve, 3> curves = {{{"Time, at least", "s", kPalette[0]},
                                  {"Speed, at most", "FLOP/s", kPalette[3]},
                                  {"Memory of a run", "B", kPalette[2]}}};
  for (const CurvePoint& point : sweep.points) {
    if (point.size <= 0) continue;
    const auto add = [&](std::vector<std::pair<double, double>>& points, const std::optional<double>& value) {
      if (value.value_or(0) > 0) points.emplace_back(point.size, *value);
    };
    const auto speed = [&](const std::optional<double>& seconds) {
      return point.flops && seconds.value_or(0) > 0 ? std::optional(*point.flops / *seconds) : std::nullopt;
    };
    add(curves[0].points, point.seconds);
    add(curves[0].measured, point.measured_seconds);
    add(curves[1].points, speed(point.seconds));
    add(curves[1].measured, speed(point.measured_seconds));
    add(curves[2].points, point.memory_bytes);
  }
  if (!curves[0].measured.empty()) {
    curves[0].title = "Time, at least (hollow) and measured (filled)";
    curves[1].title = "Speed, at most (hollow) and measured (filled)";
  }
  const auto shown = static_cast<double>(
      std::count_if(curves.begin(), curves.end(), [](const Curve& curve) { return curve.points.size() > 1; }));
  if (shown == 0) return {};
  constexpr double kPanel = 150, kLeftOfSweep = 92;
  Card card("Over " + sweep.dim, "logarithmic; the last value is written out", kCardTop + shown * kPanel + 24);
  const double right = kCardWidth - 108;  // right end of the axes; the last value is written beside it
  const double smallest = std::max(1e-9, sweep.points.front().size);
  const LogAxis x{smallest, std::max(sweep.points.back().size, smallest * 2), kLeftOfSweep, right};
  double top = kCardTop + 4;
  for (const Curve& curve : curves) {
    if (curve.points.size() < 2) continue;
    const double bottom = top + kPanel - 34;
    double low = curve.points.front().second, high = low;
    for (const auto* points : {&curve.points, &curve.measured})
      for (const auto& [size, value] : *points) low = std::min(low, value), high = std::max(high, value);
    // Keeps a flat curve away from the edges.
    if (high < low * 3) low /= 2, high *= 2;
    const LogAxis y{low, high, bottom - 4, top + 22};
    card.note(kLeftOfSweep, top + 10, curve.title, "", kInk);
    std::string lines = "M" + px(kLeftOfSweep) + " " + px(bottom) + "H" + px(right);
    double last = INFINITY;
    for (const double value : round_values(low, high)) {
      if (last - y(value) < 16) continue;
      last = y(value);
      lines += "M" + px(kLeftOfSweep) + " " + px(y(value)) + "H" + px(right);
      card.note(kLeftOfSweep - 6, y(value) + 4, base::si_text(value, curve.unit), "end");
    }
    double end = -INFINITY;
    for (const double value : round_values(x.low, x.high)) {
      const std::string label = number(value, 6);
      const double half = text_width(label, kSmallText) / 2;
      if (x(value) - half < end + 6) continue;
      end = x(value) + half;
      lines += "M" + px(x(value)) + " " + px(top + 18) + "V" + px(bottom);
      card.note(x(value), bottom + 14, label, "middle");
    }
    card.grid(lines);
    const bool has_both = !curve.measured.empty();
    double end_of_bound = 0;
    for (const auto* points : {&curve.points, &curve.measured}) {
      if (points->empty()) continue;
      const bool is_bound = points == &curve.points, is_hollow = is_bound && has_both;
      std::string path;
      for (const auto& [size, value] : *points) path += (path.empty() ? "M" : "L") + px(x(size)) + " " + px(y(value));
      card.svg().leaf("path", {{"class", is_bound ? "" : "measured"},
                               {"fill", "none"},
                               {"stroke", std::string(curve.color)},
                               {"stroke-width", "2"},
                               {"stroke-dasharray", is_hollow ? "4 3" : ""},
                               {"d", path}});
      for (const auto& [size, value] : *points)
        card.svg().leaf("circle", {{"cx", px(x(size))},
                                   {"cy", px(y(value))},
                                   {"r", "2.6"},
                                   {"fill", is_hollow ? "#fff" : std::string(curve.color)},
                                   {"stroke", is_hollow ? std::string(curve.color) : ""}});
      // The last values are written beside the curves, and not over each other.
      const auto& [size, value] = points->back();
      if (!is_bound && std::abs(y(value) - end_of_bound) < 13) continue;
      card.note(x(size) + 8, y(value) + 4, base::si_text(value, curve.unit), "", kInk);
      end_of_bound = y(value);
    }
    top += kPanel;
  }
  card.note((kLeftOfSweep + right) / 2, top + 8, sweep.dim, "middle", kInk);
  return std::move(card).done();
}

// Measured time over least time, both logarithmic, with lines at equality and at multiples of the least time.
std::string draw_scatter_view(const Series& series) {
  struct Point {
    double bound, seconds;
    std::size_t color;
  };
  std::vector<Point> points;
  double sum = 0;
  for (const Dot& dot : series.dots)
    for (const std::size_t i : dot.items) {
      const Item& item = series.items[i];
      if (item.bound_seconds.value_or(0) <= 0 || item.seconds.value_or(0) <= 0) continue;
      points.push_back({*item.bound_seconds, *item.seconds, dot.color});
      sum += std::log(*item.seconds / *item.bound_seconds);
    }
  if (points.empty()) return {};
  std::vector<double> ratios;
  ratios.reserve(points.size());
  for (const Point& point : points) ratios.push_back(point.seconds / point.bound);
  std::sort(ratios.begin(), ratios.end());
  const double mean = std::exp(sum / static_cast<double>(points.size()));
  const auto at = [&](double part) {
    return ratios[static_cast<std::size_t>(part * static_cast<double>(ratios.size() - 1))];
  };
  double low = 1e9, high = 0;
  for (const Point& point : points)
    low = std::min({low, point.bound, point.seconds}), high = std::max({high, point.bound, point.seconds});
  Card card("Measured against least time",
            "measured / least: geometric mean " + plain(mean) + "× (" + (mean >= 1 ? "+" : "−") +
                percent_text(std::abs(mean - 1)) + "), half within " + plain(at(0.25)) + "× … " + plain(at(0.75)) +
                "×, of " + std::to_string(points.size()),
            380);
  const LogAxis x = log_axis(low, high, kCardLeft, kCardWidth - kCardRight), y{x.low, x.high, card.bottom(), kCardTop};
  std::string lines;
  each_decade(x, [&](double value, int exponent) {
    lines += "M" + px(x(value)) + " " + px(kCardTop) + "V" + px(card.bottom()) + "M" + px(kCardLeft) + " " +
             px(y(value)) + "H" + px(kCardWidth - kCardRight);
    card.note(x(value), card.bottom() + 16, second_tick(exponent), "middle");
    card.note(kCardLeft - 6, y(value) + 4, second_tick(exponent), "end");
  });
  card.grid(lines);
  for (const double factor : {1.0, 2.0, 10.0}) {
    const double end = x.high / factor;
    if (end <= x.low) continue;
    card.svg().leaf("path",
                    {{"class", "ghost"},
                     {"stroke", std::string(kMuted)},
                     {"stroke-dasharray", factor == 1 ? "" : "4 3"},
                     {"d", "M" + px(x(x.low)) + " " + px(y(x.low * factor)) + "L" + px(x(end)) + " " + px(y(x.high))}});
    card.note(x(x.low) + 20, y(x.low * factor) - 3, factor == 1 ? "equal" : plain(factor) + "×");
  }
  for (const Point& point : points)
    card.svg().leaf("circle", {{"cx", px(x(point.bound))},
                               {"cy", px(y(point.seconds))},
                               {"r", "4"},
                               {"fill", std::string(kPalette[point.color])},
                               {"fill-opacity", "0.75"},
                               {"stroke", "#333"},
                               {"stroke-width", "0.6"}});
  card.note((kCardLeft + kCardWidth) / 2, card.bottom() + 32, "least time by the roofs; up: measured", "middle");
  return std::move(card).done();
}

std::vector<View> draw_views(const Chart& chart) {
  std::vector<View> views;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    const auto add = [&](const char* kind, const char* title, std::string svg) {
      if (!svg.empty()) views.push_back({kind, title, std::move(svg), i});
    };
    if (series.has_time()) add("gap", "measured against least time", draw_scatter_view(series));
    if (!series.estimate) continue;
    const EstimateFile& estimate = chart.estimates[*series.estimate];
    // The plan is for inference; the answer's tables show the memory of a training step.
    if (!estimate.document.training) add("memory", "activations alive at each step", draw_memory_view(estimate));
    add("sweep", "over a size", draw_sweep_view(estimate));
  }
  return views;
}

}  // namespace pagoda::present::plot
