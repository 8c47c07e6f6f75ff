// Reads device files (pagoda.device/1) and measured ceilings (pagoda.ceilings/1).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "pagoda/core/device.h"

namespace pagoda::documents {

// Both throw Error; `subject` names the document in it.
DeviceSpec read_device(const nlohmann::json& document, std::string_view subject);
DeviceSpec read_ceilings(const nlohmann::json& document, std::string_view subject);

// A peak's place in DeviceSpec::peaks.
bool before(const Peak& a, const Peak& b);

}  // namespace pagoda::documents
