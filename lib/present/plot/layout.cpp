#include "plot/layout.h"

#include <algorithm>
#include <array>
#include <numbers>

#include "draw/text.h"
#include "pagoda/base/text.h"
#include "plot/verdict.h"

namespace pagoda::present::plot {
namespace {

constexpr double kSmallest = 2.2, kLargest = 14;  // radii
constexpr double kShareOfLargest = 0.25;

// Covers a slanted text with upright boxes, so that one overlap test works for all texts.
std::vector<Box> slanted(double x, double y, double width, double degrees) {
  constexpr double kHalf = 8;
  const double angle = degrees * std::numbers::pi / 180;
  const int parts = std::abs(degrees) < 1 ? 1 : std::max(2, static_cast<int>(width / 12));
  std::vector<Box> boxes;
  for (int i = 0; i < parts; ++i) {
    const double from = width * (static_cast<double>(i) / parts - 0.5),
                 to = width * (static_cast<double>(i + 1) / parts - 0.5);
    const double ya = y + from * std::sin(angle), yb = y + to * std::sin(angle);
    boxes.push_back(
        {x + from * std::cos(angle), std::min(ya, yb) - kHalf, x + to * std::cos(angle), std::max(ya, yb) + kHalf});
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

// Moves the label along its roof, from the outer end, until it covers nothing: above the line, else below it.
// `texts`: names of models; from `first_roof` on, labels of roofs.
void label_roof(RoofMark& mark, const Box& plot, const std::vector<Segment>& lines, std::vector<Box>& taken,
                std::vector<Box>& texts, std::size_t first_roof) {
  const Segment& line = *mark.line;
  const double dx = line.x1 - line.x0, dy = line.y1 - line.y0, length = std::hypot(dx, dy);
  const double degrees = std::atan2(dy, dx) * 180 / std::numbers::pi;
  std::vector<Box> obstacles = taken;
  const std::vector<Box> others = around(lines, &line);
  obstacles.insert(obstacles.end(), others.begin(), others.end());
  const std::string value = base::si_text(mark.roof->value, mark.roof->unit_text());
  const std::string whole = mark.is_spec ? mark.roof->name + " spec" : mark.roof->label();
  const std::string brief = mark.is_spec ? whole : mark.roof->name + " " + value;
  // First shorten the label, then let it cross lines, then let it cover dots; only then drop it.
  const std::vector<Box> roofs(texts.begin() + static_cast<std::ptrdiff_t>(first_roof), texts.end());
  const std::array<std::pair<const std::string*, const std::vector<Box>*>, 6> choices = {{{&whole, &obstacles},
                                                                                          {&brief, &obstacles},
                                                                                          {&whole, &taken},
                                                                                          {&brief, &taken},
                                                                                          {&brief, &texts},
                                                                                          {&brief, &roofs}}};
  for (const auto& [text, blocked] : choices) {
    const double width = text_width(*text, kLabelText);
    // A label longer than a level roof begins before it: in a narrow picture, too, the roof has its number.
    const bool is_level = mark.roof->kind == Roof::Kind::Compute;
    const double last = std::max(length - width / 2 - 4, is_level ? width / 2 + 58 : 0);
    for (const double offset : {10.0, -11.0, 26.0, -27.0}) {
      for (double back = width / 2 + 18; back <= last; back += 8) {
        // Label compute roofs at their right end, and slopes at their left end, where they do not share lines.
        const double t = is_level ? 1 - back / length : back / length;
        const double x = line.x0 + t * dx + offset * dy / length, y = line.y0 + t * dy - offset * dx / length;
        std::vector<Box> boxes = slanted(x, y, width, degrees);
        if (!is_free(plot, boxes, *blocked)) continue;
        mark.text = *text;
        mark.text_x = x;
        mark.text_y = y;
        mark.degrees = degrees;
        taken.insert(taken.end(), boxes.begin(), boxes.end());
        texts.insert(texts.end(), boxes.begin(), boxes.end());
        mark.boxes = std::move(boxes);
        return;
      }
    }
  }
}

DotMark dot_mark(const Scale& scale, const Dot& dot, std::size_t at) {
  DotMark mark{.dot = at, .radius = dot_radius(dot.share)};
  const auto place = [&](double x, double y, std::optional<double>& to_x, std::optional<double>& to_y) {
    const double px = scale.x(x), py = scale.y(dot.rail ? y * scale.frame.x0 : y);
    to_x = std::clamp(px, scale.plot.x0, scale.plot.x1);
    to_y = std::clamp(py, scale.plot.y0, scale.plot.y1);
    mark.clipped = mark.clipped || *to_x != px || *to_y != py;
  };
  if (dot.x) place(*dot.x, *dot.y, mark.x, mark.y);
  if (dot.measured_x) place(*dot.measured_x, *dot.measured_y, mark.measured_x, mark.measured_y);
  return mark;
}

// Labels the ends first, then the stars between them where space is left, nearest places first.
std::vector<StarLabel> label_path(const Scale& scale, const std::vector<Star>& stars, std::vector<Box>& taken) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < stars.size(); ++i)
    if (scale.frame.holds(stars[i].x(), stars[i].y())) order.push_back(i);
  if (order.size() > 2) std::rotate(order.begin() + 1, order.end() - 1, order.end());
  std::vector<StarLabel> labels;
  for (const std::size_t i : order) {
    const double x = scale.x(stars[i].x()), y = scale.y(stars[i].y()),
                 half = text_width(stars[i].label, kLabelText) / 2 + 2;
    for (const double far : {0.0, 12.0, 24.0, 40.0}) {
      bool is_placed = false;
      for (const auto& [dx, dy] : {std::pair{0.0, 18.0 + far},
                                   {0.0, -18.0 - far},
                                   {half + 12 + far, 0.0},
                                   {-half - 12 - far, 0.0},
                                   {half + far / 2, 18.0 + far / 2},
                                   {-half - far / 2, -18.0 - far / 2},
                                   {half + far / 2, -18.0 - far / 2},
                                   {-half - far / 2, 18.0 + far / 2}}) {
        const Box box{x + dx - half, y + dy - 8, x + dx + half, y + dy + 8};
        if (!is_free(scale.plot, {box}, taken)) continue;
        taken.push_back(box);
        labels.push_back({stars[i].label, x + dx, y + dy, box});
        is_placed = true;
        break;
      }
      if (is_placed) break;
    }
  }
  return labels;
}

// "8" of "batch=8": with several models there is no space for more.
std::string size_alone(const std::string& label) {
  const std::size_t equals = label.rfind('=');
  return equals == std::string::npos ? label : label.substr(equals + 1);
}

// Places labels beside their arrows, in the middle first.
std::vector<StarLabel> label_changes(const Scale& scale, const Chart& chart, std::vector<Box>& taken) {
  std::vector<StarLabel> labels;
  for (const Change& change : chart.changes) {
    const double x0 = scale.x(change.before_x), y0 = scale.y(change.before_y);
    const double x1 = scale.x(change.after_x), y1 = scale.y(change.after_y);
    const std::string text = gain_text(change);
    const double half = text_width(text, kLabelText) / 2 + 2;
    StarLabel label;
    for (const double part : {0.5, 0.35, 0.65, 0.2, 0.8}) {
      for (const double side : {1.0, -1.0}) {
        const double x = x0 + part * (x1 - x0) + side * (half + 5), y = y0 + part * (y1 - y0);
        const Box box{x - half, y - 8, x + half, y + 8};
        if (!label.text.empty() || !is_free(scale.plot, {box}, taken)) continue;
        label = {text, x, y, box};
        taken.push_back(box);
      }
    }
    labels.push_back(std::move(label));
  }
  return labels;
}

Box box_of(double x, double y, double radius) { return {x - radius, y - radius, x + radius, y + radius}; }

// Places a name to the right or left of its star, clear of stars and other names, and of dots and lines where it can: a
// name across a line can be read, one over dots cannot, and one far from its star seems to be another's.
void place_name(NamePlace& place, const Box& plot, const std::string& name, double x, double y,
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
        const double from = is_left ? x - 14 - width : x + 14;
        const Box box{from, y + drop - 8, from + width, y + drop + 8};
        if (!is_free(plot, {box}, names) || (!is_over_dots && !is_free(plot, {box}, dots)) ||
            (!is_over_lines && !is_free(plot, {box}, lines)))
          continue;
        place = {.drop = drop, .is_left = is_left};
        names.push_back(box);
        return;
      }
    }
  }
  place.is_left = x + 14 + width > plot.x1;
}

}  // namespace

