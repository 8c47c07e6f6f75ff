// Positions of everything in the roofline.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "draw/text.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "plot/draw.h"

namespace pagoda::present::plot {
namespace {

constexpr double kSmallest = 2.2, kLargest = 24;  // radii: of no time, and of the whole time
constexpr double kRail = 50;                      // width of the column of rows without FLOPs, with its gap
constexpr double kMostMargin = 176;               // width of labels in the right margin
constexpr double kToLabel = 16;                   // from the end of a line to its label
constexpr double kRowOfMargin = 13;

// Covers a slanted text with upright boxes, so that one overlap test works for all texts.
std::vector<Box> slanted(double x, double y, double width, double degrees) {
  constexpr double kHalf = 8;
  const double angle = degrees * std::numbers::pi / 180;
  // Half of the letters' height, across the text.
  const double dx = kHalf * std::abs(std::sin(angle)), dy = kHalf * std::abs(std::cos(angle));
  const int parts = std::abs(degrees) < 1 ? 1 : std::max(2, static_cast<int>(width / 12));
  std::vector<Box> boxes;
  for (int i = 0; i < parts; ++i) {
    const double from = width * (static_cast<double>(i) / parts - 0.5),
                 to = width * (static_cast<double>(i + 1) / parts - 0.5);
    const double ya = y + from * std::sin(angle), yb = y + to * std::sin(angle);
    boxes.push_back(
        {x + from * std::cos(angle) - dx, std::min(ya, yb) - dy, x + to * std::cos(angle) + dx, std::max(ya, yb) + dy});
  }
  return boxes;
}

bool is_free(const Box& plot, const std::vector<Box>& boxes, const std::vector<Box>& taken) {
  for (const Box& box : boxes) {
    if (!box.inside(plot)) return false;
    if (std::ranges::any_of(taken, [&](const Box& other) { return box.overlaps(other); })) return false;
  }
  return true;
}

std::vector<Box> around(const std::vector<Segment>& lines, const Segment* except) {
  std::vector<Box> boxes;
  for (const Segment& line : lines) {
    if (&line == except) continue;
    const int parts = std::max(1, static_cast<int>((std::abs(line.x1 - line.x0) + std::abs(line.y1 - line.y0)) / 8));
    for (int i = 0; i <= parts; ++i) {
      const double t = static_cast<double>(i) / parts;
      const double x = line.x0 + t * (line.x1 - line.x0), y = line.y0 + t * (line.y1 - line.y0);
      boxes.push_back({x - 2, y - 2, x + 2, y + 2});
    }
  }
  return boxes;
}

// The part of the line y = x · bandwidth inside the frame and below `top`.
std::optional<Segment> slope(const Scale& scale, double bandwidth, double top) {
  const Frame& frame = scale.frame;
  const double high = std::min(top, frame.y1);
  const double from = std::max(frame.x0, frame.y0 / bandwidth), to = std::min(frame.x1, high / bandwidth);
  if (from >= to) return std::nullopt;
  return Segment{scale.x(from), scale.y(from * bandwidth), scale.x(to), scale.y(to * bandwidth)};
}

std::optional<Segment> flat(const Scale& scale, double peak, double fastest) {
  const Frame& frame = scale.frame;
  const double from = std::max(frame.x0, peak / fastest);
  if (peak < frame.y0 || peak > frame.y1 || from >= frame.x1) return std::nullopt;
  return Segment{scale.x(from), scale.y(peak), scale.x(frame.x1), scale.y(peak)};
}

// Moves the label of a slope along its line, from the left end, where slopes share no lines, until it covers nothing:
// above the line, else below it.
void label_slope(RoofMark& mark, const Box& plot, const std::vector<Segment>& lines, std::vector<Box>& taken) {
  const Segment& line = *mark.line;
  const double dx = line.x1 - line.x0, dy = line.y1 - line.y0, length = std::hypot(dx, dy);
  const double degrees = std::atan2(dy, dx) * 180 / std::numbers::pi;
  std::vector<Box> obstacles = taken;
  const std::vector<Box> others = around(lines, &line);
  obstacles.insert(obstacles.end(), others.begin(), others.end());
  for (const std::string& text : {mark.roof->label(), mark.roof->brief()}) {
    const double width = text_width(text, kLabelText), last = length - width / 2 - 4;
    for (const double offset : {10.0, -11.0, 26.0, -27.0}) {
      for (double back = width / 2 + 18; back <= last; back += 8) {
        const double t = back / length;
        const double x = line.x0 + t * dx + offset * dy / length, y = line.y0 + t * dy - offset * dx / length;
        std::vector<Box> boxes = slanted(x, y, width, degrees);
        if (!is_free(plot, boxes, obstacles)) continue;
        mark.text = text;
        mark.text_x = x;
        mark.text_y = y;
        mark.degrees = degrees;
        taken.insert(taken.end(), boxes.begin(), boxes.end());
        mark.boxes = std::move(boxes);
        return;
      }
    }
  }
}

DotMark dot_mark(const Scale& scale, const Dot& dot, std::size_t at) {
  DotMark mark{.dot = at, .radius = dot_radius(dot.share)};
  const auto place = [&](const std::optional<Point>& of, std::optional<Point>& to) {
    if (!of) return;
    const Point exact = scale(*of);
    to = {std::clamp(exact.x, scale.plot.x0, scale.plot.x1), std::clamp(exact.y, scale.plot.y0, scale.plot.y1)};
    mark.clipped = mark.clipped || *to != exact;
  };
  place(dot.estimated, mark.estimated);
  place(dot.measured, mark.measured);
  return mark;
}

// The label at the first of `places`, its middle, where it covers nothing; takes that place.
std::optional<StarLabel> placed(const Box& plot, const std::string& text, double half, const std::vector<Point>& places,
                                std::vector<Box>& taken) {
  for (const auto& [x, y] : places) {
    const Box box{x - half, y - 8, x + half, y + 8};
    if (!is_free(plot, {box}, taken)) continue;
    taken.push_back(box);
    return StarLabel{text, x, y, box};
  }
  return std::nullopt;
}

// Labels the ends first, then the stars between them where space is left, nearest places first.
std::vector<StarLabel> label_path(const Scale& scale, const std::vector<Star>& stars, std::vector<Box>& taken) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < stars.size(); ++i)
    if (scale.frame.holds(stars[i].place())) order.push_back(i);
  if (order.size() > 2) std::rotate(order.begin() + 1, order.end() - 1, order.end());
  std::vector<StarLabel> labels;
  for (const std::size_t i : order) {
    const Point middle = scale(stars[i].place());
    const double half = text_width(stars[i].label, kLabelText) / 2 + 2;
    std::vector<Point> places;
    for (const double far : {0.0, 12.0, 24.0, 40.0}) {
      const double up = 18 + far, side = half + 12 + far, across = half + far / 2, down = 18 + far / 2;
      for (const auto& [dx, dy] : {Point{0, up},
                                   {0, -up},
                                   {side, 0},
                                   {-side, 0},
                                   {across, down},
                                   {-across, -down},
                                   {across, -down},
                                   {-across, down}})
        places.push_back({middle.x + dx, middle.y + dy});
    }
    if (auto label = placed(scale.plot, stars[i].label, half, places, taken)) labels.push_back(std::move(*label));
  }
  return labels;
}

