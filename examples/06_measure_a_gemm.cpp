// Measures a region of this program: a product of two bfloat16 matrices by cuBLAS, whose operations are known.
//   06_measure_a_gemm [N]
// Exits 77 where there is no GPU, 1 where the counters say anything but 2·N³.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#include "pagoda/measure.h"

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 4096;
  pagoda::measure::Session session;  // before the first CUDA call
  if (!session.problem().empty()) {
    std::printf("skipped: %s\n", session.problem().c_str());
    return 77;
  }
  const std::size_t bytes = sizeof(__nv_bfloat16) * static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  void *a = nullptr, *b = nullptr, *c = nullptr;
  cublasHandle_t handle = nullptr;
  if (cudaMalloc(&a, bytes) != cudaSuccess || cudaMalloc(&b, bytes) != cudaSuccess ||
      cudaMalloc(&c, bytes) != cudaSuccess || cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) {
    std::fprintf(stderr, "no memory for three matrices of %d x %d\n", n, n);
    return 1;
  }
  cudaMemset(a, 0, bytes);
  cudaMemset(b, 0, bytes);
  const float one = 1, zero = 0;
  {
    const pagoda::measure::Range range("gemm");
    cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, CUDA_R_16BF, n, b, CUDA_R_16BF, n, &zero, c,
                 CUDA_R_16BF, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    cudaDeviceSynchronize();
  }
  double counted = 0;
  for (const pagoda::documents::MeasuredKernel& kernel : session.finish().kernels) {
    if (kernel.node != "gemm") continue;
    const auto found = kernel.flops.find("bfloat16.tensor");
    if (found == kernel.flops.end() || !found->second) continue;
    counted += *found->second;
    std::printf("%-60.60s %10.3f us %14.0f FLOP %12.0f B of DRAM\n", kernel.name.c_str(),
                1e6 * kernel.seconds.value_or(0), *found->second, kernel.bytes.dram.value_or(0));
  }
  const double known = 2.0 * n * n * n;
  std::printf("counted %.0f FLOP, 2*N^3 is %.0f\n", counted, known);
  cublasDestroy(handle);
  for (void* pointer : {a, b, c}) cudaFree(pointer);
  return counted == known ? 0 : 1;
}
