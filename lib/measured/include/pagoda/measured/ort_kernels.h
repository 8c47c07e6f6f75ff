// Kernels of ONNX Runtime's CPU provider out of a profile, by the sizes that it states of each.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pagoda/core/cpu_engine.h"
#include "pagoda/documents/measured.h"

#pragma GCC visibility push(default)
namespace pagoda::measured {

// The channels of a block: the largest power of two up to 64 that divides the outputs of every two-dimensional
// convolution, which the engine fills up; 0 below 4: it works on whole images.
int channel_block(const documents::Measured& profile);

// Kernels with a time whose sizes tell their work. Weights that the engine packed anew are not in a profile: integer
// convolutions, attention and other products whose sizes do not tell their depth are looked up in `named`, by the
// node's name in the model.
std::vector<TimedCpuKernel> timed_kernels(const documents::Measured& profile, int channel_block,
                                          const std::map<std::string, CpuKernel>& named);

}  // namespace pagoda::measured
#pragma GCC visibility pop
