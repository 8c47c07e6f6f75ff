// Convolutions and pools over images whose channels come first, [N, C, spatial…], or last, [N, spatial…, C].
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ops/nn_work.h"

namespace pagoda::inline core::ops {

enum class Layout : std::uint8_t { ChannelsFirst, ChannelsLast };

// The layout that attribute channels_last gives; `otherwise` is its default.
Layout layout_of(const OpContext& op, std::int64_t otherwise);

struct Image {
  Dim batch, channels;
  Shape spatial;

  Shape shape(Layout layout) const;
};

// Input i as an image; ends the rule below rank 3.
Image image_of(const OpContext& op, int i, Layout layout);

// The attribute `attribute`, a number of groups: 1 unless stated.
std::int64_t group_count(const OpContext& op, std::string_view attribute = "group");
// Strides, dilations, pads and kernel of a convolution with the weight at input `w`.
Window weight_window(const OpContext& op, int w, std::size_t spatial_rank, Layout weight = Layout::ChannelsFirst);

// The output of a convolution of input `x` with the weight at input `w`: [M, C/group, kernel…] or, for channels-last
// images, [M, kernel…, C/group] where only that fits the channels and kernel_shape. ONNX Runtime uses both: its
// documentation of NhwcConv has the first, files saved by its layout transformer have the second.
Image convolved(OpContext& op, int x, int w, Layout layout);
// Products per output element: input channels of the group × kernel volume.
Dim products_per_output(const OpContext& op, int x, int w, Layout layout);
// The output of a transposed convolution of input 0 with the weight at input `w`, [C, M/group, kernel…]; `pads`:
// begins, then ends, instead of the attribute's.
Image conv_transposed(OpContext& op, Layout layout, int w, const std::optional<std::vector<Dim>>& pads = {});
// The image after a pool over input 0.
Image pooled(const OpContext& op, Layout layout);

// X, W, bias, sum; the attribute `activation` and the sum occur where ONNX Runtime fuses them in.
OpCost conv_cost(const OpContext& op, Layout layout);
// The bias is input `bias`.
OpCost conv_transpose_cost(const OpContext& op, Layout layout, int bias);
// See qlinear_cost().
OpCost qlinear_conv_cost(const OpContext& op, Layout layout);
OpCost qlinear_conv_transpose_cost(const OpContext& op, Layout layout);

}  // namespace pagoda::inline core::ops
