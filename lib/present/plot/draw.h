// The output formats of a chart, and the parts of its picture: texts, positions, drawing. The roofline as SVG is the
// source of all pictures, and the first view of the page.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "draw/axis.h"
#include "draw/svg.h"
#include "plot/chart.h"
#include "report/verdict.h"

namespace pagoda::present::plot {

std::string chart_svg(const Chart& chart);
// `first`: id of the tab that is initially open; empty: the first tab.
std::string chart_html(const Chart& chart, std::string_view first);
std::string chart_csv(const Chart& chart);
std::string chart_json(const Chart& chart);
std::string chart_text(const Chart& chart);

// The verdict at the top of a chart is that of its estimate, joined with its run.
using report::Rung;
using report::Verdict;

// The verdict on a series; empty if the series has no time.
std::optional<Verdict> verdict_of(const Chart& chart, const Series& series);
// The verdict on the whole chart: its only series, or the second series against the first. Empty in all other cases.
std::optional<Verdict> verdict_of(const Chart& chart);
// Labels of the series without the sizes that all have: {"bert_base", "bert_fused"} and ", batch=8, sequence=128".
struct ShortLabels {
  std::vector<std::string> labels;
  std::string common;
};
ShortLabels short_labels(const Chart& chart);
// "534 G … 2.74 TFLOP/s, 10 … 51%": the range of a model's measured stars, and their shares of the main roof or the
// arch at their intensities; or the range of its bounds if it has no measured star.
std::string reach_text(const Chart& chart, const Series& series);
// In a chart of several models: the time of each. Empty unless all have one comparable time.
std::vector<Rung> ladder_of(const Chart& chart);

// The positions of everything in the roofline, in units of its sheet (layout.cpp). Drawing only prints them.

inline constexpr double kLabelText = 12;

// Maps decades to units.
struct Scale {
  Frame frame;
  Box plot;  // the axes

