// The embedded machine code of the GPU kernels: one cubin per source and architecture. Empty if the build had no CUDA
// compiler.
#pragma once

#include <span>
#include <string_view>

namespace pagoda::tools::ceilings {

struct GpuBlob {
  int capability;           // 10 × major + minor
  bool exact;               // runs only on this capability: it uses architecture-specific features
  std::string_view source;  // "vector", "memory", "tensor", "tcgen05"
  std::span<const unsigned char> cubin;
};
std::span<const GpuBlob> gpu_blobs();

// PTX of the kernels without architecture-specific features, zero-terminated: for chips newer than all machine code.
std::span<const GpuBlob> gpu_ptx();

// The capability whose code a device runs: the highest of the same major version that does not exceed the device's;
// architecture-specific code (Hopper's wgmma, Blackwell's tcgen05) must match exactly. 0: none.
int best_capability(int major, int minor);

}  // namespace pagoda::tools::ceilings
