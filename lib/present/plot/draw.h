// The roofline as SVG: the source of all pictures, and the first view of the page.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "plot/chart.h"
#include "plot/layout.h"
#include "plot/svg.h"

namespace pagoda::present::plot {

inline constexpr std::string_view kFont = "DejaVu Sans, Verdana, sans-serif";
inline constexpr std::string_view kInk = "#1f2328", kMuted = "#59636e", kWarn = "#b42318", kPath = "#8a4baf";

// Okabe and Ito's palette, distinguishable with every type of colour vision; the last colour is for "other". Three of
// the colours have less than 3:1 contrast on white, so that dots have outlines: filled ones a dark one, hollow ones a
// darker shade of their colour. The page's script has the same colours (data.js).
inline constexpr std::array<std::string_view, kColors + 1> kPalette = {"#0072B2", "#E69F00", "#009E73", "#D55E00",
                                                                       "#CC79A7", "#56B4E9", "#999999"};
inline constexpr std::array<std::string_view, kColors + 1> kEdges = {"#0072B2", "#A66F00", "#007F5C", "#B84F00",
                                                                     "#A85580", "#2C86BD", "#6E6E6E"};
// The outline of a hollow dot of a colour.
constexpr std::string_view edge_of(std::string_view color) {
  for (std::size_t i = 0; i < kPalette.size(); ++i)
    if (kPalette[i] == color) return kEdges[i];
  return color;
}

// Types differ in shape as well as colour: circle, square, diamond, triangle up or down, cross, and a hexagon for
// "other", all with the area of a circle of that radius. The page's script has the same shapes (roofline.js).
std::string mark_path(std::size_t shape, double x, double y, double radius);

// `standalone`: includes the style that the page otherwise provides.
std::string draw_roofline(const Chart& chart, bool standalone);

// Parts, one file each.
void draw_axes(Svg& svg, const Chart& chart, const Layout& layout);
// `color`: colours all dots and gives them the shape at that palette index; empty: colour and shape by type.
// `standalone`: dots outside the frame become triangles at its edge; the page places them itself.
void draw_dots(Svg& svg, const Series& series, std::size_t at, const Layout& layout, bool visible,
               std::string_view color, bool standalone);
void draw_machines(Svg& svg, const Chart& chart, const Layout& layout);
// The arch of an energy chart and its balances.
void draw_arch(Svg& svg, const Chart& chart, const Layout& layout);
// Both return the y at which they end.
double draw_panel(Svg& svg, const Chart& chart);
double draw_footer(Svg& svg, const Chart& chart, double top);
// The sentence in a standalone picture: the verdict of one model, or a summary; empty without a series.
std::string says(const Chart& chart);

std::string segment_path(const Segment& line);

// The colour of a model in a chart of several models.
std::string_view series_color(std::size_t at);

// "12.3 ms · 1.2 TFLOP/s …" of a series.
std::string summary(const Chart& chart, const Series& series);
// Of a chart of several models, or of energy.
std::string summary(const Chart& chart);

}  // namespace pagoda::present::plot
