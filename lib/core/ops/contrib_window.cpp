// Windows over images of either layout.
#include "ops/contrib_window.h"

namespace pagoda::inline core::ops {

Layout layout_of(const OpContext& op, std::int64_t otherwise) {
  return op.attribute("channels_last", otherwise) != 0 ? Layout::ChannelsLast : Layout::ChannelsFirst;
}

Shape Image::shape(Layout layout) const {
  Shape result = {batch};
  if (layout == Layout::ChannelsFirst) result.push_back(channels);
  result.insert(result.end(), spatial.begin(), spatial.end());
  if (layout == Layout::ChannelsLast) result.push_back(channels);
  return result;
}

Image image_of(const OpContext& op, int i, Layout layout) {
  const Shape& shape = op.shape(i);
  if (shape.size() < 3) op.fail(cat("input ", i, " has rank ", shape.size(), ", expected 3 or more"));
  if (layout == Layout::ChannelsFirst) return {shape[0], shape[1], Shape(shape.begin() + 2, shape.end())};
  return {shape[0], shape.back(), Shape(shape.begin() + 1, shape.end() - 1)};
}

std::int64_t group_count(const OpContext& op, std::string_view attribute) {
  const std::int64_t group = op.attribute(attribute, 1);
  if (group < 1) op.fail(cat(attribute, " is ", group));
  return group;
}

Window weight_window(const OpContext& op, int w, std::size_t spatial_rank, Layout weight) {
  expect_rank(op, w, static_cast<int>(spatial_rank) + 2);
  const auto first = op.shape(w).begin() + (weight == Layout::ChannelsFirst ? 2 : 1);
  const Shape kernel(first, first + static_cast<std::ptrdiff_t>(spatial_rank));
  return window_attributes(op, static_cast<int>(spatial_rank), &kernel);
}

namespace {

// No known size contradicts a weight of this layout.
bool fits(const OpContext& op, const Image& image, int w, Layout weight) {
  const Shape& shape = op.shape(w);
  const Dim& channels = weight == Layout::ChannelsFirst ? shape[1] : shape.back();
  if (equal(image.channels, channels * group_count(op)) == false) return false;
  const auto kernel = op.integer_list("kernel_shape");
  if (!kernel || kernel->size() != image.spatial.size()) return true;
  const std::size_t first = weight == Layout::ChannelsFirst ? 2 : 1;
  for (std::size_t i = 0; i < kernel->size(); ++i)
    if (equal(shape[first + i], Dim((*kernel)[i])) == false) return false;
  return true;
}

Layout weight_layout(const OpContext& op, int w, const Image& image, Layout layout) {
  expect_rank(op, w, static_cast<int>(image.spatial.size()) + 2);
  const bool is_last = layout == Layout::ChannelsLast && !fits(op, image, w, Layout::ChannelsFirst) &&
                       fits(op, image, w, Layout::ChannelsLast);
  return is_last ? Layout::ChannelsLast : Layout::ChannelsFirst;
}

// Every input element is multiplied by every tap of its group: input elements × M/group × kernel volume.
Dim transposed_macs(const OpContext& op, int w, Layout layout) {
  const std::size_t axes = image_of(op, 0, layout).spatial.size();
  return op.elements(0) * op.shape(w)[1] * element_count(weight_window(op, w, axes).kernel);
}

}  // namespace

Image convolved(OpContext& op, int x, int w, Layout layout) {
  Image image = image_of(op, x, layout);
  const Layout weight = weight_layout(op, w, image, layout);
  const Window window = weight_window(op, w, image.spatial.size(), weight);
  op.unify(image.channels, dim_of(op, w, weight == Layout::ChannelsFirst ? 1 : -1) * group_count(op), "input channels");
  image.channels = dim_of(op, w, 0);
  image.spatial = window_output(op, image.spatial, window, false);
  return image;
}

Dim products_per_output(const OpContext& op, int x, int w, Layout layout) {
  const Image image = image_of(op, x, layout);
  const Layout weight = weight_layout(op, w, image, layout);
  Dim channels = dim_of(op, w, weight == Layout::ChannelsFirst ? 1 : -1);
  if (!channels.is_constant())
    if (const auto known = exact_div(image.channels, group_count(op))) channels = *known;
  return channels * element_count(weight_window(op, w, image.spatial.size(), weight).kernel);
}

// stride·(in − 1) + extent + output_padding − pads (ONNX Operators.md, ConvTranspose). SAME pads so that the size is
// in·stride, but without negative padding where the stride exceeds the window.
Image conv_transposed(OpContext& op, Layout layout, int w, const std::optional<std::vector<Dim>>& own_pads) {
  Image image = image_of(op, 0, layout);
  const std::size_t axes = image.spatial.size();
  const Window window = weight_window(op, w, axes);
  op.unify(image.channels, dim_of(op, w, 0), "input channels");
  image.channels = dim_of(op, w, 1) * group_count(op);
  const auto paddings = op.integer_list("output_padding").value_or(std::vector<std::int64_t>(axes, 0));
  if (paddings.size() != axes) op.fail(cat("output_padding has ", paddings.size(), " entries"));
  const std::vector<Dim> pads = own_pads.value_or(std::vector<Dim>(window.pads.begin(), window.pads.end()));
  if (pads.size() != 2 * axes) op.fail(cat("there are ", pads.size(), " pads, expected ", 2 * axes));
  const std::string_view auto_pad = op.attribute("auto_pad", "NOTSET");
  const auto sizes = op.integer_list("output_shape").value_or(std::vector<std::int64_t>());
  // Some exporters write all dims of the output, not only the spatial ones.
  const bool is_whole = layout == Layout::ChannelsFirst && sizes.size() == axes + 2;
  if (!sizes.empty() && sizes.size() != axes && !is_whole)
    op.fail(cat("output_shape has ", sizes.size(), " entries, expected ", axes));
  for (std::size_t i = 0; i < axes; ++i) {
    Dim& size = image.spatial[i];
    const Dim extent = Dim(window.dilations[i]) * (window.kernel[i] - 1) + 1;
    const Dim full = Dim(window.strides[i]) * (size - 1) + extent + paddings[i];
    if (!sizes.empty())
      size = sizes[sizes.size() - axes + i];
    else if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER")
      size = min(full, size * window.strides[i]);
    else
      size = auto_pad == "VALID" ? full : full - pads[i] - pads[i + axes];
    if (const auto value = size.value(); value && *value < 0)
      op.fail(cat("spatial axis ", i, " of the output has size ", size.to_string()));
  }
  return image;
}

OpCost conv_cost(const OpContext& op, Layout layout) {
  const Dim outputs = op.output_elements(0);
  return op.streamed() +
         Work{.arith = when(op.has_input(2), outputs) + when(op.has_input(3), outputs),
              .macs = outputs * products_per_output(op, 0, 1, layout)} +
         fused_activation_work(op);
}

OpCost qlinear_conv_cost(const OpContext& op, Layout layout) {
  return qlinear_cost(op, op.output_elements(0) * products_per_output(op, 0, 3, layout));
}

OpCost conv_transpose_cost(const OpContext& op, Layout layout, int bias) {
  return op.streamed() +
         Work{.arith = when(op.has_input(bias), op.output_elements(0)), .macs = transposed_macs(op, 1, layout)} +
         fused_activation_work(op);
}

OpCost qlinear_conv_transpose_cost(const OpContext& op, Layout layout) {
  return qlinear_cost(op, transposed_macs(op, 3, layout));
}

Image pooled(const OpContext& op, Layout layout) {
  Image image = image_of(op, 0, layout);
  const Window window = window_attributes(op, static_cast<int>(image.spatial.size()), nullptr);
  image.spatial = window_output(op, image.spatial, window, op.flag("ceil_mode"));
  return image;
}

}  // namespace pagoda::inline core::ops
