// The kernel of Berkeley's Empirical Roofline Tool, written anew from its description: every element is read, takes
// part in a chain of `Flops` operations on one accumulator, and is written back. Compiled for the widest vectors the
// CPU has.
#include "ert_kernel.h"

#include <array>

namespace ceilings {
namespace {

#if defined(__GNUC__) && defined(__x86_64__)
#define PAGODA_WIDE __attribute__((target("avx2,fma")))
#if defined(__clang__)  // knows no preferred width here
#define PAGODA_WIDEST __attribute__((target("avx512f,avx2,fma")))
#else
#define PAGODA_WIDEST __attribute__((target("avx512f,avx2,fma,prefer-vector-width=512")))
#endif
#else
#define PAGODA_WIDE
#define PAGODA_WIDEST
#endif

template <int Flops>
inline __attribute__((always_inline)) double body(double x, double alpha) {
  if constexpr (Flops == 1) {
    return x + alpha;
  } else {
    double beta = 0.8;
    for (int i = 0; i < Flops / 2; ++i) beta = beta * x + alpha;
    return beta;
  }
}

#define PAGODA_ERT(target, name)                                                \
  template <int Flops>                                                          \
  target void name(double* __restrict a, std::int64_t n, std::int64_t trials) { \
    double alpha = 0.5;                                                         \
    for (std::int64_t t = 0; t < trials; ++t) {                                 \
      for (std::int64_t i = 0; i < n; ++i) a[i] = body<Flops>(a[i], alpha);     \
      asm volatile("" : : "r"(a) : "memory");                                           \
      alpha *= 1 - 1e-8;                                                        \
    }                                                                           \
  }
PAGODA_ERT(PAGODA_WIDE, wide)
PAGODA_ERT(PAGODA_WIDEST, widest)
#if !defined(__x86_64__)
PAGODA_ERT(, plain)
#endif

}  // namespace

std::vector<ErtKernel> ert_kernels(bool has_avx512) {
#if defined(__x86_64__)
  if (has_avx512)
    return {{1, widest<1>},   {2, widest<2>},   {4, widest<4>},  {8, widest<8>},
            {16, widest<16>}, {32, widest<32>}, {64, widest<64>}};
  return {{1, wide<1>}, {2, wide<2>}, {4, wide<4>}, {8, wide<8>}, {16, wide<16>}, {32, wide<32>}, {64, wide<64>}};
#else
  (void)has_avx512;
  return {{1, plain<1>},   {2, plain<2>},   {4, plain<4>},  {8, plain<8>},
          {16, plain<16>}, {32, plain<32>}, {64, plain<64>}};
#endif
}

}  // namespace ceilings
