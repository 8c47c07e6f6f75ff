#include "plot/draw.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numbers>

#include "draw/text.h"

namespace pagoda::present::plot {
namespace {

// The outline of a five-pointed star, for whole models.
std::string star_path(const Point& at, double radius) {
  std::vector<Point> points;
  points.reserve(10);
  for (int i = 0; i < 10; ++i) {
    const double angle = std::numbers::pi * (i / 5.0 - 0.5), r = i % 2 == 0 ? radius : radius * 0.45;
    points.push_back({at.x + r * std::cos(angle), at.y + r * std::sin(angle)});
  }
  return polyline(points) + "Z";
}

// Grid and ticks, 1-2-5 in each decade. The page redraws them by the same rule when it zooms.
void draw_axes(Svg& svg, const Chart& chart, const Layout& layout) {
  const Box& plot = layout.scale.plot;
  const LogAxis x = layout.scale.x_axis(), y = layout.scale.y_axis();
  const std::vector<Tick> x_ticks = log_ticks(x.low, x.high), y_ticks = log_ticks(y.low, y.high);
  // Lines at 1, and thinner ones at 2 and 5, which have labels on short axes.
  std::string major, minor;
  for (const Tick& tick : x_ticks)
    (tick.step == 1 ? major : minor) += filled("M% %V%", {x(tick.value), plot.y0, plot.y1});
  for (const Tick& tick : y_ticks)
    (tick.step == 1 ? major : minor) += filled("M% %H%", {plot.x0, y(tick.value), plot.x1});
  const auto is_labelled = [](const LogAxis& axis, const Tick& tick) { return tick.step == 1 || axis.ratio() < 150; };
  svg.open("g id='axes' fill='none'");
  svg.leaf("path id='grid-minor' class='grid minor' stroke='#f0f2f4' d='%'", {minor});
  svg.leaf("path id='grid-major' class='grid' stroke='#dde1e6' d='%'", {major});
  svg.leaf("rect class='frame' x='%' y='%' width='%' height='%' stroke='#8a939d'",
           {plot.x0, plot.y0, plot.x1 - plot.x0, plot.y1 - plot.y0});
  svg.open("g id='ticks-x' class='ink' fill='%' text-anchor='middle'", {kInk});
  for (const Tick& tick : x_ticks)
    if (is_labelled(x, tick)) svg.text(x(tick.value), plot.y1 + 18, tick.label());
  svg.close().open("g id='ticks-y' class='ink' fill='%' text-anchor='end'", {kInk});
  for (const Tick& tick : y_ticks)
    if (is_labelled(y, tick)) svg.text(layout.axis - 8, y(tick.value) + 4, tick.label());
  svg.close();
  constexpr const char* kTitle = "id='%' class='ink' text-anchor='middle' font-size='13' fill='%' transform='%'";
  svg.text((plot.x0 + plot.x1) / 2, plot.y1 + 40, "Arithmetic intensity [FLOP / DRAM byte]", kTitle,
           {"title-x", kInk, ""});
  const double middle = (plot.y0 + plot.y1) / 2, left = layout.axis - (chart.sheet.is_column ? 50 : 62);
  svg.text(left, middle, chart.is_energy ? "Work per joule [FLOP/J]" : "Performance [FLOP/s]", kTitle,
           {"title-y", kInk, filled("rotate(-90 % %)", {left, middle})});
  svg.close();
}

void draw_zones(Svg& svg, const Chart& chart, const Layout& layout, bool standalone) {
  // The page always gets the zones: it shows and hides them with its roofs.
  if (!layout.ridge || (standalone && !chart.roofs.is_single())) return;
  const auto [x, y] = *layout.ridge;
  const Box& plot = layout.scale.plot;
  for (const RoofMark& mark : layout.roofs) {
    if (mark.roof->kind != Roof::Kind::Bandwidth || !mark.is_main || !mark.line) continue;
    svg.leaf("path id='zone-memory' class='zone' fill='%' fill-opacity='0.05' d='M% %L% %V%H%Z'",
             {kPalette[0], mark.line->x0, mark.line->y0, x, y, plot.y1, mark.line->x0});
  }
  svg.leaf("path id='zone-compute' class='zone' fill='%' fill-opacity='0.07' d='M% %H%V%H%Z'",
           {kPalette[1], x, y, plot.x1, plot.y1, x});
}

void draw_ridge(Svg& svg, const Chart& chart, const Layout& layout, bool standalone) {
  // The page gets the parts in any case: its reader can choose a roof.
  if (!layout.ridge && standalone) return;
  const auto [x, y] = layout.ridge.value_or(Point{});
  const Box& plot = layout.scale.plot;
  svg.open("g id='ridge' display='%'", {layout.ridge ? "" : "none"});
  svg.leaf("path class='ridge' stroke='%' stroke-dasharray='2 4' fill='none' d='M% %V%'", {kMuted, x, y, plot.y1});
  svg.leaf("circle class='ink-fill' cx='%' cy='%' r='3.5' fill='%'", {x, y, kInk});
  const std::string name = "ridge " + plain(chart.roofs.ridge(chart.roofs.main)) + " FLOP/B";
  const double half = text_width(name, kSmallText) / 2 + 3;
  svg.text(std::clamp(x, plot.x0 + half, std::max(plot.x0 + half, plot.x1 - half)), plot.y1 - 26, name,
           "class='halo' text-anchor='middle' fill='%'", {kInk});
  // The page has both zone names and shows those with space itself.
  constexpr double kGap = 8;
  const auto has_space = [&](const char* zone, double space) {
    return !standalone || (chart.roofs.is_single() && text_width(zone, kSmallText) + kGap < space);
  };
  if (has_space("memory-bound", x - plot.x0))
    svg.text(x - kGap, plot.y1 - 9, "memory-bound", "class='muted halo' text-anchor='end' fill='%'", {kMuted});
  if (has_space("compute-bound", plot.x1 - x))
    svg.text(x + kGap, plot.y1 - 9, "compute-bound", "class='muted halo' fill='%'", {kMuted});
  svg.close();
}

// A line leads from the end of the roof to its label.
void draw_margin_label(Svg& svg, const Layout& layout, const MarginLabel& label) {
  if (label.rows.empty()) return;
  constexpr double kRow = 13;
  const double right = layout.scale.plot.x1;
  svg.leaf("path class='lead' stroke='#8a939d' stroke-width='0.8' fill='none' d='M% %l3 0L% %'",
           {right, label.line_y, label.box.x0 - 3, label.y});
  double y = label.y + 4 - kRow * (static_cast<double>(label.rows.size()) - 1) / 2;
  for (const std::string& row : label.rows) {
    svg.text(label.box.x0, y, row, "class='ink' fill='%'", {kInk});
    y += kRow;
  }
}

void draw_roofs(Svg& svg, const Layout& layout) {
  svg.open("g id='roofs' fill='none'");
  for (const RoofMark& mark : layout.roofs) {
    const Roof& roof = *mark.roof;
    svg.open("g class='roof%' data-roof='%' display='%'",
             {mark.is_main ? " main" : "", roof.id, roof.shown ? "" : "none"});
    if (mark.line)
      svg.leaf("path d='%' stroke='#333c46' stroke-width='%' stroke-dasharray='%'",
               {polyline({{mark.line->x0, mark.line->y0}, {mark.line->x1, mark.line->y1}}),
                mark.is_main ? "2.2" : "1.2", mark.is_main ? "" : "7 4"});
    if (mark.margin) draw_margin_label(svg, layout, *mark.margin);
    if (!mark.text.empty())
      svg.text(
          mark.text_x, mark.text_y, mark.text,
          "class='halo' text-anchor='middle' dominant-baseline='central' fill='%' transform='%'",
          {kInk,
           std::abs(mark.degrees) < 0.01 ? "" : filled("rotate(% % %)", {mark.degrees, mark.text_x, mark.text_y})});
    svg.close();
  }
  // The vendor's figures beside measured roofs; the page shows them on request.
  for (const RoofMark& mark : layout.roofs) {
    if (!mark.roof->spec || !mark.line) continue;
    const Scale& scale = layout.scale;
    const double factor = *mark.roof->spec / mark.roof->value;
    const double lift = scale.y(scale.frame.y0 * factor) - scale.y(scale.frame.y0);
    svg.leaf("path class='spec' data-roof='%' display='none' stroke='#8a939d' stroke-dasharray='1.5 3' d='%'",
             {mark.roof->id, polyline({{mark.line->x0, mark.line->y0 + lift}, {mark.line->x1, mark.line->y1 + lift}})});
  }
  svg.close();
}

// `kind`: what the name belongs to, "star" or "path".
void draw_name(Svg& svg, const Point& at, const std::string& name, const NamePlace& place, const char* kind) {
  svg.text(at.x + (place.is_left ? -14 : 14), at.y + 4 + place.drop, name,
           "class='halo %-name' text-anchor='%' fill='%' font-weight='bold'", {kind, place.is_left ? "end" : "", kInk});
}

void draw_star(Svg& svg, const Scale& scale, const Star& star, const std::string& name, const NamePlace& place,
               bool is_filled, std::size_t series, std::string_view color) {
  const std::optional<Point> at = scale.inside(star.place());
  if (!at) return;
  if (star.shortest && star.longest && *star.shortest > 0)
    svg.leaf("path class='spread' d='M% %V%' stroke='%' stroke-width='1.4'",
             {at->x, scale.y(star.flops / *star.longest), scale.y(star.flops / *star.shortest), kInk});
  svg.leaf("path class='%' data-s='%' d='%' fill='%' fill-opacity='%' stroke='%' stroke-width='1.2'",
           {is_filled ? "star measured" : "star", series, star_path(*at, 11), is_filled ? color : "#fff",
            is_filled ? "1" : "0.8", kInk});
  if (!name.empty()) draw_name(svg, *at, name, place, "star");
}

// Runs of a size that has a better one, all in one shape: tables of power modes have hundreds for each size.
void draw_other_runs(Svg& svg, const Chart& chart, const Scale& scale) {
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    if (!chart.by_model && i > 0) break;
    std::string ticks;
    for (const Star& star : chart.series[i].other_runs)
      if (const auto at = scale.inside(star.place())) ticks += filled("M% %h8", {at->x - 4, at->y});
    if (!ticks.empty())
      svg.leaf("path class='others' data-s='%' d='%' stroke='%' stroke-opacity='0.5' stroke-width='1' fill='none'",
               {i, ticks, chart.by_model ? series_color(i) : kPath});
  }
}

// The line through bounds is dashed if there are also measured runs.
void draw_path(Svg& svg, const Chart& chart, const Layout& layout, const PathMark& path, bool standalone) {
  const Scale& scale = layout.scale;
  const std::string_view color = chart.by_model ? series_color(path.series) : kPath;
  const bool is_bound = !path.is_measured && chart.path.empty();
  const char* kind = !chart.path.empty() ? "across" : path.is_measured ? "runs" : "trajectory";
  svg.open("g class='path' data-kind='%' data-s='%' fill='%'",
           {kind, chart.by_model ? std::to_string(path.series) : "", color});
  std::vector<Point> places;
  for (const Star& star : path.stars)
    if (const auto at = scale.inside(star.place())) places.push_back(*at);
  const bool is_dashed = is_bound && layout.paths.size() > 1, is_hollow = is_bound && (chart.by_model || is_dashed);
  if (!places.empty())
    svg.leaf("path d='%' stroke-width='1.6' stroke='%' stroke-dasharray='%' fill='none'",
             {polyline(places), color, is_dashed ? "4 3" : ""});
  const std::string_view edge = is_hollow ? color : chart.by_model ? "#333" : "#fff";
  for (const Point& at : places)
    svg.leaf(
        "path d='%' fill='%' stroke='%' stroke-width='%'",
        {star_path(at, chart.by_model && !is_bound ? 8 : 6), is_hollow ? "#fff" : "", edge, is_hollow ? "1.2" : "0.8"});
  for (const StarLabel& label : path.labels)
    svg.text(label.x, label.y, label.text, "class='halo' text-anchor='middle' dominant-baseline='central'");
  svg.close();
  const Series& series = chart.series[path.series];
  const std::string name = star_name(chart, series);
  // The page itself writes the name beside the last size.
  if (!standalone || !is_on_path(chart, series) || series.measured_star || name.empty() ||
      path.is_measured != (series.runs.size() > 1))
    return;
  if (const auto at = scale.inside(named_star(chart, series)->place()))
    draw_name(svg, *at, name, layout.star_names[path.series], "path");
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
  svg.open("g id='changes' class='path' fill='%'", {kPath});
  for (std::size_t i = 0; i < chart.changes.size(); ++i) {
    const Change& change = chart.changes[i];
    const auto from = scale.inside(change.before), to = scale.inside(change.after);
    if (!from || !to) continue;
    svg.leaf("path d='%' fill='none' stroke='%' stroke-dasharray='5 3' stroke-width='1.4' marker-end='url(#arrow)'",
             {polyline({*from, *to}), kPath});
    svg.leaf("circle cx='%' cy='%' r='2.5'", {from->x, from->y});
    if (const StarLabel& label = layout.change_labels[i]; !label.text.empty())
      svg.text(label.x, label.y, label.text, "class='halo' text-anchor='middle' dominant-baseline='central'");
  }
  svg.close();
}

std::string roofline_path(const Scale& scale, const Machine& machine) {
  const Frame& frame = scale.frame;
  const double ridge = std::clamp(machine.peak / machine.bandwidth, frame.x0, frame.x1);
  const auto at = [&](double x) { return scale({x, std::min(machine.peak, x * machine.bandwidth)}); };
  return polyline({at(frame.x0), at(ridge), at(frame.x1)});
}

// Rooflines, or arches, of further machines or power modes.
void draw_machines(Svg& svg, const Chart& chart, const Layout& layout) {
  if (chart.machines.empty()) return;
  const Scale& scale = layout.scale;
  svg.open("g id='%' fill='none'", {chart.is_energy ? "arches" : "machines"});
  for (std::size_t i = 0; i < chart.machines.size(); ++i) {
    const Machine& machine = chart.machines[i];
    if (chart.is_energy && !machine.energy) continue;
    svg.leaf("path d='%' stroke='%' stroke-width='1.6' stroke-dasharray='9 3'",
             {chart.is_energy ? arch_path(scale, *machine.energy, 160) : roofline_path(scale, machine),
              kPalette[(i + 1) % kColors]});
    draw_margin_label(svg, layout, layout.machine_labels[i]);
  }
  svg.close();
}

// Rows without FLOPs, in a column whose height is the whole time.
void draw_rail(Svg& svg, const Chart& chart, const Layout& layout) {
  if (layout.rail.empty()) return;
  const Series& series = chart.series.front();
  svg.open("g id='rail' stroke-width='0.6' fill-opacity='0.75'");
  for (const auto& [at, box] : layout.rail) {
    const std::size_t color = series.dots[at].color;
    svg.leaf("rect data-d='%' x='%' y='%' width='%' height='%' fill='%' stroke='%'",
             {at, box.x0, box.y0, box.x1 - box.x0, box.y1 - box.y0, kPalette[color], kEdges[color]});
  }
  svg.close();
  const Box& top = layout.rail.back().box;
  const std::string_view middle = "text-anchor='middle'";
  svg.note((top.x0 + top.x1) / 2, top.y0 - 18, "0 FLOP", kInk, middle);
  svg.note((top.x0 + top.x1) / 2, top.y0 - 4, percent_text(layout.rail_share), kInk, middle);
}

void draw_head(Svg& svg, const Chart& chart) {
  const Sheet& sheet = chart.sheet;
  if (sheet.is_column) {
    const double width = (sheet.panel.x1 - sheet.panel.x0) / kBold;
    double y = 18;
    for (const std::string& row : wrapped(chart.title, 13, width, 2)) {
      svg.note(sheet.panel.x0, y, row, kInk, "font-size='13' font-weight='bold'");
      y += 17;
    }
    return;
  }
  // A long title gets smaller letters, then a second row, before it is cut: its end is the machine and its precision.
  const double space = (sheet.panel.x1 - sheet.plot.x0) / kBold;
  double size = 19;
  while (size > 13 && text_width(chart.title, size) > space) --size;
  const std::vector<std::string> title = wrapped(chart.title, size, space, 2);
  double y = title.size() == 1 ? 32 : 17;
  for (const std::string& row : title) {
    svg.note(sheet.plot.x0, y, row, kInk, filled("font-size='%' font-weight='bold'", {size}));
    y += 17;
  }
  const std::string text = sentence_of(chart);
  if (text.empty()) return;
  const std::vector<std::string> rows = wrapped(text, 13, sheet.panel.x1 - sheet.plot.x0, 2);
  svg.open("g id='summary' class='muted' font-size='13' fill='%'", {kMuted});
  for (std::size_t i = 0; i < rows.size(); ++i)
    svg.text(sheet.plot.x0, (rows.size() == 1 ? 56 : 52) + 17 * static_cast<double>(i), rows[i]);
  svg.close();
}

}  // namespace

