// Table of the hot loops of the CPU ceilings: the work of each, the CPU feature it needs, and the instructions that its
// loop must have, for the audit.
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

// The functions of the assembly files.
using ComputeFunction = void(std::uint64_t trips, const void* in, void* out);
using BandwidthFunction = void(void* a, const void* b, const void* c, std::uint64_t bytes, std::uint64_t trips);
using ChainFunction = std::uint64_t(std::uint64_t trips);

struct ComputeKernel {
  std::string_view name;
  ComputeFunction* run;
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
  BandwidthFunction* run;
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
  ChainFunction* run;
  std::string_view feature;
};
inline constexpr std::int64_t kChainClocks = 128;  // per trip

// Kernels of the architecture of this build, including those whose feature the machine lacks.
std::span<const ComputeKernel> compute_kernels();
std::span<const BandwidthKernel> bandwidth_kernels();
std::span<const ChainKernel> chain_kernels();

// A re-implementation of ERT's kernel, to compare our ceilings with what ERT would report.
struct ErtKernel {
  int flops;  // per element of 8 bytes, read and written once
  void (*run)(double* a, std::int64_t n, std::int64_t trials);
};
// Kernels with 1, 2, 4 … 1024 operations per element, as ERT is configured. On x86-64, for AVX-512 or AVX2.
std::span<const ErtKernel> ert_kernels(bool has_avx512);

// Flushes denormals to zero on the calling thread: they slow some cores down. No kernel should produce any.
void flush_denormals();
// Requests the AMX tile registers from the operating system; true if they may be used.
bool allow_tiles();

}  // namespace pagoda::tools::ceilings
