// cuDNN's forward convolutions through its legacy API, in which algorithms have names. Compiled if the headers exist;
// the library is opened at run time. Adds no bias. Without a device, cuDNN checks only descriptors and output sizes;
// the shapes that its manual excludes are listed here.
#include "conv_run.h"

#ifdef PAGODA_CUDNN
#include <cudnn.h>

#include <algorithm>
#include <array>
#include <memory>

#include "cuda_memory.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"

// The whole legacy API is marked deprecated, but no other API selects algorithms by name.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace pagoda::tools::conv {

#ifndef PAGODA_CUDNN

ConvLibrary cudnn_library(int, bool) {
  return {.name = "cuDNN",
          .version = "",
          .adds_bias = false,
          .unavailable = "built without cuDNN; install its headers with the CUDA toolkit and build again"};
}

#else

namespace {

struct Row {
  const char* name;
  cudnnConvolutionFwdAlgo_t algorithm;
};
constexpr std::array<Row, 8> kAlgorithms = {{
    {"implicit_gemm", CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM},
    {"implicit_precomp_gemm", CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM},
    {"gemm", CUDNN_CONVOLUTION_FWD_ALGO_GEMM},
    {"direct", CUDNN_CONVOLUTION_FWD_ALGO_DIRECT},
    {"fft", CUDNN_CONVOLUTION_FWD_ALGO_FFT},
    {"fft_tiling", CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING},
    {"winograd", CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD},
    {"winograd_nonfused", CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED},
}};

const char* name_of(cudnnConvolutionFwdAlgo_t algorithm) {
  const auto row = std::ranges::find(kAlgorithms, algorithm, &Row::algorithm);
  return row == kAlgorithms.end() ? "an algorithm of a newer cuDNN" : row->name;
}

bool all_are(const Sizes& sizes, std::int64_t wanted) { return std::ranges::count(sizes, wanted) == std::ssize(sizes); }

// Shapes excluded by the manual of cuDNN 9 (cudnnConvolutionForward, tables of supported algorithms).
std::string documented_objection(const ConvLayer& l, const std::string& name) {
  if (l.pads_begin != l.pads_end) return "padding differs between the sides; cuDNN's descriptors have one";
  if (name == "direct") return "cuDNN has no direct algorithm: the name is reserved";
  const bool transforms = name == "fft" || name == "fft_tiling" || name.starts_with("winograd");
  if ((transforms || name == "gemm") && !all_are(l.dilations, 1)) return name + " needs dilation 1";
  if (!transforms) return {};
  if (!all_are(l.strides, 1)) return name + " needs stride 1";
  if (name == "winograd" && (l.kernel.size() != 2 || !all_are(l.kernel, 3))) return "winograd needs a 3x3 filter";
  if (name == "winograd_nonfused" && (l.kernel.size() != 2 || !(all_are(l.kernel, 3) || all_are(l.kernel, 5))))
    return "winograd_nonfused needs a 3x3 or 5x5 filter";
  if (!name.starts_with("fft")) return {};
  for (std::size_t i = 0; i < l.kernel.size(); ++i) {
    if (l.pads_begin[i] >= l.kernel[i]) return name + " needs padding below the filter's size";
    if (name == "fft" && l.in[i] + 2 * l.pads_begin[i] > 256) return "fft needs at most 256 with padding on an axis";
    if (name == "fft_tiling" && l.kernel[i] > 32) return "fft_tiling needs filters of at most 32";
  }
  return {};
}

struct CudnnApi : GpuLibrary {
  using Handle = cudnnHandle_t;
  CudnnApi() : GpuLibrary(cat("libcudnn.so.", CUDNN_MAJOR), cat("cuDNN ", CUDNN_MAJOR)) {}

