// A re-implementation of ERT's kernel, to compare our ceilings with what ERT would report.
#pragma once

#include <cstdint>
#include <span>

namespace pagoda::tools::ceilings {

struct ErtKernel {
  int flops;  // per element of 8 bytes, read and written once
  void (*run)(double* a, std::int64_t n, std::int64_t trials);
};
// Kernels with 1, 2, 4 … 1024 operations per element, as ERT is configured. On x86-64, for AVX-512 or AVX2.
std::span<const ErtKernel> ert_kernels(bool has_avx512);

}  // namespace pagoda::tools::ceilings
