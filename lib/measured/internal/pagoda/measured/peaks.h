// The shares of a device's reported peaks that a kernel reached.
#pragma once

#include <map>
#include <string>

#include "pagoda/documents/measured.h"

#pragma GCC visibility push(default)
namespace pagoda::measured {

// For each known peak, the share that the kernel reached over its time: 0.62 for "bytes.dram". Precisions that were not
// collected are left out; empty if the kernel has no time.
std::map<std::string, double> shares_of_peak(const documents::MeasuredKernel& kernel,
                                             const documents::MeasuredDevice& device);

}  // namespace pagoda::measured
#pragma GCC visibility pop
