// The sheet of a picture: its size, and the positions of axes and legend. Lengths are in units of the picture. Small
// text is always 12 units high, so that a small sheet with the same text has less space, not smaller letters.
#pragma once

#include <string>

#include "draw/axis.h"
#include "pagoda/present/plot.h"

namespace pagoda::present::plot {

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
