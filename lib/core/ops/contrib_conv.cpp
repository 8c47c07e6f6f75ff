// com.microsoft: convolutions and pools with fused activations and sums, or with channels last; and the rows of
// com.ms.internal.nhwc and com.microsoft.nchwc, the domains into which ONNX Runtime rewrites images when it saves an
// optimised model. NCHWc tensors keep the shape [N, C, H, W] with C padded to blocks of 8 or 16.
#include "ops/images.h"

namespace pagoda::inline core::ops {
namespace {

// Pads are an input; where they are data, so are the output sizes.
Shape conv_transpose_dynamic_shape(OpContext& op) {
  const std::vector<Dim> none(2 * static_cast<std::size_t>(std::max(op.rank(0) - 2, 0)), Dim(0));
  const auto pads = op.has_input(2) ? known_sizes(op, 2) : none;
  Image image = conv_transposed(op, 1, pads.value_or(none));
  if (!pads)
    for (Dim& size : image.spatial) size = op.fresh("transposed_size", "pads computed from data", size);
  return image.shape(Layout::ChannelsFirst);
}

OpCost cost_qlinear_conv_transpose(const OpContext& op) { return qlinear_cost(op, transposed_macs(op, 3)); }

// --- pools: the costs of ai.onnx do not depend on the layout ---

Shape pool_shape(OpContext& op) {
  Image image = image_of(op);
  const Window window = window_attributes(op, static_cast<int>(image.spatial.size()), nullptr);
  image.spatial = window_output(op, image.spatial, window, op.flag("ceil_mode"));
  return image.shape(layout_of(op));
}

void infer_pool(OpContext& op) {
  set_element(op, 0, op.element(0));
  const Shape output = pool_shape(op);
  op.set_output(0, op.element(0), output);
  op.set_output(1, ElementType::Int64, output);
}

// Input 1 masks out elements of the window: one selection per tap.
OpCost cost_masked_pool(const OpContext& op) {
  OpCost cost = cost_as<"MaxPool">(op);
  cost += compared(cost.arith + op.output_elements(0));
  return cost;
}

Shape global_pool_shape(OpContext& op) {
  Image image = image_of(op);
  std::fill(image.spatial.begin(), image.spatial.end(), Dim(1));
  return image.shape(layout_of(op));
}

template <RuleName Name>
OpCost cost_with_activation(const OpContext& op) {
  return cost_as<Name>(op) + fused_activation_work(op);
}

// X, scale, zero point, scale and zero point of the output: dequantise, pool, quantise.
template <RuleName Name>
OpCost cost_qlinear_pool(const OpContext& op) {
  return in_precision(ElementType::Int8, cost_as<Name>(op)) + dequantize_work() * op.elements(0) +
         quantize_work() * op.output_elements(0);
}

Shape max_unpool_nhwc_shape(OpContext& op) {
  Image image = image_of(op);
  const Window window = window_attributes(op, static_cast<int>(image.spatial.size()), nullptr);
  const std::size_t axes = image.spatial.size();
  if (const auto sizes = known_sizes(op, 2)) {
    if (sizes->size() != axes + 2) op.fail(cat("output_shape has ", sizes->size(), " entries"));
    return Shape(sizes->begin(), sizes->end());
  }
  for (std::size_t i = 0; i < axes; ++i) {
    Dim& size = image.spatial[i];
    const Dim derived = Dim(window.strides[i]) * (size - 1) + window.kernel[i] - window.pads[i] - window.pads[i + axes];
    size = op.has_input(2) ? op.fresh("unpooled", "a size computed from data") : derived;
  }
  return image.shape(Layout::ChannelsLast);
}

// --- other image operators with channels last ---

OpCost cost_grid_sample_nhwc(const OpContext& op) { return grid_sample_cost(op, row_count(op.output_shape(0))); }

OpCost cost_instance_norm_nhwc(const OpContext& op) {
  const Image image = image_of(op);
  const Dim statistics = image.batch * image.channels;
  return op.streamed() + channel_norm_work(op.elements(0), statistics, statistics) + fused_activation_work(op);
}

// --- NCHWc ---

// The file's padded weights, [M, C/group, kernel…], decide the channels, including those of a preceding ReorderInput.
Shape nchwc_conv_shape(OpContext& op) {
  Image image = image_of(op, 0, Layout::ChannelsFirst);
  const Window window = weight_window(op, 1, image.spatial.size());
  if (!image.channels.is_constant())
    op.unify(image.channels, dim_of(op, 1, 1) * positive_or_one(op, "group"), "input channels");
  image.channels = dim_of(op, 1, 0);
  image.spatial = window_output(op, image.spatial, window, false);
  return image.shape(Layout::ChannelsFirst);
}

// Channels are padded to the block size, 8 or 16, of the machine that optimised the model.
Shape reorder_input_shape(OpContext& op) {
  Image image = image_of(op);
  if (!exact_div(image.channels, 16)) {
    const Dim upper = 16 * ceil_div(image.channels, 16);
    image.channels =
        op.fresh("blocked_channels", "channels padded to a block of 8 or 16, as the machine has it", upper);
  }
  return image.shape(Layout::ChannelsFirst);
}

Shape reorder_output_shape(OpContext& op) {
  Image image = image_of(op, 0, Layout::ChannelsFirst);
  image.channels = positive_attribute(op, "channels");
  return image.shape(layout_of(op));
}

std::vector<std::int64_t> upsample_scales(const OpContext& op) {
  const auto scales = op.integer_list("scales");
  if (!scales || scales->size() != op.shape(0).size() ||
      std::any_of(scales->begin(), scales->end(), [](std::int64_t s) { return s < 1; }))
    op.fail("attribute scales should hold a factor for every axis");
  return *scales;
}

Shape nchwc_upsample_shape(OpContext& op) {
  Shape output = op.shape(0);
  const auto scales = upsample_scales(op);
  for (std::size_t i = 0; i < output.size(); ++i) output[i] *= scales[i];
  return output;
}

// Coordinates (mul, add) and weights per position of a scaled axis, taps per element.
OpCost cost_nchwc_upsample(const OpContext& op) {
  const Interpolation mode = interpolation(op, "nearest");
  const auto scales = upsample_scales(op);
  int axes = 0;
  Dim positions;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (scales[i] == 1) continue;
    ++axes;
    positions += op.output_shape(0)[i];
  }
  return op.streamed() + resampling_work(mode, axes, positions, 0, op.output_elements(0));
}

// clang-format off
constexpr OpRule kContribConvRules[] = {
    // op                            infer                                 cost                              fold     cost in words
    {"ConvTransposeWithDynamicPads", shaped<conv_transpose_dynamic_shape>, conv_transpose_cost<3>,           nullptr, "M/group × kernel macs per input element; bias add", kConvolution.with(ProductForm::Deconvolution).with(Gradient::Unmodelled)},
    {"FusedConv",                    shaped<conv_shape<>>,                 conv_cost,                        nullptr, "C/group × kernel macs, bias add, sum, activation per output element", kConvolution.with(Gradient::Unmodelled)},
    {"MaxpoolWithMask",              infer_pool,                           cost_masked_pool,                 nullptr, "kernel − 1 comparisons, a selection per tap", kPooling.with(Gradient::Unmodelled)},
    {"NhwcConv",                     shaped<conv_shape<>>,                 conv_cost,                        nullptr, "as FusedConv, channels last", kConvolution.with(Gradient::Unmodelled)},
    {"NhwcFusedConv",                shaped<conv_shape<>>,                 conv_cost,                        nullptr, "as FusedConv, channels last", kConvolution.with(Gradient::Unmodelled)},
    {"NhwcMaxPool",                  infer_pool,                           cost_as<"MaxPool">,               nullptr, "kernel − 1 comparisons per output element", kPooling.with(Gradient::Unmodelled)},
    {"QLinearAveragePool",           shaped<pool_shape>,                   cost_qlinear_pool<"AveragePool">, nullptr, "dequantise (2) per element; kernel, quantise (5) per output element", kPooling.with(Gradient::Unmodelled)},
    {"QLinearConv",                  shaped<conv_shape<3>, 7>,             qlinear_conv_cost,                nullptr, "C/group × kernel macs, bias, quantise (5) per output element; zero points", kConvolution.with(ProductForm::ScaledConvolution).with(Gradient::Unmodelled).reads({{}, WeightUse::QuantScale, WeightUse::ZeroPoint, {}, WeightUse::QuantScale, WeightUse::ZeroPoint, WeightUse::QuantScale, WeightUse::ZeroPoint})},
    {"QLinearGlobalAveragePool",     shaped<global_pool_shape>,            cost_qlinear_pool<"GlobalAveragePool">, nullptr, "dequantise (2), add per element; quantise (5) per output element", kPooling.with(Gradient::Unmodelled)},
};

constexpr OpRule kNhwcRules[] = {
    // op                     infer                                cost                              fold     cost in words
    {"AveragePool",           infer_pool,                          cost_with_activation<"AveragePool">, nullptr, "as ai.onnx, then the activation", kPooling.with(Gradient::Unmodelled)},
    {"BatchNormalization",    infer_as<"BatchNormalization">,      cost_with_activation<"BatchNormalization">, nullptr, "as ai.onnx, then the activation", kPointwise.with(Epilogue::BatchNorm).with(Gradient::Unmodelled).reads({{}, WeightUse::Factor, WeightUse::Additive, WeightUse::Additive, WeightUse::Positive})},
    {"Conv",                  shaped<conv_shape<>>,                conv_cost,                        nullptr, "C/group × kernel macs, bias add, activation per output element", kConvolution.with(Gradient::Unmodelled).reads({{}, WeightUse::Weight, WeightUse::Additive})},
    {"ConvTranspose",         shaped<conv_transposed_shape<>>,     conv_transpose_cost<>,            nullptr, "M/group × kernel macs per input element; bias add, activation", kConvolution.with(ProductForm::Deconvolution).with(Gradient::Unmodelled).reads({{}, WeightUse::Weight, WeightUse::Additive})},
    {"DepthToSpace",          shaped<depth_to_space_shape>,        cost_move,                        nullptr, "no arithmetic; reads and writes all", kLayout.with(Gradient::Unmodelled)},
    {"GlobalAveragePool",     shaped<global_pool_shape>,           cost_as<"GlobalAveragePool">,     nullptr, "as ai.onnx", kPooling.with(Gradient::Unmodelled)},
    {"GlobalLpPool",          shaped<global_pool_shape>,           cost_as<"GlobalLpPool">,          nullptr, "as ai.onnx", kPooling.with(Gradient::Unmodelled)},
    {"GlobalMaxPool",         shaped<global_pool_shape>,           cost_as<"GlobalMaxPool">,         nullptr, "as ai.onnx", kPooling.with(Gradient::Unmodelled)},
    {"GridSample",            shaped<grid_sample_shape>,           cost_grid_sample_nhwc,            nullptr, "as ai.onnx", kPooling.with(Gradient::Unmodelled)},
    {"InstanceNormalization", infer_same,                          cost_instance_norm_nhwc,          nullptr, "as ai.onnx, then the activation", kNorm.with(Gradient::Unmodelled).reads({{}, WeightUse::Factor, WeightUse::Additive})},
    {"LRN",                   infer_same,                          cost_as<"LRN">,                   nullptr, "as ai.onnx", kNorm.with(Gradient::Unmodelled)},
    {"LpPool",                infer_pool,                          cost_as<"LpPool">,                nullptr, "as ai.onnx", kPooling.with(Gradient::Unmodelled)},
    {"MaxPool",               infer_pool,                          cost_with_activation<"MaxPool">,  nullptr, "as ai.onnx, then the activation", kPooling.with(Gradient::Unmodelled)},
    {"MaxUnpool",             shaped<max_unpool_nhwc_shape>,       cost_as<"MaxUnpool">,             nullptr, "as ai.onnx", kPooling.with(Gradient::Unmodelled)},
    {"QLinearAveragePool",    shaped<pool_shape>,                  cost_qlinear_pool<"AveragePool">, nullptr, "as com.microsoft", kPooling.with(Gradient::Unmodelled)},
    {"QLinearConv",           shaped<conv_shape<3>, 7>,            qlinear_conv_cost,                nullptr, "as com.microsoft", kConvolution.with(ProductForm::ScaledConvolution).with(Gradient::Unmodelled).reads({{}, WeightUse::QuantScale, WeightUse::ZeroPoint, {}, WeightUse::QuantScale, WeightUse::ZeroPoint, WeightUse::QuantScale, WeightUse::ZeroPoint})},
    {"QLinearConvTranspose",  shaped<conv_transposed_shape<3>, 7>, cost_qlinear_conv_transpose,      nullptr, "M/group × kernel macs per input element; bias, quantise (5) per output element; zero points", kConvolution.with(ProductForm::ScaledConvolution).with(Gradient::Unmodelled)},
    {"Resize",                infer_as<"Resize">,                  cost_as<"Resize">,                nullptr, "as ai.onnx; scales are listed in the order of the axes", kPooling.with(Gradient::Unmodelled)},
    {"SpaceToDepth",          shaped<space_to_depth_shape>,        cost_move,                        nullptr, "no arithmetic; reads and writes all", kLayout.with(Gradient::Unmodelled)},
};

constexpr OpRule kNchwcRules[] = {
    // op                 infer                         cost                          fold     cost in words
    {"AveragePool",       infer_pool,                   cost_as<"AveragePool">,       nullptr, "as ai.onnx over padded channels", kPooling.with(Gradient::Unmodelled)},
    {"Conv",              shaped<nchwc_conv_shape>,     conv_cost,                    nullptr, "as FusedConv over padded channels", kConvolution.with(Gradient::Unmodelled).reads({{}, WeightUse::Weight, WeightUse::Additive})},
    {"GlobalAveragePool", shaped<global_pool_shape>,    cost_as<"GlobalAveragePool">, nullptr, "as ai.onnx over padded channels", kPooling.with(Gradient::Unmodelled)},
    {"GlobalMaxPool",     shaped<global_pool_shape>,    cost_as<"GlobalMaxPool">,     nullptr, "as ai.onnx over padded channels", kPooling.with(Gradient::Unmodelled)},
    {"MaxPool",           infer_pool,                   cost_as<"MaxPool">,           nullptr, "as ai.onnx over padded channels", kPooling.with(Gradient::Unmodelled)},
    {"ReorderInput",      shaped<reorder_input_shape>,  cost_move,                    nullptr, "no arithmetic; reads the input, writes padded channels", kLayout.with(Gradient::Unmodelled)},
    {"ReorderOutput",     shaped<reorder_output_shape>, cost_move,                    nullptr, "no arithmetic; reads padded channels, writes the output", kLayout.with(Gradient::Unmodelled)},
    {"Upsample",          shaped<nchwc_upsample_shape>, cost_nchwc_upsample,          nullptr, "taps mul, taps − 1 adds per element; coordinates and weights per axis position", kPooling.with(Gradient::Unmodelled)},
};
// clang-format on
static_assert(well_formed(kContribConvRules) && well_formed(kNhwcRules) && well_formed(kNchwcRules));

}  // namespace

std::span<const OpRule> contrib_conv_rules() { return kContribConvRules; }
std::span<const OpRule> internal_nhwc_rules() { return kNhwcRules; }
std::span<const OpRule> nchwc_rules() { return kNchwcRules; }

}  // namespace pagoda::inline core::ops
