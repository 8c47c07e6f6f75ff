// The command line of pagoda-calibrate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/lab/fit.h"
#include "pagoda/core/precision.h"

namespace pagoda::tools {

struct CalibrateArguments {
  std::vector<std::string> runs;                    // paths
  std::string elsewhere, check, output, residuals;  // paths, and the name of a calibration; empty: not given
  lab::EagerFitOptions options;
  bool tensorrt = false;  // --engine tensorrt
  std::string here;       // the engine to measure on this machine; empty: none
  std::optional<std::int64_t> threads;
  // For --energy.
  bool energy = false;
  std::vector<std::string> estimates, each;
  std::string device, format = "text";
  Precision precision = Precision::Float32;
};

// Empty after --help or --version. Throws UsageError.
std::optional<CalibrateArguments> parse_calibrate(int argc, char** argv);

}  // namespace pagoda::tools
