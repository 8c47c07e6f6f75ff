// What pagoda-profile asks of the injected library: one small file, its path in the environment.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pagoda::tools::profile {

inline constexpr const char* kSettingsVariable = "PAGODA_PROFILE_SETTINGS";

enum class Collect : std::uint8_t {
  Times,     // start and end of each kernel, by the activity interface; no privilege
  Launches,  // counters of each launch
  Ranges,    // counters of each NVTX range that the filter lets through
};

struct Settings {
  std::string folder;  // of the record files
  Collect collect = Collect::Launches;
  std::size_t batch = 512;   // launches between two readings of the counters
  std::string nvtx, kernel;  // POSIX extended expressions; empty: everything
  std::string iteration;     // of the ranges, "domain@name", that are one run of the model each; empty: the process is
  std::uint64_t skip = 0;    // wanted launches that are left out at the start
  std::optional<std::uint64_t> count;  // and how many are taken then
  bool keep_raw = false;               // counter images beside the records
  bool list_ranges = false;            // a line for each NVTX range that opens; needs no device
  bool replay = false;                 // kernels are run again for further passes
  std::string cupti, nvml;             // paths of libraries; empty: the usual ones
  std::map<std::string, std::vector<std::vector<std::string>>> groups;  // metrics by chip
};

// Lines of tab-separated words; unknown ones are ignored.
std::string write_settings(const Settings& settings);
Settings parse_settings(std::string_view text);

}  // namespace pagoda::tools::profile
