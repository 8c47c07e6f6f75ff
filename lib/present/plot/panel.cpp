// Beside and below the axes: what the colours and marks mean, what is not drawn, and where the numbers come from.
#include <algorithm>

#include "pagoda/base/text.h"
#include "plot/draw.h"
#include "plot/text.h"

namespace pagoda::present::plot {
namespace {

constexpr double kLine = 18;

// A column of text lines that ends where the axes do.
class Column {
 public:
  Column(Svg& svg, double y) : svg_(svg), y_(y) {}

  void heading(const std::string& text) {
    y_ += 8;
    line(text, kInk, "bold");
  }
  void line(const std::string& text, std::string_view color = kMuted, const char* weight = "") {
    svg_.text(kPanelLeft, y_ + 12, fit(text, kSmallText, kPanelRight - kPanelLeft),
              {{"class", color == kInk    ? "ink"
                         : color == kWarn ? "warn"
                                          : "muted"},
               {"font-weight", weight},
               {"fill", std::string(color)}});
    y_ += kLine;
  }
  // Breaks between words.
  void paragraph(const std::string& text, std::string_view color, std::size_t most) {
    std::string row;
    std::size_t rows = 0;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      const std::string word = text.substr(at, end - at), longer = row.empty() ? word : row + " " + word;
      if (!row.empty() && text_width(longer, kSmallText) > kPanelRight - kPanelLeft) {
        if (++rows == most) {
          line(fit(row + " …", kSmallText, kPanelRight - kPanelLeft), color);
          return;
        }
        line(row, color);
        row = word;
      } else {
        row = longer;
      }
      at = end + 1;
    }
    if (!row.empty()) line(row, color);
  }
  double y() const { return y_; }
  void skip(double pixels) { y_ += pixels; }
  bool has_room(double lines) const { return y_ + lines * kLine <= kPlot.y1 + 8; }