namespace {

// Labels at the right ends of the lines, side by side, so that names of close lines do not overlap.
std::vector<StarLabel> label_machines(const Chart& chart, const Scale& scale) {
  std::vector<StarLabel> labels;
  double right = scale.plot.x1 - 10;
  for (const Machine& machine : chart.machines) {
    StarLabel label;
    const double top =
        chart.is_energy ? (machine.energy ? flops_per_joule(*machine.energy, scale.frame.x1) : 0) : machine.peak;
    if (top >= scale.frame.y0 && top <= scale.frame.y1) {
      label.text = machine.mode.empty() ? machine.label : machine.mode;
      const double width = text_width(label.text, kLabelText);
      label.x = right;
      label.y = scale.y(top) + 13;
      label.box = {right - width, label.y - 11, right, label.y + 4};
      right -= width + 18;
    }
    labels.push_back(std::move(label));
  }
  return labels;
}

// "32" to stand behind "batch=16, "; the whole label if the setting before it is another.
std::string after(const std::string& first, const std::string& label) {
  const std::size_t equals = first.rfind('=');
  const bool is_same = equals != std::string::npos && label.starts_with(first.substr(0, equals + 1));
  return is_same ? label.substr(equals + 1) : label;
}

// Stars that lie on each other share a label: "batch=16, 32, 64", or "batch=1 … 1024" if they are many.
std::vector<Star> labelled_together(const Scale& scale, const std::vector<Star>& stars) {
  constexpr double kOverlap = 13;  // two marks at this distance overlap, so that labels cannot tell them apart
  constexpr std::size_t kMostNames = 3;
  std::vector<Star> result;
  for (std::size_t first = 0; first < stars.size();) {
    std::size_t end = first + 1;
    while (end < stars.size() && std::hypot(scale.x(stars[end].x()) - scale.x(stars[first].x()),
                                            scale.y(stars[end].y()) - scale.y(stars[first].y())) < kOverlap)
      ++end;
    Star together = stars[end - 1];
    if (end - first > kMostNames) {
      together.label = stars[first].label + " … " + after(stars[first].label, stars[end - 1].label);
    } else {
      together.label = stars[first].label;
      for (std::size_t i = first + 1; i < end; ++i) together.label += ", " + after(stars[first].label, stars[i].label);
    }
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
      const Star &from = path.stars[i - 1], &to = path.stars[i];
      if (!scale.frame.holds(from.x(), from.y()) || !scale.frame.holds(to.x(), to.y())) continue;
      lines.push_back({scale.x(from.x()), scale.y(from.y()), scale.x(to.x()), scale.y(to.y())});
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
  if (chart.by_model)
    for (Star& star : stars) star.label = size_alone(star.label);
  stars = labelled_together(layout.scale, stars);
  path.labels = label_path(layout.scale, stars, taken);
}

}  // namespace

double dot_radius(double share) {
  return std::clamp(kLargest * std::sqrt(std::max(0.0, share) / kShareOfLargest), kSmallest, kLargest);
}

std::string gain_text(const Change& change) {
  const double factor = change.before_seconds / change.after_seconds;
  const std::string alike = change.count > 1 ? ", of " + std::to_string(change.count) : "";
  if (factor >= 2 || factor <= 0.5) return plain(factor) + "×" + alike;
  return (factor >= 1 ? "+" : "−") + percent_text(std::abs(factor - 1)) + alike;
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
  Layout layout{.scale = {chart.frame, chart.sheet.plot}};
  const Scale& scale = layout.scale;
  const Roofs& roofs = chart.roofs;
  double top = 0, fastest = 0;
  for (const Roof& roof : roofs.compute)
    if (roof.shown) top = std::max(top, roof.value);
  for (const Roof& roof : roofs.bandwidth) fastest = std::max(fastest, roof.value);
  const auto add = [&](const Roof& roof, bool is_main) {
    RoofMark mark{.roof = &roof, .is_main = is_main};
    mark.line = roof.kind == Roof::Kind::Compute ? flat(scale, roof.value, fastest) : slope(scale, roof.value, top);
    layout.roofs.push_back(std::move(mark));
  };
  for (std::size_t i = 0; i < roofs.compute.size(); ++i) add(roofs.compute[i], i == roofs.main);
  for (std::size_t i = 0; i < roofs.bandwidth.size(); ++i) add(roofs.bandwidth[i], i == 0);

  const double ridge = roofs.ridge(roofs.main), peak = roofs.compute[roofs.main].value;
  if (!chart.is_energy && chart.frame.holds(ridge, peak)) {
    layout.ridge_x = scale.x(ridge);
    layout.ridge_y = scale.y(peak);
  }

  std::vector<Box> taken;
  if (at < chart.series.size()) {
    const Series& series = chart.series[at];
    for (std::size_t i = 0; i < series.dots.size(); ++i) {
      layout.dots.push_back(dot_mark(scale, series.dots[i], i));
      const DotMark& mark = layout.dots.back();
      // Thousands of dots would leave no free place: labels only avoid the first 400, the largest.
      if (i >= 400) continue;
      if (mark.x) taken.push_back(box_of(*mark.x, *mark.y, mark.radius));
      if (mark.measured_x) taken.push_back(box_of(*mark.measured_x, *mark.measured_y, mark.radius));
    }
  }
  const std::vector<Box> dot_boxes = taken;
  layout.machine_labels = label_machines(chart, scale);
  for (const StarLabel& label : layout.machine_labels) taken.push_back(label.box);
  std::vector<Box> star_boxes;
  for (const Series& series : chart.series)
    for (const auto* star : {&series.bound_star, &series.measured_star})
      if (const bool is_path = star == &series.bound_star && is_on_path(chart, series);
          *star && !is_path && chart.frame.holds((*star)->x(), (*star)->y()))
        star_boxes.push_back(box_of(scale.x((*star)->x()), scale.y((*star)->y()), 10));
  taken.insert(taken.end(), star_boxes.begin(), star_boxes.end());
  const std::size_t path_begin = star_boxes.size();
  layout.paths = paths_of(chart, at);
  for (const PathMark& path : layout.paths)
    for (const Star& star : path.stars)
      if (chart.frame.holds(star.x(), star.y())) star_boxes.push_back(box_of(scale.x(star.x()), scale.y(star.y()), 7));
  taken.insert(taken.end(), star_boxes.begin() + static_cast<std::ptrdiff_t>(path_begin), star_boxes.end());
  // Names first: there are more places for a size than for a name.
  std::vector<Box> names = star_boxes;
  for (const StarLabel& label : layout.machine_labels) names.push_back(label.box);
  const std::size_t name_begin = names.size();
  const std::vector<Box> drawn_lines = around(lines_of(layout), nullptr);
  for (const Series& series : chart.series) {
    const Star* star = named_star(chart, series);
    const std::string name = star_name(chart, series);
    layout.star_names.emplace_back();
    if (star == nullptr || name.empty()) continue;
    place_name(layout.star_names.back(), scale.plot, name, scale.x(star->x()), scale.y(star->y()), dot_boxes,
               drawn_lines, names);
  }
  names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(name_begin));
  taken.insert(taken.end(), names.begin(), names.end());
  for (PathMark& path : layout.paths) label_sizes(layout, path, chart, taken);
  layout.change_labels = label_changes(scale, chart, taken);
  std::vector<Segment> lines;
  lines.reserve(layout.roofs.size() + 1);
  for (const RoofMark& mark : layout.roofs)
    if (mark.line && mark.roof->shown) lines.push_back(*mark.line);
  if (layout.ridge_x) {
    // The ridge's own label is at the foot of the drop line.
    const double width = 60;
    taken.push_back({*layout.ridge_x - width, scale.plot.y1 - 42, *layout.ridge_x + width, scale.plot.y1});
  }
  std::vector<Box> roof_texts = names;
  for (const PathMark& path : layout.paths)
    for (const StarLabel& label : path.labels) roof_texts.push_back(label.box);
  for (const StarLabel& label : layout.change_labels)
    if (!label.text.empty()) roof_texts.push_back(label.box);
  const std::size_t first_roof = roof_texts.size();
  std::size_t line = 0;
  for (RoofMark& mark : layout.roofs) {
    if (!mark.line || !mark.roof->shown) continue;
    std::vector<Segment> others = lines;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(line++));
    label_roof(mark, scale.plot, others, taken, roof_texts, first_roof);
  }
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
    const std::optional<double> x = mark.measured_x ? mark.measured_x : mark.x,
                                y = mark.measured_x ? mark.measured_y : mark.y;
    if (!x || dot.aggregate || dot.share <= 0) continue;
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
          const double cx = *x + reach * std::cos(angle) +
                            std::copysign(width / 2, std::cos(angle)) * std::min(1.0, 2 * std::abs(std::cos(angle)));
          const double cy = *y - (reach + kHeightOfText / 2 * std::abs(std::sin(angle))) * std::sin(angle);
          const Box box{cx - width / 2, cy - kHeightOfText / 2, cx + width / 2, cy + kHeightOfText / 2};
          if (!is_free(plot, {box}, blocked) || !is_free(plot, {box}, crossed)) continue;
          LabelMark label{.text = text, .dot = mark.dot, .box = box};
          if (gap > 10) {
            label.has_leader = true;
            label.to_x = std::clamp(*x, box.x0, box.x1);
            label.to_y = std::clamp(*y, box.y0, box.y1);
            const double distance = std::hypot(label.to_x - *x, label.to_y - *y);
            label.from_x = *x + (label.to_x - *x) * mark.radius / std::max(distance, 1.0);
            label.from_y = *y + (label.to_y - *y) * mark.radius / std::max(distance, 1.0);
          }
          if (label.has_leader) {
            // A leader through another label would look like that label's leader.
            const std::vector<Box> leader = around({{label.from_x, label.from_y, label.to_x, label.to_y}}, nullptr);
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
