// Checks that a kernel computes what it is credited for.
#pragma once

#include <vector>

#include "cpu_kernels.h"
#include "protocol.h"

namespace pagoda::tools::ceilings {

// Operands with which a compute kernel is timed: results stay bounded however long it runs.
std::vector<char> operands(const ComputeKernel& kernel);

// Runs the kernel once on known values.
Verdict right_result(const ComputeKernel& kernel);
Verdict right_result(const BandwidthKernel& kernel);

}  // namespace pagoda::tools::ceilings
