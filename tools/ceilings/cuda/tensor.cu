// Tensor cores. mma.sync (every architecture since Turing): 8 independent tiles per warp, 8 steps of each per trip.
// wgmma (Hopper, sm_90a): tiles of 64 × 256 from shared memory, the only path to its full rate.
#include "tiles.cuh"

// mma.sync ------------------------------------------------------------------------------------------------------------

// Each packs one 32-bit register of operands in one format.
__device__ __forceinline__ uint32_t pack_f16(int fill, uint32_t seed) {
  if (fill == kZeros) return 0;
  if (fill == kOnes) return 0x3c003c00U;
  const __half2 v = __floats2half2_rn(uniform(2 * seed), uniform(2 * seed + 1));
  return *reinterpret_cast<const uint32_t*>(&v);
}
__device__ __forceinline__ uint32_t pack_bf16(int fill, uint32_t seed) {
  if (fill == kZeros) return 0;
  if (fill == kOnes) return 0x3f803f80U;
  const uint32_t low = __float_as_uint(uniform(2 * seed)) >> 16, high = __float_as_uint(uniform(2 * seed + 1)) >> 16;
  return low | high << 16;
}
__device__ __forceinline__ uint32_t pack_tf32(int fill, uint32_t seed) {
  return fill == kZeros ? 0 : fill == kOnes ? 0x3f800000U : __float_as_uint(uniform(seed)) & 0xffffe000U;
}
__device__ __forceinline__ uint32_t pack_i8(int fill, uint32_t seed) {
  return fill == kZeros ? 0 : fill == kOnes ? 0x01010101U : hash(seed);
}
// Random signs and mantissas, exponents from 2^-3 to 2^0: every code is finite.
__device__ __forceinline__ uint32_t pack_e4m3(int fill, uint32_t seed) {
  return fill == kZeros ? 0 : fill == kOnes ? 0x38383838U : (hash(seed) & 0x9f9f9f9fU) | 0x20202020U;
}

#define MMA(name, T, ACC, TILES, REGS_D, REGS_A, REGS_B, PACK, INSTRUCTION, RESULTS, OPERANDS)                 \
  KERNEL(256) name(unsigned trips, int fill, ACC* out, Clocks* clocks) {                                       \
    T a[REGS_A], b[REGS_B];                                                                                    \
    _Pragma("unroll") for (int i = 0; i < REGS_A; ++i) a[i] = PACK(fill, threadIdx.x * 16 + i);                \
    _Pragma("unroll") for (int i = 0; i < REGS_B; ++i) b[i] = PACK(fill, threadIdx.x * 16 + 8 + i);            \
    ACC d[TILES][REGS_D] = {};                                                                                 \
    start(clocks);                                                                                             \
    _Pragma("unroll 1") for (unsigned trip = 0; trip < trips; ++trip) {                                        \
      _Pragma("unroll") for (int step = 0; step < 8; ++step) _Pragma("unroll") for (int t = 0; t < TILES; ++t) \
          asm volatile(INSTRUCTION : RESULTS : OPERANDS);                                                      \
    }                                                                                                          \
    stop(clocks);                                                                                              \
    _Pragma("unroll") for (int t = 0; t < TILES; ++t) _Pragma("unroll") for (int i = 0; i < REGS_D; ++i)       \
        out[(blockIdx.x * TILES * REGS_D + t * REGS_D + i) * (size_t)blockDim.x + threadIdx.x] = d[t][i];      \
  }
#define D2(c) "+" c(d[t][0]), "+" c(d[t][1])
#define D4(c) D2(c), "+" c(d[t][2]), "+" c(d[t][3])
// With operands of four and two registers.
#define MMA_4_2(name, ACC, c, PACK, INSTRUCTION)                                                                   \
  MMA(name, uint32_t, ACC, 8, 4, 4, 2, PACK, INSTRUCTION " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};", \
      D4(c), A4B2)
#define A4B2 "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])
#define A2B1 "r"(a[0]), "r"(a[1]), "r"(b[0])
#define A1B1_F64 "d"(a[0]), "d"(b[0])

