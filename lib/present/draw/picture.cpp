#include "draw/picture.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "draw/axis.h"
#include "draw/text.h"
#include "pagoda/base/text.h"

namespace pagoda::present::plot {
namespace {

constexpr double kIntervalRow = 19, kTextLine = 17;  // heights of a row of intervals, of a line of text

// Title and subtitle: a row each in a wide picture, as many as they need in a narrow one.
struct Heading {
  std::vector<std::string> title, subtitle;
};

Heading heading(const std::string& title, const std::string& subtitle, double width) {
  constexpr std::size_t kMostLines = 9;
  const double space = width - 24;
  if (width >= kPictureWidth) return {{fit(title, 15, space)}, {fit(subtitle, kSmallText, space)}};
  Heading heading{wrapped(title, 15 * kBold, space, kMostLines), wrapped(subtitle, kSmallText, space, kMostLines)};
  if (heading.title.empty()) heading.title.emplace_back();
  if (heading.subtitle.empty()) heading.subtitle.emplace_back();
  return heading;
}

std::string_view color_of(std::size_t color) { return kPalette[std::min(color, kColors)]; }

// A logarithmic axis with some room at its ends.
LogAxis roomy_axis(double low, double high, double from, double to) {
  const double room = std::max(std::pow(high / low, 0.06), 1.01);
  return {low / room, high * room, from, to};
}

// 1-2-5 in each decade, evenly spaced ticks if all values lie near each other.
std::vector<double> ticks_of(const LogAxis& axis) {
  if (axis.ratio() <= 3) return linear_ticks(axis.low, axis.high, 8);
  const int stride = std::max(1, static_cast<int>(std::log10(axis.ratio())) / 4);
  std::vector<double> ticks;
  for (const Tick& tick : log_ticks(axis.low, axis.high))
    if (tick.step == 1 ? tick.exponent % stride == 0 : axis.ratio() < 300) ticks.push_back(tick.value);
  return ticks;
}

// A position on the axis; values beyond it lie at its ends.
double at(const LogAxis& axis, double value) { return axis(std::clamp(value, axis.low, axis.high)); }

constexpr std::size_t kLegendRows = 6;  // more would push the plot out of sight

// The place of a name in the legend. A name without space has none, and the picture says how many there are.
struct LegendPlace {
  double x = 0, row = 0;
};

std::vector<std::optional<LegendPlace>> legend(const std::vector<ChartLine>& lines, double left, double right) {
  std::vector<std::optional<LegendPlace>> places(lines.size());
  LegendPlace next{.x = left};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].name.empty()) continue;
    const double width = text_width(lines[i].name, kSmallText) + 34;
    if (next.x + width > right && next.x > left && next.row + 1 < static_cast<double>(kLegendRows))
      next = {.x = left, .row = next.row + 1};
    if (next.x + width > right) continue;
    places[i] = next;
    next.x += width;
  }
  return places;
}

// Where the lines of a chart lie.
struct LinePlot {
  double left = 0, right = 0, top = 0, bottom = 0;
  double x_low = 0, x_high = 0;
  bool is_x_logarithmic = false;
  LogAxis y_axis;

  double x(double value) const {
    if (!(x_high > x_low)) return (left + right) / 2;
    const double part = is_x_logarithmic ? LogAxis{x_low, x_high}(value) : (value - x_low) / (x_high - x_low);
    return left + 14 + (right - left - 28) * part;
  }
  double y(double value) const { return at(y_axis, value); }
};

