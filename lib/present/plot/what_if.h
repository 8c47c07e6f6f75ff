// What a page needs to answer other requests, as JSON for its script. See documents/what_if.h.
#pragma once

#include <string>

#include "plot/chart.h"

namespace pagoda::present::plot {

// Empty unless the chart is of one estimate that can.
std::string what_if_json(const Chart& chart);

}  // namespace pagoda::present::plot