  Function<decltype(&::cudnnGetVersion)> version = find("cudnnGetVersion");
  Function<decltype(&::cudnnGetErrorString)> text = find("cudnnGetErrorString");
  Function<decltype(&::cudnnCreate)> create = find("cudnnCreate");
  Function<decltype(&::cudnnDestroy)> destroy = find("cudnnDestroy");
  Function<decltype(&::cudnnCreateTensorDescriptor)> create_tensor = find("cudnnCreateTensorDescriptor");
  Function<decltype(&::cudnnDestroyTensorDescriptor)> destroy_tensor = find("cudnnDestroyTensorDescriptor");
  Function<decltype(&::cudnnSetTensorNdDescriptor)> set_tensor = find("cudnnSetTensorNdDescriptor");
  Function<decltype(&::cudnnCreateFilterDescriptor)> create_filter = find("cudnnCreateFilterDescriptor");
  Function<decltype(&::cudnnDestroyFilterDescriptor)> destroy_filter = find("cudnnDestroyFilterDescriptor");
  Function<decltype(&::cudnnSetFilterNdDescriptor)> set_filter = find("cudnnSetFilterNdDescriptor");
  Function<decltype(&::cudnnCreateConvolutionDescriptor)> create_convolution = find("cudnnCreateConvolutionDescriptor");
  Function<decltype(&::cudnnDestroyConvolutionDescriptor)> destroy_convolution =
      find("cudnnDestroyConvolutionDescriptor");
  Function<decltype(&::cudnnSetConvolutionNdDescriptor)> set_convolution = find("cudnnSetConvolutionNdDescriptor");
  Function<decltype(&::cudnnSetConvolutionGroupCount)> set_groups = find("cudnnSetConvolutionGroupCount");
  Function<decltype(&::cudnnSetConvolutionMathType)> set_math = find("cudnnSetConvolutionMathType");
  Function<decltype(&::cudnnGetConvolutionNdForwardOutputDim)> output_dims =
      find("cudnnGetConvolutionNdForwardOutputDim");
  Function<decltype(&::cudnnGetConvolutionForwardAlgorithm_v7)> heuristic =
      find("cudnnGetConvolutionForwardAlgorithm_v7");
  Function<decltype(&::cudnnGetConvolutionForwardWorkspaceSize)> workspace_size =
      find("cudnnGetConvolutionForwardWorkspaceSize");
  Function<decltype(&::cudnnConvolutionForward)> forward = find("cudnnConvolutionForward");
};

// cuDNN on a device, and the arithmetic that layers may use.
struct Context : GpuContext<CudnnApi> {
  cudnnMathType_t math = CUDNN_FMA_MATH;
};

// At least two spatial axes: a missing one has the size `missing`.
std::vector<int> axes(const Sizes& sizes, int missing) {
  std::vector<int> result(sizes.begin(), sizes.end());
  if (sizes.size() == 1) result.insert(result.begin(), missing);
  return result;
}

std::vector<int> dims(std::int64_t first, std::int64_t second, const Sizes& sizes) {
  std::vector<int> result = axes(sizes, 1);
  result.insert(result.begin(), {static_cast<int>(first), static_cast<int>(second)});
  return result;
}

// Descriptors of one layer.
class Descriptors {
 public:
  Descriptors(const Context& context, const ConvLayer& l) : api_(context.api) {
    const auto tensor = [&](cudnnTensorDescriptor_t& descriptor, const std::vector<int>& sizes) {
      context.check(api_.create_tensor, &descriptor);
      std::vector<int> strides(sizes.size(), 1);
      for (std::size_t i = sizes.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * sizes[i + 1];
      context.check(api_.set_tensor, descriptor, CUDNN_DATA_FLOAT, static_cast<int>(sizes.size()), sizes.data(),
                    strides.data());
    };
    const std::vector<int> y = dims(l.batch, l.out_channels, l.out),
                           w = dims(l.out_channels, l.in_channels / l.groups, l.kernel), pads = axes(l.pads_begin, 0),
                           strides = axes(l.strides, 1), dilations = axes(l.dilations, 1);
    tensor(source, dims(l.batch, l.in_channels, l.in));
    tensor(destination, y);
    context.check(api_.create_filter, &filter);
    context.check(api_.set_filter, filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, static_cast<int>(w.size()), w.data());
    context.check(api_.create_convolution, &convolution);
    context.check(api_.set_convolution, convolution, static_cast<int>(pads.size()), pads.data(), strides.data(),
                  dilations.data(), CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
    context.check(api_.set_groups, convolution, static_cast<int>(l.groups));
    context.check(api_.set_math, convolution, context.math);
    std::vector<int> found(y.size());
    context.check(api_.output_dims, convolution, source, filter, static_cast<int>(found.size()), found.data());
    if (found != y) throw Error("cuDNN finds another output size");
  }
  ~Descriptors() {
    if (source) api_.destroy_tensor(source);
    if (destination) api_.destroy_tensor(destination);
    if (filter) api_.destroy_filter(filter);
    if (convolution) api_.destroy_convolution(convolution);
  }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

  cudnnTensorDescriptor_t source = nullptr, destination = nullptr;
  cudnnFilterDescriptor_t filter = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;

 private:
  const CudnnApi& api_;
};

struct Prepared {
  std::shared_ptr<Context> context;
  Descriptors descriptors;
  cudnnConvolutionFwdAlgo_t algorithm{};
  std::size_t workspace_bytes = 0;
  std::unique_ptr<CudaBuffer> x, w, y, workspace;
  Prepared(std::shared_ptr<Context> c, const ConvLayer& layer) : context(std::move(c)), descriptors(*context, layer) {}

  cudnnStatus_t run() const {
    const float one = 1, zero = 0;
    return context->api.forward(context->handle, &one, descriptors.source, x->get(), descriptors.filter, w->get(),
                                descriptors.convolution, algorithm, workspace->get(), workspace_bytes, &zero,
                                descriptors.destination, y->get());
  }
};

// Selects the heuristic's first entry with status success and an allowed math type. Returns the problem; empty: none.
std::string choose_by_heuristic(Prepared& p) {
  const CudnnApi& api = p.context->api;
  std::array<cudnnConvolutionFwdAlgoPerf_t, 2 * CUDNN_CONVOLUTION_FWD_ALGO_COUNT> ranked{};
  int count = 0;
  const cudnnStatus_t status =
      api.heuristic(p.context->handle, p.descriptors.source, p.descriptors.filter, p.descriptors.convolution,
                    p.descriptors.destination, static_cast<int>(ranked.size()), &count, ranked.data());
  if (status != CUDNN_STATUS_SUCCESS) return cat("the heuristic fails: ", api.text(status));
  for (int i = 0; i < count; ++i) {
    const cudnnConvolutionFwdAlgoPerf_t& entry = ranked[static_cast<std::size_t>(i)];
    if (entry.status != CUDNN_STATUS_SUCCESS) continue;
    // Keep float32 arithmetic unless tensor cores were requested.
    if (p.context->math == CUDNN_FMA_MATH && entry.mathType != CUDNN_FMA_MATH && entry.mathType != CUDNN_DEFAULT_MATH)
      continue;
    p.algorithm = entry.algo;
    return {};
  }
  return "the heuristic has nothing for the layer";
}

ConvRun prepare(const std::shared_ptr<Context>& context, const ConvLayer& layer, const Operands& operands,
                const std::string& algorithm) {
  ConvRun run;
  if (layer.pads_begin != layer.pads_end) {
    run.refused = documented_objection(layer, algorithm);
    return run;
  }
  const auto p = std::make_shared<Prepared>(context, layer);
  const CudnnApi& api = context->api;
  const auto row = std::ranges::find(kAlgorithms, algorithm, &Row::name);
  if (row != kAlgorithms.end())
    p->algorithm = row->algorithm;
  else
    run.refused = choose_by_heuristic(*p);
  if (!run.refused.empty()) return run;
  const cudnnStatus_t fits =
      api.workspace_size(context->handle, p->descriptors.source, p->descriptors.filter, p->descriptors.convolution,
                         p->descriptors.destination, p->algorithm, &p->workspace_bytes);
  if (fits != CUDNN_STATUS_SUCCESS) {
    run.refused = cat("cuDNN: ", api.text(fits));
    if (const std::string why = documented_objection(layer, algorithm); !why.empty()) run.refused += " (" + why + ")";
    return run;
  }
  run.implementation = name_of(p->algorithm);
  run.workspace_bytes = static_cast<std::int64_t>(p->workspace_bytes);
  const auto buffer = [&](std::size_t bytes) { return std::make_unique<CudaBuffer>(*context->device, bytes); };
  p->x = buffer(operands.input.size() * sizeof(float));
  p->w = buffer(operands.weights.size() * sizeof(float));
  p->y = buffer(static_cast<std::size_t>(layer.out_elements()) * sizeof(float));
  p->workspace = buffer(p->workspace_bytes);
  p->x->from_host(operands.input.data());
  p->w->from_host(operands.weights.data());
  // Some algorithms accept a shape but fail when they run.
  if (const cudnnStatus_t status = p->run(); status != CUDNN_STATUS_SUCCESS) {
    run.refused = cat("cuDNN accepts the layer and fails to run it: ", api.text(status));
    return run;
  }
  context->device->wait();
  run.time = [p](std::int64_t n) {
    return p->context->device->time_each(n, [&] {
      if (const cudnnStatus_t status = p->run(); status != CUDNN_STATUS_SUCCESS)
        throw Error(cat("cudnnConvolutionForward: ", p->context->api.text(status)));
    });
  };
  run.output = [p] { return p->y->floats(); };
  return run;
}

// Objections that the library and its manual give without a device.
std::string objection(const Context& context, const ConvLayer& layer, const std::string& algorithm) {
  const std::string documented = documented_objection(layer, algorithm);
  if (!documented.empty()) return documented + " (by the manual)";
  if (!context.api.missing.empty()) return {};
  try {
    const Descriptors check(context, layer);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

ConvLibrary cudnn_library(int device_index, bool tensor_math) {
  const auto context = std::make_shared<Context>();
  context->math = tensor_math ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
  ConvLibrary library{.name = "cuDNN",
                      .version = "",
                      .adds_bias = false,
                      .clock = "device events",
                      .unavailable = context->open(device_index),
                      .algorithms = {"auto"}};
  for (const Row& row : kAlgorithms) library.algorithms.emplace_back(row.name);
  if (context->api.missing.empty()) {
    const std::size_t version = context->api.version();  // 91900: 9.19.0
    library.version = cat(version / 10000, ".", version / 100 % 100, ".", version % 100);
  }
  if (context->device) library.device = context->device->name();
  library.objection = [context](const ConvLayer& layer, const std::string& algorithm) {
    return objection(*context, layer, algorithm);
  };
  library.prepare = [context](const ConvLayer& layer, const Operands& operands, const std::string& algorithm) {
    return prepare(context, layer, operands, algorithm);
  };
  return library;
}

#endif

}  // namespace pagoda::tools::conv
