// Reads device files (pagoda.device/1) and measured ceilings (pagoda.ceilings/1).
#pragma once

#include "pagoda/base/json.h"
#include "pagoda/core/device.h"

namespace pagoda::documents {

// Both throw Error.
DeviceSpec read_device(const base::JsonDocument& document);
DeviceSpec read_ceilings(const base::JsonDocument& document);

// The sort order of DeviceSpec::peaks.
bool before(const Peak& a, const Peak& b);

}  // namespace pagoda::documents
