// The output formats of a chart. The roofline as SVG is the source of all pictures, and the first view of the page.
#pragma once

#include <string>
#include <string_view>

#include "draw/svg.h"
#include "plot/chart.h"
#include "plot/layout.h"

namespace pagoda::present::plot {

std::string chart_svg(const Chart& chart);
// `first`: id of the tab that is initially open; empty: the first tab.
std::string chart_html(const Chart& chart, std::string_view first);
std::string chart_csv(const Chart& chart);
std::string chart_json(const Chart& chart);
std::string chart_text(const Chart& chart);

// Types differ in shape as well as colour: circle, square, diamond, triangle up or down, cross, and a hexagon for
// "other", all with the area of a circle of that radius. The page's script has the same shapes (roofline.js).
std::string mark_path(std::size_t shape, double x, double y, double radius);

// `standalone`: includes the style that the page otherwise provides.
std::string draw_roofline(const Chart& chart, bool standalone);

// Parts, one file each.
// `color`: colours all dots and gives them the shape at that palette index; empty: colour and shape by type.
// `standalone`: dots outside the frame become triangles at its edge; the page places them itself.
void draw_dots(Svg& svg, const Series& series, std::size_t at, const Layout& layout, bool visible,
               std::string_view color, bool standalone);
// The arch of a machine's constants, as data of a path.
std::string arch_path(const Scale& scale, const EnergyModel& model, int steps);
// The arch of an energy chart and its balances.
void draw_arch(Svg& svg, const Chart& chart, const Layout& layout);
// Both return the y at which they end.
double draw_panel(Svg& svg, const Chart& chart);
double draw_footer(Svg& svg, const Chart& chart, double top);
// The sentence in a standalone picture: the verdict of one model, or a summary; empty without a series.
std::string sentence_of(const Chart& chart);

std::string segment_path(const Segment& line);

// The colour of a model in a chart of several models.
std::string_view series_color(std::size_t at);

// "12.3 ms · 1.2 TFLOP/s …" of a series.
std::string summary(const Chart& chart, const Series& series);
// Of a chart of several models, or of energy.
std::string summary(const Chart& chart);

}  // namespace pagoda::present::plot