std::string_view series_color(std::size_t at) { return kPalette[at % kColors]; }

std::string polyline(const std::vector<Point>& points) {
  std::string path;
  for (const auto& [x, y] : points) path += filled(path.empty() ? "M% %" : "L% %", {x, y});
  return path;
}

std::string sentence_of(const Chart& chart) {
  if (chart.series.empty()) return "";
  const std::optional<Verdict> verdict = chart.by_model || chart.is_energy ? std::nullopt : verdict_of(chart);
  if (!verdict) return chart.by_model || chart.is_energy ? summary(chart) : summary(chart, chart.series.front());
  std::string text = verdict->headline() + ".";
  for (const report::Action& action : verdict->actions) text += " " + action.sentence();
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string draw_roofline(const Chart& chart, bool standalone) {
  const Sheet& sheet = chart.sheet;
  Svg below;  // panel and footer, drawn first: they determine the height of a column sheet
  double height = sheet.height;
  if (standalone) {
    const double end = draw_panel(below, chart);
    const double foot = draw_footer(below, chart, sheet.is_column ? end : sheet.height - 70);
    if (sheet.is_column) height = foot;
  }
  const Layout layout = make_layout(chart, 0);
  const Box& plot = layout.scale.plot;
  Svg svg;
  svg.open(
      "svg xmlns='http://www.w3.org/2000/svg' id='roofline' viewBox='0 0 % %' width='%' height='%' font-family='%' "
      "font-size='%' role='img' aria-labelledby='roofline-title roofline-desc'",
      {sheet.width, height, sheet.length(sheet.width), sheet.length(height), kFont, kSmallText});
  svg.element("title id='roofline-title'", chart.title);
  std::string description = chart.is_energy ? "Energy roofline: work per joule over" : "Roofline: performance over";
  description += " arithmetic intensity, both logarithmic.";
  for (const Series& series : chart.series) description += " " + series.label + ": " + summary(chart, series) + ".";
  svg.element("desc id='roofline-desc'", description);
  // The page's own style contains this rule.
  if (standalone) svg.element("style", ".halo{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}");
  svg.open("defs").open("clipPath id='plot-area'");
  svg.leaf("rect x='%' y='%' width='%' height='%'",
           {plot.x0 - 10, plot.y0, std::max(plot.x1 + 16, sheet.plot.x1 + 8) - plot.x0 + 10, plot.y1 - plot.y0 + 1});
  svg.close();
  svg.open("marker id='arrow' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='7' markerHeight='7' orient='auto'");
  svg.leaf("path d='M0 0L8 4L0 8Z' fill='%'", {kPath}).close().close();
  svg.leaf("rect class='paper' width='%' height='%' fill='#fff'", {sheet.width, height});
  if (standalone) draw_head(svg, chart);

  draw_axes(svg, chart, layout);
  if (standalone) draw_rail(svg, chart, layout);
  svg.open("g id='plot' clip-path='url(#plot-area)'");
  draw_zones(svg, chart, layout, standalone);
  draw_roofs(svg, layout);
  draw_ridge(svg, chart, layout, standalone);
  svg.open("g id='dots'");
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    // A picture of several models shows the dots of all models, the page those of one model.
    const bool is_shown = i == 0 || (standalone && chart.by_model);
    const auto color = standalone && chart.by_model ? std::optional(i % kColors) : std::nullopt;
    draw_dots(svg, chart.series[i], i, i == 0 ? layout : make_layout(chart, i), is_shown, color, standalone);
  }
  svg.close();
  draw_changes(svg, chart, layout);
  draw_machines(svg, chart, layout);
  if (chart.is_energy) draw_arch(svg, chart, layout);
  draw_other_runs(svg, chart, layout.scale);
  for (const PathMark& path : layout.paths) draw_path(svg, chart, layout, path, standalone);
  draw_stars(svg, chart, layout);
  svg.open("g id='ruler'").close().close();
  svg.raw(std::move(below).done());
  svg.close();
  return std::move(svg).done();
}

}  // namespace pagoda::present::plot
