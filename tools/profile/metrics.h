// What pagoda-metrics does with CUPTI's host library.
#pragma once

#include <string>
#include <vector>

#include "cupti_library.h"
#include "pagoda/documents/metrics.h"

namespace pagoda::tools::profile {

// Writes the catalogue into the folder: a file a family, which are the chips that list the same metrics.
void write_catalogue(const CuptiLibrary& library, const std::string& folder);

// Holds every name and pass count of the built-in catalogue against the library: kDone, kUnusable, or kNoLibrary where
// they differ and are of different versions.
int check_catalogue(const CuptiLibrary& library);

inline constexpr int kNoLibrary = 77;  // what ctest takes as skipped

// "13.1.0", or what CUDA 12 numbered otherwise.
std::string version_text(std::uint32_t version);
std::vector<std::string> names_of(const std::vector<documents::MetricTerm>& terms);
// Appends names that are not yet there.
void join(std::vector<std::string>& all, const std::vector<std::string>& more);

}  // namespace pagoda::tools::profile
