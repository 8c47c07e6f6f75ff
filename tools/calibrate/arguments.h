// The command line of pagoda-calibrate.
#pragma once

#include <optional>
#include <string>

#include "pagoda/core/calibrate.h"

namespace pagoda::tools {

struct CalibrateArguments {
  std::string runs, elsewhere, check, output, residuals;  // paths, and a calibration's name; empty: not given
  CalibrationOptions options;
};

// Empty after --help or --version. Throws UsageError.
std::optional<CalibrateArguments> parse_calibrate(int argc, char** argv);

}  // namespace pagoda::tools
