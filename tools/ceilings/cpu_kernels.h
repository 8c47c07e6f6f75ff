// Table of the hot loops of the CPU ceilings: what each does, what it needs, and which instructions its loop must have, for the audit.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "pagoda/core/device.h"
#include "pagoda/core/tensor_type.h"

namespace pagoda::tools::ceilings {

// The operation of a compute kernel's accumulators in each step; determines the expected output.
enum class Step : std::uint8_t {
  Fma,          // x = a*x + b
  Subtract,     // x = b - x
  MulAdd,       // x = a*x; x = x + b
  FmaAdd,       // the first accumulators: x = a*x + b, the others: x = b - x
  Accumulate,   // x = x + a*b
  DotInt8,      // 32-bit lanes: x += Σ 4 products, a signed, b unsigned
  DotBfloat16,  // float lanes: x += Σ 2 products
  Tile,         // tile products
};

struct ComputeKernel {
  std::string_view name;
  void (*run)(std::uint64_t trips, const void* in, void* out);
  std::string_view feature;  // a flag of /proc/cpuinfo; empty: always present
  std::string_view isa;      // "scalar", "sse", "avx2", …
  Precision precision;
  std::string_view op;  // named as in theory.h
  int vector_bits;
  int accumulators;   // stored to `out`
  int steps;          // of each accumulator per trip
  std::int64_t work;  // FLOP or OP per trip
  std::string_view instruction;
  int instructions;  // number of `instruction` in the loop
  Step step;
  std::string_view accumulate = "";
};

struct BandwidthKernel {
  std::string_view name;
  void (*run)(void* a, const void* b, const void* c, std::uint64_t bytes, std::uint64_t trips);
  std::string_view feature;
  std::string_view isa;
  std::string_view op;  // "load", "store", "copy", "triad", "update"; "_nt": bypasses the caches
  int vector_bits;
  std::int64_t step;  // bytes of each array per trip
  int arrays;         // distinct arrays
  int moved;          // arrays credited as traffic: those loaded plus those stored
  int allocated;      // arrays that a cache reads in addition, because stores allocate their lines
  std::string_view instruction;
  int instructions;
};

struct ChainKernel {
  std::string_view isa;
  std::uint64_t (*run)(std::uint64_t trips);
  std::string_view feature;
};
inline constexpr std::int64_t kChainClocks = 128;  // per trip

// Kernels of the architecture of this build, including those whose feature the machine lacks.
std::span<const ComputeKernel> compute_kernels();
std::span<const BandwidthKernel> bandwidth_kernels();
std::span<const ChainKernel> chain_kernels();

// Flushes denormals to zero on the calling thread: they slow some cores down. No kernel should produce any.
void flush_denormals();
// Requests the AMX tile registers from the operating system; true if they may be used.
bool allow_tiles();

}  // namespace pagoda::tools::ceilings
