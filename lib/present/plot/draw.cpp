#include "plot/draw.h"

#include <algorithm>
#include <cctype>
#include <numbers>

#include "plot/text.h"
#include "plot/verdict.h"

namespace pagoda::present::plot {
namespace {

// The outline of a five-pointed star, for whole models.
std::string star_path(double x, double y, double radius) {
  std::string path;
  for (int i = 0; i < 10; ++i) {
    const double angle = std::numbers::pi * (i / 5.0 - 0.5), r = i % 2 == 0 ? radius : radius * 0.45;
    path += (i == 0 ? "M" : "L") + px(x + r * std::cos(angle)) + " " + px(y + r * std::sin(angle));
  }
  return path + "Z";
}

void draw_zones(Svg& svg, const Chart& chart, const Layout& layout, bool standalone) {
  // The page always gets the zones: it shows and hides them with its roofs.
  if (!layout.ridge_x || (standalone && !chart.roofs.is_single())) return;
  const double x = *layout.ridge_x, y = *layout.ridge_y;
  const Box& plot = layout.scale.plot;
  for (const RoofMark& mark : layout.roofs) {
    if (mark.roof->kind != Roof::Kind::Bandwidth || !mark.is_main || !mark.line) continue;
    svg.leaf("path", {{"id", "zone-memory"},
                      {"class", "zone"},
                      {"fill", "#0072B2"},
                      {"fill-opacity", "0.05"},
                      {"d", "M" + px(mark.line->x0) + " " + px(mark.line->y0) + "L" + px(x) + " " + px(y) + "V" +
                                px(plot.y1) + "H" + px(mark.line->x0) + "Z"}});
  }
  svg.leaf("path", {{"id", "zone-compute"},
                    {"class", "zone"},
                    {"fill", "#E69F00"},
                    {"fill-opacity", "0.07"},
                    {"d", "M" + px(x) + " " + px(y) + "H" + px(plot.x1) + "V" + px(plot.y1) + "H" + px(x) + "Z"}});
}

void draw_ridge(Svg& svg, const Chart& chart, const Layout& layout, bool standalone) {
  if (!layout.ridge_x) return;
  const double x = *layout.ridge_x, y = *layout.ridge_y;
  const Box& plot = layout.scale.plot;
  svg.open("g", {{"id", "ridge"}});
  svg.leaf("path", {{"class", "ridge"},
                    {"stroke", std::string(kMuted)},
                    {"stroke-dasharray", "2 4"},
                    {"fill", "none"},
                    {"d", "M" + px(x) + " " + px(y) + "V" + px(plot.y1)}});
  svg.leaf("circle", {{"class", "ink-fill"}, {"cx", px(x)}, {"cy", px(y)}, {"r", "3.5"}, {"fill", std::string(kInk)}});
  const std::string name = "ridge " + plain(chart.roofs.ridge(chart.roofs.main)) + " FLOP/B";
  const double half = text_width(name, kSmallText) / 2 + 3;
  svg.text(std::clamp(x, plot.x0 + half, std::max(plot.x0 + half, plot.x1 - half)), plot.y1 - 26, name,
           {{"class", "halo"}, {"text-anchor", "middle"}, {"fill", std::string(kInk)}});
  // The page has both zone names and shows those with space itself.
  constexpr double kGap = 8;
  const auto has_space = [&](const char* zone, double space) {
    return !standalone || (chart.roofs.is_single() && text_width(zone, kSmallText) + kGap < space);
  };
  if (has_space("memory-bound", x - plot.x0))
    svg.text(x - kGap, plot.y1 - 9, "memory-bound",
             {{"class", "muted halo"}, {"text-anchor", "end"}, {"fill", std::string(kMuted)}});
  if (has_space("compute-bound", plot.x1 - x))
    svg.text(x + kGap, plot.y1 - 9, "compute-bound", {{"class", "muted halo"}, {"fill", std::string(kMuted)}});
  svg.close();
}

void draw_roofs(Svg& svg, const Layout& layout) {
  svg.open("g", {{"id", "roofs"}, {"fill", "none"}});
  for (const RoofMark& mark : layout.roofs) {
    const Roof& roof = *mark.roof;
    svg.open("g", {{"class", std::string("roof") + (mark.is_main ? " main" : "")},
                   {"data-roof", roof.id},
                   {"display", roof.shown ? "" : "none"}});
    if (mark.line)
      svg.leaf("path", {{"d", segment_path(*mark.line)},
                        {"stroke", "#333c46"},
                        {"stroke-width", mark.is_main ? "2.2" : "1.2"},
                        {"stroke-dasharray", mark.is_main ? "" : "7 4"}});
    if (!mark.text.empty())
      svg.text(mark.text_x, mark.text_y, mark.text,
               {{"class", "halo"},
                {"text-anchor", "middle"},
                {"dominant-baseline", "central"},
                {"fill", std::string(kInk)},
                {"transform", std::abs(mark.degrees) < 0.01 ? ""
                                                            : "rotate(" + px(mark.degrees) + " " + px(mark.text_x) +
                                                                  " " + px(mark.text_y) + ")"}});
    svg.close();
  }
  // The vendor's figures beside measured roofs; the page shows them on request.
  for (const RoofMark& mark : layout.roofs) {
    if (!mark.roof->spec || !mark.line) continue;
    const Scale& scale = layout.scale;
    const double factor = *mark.roof->spec / mark.roof->value;
    const double lift = scale.y(scale.frame.y0 * factor) - scale.y(scale.frame.y0);
    svg.leaf("path", {{"class", "spec"},
                      {"data-roof", mark.roof->id},
                      {"display", "none"},
                      {"stroke", "#8a939d"},
                      {"stroke-dasharray", "1.5 3"},
                      {"d", segment_path({mark.line->x0, mark.line->y0 + lift, mark.line->x1, mark.line->y1 + lift})}});
  }
  svg.close();
}

// `kind`: what the name belongs to, "star" or "path".
void draw_name(Svg& svg, double x, double y, const std::string& name, const NamePlace& place, const std::string& kind) {
  svg.text(x + (place.is_left ? -14 : 14), y + 4 + place.drop, name,
           {{"class", "halo " + kind + "-name"},
            {"text-anchor", place.is_left ? "end" : ""},
            {"fill", std::string(kInk)},
            {"font-weight", "bold"}});
}

void draw_star(Svg& svg, const Scale& scale, const Star& star, const std::string& name, const NamePlace& place,
               bool filled, std::size_t series, std::string_view color) {
  if (!scale.frame.holds(star.x(), star.y())) return;
  if (star.shortest && star.longest && *star.shortest > 0)
    svg.leaf("path", {{"class", "spread"},
                      {"d", "M" + px(scale.x(star.x())) + " " + px(scale.y(star.flops / *star.longest)) + "V" +
                                px(scale.y(star.flops / *star.shortest))},
                      {"stroke", std::string(kInk)},
                      {"stroke-width", "1.4"}});
  svg.leaf("path", {{"class", filled ? "star measured" : "star"},
                    {"data-s", std::to_string(series)},
                    {"d", star_path(scale.x(star.x()), scale.y(star.y()), 11)},
                    {"fill", filled ? std::string(color) : "#fff"},
                    {"fill-opacity", filled ? "1" : "0.8"},
                    {"stroke", std::string(kInk)},
                    {"stroke-width", "1.2"}});
  if (!name.empty()) draw_name(svg, scale.x(star.x()), scale.y(star.y()), name, place, "star");
}

// Runs of a size that has a better one, all in one shape: tables of power modes have hundreds for each size.
void draw_other_runs(Svg& svg, const Chart& chart, const Scale& scale) {
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    if (!chart.by_model && i > 0) break;
    std::string ticks;
    for (const Star& star : chart.series[i].other_runs)
      if (scale.frame.holds(star.x(), star.y()))
        ticks += "M" + px(scale.x(star.x()) - 4) + " " + px(scale.y(star.y())) + "h8";
    if (ticks.empty()) continue;
    svg.leaf("path", {{"class", "others"},
                      {"data-s", std::to_string(i)},
                      {"d", ticks},
                      {"stroke", std::string(chart.by_model ? series_color(i) : kPath)},
                      {"stroke-opacity", "0.5"},
                      {"stroke-width", "1"},
                      {"fill", "none"}});
  }
}

// The line through bounds is dashed if there are also measured runs.
void draw_path(Svg& svg, const Chart& chart, const Layout& layout, const PathMark& path, bool standalone) {
  const Scale& scale = layout.scale;
  const std::string color(chart.by_model ? series_color(path.series) : kPath);
  const bool is_bound = !path.is_measured && chart.path.empty();
  const std::string kind = !chart.path.empty() ? "across" : path.is_measured ? "runs" : "trajectory";
  svg.open("g", {{"class", "path"},
                 {"data-kind", kind},
                 {"data-s", chart.by_model ? std::to_string(path.series) : ""},
                 {"fill", color}});
  std::string line;
  for (const Star& star : path.stars)
    if (scale.frame.holds(star.x(), star.y()))
      line += (line.empty() ? "M" : "L") + px(scale.x(star.x())) + " " + px(scale.y(star.y()));
  const bool is_dashed = is_bound && layout.paths.size() > 1, is_hollow = is_bound && (chart.by_model || is_dashed);
  if (!line.empty())
    svg.leaf("path", {{"d", line},
                      {"stroke-width", "1.6"},
                      {"stroke", color},
                      {"stroke-dasharray", is_dashed ? "4 3" : ""},
                      {"fill", "none"}});
  for (const Star& star : path.stars)
    if (scale.frame.holds(star.x(), star.y()))
      svg.leaf("path", {{"d", star_path(scale.x(star.x()), scale.y(star.y()), chart.by_model && !is_bound ? 8 : 6)},
                        {"fill", is_hollow ? "#fff" : ""},
                        {"stroke", is_hollow ? color : chart.by_model ? "#333" : "#fff"},
                        {"stroke-width", is_hollow ? "1.2" : "0.8"}});
  for (const StarLabel& label : path.labels)
    svg.text(label.x, label.y, label.text,
             {{"class", "halo"}, {"text-anchor", "middle"}, {"dominant-baseline", "central"}});
  svg.close();
  const Series& series = chart.series[path.series];
  const std::string name = star_name(chart, series);
  // The page itself writes the name beside the last size.
  if (!standalone || !is_on_path(chart, series) || series.measured_star || name.empty() || path.is_measured != (series.runs.size() > 1)) return;
  const Star& end = *named_star(chart, series);
  if (scale.frame.holds(end.x(), end.y()))
    draw_name(svg, scale.x(end.x()), scale.y(end.y()), name, layout.star_names[path.series], "path");
}

void draw_stars(Svg& svg, const Chart& chart, const Layout& layout) {
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    const std::string name = star_name(chart, series);
    const NamePlace& place = layout.star_names[i];
    const std::string_view color = chart.by_model ? series_color(i) : std::string_view("#F0E442");
    if (series.bound_star && !is_on_path(chart, series))
      draw_star(svg, layout.scale, *series.bound_star, series.measured_star ? "" : name, place, false, i, color);
    if (series.measured_star) draw_star(svg, layout.scale, *series.measured_star, name, place, true, i, color);
  }
}