// Places labels beside their arrows, in the middle first.
std::vector<StarLabel> label_changes(const Scale& scale, const Chart& chart, std::vector<Box>& taken) {
  std::vector<StarLabel> labels;
  for (const Change& change : chart.changes) {
    const Point from = scale(change.before), to = scale(change.after);
    const std::string text = gain_text(change);
    const double half = text_width(text, kLabelText) / 2 + 2;
    std::vector<Point> places;
    for (const double part : {0.5, 0.35, 0.65, 0.2, 0.8})
      for (const double side : {1.0, -1.0})
        places.push_back({from.x + part * (to.x - from.x) + side * (half + 5), from.y + part * (to.y - from.y)});
    labels.push_back(placed(scale.plot, text, half, places, taken).value_or(StarLabel()));
  }
  return labels;
}

Box box_of(const Point& at, double radius) { return {at.x - radius, at.y - radius, at.x + radius, at.y + radius}; }

// Places a name to the right or left of its star, clear of stars and other names, and of dots and lines where it can: a
// name across a line can be read, one over dots cannot, and one far from its star seems to be another's.
void place_name(NamePlace& place, const Box& plot, const std::string& name, const Point& at,
                const std::vector<Box>& dots, const std::vector<Box>& lines, std::vector<Box>& names) {
  constexpr double kNearDrop = 16, kFarDrop = 64;  // of the star's height
  struct Choice {
    bool is_over_lines, is_over_dots;
    double farthest;
  };
  const double width = 1.15 * text_width(name, kLabelText);  // bold is wider
  for (const auto& [is_over_lines, is_over_dots, farthest] :
       {Choice{false, false, kNearDrop}, Choice{true, false, kNearDrop}, Choice{false, false, kFarDrop},
        Choice{true, false, kFarDrop}, Choice{true, true, kFarDrop}}) {
    for (const double drop : {0.0, 16.0, -16.0, 32.0, -32.0, 48.0, -48.0, 64.0}) {
      if (std::abs(drop) > farthest) continue;
      for (const bool is_left : {false, true}) {
        const double from = is_left ? at.x - 14 - width : at.x + 14;
        const Box box{from, at.y + drop - 8, from + width, at.y + drop + 8};
        if (!is_free(plot, {box}, names) || (!is_over_dots && !is_free(plot, {box}, dots)) ||
            (!is_over_lines && !is_free(plot, {box}, lines)))
          continue;
        place = {.drop = drop, .is_left = is_left};
        names.push_back(box);
        return;
      }
    }
  }
  place.is_left = at.x + 14 + width > plot.x1;
}

