// Convolutions. Every tap of every output element is one multiply-accumulate, taps on padding included, as in all
// published counts (output elements × input channels of the group × kernel volume).
#include "ops/nn_work.h"
#include "ops/op_rule.h"
#include "ops/shape_math.h"

namespace pagoda::inline core::ops {
namespace {

constexpr std::int64_t kNoGroup = 1;

std::int64_t group_count(const OpContext& op, std::string_view attribute = "group") {
  const std::int64_t group = op.attribute(attribute, kNoGroup);
  if (group < 1) op.fail(std::string(attribute) + " is " + std::to_string(group));
  return group;
}

// The number of spatial axes of input `x`, [batch, channels, spatial…].
int spatial_rank(const OpContext& op, int x) {
  if (op.rank(x) < 3)
    op.fail("input " + std::to_string(x) + " has rank " + std::to_string(op.rank(x)) + ", expected 3 or more");
  return op.rank(x) - 2;
}

Shape spatial_dims(const Shape& shape) { return Shape(shape.begin() + 2, shape.end()); }

// Strides, dilations, pads and kernel of a convolution with weight input `w`.
Window weight_window(const OpContext& op, int x, int w) {
  const int rank = spatial_rank(op, x);
  if (op.rank(w) != rank + 2)
    op.fail("the weight has rank " + std::to_string(op.rank(w)) + ", expected " + std::to_string(rank + 2));
  const Shape kernel = spatial_dims(op.shape(w));
  return window_attributes(op, rank, &kernel);
}

// Products of one output element: kernel volume × input channels of the group.
Dim products_per_output(const OpContext& op, int x, int w) {
  Dim channels = op.shape(w)[1];
  if (!channels.is_constant())
    if (const auto known = exact_div(op.shape(x)[1], group_count(op))) channels = *known;
  return channels * element_count(weight_window(op, x, w).kernel);
}

// [batch, W[0], window positions…] for data `x` [batch, C, spatial…] and weight `w` [M, C/group, kernel…].
Shape convolved(OpContext& op, int x, int w) {
  const Window window = weight_window(op, x, w);
  const Shape& data = op.shape(x);
  const Shape& weight = op.shape(w);
  op.unify(data[1], weight[1] * group_count(op), "input channels");
  if (const auto filters = weight[0].value64(); filters && *filters % group_count(op) != 0)
    op.fail(std::to_string(*filters) + " filters do not divide into " + std::to_string(group_count(op)) + " groups");
  Shape output = {data[0], weight[0]};
  for (Dim& size : window_output(op, spatial_dims(data), window, false)) output.push_back(std::move(size));
  return output;
}

void infer_convolution(OpContext& op, int x, int w, ElementType element) {
  set_element(op, 0, element);
  op.set_output(0, element, convolved(op, x, w));
}

void infer_conv(OpContext& op) { infer_convolution(op, 0, 1, op.element(0)); }
void infer_conv_integer(OpContext& op) { infer_convolution(op, 0, 1, ElementType::Int32); }
void infer_qlinear_conv(OpContext& op) { infer_convolution(op, 0, 3, op.element(7)); }

OpCost cost_conv(const OpContext& op) {
  OpCost cost = op.streamed();
  const Dim outputs = op.output_elements(0);
  cost.macs = outputs * products_per_output(op, 0, 1);
  if (op.has_input(2)) cost.arith = outputs;
  return cost;
}

// (x − x_zero_point)·(w − w_zero_point): one subtraction per element of each operand that has a zero point.
OpCost cost_conv_integer(const OpContext& op) {
  OpCost cost = op.streamed();
  cost.macs = op.output_elements(0) * products_per_output(op, 0, 1);
  if (op.has_input(2)) cost.arith += op.elements(0);
  if (op.has_input(3)) cost.arith += op.elements(1);
  cost.precision = ElementType::Int8;
  return cost;
}

// As ConvInteger, then per output element: multiply by x_scale·w_scale/y_scale, round, add the zero point, clamp at
// both ends. The combined scale is a multiplication and a division per element of w_scale.
OpCost cost_qlinear_conv(const OpContext& op) {
  OpCost cost = op.streamed();
  const Dim outputs = op.output_elements(0);
  cost.macs = outputs * products_per_output(op, 0, 3);
  cost.arith = op.elements(0) + op.elements(3) + 2 * op.elements(4) + 5 * outputs;
  if (op.has_input(8)) cost.arith += outputs;
  cost.comparisons = 3 * outputs;
  cost.precision = ElementType::Int8;
  return cost;
}

void infer_deform_conv(OpContext& op) {
  set_element(op, 0, op.element(0));
  const Shape output = convolved(op, 0, 1);
  const auto axes = static_cast<std::size_t>(spatial_rank(op, 0));
  if (op.has_shape(2)) {
    const Shape& offset = op.shape(2);
    if (offset.size() != axes + 2) op.fail("the offset has rank " + std::to_string(offset.size()));
    op.unify(offset[1], Dim(group_count(op, "offset_group")) * axes * element_count(weight_window(op, 0, 1).kernel),
             "offset channels");
    for (std::size_t i = 0; i < axes; ++i) op.unify(offset[i + 2], output[i + 2], "offset positions");
  }
  op.set_output(0, op.element(0), output);
}

// Every channel is sampled n-linearly at every tap of every position; the channels of an offset group share the
// places. Per place and axis: add the offset, compute the weights; per sample: interpolate, scale by the mask.
OpCost cost_deform_conv(const OpContext& op) {
  OpCost cost = op.streamed();
  const int axes = spatial_rank(op, 0);
  const Dim taps_per_position = element_count(weight_window(op, 0, 1).kernel);
  const Dim positions = op.shape(0)[0] * element_count(spatial_dims(op.output_shape(0))) * taps_per_position;
  const Dim places = positions * group_count(op, "offset_group");
  const Dim samples = positions * op.shape(0)[1];
  cost.macs = op.output_elements(0) * products_per_output(op, 0, 1);
  cost += Work{.arith = 1} * (places * axes);
  cost += axis_weights_work(Interpolation::Linear) * (places * axes);
  cost += weight_products_work(Interpolation::Linear, axes) * places;
  cost += sample_work(Interpolation::Linear, axes) * samples;
  if (op.has_input(3)) cost.arith += op.output_elements(0);
  if (op.has_input(4)) cost.arith += samples;
  return cost;
}

// One spatial axis of a transposed convolution (ONNX Operators.md, ConvTranspose).
Dim transposed_size(const Dim& input, const Window& window, std::size_t i, std::int64_t output_padding,
                    std::string_view auto_pad) {
  const Dim extent = Dim(window.dilations[i]) * (window.kernel[i] - 1) + 1;
  const Dim full = Dim(window.strides[i]) * (input - 1) + extent + output_padding;
  // SAME pads so that the size is input·stride, but without negative padding where the stride exceeds the window.
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") return min(full, input * window.strides[i]);
  if (auto_pad == "VALID") return full;
  return full - window.pads[i] - window.pads[i + window.kernel.size()];
}

void infer_conv_transpose(OpContext& op) {
  set_element(op, 0, op.element(0));
  const Window window = weight_window(op, 0, 1);
  const Shape& data = op.shape(0);
  const Shape& weight = op.shape(1);
  const std::size_t axes = window.kernel.size();
  op.unify(data[1], weight[0], "input channels");
  const auto paddings = op.integer_list("output_padding").value_or(std::vector<std::int64_t>(axes, 0));
  if (paddings.size() != axes) op.fail("output_padding has " + std::to_string(paddings.size()) + " entries");
  const std::string_view auto_pad = op.attribute("auto_pad", std::string_view("NOTSET"));
  const auto stated = op.integer_list("output_shape");
  // Some exporters write all dims of the output, not only the spatial ones.
  if (stated && !stated->empty() && stated->size() != axes && stated->size() != axes + 2)
    op.fail("output_shape has " + std::to_string(stated->size()) + " entries, expected " + std::to_string(axes));
  Shape output = {data[0], weight[1] * group_count(op)};
  for (std::size_t i = 0; i < axes; ++i) {
    output.push_back(stated && !stated->empty() ? Dim((*stated)[stated->size() - axes + i])
                                                : transposed_size(data[i + 2], window, i, paddings[i], auto_pad));
    if (const auto size = output.back().value(); size && *size < 0)
      op.fail("spatial axis " + std::to_string(i) + " of the output has size " + output.back().to_string());
  }
  op.set_output(0, op.element(0), std::move(output));
}

// Every input element is multiplied by every filter tap of its group: input elements × M/group × kernel volume.
OpCost cost_conv_transpose(const OpContext& op) {
  OpCost cost = op.streamed();
  cost.macs = op.elements(0) * op.shape(1)[1] * element_count(weight_window(op, 0, 1).kernel);
  if (op.has_input(2)) cost.arith = op.output_elements(0);
  return cost;
}

// [N, C·Π block, L] → [N, C, image…].
void infer_col2im(OpContext& op) {
  set_element(op, 0, op.element(0));
  const Shape& columns = op.shape(0);
  if (columns.size() != 3) op.fail("input 0 has rank " + std::to_string(columns.size()) + ", expected 3");
  const TensorValue* image_value = op.value(1);
  const TensorValue* block_value = op.value(2);
  for (const int i : {1, 2})
    if (op.has_shape(i) && op.rank(i) != 1)
      op.fail(std::string(i == 1 ? "image" : "block") + "_shape has rank " + std::to_string(op.rank(i)) + ", expected 1");
  const auto length = op.has_shape(1) ? op.shape(1)[0].value64() : std::nullopt;
  if (image_value == nullptr && block_value == nullptr && !length) op.unknown("the number of image axes is not known");
  const std::size_t axes = image_value != nullptr   ? image_value->size()
                           : block_value != nullptr ? block_value->size()
                                                    : static_cast<std::size_t>(*length);
  const Shape image = shape_from_value(
      op, image_value != nullptr ? *image_value : TensorValue(std::min<std::size_t>(axes, 64)), "image");
  if (block_value != nullptr && block_value->size() != image.size())
    op.fail("image_shape and block_shape differ in length");
  std::optional<Dim> channels;
  if (block_value != nullptr) {
    const Dim block = element_count(shape_from_value(op, *block_value, "block"));
    channels = exact_div(columns[1], block);
    if (!channels && block.is_constant() && (columns[1].is_constant() || block == Dim(0)))
      op.fail(columns[1].to_string() + " columns do not divide into blocks of " + block.to_string());
    if (!channels) channels = floor_div(columns[1], block);
  }
  Shape output = {columns[0], channels ? *channels : op.fresh("channels", "channels of unknown block size")};
  output.insert(output.end(), image.begin(), image.end());
  op.set_output(0, op.element(0), std::move(output));
}

// Every column element is added to its pixel.
OpCost cost_col2im(const OpContext& op) {
  OpCost cost = op.streamed({0});
  cost.arith = op.elements(0);
  return cost;
}

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
  OpCost cost = op.streamed();
  const Dim outputs = op.elements(0);
  cost.macs = outputs * op.shape(1)[2];
  if (op.has_input(2)) cost.arith += outputs;
  const std::string_view activation = op.attribute("activation", std::string_view("none"));
  if (activation == "silu" || activation == "swish") {
    cost.arith += outputs;
    cost.special += outputs;
  } else if (activation != "none") {
    op.unknown("activation is '" + std::string(activation) + "'");
  }
  return cost;
}

// clang-format off
constexpr OpRule kConvRules[] = {
    // op                   infer                 cost                 fold     cost in words
    {"CausalConvWithState", infer_causal_conv,    cost_causal_conv,    nullptr, "k macs, 1 bias add per element; SiLU: 1 sigmoid, 1 mul", kAttention.updating(3, 1, 1).with(Gradient::Rule)},
    {"Col2Im",              infer_col2im,         cost_col2im,         nullptr, "1 add per column element", kLayout},
    {"Conv",                infer_conv,           cost_conv,           nullptr, "C/group × kernel macs, 1 bias add per output element", kConvolution.reads({{}, WeightUse::Weight, WeightUse::Additive})},
    {"ConvInteger",         infer_conv_integer,   cost_conv_integer,   nullptr, "C/group × kernel macs per output element; 1 sub per operand element with a zero point", kConvolution.with(ProductForm::ScaledConvolution).with(Gradient::Integers).reads({{}, {}, WeightUse::ZeroPoint, WeightUse::ZeroPoint})},
    {"ConvTranspose",       infer_conv_transpose, cost_conv_transpose, nullptr, "M/group × kernel macs per input element; 1 bias add per output element", kConvolution.with(ProductForm::Deconvolution).reads({{}, WeightUse::Weight, WeightUse::Additive})},
    {"DeformConv",          infer_deform_conv,    cost_deform_conv,    nullptr, "as Conv; n-linear sample (2^(n+1) − 1, mask 1) per channel, position and tap; weights per place", kConvolution.with(ProductForm::ScaledConvolution).with(Gradient::Unmodelled)},
    {"QLinearConv",         infer_qlinear_conv,   cost_qlinear_conv,   nullptr, "as ConvInteger; scale, round, zero point, 2 clamps, bias per output element", kConvolution.with(ProductForm::ScaledConvolution).with(Gradient::Integers).reads({{}, WeightUse::QuantScale, WeightUse::ZeroPoint, {}, WeightUse::QuantScale, WeightUse::ZeroPoint, WeightUse::QuantScale, WeightUse::ZeroPoint})},
};
// clang-format on
static_assert(well_formed(kConvRules));

}  // namespace

std::span<const OpRule> conv_rules() { return kConvRules; }

}  // namespace pagoda::inline core::ops
