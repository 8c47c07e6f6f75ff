// OpenBLAS and oneDNN through their C APIs, which have been stable for years.
#include "cpu_run.h"

#include <cstdint>
#include <map>
#include <memory>

#include "nvidia_library.h"

namespace pagoda::tools::ceilings {
namespace {

template <typename T>
struct Operands {
  std::vector<T> a, b, c;
  explicit Operands(int n) : a(square(n)), b(square(n)), c(square(n)) {
    std::uint32_t state = 12345;
    const auto next = [&] {  // uniform in [-1, 1]
      state = state * 1664525 + 1013904223;
      return static_cast<T>(static_cast<std::int32_t>(state)) / static_cast<T>(2147483648.0);
    };
    for (T& x : a) x = next();
    for (T& x : b) x = next();
  }
  static std::size_t square(int n) { return static_cast<std::size_t>(n) * static_cast<std::size_t>(n); }
};

constexpr int kRowMajor = 101, kNoTranspose = 111;  // CBLAS constants

template <typename T>
GemmLibrary openblas(const DynamicLibrary& blas, const char* gemm_name, const char* precision) {
  using Gemm = void (*)(int, int, int, int, int, int, T, const T*, int, const T*, int, T, T*, int);
  const auto gemm = blas.symbol<Gemm>(gemm_name);
  const auto set_threads = blas.symbol<void (*)(int)>("openblas_set_num_threads");
  GemmLibrary library{"openblas", precision, nullptr, "libopenblas.so.0 is not installed"};
  if (!gemm || !set_threads) return library;
  auto cache = std::make_shared<std::map<int, Operands<T>>>();
  library.run = [gemm, set_threads, cache](int n, int threads) {
    Operands<T>& x = cache->try_emplace(n, n).first->second;
    set_threads(threads);
    gemm(kRowMajor, kNoTranspose, kNoTranspose, n, n, n, T{1}, x.a.data(), n, x.b.data(), n, T{0}, x.c.data(), n);
  };
  return library;
}

GemmLibrary onednn() {
  const DynamicLibrary dnnl({"libdnnl.so.3", "libdnnl.so.2"});
  using Gemm = int (*)(char, char, std::int64_t, std::int64_t, std::int64_t, float, const float*, std::int64_t,
                       const float*, std::int64_t, float, float*, std::int64_t);
  const auto gemm = dnnl.symbol<Gemm>("dnnl_sgemm");
  // oneDNN uses OpenMP threads.
  const auto set_threads = DynamicLibrary({"libgomp.so.1"}).symbol<void (*)(int)>("omp_set_num_threads");
  GemmLibrary library{"onednn", "float32", nullptr, "libdnnl is not installed"};
  if (!gemm) return library;
  auto cache = std::make_shared<std::map<int, Operands<float>>>();
  library.run = [gemm, set_threads, cache](int n, int threads) {
    Operands<float>& x = cache->try_emplace(n, n).first->second;
    if (set_threads) set_threads(threads);
    gemm('N', 'N', n, n, n, 1.0F, x.a.data(), n, x.b.data(), n, 0.0F, x.c.data(), n);
  };
  return library;
}

}  // namespace

std::vector<GemmLibrary> gemm_libraries() {
  const DynamicLibrary blas({"libopenblas.so.0", "libopenblas.so"});
  return {openblas<double>(blas, "cblas_dgemm", "float64"), openblas<float>(blas, "cblas_sgemm", "float32"), onednn()};
}

}  // namespace pagoda::tools::ceilings
