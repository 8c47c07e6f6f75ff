#include "results/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "pagoda/base/error.h"
#include "pagoda/base/number.h"
#include "plot/draw.h"
#include "plot/page_files.h"
#include "plot/svg.h"
#include "plot/text.h"

namespace pagoda::lab::results {
namespace {

using present::plot::fit;
using present::plot::plain;
using present::plot::px;
using present::plot::Svg;

constexpr double kRow = 19, kLine = 17;  // heights of a row of intervals, of a line of text

std::string color_of(std::size_t color) { return std::string(present::plot::kPalette[std::min(color, present::plot::kColors)]); }

// Title and subtitle: a row each in a wide picture, as many as they need in a narrow one.
struct Heading {
  std::vector<std::string> title, subtitle;
  double bottom() const { return 40 + kLine * static_cast<double>(title.size() + subtitle.size() - 2); }
};

Heading heading(const std::string& title, const std::string& subtitle, double width) {
  constexpr std::size_t kMostLines = 9;
  const double space = width - 24;
  if (width >= kPictureWidth) return {{fit(title, 15, space)}, {fit(subtitle, 12, space)}};
  Heading heading{present::plot::wrapped(title, 15 * present::plot::kBold, space, kMostLines), present::plot::wrapped(subtitle, 12, space, kMostLines)};
  if (heading.title.empty()) heading.title.emplace_back();
  if (heading.subtitle.empty()) heading.subtitle.emplace_back();
  return heading;
}

Svg begin(const std::string& title, const std::string& subtitle, double width, double height) {
  Svg svg;
  svg.open("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                   {"viewBox", "0 0 " + px(width) + " " + px(height)},
                   {"width", px(width)},
                   {"height", px(height)},
                   {"font-family", std::string(present::plot::kFont)},
                   {"font-size", "12"},
                   {"role", "img"},
                   {"aria-label", title + ". " + subtitle}});
  svg.leaf("rect", {{"class", "paper"}, {"width", px(width)}, {"height", px(height)}, {"fill", "#ffffff"}});
  const Heading text = heading(title, subtitle, width);
  double y = 22;
  for (const std::string& line : text.title) {
    svg.text(12, y, line, {{"class", "ink"}, {"font-size", "15"}, {"font-weight", "bold"}, {"fill", std::string(present::plot::kInk)}});
    y += kLine;
  }
  y += 1;
  for (const std::string& line : text.subtitle) {
    svg.text(12, y, line, {{"class", "muted"}, {"fill", std::string(present::plot::kMuted)}});
    y += kLine;
  }
  return svg;
}

void note(Svg& svg, double x, double y, const std::string& text, const char* anchor, bool is_ink = false) {
  svg.text(x, y, text,
           {{"class", is_ink ? "ink" : "muted"},
            {"text-anchor", anchor},
            {"fill", std::string(is_ink ? present::plot::kInk : present::plot::kMuted)}});
}

void rule(Svg& svg, const std::string& path, bool is_strong) {
  svg.leaf("path", {{"class", is_strong ? "frame" : "grid"},
                    {"stroke", is_strong ? "#8a939d" : "#dde1e6"},
                    {"fill", "none"},
                    {"d", path}});
}

// Three to six ticks at multiples of 1, 2 or 5 times a power of ten.
std::vector<double> linear_ticks(double low, double high) {
  const double rough = (high - low) / 5, decade = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * decade;
  for (const double factor : {5.0, 2.0, 1.0})
    if (factor * decade >= rough) step = factor * decade;
  std::vector<double> ticks;
  for (double i = std::ceil(low / step - 1e-9); i <= high / step + 1e-9; ++i) ticks.push_back(i * step);
  return ticks;
}

// A logarithmic axis with round ticks: 1-2-5 in each decade, closer ticks if all values lie near each other.
struct Axis {
  double low, high, from, to;

