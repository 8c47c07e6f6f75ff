// The embedded machine code of the GPU kernels: one cubin for each source and architecture. Empty where the build had
// no CUDA compiler.
#pragma once

#include <span>
#include <string_view>

namespace pagoda::tools::ceilings {

struct GpuBlob {
  int capability;           // 10 × major + minor
  bool exact;               // runs on no other: it uses features of this architecture alone
  std::string_view source;  // "vector", "memory", "tensor", "tcgen05"
  std::span<const unsigned char> cubin;
};
std::span<const GpuBlob> gpu_blobs();

// PTX of the kernels without features of one architecture, each ending in a zero: for chips newer than all machine code.
std::span<const GpuBlob> gpu_ptx();

// The capability whose code a device runs: the largest of its own major version that is not above it, and its own where
// the code is for features of one architecture (Hopper's wgmma, Blackwell's tcgen05). 0: none.
int best_capability(int major, int minor);

}  // namespace pagoda::tools::ceilings
