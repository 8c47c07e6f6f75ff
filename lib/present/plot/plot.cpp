// The public functions: one chart, several formats, and the sheets of pictures.
#include "pagoda/present/plot.h"

#include <algorithm>
#include <cmath>

#include "draw/picture.h"
#include "draw/text.h"
#include "pagoda/base/quantity.h"
#include "pagoda/base/text.h"
#include "plot/draw.h"

namespace pagoda::present {

namespace plot {
namespace {

constexpr double kSmall = 12;               // height of small text in units
constexpr double kPoints = 9, kPage = 900;  // default text height and width in points, if only the other is given
constexpr double kNarrowest = 280;          // units: enough for six decades with labels
constexpr double kBeside = 1000;            // units: smallest width for a legend of 228 beside the axes
constexpr double kSteepest = 0.72;          // largest height of the axes over their width, as on the full sheet

}  // namespace

std::string Sheet::length(double units) const { return points > 0 ? px(units * points) + "pt" : px(units); }

Sheet make_sheet(const PlotOptions& options) {
  Sheet sheet;
  if (!options.width_points && !options.font_points) return sheet;
  const double font = options.font_points.value_or(kPoints), width = options.width_points.value_or(kPage);
  sheet.points = font / kSmall;
  sheet.width = width / sheet.points;
  if (!(sheet.width >= kNarrowest))
    throw Error("a picture " + base::rounded(width, 4) + " pt wide has no room for text of " + base::rounded(font, 3) +
                " pt; expected at least " + base::rounded(kNarrowest * sheet.points, 4) +
                " pt, or a smaller --font-size");
  sheet.is_column = sheet.width < kBeside;
  if (!sheet.is_column) {
    const double more = sheet.width - Sheet().width;
    sheet.plot.x1 += more, sheet.panel.x0 += more, sheet.panel.x1 += more;
    return sheet;
  }
  sheet.plot = {66, 46, sheet.width - 12, 0};
  sheet.plot.y1 = sheet.plot.y0 + std::min(590.0, kSteepest * (sheet.plot.x1 - sheet.plot.x0));
  sheet.height = sheet.plot.y1 + 52;
  sheet.panel = {10, sheet.height, sheet.width - 10, INFINITY};
  return sheet;
}

std::string chart_svg(const Chart& chart) { return draw_roofline(chart, true); }

}  // namespace plot

std::optional<double> points(std::string_view length) {
  try {
    const double value = base::quantity(base::Measure::Length, length).value;
    return value > 0 ? std::optional(value) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string plot_svg(const PlotInput& input, const PlotOptions& options) {
  plot::Chart chart = plot::make_chart(input, options);
  if (options.energy) return plot::chart_svg(plot::energy_view(chart));
  plot::fit_frame(chart);
  return plot::chart_svg(chart);
}
std::string plot_csv(const PlotInput& input, const PlotOptions& options) {
  return plot::chart_csv(plot::make_chart(input, options));
}
std::string plot_json(const PlotInput& input, const PlotOptions& options) {
  return plot::chart_json(plot::make_chart(input, options));
}
std::string plot_text(const PlotInput& input, const PlotOptions& options) {
  if (options.energy) throw Error("the terminal shows no energy roofline; write it as svg, png, pdf or html");
  plot::Chart chart = plot::make_chart(input, options);
  plot::fit_frame(chart);
  return plot::chart_text(chart);
}
std::string plot_html(const PlotInput& input, const PlotOptions& options) {
  const plot::Chart chart = plot::make_chart(input, options);
  if (options.energy) plot::energy_view(chart);  // throws if constants and joules are missing
  return plot::chart_html(chart, options.energy ? "energy" : "");
}
std::string plot_png(const PlotInput& input, const PlotOptions& options) {
  return plot::rasterize(plot_svg(input, options), "png", options.width_points || options.font_points);
}
std::string plot_pdf(const PlotInput& input, const PlotOptions& options) {
  return plot::rasterize(plot_svg(input, options), "pdf", true);
}

}  // namespace pagoda::present