  double operator()(double value) const {
    return from + (to - from) * std::log(std::clamp(value, low, high) / low) / std::log(high / low);
  }
  std::vector<double> ticks() const {
    std::vector<double> list;
    if (high / low > 3) {
      const int stride = std::max(1, static_cast<int>(std::log10(high / low)) / 4);
      for (int e = static_cast<int>(std::floor(std::log10(low))); e <= static_cast<int>(std::ceil(std::log10(high)));
           ++e)
        for (const int step : {1, 2, 5})
          if (const double value = step * std::pow(10.0, e);
              value >= low && value <= high && (step == 1 ? e % stride == 0 : high / low < 300))
            list.push_back(value);
      return list;
    }
    double step = std::pow(10, std::floor(std::log10(high - low)));
    for (const double finer : {0.2, 0.5, 1.0, 2.0})
      if ((high - low) / (step * finer) <= 8) {
        step *= finer;
        break;
      }
    for (double value = std::ceil(low / step) * step; value <= high * (1 + 1e-12); value += step) list.push_back(value);
    return list;
  }
};

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
    const double width = present::plot::text_width(lines[i].name, 12) + 34;
    if (next.x + width > right && next.x > left && next.row + 1 < static_cast<double>(kLegendRows))
      next = {.x = left, .row = next.row + 1};
    if (next.x + width > right) continue;
    places[i] = next;
    next.x += width;
  }
  return places;
}

Axis axis(double low, double high, double from, double to) {
  const double room = std::max(std::pow(high / low, 0.06), 1.01);
  return {low / room, high * room, from, to};
}

}  // namespace

