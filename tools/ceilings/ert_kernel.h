// A re-implementation of ERT's kernel, to compare our ceilings with what it would report.
#pragma once

#include <cstdint>
#include <vector>

namespace ceilings {

struct ErtKernel {
  int flops;  // per element of 8 bytes, which is read and written
  void (*run)(double* a, std::int64_t n, std::int64_t trials);
};
std::vector<ErtKernel> ert_kernels(bool has_avx512);

}  // namespace ceilings
