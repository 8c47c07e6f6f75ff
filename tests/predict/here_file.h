// The file that pagoda-calibrate --here writes for an engine of eager kernels, with coefficients and ceilings of other
// machines: tests that use it check formulas, not figures.
#pragma once

#include <string>
#include <string_view>

#include "pagoda/base/files.h"
#include "pagoda/documents/calibration.h"
#include "support/files.h"
#include "support/json_schema.h"

namespace pagoda::test {

// Written to `path`, and as read back.
inline documents::CalibrationFile written_here(std::string_view engine, const std::string& path) {
  documents::CalibrationFile file{
      .fitted = documents::calibration("rtx-3090-amp-nchw"),
      .ceilings = documents::load_calibration(source_path("tests/predict/data/here.json")).ceilings};
  file.fitted.engine = engine;
  file.fitted.coefficients["shortest_kernel_seconds"] = 0;
  const std::string text = documents::to_json(file);
  check_schema(text, "calibration");
  base::write_file(path, text);
  return documents::load_calibration(path);
}

}  // namespace pagoda::test