  LogAxis x_axis() const { return {frame.x0, frame.x1, plot.x0, plot.x1}; }
  LogAxis y_axis() const { return {frame.y0, frame.y1, plot.y1, plot.y0}; }
  double x(double intensity) const { return x_axis()(intensity); }
  double y(double performance) const { return y_axis()(performance); }
  Point operator()(const Point& at) const { return {x(at.x), y(at.y)}; }
  // Empty outside the frame.
  std::optional<Point> inside(const Point& at) const {
    return frame.holds(at) ? std::optional((*this)(at)) : std::nullopt;
  }
};

struct Segment {
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

// A label in the right margin: one row of text or, on a narrow sheet, two. `line_y`: where its line ends.
struct MarginLabel {
  std::vector<std::string> rows = {};
  double line_y = 0, y = 0;  // y: middle of the text
  Box box = {};
};

// Compute roofs are labelled in the margin; the memory's along its slope or, where no place is free, in the margin too.
struct RoofMark {
  const Roof* roof = nullptr;
  bool is_main = false;
  std::optional<Segment> line = {};  // empty: outside the frame
  std::optional<MarginLabel> margin = {};
  std::string text = {};                       // along the line; empty: in the margin
  double text_x = 0, text_y = 0, degrees = 0;  // middle of the text, and its slope
  std::vector<Box> boxes = {};                 // covered by the label
};

// Rows without FLOPs have no intensity: a part of the column at the left edge, whose height is the whole time.
struct RailMark {
  std::size_t dot = 0;
  Box box = {};
};

struct DotMark {
  std::size_t dot = 0;
  double radius = 0;
  std::optional<Point> estimated = {}, measured = {};
  bool clipped = false;  // moved to the edge of the frame
};

struct LabelMark {
  std::string text = {};
  std::size_t dot = 0;
  Box box = {};
  std::optional<Segment> leader = {};  // from the dot to a label that is far away
};

// The name of a whole model on a path.
struct StarLabel {
  std::string text = {};
  double x = 0, y = 0;
  Box box = {};
};

// The position of a series' name beside its star.
struct NamePlace {
  double drop = 0;  // pixels below the star's middle
  bool is_left = false;
};

// Stars that a line joins, and their labels.
struct PathMark {
  std::size_t series = 0;
  bool is_measured = false;
  std::vector<Star> stars = {};
  std::vector<StarLabel> labels = {};
};

struct Layout {
  Scale scale = {};
  double axis = 0;                  // x at which the labels of the y axis end: left of the rail
  std::vector<RailMark> rail = {};  // from the bottom, most time first
  double rail_share = 0;            // of the time
  std::vector<RoofMark> roofs = {};
  std::optional<Point> ridge = {};  // inside the frame
  std::vector<DotMark> dots = {};   // of one series
  std::vector<LabelMark> labels = {};
  std::vector<StarLabel> change_labels = {};  // gains, by Chart::changes; an empty text if no place is free
  std::vector<NamePlace> star_names = {};     // by series
  std::vector<PathMark> paths = {};
  std::vector<MarginLabel> machine_labels = {};  // by Chart::machines; without rows if the line is outside the frame
};

// The dot's area grows linearly with its share of the time, from the smallest mark that can be seen.
double dot_radius(double share);
// Places for labels of that height between two ends, in the order of `wanted`, which ascends: none overlaps another,
// and the sum of squares of their moves is least.
std::vector<double> spread(const std::vector<double>& wanted, double height, double low, double high);

// "+35%"; "2.4×" from a factor of 2 (or below 0.5); ", of 12" appended if 12 items moved alike.
std::string gain_text(const Change& change);
// For one model in several sizes: the path across its estimates. Otherwise for each model, or for the series `at`: its
// paths over a swept size, estimated and measured.
std::vector<PathMark> paths_of(const Chart& chart, std::size_t at);
// True if the star of a whole model lies on the path of its sizes and is not drawn separately.
bool is_on_path(const Chart& chart, const Series& series);
// The star that carries a series' name: the measured star, else the end of its path, else the star of its bound.
const Star* named_star(const Chart& chart, const Series& series);
// The name beside the star of a series; empty for a single series.
std::string star_name(const Chart& chart, const Series& series);

Layout make_layout(const Chart& chart, std::size_t series);

// Labels beside dots: of rings of candidate places around each dot, takes the first that covers no text and no dot,
// with a leader if it is far away. A label without a free place is left out.
std::vector<LabelMark> place_labels(const Series& series, const std::vector<DotMark>& dots, const Box& plot,
                                    const std::vector<Box>& taken, const std::vector<Segment>& lines,
                                    std::size_t count);

// Types differ in shape as well as colour: circle, square, diamond, triangle up or down, cross, and a hexagon for
// "other", all with the area of a circle of that radius. The page's script has the same shapes (roofline.js).
std::string mark_path(std::size_t shape, double x, double y, double radius);

// `standalone`: includes the style that the page otherwise provides.
std::string draw_roofline(const Chart& chart, bool standalone);

// Parts of the picture that have a file of their own.
//
// `color`: palette index of the colour and shape of all dots; empty: colour and shape by type.
// `standalone`: dots outside the frame become triangles at its edge; the page places them itself.
void draw_dots(Svg& svg, const Series& series, std::size_t at, const Layout& layout, bool visible,
               std::optional<std::size_t> color, bool standalone);
// The arch of a machine's constants, as data of a path.
std::string arch_path(const Scale& scale, const EnergyModel& model, int steps);
// The arch of an energy chart and its balances.
void draw_arch(Svg& svg, const Chart& chart, const Layout& layout);
// Both return the y at which they end.
double draw_panel(Svg& svg, const Chart& chart);
double draw_footer(Svg& svg, const Chart& chart, double top);
// The sentence in a standalone picture: the verdict of one model, or a summary; empty without a series.
std::string sentence_of(const Chart& chart);

// "M1 2L3 4L5 6": data of a path.
std::string polyline(const std::vector<Point>& points);

// The colour of a model in a chart of several models.
std::string_view series_color(std::size_t at);

// "12.3 ms · 1.2 TFLOP/s …" of a series.
std::string summary(const Chart& chart, const Series& series);
// Of a chart of several models, or of energy.
std::string summary(const Chart& chart);

}  // namespace pagoda::present::plot
