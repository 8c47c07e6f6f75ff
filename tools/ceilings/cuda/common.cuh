// Common to all kernels: reading clocks and waiting for barriers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "shared.h"

using namespace kernels;

#define KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)

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

// Spins until the phase of a barrier in shared memory with this parity has completed.
__device__ __forceinline__ void wait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{ .reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again; }" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// Uniform in [-1, 1].
__device__ __forceinline__ float uniform(uint32_t seed) { return (float)(int32_t)hash(seed) * (1.0F / 2147483648.0F); }