void draw_axes(Svg& svg, const LineChart& chart, const LinePlot& plot, bool is_narrow) {
  const auto& [left, right, top, bottom, x_low, x_high, is_x_logarithmic, y_axis] = plot;
  std::string grid, last;
  double last_y = std::numeric_limits<double>::infinity();
  for (const double tick : ticks_of(y_axis)) {
    if (last_y - plot.y(tick) < 16) continue;
    last_y = plot.y(tick);
    grid += filled("M% %H%", {left, last_y, right});
    const std::string text = chart.y_unit.empty() ? plain(tick) : base::si_text(tick, chart.y_unit);
    if (text != last) svg.note(left - 7, last_y + 4, text, kMuted, kEnd);
    last = text;
  }
  draw_rules(svg, grid);
  draw_rules(svg, filled("M% %V%H%", {left, top, bottom, right}), true);
  const std::size_t names = chart.x_names.size(), most = is_narrow ? 4 : 12,
                    stride = std::max<std::size_t>(1, (names + most - 1) / most);
  for (std::size_t i = 0; i < names; i += stride) {
    const std::string name = fit(chart.x_names[i], kSmallText, (right - left) / (is_narrow ? 4 : 7));
    const double middle =
        std::min(plot.x(static_cast<double>(i)), right + (is_narrow ? 4 : 12) - text_width(name, kSmallText) / 2);
    svg.note(middle, bottom + 18, name, kMuted, kMiddle);
  }
  if (names > 0) return;
  if (is_x_logarithmic) {
    double end = -std::numeric_limits<double>::infinity();
    for (const Tick& tick : log_ticks(x_low, x_high)) {
      const std::string label = number(tick.value, 6);
      const double half = text_width(label, kSmallText) / 2, middle = plot.x(tick.value);
      if (middle - half < end + 6) continue;
      end = middle + half;
      svg.note(middle, bottom + 18, label, kMuted, kMiddle);
    }
    return;
  }
  for (const double value : x_high > x_low ? linear_ticks(x_low, x_high) : std::vector{x_low})
    svg.note(plot.x(value), bottom + 18, plain(value), kMuted, kMiddle);
}

// Right or left of the point, above or below it. Omitted if it would cover another name or point everywhere: the table
// has every name.
void draw_label(Svg& svg, const LinePlot& plot, const ChartPoint& point, double most, std::vector<Box>& taken) {
  const std::string label = fit(point.label, 10, most);
  if (label.empty()) return;
  const double wide = text_width(label, 10), gap = point.is_marked ? 8 : 6, x = plot.x(point.x), y = plot.y(point.y);
  for (const auto& [begin, base] :
       {std::pair{x + gap, y - 6}, {x + gap, y + 14}, {x - gap - wide, y + 14}, {x - gap - wide, y - 6}}) {
    const Box box{begin, base - 10, begin + wide, base + 1};
    const bool is_covered = std::ranges::any_of(taken, [&](const Box& b) { return b.overlaps(box); });
    if (is_covered || box.x0 < plot.left || box.x1 > plot.right) continue;
    taken.push_back(box);
    svg.note(begin, base, label, kMuted, "font-size='10'");
    return;
  }
}

void draw_line(Svg& svg, const LinePlot& plot, const ChartLine& line, double most, std::vector<Box>& taken) {
  const std::string_view color = color_of(line.color);
  std::string path, whiskers;
  for (const ChartPoint& point : line.points) {
    if (!(point.y > 0)) continue;
    path += filled(path.empty() ? "M% %" : "L% %", {plot.x(point.x), plot.y(point.y)});
    if (point.low && point.high)
      whiskers += filled("M% %V%", {plot.x(point.x), plot.y(*point.low), plot.y(*point.high)});
  }
  svg.leaf("path stroke='%' stroke-width='1.5' stroke-dasharray='%' fill='none' d='%'",
           {color, line.dashes.empty() ? "none" : line.dashes, path});
  if (!whiskers.empty()) svg.leaf("path stroke='%' fill='none' d='%'", {color, whiskers});
  for (const ChartPoint& point : line.points) {
    if (!(point.y > 0)) continue;
    svg.leaf("circle cx='%' cy='%' r='%' data-k='%' fill='%' stroke='%' stroke-width='%'",
             {plot.x(point.x), plot.y(point.y), point.is_marked ? "6" : "3.5", point.key,
              line.is_hollow ? "#fff" : color, line.is_hollow ? color : "#333333", line.is_hollow ? "1.4" : "0.7"});
    draw_label(svg, plot, point, most, taken);
  }
}

}  // namespace

double title_bottom(const std::string& title, const std::string& subtitle, double width) {
  const Heading rows = heading(title, subtitle, width);
  return 40 + kTextLine * static_cast<double>(rows.title.size() + rows.subtitle.size() - 2);
}

