// Settings that pagoda-profile passes to the injected library: a small file whose path is in the environment.
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
  Times,     // start and end of each kernel, by the activity API; needs no privilege
  Launches,  // counters of each launch
  Ranges,    // counters of each NVTX range that matches the filter
};

struct Settings {
  std::string folder;  // of the record files
  Collect collect = Collect::Launches;
  std::size_t batch = 512;   // launches between two readings of the counters
  std::string nvtx, kernel;  // POSIX extended expressions; empty: everything
  std::string iteration;     // matches "domain@name" of ranges that are one model run each; empty: the process is one
  std::uint64_t skip = 0;    // wanted launches to skip at the start
  std::optional<std::uint64_t> count;  // how many to record after these
  bool keep_raw = false;               // write counter images next to the records
  bool list_ranges = false;            // write a line for each NVTX range that opens; needs no device
  bool replay = false;                 // run kernels again for further passes
  std::string cupti, nvml;             // library paths; empty: the usual ones
  std::map<std::string, std::vector<std::vector<std::string>>> groups;  // by chip: groups of metrics
};

// Lines of tab-separated words; unknown ones are ignored.
std::string write_settings(const Settings& settings);
Settings parse_settings(std::string_view text);

}  // namespace pagoda::tools::profile
