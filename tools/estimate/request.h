// The values of arguments, as the library takes them. Each throws UsageError for what cannot be read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "arguments.h"

namespace pagoda::tools {

inline constexpr const char* kOfDevice = "device";  // as --max-memory

AnalyzeOptions sizes_of(const Arguments& arguments);
std::map<std::string, bool> input_flags(const Arguments& arguments);
std::vector<SweepAxis> sweep_axes(const Arguments& arguments);  // of sizes, without modes
std::vector<Budget> budgets(const Arguments& arguments);        // without the device's memory
std::vector<std::string> split_list(const std::string& text);   // "a,b"

bool has_groups(const Arguments& arguments);  // several devices alike

}  // namespace pagoda::tools
