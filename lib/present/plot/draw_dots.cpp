// Dots, the links between them, and their labels. Shared attributes are written once, at the group: a picture may
// contain thousands of dots.
#include <algorithm>

#include "draw/text.h"
#include "plot/draw.h"

namespace pagoda::present::plot {
namespace {

constexpr std::size_t kLevelDots = 10;  // dots drawn with their intensity at every level

// A triangle that points to a dot outside the frame: left, right, up or down.
std::string pointer_path(const Box& plot, double x, double y) {
  const char* const side = x <= plot.x0   ? "l9 -5v10Z"
                           : x >= plot.x1 ? "l-9 -5v10Z"
                           : y <= plot.y0 ? "l-5 9h10Z"
                                          : "l-5 -9h10Z";
  return filled("M% %", {x, y}) + side;
}

// The outline of a hollow dot of a colour.
std::string_view edge_of(std::string_view color) {
  const auto found = std::ranges::find(kPalette, color);
  return found == kPalette.end() ? color : kEdges[static_cast<std::size_t>(found - kPalette.begin())];
}

// The shape by type, or by colour if all dots of the model have one colour.
std::size_t shape_of(const Dot& dot, std::string_view of_all) {
  const auto found = std::ranges::find(kPalette, of_all);
  return found == kPalette.end() ? dot.color : static_cast<std::size_t>(found - kPalette.begin());
}

void draw_dot(Svg& svg, const Dot& dot, std::size_t at, double x, double y, double radius, std::string_view stroke,
              std::string_view of_all, const std::string& pointer) {
  const std::string_view color = of_all.empty() ? kPalette[dot.color] : of_all;
  if (!pointer.empty()) {
    svg.leaf("path class='outside' fill='%' stroke='%' d='%'", {color, stroke, pointer});
    return;
  }
  const char *const width = dot.above_roof && stroke == kWarn ? "2.4" : "", *const dashes = dot.aggregate ? "2 2" : "";
  // Work without FLOPs is a square on the rail.
  if (dot.rail)
    svg.leaf("rect data-d='%' x='%' y='%' width='%' height='%' fill='%' stroke='%'",
             {at, x - radius, y - radius, 2 * radius, 2 * radius, color, stroke});
  else if (const std::size_t shape = shape_of(dot, of_all); shape == 0)
    svg.leaf("circle data-d='%' cx='%' cy='%' r='%' fill='%' stroke='%' stroke-width='%' stroke-dasharray='%'",
             {at, x, y, radius, color, stroke, width, dashes});
  else
    svg.leaf("path data-d='%' d='%' fill='%' stroke='%' stroke-width='%' stroke-dasharray='%'",
             {at, mark_path(shape, x, y, radius), color, stroke, width, dashes});
}

// The same speed at the intensity of each level: circle DRAM, diamond L2, triangle L1.
void draw_levels(Svg& svg, const Series& series, const Layout& layout) {
  svg.open("g class='levels' stroke-width='0.8'");
  for (const DotMark& mark : layout.dots) {
    const Dot& dot = series.dots[mark.dot];
    if (mark.dot >= kLevelDots || !mark.measured_x || dot.rail) continue;
    for (const auto& [x, level] : {std::pair{dot.l2_x, 2}, std::pair{dot.l1_x, 1}}) {
      if (!x) continue;
      const double at = std::clamp(layout.scale.x(*x), layout.scale.plot.x0, layout.scale.plot.x1),
                   y = *mark.measured_y;
      const std::string_view color = kPalette[dot.color];
      svg.leaf("path stroke='%' d='M% %H%'", {color, *mark.measured_x, y, at});
      if (level == 2)
        svg.leaf("path fill='%' stroke='#333' d='M% %l5 -5l5 5l-5 5Z'", {color, at - 5, y});
      else
        svg.leaf("path fill='%' stroke='#333' d='M% %h10l-5 -9Z'", {color, at - 5, y + 4});
    }
  }
  svg.close();
}

void draw_links(Svg& svg, const Series& series, const Layout& layout) {
  svg.open("g class='links' stroke='#6b7480' stroke-width='0.8' fill='none'");
  for (const DotMark& mark : layout.dots) {
    if (!mark.measured_x) continue;
    if (mark.x)
      svg.leaf("path data-d='%' d='M% %L% %'", {mark.dot, *mark.x, *mark.y, *mark.measured_x, *mark.measured_y});
    // Whiskers: the slowest and fastest of repeated runs.
    const Dot& dot = series.dots[mark.dot];
    if (!dot.low_y || !dot.high_y || *dot.low_y == *dot.high_y) continue;
    svg.leaf("path data-w='%' stroke-width='1.4' d='M% %V%'",
             {mark.dot, *mark.measured_x, layout.scale.y(*dot.low_y), layout.scale.y(*dot.high_y)});
  }
  svg.close();
}

void draw_labels(Svg& svg, const Layout& layout) {
  svg.open("g class='labels' fill='%' text-anchor='middle' dominant-baseline='central'", {kInk});
  for (const LabelMark& label : layout.labels) {
    if (label.has_leader)
      svg.leaf("path data-d='%' stroke='#6b7480' stroke-width='0.7' d='M% %L% %'",
               {label.dot, label.from_x, label.from_y, label.to_x, label.to_y});
    svg.text((label.box.x0 + label.box.x1) / 2, (label.box.y0 + label.box.y1) / 2, label.text,
             "class='halo' data-d='%'", {label.dot});
  }
  svg.close();
}

}  // namespace

std::string mark_path(std::size_t shape, double x, double y, double radius) {
  struct Outline {
    double dx, dy;  // where it begins, in radii
    std::string_view path;
    std::array<double, 11> lengths;  // in radii, for the holes of the path
  };
  constexpr double kArm = 0.79;  // of the cross
  // clang-format off
  static constexpr std::array<Outline, kColors + 1> kOutlines = {{
      {-1,    0,     "a% % 0 1 0 % 0a% % 0 1 0 % 0Z", {1, 1, 2, 1, 1, -2}},
      {-0.89, -0.89, "h%v%h%Z",                       {1.77, 1.77, -1.77}},
      {0,     -1.25, "l% %l% %l% %Z",                 {1.25, 1.25, -1.25, 1.25, -1.25, -1.25}},
      {0,     -1.56, "l% %h%Z",                       {1.35, 2.33, -2.69}},
      {0,     1.56,  "l% %h%Z",                       {1.35, -2.33, -2.69}},
      {-0.4,  -1.19, "h%v%h%v%h%v%h%v%h%v%h%Z",       {kArm, kArm, kArm, kArm, -kArm, kArm, -kArm, -kArm, -kArm, -kArm, kArm}},
      {-1.1,  0,     "l% %h%l% %l% %h%Z",             {0.55, -0.95, 1.1, 0.55, 0.95, -0.55, 0.95, -1.1}}}};
  // clang-format on
  const Outline& outline = kOutlines[shape];
  std::string text = filled("M% %", {x + outline.dx * radius, y + outline.dy * radius});
  const double* next = outline.lengths.data();
  for (const char c : outline.path)
    if (c == '%')
      text += px(*next++ * radius);
    else
      text += c;
  return text;
}

// Draws dots with the most time first, so that large dots lie below small ones.
void draw_dots(Svg& svg, const Series& series, std::size_t at, const Layout& layout, bool visible,
               std::string_view color, bool standalone) {
  svg.open("g class='series' data-s='%' display='%'", {at, visible ? "" : "none"});
  draw_links(svg, series, layout);
  svg.open("g class='estimated' fill-opacity='0.18' stroke-width='1.6'");
  // With several models, only draw dots inside the frame: at its edge they would cover each other.
  const auto is_drawn = [&](const DotMark& mark) { return color.empty() || !mark.clipped; };
  const auto pointer = [&](const DotMark& mark, const std::optional<double>& x, const std::optional<double>& y) {
    return standalone && mark.clipped ? pointer_path(layout.scale.plot, *x, *y) : "";
  };
  for (const DotMark& mark : layout.dots)
    if (const Dot& dot = series.dots[mark.dot]; mark.x && is_drawn(mark))
      draw_dot(svg, dot, mark.dot, *mark.x, *mark.y, mark.radius, edge_of(color.empty() ? kPalette[dot.color] : color),
               color, pointer(mark, mark.x, mark.y));
  svg.close().open("g class='measured' fill-opacity='0.85' stroke='#333' stroke-width='0.6'");
  for (const DotMark& mark : layout.dots)
    if (const Dot& dot = series.dots[mark.dot]; mark.measured_x && is_drawn(mark))
      draw_dot(svg, dot, mark.dot, *mark.measured_x, *mark.measured_y, mark.radius, dot.above_roof ? kWarn : "", color,
               pointer(mark, mark.measured_x, mark.measured_y));
  svg.close();
  draw_levels(svg, series, layout);
  draw_labels(svg, layout);
  svg.close();
}

}  // namespace pagoda::present::plot
