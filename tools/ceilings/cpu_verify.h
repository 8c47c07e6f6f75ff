// Checks that a kernel computes what it is credited for.
#pragma once

#include <string>
#include <vector>

#include "cpu_kernels.h"

namespace pagoda::tools::ceilings {

// Operands with which a compute kernel is timed: results stay bounded however long it runs.
std::vector<char> operands(const ComputeKernel& kernel);

// Runs the kernel once on known values; on failure, `detail` says what is wrong.
bool right_result(const ComputeKernel& kernel, std::string& detail);
bool right_result(const BandwidthKernel& kernel, std::string& detail);

}  // namespace pagoda::tools::ceilings