std::string draw(const LineChart& chart, double width) {
  const bool is_narrow = width < kPictureWidth;
  const double left = is_narrow ? 52 : 70, right = width - (is_narrow ? 8 : 16), legend_left = is_narrow ? 12 : left;
  const std::vector<std::optional<LegendPlace>> places = legend(chart.lines, legend_left, right);
  double legend_rows = 1;
  std::size_t unnamed = 0;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i])
      legend_rows = std::max(legend_rows, places[i]->row + 1);
    else if (!chart.lines[i].name.empty())
      ++unnamed;
  if (unnamed > 0) ++legend_rows;
  const double legend_top = heading(chart.title, chart.subtitle, width).bottom() + 17,
               top = legend_top + kLine * (legend_rows - 1) + 19, bottom = top + (is_narrow ? 250 : 308), height = bottom + 76;
  double low = std::numeric_limits<double>::infinity(), high = 0, x_low = low, x_high = -low;
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
        x_low = std::min(x_low, point.x);
        x_high = std::max(x_high, point.x);
      }
  if (high <= 0) return {};
  if (chart.reference) take(*chart.reference);
  Svg svg = begin(chart.title, chart.subtitle, width, height);
  if (unnamed > 0)
    note(svg, legend_left, legend_top + kLine * (legend_rows - 1) + 4,
         "and " + present::plot::count_text(unnamed, "line", "lines") + " without space for a name", "start");
  const Axis y = axis(low, high, bottom, top);
  const auto x = [&](double value) {
    return x_high > x_low ? left + 14 + (right - left - 28) * (value - x_low) / (x_high - x_low)
                          : (left + right) / 2;
  };
  std::string grid, last;
  for (const double tick : y.ticks()) {
    grid += "M" + px(left) + " " + px(y(tick)) + "H" + px(right);
    if (const std::string text = plain(tick); text != last) note(svg, left - 7, y(tick) + 4, text, "end");
    last = plain(tick);
  }
  rule(svg, grid, false);
  rule(svg, "M" + px(left) + " " + px(top) + "V" + px(bottom) + "H" + px(right), true);
  const std::size_t names = chart.x_names.size(), most = is_narrow ? 4 : 12,
                    stride = std::max<std::size_t>(1, (names + most - 1) / most);
  for (std::size_t i = 0; i < names; i += stride) {
    const std::string name = fit(chart.x_names[i], 12, (right - left) / (is_narrow ? 4 : 7));
    const double at = std::min(x(static_cast<double>(i)), width - 4 - present::plot::text_width(name, 12) / 2);
    note(svg, at, bottom + 18, name, "middle");
  }
  if (names == 0)
    for (const double at : x_high > x_low ? linear_ticks(x_low, x_high) : std::vector{x_low})
      note(svg, x(at), bottom + 18, plain(at), "middle");
  note(svg, (left + right) / 2, height - 28, chart.x_title, "middle", true);
  svg.text(18, (top + bottom) / 2, chart.y_title,
           {{"class", "ink"},
            {"text-anchor", "middle"},
            {"fill", std::string(present::plot::kInk)},
            {"transform", "rotate(-90 18 " + px((top + bottom) / 2) + ")"}});
  if (chart.reference) {
    const double at = y(*chart.reference);
    svg.leaf("path", {{"class", "ghost"},
                      {"stroke", std::string(present::plot::kInk)},
                      {"stroke-dasharray", "5 4"},
                      {"d", "M" + px(left) + " " + px(at) + "H" + px(right)}});
    note(svg, right - 4, at - 5, chart.reference_name, "end");
  }
  if (chart.limit && *chart.limit >= x_low && *chart.limit <= x_high) {
    const double at = x(*chart.limit);
    svg.leaf("path", {{"class", "ghost"},
                      {"stroke", std::string(present::plot::kInk)},
                      {"stroke-dasharray", "2 4"},
                      {"d", "M" + px(at) + " " + px(top) + "V" + px(bottom)}});
    note(svg, at + 5, bottom - 6, chart.limit_name, "start");
  }
  for (const ChartLine& line : chart.lines) {
    std::string dots;
    for (const ChartPoint& point : line.cloud)
      if (point.y > 0) dots += "M" + px(x(point.x)) + " " + px(y(point.y)) + "h.1";
    if (!dots.empty())
      svg.leaf("path", {{"stroke", color_of(line.color)},
                        {"stroke-width", "4"},
                        {"stroke-linecap", "round"},
                        {"stroke-opacity", "0.25"},
                        {"fill", "none"},
                        {"d", dots}});
  }
  std::vector<present::plot::Box> taken;  // covered by points and names
  for (const ChartLine& line : chart.lines)
    for (const ChartPoint& point : line.points)
      if (point.y > 0) taken.push_back({x(point.x) - 4, y(point.y) - 4, x(point.x) + 4, y(point.y) + 4});
  for (const ChartLine& line : chart.lines) {
    const std::string color = color_of(line.color);
    std::string path, whiskers;
    for (const ChartPoint& point : line.points) {
      if (!(point.y > 0)) continue;
      path += (path.empty() ? "M" : "L") + px(x(point.x)) + " " + px(y(point.y));
      if (point.low && point.high)
        whiskers += "M" + px(x(point.x)) + " " + px(y(*point.low)) + "V" + px(y(*point.high));
    }
    svg.leaf("path", {{"stroke", color},
                      {"stroke-width", "1.5"},
                      {"stroke-dasharray", line.dashes.empty() ? "none" : line.dashes},
                      {"fill", "none"},
                      {"d", path}});
    if (!whiskers.empty()) svg.leaf("path", {{"stroke", color}, {"fill", "none"}, {"d", whiskers}});
    for (const ChartPoint& point : line.points) {
      if (!(point.y > 0)) continue;
      svg.leaf("circle", {{"cx", px(x(point.x))},
                          {"cy", px(y(point.y))},
                          {"r", point.is_marked ? "6" : "3.5"},
                          {"data-k", point.key},
                          {"fill", color},
                          {"stroke", "#333333"},
                          {"stroke-width", "0.7"}});
      // Right or left of the point, above or below it. Omitted if it would cover another name or point everywhere: the
      // table has every name.
      const std::string label = fit(point.label, 10, is_narrow ? 130 : 220);
      if (label.empty()) continue;
      const double wide = present::plot::text_width(label, 10), gap = point.is_marked ? 8 : 6, at = x(point.x),
                   level = y(point.y);
      for (const auto& [begin, base] : {std::pair{at + gap, level - 6},
                                       {at + gap, level + 14},
                                       {at - gap - wide, level + 14},
                                       {at - gap - wide, level - 6}}) {
        const present::plot::Box box{begin, base - 10, begin + wide, base + 1};
        const bool is_covered =
            std::any_of(taken.begin(), taken.end(), [&](const present::plot::Box& b) { return b.overlaps(box); });
        if (is_covered || box.x0 < left || box.x1 > right) continue;
        taken.push_back(box);
        svg.text(begin, base, label, {{"class", "muted"}, {"font-size", "10"}, {"fill", std::string(present::plot::kMuted)}});
        break;
      }
    }
    const std::optional<LegendPlace>& place = places[static_cast<std::size_t>(&line - chart.lines.data())];
    if (!place) continue;
    const double level = legend_top + kLine * place->row;
    svg.leaf("circle", {{"class", "swatch-of-line"},
                        {"cx", px(place->x + 6)},
                        {"cy", px(level)},
                        {"r", "4"},
                        {"fill", color},
                        {"stroke", "#333333"}});
    note(svg, place->x + 14, level + 4, line.name, "start", true);
  }
  svg.close();
  return std::move(svg).done();
}

