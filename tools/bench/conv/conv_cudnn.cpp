// cuDNN's forward convolutions through its legacy API, in which algorithms have names. Compiled if the headers exist;
// the library is opened at run time. Adds no bias. Without a device, cuDNN checks only descriptors and output sizes;
// the shapes that its manual excludes are listed here.
#include "conv_run.h"

#ifdef PAGODA_CUDNN
#include <cudnn.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>

#include "cuda_memory.h"
#include "nvidia_library.h"
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

const Row* find_row(const std::string& name) {
  const auto row = std::find_if(kAlgorithms.begin(), kAlgorithms.end(), [&](const Row& r) { return name == r.name; });
  return row == kAlgorithms.end() ? nullptr : &*row;
}

const char* name_of(cudnnConvolutionFwdAlgo_t algorithm) {
  for (const Row& row : kAlgorithms)
    if (row.algorithm == algorithm) return row.name;
  return "an algorithm of a newer cuDNN";
}

bool all_are(const Sizes& sizes, std::int64_t wanted) {
  return std::all_of(sizes.begin(), sizes.end(), [&](std::int64_t size) { return size == wanted; });
}

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

// Functions with the header's names, so the compiler checks their types.
struct Api {
#define PAGODA_CUDNN_FUNCTIONS(X)                                                                        \
  X(cudnnGetVersion)                                                                                     \
  X(cudnnGetErrorString)                                                                                 \
  X(cudnnCreate)                                                                                         \
  X(cudnnDestroy)                                                                                        \
  X(cudnnCreateTensorDescriptor)                                                                         \
  X(cudnnDestroyTensorDescriptor)                                                                        \
  X(cudnnSetTensorNdDescriptor)                                                                          \
  X(cudnnCreateFilterDescriptor)                                                                         \
  X(cudnnDestroyFilterDescriptor)                                                                        \
  X(cudnnSetFilterNdDescriptor) X(cudnnCreateConvolutionDescriptor) X(cudnnDestroyConvolutionDescriptor) \
      X(cudnnSetConvolutionNdDescriptor) X(cudnnSetConvolutionGroupCount) X(cudnnSetConvolutionMathType) \
          X(cudnnGetConvolutionNdForwardOutputDim) X(cudnnGetConvolutionForwardAlgorithm_v7)             \
              X(cudnnGetConvolutionForwardWorkspaceSize) X(cudnnConvolutionForward)
#define X(function) decltype(&::function) function = nullptr;
  PAGODA_CUDNN_FUNCTIONS(X)
#undef X
  std::string missing;  // why cuDNN cannot be used

