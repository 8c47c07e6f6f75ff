// Formats of one chart.
#pragma once

#include <string>
#include <string_view>

#include "plot/chart.h"

namespace pagoda::present::plot {

std::string chart_svg(const Chart& chart);
// `first`: the tab that is open at first, by its id; empty: the first there is.
std::string chart_html(const Chart& chart, std::string_view first);
std::string chart_csv(const Chart& chart);
std::string chart_json(const Chart& chart);
std::string chart_text(const Chart& chart);
// `format`: "png" or "pdf"; `in_print`: a PNG of 300 dots an inch, else of two dots a pixel.
std::string rasterize(const std::string& svg, std::string_view format, bool in_print = false);

}  // namespace pagoda::present::plot
