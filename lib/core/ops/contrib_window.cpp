// Windows over images of either layout.
#include "ops/contrib_window.h"

namespace pagoda::inline core::ops {

Layout stated_layout(const OpContext& op, std::int64_t otherwise) {
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
  if (shape.size() < 3)
    op.fail("input " + std::to_string(i) + " has rank " + std::to_string(shape.size()) + ", expected 3 or more");
  if (layout == Layout::ChannelsFirst) return {shape[0], shape[1], Shape(shape.begin() + 2, shape.end())};
  return {shape[0], shape.back(), Shape(shape.begin() + 1, shape.end() - 1)};
}

namespace {

std::int64_t group_count(const OpContext& op) {
  const std::int64_t group = op.attribute("group", std::int64_t{1});
  if (group < 1) op.fail("group is " + std::to_string(group));
  return group;
}

Window weight_window(const OpContext& op, int w, std::size_t spatial_rank, Layout weight = Layout::ChannelsFirst) {
  expect_rank(op, w, static_cast<int>(spatial_rank) + 2);
  const auto first = op.shape(w).begin() + (weight == Layout::ChannelsFirst ? 2 : 1);
  const Shape kernel(first, first + static_cast<std::ptrdiff_t>(spatial_rank));
  return window_attributes(op, static_cast<int>(spatial_rank), &kernel);
}

// Whether nothing that is known contradicts a weight of this layout.
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

// stride·(in − 1) + extent + output_padding − pads; SAME pads down to in·stride (ONNX Operators.md, ConvTranspose).
Image conv_transposed(OpContext& op, Layout layout, const std::vector<Dim>& pads) {
  Image image = image_of(op, 0, layout);
  const std::size_t axes = image.spatial.size();
  const Window window = weight_window(op, 1, axes);
  op.unify(image.channels, dim_of(op, 1, 0), "input channels");
  const auto paddings = op.integer_list("output_padding").value_or(std::vector<std::int64_t>(axes, 0));
  const auto stated = op.integer_list("output_shape");
  if (paddings.size() != axes) op.fail("output_padding has " + std::to_string(paddings.size()) + " entries");
  if (stated && !stated->empty() && stated->size() != axes)
    op.fail("output_shape has " + std::to_string(stated->size()) + " entries");
  if (pads.size() != 2 * axes)
    op.fail("there are " + std::to_string(pads.size()) + " pads, expected " + std::to_string(2 * axes));
  const std::string_view auto_pad = op.attribute("auto_pad", std::string_view("NOTSET"));
  for (std::size_t i = 0; i < axes; ++i) {
    Dim& size = image.spatial[i];
    const Dim full =
        Dim(window.strides[i]) * (size - 1) + Dim(window.dilations[i]) * (window.kernel[i] - 1) + 1 + paddings[i];
    if (stated && !stated->empty()) {
      size = (*stated)[i];
    } else if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      size = min(full, size * window.strides[i]);
    } else {
      size = auto_pad == "VALID" ? full : full - pads[i] - pads[i + axes];
    }
    if (const auto value = size.value(); value && *value < 0)
      op.fail("spatial axis " + std::to_string(i) + " has size " + size.to_string());
  }
  image.channels = dim_of(op, 1, 1) * group_count(op);
  return image;
}

Image pooled(const OpContext& op, Layout layout) {
  Image image = image_of(op, 0, layout);
  const Window window = window_attributes(op, static_cast<int>(image.spatial.size()), nullptr);
  image.spatial = window_output(op, image.spatial, window, op.attribute("ceil_mode", std::int64_t{0}) != 0);
  return image;
}

Work fused_activation_work(const OpContext& op) {
  return activation_work(op, op.attribute("activation", std::string_view(""))) * op.output_elements(0);
}

}  // namespace pagoda::inline core::ops
