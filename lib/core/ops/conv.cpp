// Convolutions, and windows over images of either layout. Every tap of every output element is one multiply-accumulate,
// taps on padding included, as in all published counts (output elements × input channels of the group × kernel volume).
#include "ops/images.h"

namespace pagoda::inline core::ops {

Layout layout_of(const OpContext& op, bool otherwise) {
  const std::string_view domain = plain_domain(op.node().domain);
  const bool is_last = domain == "com.ms.internal.nhwc" || op.node().op_type.starts_with("Nhwc") ||
                       (!domain.empty() && op.flag("channels_last", otherwise));
  return is_last ? Layout::ChannelsLast : Layout::ChannelsFirst;
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
  if (equal(image.channels, channels * positive_or_one(op, "group")) == false) return false;
  const auto kernel = op.integer_list("kernel_shape");
  if (!kernel || kernel->size() != image.spatial.size()) return true;
  const std::size_t first = weight == Layout::ChannelsFirst ? 2 : 1;
  for (std::size_t i = 0; i < kernel->size(); ++i)
    if (equal(shape[first + i], Dim((*kernel)[i])) == false) return false;
  return true;
}

Layout weight_layout(const OpContext& op, int w, const Image& image) {
  expect_rank(op, w, static_cast<int>(image.spatial.size()) + 2);
  const bool is_last = layout_of(op) == Layout::ChannelsLast && !fits(op, image, w, Layout::ChannelsFirst) &&
                       fits(op, image, w, Layout::ChannelsLast);
  return is_last ? Layout::ChannelsLast : Layout::ChannelsFirst;
}

}  // namespace

Shape convolved(OpContext& op, int w) {
  Image image = image_of(op);
  const Layout weight = weight_layout(op, w, image);
  const Window window = weight_window(op, w, image.spatial.size(), weight);
  const std::int64_t group = positive_or_one(op, "group");
  op.unify(image.channels, dim_of(op, w, weight == Layout::ChannelsFirst ? 1 : -1) * group, "input channels");
  image.channels = dim_of(op, w, 0);
  image.spatial = window_output(op, image.spatial, window, false);
  if (const auto filters = image.channels.value64(); filters && *filters % group != 0)
    op.fail(cat(*filters, " filters do not divide into ", group, " groups"));
  return image.shape(layout_of(op));
}

Dim products_per_output(const OpContext& op, int w) {
  const Image image = image_of(op);
  const Layout weight = weight_layout(op, w, image);
  Dim channels = dim_of(op, w, weight == Layout::ChannelsFirst ? 1 : -1);
  if (!channels.is_constant())
    if (const auto known = exact_div(image.channels, positive_or_one(op, "group"))) channels = *known;
  return channels * element_count(weight_window(op, w, image.spatial.size(), weight).kernel);
}

