// pagoda-calibrate --here: this machine's ceilings, a study of an engine on it, and what they give.
#pragma once

#include "arguments.h"

namespace pagoda::tools {

// Returns the exit code. Throws Error.
int calibrate_here(const CalibrateArguments& arguments);

}  // namespace pagoda::tools
