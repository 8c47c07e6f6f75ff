// The embedded machine code of the GPU kernels: one cubin per source and architecture. Empty if the build had no CUDA
// compiler.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "code_audit.h"

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

// Decodes the machine code of NVIDIA GPUs in a cubin just enough to count the instructions of a hot loop, so the
// audited bytes are those that are embedded and timed. Valid for Volta and later: 16 bytes per instruction.
// Kernel names of a cubin. Throws Error if it is not a 64-bit ELF file.
std::vector<std::string> kernels_of(std::span<const unsigned char> cubin);
// The loop of a kernel, without NOPs: unknown instructions are named by number, as "op1c4". It is the loop with most of
// the `wanted` instructions; if several have as many, the shortest. Empty: no such kernel, or no loop. `capability` is
// 10 × major + minor: since Hopper, branches are encoded differently.
std::optional<CodeAudit> hot_loop(std::span<const unsigned char> cubin, int capability, std::string_view kernel,
                                  const std::vector<std::string_view>& wanted);

// The instructions that the loop of an embedded kernel must contain.
struct SassClaim {
  std::string kernel;
  std::vector<std::string_view> instructions;  // all of these are counted
  int count;                                   // their total
  int overhead;                                // most other instructions
  int data_center_blackwell = 0;               // the count there, if a product takes several instructions
};
std::vector<SassClaim> sass_claims();
std::vector<SassClaim> arithmetic_claims();  // those of gpu_arithmetic.cpp
// The objection to the kernel's loop; empty: none, or the kernel does not exist for this architecture.
std::string objection(std::span<const unsigned char> cubin, const SassClaim& claim, int capability);

}  // namespace pagoda::tools::ceilings
