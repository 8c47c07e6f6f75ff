// com.microsoft: matrix products and recurrent layers in 8-bit integers, quantised beforehand or at run time.
#include "ops/contrib_parts.h"
#include "ops/product.h"

namespace pagoda::inline core::ops {
namespace {

// The work besides the products of matrices in integers: subtracting the zero points of both operands, once per
// element; combining both scales, once per element of B's scale.
Work scaled_product_work(const OpContext& op, int b, int b_scale, int a_zero_point, int b_zero_point) {
  return zero_point_work(op, 0, a_zero_point) + zero_point_work(op, b, b_zero_point) +
         Work{.arith = op.has_input(b_scale) ? op.elements(b_scale) : Dim(0)};
}

template <int B>
Shape product_shape(OpContext& op) {
  return product_of(op, op.shape(0), op.shape(B)).output();
}

Work product_work(const OpContext& op, int b) { return {.macs = product_macs(op, op.shape(0), op.shape(b))}; }

// --- MatMulIntegerToFloat: A, B, scales, zero points, bias ---

OpCost cost_to_float(const OpContext& op) {
  const Dim outputs = op.output_elements(0);
  return int8_cost(op) + product_work(op, 1) + scaled_product_work(op, 1, 3, 4, 5) +
         Work{.arith = outputs + when(op.has_input(6), outputs)};
}

// --- DynamicQuantizeMatMul: A in floating point, B, scale, zero point, bias ---

// Quantising with a range found at run time, as DynamicQuantizeLinear: min, max, div, round, add, 2 clamps
// per element, 9 per tensor.
Work dynamic_quantize_work(const Dim& elements, const Dim& tensors) {
  return {.arith = 7 * elements + 9 * tensors, .comparisons = 5 * elements + 5 * tensors};
}

OpCost cost_dynamic_matmul(const OpContext& op) {
  const Dim outputs = op.output_elements(0);
  const Dim shifts = op.elements(0);  // by A's zero point
  return int8_cost(op) + product_work(op, 1) + dynamic_quantize_work(op.elements(0), 1) +
         scaled_product_work(op, 1, 2, -1, 3) + Work{.arith = shifts + outputs + when(op.has_input(4), outputs)};
}

// --- MatMulInteger16 ---

void infer_integer16(OpContext& op) {
  const bool is_signed = op.element(0) == ElementType::Int16 || op.element(1) == ElementType::Int16;
  if (is_signed) return shaped_as<product_shape<1>, ElementType::Int32>(op);
  shaped_as<product_shape<1>, ElementType::Uint32>(op);
}

OpCost cost_integer16(const OpContext& op) { return op.streamed() + product_work(op, 1); }

// --- QGemm: A, scale, zero point, B, scale, zero point, C, scale and zero point of Y ---

void infer_q_gemm(OpContext& op) {
  const ElementType element = op.has_input(8) ? op.element(8) : ElementType::Float32;
  infer_gemm_output(op, 0, 3, 6, element);
}

// The combined scale takes a multiplication per element of B's scale, one more for alpha ≠ 1, one for a quantised Y.
OpCost cost_q_gemm(const OpContext& op) {
  const Dim outputs = op.output_elements(0);
  const bool quantizes = op.has_input(7);
  const int scalings = (op.attribute("alpha", 1.0) != 1.0 ? 1 : 0) + (quantizes ? 1 : 0);
  return int8_cost(op) + scaled_product_work(op, 3, 4, 2, 5) +
         Work{.arith = scalings * op.elements(4) + when(op.has_input(6), outputs),
              .macs = outputs * gemm_sizes(op, 0, 3).inner()} +
         (quantizes ? quantize_work() : Work{.arith = 1}) * outputs;
}

// --- QOrderedMatMul: A, scale, B, scale, scale of Y, bias, C, scale of C ---

// The scales are combined per element of B's scale (2); per output element scale, bias, C (mul, add), round, 2 clamps.
OpCost cost_q_ordered_matmul(const OpContext& op) {
  const int additions = (op.has_input(5) ? 1 : 0) + (op.has_input(6) ? 2 : 0);
  return int8_cost(op) + product_work(op, 2) + Work{.arith = 2 * op.elements(3)} +
         Work{.arith = 4 + additions, .comparisons = 3} * op.output_elements(0);
}

// --- DynamicQuantizeLSTM: X [S, B, I], W [directions, I, 4·H], R [directions, H, 4·H] ---

Dim directions(const OpContext& op) {
  return op.attribute("direction", std::string_view("forward")) == "bidirectional" ? 2 : 1;
}

// Work of activation `of` over all directions: 0 is shared by i, o and f; 1 is that of c, 2 that of h.
Work gate_activation_work(const OpContext& op, std::size_t of) {
  constexpr std::string_view kDefaults[] = {"Sigmoid", "Tanh", "Tanh"};
  const AttributeValue* value = op.attribute_value("activations");
  const auto* names = value == nullptr ? nullptr : std::get_if<std::vector<std::string>>(value);
  const bool bidirectional = directions(op) == Dim(2);
  Work work;
  for (std::size_t direction = 0; direction < (bidirectional ? 2U : 1U); ++direction) {
    const std::size_t at = direction * 3 + of;
    const bool is_given = names != nullptr && !names->empty();
    if (is_given && at >= names->size()) op.fail(cat("there are ", names->size(), " activations"));
    work = work + activation_work(op, is_given ? std::string_view((*names)[at]) : kDefaults[of]);
    if (op.has_attribute("clip")) work = work + Work{.arith = 2, .comparisons = 2};
  }
  return work;
}

// Y [S, directions, B, H], last states [directions, B, H].
void set_recurrent_outputs(OpContext& op, const Dim& hidden) {
  const Shape& data = shape_of(op, 0, 3);
  op.set_output(0, op.element(0), {data[0], directions(op), data[1], hidden});
  for (const int output : {1, 2}) op.set_output(output, op.element(0), {directions(op), data[1], hidden});
}

// The cell of an LSTM, as ai.onnx counts it: per hidden element and step three gates, two other activations, a bias
// per gate, f·C + i·c (3), o·h(C) (1), and 2 for each of three peepholes.
Work lstm_cells_work(const OpContext& op, const Dim& hidden, int bias, int peephole) {
  const bool coupled = op.attribute("input_forget", std::int64_t{0}) != 0;
  const int gates = coupled ? 3 : 4;
  const int biases = op.has_input(bias) ? gates : 0;
  const int per_cell = (coupled ? 5 : 4) + biases + (op.has_input(peephole) ? 2 * (gates - 1) : 0);
  const Dim cells = dim_of(op, 0, 0) * dim_of(op, 0, 1) * hidden;
  return (gate_activation_work(op, 0) * (gates - 1) + gate_activation_work(op, 1) + gate_activation_work(op, 2)) *
             cells +
         Work{.arith = directions(op) * (cells * per_cell + biases * hidden)};
}

void infer_dynamic_lstm(OpContext& op) {
  expect_rank(op, {1, 2}, 3);
  const Dim& hidden = dim_of(op, 2, 1);
  op.unify(dim_of(op, 1, 1), dim_of(op, 0, -1), "input size of X and W");
  op.unify(dim_of(op, 1, 2), 4 * hidden, "gates × hidden size of W");
  set_recurrent_outputs(op, hidden);
}

// X is quantised once, the state at every step. Zero points are subtracted once from W and R, and from every quantised
// element; each of the two products of a gate is scaled.
OpCost cost_dynamic_lstm(const OpContext& op) {
  const Shape& data = op.shape(0);
  const Dim& hidden = dim_of(op, 2, 1);
  const Dim steps = directions(op) * data[0] * data[1];
  const Dim states = steps * hidden;
  const int gates = op.attribute("input_forget", std::int64_t{0}) != 0 ? 3 : 4;
  return int8_cost(op) + dynamic_quantize_work(op.elements(0), 1) +
         dynamic_quantize_work(states, directions(op) * data[0]) +
         Work{.arith = op.elements(0) + states + op.elements(1) + op.elements(2) + 2 * gates * states,
              .macs = gates * states * (data[2] + hidden)} +
         lstm_cells_work(op, hidden, 3, 7);
}

// --- AttnLSTM: an LSTM whose input is X and the attention of the previous step ---

enum LstmInput { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeephole };
enum AttentionLstmInput { kQueryWeight = kPeephole + 1, kMemoryWeight, kVector, kMemory, kMemoryLengths, kLayerWeight };

void infer_attention_lstm(OpContext& op) {
  expect_rank(op, kR, 3);
  set_recurrent_outputs(
      op, op.has_attribute("hidden_size") ? Dim(positive_attribute(op, "hidden_size")) : dim_of(op, kR, 2));
}

// Keys once: memory × its weight. Per step: gates over W's own input size (X and attention) and the state; the query's
// product; per memory position a tanh, its addition, and a product with the vector; softmax; the context; the
// attention layer. Masked positions count in full.
OpCost cost_attention_lstm(const OpContext& op) {
  const Shape& data = shape_of(op, kX, 3);
  const Shape& memory = shape_of(op, kMemory, 3);
  const Dim hidden = dim_of(op, kR, 2);
  const Dim attention = dim_of(op, kVector, -1);
  const Dim steps = data[0] * data[1];
  Dim macs = memory[0] * memory[1] * memory[2] * attention;
  macs += steps * (4 * hidden * (dim_of(op, kW, 2) + hidden) + hidden * attention);
  if (op.has_input(kLayerWeight)) macs += steps * dim_of(op, kLayerWeight, 1) * dim_of(op, kLayerWeight, 2);
  const Work per_position =
      Work{.arith = 1, .special = 1} * attention + softmax_work() + Work{.macs = attention + memory[2]};
  return op.streamed() + (Work{.macs = macs} + per_position * (steps * memory[1])) * directions(op) +
         lstm_cells_work(op, hidden, kB, kPeephole);
}

// clang-format off
constexpr OpRule kContribQuantizeRules[] = {
    // op                     infer                        cost                   fold     cost in words
    {"AttnLSTM",              infer_attention_lstm,        cost_attention_lstm,   nullptr, "LSTM; per step H·A, per memory position A + depth macs, tanh, softmax", kRecurrence.with(BatchAxis::Lost).with(Gradient::Unmodelled)},
    {"DynamicQuantizeLSTM",   infer_dynamic_lstm,          cost_dynamic_lstm,     nullptr, "as LSTM; quantise (7) per input and state element, 2 mul per gate element, zero points", kRecurrence.with(Gradient::Unmodelled)},
    {"DynamicQuantizeMatMul", shaped<product_shape<1>>,    cost_dynamic_matmul,   nullptr, "K macs, scale, bias per output element; quantise (7), zero point per element of A", kOtherProduct},
    {"MatMulInteger16",       infer_integer16,             cost_integer16,        nullptr, "K macs per output element", kOtherProduct},
    {"MatMulIntegerToFloat",  shaped<product_shape<1>, 2>, cost_to_float,         nullptr, "K macs, scale, bias per output element; zero points per operand element", kOtherProduct},
    {"QGemm",                 infer_q_gemm,                cost_q_gemm,           nullptr, "K macs, bias, scale or quantise (5) per output element; zero points per operand element", kOtherProduct},
    {"QOrderedMatMul",        shaped<product_shape<2>>,    cost_q_ordered_matmul, nullptr, "K macs, scale, bias, C, round, 2 clamps per output element", kOtherProduct},
};
// clang-format on
static_assert(well_formed(kContribQuantizeRules));

}  // namespace

std::span<const OpRule> contrib_quantize_rules() { return kContribQuantizeRules; }

}  // namespace pagoda::inline core::ops
