// com.microsoft: element-wise operators, softmax and reductions on 8-bit integers with their scales, and plain
// quantisation. Work follows the definition: dequantise, compute and quantise each element. An engine that looks up
// results in a table of 256 does less.
#include "ops/nn_work.h"

namespace pagoda::inline core::ops {
namespace {

// Subtract the zero point, if there is one, and scale.
Work dequantize_from(const OpContext& op, int zero_point) { return {.arith = op.has_input(zero_point) ? 2 : 1}; }
Work quantize_to(const OpContext& op, int zero_point) { return quantize_work(op.has_input(zero_point)); }

// --- two operands: A, scale, zero point, B, scale, zero point, scale and zero point of C ---

template <int A, int B>
Shape pair_shape(OpContext& op) {
  return op.broadcast(op.shape(A), op.shape(B));
}

OpCost cost_qlinear_add(const OpContext& op) {
  return int8_cost(op) + dequantize_from(op, 2) * op.elements(0) + dequantize_from(op, 5) * op.elements(3) +
         (Work{.arith = 1} + quantize_to(op, 7)) * op.output_elements(0);
}

// The three scales are combined once (2); multiplying by the result replaces the division by the output's scale.
OpCost cost_qlinear_mul(const OpContext& op) {
  return int8_cost(op) + zero_point_work(op, 0, 2) + zero_point_work(op, 3, 5) + Work{.arith = 2} +
         (Work{.arith = 1} + quantize_to(op, 7)) * op.output_elements(0);
}

// A, zero point, B, zero point → int32.
OpCost cost_mul_integer(const OpContext& op) {
  return int8_cost(op) + zero_point_work(op, 0, 1) + zero_point_work(op, 2, 3) + Work{.arith = op.output_elements(0)};
}

// condition, X, scale, zero point, Y, scale, zero point, scale and zero point of Z.
Shape qlinear_where_shape(OpContext& op) { return op.broadcast(op.broadcast(op.shape(0), op.shape(1)), op.shape(4)); }

OpCost cost_qlinear_where(const OpContext& op) {
  return int8_cost(op) + dequantize_from(op, 3) * op.elements(1) + dequantize_from(op, 6) * op.elements(4) +
         (Work{.arith = 1, .comparisons = 1} + quantize_to(op, 8)) * op.output_elements(0);
}

// --- QLinearConcat: scale and zero point of Y, then triples of tensor, scale, zero point ---

Shape qlinear_concat_shape(OpContext& op) {
  if (op.input_count() < 5 || (op.input_count() - 2) % 3 != 0)
    op.fail("inputs should come as tensor, scale and zero point");
  Shape output = op.shape(2);
  const auto axis = static_cast<std::size_t>(normal_axis(op, op.required_integer("axis"), op.rank(2)));
  for (int i = 5; i < op.input_count(); i += 3) {
    const Shape& part = op.shape(i);
    if (part.size() != output.size()) op.fail("the tensors differ in rank");
    for (std::size_t d = 0; d < part.size(); ++d)
      output[d] = d == axis ? output[d] + part[d] : op.unify(output[d], part[d], "dims of the tensors");
  }
  return output;
}

OpCost cost_qlinear_concat(const OpContext& op) {
  return int8_cost(op) + (dequantize_work() + quantize_work()) * op.output_elements(0);
}

// --- one operand: X, scale, zero point, scale and zero point of Y ---

// A zero point cancels in softmax, but the definition still subtracts it.
template <int Arith, int Special, int Comparisons>
OpCost cost_qlinear_each(const OpContext& op) {
  return int8_cost(op) +
         (dequantize_from(op, 2) + Work{Arith, Special, Comparisons} + quantize_to(op, 4)) * op.elements(0);
}

void infer_qlinear_softmax(OpContext& op) {
  if (op.has_shape(0)) normal_axis(op, op.attribute("axis", -1), op.rank(0));
  op.set_output(0, op.input(0));
}

// --- reductions ---

Shape reduced_shape(OpContext& op) {
  const auto axes = op.integer_list("axes");
  if (!axes) op.fail("attribute axes is missing");
  const bool keep = op.required_integer("keepdims") != 0;
  std::vector<bool> reduced(op.shape(0).size(), axes->empty());
  for (const int axis : normal_axes(op, *axes, op.rank(0))) reduced[axis] = true;
  return without(op.shape(0), reduced, keep);
}

// n − m additions and m divisions are n in all.
OpCost cost_qlinear_mean(const OpContext& op) {
  return int8_cost(op) + (dequantize_from(op, 2) + Work{.arith = 1}) * op.elements(0) +
         quantize_to(op, 4) * op.output_elements(0);
}

void infer_sum_integer(OpContext& op) {
  if (op.element(0) == ElementType::Uint8) return shaped_as<reduced_shape, ElementType::Uint32>(op);
  shaped_as<reduced_shape, ElementType::Int32>(op);
}

OpCost cost_sum_integer(const OpContext& op) { return int8_cost(op) + Work{.arith = joins(op)}; }

// --- block floating point, whose layout the execution provider defines ---

void infer_quantize_bfp(OpContext& op) {
  const Dim rank = op.rank(0);
  op.set_output(0, ElementType::Uint8, {op.fresh("bfp_bytes", "bytes of a block format that the provider defines")});
  for (const int output : {1, 2}) op.set_output(output, ElementType::Int64, {rank});
}

void infer_dequantize_bfp(OpContext& op) {
  const auto element = static_cast<ElementType>(op.attribute("dtype", 1));
  set_element(op, 0, element);
  const TensorValue* shape = op.value(1);
  if (shape == nullptr) op.unknown("the shape of the original tensor is data");
  op.set_output(0, element, shape_from_value(op, *shape, "dequantized"));
}

OpCost cost_bfp(const OpContext& op) { op.unknown("the block format is defined by the provider"); }

// --- int8 in the layouts of cublasLt: symmetric, no zero points ---

OpCost cost_quantize_order(const OpContext& op) { return op.streamed() + requantize_work() * op.elements(0); }

void infer_dequantize_order(OpContext& op) {
  const std::int64_t to = op.required_integer("to");
  if (to != 1 && to != 10) op.fail(cat("attribute to is ", to, ", expected 1 or 10"));
  set_shape_of_first(op, static_cast<ElementType>(to));
}

OpCost cost_dequantize_order(const OpContext& op) {
  return in_precision(op.output(0).element, op.streamed()) + Work{.arith = op.elements(0)};
}

OpCost cost_ordered_gelu(const OpContext& op) {
  return int8_cost(op) + (Work{.arith = 1} + gelu_work() + requantize_work()) * op.elements(0);
}

// X, scale, gamma, bias, scale of Y.
OpCost cost_ordered_norm(const OpContext& op) {
  const Dim rows = rows_from(op, -1), elements = op.elements(0);
  return int8_cost(op) + layer_norm_work(elements, rows) +
         (Work{.arith = op.has_input(3) ? 3 : 2} + requantize_work()) * elements;
}

// clang-format off
constexpr OpRule kContribQlinearRules[] = {
    // op                          infer                            cost                         fold     cost in words
    {"DequantizeBFP",              infer_dequantize_bfp,            cost_bfp,                    nullptr, "not known: the format is the provider's", kDequantize},
    {"DequantizeLinear",           infer_as<"DequantizeLinear">,    cost_as<"DequantizeLinear">, nullptr, "mul, and sub of the zero point, per element", kDequantize.reads({{}, WeightUse::QuantScale, WeightUse::ZeroPoint})},
    {"DequantizeWithOrder",        infer_dequantize_order,          cost_dequantize_order,       nullptr, "1 mul per element", kDequantize},
    {"MulInteger",                 shaped_as<pair_shape<0, 2>, ElementType::Int32>, cost_mul_integer,            nullptr, "1 mul per output element; 1 sub per operand element with a zero point", kPointwise.with(Gradient::Unmodelled)},
    {"QLinearAdd",                 shaped<pair_shape<0, 3>>,        cost_qlinear_add,            nullptr, "dequantise (2) per operand element; add, quantise (5) per output element", kAddition.with(Gradient::Unmodelled)},
    {"QLinearConcat",              shaped<qlinear_concat_shape, 1>, cost_qlinear_concat,         nullptr, "dequantise (2), quantise (5) per element", kLayout.with(Gradient::Unmodelled)},
    {"QLinearLeakyRelu",           infer_same,                      cost_qlinear_each<2, 0, 1>,  nullptr, "dequantise (2), comparison, mul, quantise (5) per element", kPointwise.with(Gradient::Unmodelled)},
    {"QLinearMul",                 shaped<pair_shape<0, 3>>,        cost_qlinear_mul,            nullptr, "1 sub per operand element; mul, quantise (5) per output element", kMultiplication.with(Gradient::Unmodelled)},
    {"QLinearReduceMean",          shaped<reduced_shape>,           cost_qlinear_mean,           nullptr, "dequantise (2), add per element; quantise (5) per output element", kOther.with(Gradient::Unmodelled)},
    {"QLinearSigmoid",             infer_same,                      cost_qlinear_each<0, 1, 0>,  nullptr, "dequantise (2), sigmoid, quantise (5) per element", kPointwise.with(Gradient::Unmodelled)},
    {"QLinearSoftmax",             infer_qlinear_softmax,           cost_qlinear_each<4, 1, 1>,  nullptr, "dequantise (2), softmax (4 and exp), quantise (5) per element", kNorm.with(Gradient::Unmodelled)},
    {"QLinearWhere",               shaped<qlinear_where_shape, 1>,  cost_qlinear_where,          nullptr, "dequantise (2) per operand element; selection, quantise (5) per output element", kPointwise.with(Gradient::Unmodelled)},
    {"QOrderedGelu",               infer_same,                      cost_ordered_gelu,           nullptr, "scale, Gelu (4 and erf), scale, round, 2 clamps per element", kPointwise.with(Gradient::Unmodelled)},
    {"QOrderedLayerNormalization", infer_same,                      cost_ordered_norm,           nullptr, "scale, layer norm, scale, round, 2 clamps per element", kNorm.with(Gradient::Unmodelled)},
    {"QuantizeBFP",                infer_quantize_bfp,              cost_bfp,                    nullptr, "not known: the format is the provider's", kQuantize},
    {"QuantizeLinear",             infer_as<"QuantizeLinear">,      cost_as<"QuantizeLinear">,   nullptr, "div, round, 2 clamps, and add of the zero point, per element", kQuantize.reads({{}, WeightUse::QuantScale, WeightUse::ZeroPoint})},
    {"QuantizeWithOrder",          infer_shape_of_first<ElementType::Int8>, cost_quantize_order,         nullptr, "scale, round, 2 clamps per element", kQuantize},
    {"ReduceSumInteger",           infer_sum_integer,               cost_sum_integer,            nullptr, "n − m adds", kReduction.with(Gradient::Unmodelled)},
};
// clang-format on
static_assert(well_formed(kContribQlinearRules));

}  // namespace

std::span<const OpRule> contrib_qlinear_rules() { return kContribQlinearRules; }

}  // namespace pagoda::inline core::ops