void draw_changes(Svg& svg, const Chart& chart, const Layout& layout) {
  if (chart.changes.empty()) return;
  const Scale& scale = layout.scale;
  svg.open("g", {{"id", "changes"}, {"class", "path"}, {"fill", std::string(kPath)}});
  for (std::size_t i = 0; i < chart.changes.size(); ++i) {
    const Change& change = chart.changes[i];
    if (!chart.frame.holds(change.before_x, change.before_y) || !chart.frame.holds(change.after_x, change.after_y))
      continue;
    svg.leaf("path", {{"d", segment_path({scale.x(change.before_x), scale.y(change.before_y), scale.x(change.after_x),
                                          scale.y(change.after_y)})},
                      {"fill", "none"},
                      {"stroke", std::string(kPath)},
                      {"stroke-dasharray", "5 3"},
                      {"stroke-width", "1.4"},
                      {"marker-end", "url(#arrow)"}});
    svg.leaf("circle", {{"cx", px(scale.x(change.before_x))}, {"cy", px(scale.y(change.before_y))}, {"r", "2.5"}});
    if (const StarLabel& label = layout.change_labels[i]; !label.text.empty())
      svg.text(label.x, label.y, label.text,
               {{"class", "halo"}, {"text-anchor", "middle"}, {"dominant-baseline", "central"}});
  }
  svg.close();
}

