// The output formats of a chart.
#pragma once

#include <string>
#include <string_view>

#include "plot/chart.h"

namespace pagoda::present::plot {

std::string chart_svg(const Chart& chart);
// `first`: id of the tab that is initially open; empty: the first tab.
std::string chart_html(const Chart& chart, std::string_view first);
std::string chart_csv(const Chart& chart);
std::string chart_json(const Chart& chart);
std::string chart_text(const Chart& chart);
// `format`: "png" or "pdf"; `in_print`: the PNG has 300 dots per inch, otherwise two dots per pixel.
std::string rasterize(const std::string& svg, std::string_view format, bool in_print = false);

}  // namespace pagoda::present::plot
