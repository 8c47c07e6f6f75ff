// The public functions: one chart, several formats.
#include "pagoda/present/plot.h"

#include "draw/raster.h"
#include "plot/draw.h"

namespace pagoda::present {

namespace plot {

std::string chart_svg(const Chart& chart) { return draw_roofline(chart, true); }

}  // namespace plot

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
