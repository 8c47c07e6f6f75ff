// Execution providers of ONNX Runtime, as far as they decide which nodes become one kernel. All rewrite the graph
// alike; they differ in what their convolutions and products absorb.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "pagoda/core/eager.h"
#include "pagoda/core/onnxruntime.h"

namespace pagoda::inline core {

struct OrtProvider {
  int channel_block = 0;  // floats in a block of channels of convolutions; 0: plain layout
  // Activations that go into the kernel of a convolution, and of another product.
  std::span<const std::string_view> after_conv, after_product;
  bool joins_sum_and_relu = false;  // a convolution in plain layout absorbs a sum if a Relu follows
  bool has_cubic_lines = false;     // a cubic Resize works line by line (cubic_resize_bytes)

  bool joins(std::string_view activation, bool is_conv) const {
    const auto& names = is_conv ? after_conv : after_product;
    return std::find(names.begin(), names.end(), activation) != names.end();
  }
};

// Sorted by name.
inline constexpr std::string_view kJoinedActivations[] = {"Clip", "HardSigmoid", "HardSwish", "LeakyRelu",
                                                          "Relu", "Sigmoid",     "Tanh"};
inline constexpr std::string_view kJoinedByCudnn[] = {"Relu"};

constexpr OrtProvider cpu_provider(int channel_block) {
  return {.channel_block = channel_block,
          .after_conv = kJoinedActivations,
          .after_product = kJoinedActivations,
          .has_cubic_lines = true};
}
// conv_activation_fusion.cc: FusedConv of the CUDA provider is Conv + Relu or Conv + Add + Relu; no product has one.
inline constexpr OrtProvider kCudaProvider = {
    .after_conv = kJoinedByCudnn, .after_product = {}, .joins_sum_and_relu = true};

// All dims must be bound.
OrtKernels ort_kernels(const Model& model, const Analysis& analysis, const OrtProvider& provider);
// The kernels of the CUDA provider, in float32.
EagerKernels ort_cuda_kernels(const Model& model, const Analysis& analysis);

}  // namespace pagoda::inline core
