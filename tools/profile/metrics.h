// The work of pagoda-metrics, with CUPTI's host library.
#pragma once

#include <string>
#include <vector>

#include "cupti_library.h"
#include "pagoda/documents/metrics.h"

namespace pagoda::tools::profile {

// Writes the catalogue into the folder: one file per family, that is, per set of chips that list the same metrics.
void write_catalogue(const CuptiLibrary& library, const std::string& folder);

// Compares every name and pass count of the built-in catalogue with the library. Returns kDone if they agree; else
// kUnusable, or kNoLibrary if catalogue and library have different versions.
int check_catalogue(const CuptiLibrary& library);

inline constexpr int kNoLibrary = 77;  // ctest counts it as skipped

// "13.1.0" or, for the other numbering of CUDA 12, "of CUDA 12 (interface 24)".
std::string version_text(std::uint32_t version);
std::vector<std::string> names_of(const std::vector<documents::MetricTerm>& terms);
// Appends the names that `all` does not contain yet.
void join(std::vector<std::string>& all, const std::vector<std::string>& more);

}  // namespace pagoda::tools::profile
