// Calibrations of engines by name and from files: schemas pagoda.calibration/1, pagoda.cpu-calibration/1,
// pagoda.tensorrt-calibration/1 and pagoda.serving-calibration/1.
//
//   Calibration fitted = calibration("tensorrt");            // built in: a file of data/calibration
//   Calibration mine = load_calibration("mine.json").fitted;
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/calibration.h"
#include "pagoda/core/device.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

// One of the runs that a calibration was fitted to.
struct CalibrationRun {
  std::string name, family;
  double seconds = 0;
  std::optional<double> predicted;  // by a fit without its family; empty: no other family constrains the fit
};

// Errors over the runs of a device or group: |predicted / measured - 1|, and the mean of predicted / measured - 1.
struct GroupErrors {
  std::string of;
  std::int64_t runs = 0;
  double mean_error = 0, median_error = 0, bias = 0;
};

struct CalibrationFile {
  Calibration fitted;
  std::string ceilings = {};                            // JSON of pagoda.ceilings/1; empty: not of one machine
  std::optional<DeviceSpec> device = {};                // the same as a device
  std::vector<CalibrationRun> runs = {};                // not all schemas list them
  std::vector<GroupErrors> groups = {}, left_out = {};  // by device; by device and group, each from a fit without it
  std::int64_t pairs = 0, pairs_right = 0;  // of a float16 and an int8 run: in how many it tells which is faster
};

std::vector<std::string> calibration_ids(std::string_view engine);  // built in; sorted
// A built-in calibration. Throws Error for an unknown id and lists the known ones.
Calibration calibration(std::string_view id);
// A file of one of the schemas, or its text. Throws Error. Unknown members are listed in Calibration::ignored.
CalibrationFile load_calibration(const std::string& path);
CalibrationFile parse_calibration(std::string_view json, std::string_view subject);
// The engine that a calibration file names, by its schema and its member "engine"; empty: not known.
std::string engine_of_calibration(std::string_view json, std::string_view subject);
// The inverse of parse_calibration(), with coefficients and errors in four digits; `device` follows from `ceilings`.
std::string to_json(CalibrationFile file);

}  // namespace pagoda::documents
#pragma GCC visibility pop
