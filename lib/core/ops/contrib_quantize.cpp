// com.microsoft: matrix products and recurrent layers in 8-bit integers, quantised beforehand or at run time.
#include "ops/contrib_parts.h"
#include "ops/families.h"
#include "ops/product.h"
#include "ops/shape_math.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core::ops {
namespace {

// Subtracts the zero points of both operands, once per element; combines both scales, once per element of B's scale.
void add_integer_product(OpCost& cost, const OpContext& op, int b, int b_scale, int a_zero_point, int b_zero_point) {
  if (op.has_input(a_zero_point)) cost.arith += op.elements(0);
  if (op.has_input(b_zero_point)) cost.arith += op.elements(b);
  if (op.has_input(b_scale)) cost.arith += op.elements(b_scale);
  cost.precision = ElementType::Int8;
}

// --- MatMulIntegerToFloat: A, B, scales, zero points, bias ---

Shape to_float_shape(OpContext& op) { return product_of(op, op.shape(0), op.shape(1)).output(); }

OpCost cost_to_float(const OpContext& op) {
  OpCost cost = op.streamed();
  const Dim outputs = op.output_elements(0);
  cost.macs = product_macs(op, op.shape(0), op.shape(1));
  add_integer_product(cost, op, 1, 3, 4, 5);
  return cost + Work{.arith = outputs + when(op.has_input(6), outputs)};
}

// --- DynamicQuantizeMatMul: A in floating point, B, scale, zero point, bias ---

// Quantising with a range found at run time, as DynamicQuantizeLinear: min, max, div, round, add, 2 clamps
// per element, 9 per tensor.
Work dynamic_quantize_work(const Dim& elements, const Dim& tensors) {
  return {.arith = 7 * elements + 9 * tensors, .comparisons = 5 * elements + 5 * tensors};
}

Shape dynamic_matmul_shape(OpContext& op) { return product_of(op, op.shape(0), op.shape(1)).output(); }

OpCost cost_dynamic_matmul(const OpContext& op) {
  OpCost cost = op.streamed();
  const Dim outputs = op.output_elements(0);
  cost.macs = product_macs(op, op.shape(0), op.shape(1));
  cost += dynamic_quantize_work(op.elements(0), 1);
  cost.arith += op.elements(0);  // subtract A's zero point
  add_integer_product(cost, op, 1, 2, -1, 3);
  cost.arith += outputs;
  if (op.has_input(4)) cost.arith += outputs;
  return cost;
}

// --- MatMulInteger16 ---

void infer_integer16(OpContext& op) {
  const bool is_signed = op.element(0) == ElementType::Int16 || op.element(1) == ElementType::Int16;
  const ElementType element = is_signed ? ElementType::Int32 : ElementType::Uint32;
  set_element(op, 0, element);
  op.set_output(0, element, product_of(op, op.shape(0), op.shape(1)).output());
}

OpCost cost_integer16(const OpContext& op) {
  return op.streamed() + Work{.macs = product_macs(op, op.shape(0), op.shape(1))};
}

// --- QGemm: A, scale, zero point, B, scale, zero point, C, scale and zero point of Y ---

void infer_q_gemm(OpContext& op) {
  const ElementType element = op.has_input(8) ? op.element(8) : ElementType::Float32;
  infer_gemm_output(op, 0, 3, 6, element);
}

// The combined scale takes a multiplication per element of B's scale, one more for alpha ≠ 1, one for a quantised Y.
OpCost cost_q_gemm(const OpContext& op) {
  OpCost cost = op.streamed();
  const Dim outputs = op.output_elements(0);
  cost.macs = outputs * gemm_sizes(op, 0, 3).inner();
  add_integer_product(cost, op, 3, 4, 2, 5);
  if (op.attribute("alpha", 1.0) != 1.0) cost.arith += op.elements(4);
  if (op.has_input(6)) cost.arith += outputs;
  if (op.has_input(7)) {
    cost.arith += op.elements(4);
    cost += quantize_work() * outputs;
  } else {
    cost.arith += outputs;
  }
  return cost;
}

// --- QOrderedMatMul: A, scale, B, scale, scale of Y, bias, C, scale of C ---

Shape q_ordered_matmul_shape(OpContext& op) { return product_of(op, op.shape(0), op.shape(2)).output(); }

// The scales are combined per element of B's scale (2); per output element scale, bias, C (mul, add), round, 2 clamps.
OpCost cost_q_ordered_matmul(const OpContext& op) {
  const Dim outputs = op.output_elements(0);
  return in_precision(ElementType::Int8, op.streamed()) +
         Work{.arith = 2 * op.elements(3) + 4 * outputs + when(op.has_input(5), outputs) +
                       when(op.has_input(6), 2 * outputs),
              .comparisons = 3 * outputs,
              .macs = product_macs(op, op.shape(0), op.shape(2))};
}

// --- DynamicQuantizeLSTM: X [S, B, I], W [directions, I, 4·H], R [directions, H, 4·H] ---

Dim directions(const OpContext& op) {
  return op.attribute("direction", std::string_view("forward")) == "bidirectional" ? 2 : 1;
}

// Work of activation `of` over all directions: 0 is shared by i, o and f; 1 is that of c, 2 that of h.
Work gate_activation_work(const OpContext& op, std::size_t of) {
  constexpr std::string_view kDefaults[] = {"Sigmoid", "Tanh", "Tanh"};
  const AttributeValue* stated = op.attribute_value("activations");
  const auto* names = stated == nullptr ? nullptr : std::get_if<std::vector<std::string>>(stated);
  const bool bidirectional = directions(op) == Dim(2);
  Work work;
  for (std::size_t direction = 0; direction < (bidirectional ? 2U : 1U); ++direction) {
    const std::size_t at = direction * 3 + of;
    const bool is_stated = names != nullptr && !names->empty();
    if (is_stated && at >= names->size()) op.fail(cat("there are ", names->size(), " activations"));
    work = work + activation_work(op, is_stated ? std::string_view((*names)[at]) : kDefaults[of]);
    if (op.has_attribute("clip")) work = work + Work{.arith = 2, .comparisons = 2};
  }
  return work;
}

// Y [S, directions, B, H], last states [directions, B, H].
void set_recurrent_outputs(OpContext& op, const Dim& hidden) {
  expect_rank(op, 0, 3);
  const Shape& data = op.shape(0);
  op.set_output(0, op.element(0), {data[0], directions(op), data[1], hidden});
  op.set_output(1, op.element(0), {directions(op), data[1], hidden});
  op.set_output(2, op.element(0), {directions(op), data[1], hidden});
}

// The cell of an LSTM, as ai.onnx counts it: per hidden element and step three gates, two other activations, a bias
// per gate, f·C + i·c (3), o·h(C) (1), and 2 for each of three peepholes.
void add_lstm_cells(OpCost& cost, const OpContext& op, const Dim& hidden, int bias, int peephole) {
  const bool coupled = op.attribute("input_forget", std::int64_t{0}) != 0;
  const int gates = coupled ? 3 : 4;
  const Dim cells = dim_of(op, 0, 0) * dim_of(op, 0, 1) * hidden;
  cost +=
      (gate_activation_work(op, 0) * (gates - 1) + gate_activation_work(op, 1) + gate_activation_work(op, 2)) * cells;
  Dim per_cell = coupled ? 5 : 4;
  if (op.has_input(bias)) {
    per_cell += gates;
    cost.arith += directions(op) * gates * hidden;
  }
  if (op.has_input(peephole)) per_cell += 2 * (gates - 1);
  cost.arith += directions(op) * cells * per_cell;
}

void infer_dynamic_lstm(OpContext& op) {
  expect_rank(op, 1, 3);
  expect_rank(op, 2, 3);
  const Dim& hidden = dim_of(op, 2, 1);
  op.unify(dim_of(op, 1, 1), dim_of(op, 0, -1), "input size of X and W");
  op.unify(dim_of(op, 1, 2), 4 * hidden, "gates × hidden size of W");
  set_recurrent_outputs(op, hidden);
}

// X is quantised once, the state at every step. Zero points are subtracted once from W and R, and from every quantised
// element; each of the two products of a gate is scaled.
OpCost cost_dynamic_lstm(const OpContext& op) {
  OpCost cost = op.streamed();
  const Shape& data = op.shape(0);
  const Dim& hidden = dim_of(op, 2, 1);
  const Dim steps = data[0] * data[1];
  const int gates = op.attribute("input_forget", std::int64_t{0}) != 0 ? 3 : 4;
  cost.macs = directions(op) * steps * gates * hidden * (data[2] + hidden);
  cost += dynamic_quantize_work(op.elements(0), 1);
  cost += dynamic_quantize_work(directions(op) * steps * hidden, directions(op) * data[0]);
  cost.arith += op.elements(0) + directions(op) * steps * hidden + op.elements(1) + op.elements(2);
  cost.arith += 2 * directions(op) * steps * gates * hidden;
  add_lstm_cells(cost, op, hidden, 3, 7);
  cost.precision = ElementType::Int8;
  return cost;
}

// --- AttnLSTM: an LSTM whose input is X and the attention of the previous step ---

enum AttentionLstmInput {
  kX,
  kW,
  kR,
  kB,
  kLengths,
  kInitialH,
  kInitialC,
  kPeephole,
  kQueryWeight,
  kMemoryWeight,
  kVector,
  kMemory,
  kMemoryLengths,
  kLayerWeight
};

void infer_attention_lstm(OpContext& op) {
  expect_rank(op, kR, 3);
  set_recurrent_outputs(
      op, op.has_attribute("hidden_size") ? Dim(positive_attribute(op, "hidden_size")) : dim_of(op, kR, 2));
}

// Keys once: memory × its weight. Per step: gates over W's own input size (X and attention) and the state; the query's
// product; per memory position a tanh, its addition, and a product with the vector; softmax; the context; the
// attention layer. Masked positions count in full.
OpCost cost_attention_lstm(const OpContext& op) {
  OpCost cost = op.streamed();
  const Shape& data = shape_of(op, kX, 3);
  const Shape& memory = shape_of(op, kMemory, 3);
  const Dim hidden = dim_of(op, kR, 2);
  const Dim attention = dim_of(op, kVector, -1);
  const Dim steps = data[0] * data[1];
  const Dim positions = steps * memory[1];
  cost.macs = memory[0] * memory[1] * memory[2] * attention;
  cost.macs += steps * (4 * hidden * (dim_of(op, kW, 2) + hidden) + hidden * attention);
  cost.macs += positions * (attention + memory[2]);
  if (op.has_input(kLayerWeight)) cost.macs += steps * dim_of(op, kLayerWeight, 1) * dim_of(op, kLayerWeight, 2);
  cost.macs *= directions(op);
  cost += Work{.arith = 1, .special = 1} * (directions(op) * positions * attention);
  cost += softmax_work() * (directions(op) * positions);
  add_lstm_cells(cost, op, hidden, kB, kPeephole);
  return cost;
}

// clang-format off
constexpr OpRule kContribQuantizeRules[] = {
    // op                     infer                           cost                   fold     cost in words
    {"AttnLSTM",              infer_attention_lstm,           cost_attention_lstm,   nullptr, "LSTM; per step H·A, per memory position A + depth macs, tanh, softmax", kRecurrence.with(BatchAxis::Lost).with(Gradient::Unmodelled)},
    {"DynamicQuantizeLSTM",   infer_dynamic_lstm,             cost_dynamic_lstm,     nullptr, "as LSTM; quantise (7) per input and state element, 2 mul per gate element, zero points", kRecurrence.with(Gradient::Unmodelled)},
    {"DynamicQuantizeMatMul", shaped<dynamic_matmul_shape>,   cost_dynamic_matmul,   nullptr, "K macs, scale, bias per output element; quantise (7), zero point per element of A", kOtherProduct},
    {"MatMulInteger16",       infer_integer16,                cost_integer16,        nullptr, "K macs per output element", kOtherProduct},
    {"MatMulIntegerToFloat",  shaped<to_float_shape, 2>,      cost_to_float,         nullptr, "K macs, scale, bias per output element; zero points per operand element", kOtherProduct},
    {"QGemm",                 infer_q_gemm,                   cost_q_gemm,           nullptr, "K macs, bias, scale or quantise (5) per output element; zero points per operand element", kOtherProduct},
    {"QOrderedMatMul",        shaped<q_ordered_matmul_shape>, cost_q_ordered_matmul, nullptr, "K macs, scale, bias, C, round, 2 clamps per output element", kOtherProduct},
};
// clang-format on
static_assert(well_formed(kContribQuantizeRules));

}  // namespace

std::span<const OpRule> contrib_quantize_rules() { return kContribQuantizeRules; }

}  // namespace pagoda::inline core::ops
