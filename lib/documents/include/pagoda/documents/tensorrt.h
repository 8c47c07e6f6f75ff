// Calibrations of TensorRT by name: schema pagoda.tensorrt-calibration/1.
//
//   TensorRtCalibration fitted = tensorrt_calibration("tensorrt");  // built in: a file of data/calibration/tensorrt
//   TensorRtCalibration mine = load_tensorrt_calibration("mine.json").fitted;
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/device.h"
#include "pagoda/core/tensorrt.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

struct TensorRtCalibrationFile {
  TensorRtCalibration fitted;
  std::optional<DeviceSpec> device = std::nullopt;  // the machine it was measured on, by --here; else empty
};

std::vector<std::string> tensorrt_calibration_ids();  // sorted
// A built-in calibration. Throws Error for an unknown id and lists the known ones.
TensorRtCalibration tensorrt_calibration(std::string_view id);
// A file, or its text. Throws Error.
TensorRtCalibrationFile load_tensorrt_calibration(const std::string& path);
TensorRtCalibrationFile parse_tensorrt_calibration(std::string_view json, std::string_view subject);
// `ceilings`: JSON of pagoda.ceilings/1 of the machine; empty: not of one machine.
std::string to_json(const TensorRtFit& fit, const std::string& ceilings = {});

}  // namespace pagoda::documents
#pragma GCC visibility pop
