// Pieces that the families of ONNX Runtime's own domains share: rows of ai.onnx under another name, fused activations,
// arguments that are small tensors, checks of sizes and ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "ops/families.h"
#include "ops/nn_work.h"
#include "ops/rule_parts.h"
#include "ops/shape_math.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core::ops {

// --- rows of ai.onnx under another domain ---

template <std::size_t N>
struct RuleName {
  char text[N];
  consteval RuleName(const char (&name)[N]) : text{} { std::copy_n(name, N, text); }
  constexpr std::string_view view() const { return {text, N - 1}; }
};

// The rule of an ai.onnx operator; it must exist.
const OpRule& standard_rule(std::string_view op_type);

template <RuleName Name>
void infer_as(OpContext& op) {
  standard_rule(Name.view()).infer(op);
}
template <RuleName Name>
OpCost cost_as(const OpContext& op) {
  return standard_rule(Name.view()).cost(op);
}
template <RuleName Name>
void fold_as(OpContext& op) {
  if (standard_rule(Name.view()).fold != nullptr) standard_rule(Name.view()).fold(op);
}

// As shaped() for outputs of one element type.
template <Shape (*ShapeOf)(OpContext&), ElementType Element>
void shaped_as(OpContext& op) {
  set_element(op, 0, Element);
  op.set_output(0, Element, ShapeOf(op));
}

inline OpCost int8_cost(const OpContext& op) { return in_precision(ElementType::Int8, op.streamed()); }

// `cost`, which also reads `bytes` of input i.
inline OpCost reading(OpCost cost, int i, const Dim& bytes) {
  cost.read(i, bytes);
  return cost;
}

// --- work per element ---

// Divide, round, add the zero point if there is one, clamp at both ends.
inline Work quantize_work(bool has_zero_point = true) { return {.arith = has_zero_point ? 5 : 4, .comparisons = 3}; }
// (x − zero point)·scale.
inline Work dequantize_work() { return {.arith = 2}; }
// The subtraction of a zero point, if there is one, from every element of an operand.
inline Work zero_point_work(const OpContext& op, int operand, int zero_point) {
  return {.arith = op.has_input(zero_point) ? op.elements(operand) : Dim(0)};
}
// To symmetric integers: multiply by the combined scale, round, clamp at both ends.
inline Work requantize_work() { return {.arith = 4, .comparisons = 3}; }
// x·sigmoid(x).
inline Work silu_work() { return {.arith = 1, .special = 1}; }
// 0.5·x·(1 + erf(x/√2)): 3 multiplications, 1 addition.
inline Work gelu_work() { return {.arith = 4, .special = 1}; }
// 0.5·x·(1 + tanh(x·(a + b·x²))): 5 multiplications, 2 additions.
inline Work fast_gelu_work() { return {.arith = 7, .special = 1}; }
// Per element moments (4) and normalise; per row two divisions, ε, rsqrt.
Work layer_norm_work(const Dim& elements, const Dim& rows);
// Per element square, add, normalise; per row a division, ε, rsqrt.
Work rms_norm_work(const Dim& elements, const Dim& rows);
inline Work scaled_rms_norm_work(const Dim& elements, const Dim& rows) {
  return rms_norm_work(elements, rows) + Work{.arith = elements};
}

// G·sigmoid(α·G)·(L + β) with the attributes activation_alpha and activation_beta; clamped, G above and L at both ends.
Work swiglu_work(const OpContext& op, bool is_clamped);
// One evaluation of the activation `name`, as fused into Conv, Gemm or MatMul. Ends the rule for a name that
// ONNX Runtime does not have.
Work activation_work(const OpContext& op, std::string_view name);
// The same for the attribute `activation`, on every element of output 0.
Work fused_activation_work(const OpContext& op);

// --- arguments ---

// Ends the rule if one of the inputs has a known rank other than `rank`.
inline void expect_rank(const OpContext& op, std::initializer_list<int> inputs, int rank) {
  for (const int i : inputs) expect_rank(op, i, rank);
}

// The single element of a small input; empty when it is absent or not known.
std::optional<Dim> scalar_value(const OpContext& op, int i);
// The elements of a small input as sizes; empty unless all are known.
std::optional<std::vector<Dim>> known_sizes(const OpContext& op, int i);
// A boolean input of one element; empty when it is not known.
std::optional<bool> flag_value(const OpContext& op, int i);
// The single element of an input as a size; a fresh symbol named after `hint` where it is data.
Dim size_argument(OpContext& op, int i, std::string_view hint);

// A positive integer attribute, below 2^31 so that sums and products of two stay within 64 bits.
std::int64_t positive_attribute(const OpContext& op, std::string_view name);
// size / parts; ends the rule where both are known and do not divide.
Dim divided(const OpContext& op, const Dim& size, const Dim& parts, std::string_view what);

// Size of input i along `axis` (negative: from the end); ends the rule where there is no such axis.
const Dim& dim_of(const OpContext& op, int i, int axis);
// Unifies the dim of input i at `axis` with `dim`, if the input is present and its rank is known.
void expect_dim(OpContext& op, int i, int axis, const Dim& dim, std::string_view what);

// `shape`, then the dims `last`.
Shape appended(Shape shape, std::initializer_list<Dim> last);
// All dims but the last, and their product. For a scalar: no dims, and 1.
Shape leading(const Shape& shape);
Dim row_count(const Shape& shape);

}  // namespace pagoda::inline core::ops
