// Quantization, per tensor, axis or block alike: QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear; and domain
// "trt" of TensorRT's ONNX parser, as NVIDIA's Model Optimizer writes it: conversions to and from 8-bit and 4-bit
// numbers.
#include "ops/nn_work.h"

namespace pagoda::inline core::ops {
namespace {

// The type an attribute names by number; empty when the attribute is absent or 0.
std::optional<ElementType> stated_type(const OpContext& op, std::string_view attribute) {
  const std::int64_t type = op.attribute(attribute, 0);
  if (type == 0) return std::nullopt;
  if (type < 0 || type > static_cast<std::int64_t>(ElementType::Int2)) op.fail(cat(attribute, " is ", type));
  return static_cast<ElementType>(type);
}

// Scale per tensor (one element), per axis (rank 1) or per block (the input's rank).
void check_scale(const OpContext& op) {
  if (!op.has_shape(0) || !op.has_shape(1)) return;
  const int rank = op.rank(1);
  if (rank > 1 && rank != op.rank(0)) op.fail(cat("the scale has rank ", rank, ", the input ", op.rank(0)));
  if (rank == 1 && op.rank(0) > 1 && op.opset() >= 13) normal_axis(op, op.attribute("axis", 1), op.rank(0));
}

void infer_quantize(OpContext& op) {
  check_scale(op);
  set_shape_of_first(op,
                     op.has_input(2) ? op.element(2) : stated_type(op, "output_dtype").value_or(ElementType::Uint8));
}

// saturate(round(x / scale) + zero_point): divide, round, add where there is a zero point, clamp at both ends.
OpCost cost_quantize(const OpContext& op) {
  return in_precision(stated_type(op, "precision").value_or(op.element(1)), op.streamed()) +
         Work{.arith = op.has_input(2) ? 5 : 4, .comparisons = 3} * op.elements(0);
}

void infer_dequantize(OpContext& op) {
  check_scale(op);
  set_shape_of_first(op, stated_type(op, "output_dtype").value_or(op.element(1)));
}

// (x − zero_point)·scale.
OpCost cost_dequantize(const OpContext& op) {
  return in_precision(op.output(0).element, op.streamed()) + Work{.arith = (op.has_input(2) ? 2 : 1) * op.elements(0)};
}

void infer_dynamic_quantize(OpContext& op) {
  set_shape_of_first(op, ElementType::Uint8);
  op.set_output(1, ElementType::Float32, {});
  op.set_output(2, ElementType::Uint8, {});
}

OpCost cost_dynamic_quantize(const OpContext& op) { return op.streamed() + dynamic_quantize_work(op.elements(0), 1); }

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
constexpr OpRule kQuantizeRules[] = {
    // op                     infer                   cost                   fold     cost in words
    {"DequantizeLinear",      infer_dequantize,       cost_dequantize,       nullptr, "mul, and sub of the zero point, per element", kDequantize.reads({{}, WeightUse::QuantScale, WeightUse::ZeroPoint})},
    {"DynamicQuantizeLinear", infer_dynamic_quantize, cost_dynamic_quantize, nullptr, "min, max, div, round, add, 2 clamps per element; 9 per tensor", kOther.with(Gradient::Integers)},
    {"QuantizeLinear",        infer_quantize,         cost_quantize,         nullptr, "div, round, 2 clamps, and add of the zero point, per element", kQuantize.reads({{}, WeightUse::QuantScale, WeightUse::ZeroPoint})},
};

constexpr OpRule kTensorrtRules[] = {
    // op                         infer                         cost                         fold     cost in words
    {"DequantizeLinear",          infer_as<"DequantizeLinear">, cost_as<"DequantizeLinear">, nullptr, "mul, and sub of the zero point, per element", kDequantize.reads(kScaled)},
    {"QuantizeLinear",            infer_as<"QuantizeLinear">,   cost_as<"QuantizeLinear">,   nullptr, "div, round, 2 clamps, and add of the zero point, per element", kQuantize.reads(kScaled)},
    {"TRT_FP4DynamicQuantize",    infer_blocks<kFp4, kFp8, 16>, kCostFp4Blocks,              nullptr, "abs, max, div, round, 2 clamps per element; 6 per block", kQuantize.reads(kScaled)},
    {"TRT_FP4QDQ",                infer_same,                   cost_fp4_both,               nullptr, "as TRT_FP4DynamicQuantize; mul per element", kQuantize},
    {"TRT_FP8DequantizeLinear",   infer_as<"DequantizeLinear">, cost_as<"DequantizeLinear">, nullptr, "mul per element", kDequantize.reads(kScaled)},
    {"TRT_FP8QuantizeLinear",     infer_shape_of_first<kFp8>,   cost_as<"QuantizeLinear">,   nullptr, "div, round, 2 clamps per element", kQuantize.reads(kScaled)},
    {"TRT_INT4DequantizeLinear",  infer_as<"DequantizeLinear">, cost_as<"DequantizeLinear">, nullptr, "mul per element", kDequantize.reads(kScaled)},
    {"TRT_INT4QuantizeLinear",    infer_shape_of_first<ElementType::Int4>, cost_as<"QuantizeLinear">,   nullptr, "div, round, 2 clamps per element", kQuantize.reads(kScaled)},
    {"TRT_MXFP8DequantizeLinear", infer_dequantize_power,       cost_as<"DequantizeLinear">, nullptr, "mul per element", kDequantize.reads(kScaled)},
    {"TRT_MXFP8DynamicQuantize",  infer_blocks<kFp8, ElementType::Float8e8m0, 32>, kCostMxfp8Blocks,            nullptr, "abs, max, div, round, 2 clamps per element; div, ceil, log2, 2 to a power per block", kQuantize},
    {"TRT_MXFP8QuantizeLinear",   infer_shape_of_first<kFp8>,   cost_as<"QuantizeLinear">,   nullptr, "div, round, 2 clamps per element", kQuantize.reads(kScaled)},
};
// clang-format on
static_assert(well_formed(kQuantizeRules) && well_formed(kTensorrtRules));

}  // namespace

std::span<const OpRule> quantize_rules() { return kQuantizeRules; }
std::span<const OpRule> tensorrt_rules() { return kTensorrtRules; }

}  // namespace pagoda::inline core::ops
