// Calibrations of engines on a CPU as files: schema pagoda.cpu-calibration/1, written by pagoda-calibrate --here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/cpu_engine.h"
#include "pagoda/core/device.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

// One of the runs that a calibration was fitted to.
struct CpuCalibrationRun {
  std::string name, family;
  double seconds = 0;
  std::optional<double> predicted;  // by a fit without its family; empty: no other family constrains the fit
};

struct CpuCalibrationFile {
  std::string engine;  // "onnxruntime-cpu"
  CpuCalibration fitted;
  std::vector<CpuCalibrationRun> runs;
  std::string ceilings;  // the machine's ceilings: JSON of pagoda.ceilings/1
  DeviceSpec device;     // `ceilings` read as a device
};

CpuCalibrationFile load_cpu_calibration(const std::string& path);
CpuCalibrationFile parse_cpu_calibration(std::string_view json, std::string_view subject);
std::string to_json(const CpuCalibrationFile& file);  // without `device`, which is derived from `ceilings`

}  // namespace pagoda::documents
#pragma GCC visibility pop
