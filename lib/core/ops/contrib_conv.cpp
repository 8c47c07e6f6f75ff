// com.microsoft: convolutions and pools with fused activations and sums, or with channels last; and the rows of
// com.ms.internal.nhwc and com.microsoft.nchwc, the domains into which ONNX Runtime rewrites images when it saves an
// optimised model. NCHWc tensors keep the shape [N, C, H, W] with C padded to blocks of 8 or 16.
#include "ops/contrib_window.h"
#include "ops/families.h"
#include "ops/rule_parts.h"

namespace pagoda::inline core::ops {
namespace {

// --- convolutions ---

template <Layout L>
void infer_conv(OpContext& op) {
  set_element(op, 0, op.element(0));
  op.set_output(0, op.element(0), convolved(op, 0, 1, L).shape(L));
}

// Bias (input 2), sum (input 3) and activation are fused in.
template <Layout L>
OpCost cost_conv(const OpContext& op) {
  OpCost cost = op.streamed();
  const Dim outputs = op.output_elements(0);
  cost.macs = outputs * products_per_output(op, 0, 1, L);
  if (op.has_input(2)) cost.arith += outputs;
  if (op.has_input(3)) cost.arith += outputs;
  cost += fused_activation_work(op);
  return cost;
}

void infer_qlinear_conv(OpContext& op, Layout layout) {
  set_element(op, 0, op.element(7));
  op.set_output(0, op.element(7), convolved(op, 0, 3, layout).shape(layout));
}
void infer_qlinear_conv(OpContext& op) { infer_qlinear_conv(op, stated_layout(op, 0)); }
void infer_qlinear_conv_nhwc(OpContext& op) { infer_qlinear_conv(op, Layout::ChannelsLast); }

// Subtract the zero points of both operands; add the bias; scale, round, add the zero point, clamp. The combined scale
// takes a multiplication and a division per element of the weight's scale.
OpCost cost_qlinear_conv(const OpContext& op, Layout layout) {
  OpCost cost = op.streamed();
  const Dim outputs = op.output_elements(0);
  cost.macs = outputs * products_per_output(op, 0, 3, layout);
  cost.arith = op.elements(0) + op.elements(3) + 2 * op.elements(4);
  cost += quantize_work() * outputs;
  if (op.has_input(8)) cost.arith += outputs;
  cost.precision = ElementType::Int8;
  return cost;
}
OpCost cost_qlinear_conv(const OpContext& op) { return cost_qlinear_conv(op, stated_layout(op, 0)); }
OpCost cost_qlinear_conv_nhwc(const OpContext& op) { return cost_qlinear_conv(op, Layout::ChannelsLast); }

std::vector<Dim> stated_pads(const OpContext& op, int axes) {
  const auto pads = op.integer_list("pads").value_or(std::vector<std::int64_t>(static_cast<std::size_t>(2 * axes), 0));
  return {pads.begin(), pads.end()};
}

void infer_conv_transpose_nhwc(OpContext& op) {
  set_element(op, 0, op.element(0));
  const auto axes = static_cast<int>(image_of(op, 0, Layout::ChannelsLast).spatial.size());
  const Image image = conv_transposed(op, Layout::ChannelsLast, stated_pads(op, axes));
  op.set_output(0, op.element(0), image.shape(Layout::ChannelsLast));
}

// Pads are an input; where they are data, so are the output sizes.
void infer_conv_transpose_dynamic(OpContext& op) {
  set_element(op, 0, op.element(0));
  const auto axes = static_cast<std::size_t>(std::max(op.rank(0) - 2, 0));
  const auto pads = op.has_input(2) ? known_sizes(op, 2) : std::vector<Dim>(2 * axes, Dim(0));
  Image image = conv_transposed(op, Layout::ChannelsFirst, pads.value_or(std::vector<Dim>(2 * axes, Dim(0))));
  if (!pads)
    for (Dim& size : image.spatial) size = op.fresh("transposed_size", "pads computed from data", size);
  op.set_output(0, op.element(0), image.shape(Layout::ChannelsFirst));
}

// Every input element is multiplied by every tap of its group: input elements × M/group × kernel volume.
OpCost cost_conv_transpose(const OpContext& op, int bias) {
  OpCost cost = op.streamed();
  const Shape& weight = op.shape(1);
  cost.macs = op.elements(0) * element_count(Shape(weight.begin() + 1, weight.end()));
  if (op.has_input(bias)) cost.arith = op.output_elements(0);
  cost += fused_activation_work(op);
  return cost;
}
OpCost cost_conv_transpose_nhwc(const OpContext& op) { return cost_conv_transpose(op, 2); }
OpCost cost_conv_transpose_dynamic(const OpContext& op) { return cost_conv_transpose(op, 3); }

// x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B: as ConvTranspose in integers.
void infer_qlinear_conv_transpose(OpContext& op) {
  set_element(op, 0, op.element(7));
  const Shape& weight = op.shape(3);
  const Image input = image_of(op, 0, Layout::ChannelsLast);
  expect_rank(op, 3, op.rank(0));
  Image output = input;
  output.channels = weight[1] * op.attribute("group", std::int64_t{1});
  const Shape kernel(weight.begin() + 2, weight.end());
  const int axes = static_cast<int>(input.spatial.size());
  const Window window = window_attributes(op, axes, &kernel);
  const auto paddings = op.integer_list("output_padding").value_or(std::vector<std::int64_t>(input.spatial.size(), 0));
  if (paddings.size() != input.spatial.size())
    op.fail("output_padding has " + std::to_string(paddings.size()) + " entries");
  for (std::size_t i = 0; i < output.spatial.size(); ++i) {
    Dim& size = output.spatial[i];
    size = Dim(window.strides[i]) * (size - 1) + Dim(window.dilations[i]) * (window.kernel[i] - 1) + 1 + paddings[i] -
           window.pads[i] - window.pads[i + output.spatial.size()];
    if (const auto value = size.value(); value && *value < 0)
      op.fail("spatial axis " + std::to_string(i) + " has size " + size.to_string());
  }
  op.set_output(0, op.element(7), output.shape(Layout::ChannelsLast));
}

OpCost cost_qlinear_conv_transpose(const OpContext& op) {
  OpCost cost = op.streamed();
  const Shape& weight = op.shape(3);
  cost.macs = op.elements(0) * element_count(Shape(weight.begin() + 1, weight.end()));
  cost.arith = op.elements(0) + op.elements(3) + 2 * op.elements(4);
  if (op.has_input(8)) cost.arith += op.output_elements(0);
  cost += quantize_work() * op.output_elements(0);
  cost.precision = ElementType::Int8;
  return cost;
}

// --- pools: the costs of ai.onnx do not depend on the layout ---

template <Layout L>
void infer_pool(OpContext& op) {
  set_element(op, 0, op.element(0));
  const Shape output = pooled(op, L).shape(L);
  op.set_output(0, op.element(0), output);
  op.set_output(1, ElementType::Int64, output);
}

// Input 1 masks out elements of the window: one selection per tap.
OpCost cost_masked_pool(const OpContext& op) {
  OpCost cost = cost_as<"MaxPool">(op);
  const Dim taps = cost.arith + op.output_elements(0);
  cost.arith += taps;
  cost.comparisons += taps;
  return cost;
}

template <Layout L>
void infer_global_pool(OpContext& op) {
  set_element(op, 0, op.element(0));
  Image image = image_of(op, 0, L);
  std::fill(image.spatial.begin(), image.spatial.end(), Dim(1));
  op.set_output(0, op.element(0), image.shape(L));
}

template <RuleName Name>
OpCost cost_with_activation(const OpContext& op) {
  OpCost cost = cost_as<Name>(op);
  cost += fused_activation_work(op);
  return cost;
}

// X, scale, zero point, scale and zero point of the output: dequantise, pool, quantise.
void infer_qlinear_pool(OpContext& op, Layout layout) {
  set_element(op, 0, op.element(0));
  op.set_output(0, op.element(0), pooled(op, layout).shape(layout));
}
void infer_qlinear_pool(OpContext& op) { infer_qlinear_pool(op, stated_layout(op, 0)); }
void infer_qlinear_pool_nhwc(OpContext& op) { infer_qlinear_pool(op, Layout::ChannelsLast); }

void infer_qlinear_global_pool(OpContext& op) {
  if (stated_layout(op, 0) == Layout::ChannelsLast) return infer_global_pool<Layout::ChannelsLast>(op);
  infer_global_pool<Layout::ChannelsFirst>(op);
}

template <RuleName Name>
OpCost cost_qlinear_pool(const OpContext& op) {
  OpCost cost = cost_as<Name>(op);
  cost += dequantize_work() * op.elements(0);
  cost += quantize_work() * op.output_elements(0);
  cost.precision = ElementType::Int8;
  return cost;
}

void infer_max_unpool_nhwc(OpContext& op) {
  set_element(op, 0, op.element(0));
  Image image = image_of(op, 0, Layout::ChannelsLast);
  const Window window = window_attributes(op, static_cast<int>(image.spatial.size()), nullptr);
  const std::size_t axes = image.spatial.size();
  if (const auto stated = known_sizes(op, 2)) {
    if (stated->size() != axes + 2) op.fail("output_shape has " + std::to_string(stated->size()) + " entries");
    return op.set_output(0, op.element(0), Shape(stated->begin(), stated->end()));
  }
  for (std::size_t i = 0; i < axes; ++i) {
    Dim& size = image.spatial[i];
    const Dim derived = Dim(window.strides[i]) * (size - 1) + window.kernel[i] - window.pads[i] - window.pads[i + axes];
    size = op.has_input(2) ? op.fresh("unpooled", "a size computed from data") : derived;
  }
  op.set_output(0, op.element(0), image.shape(Layout::ChannelsLast));
}

// --- other image operators with channels last ---

std::int64_t block_size(const OpContext& op) { return positive_attribute(op, "blocksize"); }

void infer_depth_to_space_nhwc(OpContext& op) {
  set_element(op, 0, op.element(0));
  const Dim block = block_size(op);
  expect_rank(op, 0, 4);
  const Shape& in = op.shape(0);
  op.set_output(0, op.element(0),
                {in[0], in[1] * block, in[2] * block, divided(op, in[3], block * block, "channels and blocks")});
}

void infer_space_to_depth_nhwc(OpContext& op) {
  set_element(op, 0, op.element(0));
  const Dim block = block_size(op);
  expect_rank(op, 0, 4);
  const Shape& in = op.shape(0);
  op.set_output(0, op.element(0),
                {in[0], divided(op, in[1], block, "height and blocks"), divided(op, in[2], block, "width and blocks"),
                 in[3] * block * block});
}

void infer_grid_sample_nhwc(OpContext& op) {
  set_element(op, 0, op.element(0));
  const Image image = image_of(op, 0, Layout::ChannelsLast);
  const Shape& grid = op.shape(1);
  if (grid.size() != op.shape(0).size()) op.fail("input and grid differ in rank");
  op.unify(grid.back(), Dim(image.spatial.size()), "coordinates per location");
  const Image output{op.unify(image.batch, grid[0], "batch"), image.channels, Shape(grid.begin() + 1, grid.end() - 1)};
  op.set_output(0, op.element(0), output.shape(Layout::ChannelsLast));
}

OpCost cost_grid_sample_nhwc(const OpContext& op) { return grid_sample_cost(op, row_count(op.output_shape(0))); }

// Moments (4), a·x + b per element; two divisions, ε, rsqrt, a, b (3) per image and channel.
OpCost cost_instance_norm_nhwc(const OpContext& op) {
  const Image image = image_of(op, 0, Layout::ChannelsLast);
  const Dim statistics = image.batch * image.channels;
  OpCost cost = op.streamed();
  cost.arith = 6 * op.elements(0) + 6 * statistics;
  cost.special = statistics;
  cost += fused_activation_work(op);
  return cost;
}

// --- NCHWc ---

// The padded weights of the file, [M, C/group, kernel…], decide the channels, including those of a preceding
// ReorderInput.
void infer_nchwc_conv(OpContext& op) {
  set_element(op, 0, op.element(0));
  Image image = image_of(op, 0, Layout::ChannelsFirst);
  const Shape& weight = op.shape(1);
  expect_rank(op, 1, op.rank(0));
  const Shape kernel(weight.begin() + 2, weight.end());
  if (!image.channels.is_constant())
    op.unify(image.channels, weight[1] * op.attribute("group", std::int64_t{1}), "input channels");
  image.channels = weight[0];
  image.spatial =
      window_output(op, image.spatial, window_attributes(op, static_cast<int>(kernel.size()), &kernel), false);
  op.set_output(0, op.element(0), image.shape(Layout::ChannelsFirst));
}

OpCost cost_nchwc_conv(const OpContext& op) {
  OpCost cost = op.streamed();
  const Shape& weight = op.shape(1);
  const Dim outputs = op.output_elements(0);
  cost.macs = outputs * element_count(Shape(weight.begin() + 1, weight.end()));
  if (op.has_input(2)) cost.arith += outputs;
  if (op.has_input(3)) cost.arith += outputs;
  cost += fused_activation_work(op);
  return cost;
}

// Channels are padded to the block size, 8 or 16, of the machine that optimised the model.
void infer_reorder_input(OpContext& op) {
  set_element(op, 0, op.element(0));
  Image image = image_of(op, 0, stated_layout(op, 0));
  if (!exact_div(image.channels, 16)) {
    const Dim upper = 16 * ceil_div(image.channels, 16);
    image.channels =
        op.fresh("blocked_channels", "channels padded to a block of 8 or 16, as the machine has it", upper);
  }
  op.set_output(0, op.element(0), image.shape(Layout::ChannelsFirst));
}

void infer_reorder_output(OpContext& op) {
  set_element(op, 0, op.element(0));
  Image image = image_of(op, 0, Layout::ChannelsFirst);
  image.channels = positive_attribute(op, "channels");
  op.set_output(0, op.element(0), image.shape(stated_layout(op, 0)));
}

std::vector<std::int64_t> upsample_scales(const OpContext& op) {
  const auto scales = op.integer_list("scales");
  if (!scales || scales->size() != op.shape(0).size() ||
      std::any_of(scales->begin(), scales->end(), [](std::int64_t s) { return s < 1; }))
    op.fail("attribute scales should hold a factor for every axis");
  return *scales;
}

void infer_nchwc_upsample(OpContext& op) {
  set_element(op, 0, op.element(0));
  Shape output = op.shape(0);
  const auto scales = upsample_scales(op);
  for (std::size_t i = 0; i < output.size(); ++i) output[i] *= scales[i];
  op.set_output(0, op.element(0), std::move(output));
}

// Coordinates (mul, add) and weights per position of a scaled axis, taps per element.
OpCost cost_nchwc_upsample(const OpContext& op) {
  const Interpolation mode = interpolation(op, "nearest");
  OpCost cost = op.streamed();
  const auto scales = upsample_scales(op);
  int axes = 0;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (scales[i] == 1) continue;
    ++axes;
    cost += (Work{.arith = 2} + axis_weights_work(mode)) * op.output_shape(0)[i];
  }
  cost += sample_work(mode, axes) * op.output_elements(0);
  return cost;
}

constexpr auto kFirst = Layout::ChannelsFirst;
constexpr auto kLast = Layout::ChannelsLast;

// clang-format off
constexpr OpRule kContribConvRules[] = {
    // op                           infer                         cost                                      fold     cost in words
    {"ConvTransposeWithDynamicPads", infer_conv_transpose_dynamic, cost_conv_transpose_dynamic,             nullptr, "M/group × kernel macs per input element; bias add", kConvolution.with(ProductForm::Deconvolution).with(Gradient::Unmodelled)},
    {"FusedConv",                   infer_conv<kFirst>,           cost_conv<kFirst>,                        nullptr, "C/group × kernel macs, bias add, sum, activation per output element", kConvolution.with(Gradient::Unmodelled)},
    {"MaxpoolWithMask",             infer_pool<kFirst>,           cost_masked_pool,                         nullptr, "kernel − 1 comparisons, a selection per tap", kPooling.with(Gradient::Unmodelled)},
    {"NhwcConv",                    infer_conv<kLast>,            cost_conv<kLast>,                         nullptr, "as FusedConv, channels last", kConvolution.with(Gradient::Unmodelled)},
    {"NhwcFusedConv",               infer_conv<kLast>,            cost_conv<kLast>,                         nullptr, "as FusedConv, channels last", kConvolution.with(Gradient::Unmodelled)},
    {"NhwcMaxPool",                 infer_pool<kLast>,            cost_as<"MaxPool">,                       nullptr, "kernel − 1 comparisons per output element", kPooling.with(Gradient::Unmodelled)},
    {"QLinearAveragePool",          infer_qlinear_pool,           cost_qlinear_pool<"AveragePool">,         nullptr, "dequantise (2) per element; kernel, quantise (5) per output element", kPooling.with(Gradient::Unmodelled)},
    {"QLinearConv",                 infer_qlinear_conv,           cost_qlinear_conv,                        nullptr, "C/group × kernel macs, bias, quantise (5) per output element; zero points", kConvolution.with(ProductForm::ScaledConvolution).with(Gradient::Unmodelled).reads({{}, WeightUse::QuantScale, WeightUse::ZeroPoint, {}, WeightUse::QuantScale, WeightUse::ZeroPoint, WeightUse::QuantScale, WeightUse::ZeroPoint})},
    {"QLinearGlobalAveragePool",    infer_qlinear_global_pool,    cost_qlinear_pool<"GlobalAveragePool">,   nullptr, "dequantise (2), add per element; quantise (5) per output element", kPooling.with(Gradient::Unmodelled)},
};

constexpr OpRule kNhwcRules[] = {
    // op                           infer                         cost                                      fold     cost in words
    {"AveragePool",                 infer_pool<kLast>,            cost_with_activation<"AveragePool">,      nullptr, "as ai.onnx, then the activation", kPooling.with(Gradient::Unmodelled)},
    {"BatchNormalization",          infer_as<"BatchNormalization">, cost_with_activation<"BatchNormalization">, nullptr, "as ai.onnx, then the activation", kPointwise.with(Epilogue::BatchNorm).with(Gradient::Unmodelled).reads({{}, WeightUse::Factor, WeightUse::Additive, WeightUse::Additive, WeightUse::Positive})},
    {"Conv",                        infer_conv<kLast>,            cost_conv<kLast>,                         nullptr, "C/group × kernel macs, bias add, activation per output element", kConvolution.with(Gradient::Unmodelled).reads({{}, WeightUse::Weight, WeightUse::Additive})},
    {"ConvTranspose",               infer_conv_transpose_nhwc,    cost_conv_transpose_nhwc,                 nullptr, "M/group × kernel macs per input element; bias add, activation", kConvolution.with(ProductForm::Deconvolution).with(Gradient::Unmodelled).reads({{}, WeightUse::Weight, WeightUse::Additive})},
    {"DepthToSpace",                infer_depth_to_space_nhwc,    cost_move,                                nullptr, "no arithmetic; reads and writes all", kLayout.with(Gradient::Unmodelled)},
    {"GlobalAveragePool",           infer_global_pool<kLast>,     cost_as<"GlobalAveragePool">,             nullptr, "as ai.onnx", kPooling.with(Gradient::Unmodelled)},
    {"GlobalLpPool",                infer_global_pool<kLast>,     cost_as<"GlobalLpPool">,                  nullptr, "as ai.onnx", kPooling.with(Gradient::Unmodelled)},
    {"GlobalMaxPool",               infer_global_pool<kLast>,     cost_as<"GlobalMaxPool">,                 nullptr, "as ai.onnx", kPooling.with(Gradient::Unmodelled)},
    {"GridSample",                  infer_grid_sample_nhwc,       cost_grid_sample_nhwc,                    nullptr, "as ai.onnx", kPooling.with(Gradient::Unmodelled)},
    {"InstanceNormalization",       infer_same,                   cost_instance_norm_nhwc,                  nullptr, "as ai.onnx, then the activation", kNorm.with(Gradient::Unmodelled).reads({{}, WeightUse::Factor, WeightUse::Additive})},
    {"LRN",                         infer_same,                   cost_as<"LRN">,                           nullptr, "as ai.onnx", kNorm.with(Gradient::Unmodelled)},
    {"LpPool",                      infer_pool<kLast>,            cost_as<"LpPool">,                        nullptr, "as ai.onnx", kPooling.with(Gradient::Unmodelled)},
    {"MaxPool",                     infer_pool<kLast>,            cost_with_activation<"MaxPool">,          nullptr, "as ai.onnx, then the activation", kPooling.with(Gradient::Unmodelled)},
    {"MaxUnpool",                   infer_max_unpool_nhwc,        cost_as<"MaxUnpool">,                     nullptr, "as ai.onnx", kPooling.with(Gradient::Unmodelled)},
    {"QLinearAveragePool",          infer_qlinear_pool_nhwc,      cost_qlinear_pool<"AveragePool">,         nullptr, "as com.microsoft", kPooling.with(Gradient::Unmodelled)},
    {"QLinearConv",                 infer_qlinear_conv_nhwc,      cost_qlinear_conv_nhwc,                   nullptr, "as com.microsoft", kConvolution.with(ProductForm::ScaledConvolution).with(Gradient::Unmodelled).reads({{}, WeightUse::QuantScale, WeightUse::ZeroPoint, {}, WeightUse::QuantScale, WeightUse::ZeroPoint, WeightUse::QuantScale, WeightUse::ZeroPoint})},
    {"QLinearConvTranspose",        infer_qlinear_conv_transpose, cost_qlinear_conv_transpose,              nullptr, "M/group × kernel macs per input element; bias, quantise (5) per output element; zero points", kConvolution.with(ProductForm::ScaledConvolution).with(Gradient::Unmodelled)},
    {"Resize",                      infer_as<"Resize">,           cost_as<"Resize">,                        nullptr, "as ai.onnx; scales are listed in the order of the axes", kPooling.with(Gradient::Unmodelled)},
    {"SpaceToDepth",                infer_space_to_depth_nhwc,    cost_move,                                nullptr, "no arithmetic; reads and writes all", kLayout.with(Gradient::Unmodelled)},
};

constexpr OpRule kNchwcRules[] = {
    // op                           infer                         cost                                      fold     cost in words
    {"AveragePool",                 infer_pool<kFirst>,           cost_as<"AveragePool">,                   nullptr, "as ai.onnx over padded channels", kPooling.with(Gradient::Unmodelled)},
    {"Conv",                        infer_nchwc_conv,             cost_nchwc_conv,                          nullptr, "as FusedConv over padded channels", kConvolution.with(Gradient::Unmodelled).reads({{}, WeightUse::Weight, WeightUse::Additive})},
    {"GlobalAveragePool",           infer_global_pool<kFirst>,    cost_as<"GlobalAveragePool">,             nullptr, "as ai.onnx over padded channels", kPooling.with(Gradient::Unmodelled)},
    {"GlobalMaxPool",               infer_global_pool<kFirst>,    cost_as<"GlobalMaxPool">,                 nullptr, "as ai.onnx over padded channels", kPooling.with(Gradient::Unmodelled)},
    {"MaxPool",                     infer_pool<kFirst>,           cost_as<"MaxPool">,                       nullptr, "as ai.onnx over padded channels", kPooling.with(Gradient::Unmodelled)},
    {"ReorderInput",                infer_reorder_input,          cost_move,                                nullptr, "no arithmetic; reads the input, writes padded channels", kLayout.with(Gradient::Unmodelled)},
    {"ReorderOutput",               infer_reorder_output,         cost_move,                                nullptr, "no arithmetic; reads padded channels, writes the output", kLayout.with(Gradient::Unmodelled)},
    {"Upsample",                    infer_nchwc_upsample,         cost_nchwc_upsample,                      nullptr, "taps mul, taps − 1 adds per element; coordinates and weights per axis position", kPooling.with(Gradient::Unmodelled)},
};
// clang-format on
static_assert(well_formed(kContribConvRules));
static_assert(well_formed(kNhwcRules));
static_assert(well_formed(kNchwcRules));

}  // namespace

std::span<const OpRule> contrib_conv_rules() { return kContribConvRules; }
std::span<const OpRule> internal_nhwc_rules() { return kNhwcRules; }
std::span<const OpRule> nchwc_rules() { return kNchwcRules; }

}  // namespace pagoda::inline core::ops
