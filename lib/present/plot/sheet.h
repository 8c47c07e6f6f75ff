// The paper of a picture: how large it is, and where axes and legend lie. Lengths are in units of the picture, of which
// small text is 12 high, so that a small sheet with the same text has less room, not smaller letters.
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
  double width = 1200, height = 784;  // of a sheet in a column: without what stands below the axes
  Box plot{84, 78, 932, 668};         // the axes
  Box panel{956, 70, 1184, 676};      // the legend: beside the axes, or below them
  bool is_column = false;             // as narrow as a column of a paper: the legend stands below, the title is small
  double points = 0;                  // of a unit in print; 0: a unit is a pixel of a screen

  // A length for an attribute of the picture: "1200", "240.94pt".
  std::string length(double units) const;
};

// Throws Error where the width leaves no room at that size of the text.
Sheet make_sheet(const PlotOptions& options);

}  // namespace pagoda::present::plot