Svg begin_picture(const std::string& title, const std::string& subtitle, double width, double height) {
  Svg svg;
  svg.open(
      "svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 % %' width='%' height='%' font-family='%' "
      "font-size='%' role='img' aria-label='%. %'",
      {width, height, width, height, kFont, kSmallText, title, subtitle});
  svg.leaf("rect class='paper' width='%' height='%' fill='#ffffff'", {width, height});
  const Heading rows = heading(title, subtitle, width);
  double y = 22;
  for (const std::string& row : rows.title) {
    svg.note(12, y, row, kInk, "font-size='15' font-weight='bold'");
    y += kTextLine;
  }
  y += 1;
  for (const std::string& row : rows.subtitle) {
    svg.note(12, y, row);
    y += kTextLine;
  }
  return svg;
}

void draw_rules(Svg& svg, const std::string& path, bool is_strong) {
  svg.leaf("path class='%' stroke='%' fill='none' d='%'",
           {is_strong ? "frame" : "grid", is_strong ? "#8a939d" : "#dde1e6", path});
}

std::string draw(const LineChart& chart, double width) {
  const bool is_narrow = width < kPictureWidth;
  LinePlot plot{.left = !chart.y_unit.empty() ? 92.0
                        : is_narrow           ? 52.0
                                              : 70.0,
                .right = width - (is_narrow ? 8 : 16),
                .x_low = std::numeric_limits<double>::infinity(),
                .x_high = -std::numeric_limits<double>::infinity(),
                .is_x_logarithmic = chart.is_x_logarithmic,
                .y_axis = {}};
  const double legend_left = is_narrow ? 12 : plot.left;
  const std::vector<std::optional<LegendPlace>> places = legend(chart.lines, legend_left, plot.right);
  double legend_rows = 1;
  std::size_t unnamed = 0;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i])
      legend_rows = std::max(legend_rows, places[i]->row + 1);
    else if (!chart.lines[i].name.empty())
      ++unnamed;
  if (unnamed > 0) ++legend_rows;
  const double legend_top = title_bottom(chart.title, chart.subtitle, width) + 17;
  plot.top = legend_top + kTextLine * (legend_rows - 1) + 19;
  plot.bottom = plot.top + chart.height.value_or(is_narrow ? 250 : 308);
  const double height = plot.bottom + 76;
  double low = std::numeric_limits<double>::infinity(), high = 0;
  const auto take = [&](double value) {
    if (!(value > 0) || !std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  };
  for (const ChartLine& line : chart.lines)
    for (const std::vector<ChartPoint>* points : {&line.points, &line.cloud})
      for (const ChartPoint& point : *points) {
        if (!(point.y > 0)) continue;
        take(point.y);
        take(point.low.value_or(point.y));
        take(point.high.value_or(point.y));
        plot.x_low = std::min(plot.x_low, point.x);
        plot.x_high = std::max(plot.x_high, point.x);
      }
  if (high <= 0) return {};
  if (chart.reference) take(*chart.reference);
  plot.y_axis = roomy_axis(low, high, plot.bottom, plot.top);
  Svg svg = begin_picture(chart.title, chart.subtitle, width, height);
  if (unnamed > 0)
    svg.note(legend_left, legend_top + kTextLine * (legend_rows - 1) + 4,
             "and " + count_text(unnamed, "line", "lines") + " without space for a name", kMuted, kStart);
  draw_axes(svg, chart, plot, is_narrow);
  svg.note((plot.left + plot.right) / 2, height - 28, chart.x_title, kInk, kMiddle);
  const double middle = (plot.top + plot.bottom) / 2;
  svg.text(18, middle, chart.y_title, "class='ink' text-anchor='middle' fill='%' transform='rotate(-90 18 %)'",
           {kInk, middle});
  if (chart.reference) {
    const double y = plot.y(*chart.reference);
    svg.leaf("path class='ghost' stroke='%' stroke-dasharray='5 4' d='M% %H%'", {kInk, plot.left, y, plot.right});
    svg.note(plot.right - 4, y - 5, chart.reference_name, kMuted, kEnd);
  }
  if (chart.limit && *chart.limit >= plot.x_low && *chart.limit <= plot.x_high) {
    const double x = plot.x(*chart.limit);
    svg.leaf("path class='ghost' stroke='%' stroke-dasharray='2 4' d='M% %V%'", {kInk, x, plot.top, plot.bottom});
    svg.note(x + 5, plot.bottom - 6, chart.limit_name, kMuted, kStart);
  }
  for (const ChartLine& line : chart.lines) {
    std::string dots;
    for (const ChartPoint& point : line.cloud)
      if (point.y > 0) dots += filled("M% %h.1", {plot.x(point.x), plot.y(point.y)});
    if (!dots.empty())
      svg.leaf("path stroke='%' stroke-width='4' stroke-linecap='round' stroke-opacity='0.25' fill='none' d='%'",
               {color_of(line.color), dots});
  }
  std::vector<Box> taken;  // covered by points and names
  for (const ChartLine& line : chart.lines)
    for (const ChartPoint& point : line.points)
      if (const double x = plot.x(point.x), y = plot.y(point.y); point.y > 0)
        taken.push_back({x - 4, y - 4, x + 4, y + 4});
  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    draw_line(svg, plot, chart.lines[i], is_narrow ? 130 : 220, taken);
    const std::optional<LegendPlace>& place = places[i];
    if (!place) continue;
    const double y = legend_top + kTextLine * place->row;
    const std::string_view color = color_of(chart.lines[i].color);
    svg.leaf(
        "circle class='swatch-of-line' cx='%' cy='%' r='4' fill='%' stroke='%'",
        {place->x + 6, y, chart.lines[i].is_hollow ? "#fff" : color, chart.lines[i].is_hollow ? color : "#333333"});
    svg.note(place->x + 14, y + 4, chart.lines[i].name, kInk, kStart);
  }
  svg.close();
  return std::move(svg).done();
}

