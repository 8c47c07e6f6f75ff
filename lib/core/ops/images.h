// Operators over images whose channels come first, [N, C, spatial…], or last, [N, spatial…, C].
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

// GridSample: the locations are those of input 1, [N, spatial…, axes].
template <Layout L>
Shape grid_sample_shape(OpContext& op) {
  const Image image = image_of(op, 0, L);
  const Shape& grid = op.shape(1);
  if (grid.size() != op.shape(0).size()) op.fail(cat("the input has rank ", op.rank(0), ", the grid ", grid.size()));
  op.unify(grid.back(), Dim(image.spatial.size()), "coordinates per location");
  const Image output{op.unify(image.batch, grid[0], "batch"), image.channels, Shape(grid.begin() + 1, grid.end() - 1)};
  return output.shape(L);
}

// DepthToSpace and SpaceToDepth, with square blocks of attribute blocksize.
template <Layout L>
Shape depth_to_space_shape(OpContext& op) {
  const Dim block = positive_attribute(op, "blocksize");
  expect_rank(op, 0, 4);
  Image image = image_of(op, 0, L);
  image.channels = divided(op, image.channels, block * block, "channels and blocks");
  for (Dim& size : image.spatial) size *= block;
  return image.shape(L);
}
template <Layout L>
Shape space_to_depth_shape(OpContext& op) {
  const Dim block = positive_attribute(op, "blocksize");
  expect_rank(op, 0, 4);
  Image image = image_of(op, 0, L);
  image.channels *= block * block;
  for (Dim& size : image.spatial) size = divided(op, size, block, "image and blocks");
  return image.shape(L);
}

// X, W, bias, sum; the attribute `activation` and the sum occur where ONNX Runtime fuses them in.
OpCost conv_cost(const OpContext& op, Layout layout);
// The bias is input `bias`.
OpCost conv_transpose_cost(const OpContext& op, Layout layout, int bias);
// See qlinear_cost().
OpCost qlinear_conv_cost(const OpContext& op, Layout layout);
OpCost qlinear_conv_transpose_cost(const OpContext& op, Layout layout);

}  // namespace pagoda::inline core::ops
