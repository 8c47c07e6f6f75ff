// Work with known operations and bytes, for tests/gpu/profile.sh: one product of N x N matrices in a precision, in a
// range with the precision's name, and a scaling of N doubles in place, which reads and writes each. (A library may
// copy without a kernel, by cudaMemcpy, which kernel counters do not see.)
//   profile_workload (float64|float32|tf32|float16|bfloat16|float8|int8|scale|mixed) N [TIMES]
// mixed: products of bfloat16 with a fill and a copy between them
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "pagoda/measure.h"

namespace {

struct Format {
  cudaDataType in, out;
  cublasComputeType_t compute;
  std::size_t in_bytes, out_bytes;
};
const std::map<std::string, Format> kFormats = {
    {"float64", {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, 8, 8}},
    {"float32", {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC, 4, 4}},
    {"tf32", {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 4, 4}},
    {"float16", {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, 2, 2}},
    {"bfloat16", {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 2, 2}},
    {"int8", {CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, 1, 4}},
};

// Eight-bit floats are only supported by cuBLASLt, with the first operand transposed.
bool multiply_float8(void* a, void* b, void* c, int n) {
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t in = nullptr, out = nullptr;
  const cublasOperation_t transposed = CUBLAS_OP_T;
  const float one = 1, zero = 0;
  const auto m = static_cast<std::uint64_t>(n);
  return cublasLtCreate(&handle) == CUBLAS_STATUS_SUCCESS &&
         cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS &&
         cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed) ==
             CUBLAS_STATUS_SUCCESS &&
         cublasLtMatrixLayoutCreate(&in, CUDA_R_8F_E4M3, m, m, n) == CUBLAS_STATUS_SUCCESS &&
         cublasLtMatrixLayoutCreate(&out, CUDA_R_16BF, m, m, n) == CUBLAS_STATUS_SUCCESS &&
         cublasLtMatmul(handle, product, &one, a, in, b, in, &zero, c, out, c, out, nullptr, nullptr, 0, nullptr) ==
             CUBLAS_STATUS_SUCCESS;
}

bool multiply(cublasHandle_t handle, const std::string& name, void* a, void* b, void* c, int n) {
  if (name == "float8") return multiply_float8(a, b, c, n);
  const Format& format = kFormats.at(name);
  const float one = 1, zero = 0;
  const double one64 = 1, zero64 = 0;
  const int one32 = 1, zero32 = 0;
  const void* alpha = name == "float64" ? static_cast<const void*>(&one64)
                      : name == "int8"  ? &one32
                                        : static_cast<const void*>(&one);
  const void* beta = name == "float64" ? static_cast<const void*>(&zero64)
                     : name == "int8"  ? &zero32
                                       : static_cast<const void*>(&zero);
  return cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, alpha, a, format.in, n, b, format.in, n, beta, c,
                      format.out, n, format.compute, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "bfloat16";
  const int n = argc > 2 ? std::atoi(argv[2]) : 4096, times = argc > 3 ? std::atoi(argv[3]) : 1;
  if (n <= 0 || (name != "scale" && name != "float8" && name != "mixed" && !kFormats.contains(name))) return 2;
  const std::size_t bytes = name == "scale" ? 8UL * static_cast<std::size_t>(n)
                                            : 8UL * static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  void *a = nullptr, *b = nullptr, *c = nullptr;
  cublasHandle_t handle = nullptr;
  if (const cudaError_t started = cudaFree(nullptr); started != cudaSuccess) {
    std::fprintf(stderr, "profile_workload: %s\n", cudaGetErrorString(started));
    int driver = 0;  // 0: no driver
    const bool has_driver = cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0;
    const bool is_old = started == cudaErrorInsufficientDriver || started == cudaErrorUnsupportedPtxVersion;
    return is_old && has_driver ? 6 : is_old || started == cudaErrorNoDevice ? 4 : 1;
  }
  if (cudaMalloc(&a, bytes) != cudaSuccess || cudaMalloc(&b, bytes) != cudaSuccess ||
      cudaMalloc(&c, bytes) != cudaSuccess || cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) {
    std::fprintf(stderr, "profile_workload: no memory on the device, or cuBLAS does not start\n");
    return 1;
  }
  cudaMemset(a, 0, bytes);
  cudaMemset(b, 0, bytes);
  cudaMemset(c, 0, bytes);
  cudaDeviceSynchronize();
  bool fine = true;
  const double factor = 2;
  {
    const pagoda::measure::Range range(name);
    for (int i = 0; i < times && fine && name == "mixed"; ++i)
      fine = multiply(handle, "bfloat16", a, b, c, n) && cudaMemset(b, 0, bytes) == cudaSuccess &&
             cudaMemcpy(a, b, bytes, cudaMemcpyDeviceToDevice) == cudaSuccess &&
             multiply(handle, "bfloat16", a, b, c, n);
    for (int i = 0; i < times && fine && name != "mixed"; ++i)
      fine = name == "scale" ? cublasDscal(handle, n, &factor, static_cast<double*>(a), 1) == CUBLAS_STATUS_SUCCESS
                             : multiply(handle, name, a, b, c, n);
    fine = cudaDeviceSynchronize() == cudaSuccess && fine;
  }
  if (!fine) std::fprintf(stderr, "profile_workload: %s is refused on this device\n", name.c_str());
  return fine ? 0 : 1;
}
