// Settings: named values of plain types that describe a kernel, a machine or an experiment.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#pragma GCC visibility push(default)
namespace pagoda::base {

// One value; monostate means not known.
using Setting = std::variant<std::monostate, bool, std::int64_t, double, std::string>;
using Settings = std::map<std::string, Setting>;

// The text of a setting for labels, without quotes.
std::string setting_text(const Setting& setting);

}  // namespace pagoda::base
#pragma GCC visibility pop
