// Files of data/, compiled in; sorted by name.
#pragma once

#include "pagoda/base/embedded_file.h"

namespace pagoda::documents {

std::span<const base::EmbeddedFile> device_files();       // data/devices
std::span<const base::EmbeddedFile> calibration_files();  // data/calibration
std::span<const base::EmbeddedFile> metric_files();       // data/metrics
std::span<const base::EmbeddedFile> serving_files();      // data/calibration/serving

}  // namespace pagoda::documents