// Text of a line in the margin; a narrow sheet breaks it.
std::vector<std::string> margin_rows(const Chart& chart, const std::string& text) {
  if (!chart.sheet.is_column) return {fit(text, kLabelText, kMostMargin)};
  return wrapped(text, kLabelText, kMostMargin / 2, 3);
}

// The name of a machine's line, and the height at which it ends.
const std::string& line_name(const Machine& machine) { return machine.mode.empty() ? machine.label : machine.mode; }
double line_end(const Chart& chart, const Machine& machine) {
  if (!chart.is_energy) return machine.peak;
  return machine.energy ? flops_per_joule(*machine.energy, chart.frame.x1) : 0;
}

// A slope has no end at the margin: its label there shows which kind of line it is.
std::string slope_text(const Roof& roof) { return "╱ " + roof.brief(); }

// The width of the widest label that the margin may get.
double margin_width(const Chart& chart) {
  double most = 0;
  const auto take = [&](const std::string& text) {
    for (const std::string& row : margin_rows(chart, text)) most = std::max(most, text_width(row, kLabelText));
  };
  for (const Roof& roof : chart.roofs.compute)
    if (roof.shown) take(roof.brief());
  for (const Roof& roof : chart.roofs.bandwidth)
    if (roof.shown) take(slope_text(roof));
  for (const Machine& machine : chart.machines) take(line_name(machine));
  return most > 0 ? kToLabel + most : 0;
}

// The plot between the rail at its left and the labels of roofs at its right.
Box plot_of(const Chart& chart, bool has_rail) {
  Box plot = chart.sheet.plot;
  plot.x0 += has_rail ? kRail : 0;
  plot.x1 -= margin_width(chart);
  return plot;
}

