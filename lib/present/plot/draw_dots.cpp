// Dots, the links between them, and their labels. Shared attributes are written once, at the group: a picture may
// contain thousands of dots.
#include <algorithm>

#include "plot/draw.h"
#include "plot/text.h"

namespace pagoda::present::plot {
namespace {

constexpr std::size_t kLevelDots = 10;  // dots drawn with their intensity at every level

// A triangle that points to a dot outside the frame: left, right, up or down.
std::string pointer_path(const Box& plot, double x, double y) {
  const std::string from = "M" + px(x) + " " + px(y);
  if (x <= plot.x0) return from + "l9 -5v10Z";
  if (x >= plot.x1) return from + "l-9 -5v10Z";
  return from + (y <= plot.y0 ? "l-5 9h10Z" : "l-5 -9h10Z");
}

// The shape by type, or by colour if all dots of the model have one colour.
std::size_t shape_of(const Dot& dot, std::string_view of_all) {
  const auto found = std::find(kPalette.begin(), kPalette.end(), of_all);
  return found == kPalette.end() ? dot.color : static_cast<std::size_t>(found - kPalette.begin());
}

void draw_dot(Svg& svg, const Dot& dot, std::size_t at, double x, double y, double radius, const std::string& stroke,
              std::string_view of_all, const std::string& pointer) {
  const std::string color(of_all.empty() ? kPalette[dot.color] : of_all), index = std::to_string(at);
  if (!pointer.empty()) {
    svg.leaf("path", {{"class", "outside"}, {"fill", color}, {"stroke", stroke}, {"d", pointer}});
    return;
  }
  // Work without FLOPs is a square on the rail.
  if (dot.rail)
    svg.leaf("rect", {{"data-d", index},
                      {"x", px(x - radius)},
                      {"y", px(y - radius)},
                      {"width", px(2 * radius)},
                      {"height", px(2 * radius)},
                      {"fill", color},
                      {"stroke", stroke}});
  else if (const std::size_t shape = shape_of(dot, of_all); shape == 0)
    svg.leaf("circle", {{"data-d", index},
                        {"cx", px(x)},
                        {"cy", px(y)},
                        {"r", px(radius)},
                        {"fill", color},
                        {"stroke", stroke},
                        {"stroke-width", dot.above_roof && stroke == kWarn ? "2.4" : ""},
                        {"stroke-dasharray", dot.aggregate ? "2 2" : ""}});
  else
    svg.leaf("path", {{"data-d", index},
                      {"d", mark_path(shape, x, y, radius)},
                      {"fill", color},
                      {"stroke", stroke},
                      {"stroke-width", dot.above_roof && stroke == kWarn ? "2.4" : ""},
                      {"stroke-dasharray", dot.aggregate ? "2 2" : ""}});
}

// The same speed at the intensity of each level: circle DRAM, diamond L2, triangle L1.
void draw_levels(Svg& svg, const Series& series, const Layout& layout) {
  svg.open("g", {{"class", "levels"}, {"stroke-width", "0.8"}});
  for (const DotMark& mark : layout.dots) {
    const Dot& dot = series.dots[mark.dot];
    if (mark.dot >= kLevelDots || !mark.measured_x || dot.rail) continue;
    for (const auto& [x, level] : {std::pair{dot.l2_x, 2}, std::pair{dot.l1_x, 1}}) {
      if (!x) continue;
      const double at = std::clamp(layout.scale.x(*x), layout.scale.plot.x0, layout.scale.plot.x1), y = *mark.measured_y;
      const std::string color(kPalette[dot.color]);
      svg.leaf("path", {{"stroke", color}, {"d", "M" + px(*mark.measured_x) + " " + px(y) + "H" + px(at)}});
      svg.leaf("path", {{"fill", color},
                        {"stroke", "#333"},
                        {"d", level == 2 ? "M" + px(at - 5) + " " + px(y) + "l5 -5l5 5l-5 5Z"
                                         : "M" + px(at - 5) + " " + px(y + 4) + "h10l-5 -9Z"}});
    }
  }
  svg.close();
}

void draw_links(Svg& svg, const Series& series, const Layout& layout) {
  svg.open("g", {{"class", "links"}, {"stroke", "#6b7480"}, {"stroke-width", "0.8"}, {"fill", "none"}});
  for (const DotMark& mark : layout.dots) {
    if (!mark.measured_x) continue;
    if (mark.x)
      svg.leaf("path", {{"data-d", std::to_string(mark.dot)},
                        {"d", segment_path({*mark.x, *mark.y, *mark.measured_x, *mark.measured_y})}});
    // Whiskers: the slowest and fastest of repeated runs.
    const Dot& dot = series.dots[mark.dot];
    if (!dot.low_y || !dot.high_y || *dot.low_y == *dot.high_y) continue;
    svg.leaf("path", {{"data-w", std::to_string(mark.dot)},
                      {"stroke-width", "1.4"},
                      {"d", "M" + px(*mark.measured_x) + " " + px(layout.scale.y(*dot.low_y)) + "V" +
                                px(layout.scale.y(*dot.high_y))}});
  }
  svg.close();
}

void draw_labels(Svg& svg, const Layout& layout) {
  svg.open(
      "g",
      {{"class", "labels"}, {"fill", std::string(kInk)}, {"text-anchor", "middle"}, {"dominant-baseline", "central"}});
  for (const LabelMark& label : layout.labels) {
    const std::string index = std::to_string(label.dot);
    if (label.has_leader)
      svg.leaf("path", {{"data-d", index},
                        {"stroke", "#6b7480"},
                        {"stroke-width", "0.7"},
                        {"d", segment_path({label.from_x, label.from_y, label.to_x, label.to_y})}});
    svg.text((label.box.x0 + label.box.x1) / 2, (label.box.y0 + label.box.y1) / 2, label.text,
             {{"class", "halo"}, {"data-d", index}});
  }
  svg.close();
}

}  // namespace

std::string mark_path(std::size_t shape, double x, double y, double radius) {
  const auto at = [&](double dx, double dy) { return "M" + px(x + dx * radius) + " " + px(y + dy * radius); };
  const auto l = [&](double dx, double dy) { return "l" + px(dx * radius) + " " + px(dy * radius); };
  const auto h = [&](double dx) { return "h" + px(dx * radius); };
  const auto v = [&](double dy) { return "v" + px(dy * radius); };
  constexpr double kArm = 0.79;  // length of the cross's arms
  switch (shape) {
    case 0:
      return at(-1, 0) + "a" + px(radius) + " " + px(radius) + " 0 1 0 " + px(2 * radius) + " 0a" + px(radius) + " " +
             px(radius) + " 0 1 0 " + px(-2 * radius) + " 0Z";
    case 1:
      return at(-0.89, -0.89) + h(1.77) + v(1.77) + h(-1.77) + "Z";
    case 2:
      return at(0, -1.25) + l(1.25, 1.25) + l(-1.25, 1.25) + l(-1.25, -1.25) + "Z";
    case 3:
      return at(0, -1.56) + l(1.35, 2.33) + h(-2.69) + "Z";
    case 4:
      return at(0, 1.56) + l(1.35, -2.33) + h(-2.69) + "Z";
    case 5:
      return at(-0.4, -1.19) + h(kArm) + v(kArm) + h(kArm) + v(kArm) + h(-kArm) + v(kArm) + h(-kArm) + v(-kArm) +
             h(-kArm) + v(-kArm) + h(kArm) + "Z";
    default:
      return at(-1.1, 0) + l(0.55, -0.95) + h(1.1) + l(0.55, 0.95) + l(-0.55, 0.95) + h(-1.1) + "Z";
  }
}

// Draws dots with the most time first, so that large dots lie below small ones.
void draw_dots(Svg& svg, const Series& series, std::size_t at, const Layout& layout, bool visible,
               std::string_view color, bool standalone) {
  svg.open("g", {{"class", "series"}, {"data-s", std::to_string(at)}, {"display", visible ? "" : "none"}});
  draw_links(svg, series, layout);
  svg.open("g", {{"class", "estimated"}, {"fill-opacity", "0.18"}, {"stroke-width", "1.6"}});
  // With several models, only draw dots inside the frame: at its edge they would cover each other.
  const auto is_drawn = [&](const DotMark& mark) { return color.empty() || !mark.clipped; };
  const auto pointer = [&](const DotMark& mark, const std::optional<double>& x, const std::optional<double>& y) {
    return standalone && mark.clipped ? pointer_path(layout.scale.plot, *x, *y) : "";
  };
  for (const DotMark& mark : layout.dots)
    if (mark.x && is_drawn(mark)) {
      const Dot& dot = series.dots[mark.dot];
      draw_dot(svg, dot, mark.dot, *mark.x, *mark.y, mark.radius,
               std::string(edge_of(color.empty() ? kPalette[dot.color] : color)), color, pointer(mark, mark.x, mark.y));
    }
  svg.close();
  svg.open("g", {{"class", "measured"}, {"fill-opacity", "0.85"}, {"stroke", "#333"}, {"stroke-width", "0.6"}});
  for (const DotMark& mark : layout.dots)
    if (mark.measured_x && is_drawn(mark)) {
      const Dot& dot = series.dots[mark.dot];
      draw_dot(svg, dot, mark.dot, *mark.measured_x, *mark.measured_y, mark.radius,
               dot.above_roof ? std::string(kWarn) : "", color, pointer(mark, mark.measured_x, mark.measured_y));
    }
  svg.close();
  draw_levels(svg, series, layout);
  draw_labels(svg, layout);
  svg.close();
}

}  // namespace pagoda::present::plot
