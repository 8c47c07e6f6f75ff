// The panel beside or below the axes: the meaning of colours and marks, what is not drawn, and sources of the numbers.
#include <algorithm>
#include <cmath>

#include "pagoda/base/text.h"
#include "plot/draw.h"
#include "plot/text.h"
#include "plot/verdict.h"

namespace pagoda::present::plot {
namespace {

constexpr double kLine = 18;

// A column of text lines within a box.
class Column {
 public:
  Column(Svg& svg, const Box& box, double y) : left(box.x0), right(box.x1), svg_(svg), bottom_(box.y1), y_(y) {}

  const double left, right;

  void heading(const std::string& text) {
    y_ += 8;
    line(text, kInk, "bold");
  }
  void line(const std::string& text, std::string_view color = kMuted, const char* weight = "") {
    svg_.text(left, y_ + 12, fit(text, kSmallText, right - left),
              {{"class", color == kInk    ? "ink"
                         : color == kWarn ? "warn"
                                          : "muted"},
               {"font-weight", weight},
               {"fill", std::string(color)}});
    y_ += kLine;
  }
  // Wraps between words.
  void paragraph(const std::string& text, std::string_view color, std::size_t most) {
    for (const std::string& row : wrapped(text, kSmallText, right - left, most)) line(row, color);
  }
  double y() const { return y_; }
  void skip(double pixels) { y_ += pixels; }
  bool has_room(double lines) const { return y_ + lines * kLine <= bottom_; }

