// The sheet of a picture: its size, and the positions of axes and legend. Lengths are in units of the picture. Small
// text is always 12 units high, so that a small sheet with the same text has less space, not smaller letters.
#pragma once

#include <string>

#include "pagoda/present/plot.h"

namespace pagoda::present::plot {

struct Box {
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;

  bool overlaps(const Box& other) const { return x0 < other.x1 && other.x0 < x1 && y0 < other.y1 && other.y0 < y1; }
  bool inside(const Box& other) const { return x0 >= other.x0 && x1 <= other.x1 && y0 >= other.y0 && y1 <= other.y1; }
};

struct Sheet {
  double width = 1200, height = 784;  // column sheets: height without the legend below the axes
  Box plot{84, 78, 932, 668};         // the axes
  Box panel{956, 70, 1184, 676};      // the legend: beside the axes, or below them
  bool is_column = false;             // narrow, for a column of a paper: legend below the axes, small title
  double points = 0;                  // printed size of a unit; 0: a unit is a screen pixel

  // A length for an attribute of the picture: "1200", "240.94pt".
  std::string length(double units) const;
};

// Throws Error if the width is too small for that text size.
Sheet make_sheet(const PlotOptions& options);

}  // namespace pagoda::present::plot