#if __CUDA_ARCH__ >= 800
MMA_4_2(mma_f16, float, "f", pack_f16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
MMA_4_2(mma_bf16, float, "f", pack_bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
MMA_4_2(mma_tf32, float, "f", pack_tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
MMA_4_2(mma_i8, int, "r", pack_i8, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
#elif __CUDA_ARCH__ >= 750
MMA(mma_f16, uint32_t, float, 8, 4, 2, 1, pack_f16,
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};", D4("f"), A2B1)
#endif
// Hopper and data-centre Blackwell convert these operands to half floats; only wgmma and tcgen05 reach the 8-bit rate.
#if __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200
MMA_4_2(mma_fp8, float, "f", pack_e4m3, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
#endif

// Double precision: m8n8k4, which runs on every chip with such tensor cores; from Hopper on m16n8k16, 8 times the work.
__device__ __forceinline__ double pack_f64(int fill, uint32_t seed) {
  return fill == kZeros ? 0.0 : fill == kOnes ? 1.0 : (double)uniform(seed);
}
#define A8B4_F64                                                                                                \
  "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]), \
      "d"(b[2]), "d"(b[3])
#if __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000
MMA(mma_f64, double, double, 4, 4, 8, 4, pack_f64,
    "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, "
    "{%0,%1,%2,%3};",
    D4("d"), A8B4_F64)
#elif __CUDA_ARCH__ == 800
MMA(mma_f64, double, double, 4, 2, 1, 1, pack_f64,
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};", D2("d"), A1B1_F64)
#endif

// wgmma ---------------------------------------------------------------------------------------------------------------

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Shared memory descriptor: address and stride in units of 16 bytes, 1024 bytes from one group of 8 rows to the next,
// rows of 128 bytes with the 128-byte swizzle (layout 1).
__device__ __forceinline__ uint64_t descriptor(uint32_t address) {
  return (uint64_t)((address & 0x3ffff) >> 4) | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}

#define R8(c, n) c(d[n]), c(d[n + 1]), c(d[n + 2]), c(d[n + 3]), c(d[n + 4]), c(d[n + 5]), c(d[n + 6]), c(d[n + 7])
#define R64(c, n) \
  R8(c, n), R8(c, n + 8), R8(c, n + 16), R8(c, n + 24), R8(c, n + 32), R8(c, n + 40), R8(c, n + 48), R8(c, n + 56)
#define OUT128 \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,"  \
  "%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57," \
  "%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85," \
  "%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,"  \
  "%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127}, "

// Two warpgroups, each with its own A (64 rows) and a common B (256 rows), two stages of 128 bytes of depth: 8 products
// with 32 bytes of depth, four times per trip. The first product of a trip overwrites the accumulators, so nothing
// grows over the trips (doing so in mid-trip would let the compiler drop the products before it). A product takes 128
// clocks on all four tensor cores; while one warpgroup waits for its last product, those of the other are queued.
#define WGMMA(name, F, ACC, CONSTRAINT, INSTRUCTION, TAIL)                                                            \
  extern "C" __global__ void __launch_bounds__(256, 1) name(unsigned trips, int fill, ACC* out, Clocks* clocks) {     \
    extern __shared__ __align__(1024) unsigned char pool[];                                                           \
    unsigned char* base = pool + ((1024 - (__cvta_generic_to_shared(pool) & 1023)) & 1023);                           \
    for (int stage = 0; stage < 2; ++stage) {                                                                         \
      const int even = stage == 0 ? kEven : 1;                                                                        \
      fill_tile<F>(base + stage * 16384, {64, 0, true, 1U + 16384 * stage, even}, fill);                              \
      fill_tile<F>(base + stage * 16384 + 8192, {64, 0, true, 100001U + 16384 * stage, even}, fill);                  \
      fill_tile<F>(base + 32768 + stage * 32768, {256, 0, false, 200001U + 65536 * stage}, fill);                     \
    }                                                                                                                 \
    /* Tensor cores read through the asynchronous proxy: make stores visible there before the barrier. */             \
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");                                                      \
    __syncthreads();                                                                                                  \
    const uint32_t shared = (uint32_t)__cvta_generic_to_shared(base);                                                 \
    uint64_t a[8], b[8];                                                                                              \
    _Pragma("unroll") for (int k = 0; k < 8; ++k) {                                                                   \
      a[k] = descriptor(shared + (k / 4) * 16384 + threadIdx.x / 128 * 8192 + k % 4 * 32);                            \
      b[k] = descriptor(shared + 32768 + (k / 4) * 32768 + k % 4 * 32);                                               \
    }                                                                                                                 \
    ACC d[128];                                                                                                       \
    _Pragma("unroll") for (int i = 0; i < 128; ++i) d[i] = 0;                                                         \
    start(clocks);                                                                                                    \
    _Pragma("unroll 1") for (unsigned trip = 0; trip < trips; ++trip) {                                               \
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");                                                         \
      _Pragma("unroll") for (int k = 0; k < 32; ++k)                                                                  \
          asm volatile("{ .reg .pred p; setp.ne.b32 p, %130, 0; " INSTRUCTION OUT128 "%128, %129, p" TAIL "; }"     \
                       : R64("+" CONSTRAINT, 0), R64("+" CONSTRAINT, 64)                                              \
                       : "l"(a[k % 8]), "l"(b[k % 8]), "r"(k > 0 ? 1 : 0));                                           \
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");                                                  \
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");                                                  \
    }                                                                                                                 \
    stop(clocks);                                                                                                     \
    _Pragma("unroll") for (int i = 0; i < 128; ++i)                                                                   \
        out[(blockIdx.x * 128 + i) * (size_t)blockDim.x + threadIdx.x] = d[i];                                        \
  }

WGMMA(wgmma_f16, F16, float, "f", "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 ", ", 1, 1, 0, 0")
WGMMA(wgmma_bf16, Bf16, float, "f", "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 ", ", 1, 1, 0, 0")
WGMMA(wgmma_tf32, Tf32, float, "f", "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 ", ", 1, 1")
WGMMA(wgmma_fp8, E4m3, float, "f", "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3 ", ", 1, 1")
WGMMA(wgmma_i8, I8, int, "r", "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 ", "")
#endif
