// Common to all kernels: the clocks that each block records, and operands that are zeros, random or known.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

// SM cycles and nanoseconds at the start and end of a block: their ratio is the actual clock frequency while the kernel
// ran, independent of NVML.
struct Clocks {
  unsigned long long cycles[2], nanoseconds[2];
};
// In larger grids, only the first blocks are recorded.
enum : unsigned { kMostRecords = 4096 };  // not a constexpr variable: NVRTC would put one into the module

__device__ __forceinline__ unsigned long long nanoseconds_now() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

__device__ __forceinline__ unsigned long long cycles_now() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
  return t;
}

__device__ __forceinline__ void start(Clocks* clocks) {
  if (threadIdx.x == 0 && blockIdx.x < kMostRecords) {
    clocks[blockIdx.x].nanoseconds[0] = nanoseconds_now();
    clocks[blockIdx.x].cycles[0] = cycles_now();
  }
}

__device__ __forceinline__ void stop(Clocks* clocks) {
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x < kMostRecords) {
    clocks[blockIdx.x].cycles[1] = cycles_now();
    clocks[blockIdx.x].nanoseconds[1] = nanoseconds_now();
  }
}

// Operand fills: zeros draw little power, random data as much as an application; ones and patterns give known results.
enum Fill { kZeros = 0, kRandom = 1, kOnes = 2, kPattern = 3 };

__device__ __forceinline__ uint32_t hash(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ (x >> 16);
}

// Uniform in [-1, 1].
__device__ __forceinline__ float uniform(uint32_t seed) { return (float)(int32_t)hash(seed) * (1.0F / 2147483648.0F); }
