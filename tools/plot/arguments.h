// The command line of roofline-plot.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pagoda/present/plot.h"
#include "picture.h"

namespace pagoda::tools {

struct PlotArguments {
  std::string ceilings, output;      // paths; empty: not given
  std::vector<std::string> devices;  // ids or paths; the first one's roofs are the chart's
  std::vector<std::string> estimates, measured;
  present::PlotOptions options;
  PictureArguments picture;
  std::string (*write)(const present::PlotInput&, const present::PlotOptions&) = nullptr;  // by format
};

// Empty after --help or --version. Throws UsageError.
std::optional<PlotArguments> parse_plot(int argc, char** argv);

}  // namespace pagoda::tools
