#include "plot/views.h"

#include <algorithm>
#include <cmath>

#include "pagoda/base/text.h"
#include "plot/draw.h"
#include "plot/text.h"

namespace pagoda::present::plot {
namespace {

constexpr double kWide = 560, kHigh = 300, kLeft = 64, kRight = 30, kTop = 44, kBottom = 40;

// A small picture with a title, one line below it, and axes.
class Card {
 public:
  Card(const std::string& title, const std::string& subtitle, double height = kHigh) : height_(height) {
    svg_.open("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                      {"viewBox", "0 0 " + px(kWide) + " " + px(height)},
                      {"font-family", std::string(kFont)},
                      {"font-size", px(kSmallText)},
                      {"role", "img"},
                      {"aria-label", title + ". " + subtitle}});
    svg_.text(8, 18, title,
              {{"class", "ink"}, {"font-size", "14"}, {"font-weight", "bold"}, {"fill", std::string(kInk)}});
    svg_.text(8, 35, fit(subtitle, kSmallText, kWide - 16), {{"class", "muted"}, {"fill", std::string(kMuted)}});
  }

  Svg& svg() { return svg_; }
  double bottom() const { return height_ - kBottom; }
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

// 1, 2 or 5 times a power of ten, at most five steps to `top`.
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

std::string second_tick(int exponent) { return base::si_text(std::pow(10.0, exponent), "s"); }

}  // namespace

// Bars: of each type the time, and where measured also the least time, so that the gap shows.
std::string draw_types_view(const Series& series) {
  const std::size_t count = std::min<std::size_t>(series.types.size(), 12);
  if (count == 0 || series.seconds <= 0) return {};
  const double row = 20, left = 150, width = kWide - left - 120, height = kTop + row * static_cast<double>(count) + 14;
  double top = 0;
  for (const TypeTime& type : series.types) top = std::max({top, type.seconds, type.bound_seconds});
  Card card("Time by operator type",
            series.has_time() ? "filled: measured; outline: least time by the roofs" : "least time by the roofs",
            height);
  for (std::size_t i = 0; i < count; ++i) {
    const TypeTime& type = series.types[i];
    const double y = kTop + row * static_cast<double>(i) + 4;
    const std::string color(kPalette[std::min(i, kColors)]);
    card.note(left - 8, y + 11, fit(type.type, kSmallText, left - 50) + " ×" + std::to_string(type.items), "end", kInk);
    card.svg().leaf("rect", {{"x", px(left)},
                             {"y", px(y)},
                             {"width", px(std::max(0.5, width * type.seconds / top))},
                             {"height", "14"},
                             {"fill", color},
                             {"fill-opacity", series.has_time() ? "1" : "0.45"}});
    if (series.has_time())
      card.svg().leaf("rect", {{"class", "ghost"},
                               {"x", px(left)},
                               {"y", px(y + 3)},
                               {"width", px(width * type.bound_seconds / top)},
                               {"height", "8"},
                               {"fill", "none"},
                               {"stroke", std::string(kInk)}});
    const double end = left + width * std::max(type.seconds, series.has_time() ? type.bound_seconds : 0) / top;
    card.note(end + 6, y + 11, base::si_text(type.seconds, "s") + ", " + percent_text(type.seconds / series.seconds));
  }
  return std::move(card).done();
}

// Bytes alive at each step; steps that share a pixel show their highest.
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
  const double width = kWide - kLeft - kRight, height = card.bottom() - kTop;
  std::string lines;
  for (double mark = 0, step = step_to(top); mark <= top * 1.0001; mark += step) {
    const double y = card.bottom() - height * mark / top;
    lines += "M" + px(kLeft) + " " + px(y) + "H" + px(kWide - kRight);
    card.note(kLeft - 6, y + 4, base::si_text(mark, "B"), "end");
  }
  card.grid(lines);
  const std::size_t steps = memory.timeline.size(), columns = std::min(steps, static_cast<std::size_t>(width));
  std::string path = "M" + px(kLeft) + " " + px(card.bottom());
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t begin = column * steps / columns, end = (column + 1) * steps / columns;
    const double highest =
        static_cast<double>(*std::max_element(memory.timeline.begin() + static_cast<std::ptrdiff_t>(begin),
                                              memory.timeline.begin() + static_cast<std::ptrdiff_t>(end)));
    path += "V" + px(card.bottom() - height * std::min(1.0, highest / top)) + "H" +
            px(kLeft + width * static_cast<double>(end) / static_cast<double>(steps));
  }
  card.svg().leaf("path", {{"fill", "#0072B2"},
                           {"fill-opacity", "0.3"},
                           {"stroke", "#0072B2"},
                           {"d", path + "V" + px(card.bottom()) + "Z"}});
  card.svg().leaf(
      "circle", {{"cx", px(kLeft + width * (static_cast<double>(memory.peak_step) + 0.5) / static_cast<double>(steps))},
                 {"cy", px(kTop)},
                 {"r", "4"},
                 {"fill", "#D55E00"}});
  card.note(kLeft, card.bottom() + 16, "0");
  card.note(kWide - kRight, card.bottom() + 16, std::to_string(steps), "end");
  card.note(kLeft + width / 2, card.bottom() + 16, "step, in the order of execution", "middle");
  card.note(kLeft + width / 2, card.bottom() + 32, fit("not counted: " + memory.excludes, kSmallText, width + 20),
            "middle");
  return std::move(card).done();
}