void draw_head(Svg& svg, const Chart& chart) {
  const Sheet& sheet = chart.sheet;
  if (sheet.is_column) {
    const double width = (sheet.panel.x1 - sheet.panel.x0) / kBold;
    const std::vector<std::string> rows = wrapped(chart.title, 13, width, 2);
    for (std::size_t i = 0; i < rows.size(); ++i)
      svg.text(sheet.panel.x0, 18 + 17 * static_cast<double>(i), rows[i],
               {{"class", "ink"}, {"font-size", "13"}, {"font-weight", "bold"}, {"fill", std::string(kInk)}});
    return;
  }
  // A long title gets smaller letters before it is cut: its end is the machine, its middle the sizes.
  const double space = (sheet.panel.x1 - sheet.plot.x0) / kBold;
  double size = 19;
  while (size > 13 && text_width(chart.title, size) > space) --size;
  svg.text(sheet.plot.x0, 32, fit(chart.title, size, space),
           {{"class", "ink"}, {"font-size", px(size)}, {"font-weight", "bold"}, {"fill", std::string(kInk)}});
  const std::string text = says(chart);
  if (text.empty()) return;
  const std::vector<std::string> rows = wrapped(text, 13, sheet.panel.x1 - sheet.plot.x0, 2);
  svg.open("g", {{"id", "summary"}, {"class", "muted"}, {"font-size", "13"}, {"fill", std::string(kMuted)}});
  for (std::size_t i = 0; i < rows.size(); ++i)
    svg.text(sheet.plot.x0, (rows.size() == 1 ? 56 : 52) + 17 * static_cast<double>(i), rows[i]);
  svg.close();
}

}  // namespace

