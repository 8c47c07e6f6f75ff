// The roofline as text, for a shell without a browser.
#include <algorithm>
#include <cmath>
#include <utility>

#include "draw/text.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "plot/draw.h"
#include "report/rows.h"

namespace pagoda::present::plot {
namespace {

constexpr int kLeft = 8;  // columns for the ticks of the y axis
constexpr std::array<int, kColors + 1> kAnsi = {34, 33, 32, 31, 35, 36, 90};

struct Cell {
  std::string text = " ";
  int color = 0;  // SGR code; 0: none
};

class Canvas {
 public:
  Canvas(const Frame& frame, int columns, int lines)
      : frame_(frame),
        columns_(columns),
        cells_(static_cast<std::size_t>(lines), std::vector<Cell>(static_cast<std::size_t>(columns))) {}

  int column(double x) const {
    return static_cast<int>(std::lround((columns_ - 1) * std::log(x / frame_.x0) / std::log(frame_.x1 / frame_.x0)));
  }
  int line(double y) const {
    const double last = static_cast<double>(cells_.size()) - 1;
    return static_cast<int>(std::lround(last * (1 - std::log(y / frame_.y0) / std::log(frame_.y1 / frame_.y0))));
  }
  double x_of(double column) const { return frame_.x0 * std::pow(frame_.x1 / frame_.x0, column / (columns_ - 1)); }

  void put(int column, int line, const std::string& text, int color = 0) {
    if (Cell* const cell = at(column, line)) *cell = {text, color};
  }
  void write(int column, int line, const std::string& text, int color = 0) {
    for (std::size_t i = 0; i < text.size(); ++column) {
      const std::size_t start = i;
      base::next_code_point(text, i);
      put(column, line, text.substr(start, i - start), color);
    }
  }
  bool is_empty(int column, int line, int width) {
    for (int i = 0; i < width; ++i)
      if (const Cell* const cell = at(column + i, line); cell == nullptr || cell->text != " ") return false;
    return true;
  }
  std::string row(int line, bool color) const {
    std::string text;
    int now = 0;
    for (const Cell& cell : cells_[static_cast<std::size_t>(line)]) {
      if (color && cell.color != now) text += "\x1b[" + std::to_string(now = cell.color) + "m";
      text += cell.text;
    }
    if (color && now != 0) text += "\x1b[0m";
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
  }

 private:
  Cell* at(int column, int line) {  // null outside
    if (column < 0 || column >= columns_ || line < 0 || line >= static_cast<int>(cells_.size())) return nullptr;
    return &cells_[static_cast<std::size_t>(line)][static_cast<std::size_t>(column)];
  }

