// The hot loops of the CPU ceilings, as a table: what each does, what it needs, and where its code lies for the audit.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "pagoda/core/device.h"
#include "pagoda/core/tensor_type.h"

namespace pagoda::tools::ceilings {

// What the accumulators of a compute kernel do each step; decides what its output must be.
enum class Step : std::uint8_t {
  Fma,          // x = a*x + b
  Subtract,     // x = b - x
  MulAdd,       // x = a*x; x = x + b
  FmaAdd,       // the first ones: x = a*x + b, the others: x = b - x
  Accumulate,   // x = x + a*b
  DotInt8,      // 32-bit lanes: x += Σ 4 products, a signed, b unsigned
  DotBfloat16,  // float lanes: x += Σ 2 products
  Tile,         // tile products
};

struct Code {
  const char* loop;
  const char* loop_end;
};

struct ComputeKernel {
  std::string_view name;
  void (*run)(std::uint64_t trips, const void* in, void* out);
  Code code;
  std::string_view feature;  // a flag of /proc/cpuinfo; empty: always there
  std::string_view isa;      // "scalar", "sse", "avx2", …
  Precision precision;
  std::string_view op;  // as theory.h names them
  int vector_bits;
  int accumulators;   // that are stored to `out`
  int steps;          // of each accumulator in a trip
  std::int64_t work;  // FLOP or OP a trip
  std::string_view instruction;
  int instructions;  // of that name in the loop
  Step step;
  std::string_view accumulate = "";
};

struct BandwidthKernel {
  std::string_view name;
  void (*run)(void* a, const void* b, const void* c, std::uint64_t bytes, std::uint64_t trips);
  Code code;
  std::string_view feature;
  std::string_view isa;
  std::string_view op;  // "load", "store", "copy", "triad", "update"; with "_nt" past the caches
  int vector_bits;
  std::int64_t step;  // bytes of each array a trip
  int arrays;         // distinct ones
  int moved;          // arrays' worth of bytes credited a trip: those loaded plus those stored
  int allocated;      // arrays' worth of bytes that a cache also reads because a store allocates its line
  std::string_view instruction;
  int instructions;
};

struct ChainKernel {
  std::string_view isa;
  std::uint64_t (*run)(std::uint64_t trips);
  std::string_view feature;
};
inline constexpr std::int64_t kChainClocks = 128;  // a trip

// Of the architecture this was built for; kernels whose feature the machine lacks are in them too.
std::span<const ComputeKernel> compute_kernels();
std::span<const BandwidthKernel> bandwidth_kernels();
std::span<const ChainKernel> chain_kernels();

// Denormal numbers slow some cores down; no kernel should meet one, and this makes sure of the thread it is called on.
void flush_denormals();
// Asks the kernel for the tile registers; true where they may be used.
bool allow_tiles();

}  // namespace pagoda::tools::ceilings
