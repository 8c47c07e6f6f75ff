// Tensor cores of Blackwell's data-centre chips (sm_100a, sm_103a) with tcgen05.mma, the only path to their full rate:
// products from shared memory into tensor memory, issued by one thread of a block or of a pair of blocks.
#include "tcgen05_layout.h"
#include "tiles.cuh"

#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM103_ALL)

using namespace tcgen05;

__device__ __forceinline__ uint32_t shared_address(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }

// True in one thread of a warp, in a form in which the compiler recognises a single thread.
__device__ __forceinline__ bool elected() {
  uint32_t chosen;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(chosen));
  return chosen != 0;
}

// A single block, or two of a cluster: rank, synchronisation, and the instructions whose text names the group. `rank`
// is the block's number in its pair; the first block issues. `finish` signals a barrier of every block when all
// products issued so far are done.
#define GROUP(blocks)                                                                                             \
  struct GroupOf##blocks {                                                                                        \
    static constexpr int kBlocks = blocks;                                                                        \
    static __device__ void allocate(uint32_t to) {                                                                \
      asm volatile("tcgen05.alloc.cta_group::" #blocks ".sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(to),       \
                   "n"(kColumns)                                                                                  \
                   : "memory");                                                                                   \
      asm volatile("tcgen05.relinquish_alloc_permit.cta_group::" #blocks ".sync.aligned;" ::: "memory");          \
    }                                                                                                             \
    static __device__ void release(uint32_t tensor) {                                                             \
      asm volatile("tcgen05.dealloc.cta_group::" #blocks ".sync.aligned.b32 %0, %1;" ::"r"(tensor), "n"(kColumns) \
                   : "memory");                                                                                   \
    }                                                                                                             \
    static __device__ void commit(uint32_t barrier) {                                                             \
      asm volatile("tcgen05.commit.cta_group::" #blocks                                                           \
                   ".mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier)                              \
                   : "memory");                                                                                   \
    }                                                                                                             \
  };
GROUP(1)
GROUP(2)
struct Single : GroupOf1 {
  static __device__ uint32_t rank() { return 0; }
  static __device__ void meet() { __syncthreads(); }
  static __device__ void finish(uint32_t barrier) { commit(barrier); }
};
struct Pair : GroupOf2 {
  static __device__ uint32_t rank() {
    uint32_t r;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
  }
  static __device__ void meet() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  }
  static __device__ void finish(uint32_t barrier) {
    asm volatile(
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
            barrier),
        "h"((unsigned short)3)
        : "memory");
  }
};

// Block scales: 1 with fills of zeros and ones; 1/2, 1 or 2 with random fills. Tensor memory has the scales of row r in
// lane r % 32, column r / 32, one byte per block, repeated in each of its four parts of 32 lanes. Each thread block of
// a pair has the scales of its own rows of A and of all rows of B.
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
  static __device__ void store(uint32_t part, int first, int fill) {
    const int lane = threadIdx.x % 32;
    uint32_t a[4], b[8];
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = word(fill, true, first + 32 * i + lane);
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
// Equal scales, in all 32 columns of A and all 32 of B.
template <bool kE8m0>
struct AlikeScales {
  static __device__ void store(uint32_t part, int, int fill) {
    const uint32_t a = Scales<kE8m0>::of(fill == kPattern ? kLongExponent : 0) * 0x01010101U;
    const uint32_t b = Scales<kE8m0>::of(0) * 0x01010101U;
#pragma unroll 1
    for (uint32_t column = 0; column < 32; column += 4) {
      asm volatile("tcgen05.st.sync.aligned.32x32b.x4.b32 [%0], {%1,%1,%1,%1};" ::"r"(part + kScalesA + column), "r"(a)
                   : "memory");
      asm volatile("tcgen05.st.sync.aligned.32x32b.x4.b32 [%0], {%1,%1,%1,%1};" ::"r"(part + kScalesB + column), "r"(b)
                   : "memory");
    }
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
  }
};
struct NoScales {
  static __device__ void store(uint32_t, int, int) {}
};

struct Room {
  uint32_t pool, tensor;  // addresses of the tiles and in tensor memory, the same in both blocks of a pair
  uint32_t done;          // address of two barriers for the trips and one for the end
};

// Fills the tiles in shared memory, initialises the barriers and allocates all tensor memory.
template <typename F, typename S, typename G, int kDepth>
__device__ Room prepare(unsigned char* pool, int fill) {
  __shared__ uint32_t taken;
  __shared__ __align__(8) unsigned long long barriers[3];
  unsigned char* base = pool + ((1024 - (shared_address(pool) & 1023)) & 1023);
  const int rank = (int)G::rank();
  constexpr int kRowsB = kN / G::kBlocks;
  for (int stage = 0; stage < 2; ++stage) {
    const uint32_t seed = 1U + 65536U * (stage + 2 * rank);
    fill_tile<F>(base + stage * kStageA, {kM, rank * kM, true, seed, stage == 0 ? kEven : 1, kDepth}, fill);
    fill_tile<F>(base + 2 * kStageA + stage * kStageB, {kRowsB, rank * kRowsB, false, seed + 1000000U, 1, kDepth},
                 fill);
  }
  const uint32_t first = shared_address(barriers);
  if (threadIdx.x == 0) {
    for (int i = 0; i < 3; ++i) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(first + 8 * i) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (threadIdx.x < 32) G::allocate(shared_address(&taken));
  // Tensor cores read through the asynchronous proxy: this thread's stores must be visible there before the barrier.
  asm volatile("fence.proxy.async;" ::: "memory");
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  const uint32_t tensor = *(volatile uint32_t*)&taken;
  S::store(tensor + ((threadIdx.x / 32 * 32) << 16), rank * kM, fill);
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  G::meet();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  return {shared_address(base), tensor, first};
}

// Writes the accumulators, one row per thread: row `threadIdx.x` is the lane, and a warp accesses the 32 lanes of its
// own part.
template <typename G>
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
  G::meet();
  if (threadIdx.x < 32) G::release(tensor);
}

template <int kDepth>
__device__ __forceinline__ uint64_t operand(uint32_t address, uint32_t next) {
  return kDepth == kDepthBytes ? descriptor(address) : long_descriptor(address, next);
}

// Repeats products over two stages of depth. The first product of a trip overwrites the accumulators, so nothing grows
// over the trips. Products of one thread run in issue order; each trip is issued while the previous one runs, but no
// earlier, so the queue is never empty.
// clang-format off
#define TCGEN05(name, ATTRIBUTES, F, S, G, DEPTH, IDESC, INSTRUCTION, SCALES)                                          \
  extern "C" __global__ void ATTRIBUTES __launch_bounds__(128, 1)                                                      \
  name(unsigned trips, int fill, uint32_t* out, Clocks* clocks) {                                                      \
    extern __shared__ __align__(1024) unsigned char pool[];                                                            \
    const Room room = prepare<F, S, G, DEPTH>(pool, fill);                                                             \
    start(clocks);                                                                                                     \
    if (G::rank() == 0 && __shfl_sync(0xffffffffU, threadIdx.x / 32, 0) == 0 && elected()) {                           \
      constexpr int kOwn = 2 * per_stage(DEPTH);                                                                       \
      uint64_t a[kOwn], b[kOwn];                                                                                       \
      _Pragma("unroll") for (int k = 0; k < kOwn; ++k) {                                                               \
        const int next = k < kOwn / 2 ? kOwn / 2 : 0;                                                                  \
        a[k] = operand<DEPTH>(address_a(room.pool, k, DEPTH), address_a(room.pool, next, DEPTH));                      \
        b[k] = operand<DEPTH>(address_b(room.pool, k, DEPTH), address_b(room.pool, next, DEPTH));                      \
      }                                                                                                                \
      _Pragma("unroll 1") for (unsigned trip = 0; trip < trips; ++trip) {                                              \
        _Pragma("unroll") for (int k = 0; k < kProducts; ++k)                                                          \
          asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; " INSTRUCTION " [%0], %1, %2, %3, " SCALES "p; }"        \
                       ::"r"(room.tensor), "l"(a[k % kOwn]), "l"(b[k % kOwn]), "r"(IDESC), "r"(k > 0 ? 1 : 0),         \
                         "r"(room.tensor + kScalesA), "r"(room.tensor + kScalesB)                                      \
                       : "memory");                                                                                    \
        G::commit(room.done + trip % 2 * 8);                                                                           \
        if (trip > 0) wait(room.done + (trip - 1) % 2 * 8, (trip - 1) / 2 % 2);                                        \
      }                                                                                                                \
      G::finish(room.done + 16);                                                                                       \
    }                                                                                                                  \
    __syncwarp();                                                                                                      \
    if (threadIdx.x == 0) wait(room.done + 16, 0);                                                                     \
    stop(clocks);                                                                                                      \
    write_result<G>(room.tensor, out);                                                                                 \
  }
#define SINGLE(format, F, S, ACCUMULATOR, FORMAT, SCALE_FORMAT, KIND, SCALES)                                          \
  TCGEN05(tcgen05_##format, , F, S, Single, kDepthBytes, instruction(1, ACCUMULATOR, FORMAT, SCALE_FORMAT),            \
          "tcgen05.mma.cta_group::1." KIND, SCALES)
#define PAIR(format, F, S, ACCUMULATOR, FORMAT, SCALE_FORMAT, KIND, SCALES)                                            \
  TCGEN05(tcgen05_pair_##format, __cluster_dims__(2, 1, 1), F, S, Pair, kDepthBytes,                                   \
          instruction(2, ACCUMULATOR, FORMAT, SCALE_FORMAT), "tcgen05.mma.cta_group::2." KIND, SCALES)
#define BOTH(...) SINGLE(__VA_ARGS__) PAIR(__VA_ARGS__)
#define LONG(format, S, SCALE_FORMAT, KIND)                                                                            \
  TCGEN05(tcgen05_pair_##format, __cluster_dims__(2, 1, 1), E2m1, S, Pair, kLongDepthBytes,                            \
          instruction(2, 0, 1, SCALE_FORMAT, kLongDepthBytes), "tcgen05.mma.cta_group::2." KIND, "[%5], [%6], ")
// clang-format on

BOTH(f16, F16, NoScales, 1, 0, 0, "kind::f16", "")
BOTH(bf16, Bf16, NoScales, 1, 1, 0, "kind::f16", "")
BOTH(tf32, Tf32, NoScales, 1, 2, 0, "kind::tf32", "")
BOTH(fp8, E4m3, NoScales, 1, 0, 0, "kind::f8f6f4", "")
#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
BOTH(i8, I8, NoScales, 2, 1, 0, "kind::i8", "")
#endif
// Blocks of 32 with power-of-two scales (OCP's MX formats), and blocks of 16 with e4m3 scales (NVFP4).
BOTH(mxfp8, E4m3, Scales<true>, 0, 0, 1, "kind::mxf8f6f4.block_scale.scale_vec::1X", "[%5], [%6], ")
BOTH(mxfp4, E2m1, Scales<true>, 0, 1, 1, "kind::mxf4.block_scale.scale_vec::2X", "[%5], [%6], ")
BOTH(nvfp4, E2m1, Scales<false>, 0, 1, 0, "kind::mxf4nvf4.block_scale.scale_vec::4X", "[%5], [%6], ")
#if defined(__CUDA_ARCH_FEAT_SM103_ALL)
LONG(mxfp4_long, AlikeScales<true>, 1, "kind::mxf4.block_scale.block32")
LONG(nvfp4_long, AlikeScales<false>, 0, "kind::mxf4nvf4.block_scale.block16")
#endif
#endif