std::string_view series_color(std::size_t at) { return kPalette[at % kColors]; }

std::string segment_path(const Segment& line) {
  return "M" + px(line.x0) + " " + px(line.y0) + "L" + px(line.x1) + " " + px(line.y1);
}

std::string says(const Chart& chart) {
  if (chart.series.empty()) return "";
  const std::optional<Verdict> verdict = chart.by_model || chart.is_energy ? std::nullopt : verdict_of(chart);
  if (!verdict) return chart.by_model || chart.is_energy ? summary(chart) : summary(chart, chart.series.front());
  std::string text = verdict->time + (verdict->bound.empty() ? "" : ", " + verdict->bound);
  if (!verdict->fit.empty()) text += "; " + verdict->fit;
  for (const std::string& action : verdict->actions) text += ". " + action.substr(0, action.size() - 1);
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ".";
}

std::string draw_roofline(const Chart& chart, bool standalone) {
  const Sheet& sheet = chart.sheet;
  const Box& plot = sheet.plot;
  Svg below;  // panel and footer, drawn first: they determine the height of a column sheet
  double height = sheet.height;
  if (standalone) {
    const double end = draw_panel(below, chart);
    const double foot = draw_footer(below, chart, sheet.is_column ? end : sheet.height - 70);
    if (sheet.is_column) height = foot;
  }
  Svg svg;
  svg.open("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                   {"id", "roofline"},
                   {"viewBox", "0 0 " + px(sheet.width) + " " + px(height)},
                   {"width", sheet.length(sheet.width)},
                   {"height", sheet.length(height)},
                   {"font-family", std::string(kFont)},
                   {"font-size", px(kSmallText)},
                   {"role", "img"},
                   {"aria-labelledby", "roofline-title roofline-desc"}});
  svg.element("title", chart.title, {{"id", "roofline-title"}});
  std::string description = chart.is_energy ? "Energy roofline: work per joule over" : "Roofline: performance over";
  description += " arithmetic intensity, both logarithmic.";
  for (const Series& series : chart.series) description += " " + series.label + ": " + summary(chart, series) + ".";
  svg.element("desc", description, {{"id", "roofline-desc"}});
  // The page's own style contains this rule.
  if (standalone) svg.element("style", ".halo{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}");
  svg.open("defs");
  svg.open("clipPath", {{"id", "plot-area"}});
  svg.leaf("rect", {{"x", px(plot.x0 - 16)},
                    {"y", px(plot.y0)},
                    {"width", px(plot.x1 - plot.x0 + 32)},
                    {"height", px(plot.y1 - plot.y0 + 1)}});
  svg.close();
  svg.open("marker", {{"id", "arrow"},
                      {"viewBox", "0 0 8 8"},
                      {"refX", "7"},
                      {"refY", "4"},
                      {"markerWidth", "7"},
                      {"markerHeight", "7"},
                      {"orient", "auto"}});
  svg.leaf("path", {{"d", "M0 0L8 4L0 8Z"}, {"fill", std::string(kPath)}});
  svg.close();
  svg.close();
  svg.leaf("rect", {{"class", "paper"}, {"width", px(sheet.width)}, {"height", px(height)}, {"fill", "#fff"}});
  if (standalone) draw_head(svg, chart);

  const Layout layout = make_layout(chart, 0);
  draw_axes(svg, chart, layout);
  svg.open("g", {{"id", "plot"}, {"clip-path", "url(#plot-area)"}});
  draw_zones(svg, chart, layout, standalone);
  draw_roofs(svg, layout);
  draw_ridge(svg, chart, layout, standalone);
  svg.open("g", {{"id", "dots"}});
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    // A picture of several models shows the dots of all models, the page those of one model.
    const bool is_shown = i == 0 || (standalone && chart.by_model);
    const std::string_view color = standalone && chart.by_model ? series_color(i) : std::string_view();
    draw_dots(svg, chart.series[i], i, i == 0 ? layout : make_layout(chart, i), is_shown, color, standalone);
  }
  svg.close();
  draw_changes(svg, chart, layout);
  draw_machines(svg, chart, layout);
  if (chart.is_energy) draw_arch(svg, chart, layout);
  draw_other_runs(svg, chart, layout.scale);
  for (const PathMark& path : layout.paths) draw_path(svg, chart, layout, path, standalone);
  draw_stars(svg, chart, layout);
  svg.open("g", {{"id", "ruler"}}).close();
  svg.close();
  svg.raw(std::move(below).done());
  svg.close();
  return std::move(svg).done();
}

}  // namespace pagoda::present::plot
