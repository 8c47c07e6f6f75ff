// Domain "trt" of TensorRT's ONNX parser, as NVIDIA's Model Optimizer writes it: conversions to and from 8-bit and
// 4-bit numbers, with a scale per tensor, axis or block.
#include "ops/nn_work.h"

namespace pagoda::inline core::ops {
namespace {

constexpr ElementType kFp8 = ElementType::Float8e4m3fn;
constexpr ElementType kFp4 = ElementType::Float4e2m1;

// --- one type to one type, with scales that the file or another node gives ---

// Scales that are powers of two are stored as bytes: an attribute names the type of the result.
void infer_dequantize_power(OpContext& op) {
  const std::int64_t type = op.attribute("output_dtype", static_cast<std::int64_t>(ElementType::Float32));
  if (type != static_cast<std::int64_t>(ElementType::Float32) &&
      type != static_cast<std::int64_t>(ElementType::Float16) &&
      type != static_cast<std::int64_t>(ElementType::Bfloat16))
    op.fail(cat("output_dtype is ", type, ", not float32, float16 or bfloat16"));
  set_shape_of_first(op, static_cast<ElementType>(type));
}

// --- scales of blocks found at run time ---

// The input's shape with its blocks counted along the axis.
Shape blocks_of(const OpContext& op, std::int64_t default_block) {
  const std::int64_t block = op.attribute("block_size", default_block);
  if (block <= 0) op.fail(cat("block_size is ", block));
  Shape shape = op.shape(0);
  Dim& along = shape[axis_of(op, -1)];
  along = ceil_div(along, Dim(block));
  return shape;
}

template <ElementType Type, ElementType Scale, std::int64_t Block>
void infer_blocks(OpContext& op) {
  set_shape_of_first(op, Type);
  op.set_output(1, Scale, blocks_of(op, Block));
}

// Per element: |x|, the larger, then scale, round, two clamps.
template <std::int64_t Block, int Arith, int Special, int Comparisons>
OpCost cost_blocks(const OpContext& op) {
  return op.streamed() + Work{.arith = 6, .comparisons = 5} * op.elements(0) +
         Work{Arith, Special, Comparisons} * element_count(blocks_of(op, Block));
}

// NVFP4, per block: largest / 6, over the tensor's scale, rounded and clamped twice to e4m3; then the product of both
// scales, by which elements are divided.
constexpr auto kCostFp4Blocks = cost_blocks<16, 6, 0, 3>;

// MXFP8, per block: 2 to the power of ceil(log2(largest / 448)).
constexpr auto kCostMxfp8Blocks = cost_blocks<32, 2, 2, 1>;

// NVFP4 there and back, in one node: as the above, and a multiplication per element.
OpCost cost_fp4_both(const OpContext& op) { return kCostFp4Blocks(op) + Work{.arith = op.elements(0)}; }

constexpr std::initializer_list<WeightUse> kScaled = {{}, WeightUse::QuantScale, WeightUse::ZeroPoint};

// clang-format off
constexpr OpRule kTensorrtRules[] = {
    // op                          infer                                           cost                          fold     cost in words
    {"DequantizeLinear",           infer_as<"DequantizeLinear">,                   cost_as<"DequantizeLinear">,  nullptr, "mul, and sub of the zero point, per element", kDequantize.reads(kScaled)},
    {"QuantizeLinear",             infer_as<"QuantizeLinear">,                     cost_as<"QuantizeLinear">,    nullptr, "div, round, 2 clamps, and add of the zero point, per element", kQuantize.reads(kScaled)},
    {"TRT_FP4DynamicQuantize",     infer_blocks<kFp4, kFp8, 16>,                   kCostFp4Blocks,               nullptr, "abs, max, div, round, 2 clamps per element; 6 per block", kQuantize.reads(kScaled)},
    {"TRT_FP4QDQ",                 infer_same,                                     cost_fp4_both,                nullptr, "as TRT_FP4DynamicQuantize; mul per element", kQuantize},
    {"TRT_FP8DequantizeLinear",    infer_as<"DequantizeLinear">,                   cost_as<"DequantizeLinear">,  nullptr, "mul per element", kDequantize.reads(kScaled)},
    {"TRT_FP8QuantizeLinear",      infer_shape_of_first<kFp8>,                        cost_as<"QuantizeLinear">,    nullptr, "div, round, 2 clamps per element", kQuantize.reads(kScaled)},
    {"TRT_INT4DequantizeLinear",   infer_as<"DequantizeLinear">,                   cost_as<"DequantizeLinear">,  nullptr, "mul per element", kDequantize.reads(kScaled)},
    {"TRT_INT4QuantizeLinear",     infer_shape_of_first<ElementType::Int4>,           cost_as<"QuantizeLinear">,    nullptr, "div, round, 2 clamps per element", kQuantize.reads(kScaled)},
    {"TRT_MXFP8DequantizeLinear",  infer_dequantize_power,                         cost_as<"DequantizeLinear">,  nullptr, "mul per element", kDequantize.reads(kScaled)},
    {"TRT_MXFP8DynamicQuantize",   infer_blocks<kFp8, ElementType::Float8e8m0, 32>, kCostMxfp8Blocks,            nullptr, "abs, max, div, round, 2 clamps per element; div, ceil, log2, 2 to a power per block", kQuantize},
    {"TRT_MXFP8QuantizeLinear",    infer_shape_of_first<kFp8>,                        cost_as<"QuantizeLinear">,    nullptr, "div, round, 2 clamps per element", kQuantize.reads(kScaled)},
};
// clang-format on
static_assert(well_formed(kTensorrtRules));

}  // namespace

std::span<const OpRule> tensorrt_rules() { return kTensorrtRules; }

}  // namespace pagoda::inline core::ops