// stride·(in − 1) + extent + output_padding − pads (ONNX Operators.md, ConvTranspose). SAME pads so that the size is
// in·stride, but without negative padding where the stride exceeds the window.
Image conv_transposed(OpContext& op, int w, const std::optional<std::vector<Dim>>& own_pads) {
  Image image = image_of(op);
  const std::size_t axes = image.spatial.size();
  const Window window = weight_window(op, w, axes);
  op.unify(image.channels, dim_of(op, w, 0), "input channels");
  image.channels = dim_of(op, w, 1) * positive_or_one(op, "group");
  const auto paddings = op.integer_list("output_padding").value_or(std::vector<std::int64_t>(axes, 0));
  if (paddings.size() != axes) op.fail(cat("output_padding has ", paddings.size(), " entries"));
  const std::vector<Dim> pads = own_pads.value_or(std::vector<Dim>(window.pads.begin(), window.pads.end()));
  if (pads.size() != 2 * axes) op.fail(cat("there are ", pads.size(), " pads, expected ", 2 * axes));
  const std::string_view auto_pad = op.attribute("auto_pad", "NOTSET");
  const auto sizes = op.integer_list("output_shape").value_or(std::vector<std::int64_t>());
  // Some exporters write all dims of the output, not only the spatial ones.
  const bool is_whole = layout_of(op) == Layout::ChannelsFirst && sizes.size() == axes + 2;
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

OpCost conv_cost(const OpContext& op) {
  const int additions = (op.has_input(2) ? 1 : 0) + (op.has_input(3) ? 1 : 0);
  const Work activation = activation_work(op, op.attribute("activation", ""));
  return op.streamed() +
         (Work{.arith = additions, .macs = products_per_output(op, 1)} + activation) * op.output_elements(0);
}

OpCost qlinear_conv_cost(const OpContext& op) {
  return qlinear_cost(op, op.output_elements(0) * products_per_output(op, 3));
}

Dim transposed_macs(const OpContext& op, int w) {
  const std::size_t axes = image_of(op).spatial.size();
  return op.elements(0) * op.shape(w)[1] * element_count(weight_window(op, w, axes).kernel);
}

namespace {

// (x − x_zero_point)·(w − w_zero_point): one subtraction per element of each operand that has a zero point.
OpCost cost_conv_integer(const OpContext& op) {
  return int8_cost(op) + zero_point_work(op, 0, 2) + zero_point_work(op, 1, 3) +
         Work{.macs = op.output_elements(0) * products_per_output(op, 1)};
}

// The number of taps of the weight at input 1.
Dim kernel_taps(const OpContext& op) { return element_count(weight_window(op, 1, image_of(op).spatial.size()).kernel); }

Shape deform_conv_shape(OpContext& op) {
  const Shape output = convolved(op, 1);
  const std::size_t axes = output.size() - 2;
  if (op.has_shape(2)) {
    const Shape& offset = op.shape(2);
    if (offset.size() != axes + 2) op.fail(cat("the offset has rank ", offset.size()));
    op.unify(offset[1], Dim(positive_or_one(op, "offset_group")) * axes * kernel_taps(op), "offset channels");
    for (std::size_t i = 0; i < axes; ++i) op.unify(offset[i + 2], output[i + 2], "offset positions");
  }
  return output;
}

// Every channel is sampled n-linearly at every tap of every position; the channels of an offset group share the
// places. Per place and axis: add the offset, compute the weights; per sample: interpolate, scale by the mask.
OpCost cost_deform_conv(const OpContext& op) {
  const int axes = op.rank(0) - 2;
  const Shape& output = op.output_shape(0);
  const Dim positions = op.shape(0)[0] * element_count(Shape(output.begin() + 2, output.end())) * kernel_taps(op);
  const Dim places = positions * positive_or_one(op, "offset_group");
  const Dim samples = positions * op.shape(0)[1];
  return op.streamed() +
         Work{.arith = when(op.has_input(3), op.output_elements(0)) + when(op.has_input(4), samples),
              .macs = op.output_elements(0) * products_per_output(op, 1)} +
         (Work{.arith = 1} + axis_weights_work(Interpolation::Linear)) * (places * axes) +
         weight_products_work(Interpolation::Linear, axes) * places +
         sample_work(Interpolation::Linear, axes) * samples;
}

// [N, C·Π block, L] → [N, C, image…].
Shape col2im_shape(OpContext& op) {
  const Shape& columns = shape_of(op, 0, 3);
  const TensorValue* image_value = op.value(1);
  const TensorValue* block_value = op.value(2);
  for (const int i : {1, 2})
    if (op.has_shape(i) && op.rank(i) != 1)
      op.fail(cat(i == 1 ? "image" : "block", "_shape has rank ", op.rank(i), ", expected 1"));
  const auto length = op.has_shape(1) ? op.shape(1)[0].value64() : std::nullopt;
  if (image_value == nullptr && block_value == nullptr && !length) op.unknown("the number of image axes is not known");
  const std::size_t axes = block_value != nullptr ? block_value->size() : static_cast<std::size_t>(length.value_or(0));
  const TensorValue unknown(std::min<std::size_t>(axes, 64));
  const Shape image = shape_from_value(op, image_value != nullptr ? *image_value : unknown, "image");
  if (block_value != nullptr && block_value->size() != image.size())
    op.fail("image_shape and block_shape differ in length");
  std::optional<Dim> channels;
  if (block_value != nullptr) {
    const Dim block = element_count(shape_from_value(op, *block_value, "block"));
    channels = exact_div(columns[1], block);
    if (!channels && block.is_constant() && (columns[1].is_constant() || block == Dim(0)))
      op.fail(cat(columns[1].to_string(), " columns do not divide into blocks of ", block.to_string()));
    if (!channels) channels = floor_div(columns[1], block);
  }
  Shape output = {columns[0], channels ? *channels : op.fresh("channels", "channels of unknown block size")};
  output.insert(output.end(), image.begin(), image.end());
  return output;
}

// Every column element is added to its pixel.
OpCost cost_col2im(const OpContext& op) { return op.streamed({0}) + Work{.arith = op.elements(0)}; }

// input [B, C, L], weight [C, 1, k] → output [B, C, L] and the last k − 1 positions.
void infer_causal_conv(OpContext& op) {
  set_element(op, 0, op.element(0));
  set_element(op, 1, op.element(0));
  const Shape& data = op.shape(0);
  const Shape& weight = op.shape(1);
  if (data.size() != 3 || weight.size() != 3) op.fail("input and weight should have rank 3");
  const Dim channels = op.unify(data[1], weight[0], "channels");
  op.set_output(0, op.element(0), {data[0], channels, data[2]});
  op.set_output(1, op.element(0), {data[0], channels, weight[2] - 1});
}

// L·k products per channel; SiLU is a sigmoid and a multiplication.
OpCost cost_causal_conv(const OpContext& op) {
  const std::string_view activation = op.attribute("activation", "none");
  const bool is_silu = activation == "silu" || activation == "swish";
  if (!is_silu && activation != "none") op.unknown(cat("activation is '", activation, "'"));
  const Work bias = {.arith = op.has_input(2) ? 1 : 0};
  return op.streamed() + (Work{.macs = op.shape(1)[2]} + bias + (is_silu ? silu_work() : Work())) * op.elements(0);
}

// clang-format off
constexpr OpRule kConvRules[] = {
    // op                   infer                            cost                   fold     cost in words
    {"CausalConvWithState", infer_causal_conv,               cost_causal_conv,      nullptr, "k macs, 1 bias add per element; SiLU: 1 sigmoid, 1 mul", kAttention.updating(3, 1, 1).with(Gradient::Rule)},
    {"Col2Im",              shaped<col2im_shape>,            cost_col2im,           nullptr, "1 add per column element", kLayout},
    {"Conv",                shaped<conv_shape<>>,            conv_cost,             nullptr, "C/group × kernel macs, 1 bias add per output element", kConvolution.reads({{}, WeightUse::Weight, WeightUse::Additive})},
    {"ConvInteger",         shaped_as<conv_shape<>, ElementType::Int32>, cost_conv_integer,     nullptr, "C/group × kernel macs per output element; 1 sub per operand element with a zero point", kConvolution.with(ProductForm::ScaledConvolution).with(Gradient::Integers).reads({{}, {}, WeightUse::ZeroPoint, WeightUse::ZeroPoint})},
    {"ConvTranspose",       shaped<conv_transposed_shape<>>, conv_transpose_cost<>, nullptr, "M/group × kernel macs per input element; 1 bias add per output element", kConvolution.with(ProductForm::Deconvolution).reads({{}, WeightUse::Weight, WeightUse::Additive})},
    {"DeformConv",          shaped<deform_conv_shape>,       cost_deform_conv,      nullptr, "as Conv; n-linear sample (2^(n+1) − 1, mask 1) per channel, position and tap; weights per place", kConvolution.with(ProductForm::ScaledConvolution).with(Gradient::Unmodelled)},
    {"QLinearConv",         shaped<conv_shape<3>, 7>,        qlinear_conv_cost,     nullptr, "as ConvInteger; scale, round, zero point, 2 clamps, bias per output element", kConvolution.with(ProductForm::ScaledConvolution).with(Gradient::Integers).reads({{}, WeightUse::QuantScale, WeightUse::ZeroPoint, {}, WeightUse::QuantScale, WeightUse::ZeroPoint, WeightUse::QuantScale, WeightUse::ZeroPoint})},
};
// clang-format on
static_assert(well_formed(kConvRules));

}  // namespace

std::span<const OpRule> conv_rules() { return kConvRules; }

}  // namespace pagoda::inline core::ops