// Places the labels of the margin: in the order of their lines, none on another.
void place_margin(const Box& sheet, Layout& layout) {
  const Box& plot = layout.scale.plot;
  std::vector<std::pair<MarginLabel*, std::vector<Box>*>> labels;
  for (RoofMark& mark : layout.roofs)
    if (mark.margin) labels.emplace_back(&*mark.margin, &mark.boxes);
  for (MarginLabel& label : layout.machine_labels)
    if (!label.rows.empty()) labels.emplace_back(&label, nullptr);
  std::ranges::stable_sort(labels, {}, [](const auto& label) { return label.first->line_y; });
  std::vector<double> wanted;
  wanted.reserve(labels.size());
  for (const auto& [label, boxes] : labels) wanted.push_back(label->line_y);
  std::size_t most_rows = 1;
  for (const auto& [label, boxes] : labels) most_rows = std::max(most_rows, label->rows.size());
  // Without room for all rows, each label has one, cut in its middle: its end is the number.
  if (kRowOfMargin * static_cast<double>(most_rows * labels.size()) > plot.y1 - plot.y0) {
    most_rows = 1;
    for (const auto& [label, boxes] : labels)
      label->rows = {fit(base::joined(label->rows, " "), kLabelText, sheet.x1 - plot.x1 - kToLabel)};
  }
  const double height = kRowOfMargin * static_cast<double>(most_rows) + 3;
  const std::vector<double> places = spread(wanted, height, plot.y0, plot.y1);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto& [label, boxes] = labels[i];
    double width = 0;
    for (const std::string& row : label->rows) width = std::max(width, text_width(row, kLabelText));
    label->y = places[i];
    label->box = {plot.x1 + kToLabel, label->y - height / 2, plot.x1 + kToLabel + width, label->y + height / 2};
    if (boxes != nullptr) boxes->push_back(label->box);
  }
}

// The rail of a series: its rows without FLOPs, most time at the bottom, as parts of the plot's height.
void place_rail(const Series& series, Layout& layout) {
  const Box& plot = layout.scale.plot;
  constexpr double kText = 32;  // height of the two rows above a full rail
  for (const Dot& dot : series.dots) layout.rail_share += dot.rail ? dot.share : 0;
  const double high = (plot.y1 - plot.y0 - kText) * std::min(1.0, layout.rail_share), left = layout.axis + 4;
  double y = plot.y1;
  for (std::size_t i = 0; i < series.dots.size(); ++i) {
    if (!series.dots[i].rail || !(series.dots[i].share > 0)) continue;
    const double tall = high * series.dots[i].share / layout.rail_share;
    layout.rail.push_back({i, {left, y - tall, left + kRail - 12, y}});
    y -= tall;
  }
}

// "32" to stand behind "batch=16, "; the whole label if the setting before it is another.
std::string after(const std::string& first, const std::string& label) {
  const std::string setting = first.substr(0, first.rfind('=') + 1);  // npos + 1 is 0
  return label.starts_with(setting) ? label.substr(setting.size()) : label;
}

// Stars that lie on each other share a label: "batch=16, 32, 64", or "batch=1 … 1024" if they are many.
std::vector<Star> labelled_together(const Scale& scale, const std::vector<Star>& stars) {
  constexpr double kOverlap = 13;  // two marks at this distance overlap, so that labels cannot tell them apart
  constexpr std::size_t kMostNames = 3;
  std::vector<Star> result;
  for (std::size_t first = 0; first < stars.size();) {
    std::size_t end = first + 1;
    const Point at = scale(stars[first].place());
    const auto is_near = [&](const Point& other) { return std::hypot(other.x - at.x, other.y - at.y) < kOverlap; };
    while (end < stars.size() && is_near(scale(stars[end].place()))) ++end;
    Star together = stars[end - 1];
    const std::string label = stars[first].label;
    const bool is_range = end - first > kMostNames;
    together.label = label;
    for (std::size_t i = is_range ? end - 1 : first + 1; i < end; ++i)
      together.label += (is_range ? " … " : ", ") + after(label, stars[i].label);
    result.push_back(std::move(together));
    first = end;
  }
  return result;
}

// The roofs that are drawn, and the paths through stars.
std::vector<Segment> lines_of(const Layout& layout) {
  std::vector<Segment> lines;
  for (const RoofMark& mark : layout.roofs)
    if (mark.line && mark.roof->shown) lines.push_back(*mark.line);
  const Scale& scale = layout.scale;
  for (const PathMark& path : layout.paths)
    for (std::size_t i = 1; i < path.stars.size(); ++i) {
      const auto from = scale.inside(path.stars[i - 1].place()), to = scale.inside(path.stars[i].place());
      if (from && to) lines.push_back({from->x, from->y, to->x, to->y});
    }
  return lines;
}

