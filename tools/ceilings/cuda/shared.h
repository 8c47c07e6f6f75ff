// Shared by the kernels and the host: the clocks that each block records, and the operands with known results.
#pragma once

#include <stdint.h>

#ifdef __CUDACC__
#define PAGODA_BOTH __host__ __device__
#else
#define PAGODA_BOTH
#endif

namespace kernels {

// SM cycles and nanoseconds at the start and end of a block: their ratio is the actual clock frequency while the kernel
// ran, independent of NVML.
struct Clocks {
  unsigned long long cycles[2], nanoseconds[2];
};
// The constants are enumerators: NVRTC puts constexpr variables into the module, and the tests' interpreter refuses
// modules with variables. In larger grids, only the first blocks are recorded.
enum : unsigned { kMostRecords = 4096 };

// Operand fills: zeros draw little power, random data as much as an application; ones and patterns give known results.
enum Fill { kZeros = 0, kRandom = 1, kOnes = 2, kPattern = 3 };
enum : int { kEven = 2 };  // factor of the pattern of even products, see tiles.cuh

PAGODA_BOTH constexpr uint32_t hash(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ (x >> 16);
}

}  // namespace kernels
