// The files of data/calibration as they were when the library was built; embed_calibrations.cmake writes the
// definition.
#pragma once

#include <span>
#include <string_view>

namespace pagoda {

struct BuiltinCalibration {
  std::string_view id;  // the file's name without ".json"
  std::string_view json;
};

std::span<const BuiltinCalibration> builtin_calibrations();  // sorted by id

}  // namespace pagoda
