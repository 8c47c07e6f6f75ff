// Operators over images whose channels come first, [N, C, spatial…], or last, [N, spatial…, C].
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ops/nn_work.h"

namespace pagoda::inline core::ops {

enum class Layout : std::uint8_t { ChannelsFirst, ChannelsLast };

// The layout of the node's images: channels come last in the domain com.ms.internal.nhwc, in operators named Nhwc…, and
// where the attribute channels_last of ONNX Runtime's operators says so; `otherwise` is its default.
Layout layout_of(const OpContext& op, bool otherwise = false);

struct Image {
  Dim batch, channels;
  Shape spatial;

  Shape shape(Layout layout) const;
};

// Input i as an image; ends the rule below rank 3.
Image image_of(const OpContext& op, int i, Layout layout);
inline Image image_of(const OpContext& op) { return image_of(op, 0, layout_of(op)); }

// Strides, dilations, pads and kernel of a convolution with the weight at input `w`.
Window weight_window(const OpContext& op, int w, std::size_t spatial_rank, Layout weight = Layout::ChannelsFirst);

// The output of a convolution of input 0 with the weight at input `w`: [M, C/group, kernel…] or, for channels-last
// images, [M, kernel…, C/group] where only that fits the channels and kernel_shape. ONNX Runtime uses both: its
// documentation of NhwcConv has the first, files saved by its layout transformer have the second.
Shape convolved(OpContext& op, int w);
template <int W = 1>
Shape conv_shape(OpContext& op) {
  return convolved(op, W);
}
// Products per output element: input channels of the group × kernel volume.
Dim products_per_output(const OpContext& op, int w);
// X, W, bias, sum; the attribute `activation` and the sum occur where ONNX Runtime fuses them in.
OpCost conv_cost(const OpContext& op);
// See qlinear_cost().
OpCost qlinear_conv_cost(const OpContext& op);

// The output of a transposed convolution of input 0 with the weight at input `w`, [C, M/group, kernel…]; `pads`:
// begins, then ends, instead of the attribute's.
Image conv_transposed(OpContext& op, int w, const std::optional<std::vector<Dim>>& pads = {});
template <int W = 1>
Shape conv_transposed_shape(OpContext& op) {
  return conv_transposed(op, W).shape(layout_of(op));
}
// Every input element is multiplied by every tap of its group: input elements × M/group × kernel volume.
Dim transposed_macs(const OpContext& op, int w);
template <int Bias = 2>
OpCost conv_transpose_cost(const OpContext& op) {
  return op.streamed() +
         Work{.arith = when(op.has_input(Bias), op.output_elements(0)), .macs = transposed_macs(op, 1)} +
         fused_activation_work(op);
}

// GridSample: the locations are those of input 1, [N, spatial…, axes].
Shape grid_sample_shape(OpContext& op);
// With square blocks of attribute blocksize.
Shape depth_to_space_shape(OpContext& op);
Shape space_to_depth_shape(OpContext& op);

}  // namespace pagoda::inline core::ops
