// The values of arguments, as the library takes them. Each throws UsageError for what cannot be read.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"

namespace pagoda::tools {

inline constexpr const char* kOfDevice = "device";   // as --max-memory
inline constexpr std::string_view kModes = "mode=";  // of --sweep: power modes of the device

AnalyzeOptions sizes_of(const Arguments& arguments);
std::map<std::string, bool> input_flags(const Arguments& arguments);
std::vector<SweepAxis> sweep_axes(const Arguments& arguments);  // of sizes, without modes
std::vector<Budget> budgets(const Arguments& arguments);        // without the device's memory
std::map<std::string, double> prices(const Arguments& arguments);  // of an hour, by device
std::vector<std::string> split_list(const std::string& text);   // "a,b"

bool has_groups(const Arguments& arguments);  // several devices alike

}  // namespace pagoda::tools
