// The ways of pagoda-calibrate beside a table of runs. Each returns the exit code, and throws Error.
#pragma once

#include <string>
#include <vector>

#include "arguments.h"

namespace pagoda::tools {

std::vector<std::string> engines_here();  // that --here measures, by id

// --here: measures this machine's ceilings and an engine on it, and fits a calibration to them.
int calibrate_here(const CalibrateArguments& arguments);
// --energy: fits and reports the energy cost of work, traffic and time.
int calibrate_energy(const CalibrateArguments& arguments);
// --engine tensorrt: fits the TensorRT kernel model to published runs.
int calibrate_tensorrt(const CalibrateArguments& arguments);

}  // namespace pagoda::tools