// Bounds get no labels at sizes for which the same series has a measured run: the run carries the label.
void label_sizes(const Layout& layout, PathMark& path, const Chart& chart, std::vector<Box>& taken) {
  std::vector<Star> stars = path.stars;
  for (const PathMark& other : layout.paths)
    if (!path.is_measured && other.series == path.series && other.is_measured)
      std::erase_if(stars, [&](const Star& star) {
        return std::ranges::any_of(other.stars, [&](const Star& run) { return run.label == star.label; });
      });
  if (chart.by_model)  // labels are short beside several models: "8" for "batch=8"
    for (Star& star : stars) star.label.erase(0, star.label.rfind('=') + 1);  // npos + 1 is 0
  stars = labelled_together(layout.scale, stars);
  path.labels = label_path(layout.scale, stars, taken);
}

}  // namespace

double dot_radius(double share) {
  const double least = kSmallest * kSmallest;
  return std::sqrt(least + (kLargest * kLargest - least) * std::clamp(share, 0.0, 1.0));
}

std::vector<double> spread(const std::vector<double>& wanted, double height, double low, double high) {
  // In blocks of touching labels, each stands where the mean of its labels is as near as possible: isotonic regression
  // of the places less the labels before them, by pooling neighbours that are out of order.
  struct Block {
    double sum = 0;
    std::size_t count = 0;
    double place() const { return sum / static_cast<double>(count); }
  };
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    blocks.push_back({wanted[i] - height * static_cast<double>(i), 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].place() > blocks.back().place()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back().sum += last.sum, blocks.back().count += last.count;
    }
  }
  const double first = low + height / 2,
               last = std::max(first, high - height * (static_cast<double>(wanted.size()) - 0.5));
  std::vector<double> places;
  for (const Block& block : blocks)
    for (std::size_t i = 0; i < block.count; ++i)
      places.push_back(std::clamp(block.place(), first, last) + height * static_cast<double>(places.size()));
  return places;
}

std::string gain_text(const Change& change) {
  const double factor = change.before_seconds / change.after_seconds;
  const std::string alike = change.count > 1 ? cat(", of ", change.count) : "";
  if (factor >= 2 || factor <= 0.5) return cat(plain(factor), "×", alike);
  return cat(factor >= 1 ? "+" : "−", percent_text(std::abs(factor - 1)), alike);
}

std::vector<PathMark> paths_of(const Chart& chart, std::size_t at) {
  if (!chart.path.empty()) return {{.series = 0, .is_measured = false, .stars = chart.path}};
  std::vector<PathMark> paths;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    if (!chart.by_model && i != at) continue;
    const Series& series = chart.series[i];
    if (!series.trajectory.empty()) paths.push_back({.series = i, .is_measured = false, .stars = series.trajectory});
    if (series.runs.size() > 1) paths.push_back({.series = i, .is_measured = true, .stars = series.runs});
  }
  return paths;
}

bool is_on_path(const Chart& chart, const Series& series) {
  return chart.by_model && (series.trajectory.size() > 1 || series.runs.size() > 1);
}

const Star* named_star(const Chart& chart, const Series& series) {
  if (series.measured_star) return &*series.measured_star;
  if (is_on_path(chart, series)) return series.runs.size() > 1 ? &series.runs.back() : &series.trajectory.back();
  return series.bound_star ? &*series.bound_star : nullptr;
}

std::string star_name(const Chart& chart, const Series& series) {
  if (chart.series.size() < 2 || !chart.path.empty()) return "";
  return short_name(short_labels(chart).labels[static_cast<std::size_t>(&series - chart.series.data())], 28);
}

