// How much of a device's own peaks a kernel reached.
#pragma once

#include <map>
#include <string>

#include "pagoda/documents/measured.h"

#pragma GCC visibility push(default)
namespace pagoda::measured {

// Of each peak that is known, the share that the kernel reached over its time: 0.62 of "bytes.dram". Peaks of
// precisions that were not collected are left out, and all of them where the kernel has no time.
std::map<std::string, double> shares_of_peak(const documents::MeasuredKernel& kernel,
                                             const documents::MeasuredDevice& device);

}  // namespace pagoda::measured
#pragma GCC visibility pop