std::string draw(const IntervalChart& chart, double width) {
  if (chart.rows.empty()) return {};
  const bool is_narrow = width < kPictureWidth;  // name and value stand above the interval, not beside it
  const double left = is_narrow ? 16 : 330, right = width - (is_narrow ? 16 : 150),
               top = title_bottom(chart.title, chart.subtitle, width) + 16,
               row_height = is_narrow ? 2 * kIntervalRow : kIntervalRow;
  double low = chart.reference, high = chart.reference;
  for (const IntervalRow& row : chart.rows) {
    low = std::min({low, row.value, row.low.value_or(row.value)});
    high = std::max({high, row.value, row.high.value_or(row.value)});
  }
  const double bottom = top + row_height * static_cast<double>(chart.rows.size());
  Svg svg = begin_picture(chart.title, chart.subtitle, width, bottom + 52);
  const LogAxis x = roomy_axis(low, high, left, right);
  std::string grid;
  double last = -100;
  for (const double tick : ticks_of(x)) {
    if (x(tick) - last < 44) continue;
    last = x(tick);
    grid += filled("M% %V%", {last, top, bottom});
    svg.note(last, bottom + 17, plain(tick), kMuted, kMiddle);
  }
  draw_rules(svg, grid);
  draw_rules(svg, filled("M% %V%", {x(chart.reference), top, bottom}), true);
  svg.note((left + right) / 2, bottom + 38, chart.x_title, kInk, kMiddle);
  for (std::size_t i = 0; i < chart.rows.size(); ++i) {
    const IntervalRow& row = chart.rows[i];
    const double y = top + row_height * (static_cast<double>(i) + (is_narrow ? 0.75 : 0.5));
    const std::string_view color = color_of(row.color);
    svg.open("g data-k='%'", {row.key});
    if (is_narrow) {
      svg.note(12, y - 9, fit(row.name, kSmallText, width - 36 - text_width(row.text, kSmallText)), kInk, kStart);
      svg.note(width - 12, y - 9, row.text, kMuted, kEnd);
    } else {
      svg.note(left - 10, y + 4, fit(row.name, kSmallText, left - 22), kInk, kEnd);
      svg.note(right + 10, y + 4, fit(row.text, kSmallText, width - right - 14), kMuted, kStart);
    }
    if (row.low && row.high)
      svg.leaf("path stroke='%' stroke-width='2' d='M% %H%'", {color, at(x, *row.low), y, at(x, *row.high)});
    svg.leaf("circle cx='%' cy='%' r='4' fill='%' stroke='#333333' stroke-width='0.7'", {at(x, row.value), y, color});
    svg.close();
  }
  svg.close();
  return std::move(svg).done();
}

}  // namespace pagoda::present::plot
