// Pictures below the page's chart that its script does not draw. Each is a separate small SVG, or empty if there is
// nothing to show.
#pragma once

#include <string>
#include <vector>

#include "plot/chart.h"

namespace pagoda::present::plot {

struct View {
  std::string kind, title, svg;  // kind: the tab that shows it: "memory", "gap" or "sweep"
  std::size_t series = 0;
};

std::string draw_memory_view(const EstimateFile& estimate);
std::string draw_sweep_view(const EstimateFile& estimate);
std::string draw_scatter_view(const Series& series);

std::vector<View> draw_views(const Chart& chart);

}  // namespace pagoda::present::plot