 private:
  Svg& svg_;
  double bottom_, y_;
};

// The times of the verdict on one linear scale.
void draw_ladder(Svg& svg, Column& column, const Chart& chart) {
  const std::optional<Verdict> verdict = verdict_of(chart);
  const std::vector<Rung> ladder = verdict ? verdict->ladder : ladder_of(chart);
  if (ladder.size() < 2) return;
  double longest = 0, name_width = 0;
  for (const Rung& rung : ladder) {
    longest = std::max(longest, rung.seconds);
    name_width = std::max(name_width, text_width(rung.name, kSmallText));
  }
  const double time_width = 58, from = column.left + std::min(name_width, 0.4 * (column.right - column.left)) + 8,
               to = column.right - time_width;
  column.heading("Times");
  svg.open("g", {{"id", "times"}});
  for (const Rung& rung : ladder) {
    svg.text(column.left, column.y() + 12, fit(rung.name, kSmallText, from - 7 - column.left),
             {{"class", "ink"}, {"fill", std::string(kInk)}});
    svg.leaf("rect", {{"x", px(from)},
                      {"y", px(column.y() + 4)},
                      {"width", px((to - from) * rung.seconds / longest)},
                      {"height", "8"},
                      {"fill", std::string(rung.name == "measured" ? kInk : kPalette[0])}});
    svg.text(column.right, column.y() + 12, base::si_seconds(rung.seconds),
             {{"class", "ink"}, {"text-anchor", "end"}, {"fill", std::string(kInk)}});
    column.skip(kLine);
  }
  svg.close();
}

void draw_types(Svg& svg, Column& column, const Series& series, std::size_t at) {
  const std::size_t named = std::min(kColors, series.types.size());
  TypeTime other{.type = "other"};
  for (std::size_t i = named; i < series.types.size(); ++i) {
    other.items += series.types[i].items;
    other.seconds += series.types[i].seconds;
  }
  const double bar = column.right - column.left < 200 ? 24 : 40;  // length for 100 % of the time
  svg.open("g", {{"class", "legend"}, {"data-s", std::to_string(at)}, {"display", at == 0 ? "" : "none"}});
  for (std::size_t i = 0; i <= named; ++i) {
    const TypeTime& type = i < named ? series.types[i] : other;
    if (type.items == 0) continue;
    const std::size_t color = i < named ? i : kColors;
    const double share = series.seconds > 0 ? type.seconds / series.seconds : 0, y = column.y();
    svg.open("g", {{"class", "type"}, {"data-type", type.type}, {"data-c", std::to_string(color)}});
    svg.leaf("rect", {{"class", "hit"},
                      {"x", px(column.left - 6)},
                      {"y", px(y)},
                      {"width", px(column.right - column.left + 8)},
                      {"height", px(kLine)},
                      {"fill", "none"},
                      {"pointer-events", "all"}});
    svg.leaf("path", {{"class", "c" + std::to_string(color)},
                      {"d", mark_path(color, column.left + 6, y + 8, 5.4)},
                      {"fill", std::string(kPalette[color])},
                      {"stroke", "#333"},
                      {"stroke-width", "0.6"}});
    svg.text(column.left + 18, y + 12, fit(type.type, kSmallText, column.right - column.left - 76 - bar) + " ×" + std::to_string(type.items),
             {{"class", "ink"}, {"fill", std::string(kInk)}});
    svg.leaf("rect", {{"class", "c" + std::to_string(color)},
                      {"x", px(column.right - 48 - bar * share)},
                      {"y", px(y + 4)},
                      {"width", px(bar * share)},
                      {"height", "8"},
                      {"fill", std::string(kPalette[color])}});
    svg.text(column.right, y + 12, percent_text(share),
             {{"class", "ink"}, {"text-anchor", "end"}, {"fill", std::string(kInk)}});
    svg.close();
    column.skip(kLine);
  }
  svg.close();
}

bool has_whiskers(const Series& series) {
  return std::any_of(series.dots.begin(), series.dots.end(), [](const Dot& dot) {
    return dot.measured_x && dot.low_y && dot.high_y && *dot.low_y != *dot.high_y;
  });
}

// What the stars of a chart are.
struct Stars {
  bool are_measured = false, are_bounds = false;
  bool have_others = false;  // measured runs of a size that has a better one
  std::string measured = {}, bound = {};
};

Stars stars_of(const Chart& chart) {
  const auto any = [&](auto has) { return std::any_of(chart.series.begin(), chart.series.end(), has); };
  Stars stars{.are_measured = any([](const Series& s) { return !s.runs.empty() || s.measured_star; }),
              .are_bounds = any([](const Series& s) { return s.bound_star || !s.trajectory.empty(); }),
              .have_others = any([](const Series& s) { return !s.other_runs.empty(); })};
  stars.measured = stars.have_others ? "best measured run of a size" : "measured whole model";
  stars.bound = chart.is_energy ? "by the constants, at least time" : "whole model at its least time";
  return stars;
}

void draw_marks(Svg& svg, Column& column, const Chart& chart) {
  const bool has_measured =
      std::any_of(chart.series.begin(), chart.series.end(), [](const Series& s) { return s.has_time(); });
  const bool has_estimate =
      std::any_of(chart.series.begin(), chart.series.end(), [](const Series& s) { return s.estimate.has_value(); });
  const auto row = [&](const std::string& text) {
    svg.text(column.left + 18, column.y() + 12, fit(text, kSmallText, column.right - column.left - 18),
             {{"class", "ink"}, {"fill", std::string(kInk)}});
    column.skip(kLine);
  };
  const double x = column.left + 6;
  if (has_estimate) {
    svg.leaf("circle", {{"cx", px(x)},
                        {"cy", px(column.y() + 8)},
                        {"r", "5"},
                        {"fill", "#0072B2"},
                        {"fill-opacity", "0.18"},
                        {"stroke", "#0072B2"},
                        {"stroke-width", "1.6"}});
    row("estimate: least time");
  }
  if (has_measured) {
    svg.leaf("circle", {{"cx", px(x)},
                        {"cy", px(column.y() + 8)},
                        {"r", "5"},
                        {"fill", "#0072B2"},
                        {"stroke", "#333"},
                        {"stroke-width", "0.6"}});
    row("measured, joined to its estimate");
  }
  if (std::any_of(chart.series.begin(), chart.series.end(), has_whiskers)) {
    svg.leaf("path", {{"d", "M" + px(x) + " " + px(column.y() + 1) + "V" + px(column.y() + 15)},
                      {"stroke", "#6b7480"},
                      {"stroke-width", "1.4"}});
    row("slowest to fastest run");
  }
  const auto star = [&](const char* mark, const std::string& text) {
    svg.text(x, column.y() + 13, mark,
             {{"class", "ink"}, {"text-anchor", "middle"}, {"font-size", "14"}, {"fill", std::string(kInk)}});
    row(text);
  };
  const Stars stars = stars_of(chart);
  if (stars.are_measured && !has_measured) {
    star("★", stars.measured);
    if (stars.have_others) row("–  other runs of that size");
    if (stars.are_bounds) star("☆", stars.bound);
  } else {
    // Bounds are drawn hollow.
    star(has_measured ? "★" : "☆", has_estimate && has_measured ? "whole model (filled: measured)" : "whole model");
  }
  double at = column.left + 4;
  const double y = column.y() + 12;
  for (const double share : {0.01, 0.05, 0.25}) {
    const double radius = dot_radius(share);
    at += radius;
    svg.leaf("circle", {{"class", "ghost"},
                        {"cx", px(at)},
                        {"cy", px(y)},
                        {"r", px(radius)},
                        {"fill", "none"},
                        {"stroke", "#59636e"}});
    at += radius + 4;
    svg.text(at, y + 4, percent_text(share), {{"class", "muted"}, {"fill", std::string(kMuted)}});
    at += text_width(percent_text(share), kSmallText) + 8;
  }
  const std::string what = has_measured ? "of the time" : "of least time";
  const bool has_room = at + text_width(what, kSmallText) <= column.right;
  if (has_room) svg.text(at, y + 4, what, {{"class", "muted"}, {"fill", std::string(kMuted)}});
  column.skip(kLine + 10);
  if (!has_room) column.line(what);
}

void draw_not_drawn(Svg& svg, Column& column, const Series& series, std::size_t at) {
  svg.open("g", {{"class", "absent"}, {"data-s", std::to_string(at)}, {"display", at == 0 ? "" : "none"}});
  for (std::size_t i = 1; i < kAbsences; ++i) {
    const auto& [items, share] = series.absent[i];
    if (items == 0) continue;
    column.paragraph(std::to_string(items) + " " + std::string(to_string(static_cast<Absence>(i))) +
                         (share > 0 ? ", " + percent_text(share) + " of time" : ""),
                     kMuted, 2);
  }
  if (series.outside > 0)
    column.paragraph(std::to_string(series.outside) + " beyond the frame, at its edge" +
                         (series.outside_share > 0 ? ", " + percent_text(series.outside_share) : ""),
                     kMuted, 2);
  std::size_t joined = 0;
  for (const Dot& dot : series.dots) joined += dot.aggregate ? dot.items.size() : 0;
  if (joined > 0) column.line(std::to_string(joined) + " lightest joined into dashed dots");
  svg.close();
}

}  // namespace

std::string summary(const Chart& chart) {
  std::size_t runs = 0;
  double best = 0;
  for (const Series& series : chart.series)
    for (const std::vector<Star>* stars : {&series.runs, &series.other_runs}) {
      runs += stars->size();
      for (const Star& star : *stars) best = std::max(best, star.y());
    }
  std::string text = count_text(chart.series.size(), "model", "models");
  if (runs > 0)
    text += " · " + count_text(runs, "measured run", "measured runs") + " · at most " +
            base::si_text(best, chart.is_energy ? "FLOP/J" : "FLOP/s");
  if (chart.is_energy && chart.energy->model)
    text += " · best of the machine " + base::si_text(peak_flops_per_joule(*chart.energy->model), "FLOP/J");
  return text;
}

std::string summary(const Chart& chart, const Series& series) {
  const std::size_t nodes = series.estimate ? chart.estimates[*series.estimate].nodes().size() : 0;
  const bool has_kernels =
      std::any_of(series.items.begin(), series.items.end(), [](const Item& item) { return item.nodes.size() > 1; });
  std::string text = has_kernels ? count_text(series.items.size(), "kernel", "kernels") + " of " +
                                       count_text(nodes, "operator", "operators")
                                 : count_text(series.items.size(), "operator", "operators");
  if (series.seconds <= 0) return text;
  const auto& star = series.has_time() ? series.measured_star : series.bound_star;
  const bool at_least = series.estimate && chart.estimates[*series.estimate].document.totals.partial;
  text += series.has_time() ? " · " + base::si_text(series.whole_seconds(), "s") + " measured"
                            : std::string(" · at least ") + base::si_text(series.seconds, "s") +
                                  (at_least ? " for what is modelled" : "");
  if (const auto& run = series.measured_star; run && !series.has_time())
    text += " · " + base::si_text(run->seconds, "s") + " measured, of which its roofs explain " +
            percent_text(series.seconds / run->seconds);
  if (star) text += " · " + base::si_text(star->y(), "FLOP/s") + " · " + plain(star->x()) + " FLOP/B";
  if (series.has_time() && series.bound_seconds > 0)
    text += " · " + percent_text(series.bound_seconds / series.whole_seconds()) + " of its roofs";
  const bool is_latency = series.latency_share > series.memory_share;
  text += " · " + percent_text(is_latency ? series.latency_share : series.memory_share) + " of the time " +
          (is_latency ? "latency" : "memory") + "-bound";
  if (series.estimate) {
    const auto& roofline = chart.estimates[*series.estimate].document.roofline;
    if (roofline && roofline->predicted) text += " · predicted " + base::si_text(roofline->predicted->seconds, "s");
  }
  return text;
}

namespace {

void draw_models(Svg& svg, Column& column, const Chart& chart) {
  if (chart.series.empty()) return;
  column.heading(chart.by_model ? "Models" : "Model");
  const bool is_several = chart.series.size() > 1;
  const ShortLabels names = short_labels(chart);
  if (is_several && !names.common.empty()) column.line("all: " + names.common.substr(2), kMuted);
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    svg.leaf("path", {{"d", mark_path(chart.by_model ? i % kColors : 0, column.left + 6, column.y() + 8, 5.4)},
                      {"fill", std::string(chart.by_model ? series_color(i) : kPath)},
                      {"stroke", "#333"},
                      {"stroke-width", "0.6"}});
    svg.text(column.left + 18, column.y() + 12,
             fit(is_several ? names.labels[i] : series.label, 1.15 * kSmallText, column.right - column.left - 18),
             {{"class", "ink"}, {"font-weight", "bold"}, {"fill", std::string(kInk)}});
    column.skip(kLine);
    column.paragraph(reach_text(chart, series), kMuted, 2);
  }
  if (!chart.is_energy)
    column.paragraph("% of " + chart.roofs.compute[chart.roofs.main].name + " and " +
                         chart.roofs.bandwidth.front().name + " at its FLOP/B",
                     kMuted, 3);
  else if (chart.energy->model)
    column.paragraph("% of the arch at its FLOP/B", kMuted, 2);
}

void draw_constants(Column& column, const Chart& chart) {
  if (!chart.energy->model) return;
  const EnergyModel& model = *chart.energy->model;
  column.heading("Constants");
  column.line(base::si_text(model.joules_per_flop, "J/FLOP") + " of work");
  column.line(base::si_text(model.joules_per_byte, "J/B") + " of traffic");
  column.line(base::si_text(model.constant_watts, "W") + " while anything runs");
  column.paragraph(chart.energy->source, kMuted, 3);
  column.line(race_to_halt(model) ? "finishing early saves energy" : "a slower run can save energy");
}

void draw_star_marks(Svg& svg, Column& column, const Chart& chart) {
  if (chart.series.empty()) return;
  column.heading("Marks");
  const auto row = [&](bool is_filled, const std::string& text) {
    svg.text(column.left + 6, column.y() + 13, is_filled ? "★" : "☆",
             {{"class", "ink"}, {"text-anchor", "middle"}, {"font-size", "14"}, {"fill", std::string(kInk)}});
    svg.text(column.left + 18, column.y() + 12, text, {{"class", "ink"}, {"fill", std::string(kInk)}});
    column.skip(kLine);
  };
  const Stars stars = stars_of(chart);
  if (stars.are_measured) row(true, stars.measured);
  if (stars.have_others) column.line("–  other runs of that size", kMuted);
  if (stars.are_bounds) row(false, stars.bound);
  // With one model, the labels themselves name the size.
  const auto with = std::find_if(chart.series.begin(), chart.series.end(), [](const Series& s) {
    return s.trajectory.size() > 1 || s.runs.size() > 1;
  });
  if (chart.by_model && with != chart.series.end()) {
    const std::string& label = (with->runs.size() > 1 ? with->runs : with->trajectory).front().label;
    column.line("numbers: " + label.substr(0, label.find('=')), kMuted);
  }
}

}  // namespace

