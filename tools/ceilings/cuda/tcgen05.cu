// Tensor cores of Blackwell's data-centre chips (sm_100a, sm_103a) by tcgen05.mma, the only way to their full rate:
// tiles of 128 × 256 from shared memory into tensor memory, issued by one thread.
#include "tcgen05_layout.h"
#include "tiles.cuh"

#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM103_ALL)

using namespace tcgen05;

__device__ __forceinline__ uint32_t shared_address(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }

// Spins until the phase of a barrier with this parity has completed.
__device__ __forceinline__ void wait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{ .reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again; }" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// One thread of a warp, in a form that the compiler knows to be one.
__device__ __forceinline__ bool elected() {
  uint32_t chosen;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(chosen));
  return chosen != 0;
}

// Scales of blocks; those of zeros and ones are 1, random ones 1/2, 1 or 2. Tensor memory holds the scales of row r in
// lane r % 32, column r / 32, a byte a block, and all of them again in each of its four parts of 32 lanes.
template <bool kE8m0>
struct Scales {
  static __device__ uint32_t of(int exponent) {
    return kE8m0 ? (uint32_t)(127 + exponent) : (uint32_t)(7 + exponent) << 3;
  }
  static __device__ uint32_t word(int fill, bool of_a, int row) {
    uint32_t all = 0;
    for (int block = 0; block < 4; ++block) {
      int exponent = 0;
      if (fill == kPattern) exponent = of_a ? exponent_a(row, block) : exponent_b(row, block);
      if (fill == kRandom) exponent = (int)(hash(row * 8 + block * 2 + of_a) % 3) - 1;
      all |= of(exponent) << 8 * block;
    }
    return all;
  }
  static __device__ void store(uint32_t tensor, int fill) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t part = tensor + ((uint32_t)warp * 32 << 16);
    uint32_t a[4], b[8];
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = word(fill, true, 32 * i + lane);
#pragma unroll
    for (int i = 0; i < 8; ++i) b[i] = word(fill, false, 32 * i + lane);
    asm volatile("tcgen05.st.sync.aligned.32x32b.x4.b32 [%0], {%1,%2,%3,%4};" ::"r"(part + kScalesA), "r"(a[0]),
                 "r"(a[1]), "r"(a[2]), "r"(a[3])
                 : "memory");
    asm volatile("tcgen05.st.sync.aligned.32x32b.x8.b32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8};" ::"r"(part + kScalesB),
                 "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7])
                 : "memory");
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
  }
};
struct NoScales {
  static __device__ void store(uint32_t, int) {}
};

struct Room {
  uint32_t pool, tensor, done;  // shared, tensor and shared addresses; two barriers
};

// Tiles in shared memory, barriers set up, tensor memory taken: all of it.
template <typename F, typename S>
__device__ Room prepare(unsigned char* pool, int fill) {
  __shared__ uint32_t taken;
  __shared__ __align__(8) unsigned long long barriers[2];
  unsigned char* base = pool + ((1024 - (shared_address(pool) & 1023)) & 1023);
  for (int stage = 0; stage < 2; ++stage) {
    fill_tile<F>(base + stage * kStageA, kM, fill, true, 1 + 16384 * stage, stage == 0 ? kEven : 1);
    fill_tile<F>(base + 2 * kStageA + stage * kStageB, kN, fill, false, 200001 + 65536 * stage);
  }
  const uint32_t first = shared_address(barriers);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(first) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(first + 8) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (threadIdx.x < 32) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(&taken)),
                 "n"(kColumns)
                 : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
  }
  // Tensor cores read by the asynchronous proxy: what this thread stored must be visible there before the barrier.
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  const uint32_t tensor = *(volatile uint32_t*)&taken;
  S::store(tensor, fill);
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  return {shared_address(base), tensor, first};
}

// Column i of the accumulators of lane = row `threadIdx.x`: a warp reaches the 32 lanes of its own part.
__device__ void write_result(uint32_t tensor, uint32_t* out) {
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  const uint32_t part = tensor + ((threadIdx.x / 32 * 32) << 16);
#pragma unroll 1
  for (uint32_t column = 0; column < kN; column += 8) {
    uint32_t d[8];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]), "=r"(d[4]), "=r"(d[5]), "=r"(d[6]), "=r"(d[7])
                 : "r"(part + column));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
