// cuBLASLt with the first choice of its heuristic. Compiled if the headers exist; the library is opened at run time.
#include "matmul.h"

#ifdef PAGODA_CUBLASLT
#include <cublasLt.h>

#include <memory>

#include "cuda_memory.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#endif

namespace pagoda::tools::conv {

#ifndef PAGODA_CUBLASLT

ProductLibrary cublaslt_products(int) {
  return {.name = "cublaslt", .unavailable = "built without cuBLASLt; install the CUDA toolkit and build again"};
}

#else

namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;  // upper limit for the heuristic

struct CublasLtApi : GpuLibrary {
  using Handle = cublasLtHandle_t;
  CublasLtApi() : GpuLibrary(cat("libcublasLt.so.", CUBLAS_VER_MAJOR), cat("CUDA ", CUBLAS_VER_MAJOR, "'s cuBLAS")) {}

  Function<decltype(&::cublasLtCreate)> create = find("cublasLtCreate");
  Function<decltype(&::cublasLtDestroy)> destroy = find("cublasLtDestroy");
  Function<decltype(&::cublasLtGetVersion)> version = find("cublasLtGetVersion");
  Function<decltype(&::cublasLtGetStatusString)> text = find("cublasLtGetStatusString");
  Function<decltype(&::cublasLtMatmulDescCreate)> create_operation = find("cublasLtMatmulDescCreate");
  Function<decltype(&::cublasLtMatmulDescDestroy)> destroy_operation = find("cublasLtMatmulDescDestroy");
  Function<decltype(&::cublasLtMatrixLayoutCreate)> create_layout = find("cublasLtMatrixLayoutCreate");
  Function<decltype(&::cublasLtMatrixLayoutDestroy)> destroy_layout = find("cublasLtMatrixLayoutDestroy");
  Function<decltype(&::cublasLtMatmulPreferenceCreate)> create_preference = find("cublasLtMatmulPreferenceCreate");
  Function<decltype(&::cublasLtMatmulPreferenceSetAttribute)> set_preference =
      find("cublasLtMatmulPreferenceSetAttribute");
  Function<decltype(&::cublasLtMatmulPreferenceDestroy)> destroy_preference = find("cublasLtMatmulPreferenceDestroy");
  Function<decltype(&::cublasLtMatmulAlgoGetHeuristic)> heuristic = find("cublasLtMatmulAlgoGetHeuristic");
  Function<decltype(&::cublasLtMatmul)> matmul = find("cublasLtMatmul");
};

using Context = GpuContext<CublasLtApi>;

// cuBLASLt is column-major: row-major C = A·B is column-major Cᵀ = Bᵀ·Aᵀ with the same bytes.
struct Prepared {
  std::shared_ptr<Context> context;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
  cublasLtMatmulHeuristicResult_t chosen{};
  std::unique_ptr<CudaBuffer> a, b, c, workspace;
  explicit Prepared(std::shared_ptr<Context> owner) : context(std::move(owner)) {}
  ~Prepared() {
    if (operation) context->api.destroy_operation(operation);
    for (const cublasLtMatrixLayout_t layout : {first, second, result})
      if (layout) context->api.destroy_layout(layout);
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  void run() const {
    const float one = 1, zero = 0;
    context->check(context->api.matmul, context->handle, operation, &one, b->get(), first, a->get(), second, &zero,
                   c->get(), result, c->get(), result, &chosen.algo, workspace->get(), kWorkspaceBytes, cudaStream_t{});
  }
};

ProductRun prepare(const std::shared_ptr<Context>& context, const ProductShape& s, const std::string& type) {
  const CublasLtApi& api = context->api;
  ProductRun run;
  const bool is_half = type == "float16", is_bfloat = type == "bfloat16";
  const cudaDataType_t element = is_half ? CUDA_R_16F : is_bfloat ? CUDA_R_16BF : CUDA_R_32F;
  const auto p = std::make_shared<Prepared>(context);
  context->check(api.create_operation, &p->operation,
                 type == "tf32" ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const auto m = static_cast<std::uint64_t>(s.m), n = static_cast<std::uint64_t>(s.n),
             k = static_cast<std::uint64_t>(s.k);
  context->check(api.create_layout, &p->first, element, n, k, s.n);
  context->check(api.create_layout, &p->second, element, k, m, s.k);
  context->check(api.create_layout, &p->result, CUDA_R_32F, n, m, s.n);
  cublasLtMatmulPreference_t preference = nullptr;
  context->check(api.create_preference, &preference);
  api.set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspaceBytes, sizeof kWorkspaceBytes);
  int found = 0;
  const cublasStatus_t status = api.heuristic(context->handle, p->operation, p->first, p->second, p->result, p->result,
                                              preference, 1, &p->chosen, &found);
  api.destroy_preference(preference);
  if (status != CUBLAS_STATUS_SUCCESS || found == 0) {
    run.refused = "the heuristic has nothing for it";
    return run;
  }
  run.implementation = cat("the heuristic's first choice, ", p->chosen.workspaceSize, " B of workspace");
  const auto upload = [&](std::int64_t count, std::uint64_t seed) {
    const std::vector<float> values = exact_values(count, seed);
    auto buffer = std::make_unique<CudaBuffer>(*context->device, values.size() * (is_half || is_bfloat ? 2 : 4));
    if (is_half || is_bfloat)
      buffer->from_host((is_half ? as_float16 : as_bfloat16)(values).data());
    else
      buffer->from_host(values.data());
    return buffer;
  };
  p->a = upload(s.m * s.k, 1);
  p->b = upload(s.k * s.n, 2);
  p->c = std::make_unique<CudaBuffer>(*context->device, static_cast<std::size_t>(s.m * s.n) * sizeof(float));
  p->workspace = std::make_unique<CudaBuffer>(*context->device, kWorkspaceBytes);
  run.together = [p](std::int64_t times) { return p->context->device->time_together(times, [&] { p->run(); }); };
  run.output = [p] { return p->c->floats(); };
  return run;
}

}  // namespace

ProductLibrary cublaslt_products(int device_index) {
  const auto context = std::make_shared<Context>();
  ProductLibrary library{.name = "cublaslt", .unavailable = context->open(device_index)};
  if (context->api.missing.empty()) library.version = cat(context->api.version());
  if (context->device) library.device = context->device->name();
  library.prepare = [context](const ProductShape& shape, const std::string& type) {
    return prepare(context, shape, type);
  };
  return library;
}

#endif

}  // namespace pagoda::tools::conv
