// Formats of one chart.
#pragma once

#include <string>
#include <string_view>

#include "plot/chart.h"

namespace pagoda::present::plot {

std::string chart_svg(const Chart& chart);
std::string chart_html(const Chart& chart);
std::string chart_csv(const Chart& chart);
std::string chart_json(const Chart& chart);
std::string chart_text(const Chart& chart);
// `format`: "png" or "pdf".
std::string rasterize(const std::string& svg, std::string_view format);

}  // namespace pagoda::present::plot