 private:
  Svg& svg_;
  double y_;
};

void draw_types(Svg& svg, Column& column, const Series& series, std::size_t at) {
  const std::size_t named = std::min(kColors, series.types.size());
  TypeTime other{.type = "other"};
  for (std::size_t i = named; i < series.types.size(); ++i) {
    other.items += series.types[i].items;
    other.seconds += series.types[i].seconds;
  }
  svg.open("g", {{"class", "legend"}, {"data-s", std::to_string(at)}, {"display", at == 0 ? "" : "none"}});
  for (std::size_t i = 0; i <= named; ++i) {
    const TypeTime& type = i < named ? series.types[i] : other;
    if (type.items == 0) continue;
    const std::size_t color = i < named ? i : kColors;
    const double share = series.seconds > 0 ? type.seconds / series.seconds : 0, y = column.y();
    svg.open("g", {{"class", "type"}, {"data-type", type.type}, {"data-c", std::to_string(color)}});
    svg.leaf("rect", {{"class", "hit"},
                      {"x", px(kPanelLeft - 6)},
                      {"y", px(y)},
                      {"width", px(kPanelRight - kPanelLeft + 8)},
                      {"height", px(kLine)},
                      {"fill", "none"},
                      {"pointer-events", "all"}});
    svg.leaf("circle", {{"class", "c" + std::to_string(color)},
                        {"cx", px(kPanelLeft + 6)},
                        {"cy", px(y + 8)},
                        {"r", "6"},
                        {"fill", std::string(kPalette[color])},
                        {"stroke", "#333"},
                        {"stroke-width", "0.6"}});
    svg.text(kPanelLeft + 18, y + 12, fit(type.type, kSmallText, 112) + " ×" + std::to_string(type.items),
             {{"class", "ink"}, {"fill", std::string(kInk)}});
    svg.leaf("rect", {{"class", "c" + std::to_string(color)},
                      {"x", px(kPanelRight - 48 - 40 * share)},
                      {"y", px(y + 4)},
                      {"width", px(40 * share)},
                      {"height", "8"},
                      {"fill", std::string(kPalette[color])}});
    svg.text(kPanelRight, y + 12, percent_text(share),
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

void draw_marks(Svg& svg, Column& column, const Chart& chart) {
  const bool has_measured =
      std::any_of(chart.series.begin(), chart.series.end(), [](const Series& s) { return s.has_time(); });
  const bool has_estimate =
      std::any_of(chart.series.begin(), chart.series.end(), [](const Series& s) { return s.estimate.has_value(); });
  const auto row = [&](const std::string& text) {
    svg.text(kPanelLeft + 18, column.y() + 12, text, {{"class", "ink"}, {"fill", std::string(kInk)}});
    column.skip(kLine);
  };
  const double x = kPanelLeft + 6;
  if (has_estimate) {
    svg.leaf("circle", {{"cx", px(x)},
                        {"cy", px(column.y() + 8)},
                        {"r", "5"},
                        {"fill", "#0072B2"},
                        {"fill-opacity", "0.18"},
                        {"stroke", "#0072B2"},
                        {"stroke-width", "1.6"}});
    row("least time by its roof (estimate)");
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
  svg.text(x, column.y() + 13, "★",
           {{"class", "ink"}, {"text-anchor", "middle"}, {"font-size", "14"}, {"fill", std::string(kInk)}});
  row(has_estimate && has_measured ? "whole model (filled: measured)" : "whole model");
  double at = kPanelLeft + 4;
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
  svg.text(at, y + 4, has_measured ? "of the time" : "of least time",
           {{"class", "muted"}, {"fill", std::string(kMuted)}});
  column.skip(kLine + 10);
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
    column.line(std::to_string(series.outside) + " beyond the frame, at its edge" +
                (series.outside_share > 0 ? ", " + percent_text(series.outside_share) : ""));
  std::size_t joined = 0;
  for (const Dot& dot : series.dots) joined += dot.aggregate ? dot.items.size() : 0;
  if (joined > 0) column.line(std::to_string(joined) + " lightest joined into dashed dots");
  svg.close();
}

}  // namespace

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
  text += series.has_time() ? " · " + base::si_text(series.seconds, "s") + " measured"
                            : std::string(" · at least ") + base::si_text(series.seconds, "s") +
                                  (at_least ? " for what is modelled" : "");
  if (const auto& run = series.measured_star; run && !series.has_time())
    text += " · " + base::si_text(run->seconds, "s") + " measured, of which its roofs explain " +
            percent_text(series.seconds / run->seconds);
  if (star) text += " · " + base::si_text(star->y(), "FLOP/s") + " · " + plain(star->x()) + " FLOP/B";
  if (series.has_time() && series.bound_seconds > 0)
    text += " · " + percent_text(series.bound_seconds / series.seconds) + " of its roofs";
  text += " · " + percent_text(series.memory_share) + " of the time memory-bound";
  if (series.estimate) {
    const auto& roofline = chart.estimates[*series.estimate].document.roofline;
    if (roofline && roofline->predicted) text += " · predicted " + base::si_text(roofline->predicted->seconds, "s");
  }
  return text;
}

void draw_panel(Svg& svg, const Chart& chart) {
  svg.open("g", {{"id", "panel"}});
  Column column(svg, kPlot.y0 - 8);
  if (!chart.series.empty()) {
    column.heading(chart.series.front().has_time() ? "Share of measured time" : "Share of least time");
    const double top = column.y();
    double bottom = top;
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
      Column own(svg, top);
      draw_types(svg, own, chart.series[i], i);
      bottom = std::max(bottom, own.y());
    }
    column.skip(bottom - top);
    column.heading("Marks");
    draw_marks(svg, column, chart);
    column.heading("Not drawn as dots");
    const double from = column.y();
    double to = from;
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
      Column own(svg, from);
      draw_not_drawn(svg, own, chart.series[i], i);
      to = std::max(to, own.y());
    }
    column.skip(to - from);
    const std::size_t hidden = static_cast<std::size_t>(std::count_if(
        chart.roofs.compute.begin(), chart.roofs.compute.end(), [](const Roof& roof) { return !roof.shown; }));
    if (hidden > 0) column.line(count_text(hidden, "roof", "roofs") + " that no operator runs under");
  }
  for (const MemoryLevel& level : chart.device.levels)
    if (!level.bytes_per_second.known()) column.line(level_name(level.level) + " roof: rate not known");
  if (!chart.warnings.empty() && column.has_room(3)) {
    column.heading("Check");
    for (const std::string& warning : chart.warnings)
      if (column.has_room(2)) column.paragraph(warning, kWarn, 6);
  }
  svg.close();
}

void draw_footer(Svg& svg, const Chart& chart) {
  std::string row;
  double y = kHeight - 58;
  svg.open("g", {{"id", "footer"}, {"class", "muted"}, {"fill", std::string(kMuted)}});
  const auto flush = [&] {
    if (row.empty() || y > kHeight - 8) return;
    svg.text(kPlot.x0, y, fit(row, kSmallText, kPanelRight - kPlot.x0));
    y += 17;
    row.clear();
  };
  for (const auto& [key, value] : chart.provenance) {
    const std::string fact = key + ": " + value, longer = row.empty() ? fact : row + "  ·  " + fact;
    if (!row.empty() && text_width(longer, kSmallText) > kPanelRight - kPlot.x0) flush();
    row = row.empty() ? fact : row + "  ·  " + fact;
  }
  flush();
  svg.close();
}

}  // namespace pagoda::present::plot
