// The panel beside or below the axes: the meaning of colours and marks, what is not drawn, and sources of the numbers.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "draw/text.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "plot/draw.h"

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
    line(text, kInk, "font-weight='bold'");
  }
  void line(const std::string& text, std::string_view color = kMuted, std::string_view style = {}) {
    svg_.note(left, y_ + 12, fit(text, kSmallText, right - left), color, style);
    y_ += kLine;
  }
  // Wraps between words.
  void paragraph(const std::string& text, std::string_view color, std::size_t most) {
    for (const std::string& row : wrapped(text, kSmallText, right - left, most)) line(row, color);
  }
  // A line beside a mark at the left.
  void entry(const std::string& text, std::string_view style = {}, double scale = 1) {
    svg_.note(left + 18, y_ + 12, fit(text, scale * kSmallText, right - left - 18), kInk, style);
    y_ += kLine;
  }
  void star_entry(bool is_filled, const std::string& text) {
    svg_.note(left + 6, y_ + 13, is_filled ? "★" : "☆", kInk, "text-anchor='middle' font-size='14'");
    entry(text);
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
  svg.open("g id='times'");
  for (const Rung& rung : ladder) {
    svg.note(column.left, column.y() + 12, fit(rung.name, kSmallText, from - 7 - column.left), kInk);
    svg.leaf(
        "rect x='%' y='%' width='%' height='8' fill='%'",
        {from, column.y() + 4, (to - from) * rung.seconds / longest, rung.name == "measured" ? kInk : kPalette[0]});
    svg.note(column.right, column.y() + 12, base::si_seconds(rung.seconds), kInk, kEnd);
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
  svg.open("g class='legend' data-s='%' display='%'", {at, at == 0 ? "" : "none"});
  for (std::size_t i = 0; i <= named; ++i) {
    const TypeTime& type = i < named ? series.types[i] : other;
    if (type.items == 0 || (series.seconds > 0 && !(type.seconds > 0))) continue;
    const std::size_t color = i < named ? i : kColors;
    const double share = series.seconds > 0 ? type.seconds / series.seconds : 0, y = column.y();
    svg.open("g class='type' data-type='%' data-c='%'", {type.type, color});
    svg.leaf("rect class='hit' x='%' y='%' width='%' height='%' fill='none' pointer-events='all'",
             {column.left - 6, y, column.right - column.left + 8, kLine});
    svg.leaf("path class='c%' d='%' fill='%' stroke='#333' stroke-width='0.6'",
             {color, mark_path(color, column.left + 6, y + 8, 5.4), kPalette[color]});
    const std::string name = fit(type.type, kSmallText, column.right - column.left - 76 - bar);
    svg.note(column.left + 18, y + 12, name + " ×" + std::to_string(type.items), kInk);
    svg.leaf("rect class='c%' x='%' y='%' width='%' height='8' fill='%'",
             {color, column.right - 48 - bar * share, y + 4, bar * share, kPalette[color]});
    svg.note(column.right, y + 12, percent_text(share), kInk, kEnd).close();
    column.skip(kLine);
  }
  svg.close();
}

// The meaning of the stars of a chart.
struct Stars {
  bool are_measured = false, are_bounds = false;
  bool have_others = false;  // measured runs of a size that has a better one
  std::string measured = {}, bound = {};
};

Stars stars_of(const Chart& chart) {
  const auto any = [&](auto has) { return std::ranges::any_of(chart.series, has); };
  Stars stars{.are_measured = any([](const Series& s) { return !s.runs.empty() || s.measured_star; }),
              .are_bounds = any([](const Series& s) { return s.bound_star || !s.trajectory.empty(); }),
              .have_others = any([](const Series& s) { return !s.other_runs.empty(); })};
  stars.measured = stars.have_others ? "best measured run of a size" : "measured whole model";
  stars.bound = chart.is_energy ? "by the constants, at least time" : "whole model at its least time";
  return stars;
}

void draw_marks(Svg& svg, Column& column, const Chart& chart) {
  const bool has_measured = std::ranges::any_of(chart.series, [](const Series& s) { return s.has_time(); });
  const bool has_estimate = std::ranges::any_of(chart.series, [](const Series& s) { return s.estimate.has_value(); });
  const double x = column.left + 6;
  if (has_estimate) {
    svg.leaf("circle cx='%' cy='%' r='5' fill='%' fill-opacity='0.18' stroke='%' stroke-width='1.6'",
             {x, column.y() + 8, kPalette[0], kPalette[0]});
    column.entry("estimate: least time");
  }
  if (has_measured) {
    svg.leaf("circle cx='%' cy='%' r='5' fill='%' stroke='#333' stroke-width='0.6'", {x, column.y() + 8, kPalette[0]});
    column.entry("measured, joined to its estimate");
  }
  const bool has_whiskers = std::ranges::any_of(chart.series, [](const Series& series) {
    return std::ranges::any_of(series.dots, [](const Dot& dot) {
      return dot.measured && dot.low_y && dot.high_y && *dot.low_y != *dot.high_y;
    });
  });
  if (has_whiskers) {
    svg.leaf("path d='M% %V%' stroke='#6b7480' stroke-width='1.4'", {x, column.y() + 1, column.y() + 15});
    column.entry("slowest to fastest run");
  }
  // The path begins at the mark's left end, as in draw_levels().
  for (const auto& [place, path, text] : {std::tuple{&Dot::l2_x, "M% %l5 -5l5 5l-5 5Z", "the same at its L2 bytes"},
                                          {&Dot::l1_x, "M% %m0 4h10l-5 -9Z", "the same at its L1 bytes"}}) {
    const bool is_drawn = std::ranges::any_of(chart.series, [place = place](const Series& series) {
      return std::ranges::any_of(series.dots, [place](const Dot& dot) { return (dot.*place).has_value(); });
    });
    if (!is_drawn) continue;
    svg.leaf("path d='%' fill='%' stroke='#333'", {filled(path, {x - 5, column.y() + 8}), kPalette[0]});
    column.entry(text);
  }
  const Stars stars = stars_of(chart);
  if (stars.are_measured && !has_measured) {
    column.star_entry(true, stars.measured);
    if (stars.have_others) column.entry("–  other runs of that size");
    if (stars.are_bounds) column.star_entry(false, stars.bound);
  } else {
    // Bounds are drawn hollow.
    column.star_entry(has_measured, has_estimate && has_measured ? "whole model (filled: measured)" : "whole model");
  }
  double at = column.left + 4;
  const double y = column.y() + 15;
  for (const double share : {0.01, 0.1, 0.3}) {
    const double radius = dot_radius(share);
    at += radius;
    svg.leaf("circle class='ghost' cx='%' cy='%' r='%' fill='none' stroke='%'", {at, y, radius, kMuted});
    at += radius + 4;
    svg.note(at, y + 4, percent_text(share));
    at += text_width(percent_text(share), kSmallText) + 8;
  }
  const std::string what = has_measured ? "of the time" : "of least time";
  const bool has_room = at + text_width(what, kSmallText) <= column.right;
  if (has_room) svg.note(at, y + 4, what);
  column.skip(kLine + 14);
  if (!has_room) column.line(what);
}

void draw_not_drawn(Svg& svg, Column& column, const Series& series, std::size_t at) {
  svg.open("g class='absent' data-s='%' display='%'", {at, at == 0 ? "" : "none"});
  for (std::size_t i = 1; i < kAbsences; ++i) {
    const auto& [items, share] = series.absent[i];
    if (items == 0) continue;
    column.paragraph(std::to_string(items) + " " + std::string(to_string(static_cast<Absence>(i))) +
                         (share > 0 ? ", " + percent_text(share) + " of time" : ""),
                     kMuted, 2);
  }
  if (series.outside > 0)
    column.paragraph(std::to_string(series.outside) + " beyond the frame: ‹ at its edge" +
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
  const ChartEstimate* const estimate = chart.estimate_of(series);
  const std::size_t nodes = estimate == nullptr ? 0 : estimate->nodes.size();
  const bool has_kernels = std::ranges::any_of(series.items, [](const Item& item) { return item.nodes.size() > 1; });
  const auto working = static_cast<std::size_t>(
      std::ranges::count_if(series.items, [](const Item& item) { return item.absence != Absence::NoWork; }));
  std::string text =
      has_kernels ? count_text(working, "kernel", "kernels") + " of " + count_text(nodes, "operator", "operators")
                  : count_text(series.items.size(), "operator", "operators");
  if (series.seconds <= 0 || (estimate != nullptr && !estimate->document().can_run())) return text;
  const auto& star = series.has_time() ? series.measured_star : series.bound_star;
  const bool at_least = estimate != nullptr && estimate->document().totals.partial;
  text += series.has_time()
              ? cat(" · ", series.is_at_least() ? "≥ " : "", base::si_text(series.whole_seconds(), "s"), " measured")
              : std::string(" · at least ") + base::si_text(series.seconds, "s") +
                    (at_least ? " for what is modelled" : "");
  if (const auto& run = series.measured_star; run && !series.has_time())
    text += " · " + base::si_text(run->seconds, "s") + " measured, of which its roofs explain " +
            percent_text(series.seconds / run->seconds);
  if (star) text += " · " + base::si_text(star->y(), "FLOP/s") + " · " + plain(star->x()) + " FLOP/B";
  // Of one series, the headline says what limits it.
  if (chart.series.size() > 1) {
    if (series.has_time() && series.bound_seconds > 0 && !series.is_at_least())
      text += " · " + percent_text(series.bound_seconds / series.whole_seconds()) + " of its roofs";
    text += " · memory-bound for " + percent_text(series.memory_share) + " of the time";
  }
  if (estimate == nullptr) return text;
  if (const auto& roofline = estimate->document().roofline; roofline && roofline->predicted)
    text += " · predicted " + base::si_text(*roofline->predicted->seconds, "s");
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
    svg.leaf("path d='%' fill='%' stroke='#333' stroke-width='0.6'",
             {mark_path(chart.by_model ? i % kColors : 0, column.left + 6, column.y() + 8, 5.4),
              chart.by_model ? series_color(i) : kPath});
    column.entry(is_several ? names.labels[i] : series.label, "font-weight='bold'", kBold);
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

void draw_star_marks(Column& column, const Chart& chart) {
  if (chart.series.empty()) return;
  column.heading("Marks");
  const Stars stars = stars_of(chart);
  if (stars.are_measured) column.star_entry(true, stars.measured);
  if (stars.have_others) column.line("–  other runs of that size", kMuted);
  if (stars.are_bounds) column.star_entry(false, stars.bound);
  // With one model, the labels themselves name the size.
  const auto with =
      std::ranges::find_if(chart.series, [](const Series& s) { return s.trajectory.size() > 1 || s.runs.size() > 1; });
  if (chart.by_model && with != chart.series.end()) {
    const std::string& label = (with->runs.size() > 1 ? with->runs : with->trajectory).front().label;
    column.line("numbers: " + label.substr(0, label.find('=')), kMuted);
  }
}

// The machines whose lines are drawn besides the device's.
void draw_machine_list(Svg& svg, Column& column, const Chart& chart) {
  if (chart.machines.empty()) return;
  column.heading("Dashed");
  for (std::size_t i = 0; i < chart.machines.size(); ++i) {
    const Machine& machine = chart.machines[i];
    if (chart.is_energy && !machine.energy) continue;
    svg.leaf("path d='M% %h14' stroke='%' stroke-width='2' stroke-dasharray='6 2'",
             {column.left, column.y() + 8, kPalette[(i + 1) % kColors]});
    column.entry(machine.label);
    column.line(chart.is_energy
                    ? base::si_text(peak_flops_per_joule(*machine.energy), "FLOP/J") + " at best"
                    : base::si_text(machine.peak, "FLOP/s") + ", " + base::si_text(machine.bandwidth, "B/s"));
  }
}

// Measured roofs beside what the vendor states: the margin has no room for both.
void draw_stated(Column& column, const Chart& chart) {
  bool has_heading = false;
  for (const std::vector<Roof>* roofs : {&chart.roofs.compute, &chart.roofs.bandwidth})
    for (const Roof& roof : *roofs) {
      if (!roof.shown || !roof.spec || chart.is_energy) continue;
      if (!std::exchange(has_heading, true)) column.heading("Measured, of the vendor's figure");
      column.line(roof.name + ": " + percent_text(roof.value / *roof.spec) + " of " +
                  base::si_text(*roof.spec, roof.unit_text()));
    }
}

}  // namespace

double draw_panel(Svg& svg, const Chart& chart) {
  svg.open("g id='panel'");
  Box box = chart.sheet.panel, marks_box = box;
  if (chart.sheet.is_column) {
    if (const std::string text = sentence_of(chart); !text.empty()) {
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
    draw_star_marks(marks, chart);
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
    const std::size_t hidden = static_cast<std::size_t>(
        std::ranges::count_if(chart.roofs.compute, [](const Roof& roof) { return !roof.shown; }));
    if (hidden > 0) column.paragraph(count_text(hidden, "roof", "roofs") + " that no operator runs under", kMuted, 2);
  }
  draw_machine_list(svg, marks, chart);
  draw_stated(marks, chart);
  for (const MemoryLevel& level : chart.device.levels)
    if (!chart.is_energy && !level.bytes_per_second.known())
      marks.line(level_name(level.level) + " roof: rate not known");
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
  svg.open("g id='footer' class='muted' fill='%'", {kMuted});
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