Layout make_layout(const Chart& chart, std::size_t at) {
  const bool has_rail =
      !chart.by_model && !chart.is_energy && at < chart.series.size() &&
      std::ranges::any_of(chart.series[at].dots, [](const Dot& dot) { return dot.rail && dot.share > 0; });
  Layout layout{.scale = {chart.frame, plot_of(chart, has_rail)}, .axis = chart.sheet.plot.x0};
  const Scale& scale = layout.scale;
  if (has_rail) place_rail(chart.series[at], layout);
  const Roofs& roofs = chart.roofs;
  double top = 0, fastest = 0;
  for (const Roof& roof : roofs.compute)
    if (roof.shown) top = std::max(top, roof.value);
  for (const Roof& roof : roofs.bandwidth) fastest = std::max(fastest, roof.value);
  for (const Roof& roof : roofs.compute)
    layout.roofs.push_back({.roof = &roof,
                            .is_main = roofs.has_main && &roof == &roofs.compute[roofs.main],
                            .line = flat(scale, roof.value, fastest)});
  for (const Roof& roof : roofs.bandwidth)
    layout.roofs.push_back(
        {.roof = &roof, .is_main = &roof == &roofs.bandwidth.front(), .line = slope(scale, roof.value, top)});

  if (!chart.is_energy && roofs.has_main)
    layout.ridge = scale.inside({roofs.ridge(roofs.main), roofs.compute[roofs.main].value});

  const auto append = [](std::vector<Box>& to, const std::vector<Box>& boxes) {
    to.insert(to.end(), boxes.begin(), boxes.end());
  };
  std::vector<Box> dot_boxes;
  for (std::size_t i = 0; at < chart.series.size() && i < chart.series[at].dots.size(); ++i) {
    if (chart.series[at].dots[i].rail) continue;
    layout.dots.push_back(dot_mark(scale, chart.series[at].dots[i], i));
    const DotMark& mark = layout.dots.back();
    // Thousands of dots would leave no free place: labels only avoid the first 400, the largest.
    if (i >= 400) continue;
    for (const auto* place : {&mark.estimated, &mark.measured})
      if (*place) dot_boxes.push_back(box_of(**place, mark.radius));
  }
  for (const Machine& machine : chart.machines) {
    const double end = line_end(chart, machine);
    if (end < scale.frame.y0 || end > scale.frame.y1)
      layout.machine_labels.emplace_back();
    else
      layout.machine_labels.push_back({margin_rows(chart, line_name(machine)), scale.y(end)});
  }
  layout.paths = paths_of(chart, at);
  std::vector<Box> names;  // and stars, of which they must keep clear
  const auto add_star = [&](const Star& star, double radius) {
    if (const auto place = scale.inside(star.place())) names.push_back(box_of(*place, radius));
  };
  for (const Series& series : chart.series) {
    if (series.bound_star && !is_on_path(chart, series)) add_star(*series.bound_star, 10);
    if (series.measured_star) add_star(*series.measured_star, 10);
  }
  for (const PathMark& path : layout.paths)
    for (const Star& star : path.stars) add_star(star, 7);
  std::vector<Box> taken = dot_boxes;
  append(taken, names);
  // Names first: there are more places for a size than for a name.
  const std::size_t name_begin = names.size();
  const std::vector<Box> drawn_lines = around(lines_of(layout), nullptr);
  for (const Series& series : chart.series) {
    const Star* star = named_star(chart, series);
    const std::string name = star_name(chart, series);
    layout.star_names.emplace_back();
    if (star == nullptr || name.empty()) continue;
    place_name(layout.star_names.back(), scale.plot, name, scale(star->place()), dot_boxes, drawn_lines, names);
  }
  names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(name_begin));
  append(taken, names);
  for (PathMark& path : layout.paths) label_sizes(layout, path, chart, taken);
  layout.change_labels = label_changes(scale, chart, taken);
  // The ridge's own label is at the foot of the drop line.
  if (layout.ridge) {
    const double half = text_width("compute-bound", kLabelText) + 14;  // beside it stand the names of the zones
    taken.push_back({layout.ridge->x - half, scale.plot.y1 - 42, layout.ridge->x + half, scale.plot.y1});
  }
  std::vector<Segment> lines;
  for (const RoofMark& mark : layout.roofs)
    if (mark.line && mark.roof->shown) lines.push_back(*mark.line);
  std::size_t line = 0;
  for (RoofMark& mark : layout.roofs) {
    if (!mark.line || !mark.roof->shown) continue;
    std::vector<Segment> others = lines;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(line++));
    if (mark.roof->kind == Roof::Kind::Compute)
      mark.margin = MarginLabel{margin_rows(chart, mark.roof->brief()), mark.line->y1};
    else
      label_slope(mark, scale.plot, others, taken);
    if (mark.roof->kind == Roof::Kind::Bandwidth && mark.text.empty())
      mark.margin = MarginLabel{margin_rows(chart, slope_text(*mark.roof)), mark.line->y0};
  }
  place_margin(chart.sheet.plot, layout);
  if (at < chart.series.size() && !chart.by_model)
    layout.labels = place_labels(chart.series[at], layout.dots, scale.plot, taken, lines, chart.options.labels);
  return layout;
}

