// Convolutions. Every tap of every output element is one multiply-accumulate, taps on padding included, as in all
// published counts (output elements × input channels of the group × kernel volume).
#include "ops/contrib_window.h"

namespace pagoda::inline core::ops {
namespace {

constexpr auto kChannelsFirst = Layout::ChannelsFirst;

// [batch, W[0], window positions…] for data [batch, C, spatial…] and the weight at input `W`, [M, C/group, kernel…].
template <int W>
Shape convolution_shape(OpContext& op) {
  const Shape output = convolved(op, 0, W, kChannelsFirst).shape(kChannelsFirst);
  if (const auto filters = op.shape(W)[0].value64(); filters && *filters % group_count(op) != 0)
    op.fail(cat(*filters, " filters do not divide into ", group_count(op), " groups"));
  return output;
}

OpCost cost_conv(const OpContext& op) { return conv_cost(op, kChannelsFirst); }

// (x − x_zero_point)·(w − w_zero_point): one subtraction per element of each operand that has a zero point.
OpCost cost_conv_integer(const OpContext& op) {
  return int8_cost(op) + zero_point_work(op, 0, 2) + zero_point_work(op, 1, 3) +
         Work{.macs = op.output_elements(0) * products_per_output(op, 0, 1, kChannelsFirst)};
}

OpCost cost_qlinear_conv(const OpContext& op) { return qlinear_conv_cost(op, kChannelsFirst); }

// The number of taps of the weight at input 1.
Dim kernel_taps(const OpContext& op) {
  return element_count(weight_window(op, 1, image_of(op, 0, kChannelsFirst).spatial.size()).kernel);
}

Shape deform_conv_shape(OpContext& op) {
  const Shape output = convolution_shape<1>(op);
  const std::size_t axes = output.size() - 2;
  if (op.has_shape(2)) {
    const Shape& offset = op.shape(2);
    if (offset.size() != axes + 2) op.fail(cat("the offset has rank ", offset.size()));
    op.unify(offset[1], Dim(group_count(op, "offset_group")) * axes * kernel_taps(op), "offset channels");
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
  const Dim places = positions * group_count(op, "offset_group");
  const Dim samples = positions * op.shape(0)[1];
  return op.streamed() +
         Work{.arith = when(op.has_input(3), op.output_elements(0)) + when(op.has_input(4), samples),
              .macs = op.output_elements(0) * products_per_output(op, 0, 1, kChannelsFirst)} +
         (Work{.arith = 1} + axis_weights_work(Interpolation::Linear)) * (places * axes) +
         weight_products_work(Interpolation::Linear, axes) * places +
         sample_work(Interpolation::Linear, axes) * samples;
}

Shape conv_transpose_shape(OpContext& op) { return conv_transposed(op, kChannelsFirst, 1).shape(kChannelsFirst); }
OpCost cost_conv_transpose(const OpContext& op) { return conv_transpose_cost(op, kChannelsFirst, 2); }

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
    // op                   infer                            cost                 fold     cost in words
    {"CausalConvWithState", infer_causal_conv,               cost_causal_conv,    nullptr, "k macs, 1 bias add per element; SiLU: 1 sigmoid, 1 mul", kAttention.updating(3, 1, 1).with(Gradient::Rule)},
    {"Col2Im",              shaped<col2im_shape>,            cost_col2im,         nullptr, "1 add per column element", kLayout},
    {"Conv",                shaped<convolution_shape<1>>,    cost_conv,           nullptr, "C/group × kernel macs, 1 bias add per output element", kConvolution.reads({{}, WeightUse::Weight, WeightUse::Additive})},
    {"ConvInteger",         shaped_as<convolution_shape<1>, ElementType::Int32>, cost_conv_integer, nullptr, "C/group × kernel macs per output element; 1 sub per operand element with a zero point", kConvolution.with(ProductForm::ScaledConvolution).with(Gradient::Integers).reads({{}, {}, WeightUse::ZeroPoint, WeightUse::ZeroPoint})},
    {"ConvTranspose",       shaped<conv_transpose_shape>,    cost_conv_transpose, nullptr, "M/group × kernel macs per input element; 1 bias add per output element", kConvolution.with(ProductForm::Deconvolution).reads({{}, WeightUse::Weight, WeightUse::Additive})},
    {"DeformConv",          shaped<deform_conv_shape>,       cost_deform_conv,    nullptr, "as Conv; n-linear sample (2^(n+1) − 1, mask 1) per channel, position and tap; weights per place", kConvolution.with(ProductForm::ScaledConvolution).with(Gradient::Unmodelled)},
    {"QLinearConv",         shaped<convolution_shape<3>, 7>, cost_qlinear_conv,   nullptr, "as ConvInteger; scale, round, zero point, 2 clamps, bias per output element", kConvolution.with(ProductForm::ScaledConvolution).with(Gradient::Integers).reads({{}, WeightUse::QuantScale, WeightUse::ZeroPoint, {}, WeightUse::QuantScale, WeightUse::ZeroPoint, WeightUse::QuantScale, WeightUse::ZeroPoint})},
};
// clang-format on
static_assert(well_formed(kConvRules));

}  // namespace

std::span<const OpRule> conv_rules() { return kConvRules; }

}  // namespace pagoda::inline core::ops