  Frame frame_;
  int columns_;
  std::vector<std::vector<Cell>> cells_;
};

void draw_roofs(Canvas& canvas, const Chart& chart, int columns, int lines) {
  double top = 0;
  for (const Roof& roof : chart.roofs.compute)
    if (roof.shown) top = std::max(top, roof.value);
  for (const Roof& roof : chart.roofs.bandwidth) {
    const bool is_main = &roof == &chart.roofs.bandwidth.front();
    if (!is_main && !roof.shown) continue;
    for (int i = 0; i < columns; ++i) {
      const double y = canvas.x_of(i) * roof.value;
      if (y <= top && y >= chart.frame.y0) canvas.put(i, canvas.line(y), is_main ? "╱" : "·", 90);
    }
  }
  for (std::size_t i = 0; i < chart.roofs.compute.size(); ++i) {
    const Roof& roof = chart.roofs.compute[i];
    if (!roof.shown) continue;
    const int from = std::max(0, canvas.column(roof.value / chart.roofs.bandwidth.front().value));
    for (int at = from; at < columns; ++at)
      canvas.put(at, canvas.line(roof.value), chart.roofs.has_main && i == chart.roofs.main ? "─" : "╌", 90);
  }
  // Names in a second pass, so that no line crosses them.
  for (const Roof& roof : chart.roofs.compute) {
    if (!roof.shown) continue;
    const std::string name = roof.name + " " + base::si_text(roof.value, roof.unit_text());
    const int width = static_cast<int>(base::display_width(name));
    for (const int line : {canvas.line(roof.value) - 1, canvas.line(roof.value) + 1})
      if (canvas.is_empty(columns - width - 1, line, width + 1)) {
        canvas.write(columns - width, line, name);
        break;
      }
  }
  const Roof& dram = chart.roofs.bandwidth.front();
  const std::string name = dram.name + " " + base::si_text(dram.value, "B/s");
  for (int line = lines - 2; line > 1; --line) {
    const double y = chart.frame.y0 * std::pow(chart.frame.y1 / chart.frame.y0, 1 - line / (lines - 1.0));
    const int width = static_cast<int>(base::display_width(name)), column = canvas.column(y / dram.value) - width - 2;
    if (!canvas.is_empty(column, line, width)) continue;
    canvas.write(column, line, name);
    break;
  }
}

// Number of rows in the table below the picture; each has a letter.
std::size_t listed(const Chart& chart, const Series& series) {
  return std::min({chart.options.labels, series.dots.size(), std::size_t{26}});
}
std::string letter(std::size_t row) { return std::string(1, static_cast<char>('a' + row)); }

void draw_dots(Canvas& canvas, const Chart& chart, const Series& series, int lines) {
  // Rows without FLOPs: a column at the left edge, whose height is the whole time.
  double below = 0;
  for (const Dot& dot : series.dots) {
    if (!dot.rail) continue;
    const double before = std::exchange(below, below + dot.share);
    for (long at = std::lround(before * lines); at < std::lround(below * lines); ++at)
      canvas.put(0, lines - 1 - static_cast<int>(at), "█", kAnsi[dot.color]);
    if (before == 0 && below > 0 && std::lround(below * lines) == 0) canvas.put(0, lines - 1, "▁", kAnsi[dot.color]);
  }
  // Least time first, so that dots with more time stay visible.
  for (std::size_t i = series.dots.size(); i-- > 0;) {
    const Dot& dot = series.dots[i];
    if (dot.rail) continue;
    const auto put = [&](const std::optional<Point>& at, const char* large, const char* small) {
      if (!at) return;
      const double px = std::clamp(at->x, chart.frame.x0, chart.frame.x1);
      const double py = std::clamp(at->y, chart.frame.y0, chart.frame.y1);
      canvas.put(canvas.column(px), canvas.line(py), dot.share >= 0.01 ? large : small, kAnsi[dot.color]);
    };
    put(dot.estimated, "○", "∘");
    put(dot.measured, "●", "•");
  }
  // The rows of the table, marked by their letters.
  for (std::size_t i = std::min(listed(chart, series), series.dots.size()); i-- > 0;) {
    const Dot& dot = series.dots[i];
    const std::optional<Point>& at = dot.place();
    if (at && !dot.rail && chart.frame.holds(*at))
      canvas.put(canvas.column(at->x), canvas.line(at->y), letter(i), kAnsi[dot.color]);
  }
  for (const auto& star : {series.bound_star, series.measured_star})
    if (star && chart.frame.holds(star->place())) canvas.put(canvas.column(star->x()), canvas.line(star->y()), "★", 1);
}

std::string time_text(const Series& series, const Dot& dot) {
  const bool is_least = std::ranges::any_of(dot.items, [&](std::size_t i) { return series.items[i].at_least; });
  return cat(is_least ? "≥ " : "", base::si_text(dot.seconds, "s"));
}

std::string share_of_roof(const Series& series, const Dot& dot) {
  double bound = 0, seconds = 0;
  for (const std::size_t i : dot.items) {
    if (!series.items[i].roof_share()) return "–";
    bound += *series.items[i].bound_seconds;
    seconds += *series.items[i].seconds;
  }
  return percent_text(bound / seconds);
}

std::string broken_lines(const std::string& text, int columns) {
  return base::joined(report::wrapped(text, static_cast<std::size_t>(columns)), "\n") + "\n";
}

// The times of the verdict as bars on one linear scale.
std::string ladder_text(const std::vector<Rung>& ladder, std::size_t columns) {
  if (ladder.size() < 2) return "";
  double longest = 0;
  std::size_t widest = 0;
  for (const Rung& rung : ladder) {
    longest = std::max(longest, rung.seconds);
    widest = std::max(widest, base::display_width(rung.name));
  }
  widest = std::min(widest, columns / 3);
  const std::size_t length = std::min<std::size_t>(40, columns > widest + 12 ? columns - widest - 12 : 1);
  std::string text;
  for (const Rung& rung : ladder) {
    const std::string name = base::elide(rung.name, widest);
    text += name + std::string(widest - std::min(widest, base::display_width(name)) + 2, ' ');
    const auto blocks = static_cast<std::size_t>(std::lround(static_cast<double>(length) * rung.seconds / longest));
    for (std::size_t i = 0; i < std::max<std::size_t>(1, blocks); ++i) text += blocks == 0 ? "▏" : "█";
    text += " " + report::time_text(rung) + "\n";
  }
  return text;
}

std::string table(const Chart& chart, const Series& series) {
  base::Grid grid;
  grid.columns = {{""},           {"operator", false, 0, 12}, {"type"},         {"count", true},    {"% time", true},
                  {"time", true}, {"FLOP/B", true, 1},        {"FLOP/s", true}, {"limit", false, 2}};
  if (series.has_time()) grid.columns.push_back({"% roof", true});
  const std::size_t count = listed(chart, series);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(series.dots[i].name);
  // Names get the width that the other columns leave.
  const std::size_t taken = series.has_time() ? 72 : 62, width = static_cast<std::size_t>(chart.options.columns);
  names = short_names(names, std::clamp<std::size_t>(width > taken ? width - taken : 0, 16, 44));
  for (std::size_t i = 0; i < count; ++i) {
    const Dot& dot = series.dots[i];
    const Item& item = series.items[dot.items.front()];
    const std::optional<Point>& at = dot.place();
    const bool is_timed = dot.seconds > 0 || !series.has_time();
    std::vector<std::string> row = {letter(i),
                                    names[i],
                                    base::elide(dot.type, 24),
                                    std::to_string(dot.items.size()),
                                    is_timed ? percent_text(dot.share) : "–",
                                    is_timed ? time_text(series, dot) : "–",
                                    dot.rail || !at ? "–" : plain(at->x),
                                    dot.rail || !at ? "–" : base::si_text(at->y, ""),
                                    std::string(to_string(item.limit))};
    if (series.has_time()) row.push_back(share_of_roof(series, dot));
    grid.rows.push_back(std::move(row));
  }
  return base::aligned(grid, width);
}

}  // namespace

std::string chart_text(const Chart& chart) {
  const int columns = std::max(20, chart.options.columns - kLeft - 2), lines = chart.options.lines;
  Canvas canvas(chart.frame, columns, lines);
  draw_roofs(canvas, chart, columns, lines);
  if (!chart.series.empty()) draw_dots(canvas, chart, chart.series.front(), lines);
  const auto columns_of_text = static_cast<std::size_t>(chart.options.columns);
  const std::optional<Verdict> verdict = verdict_of(chart);
  std::string text;
  if (verdict) {
    text += broken_lines(
        cat(verdict->model, " ", before_machine(chart), " ", verdict->device, " · ", verdict->headline(" · ")),
        chart.options.columns);
    for (const report::Action& action : verdict->actions)
      text += base::elide("- " + action.sentence(), columns_of_text) + "\n";
    text += ladder_text(verdict->ladder, columns_of_text);
  } else {
    text += base::elide(chart.title, columns_of_text) + "\n";
  }
  for (const Series& series : chart.series)
    text += broken_lines((chart.series.size() > 1 ? series.label + ": " : "") + summary(chart, series),
                         chart.options.columns);
  int next = static_cast<int>(std::floor(std::log10(chart.frame.y1) + 1e-9));
  for (int line = 0; line < lines; ++line) {
    std::string tick;
    if (next >= static_cast<int>(std::ceil(std::log10(chart.frame.y0) - 1e-9)) &&
        canvas.line(std::pow(10.0, next)) == line)
      tick = decade(next--);
    text += std::string(static_cast<std::size_t>(kLeft) - std::min<std::size_t>(kLeft, tick.size()), ' ') + tick +
            (tick.empty() ? " │" : " ┤") + canvas.row(line, chart.options.color) + "\n";
  }
  std::string axis, ticks;
  for (int exponent = static_cast<int>(std::ceil(std::log10(chart.frame.x0) - 1e-9));
       exponent <= std::log10(chart.frame.x1) + 1e-9; ++exponent) {
    const int at = canvas.column(std::pow(10.0, exponent));
    while (static_cast<int>(base::display_width(axis)) < at) axis += "─";
    axis += "┬";
    const std::string label = decade(exponent);
    const int begin = std::max(0, at - static_cast<int>(base::display_width(label)) / 2),
              end = static_cast<int>(base::display_width(ticks));
    if (end < begin) ticks += std::string(static_cast<std::size_t>(begin - end), ' ');
    ticks += label;
  }
  while (static_cast<int>(base::display_width(axis)) < columns) axis += "─";
  const std::string indent(kLeft + 2, ' ');
  text += indent.substr(1) + "└" + axis + "\n" + indent + ticks + "\n" + indent + "FLOP/s over FLOP / DRAM byte";
  text += chart.series.empty()              ? "\n"
          : chart.series.front().has_time() ? "; ● measured, ○ least time, ★ whole model\n"
                                            : "; ○ least time of an operator, ★ whole model\n";
  if (!chart.series.empty()) {
    const Series& series = chart.series.front();
    text += indent + "letters: rows of the table; small dots: below 1% of the time\n\n" + table(chart, series);
    for (std::size_t i = 1; i < kAbsences; ++i)
      if (const auto& [items, share] = series.absent[i]; items > 0)
        text += std::to_string(items) + " " + std::string(to_string(static_cast<Absence>(i))) +
                (share > 0 ? ", " + percent_text(share) + " of time" : "") + "\n";
  }
  for (const std::string& warning : chart.warnings) text += "! " + warning + "\n";
  return text;
}

}  // namespace pagoda::present::plot
