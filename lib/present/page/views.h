// Pictures below the page's chart that its script does not draw. Each is a separate small SVG, or empty if there is
// nothing to show.
#pragma once

#include <string>
#include <vector>

#include "draw/picture.h"
#include "plot/chart.h"

namespace pagoda::present::plot {

struct View {
  std::string kind, title, svg;  // kind: the tab that shows it: "memory", "gap" or "sweep"
  std::size_t series = 0;
};

// Live bytes at each step; steps that share a pixel show their maximum. The estimate must have a memory plan.
std::string draw_memory(const documents::EstimateDocument& estimate, const std::string& title, double width);
// Time, speed and memory over a swept size: what has at least two points.
std::vector<LineChart> sweep_charts(const documents::EstimateSweep& sweep);
// Measured time over least time, both logarithmic, with lines at equality and at multiples of the least time.
std::string draw_scatter(const Series& series);

std::vector<View> draw_views(const Chart& chart);

}  // namespace pagoda::present::plot
