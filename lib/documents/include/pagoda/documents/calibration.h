// Calibrations by name and from files: schema pagoda.calibration/1.
//
//   Calibration fitted = calibration("rtx-3090-amp-nchw");   // built in: a file of data/calibration
//   Calibration mine = load_calibration("mine.json").fitted;
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/device.h"
#include "pagoda/core/predict.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

struct CalibrationFile {
  Calibration fitted;
  std::string ceilings = {};                        // JSON of pagoda.ceilings/1; empty: not of one machine
  std::optional<DeviceSpec> device = std::nullopt;  // the same as a device
};

std::vector<std::string> calibration_ids();  // sorted
// A built-in calibration. Throws Error for an unknown id and lists the known ones.
Calibration calibration(std::string_view id);
// Loads a file of schema pagoda.calibration/1, or parses its text. Throws Error.
CalibrationFile load_calibration(const std::string& path);
CalibrationFile parse_calibration(std::string_view json, std::string_view subject);
// The inverse of parse_calibration(); `device` follows from `ceilings`.
std::string to_json(const CalibrationFile& file);

}  // namespace pagoda::documents
#pragma GCC visibility pop
