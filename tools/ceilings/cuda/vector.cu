// Arithmetic of the CUDA cores. Each thread runs independent chains; a trip of the loop has 512 instructions of one kind
// and one branch. The compiler does not know the parameters a and b, so it cannot fold anything.
#include "common.cuh"

// Starting values depend on the thread (FLOAT_START: 0 if a is 0) and every result is stored, so nothing can be
// dropped. Results are compared with the same steps on the host.
#define CHAINS_OF(count, instructions, name, T, START, STEP, RESULT)                                         \
  KERNEL(256) name(unsigned trips, T a, T b, T* out, Clocks* clocks) {                                       \
    T x[count];                                                                                              \
    _Pragma("unroll") for (int i = 0; i < count; ++i) x[i] = START;                                          \
    start(clocks);                                                                                           \
    _Pragma("unroll 1") for (unsigned trip = 0; trip < trips; ++trip) {                                      \
      _Pragma("unroll") for (int step = 0; step < instructions / count; ++step)                              \
          _Pragma("unroll") for (int i = 0; i < count; ++i) x[i] = STEP;                                     \
    }                                                                                                        \
    stop(clocks);                                                                                            \
    _Pragma("unroll") for (int i = 0; i < count; ++i)                                                        \
        out[(blockIdx.x * count + i) * (size_t)blockDim.x + threadIdx.x] = RESULT;                           \
  }
#define CHAINS(name, T, START, STEP) CHAINS_OF(8, 512, name, T, START, STEP, x[i])
// Pairs of halves: with 8 chains, the compiler orders the two kinds of instruction, which run on different halves of the
// unit, so that some follow their own kind; an H200 then reaches 87 % of the rate.
#define HALF_CHAINS(name, T, START, STEP) CHAINS_OF(16, 512, name, T, START, STEP, x[i])

// As an instruction: the compiler of CUDA 13 takes half a minute to find that 64 nested polynomials do not simplify.
__device__ __forceinline__ int multiply_add(int x, int a, int b) {
  int y;
  asm("mad.lo.s32 %0, %1, %2, %3;" : "=r"(y) : "r"(x), "r"(a), "r"(b));
  return y;
}

#define FLOAT_START ((a == 0) ? 0 : (threadIdx.x % 32) * 0.25F + i)
CHAINS(fma_f32, float, FLOAT_START, __fmaf_rn(x[i], a, b))
CHAINS(add_f32, float, FLOAT_START, __fadd_rn(b, -x[i]))
CHAINS(mul_f32, float, FLOAT_START, __fmul_rn(x[i], a))
CHAINS(fma_f64, double, FLOAT_START, __fma_rn(x[i], a, b))
CHAINS(add_f64, double, FLOAT_START, __dadd_rn(b, -x[i]))
HALF_CHAINS(fma_f16, __half2, __float2half2_rn((float)(threadIdx.x % 8 + i)), __hfma2(x[i], a, b))
HALF_CHAINS(add_f16, __half2, __float2half2_rn((float)(threadIdx.x % 8 + i)), __hadd2(x[i], b))
#if __CUDA_ARCH__ >= 800
HALF_CHAINS(fma_bf16, __nv_bfloat162, __float2bfloat162_rn((float)(threadIdx.x % 8 + i)), __hfma2(x[i], a, b))
#endif
CHAINS(imad_i32, int, (int)threadIdx.x + i, multiply_add(x[i], a, b))
CHAINS(dp4a_i8, int, (int)threadIdx.x + i, __dp4a(a, b, x[i]))

// Special functions: x = 2^-x converges from every start to 0.64119 = W(ln 2) / ln 2. The negation costs nothing.
__device__ __forceinline__ float exp2_of_negative(float x) {
  float y;
  asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(-x));
  return y;
}
CHAINS_OF(8, 128, special_f32, float, a + 0.125F * i, exp2_of_negative(x[i]), x[i] + b)

extern "C" __global__ void empty() {}

// Spins for a number of clocks: one warp per SM keeps the chip awake without doing work (active idle).
extern "C" __global__ void spin(unsigned long long clocks_to_wait) {
  const unsigned long long from = cycles_now();
  while (cycles_now() - from < clocks_to_wait) {
  }
}
