// Calibrations of serving engines by name: schema pagoda.serving-calibration/1.
//
//   ServingCalibration fitted = serving_calibration("llm-serving");  // built in: a file of data/calibration/serving
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/serving.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

std::vector<std::string> serving_calibration_ids();  // sorted
// A built-in calibration. Throws Error for an unknown id and lists the known ones.
ServingCalibration serving_calibration(std::string_view id);
// A file, or its text. Throws Error.
ServingCalibration load_serving_calibration(const std::string& path);
ServingCalibration parse_serving_calibration(std::string_view json, std::string_view subject);

}  // namespace pagoda::documents
#pragma GCC visibility pop
