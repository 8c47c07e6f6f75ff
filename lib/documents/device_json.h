// Reads device files (pagoda.device/1) and measured ceilings (pagoda.ceilings/1).
#pragma once

#include "pagoda/base/json.h"
#include "pagoda/core/device.h"
#include "pagoda/documents/ceilings.h"

namespace pagoda::documents {

// Throws Error.
DeviceSpec read_device(const base::JsonDocument& document);

// The device that was measured: of each ceiling the best value. `subject` names the document in sources and errors.
DeviceSpec device_of(const CeilingsDocument& document, const std::string& subject);
// parse_ceilings() of a text that is already parsed.
CeilingsDocument parse_ceilings(const base::JsonDocument& document);

}  // namespace pagoda::documents
