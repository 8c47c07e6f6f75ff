// Convolutions and other products on a GPU: their classes, as far as cuDNN has kernels for them, and their blocks.
#pragma once

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "pagoda/core/eager.h"
#include "pagoda/core/graph.h"
#include "predict/strides.h"

namespace pagoda::inline core {

// Of 128 × 128 elements.
inline double blocks(double rows, double columns) { return std::ceil(rows / 128) * std::ceil(columns / 128); }

// The time of a product with output [m, n] and depth k at the peak, in whole waves of tiles of rows × columns over the
// device's units. The contraction may be split into up to 8 parts with a depth of at least 256 each. Each wave adds
// `wave_seconds`.
double waves_seconds(double m, double n, double k, double rows, double columns, double peak, double units,
                     double matrices = 1, double wave_seconds = 0);

// [rows, depth] × [depth, columns], for each of `matrices`.
inline KernelLaunch batched_matmul(double macs, double bytes, double matrices, double rows, double columns,
                                   double depth) {
  return {.kind = KernelClass::BatchedMatmul,
          .macs = macs,
          .bytes = bytes,
          .width = std::min(rows, columns),
          .depth = depth,
          .tiles = matrices * blocks(rows, columns)};
}

inline std::vector<std::int64_t> integers(const Node& node, std::string_view name) {
  const auto* value = node.integers(name);
  return value == nullptr ? std::vector<std::int64_t>() : *value;
}

// Of images stored as N, C, H, W. `input` has at least three sizes, `weight` as many.
inline KernelClass conv_class(const Node& node, const Sizes& input, const Sizes& weight) {
  const std::int64_t groups = node.integer("group", 1), channels = input[1];
  if (groups > 1) return groups == channels ? KernelClass::DepthwiseLibrary : KernelClass::ConvGrouped;
  if (channels <= 4) {
    const auto strides = integers(node, "strides");
    const bool is_patch = weight[2] > 1 && !strides.empty() && strides[0] == weight[2];
    return is_patch ? KernelClass::ConvPatch : KernelClass::ConvStem;
  }
  const bool is_pointwise = std::all_of(weight.begin() + 2, weight.end(), [](auto k) { return k == 1; });
  return is_pointwise ? KernelClass::ConvPointwise : KernelClass::Conv;
}

}  // namespace pagoda::inline core
