// Calibrations of TensorRT by name: schema pagoda.tensorrt-calibration/1.
//
//   TensorRtCalibration fitted = tensorrt_calibration("tensorrt");  // built in: a file of data/calibration/tensorrt
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/tensorrt.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

std::vector<std::string> tensorrt_calibration_ids();  // sorted
// A built-in calibration. Throws Error for an unknown id and lists the known ones.
TensorRtCalibration tensorrt_calibration(std::string_view id);
// A file, or its text. Throws Error.
TensorRtCalibration load_tensorrt_calibration(const std::string& path);
TensorRtCalibration parse_tensorrt_calibration(std::string_view json, std::string_view subject);
std::string to_json(const TensorRtFit& fit);

}  // namespace pagoda::documents
#pragma GCC visibility pop
