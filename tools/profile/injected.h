// The injected library from the outside: where its file is, the environment that loads it, and the records that it
// leaves in a folder.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "inject/settings.h"
#include "pagoda/measured/record.h"

namespace pagoda::tools::profile {

// Path of libpagoda_inject.so: `chosen` if given, else the first that exists of: next to this program, in the install
// tree, `built`.
std::string injected_library(const std::string& chosen, const std::string& built = "");

// Writes the settings into their folder. Returns the variables with which CUDA and NVTX load the library.
std::vector<std::pair<std::string, std::string>> injection(const std::string& library, const Settings& settings);

// The records of a folder, one per process.
measured::profile::RecordedRun read_records(const std::string& folder);

// Evaluates the runs; without counters or a known chip, their times alone.
documents::Measured evaluated(const std::vector<measured::profile::RecordedRun>& runs,
                              const measured::profile::RecordOptions& options);

}  // namespace pagoda::tools::profile