std::vector<LabelMark> place_labels(const Series& series, const std::vector<DotMark>& dots, const Box& plot,
                                    const std::vector<Box>& taken, const std::vector<Segment>& lines,
                                    std::size_t count) {
  constexpr double kHeightOfText = 15;
  constexpr std::array<double, 7> kGaps = {4, 14, 26, 42, 62, 86, 112};
  constexpr int kDirections = 16;
  std::vector<Box> blocked = taken;
  const std::vector<Box> crossed = around(lines, nullptr);
  std::vector<LabelMark> labels;
  std::vector<Box> texts;
  for (const DotMark& mark : dots) {
    if (labels.size() >= count) break;
    const Dot& dot = series.dots[mark.dot];
    const std::optional<Point>& at = mark.measured ? mark.measured : mark.estimated;
    if (!at || dot.aggregate || dot.share <= 0) continue;
    std::string text = short_name(dot.name, 26);
    if (dot.items.size() > 1) text += " ×" + std::to_string(dot.items.size());
    const double width = text_width(text, kLabelText) + 4;
    const auto try_place = [&] {
      for (const double gap : kGaps) {
        if (gap > 0.2 * (plot.y1 - plot.y0)) break;
        for (int step = 0; step < kDirections; ++step) {
          // Directions: to the right first, then alternately further up and down.
          const int turn = step % 2 == 0 ? step / 2 : -(step + 1) / 2;
          const double angle = 2 * std::numbers::pi * turn / kDirections;
          const double reach = mark.radius + gap;
          const double cx = at->x + reach * std::cos(angle) +
                            std::copysign(width / 2, std::cos(angle)) * std::min(1.0, 2 * std::abs(std::cos(angle)));
          const double cy = at->y - (reach + kHeightOfText / 2 * std::abs(std::sin(angle))) * std::sin(angle);
          const Box box{cx - width / 2, cy - kHeightOfText / 2, cx + width / 2, cy + kHeightOfText / 2};
          if (!is_free(plot, {box}, blocked) || !is_free(plot, {box}, crossed)) continue;
          LabelMark label{.text = text, .dot = mark.dot, .box = box};
          if (gap > 10) {
            const Point to{std::clamp(at->x, box.x0, box.x1), std::clamp(at->y, box.y0, box.y1)};
            const double distance = std::max(std::hypot(to.x - at->x, to.y - at->y), 1.0);
            label.leader = Segment{at->x + (to.x - at->x) * mark.radius / distance,
                                   at->y + (to.y - at->y) * mark.radius / distance, to.x, to.y};
            // A leader through another label would look like that label's leader.
            const std::vector<Box> leader = around({*label.leader}, nullptr);
            if (!is_free(plot, leader, texts)) continue;
            blocked.insert(blocked.end(), leader.begin(), leader.end());
          }
          labels.push_back(label);
          texts.push_back(box);
          blocked.push_back(box);
          return;
        }
      }
    };
    try_place();  // without a free place, only the table shows the name
  }
  return labels;
}

}  // namespace pagoda::present::plot
