// pagoda-calibrate --engine tensorrt: fits the TensorRT kernel model to published runs.
#pragma once

#include "arguments.h"

namespace pagoda::tools {

int calibrate_tensorrt(const CalibrateArguments& arguments);

}  // namespace pagoda::tools
