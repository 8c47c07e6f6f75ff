// The positions of everything in the roofline, in units of its sheet. Drawing only prints them.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "draw/axis.h"
#include "plot/chart.h"

namespace pagoda::present::plot {

inline constexpr double kLabelText = 12;

// Maps decades to units.
struct Scale {
  Frame frame;
  Box plot;  // the axes

  LogAxis x_axis() const { return {frame.x0, frame.x1, plot.x0, plot.x1}; }
  LogAxis y_axis() const { return {frame.y0, frame.y1, plot.y1, plot.y0}; }
  double x(double intensity) const { return x_axis()(intensity); }
  double y(double performance) const { return y_axis()(performance); }
};

struct Segment {
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

struct RoofMark {
  const Roof* roof = nullptr;
  bool is_main = false;
  std::optional<Segment> line = {};            // empty: outside the frame
  std::string text = {};                       // empty: no free space
  double text_x = 0, text_y = 0, degrees = 0;  // middle of the text, and its slope
  std::vector<Box> boxes = {};                 // covered by the text
};

struct DotMark {
  std::size_t dot = 0;
  double radius = 0;
  std::optional<double> x = {}, y = {};                    // estimated
  std::optional<double> measured_x = {}, measured_y = {};  // measured
  bool clipped = false;                                    // moved to the edge of the frame
};

struct LabelMark {
  std::string text = {};
  std::size_t dot = 0;
  Box box = {};
  bool has_leader = false;
  double from_x = 0, from_y = 0, to_x = 0, to_y = 0;
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
  std::vector<RoofMark> roofs = {};
  std::optional<double> ridge_x = {}, ridge_y = {};  // inside the frame
  std::vector<DotMark> dots = {};                    // of one series
  std::vector<LabelMark> labels = {};
  std::vector<StarLabel> change_labels = {};  // gains, by Chart::changes; without text if there is no free space
  std::vector<NamePlace> star_names = {};     // by series
  std::vector<PathMark> paths = {};
  std::vector<StarLabel> machine_labels = {};  // by Chart::machines; without text if the line is outside the frame
};

// The dot's area is proportional to its share of the time.
double dot_radius(double share);

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

}  // namespace pagoda::present::plot
