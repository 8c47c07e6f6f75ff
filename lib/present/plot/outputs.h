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

}  // namespace pagoda::present::plot
