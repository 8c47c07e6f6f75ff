// The kernel of Berkeley's Empirical Roofline Tool, re-implemented from its description: every element is read, used in
// a chain of `Flops` operations on one accumulator, and written back. Chains are fully unrolled, as by ERT's macros,
// and compiled for the CPU's widest vectors: a comparison with a badly compiled kernel would prove nothing.
#include <array>

#include "cpu_kernels.h"

namespace pagoda::tools::ceilings {
namespace {

#if defined(__x86_64__)
#define PAGODA_WIDE __attribute__((target("avx2,fma")))
#define PAGODA_WIDEST __attribute__((target("avx512f,avx2,fma")))
#else
#define PAGODA_WIDE
#define PAGODA_WIDEST
#endif

// `Steps` times beta = beta·x + alpha, by recursive halving so that nesting stays within compilers' limits.
template <int Steps>
inline __attribute__((always_inline)) double chain(double beta, double x, double alpha) {
  if constexpr (Steps == 1)
    return beta * x + alpha;
  else
    return chain<Steps - Steps / 2>(chain<Steps / 2>(beta, x, alpha), x, alpha);
}

template <int Flops>
inline __attribute__((always_inline)) double body(double x, double alpha) {
  if constexpr (Flops == 1)
    return x + alpha;
  else
    return chain<Flops / 2>(0.8, x, alpha);
}

#define PAGODA_ERT(target, name)                                                \
  template <int Flops>                                                          \
  target void name(double* __restrict a, std::int64_t n, std::int64_t trials) { \
    double alpha = 0.5;                                                         \
    for (std::int64_t t = 0; t < trials; ++t) {                                 \
      for (std::int64_t i = 0; i < n; ++i) a[i] = body<Flops>(a[i], alpha);     \
      asm volatile("" : : "r"(a) : "memory");                                   \
      alpha *= 1 - 1e-8;                                                        \
    }                                                                           \
  }
PAGODA_ERT(PAGODA_WIDE, wide)
PAGODA_ERT(PAGODA_WIDEST, widest)

#define PAGODA_ALL(name)                                                                                    \
  {                                                                                                         \
    {1, name<1>}, {2, name<2>}, {4, name<4>}, {8, name<8>}, {16, name<16>}, {32, name<32>}, {64, name<64>}, \
        {128, name<128>}, {256, name<256>}, {512, name<512>}, {                                             \
      1024, name<1024>                                                                                      \
    }                                                                                                       \
  }
constexpr std::array<ErtKernel, 11> kWide = {PAGODA_ALL(wide)};
constexpr std::array<ErtKernel, 11> kWidest = {PAGODA_ALL(widest)};

}  // namespace

std::span<const ErtKernel> ert_kernels(bool has_avx512) {
  if (has_avx512) return kWidest;
  return kWide;
}

}  // namespace pagoda::tools::ceilings
