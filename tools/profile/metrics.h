// The work of pagoda-metrics, with CUPTI's host library: writes and checks the catalogue, evaluates counter images.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "cupti_library.h"
#include "pagoda/documents/metrics.h"

namespace pagoda::tools::profile {

// Writes the catalogue into the folder: one file per family, that is, per set of chips that list the same metrics.
void write_catalogue(const CuptiLibrary& library, const std::string& folder);

// Compares every name and pass count of the built-in catalogue with the library. Returns kDone if they agree; else
// kUnusable, or kNoLibrary if catalogue and library have different versions.
int check_catalogue(const CuptiLibrary& library);

// Evaluates one image (FILE.counters with its FILE.txt), or all images of a folder, and prints one line per metric with
// its value in each range. Returns 0 if all values equal those evaluated on the machine that took the image, 1 if any
// differs, 77 if there is no image.
int decode_images(const CuptiLibrary& library, const std::string& path);

inline constexpr int kNoLibrary = 77;  // ctest counts it as skipped

// "13.1.0" or, for the other numbering of CUDA 12, "of CUDA 12 (interface 24)".
std::string version_text(std::uint32_t version);
std::vector<std::string> names_of(const std::vector<documents::MetricTerm>& terms);
// Appends the names that `all` does not contain yet.
void join(std::vector<std::string>& all, const std::vector<std::string>& more);

// The metrics from which a quantity can be computed, in order of preference.
struct QuantityRule {
  std::string id;
  std::vector<std::vector<documents::MetricTerm>> formulas;  // every term must exist
};

// Rules for all chips. A term whose metric ends in "?" is optional and is left out of the formula if absent. One that
// begins with "!" is valid only on chips whose tensor units do not support sparse operands.
std::vector<QuantityRule> quantity_rules();

// Quantities of the first group; precisions of the tensor units are added to it afterwards.
inline constexpr std::array<std::string_view, 6> kBaseQuantities = {"seconds",          "cycles",   "bytes.dram_read",
                                                                    "bytes.dram_write", "bytes.l2", "bytes.l1"};
// Cycles of the units whose peaks are per cycle: added to the first group if it still fits into one pass.
inline constexpr std::array<std::string_view, 3> kClockQuantities = {"cycles.l1", "cycles.l2", "cycles.dram"};

}  // namespace pagoda::tools::profile