  Api() {
    const DynamicLibrary library({"libcudnn.so." + std::to_string(CUDNN_MAJOR)}, true);
    if (!library) {
      missing = "libcudnn.so." + std::to_string(CUDNN_MAJOR) + " cannot be opened; install cuDNN " +
                std::to_string(CUDNN_MAJOR) + " or add its folder to LD_LIBRARY_PATH";
      return;
    }
#define X(function_)                                           \
  if (!library.find(function_, #function_) && missing.empty()) \
    missing = "this cuDNN has no " #function_                  \
              "; install one of the headers' "                 \
              "version";
    PAGODA_CUDNN_FUNCTIONS(X)
#undef X
#undef PAGODA_CUDNN_FUNCTIONS
  }
  void check(cudnnStatus_t status, const char* call) const {
    if (status != CUDNN_STATUS_SUCCESS) throw Error(std::string(call) + ": " + cudnnGetErrorString(status));
  }
};

std::vector<int> dims(std::int64_t first, std::int64_t second, const Sizes& sizes) {
  std::vector<int> result = {static_cast<int>(first), static_cast<int>(second)};
  if (sizes.size() == 1) result.push_back(1);  // at least two spatial axes
  for (const std::int64_t size : sizes) result.push_back(static_cast<int>(size));
  return result;
}

std::vector<int> axes(const Sizes& sizes, int missing) {
  std::vector<int> result;
  if (sizes.size() == 1) result.push_back(missing);
  for (const std::int64_t size : sizes) result.push_back(static_cast<int>(size));
  return result;
}

// Descriptors of one layer.
class Descriptors {
 public:
  Descriptors(const Api& api, const ConvLayer& l, cudnnMathType_t math) : api_(api) {
    const auto tensor = [&](cudnnTensorDescriptor_t& descriptor, const std::vector<int>& sizes) {
      api.check(api.cudnnCreateTensorDescriptor(&descriptor), "cudnnCreateTensorDescriptor");
      std::vector<int> strides(sizes.size(), 1);
      for (std::size_t i = sizes.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * sizes[i + 1];
      api.check(api.cudnnSetTensorNdDescriptor(descriptor, CUDNN_DATA_FLOAT, static_cast<int>(sizes.size()),
                                               sizes.data(), strides.data()),
                "cudnnSetTensorNdDescriptor");
    };
    const std::vector<int> y = dims(l.batch, l.out_channels, l.out);
    tensor(source, dims(l.batch, l.in_channels, l.in));
    tensor(destination, y);
    const std::vector<int> w = dims(l.out_channels, l.in_channels / l.groups, l.kernel);
    api.check(api.cudnnCreateFilterDescriptor(&filter), "cudnnCreateFilterDescriptor");
    api.check(api.cudnnSetFilterNdDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, static_cast<int>(w.size()),
                                             w.data()),
              "cudnnSetFilterNdDescriptor");
    const std::vector<int> pads = axes(l.pads_begin, 0), strides = axes(l.strides, 1), dilations = axes(l.dilations, 1);
    api.check(api.cudnnCreateConvolutionDescriptor(&convolution), "cudnnCreateConvolutionDescriptor");
    api.check(
        api.cudnnSetConvolutionNdDescriptor(convolution, static_cast<int>(pads.size()), pads.data(), strides.data(),
                                            dilations.data(), CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
        "cudnnSetConvolutionNdDescriptor");
    api.check(api.cudnnSetConvolutionGroupCount(convolution, static_cast<int>(l.groups)),
              "cudnnSetConvolutionGroupCount");
    api.check(api.cudnnSetConvolutionMathType(convolution, math), "cudnnSetConvolutionMathType");
    std::vector<int> found(y.size());
    api.check(api.cudnnGetConvolutionNdForwardOutputDim(convolution, source, filter, static_cast<int>(found.size()),
                                                        found.data()),
              "cudnnGetConvolutionNdForwardOutputDim");
    if (found != y) throw Error("cuDNN finds another output size");
  }
  ~Descriptors() {
    if (source) api_.cudnnDestroyTensorDescriptor(source);
    if (destination) api_.cudnnDestroyTensorDescriptor(destination);
    if (filter) api_.cudnnDestroyFilterDescriptor(filter);
    if (convolution) api_.cudnnDestroyConvolutionDescriptor(convolution);
  }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

  cudnnTensorDescriptor_t source = nullptr, destination = nullptr;
  cudnnFilterDescriptor_t filter = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;

 private:
  const Api& api_;
};

struct Context {
  Api api;
  std::unique_ptr<CudaDevice> device;
  cudnnHandle_t handle = nullptr;
  cudnnMathType_t math = CUDNN_FMA_MATH;
  ~Context() {
    if (handle) api.cudnnDestroy(handle);
  }
};

struct Prepared {
  std::shared_ptr<Context> context;
  Descriptors descriptors;
  cudnnConvolutionFwdAlgo_t algorithm{};
  std::size_t workspace_bytes = 0;
  std::unique_ptr<CudaBuffer> x, w, y, workspace;
  std::int64_t outputs = 0;
  Prepared(std::shared_ptr<Context> c, const ConvLayer& layer)
      : context(std::move(c)), descriptors(context->api, layer, context->math), outputs(layer.out_elements()) {}

  cudnnStatus_t run() const {
    const float one = 1, zero = 0;
    return context->api.cudnnConvolutionForward(context->handle, &one, descriptors.source, x->get(), descriptors.filter,
                                                w->get(), descriptors.convolution, algorithm, workspace->get(),
                                                workspace_bytes, &zero, descriptors.destination, y->get());
  }
};

// Selects the heuristic's first entry with status success and an allowed math type. Returns the problem; empty: none.
std::string choose_by_heuristic(Prepared& p) {
  const Api& api = p.context->api;
  std::array<cudnnConvolutionFwdAlgoPerf_t, 2 * CUDNN_CONVOLUTION_FWD_ALGO_COUNT> ranked{};
  int count = 0;
  const cudnnStatus_t status = api.cudnnGetConvolutionForwardAlgorithm_v7(
      p.context->handle, p.descriptors.source, p.descriptors.filter, p.descriptors.convolution,
      p.descriptors.destination, static_cast<int>(ranked.size()), &count, ranked.data());
  if (status != CUDNN_STATUS_SUCCESS) return std::string("the heuristic fails: ") + api.cudnnGetErrorString(status);
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
  const Api& api = context->api;
  if (const Row* row = find_row(algorithm))
    p->algorithm = row->algorithm;
  else
    run.refused = choose_by_heuristic(*p);
  if (!run.refused.empty()) return run;
  const cudnnStatus_t fits = api.cudnnGetConvolutionForwardWorkspaceSize(
      context->handle, p->descriptors.source, p->descriptors.filter, p->descriptors.convolution,
      p->descriptors.destination, p->algorithm, &p->workspace_bytes);
  if (fits != CUDNN_STATUS_SUCCESS) {
    run.refused = std::string("cuDNN: ") + api.cudnnGetErrorString(fits);
    const std::string why = documented_objection(layer, algorithm);
    if (!why.empty()) run.refused += " (" + why + ")";
    return run;
  }
  run.implementation = name_of(p->algorithm);
  run.workspace_bytes = static_cast<std::int64_t>(p->workspace_bytes);
  const auto buffer = [&](std::size_t bytes) { return std::make_unique<CudaBuffer>(*context->device, bytes); };
  p->x = buffer(operands.input.size() * sizeof(float));
  p->w = buffer(operands.weights.size() * sizeof(float));
  p->y = buffer(static_cast<std::size_t>(p->outputs) * sizeof(float));
  p->workspace = buffer(p->workspace_bytes);
  p->x->from_host(operands.input.data());
  p->w->from_host(operands.weights.data());
  // Some algorithms accept a shape but fail when they run.
  if (const cudnnStatus_t status = p->run(); status != CUDNN_STATUS_SUCCESS) {
    run.refused = std::string("cuDNN accepts the layer and fails to run it: ") + api.cudnnGetErrorString(status);
    return run;
  }
  context->device->wait();
  run.time = [p](std::int64_t n) {
    return p->context->device->time_each(n, [&] { p->context->api.check(p->run(), "cudnnConvolutionForward"); });
  };
  run.output = [p] {
    std::vector<float> values(static_cast<std::size_t>(p->outputs));
    p->y->to_host(values.data());
    return values;
  };
  return run;
}

// Objections that the library and its manual give without a device.
std::string objection(const Context& context, const ConvLayer& layer, const std::string& algorithm) {
  const std::string documented = documented_objection(layer, algorithm);
  if (!documented.empty()) return documented + " (by the manual)";
  if (!context.api.missing.empty()) return {};
  try {
    Descriptors check(context.api, layer, context.math);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

ConvLibrary cudnn_library(int device_index, bool tensor_math) {
  const auto context = std::make_shared<Context>();
  context->math = tensor_math ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
  ConvLibrary library{.name = "cuDNN", .version = "", .adds_bias = false, .clock = "device events"};
  library.algorithms = {"auto"};
  for (const Row& row : kAlgorithms) library.algorithms.emplace_back(row.name);
  library.objection = [context](const ConvLayer& layer, const std::string& algorithm) {
    return objection(*context, layer, algorithm);
  };
  library.unavailable = context->api.missing;
  if (!library.unavailable.empty()) return library;
  const std::size_t version = context->api.cudnnGetVersion();  // 91900: 9.19.0
  library.version =
      std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
  try {
    context->device = std::make_unique<CudaDevice>(device_index);
    library.device = context->device->name();
    context->api.check(context->api.cudnnCreate(&context->handle), "cudnnCreate");
  } catch (const Error& error) {
    library.unavailable = error.what();
    return library;
  }
  library.prepare = [context](const ConvLayer& layer, const Operands& operands, const std::string& algorithm) {
    return prepare(context, layer, operands, algorithm);
  };
  return library;
}

#endif

}  // namespace pagoda::tools::conv
