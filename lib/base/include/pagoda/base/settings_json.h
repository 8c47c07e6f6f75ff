// Settings as JSON values, and text of JSON that is the same on every machine.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "pagoda/base/error.h"
#include "pagoda/base/settings.h"

#pragma GCC visibility push(default)
namespace pagoda::base {

using Json = nlohmann::json;  // objects sorted by key

Json to_json(const Setting& setting);
Json to_json(const Settings& settings);
// Throws Error where it is no object of plain values; `place` names it.
Settings settings_from(const Json& object, const std::string& place);

// One line without spaces; bytes that are no UTF-8 become U+FFFD.
std::string dump(const Json& json);

}  // namespace pagoda::base
#pragma GCC visibility pop
