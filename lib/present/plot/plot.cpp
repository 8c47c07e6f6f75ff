// The public functions: one chart, several formats.
#include "pagoda/present/plot.h"

#include "plot/draw.h"
#include "plot/outputs.h"

namespace pagoda::present {

namespace plot {

std::string chart_svg(const Chart& chart) { return draw_roofline(chart, true); }

}  // namespace plot

std::string plot_svg(const PlotInput& input, const PlotOptions& options) {
  return plot::chart_svg(plot::make_chart(input, options));
}
std::string plot_csv(const PlotInput& input, const PlotOptions& options) {
  return plot::chart_csv(plot::make_chart(input, options));
}
std::string plot_json(const PlotInput& input, const PlotOptions& options) {
  return plot::chart_json(plot::make_chart(input, options));
}
std::string plot_text(const PlotInput& input, const PlotOptions& options) {
  return plot::chart_text(plot::make_chart(input, options));
}
std::string plot_html(const PlotInput& input, const PlotOptions& options) {
  return plot::chart_html(plot::make_chart(input, options));
}
std::string plot_png(const PlotInput& input, const PlotOptions& options) {
  return plot::rasterize(plot_svg(input, options), "png");
}
std::string plot_pdf(const PlotInput& input, const PlotOptions& options) {
  return plot::rasterize(plot_svg(input, options), "pdf");
}

}  // namespace pagoda::present
