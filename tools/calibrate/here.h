// pagoda-calibrate --here: measures this machine's ceilings and an engine on it, and fits a calibration to them.
#pragma once

#include "arguments.h"

namespace pagoda::tools {

// Returns the exit code. Throws Error.
int calibrate_here(const CalibrateArguments& arguments);

}  // namespace pagoda::tools
