// Dots, the links between them, and their labels. Shared attributes are written once, at the group: a picture may
// contain thousands of dots.
#include <algorithm>

#include "draw/text.h"
#include "plot/draw.h"

namespace pagoda::present::plot {
namespace {

constexpr std::size_t kLevelDots = 10;  // dots drawn with their intensity at every level

// A chevron that points to a dot outside the frame: left, right, up or down. It is open, since types have closed marks.
std::string pointer_path(const Box& plot, const Point& at) {
  const char* const side = at.x <= plot.x0   ? "m7 -6l-6 6l6 6"
                           : at.x >= plot.x1 ? "m-7 -6l6 6l-6 6"
                           : at.y <= plot.y0 ? "m-6 7l6 -6l6 6"
                                             : "m-6 -7l6 6l6 -6";
  // In a corner, all of it stays inside.
  const bool is_aside = at.x <= plot.x0 || at.x >= plot.x1;
  const Point inside = is_aside ? Point{at.x, std::clamp(at.y, plot.y0 + 7, plot.y1 - 7)}
                                : Point{std::clamp(at.x, plot.x0 + 7, plot.x1 - 7), at.y};
  return polyline({inside}) + side;
}

// `color` selects the fill from the palette and the shape.
void draw_dot(Svg& svg, const Dot& dot, const DotMark& mark, const Point& at, std::size_t color,
              std::string_view stroke) {
  const auto& [x, y] = at;
  const double radius = mark.radius;
  const std::string_view fill = kPalette[color];
  const char *const width = dot.above_roof && stroke == kWarn ? "2.4" : "", *const dashes = dot.aggregate ? "2 2" : "";
  if (color == 0)
    svg.leaf("circle data-d='%' cx='%' cy='%' r='%' fill='%' stroke='%' stroke-width='%' stroke-dasharray='%'",
             {mark.dot, x, y, radius, fill, stroke, width, dashes});
  else
    svg.leaf("path data-d='%' d='%' fill='%' stroke='%' stroke-width='%' stroke-dasharray='%'",
             {mark.dot, mark_path(color, x, y, radius), fill, stroke, width, dashes});
}

// The same speed at the intensity of each level: circle DRAM, diamond L2, triangle L1.
void draw_levels(Svg& svg, const Series& series, const Layout& layout) {
  svg.open("g class='levels' stroke-width='0.8'");
  for (const DotMark& mark : layout.dots) {
    const Dot& dot = series.dots[mark.dot];
    if (mark.dot >= kLevelDots || !mark.measured) continue;
    for (const auto& [x, level] : {std::pair{dot.l2_x, 2}, std::pair{dot.l1_x, 1}}) {
      if (!x) continue;
      const double at = std::clamp(layout.scale.x(*x), layout.scale.plot.x0, layout.scale.plot.x1),
                   y = mark.measured->y;
      const std::string_view color = kPalette[dot.color];
      svg.leaf("path stroke='%' d='M% %H%'", {color, mark.measured->x, y, at});
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
    if (!mark.measured) continue;
    if (mark.estimated) svg.leaf("path data-d='%' d='%'", {mark.dot, polyline({*mark.estimated, *mark.measured})});
    // Whiskers: the slowest and fastest of repeated runs.
    const Dot& dot = series.dots[mark.dot];
    if (!dot.low_y || !dot.high_y || *dot.low_y == *dot.high_y) continue;
    svg.leaf("path data-w='%' stroke-width='1.4' d='M% %V%'",
             {mark.dot, mark.measured->x, layout.scale.y(*dot.low_y), layout.scale.y(*dot.high_y)});
  }
  svg.close();
}

void draw_labels(Svg& svg, const Layout& layout) {
  svg.open("g class='labels' fill='%' text-anchor='middle' dominant-baseline='central'", {kInk});
  for (const LabelMark& label : layout.labels) {
    if (const auto& leader = label.leader)
      svg.leaf("path data-d='%' stroke='#6b7480' stroke-width='0.7' d='M% %L% %'",
               {label.dot, leader->x0, leader->y0, leader->x1, leader->y1});
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
               std::optional<std::size_t> color, bool standalone) {
  svg.open("g class='series' data-s='%' display='%'", {at, visible ? "" : "none"});
  draw_links(svg, series, layout);
  svg.open("g class='estimated' fill-opacity='0.18' stroke-width='1.6'");
  const auto draw_marks = [&](std::optional<Point> DotMark::*of, const auto& stroke_of) {
    for (const DotMark& mark : layout.dots) {
      const std::optional<Point>& place = mark.*of;
      // With several models, only draw dots inside the frame: at its edge they would cover each other.
      if (!place || (mark.clipped && color)) continue;
      const Dot& dot = series.dots[mark.dot];
      const std::string_view stroke = stroke_of(dot);
      if (standalone && mark.clipped)
        svg.leaf("path class='outside' fill='none' stroke='%' stroke-width='2' d='%'",
                 {kEdges[dot.color], pointer_path(layout.scale.plot, *place)});
      else
        draw_dot(svg, dot, mark, *place, color.value_or(dot.color), stroke);
    }
  };
  draw_marks(&DotMark::estimated, [&](const Dot& dot) { return kEdges[color.value_or(dot.color)]; });
  svg.close().open("g class='measured' fill-opacity='0.85' stroke='#333' stroke-width='0.6'");
  draw_marks(&DotMark::measured, [](const Dot& dot) { return dot.above_roof ? kWarn : std::string_view(); });
  svg.close();
  draw_levels(svg, series, layout);
  draw_labels(svg, layout);
  svg.close();
}

}  // namespace pagoda::present::plot
