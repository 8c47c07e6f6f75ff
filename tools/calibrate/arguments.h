// The command line of pagoda-calibrate, and the functions that it chooses among.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/core/precision.h"
#include "pagoda/lab/fit.h"

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

std::vector<std::string> engines_here();  // that --here measures, by id

// Each of these returns the exit code, and throws Error.

// Fits a calibration to a table of runs, or holds one against them.
int calibrate_runs(const CalibrateArguments& arguments);
// --here: measures this machine's ceilings and an engine on it, and fits a calibration to them.
int calibrate_here(const CalibrateArguments& arguments);
// --energy: fits and reports the energy cost of work, traffic and time.
int calibrate_energy(const CalibrateArguments& arguments);
// --engine tensorrt: fits the TensorRT kernel model to published runs.
int calibrate_tensorrt(const CalibrateArguments& arguments);

}  // namespace pagoda::tools
