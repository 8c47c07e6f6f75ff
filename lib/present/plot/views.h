// More pictures of the same data, for the page: each a small SVG of its own, or empty where there is nothing to show.
#pragma once

#include <string>
#include <vector>

#include "plot/chart.h"

namespace pagoda::present::plot {

struct View {
  std::string title, svg;
  std::size_t series = 0;
};

std::string draw_types_view(const Series& series);
std::string draw_memory_view(const EstimateFile& estimate);
std::string draw_sweep_view(const EstimateFile& estimate);
std::string draw_fusion_view(const EstimateFile& estimate);
std::string draw_scatter_view(const Series& series);

std::vector<View> draw_views(const Chart& chart);

}  // namespace pagoda::present::plot
