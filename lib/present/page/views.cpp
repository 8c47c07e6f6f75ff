#include "page/parts.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "draw/axis.h"
#include "draw/picture.h"
#include "draw/text.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/csv_line.h"
#include "pagoda/base/text.h"
#include "report/rows.h"
#include "report/verdict.h"

namespace pagoda::present {
namespace plot {
namespace {

constexpr double kViewWidth = 560, kViewLeft = 72, kViewRight = 24;  // of views, and the margins of their axes

std::string peak_text(const documents::EstimateMemory& memory) {
  std::string text = "peak " + base::grouped(memory.peak_bytes) + " B (" + base::si(memory.peak_bytes, "B") +
                     ") at step " + std::to_string(memory.peak_step);
  if (const auto step = static_cast<std::size_t>(memory.peak_step); step < memory.names.size())
    text += cat(", ", short_name(memory.names[step], 40), " (", memory.op_types[step], ")");
  Int weights = 0;
  for (const auto& of_type : memory.weights) weights += of_type.bytes;
  return weights > 0 ? text + "; weights " + base::si(weights, "B") : text;
}

// Live bytes at each step; steps that share a pixel show their maximum. The estimate must have a memory plan.
std::string draw_memory(const documents::EstimateDocument& estimate, const std::string& title, double width) {
  constexpr double kHeight = 226;  // of the axes
  const documents::EstimateMemory& memory = *estimate.memory;
  const std::size_t steps = memory.timeline.size();
  const std::string subtitle = steps > 0 ? peak_text(memory) : "no steps";
  const double right = width - kViewRight, top = title_bottom(title, subtitle, width) + 18, bottom = top + kHeight,
               most = std::max(1.0, static_cast<double>(memory.peak_bytes));
  const auto x = [&](double step) {
    return kViewLeft + (right - kViewLeft) * step / std::max(1.0, static_cast<double>(steps));
  };
  const auto y = [&](double bytes) { return bottom - kHeight * std::min(1.0, bytes / most); };
  Svg svg = begin_picture(title, subtitle, width, bottom + 42);
  std::string grid;
  for (const double tick : linear_ticks(0, most)) {
    grid += filled("M% %H%", {kViewLeft, y(tick), right});
    svg.note(kViewLeft - 6, y(tick) + 4, base::si_text(tick, "B"), kMuted, kEnd);
  }
  draw_rules(svg, grid);
  const std::size_t columns = std::min(steps, static_cast<std::size_t>(right - kViewLeft));
  std::string path = filled("M% %", {kViewLeft, bottom});
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t begin = column * steps / columns, end = (column + 1) * steps / columns;
    const Int highest = *std::max_element(&memory.timeline[begin], &memory.timeline[begin] + (end - begin));
    path += filled("V%H%", {y(static_cast<double>(highest)), x(static_cast<double>(end))});
  }
  svg.leaf("path fill='%' fill-opacity='0.3' stroke='%' d='%V%Z'", {kPalette[0], kPalette[0], path, bottom});
  if (steps > 0)
    svg.leaf("circle cx='%' cy='%' r='4' fill='%'", {x(static_cast<double>(memory.peak_step) + 0.5), top, kPalette[3]});
  const double middle = (kViewLeft + right) / 2;
  svg.note(kViewLeft, bottom + 16, "0").note(right, bottom + 16, std::to_string(steps), kMuted, kEnd);
  svg.note(middle, bottom + 16, "step, in the order of execution", kMuted, kMiddle);
  svg.note(middle, bottom + 33, fit("not counted: " + memory.excludes, kSmallText, width - 24), kMuted, kMiddle);
  svg.close();
  return std::move(svg).done();
}

// Time, speed and memory over a swept size, each if it is known at two points.
std::vector<LineChart> sweep_charts(const documents::EstimateSweep& sweep) {
  std::string subtitle = "both axes logarithmic: a straight line is a power law";
  if (const auto knee = report::knee_of(sweep))
    subtitle = cat(report::knee_text(sweep, *knee), "; both axes logarithmic");
  struct Quantity {
    const char *title, *unit, *bound;
    std::size_t color;
    std::optional<double> (*value)(const documents::EstimatePoint&, const std::optional<double>& seconds);
  };
  // clang-format off
  constexpr std::array<Quantity, 3> kQuantities = {{
      {"Time",            "s",      "at least", 0, [](const auto&, const std::optional<double>& seconds) { return seconds; }},
      {"Speed",           "FLOP/s", "at most",  3, [](const auto& point, const std::optional<double>& seconds) {
         const auto flops = documents::real(point.counts.flops);
         return flops && seconds.value_or(0) > 0 ? std::optional(*flops / *seconds) : std::nullopt; }},
      {"Memory of a run", "B",      "",         2, [](const auto& point, const std::optional<double>&) { return documents::real(point.memory_bytes); }}}};
  // clang-format on
  std::vector<LineChart> charts;
  for (const auto& [title, unit, bound, color, value] : kQuantities) {
    ChartLine least{.name = bound, .points = {}, .color = color},
        measured{.name = "measured", .points = {}, .color = color};
    for (const documents::EstimatePoint& point : sweep.points) {
      const double size = static_cast<double>(point.sizes.front());
      if (size <= 0) continue;
      const auto add = [&](ChartLine& line, const std::optional<double>& y) {
        if (y.value_or(0) > 0) line.points.push_back({.x = size, .y = *y});
      };
      add(least, value(point, least_seconds(point)));
      if (*bound != '\0') add(measured, value(point, point.measured_seconds));
    }
    if (least.points.size() < 2) continue;
    LineChart chart{.title = std::string(title) + " over " + sweep.dims.front(),
                    .subtitle = subtitle,
                    .x_title = sweep.dims.front(),
                    .y_title = {},
                    .is_x_logarithmic = true,
                    .y_unit = unit,
                    .height = 130};
    least.is_hollow = !measured.points.empty();
    if (least.is_hollow) least.dashes = "4 3";
    for (ChartLine* line : {&least, &measured}) {
      if (line->points.empty()) continue;
      line->points.back().label = base::si_text(line->points.back().y, unit);
      chart.lines.push_back(std::move(*line));
    }
    charts.push_back(std::move(chart));
  }
  return charts;
}

// Measured time over least time, both logarithmic, with lines at equality and at multiples of the least time.
std::string draw_scatter(const Series& series) {
  struct Point {
    double bound, seconds;
    std::size_t color;
  };
  std::vector<Point> points;
  double sum = 0, low = INFINITY, high = 0;
  for (const Dot& dot : series.dots)
    for (const std::size_t i : dot.items) {
      const Item& item = series.items[i];
      if (item.bound_seconds.value_or(0) <= 0 || item.seconds.value_or(0) <= 0) continue;
      points.push_back({*item.bound_seconds, *item.seconds, dot.color});
      sum += std::log(*item.seconds / *item.bound_seconds);
      low = std::min({low, *item.bound_seconds, *item.seconds});
      high = std::max({high, *item.bound_seconds, *item.seconds});
    }
  if (points.empty()) return {};
  std::vector<double> ratios;
  ratios.reserve(points.size());
  for (const Point& point : points) ratios.push_back(point.seconds / point.bound);
  std::ranges::sort(ratios);
  const double mean = std::exp(sum / static_cast<double>(points.size()));
  const auto at = [&](double part) {
    return plain(ratios[static_cast<std::size_t>(part * static_cast<double>(ratios.size() - 1))]) + "×";
  };
  const std::string title = "Measured against least time",
                    subtitle = "measured / least: geometric mean " + plain(mean) + "× (" + (mean >= 1 ? "+" : "−") +
                               percent_text(std::abs(mean - 1)) + "), half within " + at(0.25) + " … " + at(0.75) +
                               ", of " + std::to_string(points.size());
  const double right = kViewWidth - kViewRight, top = title_bottom(title, subtitle, kViewWidth) + 18,
               bottom = top + 296;
  // Whole decades.
  const double first = std::pow(10, std::floor(std::log10(low) + 1e-9)),
               last = std::max(10 * first, std::pow(10, std::ceil(std::log10(high) - 1e-9)));
  const LogAxis x{first, last, kViewLeft, right}, y{first, last, bottom, top};
  Svg svg = begin_picture(title, subtitle, kViewWidth, bottom + 42);
  std::string grid;
  const int stride = std::max(1, static_cast<int>(std::lround(std::log10(last / first))) / 6);
  for (const Tick& tick : log_ticks(first, last)) {
    if (tick.step != 1 || (tick.exponent - std::lround(std::log10(first))) % stride != 0) continue;
    grid += filled("M% %V%M% %H%", {x(tick.value), top, bottom, kViewLeft, y(tick.value), right});
    const std::string label = base::si_text(tick.value, "s");
    svg.note(x(tick.value), bottom + 16, label, kMuted, kMiddle)
        .note(kViewLeft - 6, y(tick.value) + 4, label, kMuted, kEnd);
  }
  draw_rules(svg, grid);
  for (const double factor : {1.0, 2.0, 10.0}) {
    if (last / factor <= first) continue;
    svg.leaf("path class='ghost' stroke='%' stroke-dasharray='%' d='M% %L% %'",
             {kMuted, factor == 1 ? "" : "4 3", x(first), y(first * factor), x(last / factor), y(last)});
    svg.note(x(first) + 20, y(first * factor) - 3, factor == 1 ? "equal" : plain(factor) + "×");
  }
  for (const Point& point : points)
    svg.leaf("circle cx='%' cy='%' r='4' fill='%' fill-opacity='0.75' stroke='#333' stroke-width='0.6'",
             {x(point.bound), y(point.seconds), kPalette[point.color]});
  svg.note((kViewLeft + right) / 2, bottom + 33, "least time by the roofs; up: measured", kMuted, kMiddle);
  svg.close();
  return std::move(svg).done();
}

}  // namespace

std::vector<View> draw_views(const Chart& chart) {
  std::vector<View> views;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    const auto add = [&](const char* kind, const std::string& title, std::string svg) {
      if (!svg.empty()) views.push_back({kind, title, std::move(svg), i});
    };
    if (series.has_time()) add("gap", "measured against least time", draw_scatter(series));
    if (!series.estimate) continue;
    const ChartEstimate& estimate = chart.estimates[*series.estimate];
    const auto& memory = estimate.document().memory;
    // The plan is for inference; the answer's tables show the memory of a training step.
    if (!estimate.document().training && memory && memory->peak_bytes > 0)
      add("memory", "activations alive at each step",
          draw_memory(estimate.document(), "Activations alive at each step", kViewWidth));
    if (estimate.sweep != nullptr)
      for (const LineChart& of_quantity : sweep_charts(*estimate.sweep))
        add("sweep", of_quantity.title, draw(of_quantity, kViewWidth));
  }
  return views;
}

}  // namespace plot

std::string memory_timeline_csv(const documents::EstimateDocument& estimate) {
  const documents::EstimateMemory& plan = *estimate.memory;
  std::string text = base::csv_line({"step", "node", "name", "op_type", "bytes"});
  for (std::size_t step = 0; step < plan.timeline.size(); ++step) {
    base::CsvLine line;
    line.add(step).add(plan.order[step]).name(plan.names[step]).name(plan.op_types[step]).add(plan.timeline[step]);
    text += std::move(line).end();
  }
  return text;
}

std::string memory_timeline_svg(const documents::EstimateDocument& estimate) {
  const std::string& model = estimate.model.path.empty() ? estimate.model.name : estimate.model.path;
  return plot::draw_memory(estimate, cat("Activations alive at each step, ", model), plot::kPictureWidth);
}

}  // namespace pagoda::present
