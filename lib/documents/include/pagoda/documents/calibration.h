// Calibrations by name and from files: schema pagoda.calibration/1.
//
//   Calibration fitted = calibration("rtx-3090-amp-nchw");   // built in: a file of data/calibration
//   Calibration mine = load_calibration("mine.json");
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/predict.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

std::vector<std::string> calibration_ids();  // sorted
// A built-in calibration. Throws Error for an unknown id and lists the known ones.
Calibration calibration(std::string_view id);
// Loads a file of schema pagoda.calibration/1, or parses its text. Throws Error.
Calibration load_calibration(const std::string& path);
Calibration parse_calibration(std::string_view json, std::string_view subject);
// The inverse of parse_calibration().
std::string to_json(const Calibration& calibration);

}  // namespace pagoda::documents
#pragma GCC visibility pop
