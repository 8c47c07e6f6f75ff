// pagoda-calibrate --here: measures this machine's ceilings and an engine on it, and fits a calibration to them.
#pragma once

#include <string>
#include <vector>

#include "arguments.h"

namespace pagoda::tools {

std::vector<std::string> engines_here();  // that can be measured, by id

// Returns the exit code. Throws Error.
int calibrate_here(const CalibrateArguments& arguments);

}  // namespace pagoda::tools
