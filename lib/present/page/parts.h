// Parts of a page: pictures below its chart, and data made of its documents. Each is empty if the chart has none.
#pragma once

#include <string>
#include <vector>

#include "plot/chart.h"

namespace pagoda::present::plot {

// A small SVG that the page's script does not draw.
struct View {
  std::string kind, title, svg;  // kind: the tab that shows it: "memory", "gap" or "sweep"
  std::size_t series = 0;
};
std::vector<View> draw_views(const Chart& chart);

// Matches rows with the same work across models, as {"totals": [{name, unit, values}], "pairs": [[[i, j], …], …]}: for
// every later series its pairs with the first. Empty unless there are several series, all with estimates.
std::string pairs_json(const Chart& chart);
// The data that a page's script needs to answer other requests (estimate/what_if.h). Empty unless the chart shows a
// single estimate that has this data.
std::string what_if_json(const Chart& chart);

}  // namespace pagoda::present::plot
