// Small pictures with the fonts and colours of rooflines: a title over axes. Lines over a number or over names, and
// rows with intervals; the views of a page (page/parts.h) are such pictures, too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "draw/svg.h"

namespace pagoda::present::plot {

// Widths of pictures. On a phone, a picture of the usual width would have letters of 5 pixels; a narrow one breaks its
// title and legend into several rows and puts names above their intervals.
inline constexpr double kPictureWidth = 900, kNarrowWidth = 360;

// Begins a picture on paper with its title; the rest is drawn below title_bottom().
Svg begin_picture(const std::string& title, const std::string& subtitle, double width, double height);
double title_bottom(const std::string& title, const std::string& subtitle, double width);
// Grid lines, or the strong lines of a frame. `path`: data of a path.
void draw_rules(Svg& svg, const std::string& path, bool is_strong = false);

struct ChartPoint {
  double x = 0, y = 0;
  std::optional<double> low = {}, high = {};
  std::string label = {};  // beside the point; empty: none
  std::string key = {};    // key of its table row, see PageTable::keys
  bool is_marked = false;  // larger than the others
};

struct ChartLine {
  std::string name;
  std::vector<ChartPoint> points;
  std::vector<ChartPoint> cloud = {};  // faint points behind the line
  std::string dashes = {};             // SVG dash pattern; empty: solid
  std::size_t color = 0;               // index in the palette
  bool is_hollow = false;              // its points
};

// Logarithmic in y, so that equal factors up and down look alike.
struct LineChart {
  std::string title, subtitle, x_title, y_title;
  std::vector<std::string> x_names = {};  // names of x = 0, 1, 2 …; empty: plain numbers
  std::vector<ChartLine> lines = {};
  std::optional<double> reference = {};  // y of a horizontal line
  std::string reference_name = {};
  std::optional<double> limit = {};  // x of a vertical line
  std::string limit_name = {};
  bool is_x_logarithmic = false;
  std::string y_unit = {};            // of the ticks; empty: plain numbers
  std::optional<double> height = {};  // of the axes; empty: as the width suggests
};
std::string draw(const LineChart& chart, double width = kPictureWidth);  // empty if there is no positive point

struct IntervalRow {
  std::string name;
  double value = 1;
  std::optional<double> low = {}, high = {};
  std::string text;             // at the right
  std::size_t color = kColors;  // index in the palette; the last colour is grey
  std::string key = {};         // key of its table row, see PageTable::keys
};

struct IntervalChart {
  std::string title, subtitle, x_title;
  std::vector<IntervalRow> rows = {};
  double reference = 1;
};
std::string draw(const IntervalChart& chart, double width = kPictureWidth);

// PNG or PDF of any picture, by `format`: "png" or "pdf". `in_print`: a PNG has 300 dots per inch, otherwise two dots
// per pixel.
std::string rasterize(const std::string& svg, std::string_view format, bool in_print = false);

// One picture in both widths; a page shows the one that suits its window.
struct Picture {
  std::string wide, narrow;
};
template <typename Chart>
Picture picture_of(const Chart& chart) {
  return {draw(chart), draw(chart, kNarrowWidth)};
}

}  // namespace pagoda::present::plot