namespace {

// The machines whose lines are drawn besides the device's.
void draw_machine_list(Svg& svg, Column& column, const Chart& chart) {
  if (chart.machines.empty()) return;
  column.heading("Dashed");
  for (std::size_t i = 0; i < chart.machines.size(); ++i) {
    const Machine& machine = chart.machines[i];
    if (chart.is_energy && !machine.energy) continue;
    svg.leaf("path", {{"d", "M" + px(column.left) + " " + px(column.y() + 8) + "h14"},
                      {"stroke", std::string(kPalette[(i + 1) % kColors])},
                      {"stroke-width", "2"},
                      {"stroke-dasharray", "6 2"}});
    svg.text(column.left + 18, column.y() + 12, fit(machine.label, kSmallText, column.right - column.left - 18),
             {{"class", "ink"}, {"fill", std::string(kInk)}});
    column.skip(kLine);
    column.line(chart.is_energy ? base::si_text(peak_flops_per_joule(*machine.energy), "FLOP/J") + " at best"
                                : base::si_text(machine.peak, "FLOP/s") + ", " + base::si_text(machine.bandwidth, "B/s"));
  }
}

}  // namespace

double draw_panel(Svg& svg, const Chart& chart) {
  svg.open("g", {{"id", "panel"}});
  Box box = chart.sheet.panel, marks_box = box;
  if (chart.sheet.is_column) {
    if (const std::string text = says(chart); !text.empty()) {
      Column words(svg, box, box.y0);
      words.paragraph(text, kInk, 8);
      box.y0 = marks_box.y0 = words.y();
    }
    box.x1 = (box.x0 + box.x1) / 2 - 8;
    marks_box.x0 = box.x1 + 16;
  }
  // Coloured marks and all other marks: one below the other, or side by side on a column sheet.
  Column column(svg, box, box.y0), beside(svg, marks_box, marks_box.y0);
  Column& marks = chart.sheet.is_column ? beside : column;
  const bool is_of_models = chart.is_energy || chart.by_model;
  if (is_of_models) {
    if (chart.is_energy) draw_constants(marks, chart);
    draw_models(svg, column, chart);
    draw_star_marks(svg, marks, chart);
  } else if (!chart.series.empty()) {
    // Each series has its own rows; the page shows those of one series.
    const auto each = [&](Column& into, auto draw) {
      double bottom = into.y();
      for (std::size_t i = 0; i < chart.series.size(); ++i) {
        Column own(svg, {into.left, 0, into.right, INFINITY}, into.y());
        draw(svg, own, chart.series[i], i);
        bottom = std::max(bottom, own.y());
      }
      into.skip(bottom - into.y());
    };
    draw_ladder(svg, column, chart);
    column.heading(chart.series.front().has_time() ? "Share of measured time" : "Share of least time");
    each(column, draw_types);
    marks.heading("Marks");
    draw_marks(svg, marks, chart);
    column.heading("Not drawn as dots");
    each(column, draw_not_drawn);
    const std::size_t hidden = static_cast<std::size_t>(std::count_if(
        chart.roofs.compute.begin(), chart.roofs.compute.end(), [](const Roof& roof) { return !roof.shown; }));
    if (hidden > 0) column.paragraph(count_text(hidden, "roof", "roofs") + " that no operator runs under", kMuted, 2);
  }
  draw_machine_list(svg, marks, chart);
  for (const MemoryLevel& level : chart.device.levels)
    if (!chart.is_energy && !level.bytes_per_second.known()) marks.line(level_name(level.level) + " roof: rate not known");
  if (!chart.warnings.empty() && marks.has_room(3)) {
    marks.heading("Check");
    for (const std::string& warning : chart.warnings)
      if (marks.has_room(2)) marks.paragraph(warning, kWarn, 6);
  }
  svg.close();
  return std::max(column.y(), marks.y());
}

double draw_footer(Svg& svg, const Chart& chart, double top) {
  const Sheet& sheet = chart.sheet;
  const double left = sheet.is_column ? sheet.panel.x0 : sheet.plot.x0, right = sheet.panel.x1;
  std::string row;
  double y = top + 12;
  svg.open("g", {{"id", "footer"}, {"class", "muted"}, {"fill", std::string(kMuted)}});
  const auto flush = [&] {
    if (row.empty() || (!sheet.is_column && y > sheet.height - 8)) return;
    svg.text(left, y, fit(row, kSmallText, right - left));
    y += 17;
    row.clear();
  };
  for (const auto& [key, value] : chart.provenance) {
    const std::string fact = key + ": " + value, longer = row.empty() ? fact : row + "  ·  " + fact;
    if (!row.empty() && text_width(longer, kSmallText) > right - left) flush();
    row = row.empty() ? fact : row + "  ·  " + fact;
  }
  flush();
  svg.close();
  return y;
}

}  // namespace pagoda::present::plot