// Least time and memory over a swept size, both logarithmic: a straight line is a power.
std::string draw_sweep_view(const EstimateFile& estimate) {
  if (!estimate.sweep || estimate.sweep->points.size() < 2) return {};
  const EstimateCurve& sweep = *estimate.sweep;
  struct Curve {
    const char* name;
    const char* unit;
    std::optional<double> CurvePoint::*member;
    std::string_view color;
  };
  const std::array<Curve, 3> curves = {{{"least time", "s", &CurvePoint::seconds, kPalette[0]},
                                        {"throughput", "FLOP/s", nullptr, kPalette[3]},
                                        {"memory", "B", &CurvePoint::memory_bytes, kPalette[2]}}};
  constexpr double left = 96;  // "112 TFLOP/s" in front of the axis
  Card card("Over " + sweep.dim, "each curve on its own scale; values at both ends");
  // From end to end of the sizes: whole decades would leave half of the card empty.
  const double smallest = std::max(1e-9, sweep.points.front().size);
  const LogAxis x{smallest, std::max(sweep.points.back().size, smallest * 2), left, kWide - 130};
  std::string lines;
  each_decade(log_axis(x.low, x.high, 0, 1), [&](double value, int exponent) {
    if (value < x.low * (1 - 1e-9) || value > x.high * (1 + 1e-9)) return;
    lines += "M" + px(x(value)) + " " + px(kTop) + "V" + px(card.bottom());
    card.note(x(value), card.bottom() + 16, decade(exponent), "middle");
  });
  // The largest size itself, where no decade stands beside it.
  if (const double top = std::log10(x.high); std::abs(top - std::round(top)) > 0.12 || x.high < 10)
    card.note(x(x.high), card.bottom() + 16, number(x.high, 6), "middle");
  card.grid(lines);
  const auto speed = [](const CurvePoint& point) {
    return point.flops && point.seconds.value_or(0) > 0 ? std::optional(*point.flops / *point.seconds) : std::nullopt;
  };
  double below = 0;
  for (const Curve& curve : curves) {
    std::vector<std::pair<double, double>> points;
    for (const CurvePoint& point : sweep.points)
      if (const auto value = curve.member != nullptr ? point.*curve.member : speed(point);
          value && *value > 0 && point.size > 0)
        points.emplace_back(point.size, *value);
    if (points.size() < 2) continue;
    double low = points.front().second, high = low;
    for (const auto& [size, value] : points) low = std::min(low, value), high = std::max(high, value);
    if (high <= low * 1.0001) high = low * 2;
    const double third = (card.bottom() - kTop) / 3, y0 = kTop + below * third, y1 = y0 + third - 16;
    below += 1;
    const LogAxis y{low, high, y1, y0 + 8};
    std::string path;
    for (const auto& [size, value] : points) path += (path.empty() ? "M" : "L") + px(x(size)) + " " + px(y(value));
    card.svg().leaf("path",
                    {{"fill", "none"}, {"stroke", std::string(curve.color)}, {"stroke-width", "2"}, {"d", path}});
    for (const auto& [size, value] : points)
      card.svg().leaf("circle",
                      {{"cx", px(x(size))}, {"cy", px(y(value))}, {"r", "2.6"}, {"fill", std::string(curve.color)}});
    card.note(left - 6, y(points.front().second) + 4, base::si_text(points.front().second, curve.unit), "end");
    card.note(x(points.back().first) + 8, y(points.back().second) + 4,
              std::string(curve.name) + " " + base::si_text(points.back().second, curve.unit), "", kInk);
  }
  card.note((left + kWide - 130) / 2, card.bottom() + 32, sweep.dim, "middle");
  return std::move(card).done();
}