std::string draw(const IntervalChart& chart, double width) {
  if (chart.rows.empty()) return {};
  const bool is_narrow = width < kPictureWidth;  // name and value stand above the interval, not beside it
  const double left = is_narrow ? 16 : 330, right = width - (is_narrow ? 16 : 150),
               top = heading(chart.title, chart.subtitle, width).bottom() + 16, row_height = is_narrow ? 2 * kRow : kRow;
  double low = chart.reference, high = chart.reference;
  for (const IntervalRow& row : chart.rows) {
    low = std::min({low, row.value, row.low.value_or(row.value)});
    high = std::max({high, row.value, row.high.value_or(row.value)});
  }
  const double bottom = top + row_height * static_cast<double>(chart.rows.size()), height = bottom + 52;
  Svg svg = begin(chart.title, chart.subtitle, width, height);
  const Axis x = axis(low, high, left, right);
  std::string grid;
  double last = -100;
  for (const double tick : x.ticks()) {
    if (x(tick) - last < 44) continue;
    last = x(tick);
    grid += "M" + px(x(tick)) + " " + px(top) + "V" + px(bottom);
    note(svg, x(tick), bottom + 17, plain(tick), "middle");
  }
  rule(svg, grid, false);
  rule(svg, "M" + px(x(chart.reference)) + " " + px(top) + "V" + px(bottom), true);
  note(svg, (left + right) / 2, bottom + 38, chart.x_title, "middle", true);
  for (std::size_t i = 0; i < chart.rows.size(); ++i) {
    const IntervalRow& row = chart.rows[i];
    const double y = top + row_height * (static_cast<double>(i) + (is_narrow ? 0.75 : 0.5));
    const std::string color = color_of(row.color);
    svg.open("g", {{"data-k", row.key}});
    if (is_narrow) {
      note(svg, 12, y - 9, fit(row.name, 12, width - 36 - present::plot::text_width(row.text, 12)), "start", true);
      note(svg, width - 12, y - 9, row.text, "end");
    } else {
      note(svg, left - 10, y + 4, fit(row.name, 12, left - 22), "end", true);
      note(svg, right + 10, y + 4, fit(row.text, 12, width - right - 14), "start");
    }
    if (row.low && row.high)
      svg.leaf("path", {{"stroke", color},
                        {"stroke-width", "2"},
                        {"d", "M" + px(x(*row.low)) + " " + px(y) + "H" + px(x(*row.high))}});
    svg.leaf("circle", {{"cx", px(x(row.value))},
                        {"cy", px(y)},
                        {"r", "4"},
                        {"fill", color},
                        {"stroke", "#333333"},
                        {"stroke-width", "0.7"}});
    svg.close();
  }
  svg.close();
  return std::move(svg).done();
}

