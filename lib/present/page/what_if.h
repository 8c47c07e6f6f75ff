// The data that a page's script needs to answer other requests, as JSON. See documents/what_if.h.
#pragma once

#include <string>

#include "plot/chart.h"

namespace pagoda::present::plot {

// Empty unless the chart shows a single estimate that has this data.
std::string what_if_json(const Chart& chart);

}  // namespace pagoda::present::plot
