// Common to the experiments of a GPU and its kernels: operand fills, clocks of blocks, the pace of a kernel.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "pagoda/base/settings.h"

namespace pagoda::tools::ceilings {

inline constexpr unsigned kMostBlocksPerSm = 16;
inline constexpr unsigned kMostRecords = 4096;                   // blocks that record clocks, as in cuda/common.cuh
enum Fill { kZeros = 0, kRandom = 1, kOnes = 2, kPattern = 3 };  // as in cuda/common.cuh
inline constexpr int kEven = 2;                                  // factor of even products, as in cuda/tiles.cuh

// The record of a block: Clocks of cuda/common.cuh.
struct BlockClocks {
  std::uint64_t cycles[2], nanoseconds[2];
};

// The config of a candidate: its grid.
inline base::Settings grid_config(unsigned blocks_per_sm, unsigned threads) {
  return {{"blocks_per_sm", std::int64_t{blocks_per_sm}}, {"threads", std::int64_t{threads}}};
}

// The kernels' hash (cuda/common.cuh), so that the host can compute what they must have read.
constexpr std::uint32_t hash(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ (x >> 16);
}

// Of a precision: the unit of its rates, and the format in which its products are summed.
constexpr const char* unit_of(std::string_view precision) { return precision.starts_with("int") ? "OP/s" : "FLOP/s"; }
constexpr const char* accumulator_of(std::string_view precision) {
  return precision.starts_with("int") ? "int32" : precision == "float64" ? "float64" : "float32";
}

// Values of float16 and bfloat16 numbers.
inline double half_value(std::uint16_t h) {
  const int exponent = h >> 10 & 31;
  const double magnitude = exponent ? std::ldexp(1024 + (h & 1023), exponent - 25) : std::ldexp(h & 1023, -24);
  return h >> 15 ? -magnitude : magnitude;
}
inline double bfloat_value(std::uint16_t b) {
  return static_cast<double>(std::bit_cast<float>(std::uint32_t{b} << 16));
}

}  // namespace pagoda::tools::ceilings