std::string stacked(const std::vector<Picture>& pictures) {
  double height = 0;
  std::string inside;
  for (const auto& [svg, narrow] : pictures) {
    if (svg.empty()) continue;
    inside += "<g transform=\"translate(0 " + px(height) + ")\">\n" + svg + "</g>\n";
    const std::size_t at = svg.find("viewBox=\"0 0 " + px(kPictureWidth) + " ");
    double own = 0;
    base::read_number(svg.data() + at + 14 + px(kPictureWidth).size(), svg.data() + svg.size(), own);
    height += own;
  }
  if (inside.empty()) throw Error("there is nothing to draw: no record has a time");
  const std::string size = px(kPictureWidth) + " " + px(height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + size + "\" width=\"" + px(kPictureWidth) +
         "\" height=\"" + px(height) + "\">\n" + inside + "</svg>\n";
}

namespace {

// Whether a column contains numbers, with or without units: these are aligned right and sorted by size.
bool is_of_numbers(const PageTable& table, std::size_t column) {
  bool any = false;
  for (const auto& row : table.rows) {
    const std::string& cell = row[column];
    if (cell.empty() || cell == "?" || cell == "–" || cell == "not known") continue;
    const std::size_t at = cell.find_first_not_of(" +-");
    for (const std::string_view sign : {"≤ ", "≥ ", "≈ "})
      if (cell.starts_with(sign)) return is_of_numbers({"", {""}, {{cell.substr(sign.size())}}}, 0);
    if (at == std::string::npos || cell[at] < '0' || cell[at] > '9') return false;
    if (cell.size() == 10 && cell[4] == '-' && cell[7] == '-') return false;  // a date
    any = true;
  }
  return any;
}

std::string table_html(const PageTable& table) {
  using present::plot::xml;
  std::string html = "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" + xml(table.title) +
                     "\"><table class=\"plain\" aria-label=\"" + xml(table.title) + "\"><thead><tr>";
  // Columns without text are left out; leading blanks give the depth of a row in a tree.
  std::vector<std::pair<std::size_t, const char*>> shown;
  const auto any = [&](auto is) { return std::any_of(table.rows.begin(), table.rows.end(), is); };
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (!any([&](const auto& row) { return !row[i].empty(); })) continue;
    const bool is_tree = any([&](const auto& row) { return row[i].starts_with(" "); });
    shown.emplace_back(i, is_of_numbers(table, i) ? " class=\"number\"" : is_tree ? " class=\"tree\"" : "");
    html += "<th scope=\"col\"" + std::string(shown.back().second) + ">" + xml(table.columns[i]) + "</th>";
  }
  html += "</tr></thead><tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    if (std::find(table.baselines.begin(), table.baselines.end(), r) != table.baselines.end()) continue;
    html += r < table.keys.size() ? "<tr data-k=\"" + xml(table.keys[r]) + "\">" : "<tr>";
    for (const auto& [i, style] : shown) html += "<td" + std::string(style) + ">" + xml(table.rows[r][i]) + "</td>";
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>";
}

}  // namespace

std::string page(const Page& page) {
  using present::plot::xml;
  std::string html = "<main>\n<header class=\"verdict\"><div><h1>" + xml(page.title) +
                     (page.verdict.empty() ? "" : ": <span id=\"verdict-time\">" + xml(page.verdict) + "</span>") +
                     "</h1>\n<ul id=\"actions\">";
  for (const std::string& fact : page.facts) html += "<li>" + xml(fact) + "</li>";
  html += "</ul></div></header>\n";
  for (const auto& [wide, narrow] : page.pictures)
    if (!wide.empty())
      html += "<figure class=\"result\">\n<div class=\"wide\">" + wide + "</div><div class=\"narrow\">" + narrow +
              "</div></figure>\n";
  html +=
      "<div class=\"bar\"><input id=\"search\" type=\"search\" placeholder=\"Search rows\" aria-label=\"Search "
      "rows\"><span id=\"status\" role=\"status\"></span><span class=\"end\"><button id=\"save-svg\" "
      "type=\"button\">SVG</button><button id=\"save-csv\" type=\"button\">CSV</button><button id=\"dark\" "
      "type=\"button\" aria-pressed=\"false\">Dark</button></span></div>\n";
  std::string bar, panels;
  for (const PageTable& table : page.tables) {
    if (table.rows.size() <= table.baselines.size()) continue;
    const std::string id = "table-" + std::to_string(&table - page.tables.data());
    bar += "<button type=\"button\" role=\"tab\" id=\"tab-" + id + "\" data-tab=\"" + id + "\" aria-controls=\"" + id +
           "\" aria-selected=\"false\" tabindex=\"-1\">" + xml(table.title) + "</button>";
    panels += "<section id=\"" + id + "\" role=\"tabpanel\" aria-labelledby=\"tab-" + id + "\">" + table_html(table);
    if (!table.baselines.empty())
      panels += "<p class=\"note\">" + present::plot::count_text(table.baselines.size(), "row", "rows") +
                " of the baseline itself, 1 by definition, left out</p>";
    panels += "</section>\n";
  }
  html += "<div id=\"tabs\"><div id=\"tab-bar\" role=\"tablist\" aria-label=\"Tables\">" + bar + "</div>\n" + panels +
          "</div>\n</main>\n";
  return present::plot::page_of(page.title, html, present::plot::report_page_script());
}

}  // namespace pagoda::lab::results
