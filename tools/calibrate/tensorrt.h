// Fits kernels of TensorRT to published runs: pagoda-calibrate --engine tensorrt.
#pragma once

#include "arguments.h"

namespace pagoda::tools {

int calibrate_tensorrt(const CalibrateArguments& arguments);

}  // namespace pagoda::tools