#pragma unroll
    for (uint32_t i = 0; i < 8; ++i) out[(blockIdx.x * kN + column + i) * (size_t)blockDim.x + threadIdx.x] = d[i];
  }
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  if (threadIdx.x < 32)
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(tensor), "n"(kColumns) : "memory");
}

// 8 products of 32 bytes of depth, four times a trip. The first of a trip overwrites the accumulators, so nothing grows
// over the trips. Products of one thread run in the order of their issue; a trip is issued while the one before it
// runs, and no sooner, so the queue is never empty.
// clang-format off
#define TCGEN05(name, F, S, IDESC, INSTRUCTION, SCALES)                                                                \
  extern "C" __global__ void __launch_bounds__(128, 1) name(unsigned trips, int fill, uint32_t* out, Clocks* clocks) { \
    extern __shared__ __align__(1024) unsigned char pool[];                                                            \
    const Room room = prepare<F, S>(pool, fill);                                                                       \
    start(clocks);                                                                                                     \
    if (__shfl_sync(0xffffffffU, threadIdx.x / 32, 0) == 0 && elected()) {                                             \
      uint64_t a[8], b[8];                                                                                             \
      _Pragma("unroll") for (int k = 0; k < 8; ++k) {                                                                  \
        a[k] = descriptor(address_a(room.pool, k));                                                                    \
        b[k] = descriptor(address_b(room.pool, k));                                                                    \
      }                                                                                                                \
      _Pragma("unroll 1") for (unsigned trip = 0; trip < trips; ++trip) {                                              \
        _Pragma("unroll") for (int k = 0; k < kProducts; ++k)                                                          \
          asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; " INSTRUCTION " [%0], %1, %2, %3, " SCALES "p; }"        \
                       ::"r"(room.tensor), "l"(a[k % 8]), "l"(b[k % 8]), "r"(IDESC), "r"(k > 0 ? 1 : 0),               \
                         "r"(room.tensor + kScalesA), "r"(room.tensor + kScalesB)                                      \
                       : "memory");                                                                                    \
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];"                     \
                     ::"r"(room.done + trip % 2 * 8) : "memory");                                                      \
        if (trip > 0) wait(room.done + (trip - 1) % 2 * 8, (trip - 1) / 2 % 2);                                        \
      }                                                                                                                \
      if (trips > 0) wait(room.done + (trips - 1) % 2 * 8, (trips - 1) / 2 % 2);                                       \
    }                                                                                                                  \
    __syncwarp();                                                                                                      \
    stop(clocks);                                                                                                      \
    write_result(room.tensor, out);                                                                                    \
  }
// clang-format on

TCGEN05(tcgen05_f16, F16, NoScales, instruction(1, 0, 0), "tcgen05.mma.cta_group::1.kind::f16", "")
TCGEN05(tcgen05_bf16, Bf16, NoScales, instruction(1, 1, 0), "tcgen05.mma.cta_group::1.kind::f16", "")
TCGEN05(tcgen05_tf32, Tf32, NoScales, instruction(1, 2, 0), "tcgen05.mma.cta_group::1.kind::tf32", "")
TCGEN05(tcgen05_fp8, E4m3, NoScales, instruction(1, 0, 0), "tcgen05.mma.cta_group::1.kind::f8f6f4", "")
#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
TCGEN05(tcgen05_i8, I8, NoScales, instruction(2, 1, 0), "tcgen05.mma.cta_group::1.kind::i8", "")
#endif
// Blocks of 32 with scales of powers of two (OCP's MX formats), and of 16 with scales of e4m3 (NVFP4).
TCGEN05(tcgen05_mxfp8, E4m3, Scales<true>, instruction(0, 0, 1),
        "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X", "[%5], [%6], ")
TCGEN05(tcgen05_mxfp4, E2m1, Scales<true>, instruction(0, 1, 1),
        "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X", "[%5], [%6], ")
TCGEN05(tcgen05_nvfp4, E2m1, Scales<false>, instruction(0, 1, 0),
        "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X", "[%5], [%6], ")
#endif
