// Settings: named facts of plain types, of a kernel, a machine or an experiment.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#pragma GCC visibility push(default)
namespace pagoda::base {

// A setting of a kernel, or a fact of the machine; monostate is: not known.
using Setting = std::variant<std::monostate, bool, std::int64_t, double, std::string>;
using Settings = std::map<std::string, Setting>;

// The text of a setting as in labels: without quotes.
std::string setting_text(const Setting& setting);

}  // namespace pagoda::base
#pragma GCC visibility pop
