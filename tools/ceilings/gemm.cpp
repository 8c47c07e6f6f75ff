// OpenBLAS and oneDNN through their C interfaces, which have been stable for years.
#include "gemm.h"

#include <dlfcn.h>

#include <cstdint>
#include <map>
#include <memory>

namespace ceilings {
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

template <typename T>
Operands<T>& operands(std::map<int, std::unique_ptr<Operands<T>>>& cache, int n) {
  auto& entry = cache[n];
  if (!entry) entry = std::make_unique<Operands<T>>(n);
  return *entry;
}

void* open_any(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return handle;
  return nullptr;
}

template <typename Function>
Function symbol(void* handle, const char* name) {
  return handle ? reinterpret_cast<Function>(dlsym(handle, name)) : nullptr;
}

constexpr int kRowMajor = 101, kNoTranspose = 111;  // of CBLAS

template <typename T>
GemmLibrary openblas(void* handle, const char* gemm_name, const char* precision) {
  using Gemm = void (*)(int, int, int, int, int, int, T, const T*, int, const T*, int, T, T*, int);
  const auto gemm = symbol<Gemm>(handle, gemm_name);
  const auto set_threads = symbol<void (*)(int)>(handle, "openblas_set_num_threads");
  GemmLibrary library{"openblas", precision, nullptr, "libopenblas.so.0 is not installed"};
  if (!gemm || !set_threads) return library;
  auto cache = std::make_shared<std::map<int, std::unique_ptr<Operands<T>>>>();
  library.run = [gemm, set_threads, cache](int n, int threads) {
    Operands<T>& x = operands(*cache, n);
    set_threads(threads);
    gemm(kRowMajor, kNoTranspose, kNoTranspose, n, n, n, T{1}, x.a.data(), n, x.b.data(), n, T{0}, x.c.data(), n);
  };
  return library;
}

GemmLibrary onednn(void* handle) {
  using Gemm = int (*)(char, char, std::int64_t, std::int64_t, std::int64_t, float, const float*, std::int64_t,
                       const float*, std::int64_t, float, float*, std::int64_t);
  const auto gemm = symbol<Gemm>(handle, "dnnl_sgemm");
  // Its threads are those of OpenMP.
  const auto set_threads = symbol<void (*)(int)>(handle ? RTLD_DEFAULT : nullptr, "omp_set_num_threads");
  void* openmp = set_threads ? nullptr : open_any({"libgomp.so.1"});
  const auto set = set_threads ? set_threads : symbol<void (*)(int)>(openmp, "omp_set_num_threads");
  GemmLibrary library{"onednn", "float32", nullptr, "libdnnl is not installed"};
  if (!gemm) return library;
  auto cache = std::make_shared<std::map<int, std::unique_ptr<Operands<float>>>>();
  library.run = [gemm, set, cache](int n, int threads) {
    Operands<float>& x = operands(*cache, n);
    if (set) set(threads);
    gemm('N', 'N', n, n, n, 1.0F, x.a.data(), n, x.b.data(), n, 0.0F, x.c.data(), n);
  };
  return library;
}

}  // namespace

std::vector<GemmLibrary> gemm_libraries() {
  void* blas = open_any({"libopenblas.so.0", "libopenblas.so"});
  void* dnnl = open_any({"libdnnl.so.3", "libdnnl.so.2"});
  return {openblas<double>(blas, "cblas_dgemm", "float64"), openblas<float>(blas, "cblas_sgemm", "float32"),
          onednn(dnnl)};
}

}  // namespace ceilings
