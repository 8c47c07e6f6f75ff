// pagoda-calibrate --energy: fits energy constants to tables and measured runs.
#pragma once

#include "arguments.h"

namespace pagoda::tools {

int calibrate_energy(const CalibrateArguments& arguments);

}  // namespace pagoda::tools