// What fusion saves: by rule, bytes that its kernels move and those that stay on the chip.
std::string draw_fusion_view(const EstimateFile& estimate) {
  struct Rule {
    std::string name;
    std::size_t kernels = 0, nodes = 0;
    double bytes = 0, saved = 0;
  };
  std::vector<Rule> rules;
  double bytes = 0, saved = 0;
  for (const EstimateGroup& group : estimate.groups) {
    bytes += group.bytes.value_or(0);
    saved += group.saved_bytes.value_or(0);
    const std::string name = group.nodes.size() < 2 ? "alone" : group.rule;
    auto found = std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.name == name; });
    if (found == rules.end()) found = rules.insert(rules.end(), Rule{.name = name});
    ++found->kernels;
    found->nodes += group.nodes.size();
    found->bytes += group.bytes.value_or(0);
    found->saved += group.saved_bytes.value_or(0);
  }
  if (saved <= 0) return {};
  std::stable_sort(rules.begin(), rules.end(),
                   [](const Rule& a, const Rule& b) { return a.bytes + a.saved > b.bytes + b.saved; });
  const std::size_t count = std::min<std::size_t>(rules.size(), 12);
  const double row = 20, left = 150, width = kWide - left - 170, top = rules.front().bytes + rules.front().saved;
  Card card("Fusion groups",
            base::si_text(bytes, "B") + " moved, " + base::si_text(saved, "B") + " stay on the chip (" +
                percent_text(saved / (bytes + saved)) + "); filled: moved, outline: saved",
            kTop + row * static_cast<double>(count) + 14);
  for (std::size_t i = 0; i < count; ++i) {
    const Rule& rule = rules[i];
    const double y = kTop + row * static_cast<double>(i) + 4, moved = width * rule.bytes / top,
                 kept = width * rule.saved / top;
    card.note(left - 8, y + 11, fit(rule.name, kSmallText, left - 56) + " ×" + std::to_string(rule.kernels), "end",
              kInk);
    card.svg().leaf(
        "rect",
        {{"x", px(left)}, {"y", px(y)}, {"width", px(moved)}, {"height", "14"}, {"fill", std::string(kPalette[0])}});
    card.svg().leaf("rect", {{"x", px(left + moved)},
                             {"y", px(y + 0.5)},
                             {"width", px(kept)},
                             {"height", "13"},
                             {"fill", std::string(kPalette[0])},
                             {"fill-opacity", "0.12"},
                             {"stroke", std::string(kPalette[0])},
                             {"stroke-dasharray", "3 2"}});
    card.note(left + moved + kept + 6, y + 11,
              std::to_string(rule.nodes) + " nodes, −" + base::si_text(rule.saved, "B"));
  }
  return std::move(card).done();
}

// Measured over least time, both logarithmic; lines where they are equal and at factors of it.
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
  const LogAxis x = log_axis(low, high, kLeft, kWide - kRight), y{x.low, x.high, card.bottom(), kTop};
  std::string lines;
  each_decade(x, [&](double value, int exponent) {
    lines += "M" + px(x(value)) + " " + px(kTop) + "V" + px(card.bottom()) + "M" + px(kLeft) + " " + px(y(value)) +
             "H" + px(kWide - kRight);
    card.note(x(value), card.bottom() + 16, second_tick(exponent), "middle");
    card.note(kLeft - 6, y(value) + 4, second_tick(exponent), "end");
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
  card.note((kLeft + kWide) / 2, card.bottom() + 32, "least time by the roofs; up: measured", "middle");
  return std::move(card).done();
}

std::vector<View> draw_views(const Chart& chart) {
  std::vector<View> views;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    const auto add = [&](const char* title, std::string svg) {
      if (!svg.empty()) views.push_back({title, std::move(svg), i});
    };
    add("time by operator type", draw_types_view(series));
    if (series.has_time()) add("measured against least time", draw_scatter_view(series));
    if (!series.estimate) continue;
    const EstimateFile& estimate = chart.estimates[*series.estimate];
    // The plan is of inference: the memory of a step is in the verdict.
    if (!estimate.document.training) add("memory timeline", draw_memory_view(estimate));
    add("sweep", draw_sweep_view(estimate));
    add("fusion groups", draw_fusion_view(estimate));
  }
  return views;
}

}  // namespace pagoda::present::plot
