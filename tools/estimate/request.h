// Converts arguments to the library's types. Each function throws UsageError for a value that cannot be read.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "pagoda/core/parallel.h"

namespace pagoda::tools {

inline constexpr const char* kOfDevice = "device";   // --max-memory device: the device's capacity
inline constexpr std::string_view kModes = "mode=";  // --sweep mode=…: power modes of the device

AnalyzeOptions sizes_of(const Arguments& arguments);
std::map<std::string, bool> input_flags(const Arguments& arguments);
std::vector<SweepAxis> sweep_axes(const Arguments& arguments);     // of sizes, without modes
std::vector<Budget> budgets(const Arguments& arguments);           // without the device's memory
std::map<std::string, double> prices(const Arguments& arguments);  // per hour, by device
std::vector<std::string> split_list(const std::string& text);      // "a,b"

// Numbers of devices that share the model: each combination of --tensor-parallel, --pipeline-parallel and
// --expert-parallel.
std::vector<ParallelOptions> splits(const Arguments& arguments);
bool has_groups(const Arguments& arguments);  // whether the model runs on several equal devices
// True if the answer is a table of a row for each device, number of devices, precision or traffic model.
bool is_choice(const Arguments& arguments);

}  // namespace pagoda::tools
