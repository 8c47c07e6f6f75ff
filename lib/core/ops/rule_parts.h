// Pieces that many rows share: types that pass through, rows of ai.onnx under another name, costs of the simplest
// kinds, arguments, checks of sizes and ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "ops/op_rule.h"
#include "ops/shape_math.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core::ops {

// --- types ---

// Output 0 has the type of input 0.
inline void infer_same(OpContext& op) { op.set_output(0, op.input(0)); }

// Sets the element type of an output and leaves its rank unknown. The type stays if the rule ends early.
inline void set_element(OpContext& op, int output, ElementType element) {
  op.set_output(output, TensorType{.element = element, .shape = std::nullopt});
}

// Gives an output the shape of input 0.
inline void set_shape_of_first(OpContext& op, ElementType element, int output = 0) {
  op.set_output(output, TensorType{.element = element, .shape = op.input(0).shape});
}

// Output 0 has the shape of input 0.
template <ElementType Element>
void infer_shape_of_first(OpContext& op) {
  set_shape_of_first(op, Element);
}

// As `infer` of a row: output 0 has the element type of input `Element` and the shape ShapeOf(op). The type is set
// first: it stays when the rule ends early.
template <Shape (*ShapeOf)(OpContext&), int Element = 0>
void shaped(OpContext& op) {
  set_element(op, 0, op.element(Element));
  op.set_output(0, op.element(Element), ShapeOf(op));
}

// As shaped() for outputs of one element type.
template <Shape (*ShapeOf)(OpContext&), ElementType Element>
void shaped_as(OpContext& op) {
  set_element(op, 0, Element);
  op.set_output(0, Element, ShapeOf(op));
}

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

// --- costs ---

// A new name for the same bytes.
inline OpCost cost_view(const OpContext&) {
  OpCost cost;
  cost.mark = Mark::View;
  return cost;
}

// Nothing to count on the device: the shape is known without the data, or characters are handled on the host.
inline OpCost cost_host(const OpContext&) {
  OpCost cost;
  cost.mark = Mark::Host;
  return cost;
}

// The operations of an OpCost; `comparisons` is the part of `arith` that floating-point counters do not see.
struct Work {
  Dim arith = 0;
  Dim special = 0;
  Dim comparisons = 0;
  Dim macs = 0;
};

inline Work operator*(const Work& work, const Dim& times) {
  // Most counts are 0, and even their products with formulas take time.
  const auto scaled = [&](const Dim& count) { return count == Dim(0) ? Dim(0) : count * times; };
  return {scaled(work.arith), scaled(work.special), scaled(work.comparisons), scaled(work.macs)};
}

// Counts is Work or OpCost. `return std::move(cost) + work` copies no count of a local cost.
template <typename Counts>
Counts& operator+=(Counts& counts, const Work& work) {
  counts.arith += work.arith;
  counts.special += work.special;
  counts.comparisons += work.comparisons;
  counts.macs += work.macs;
  return counts;
}
template <typename Counts>
Counts operator+(Counts counts, const Work& work) {
  counts += work;
  return counts;
}

// Comparisons are arithmetic, too.
inline Work compared(const Dim& count) { return {.arith = count, .comparisons = count}; }

inline OpCost in_precision(ElementType precision, OpCost cost) {
  cost.precision = precision;
  return cost;
}

// Reads the inputs `whole` in full and `bytes` of input 0; writes the outputs.
inline OpCost cost_reading(const OpContext& op, std::initializer_list<int> whole, const Dim& bytes) {
  OpCost cost = op.streamed(whole);
  cost.read(0, bytes);
  return cost;
}

// Reads as much of input 0 as output 0 holds, and no other input.
inline OpCost cost_picked(const OpContext& op) { return cost_reading(op, {}, op.output_bytes(0)); }

// The same, and input 1 in full: indices, conditions or counts.
inline OpCost cost_picked_by(const OpContext& op) { return cost_reading(op, {1}, op.output_bytes(0)); }

// The same, where the picks may repeat: at most all of input 0.
inline OpCost cost_repeated_by(const OpContext& op) {
  return cost_reading(op, {1}, min(op.output_bytes(0), op.input_bytes(0)));
}

// The same bytes read from input 0 and written to output 0, where the types of one of them do not state the bytes.
inline OpCost cost_moving(const Dim& bytes, ElementType precision) {
  OpCost cost;
  cost.precision = precision;
  cost.read(0, bytes);
  cost.write(0, bytes);
  return cost;
}

// A comparison per element of input 0.
inline OpCost cost_compared(const OpContext& op) { return op.streamed() + compared(op.elements(0)); }

// Writes the outputs without reading any input.
inline OpCost cost_written(const OpContext& op) { return op.streamed({}); }

// The same, in the output's precision: the inputs are sizes and bounds, known before launch.
inline OpCost cost_fill(const OpContext& op) { return in_precision(op.output(0).element, cost_written(op)); }

// All inputs read once, all outputs written once, nothing computed.
inline OpCost cost_move(const OpContext& op) { return op.streamed(); }

// Only input 0 is read; the others are arguments such as axes, known before launch.
inline OpCost cost_move_first(const OpContext& op) { return op.streamed({0}); }

// Work per element of output 0; `Arith` includes `Comparisons`.
template <int Arith, int Special = 0, int Comparisons = 0>
OpCost cost_each(const OpContext& op) {
  static_assert(Comparisons <= Arith);
  return op.streamed() + Work{Arith, Special, Comparisons} * op.output_elements(0);
}

// The operations that reduce n elements (input 0) to m (output 0): n − m, or 0 if n is 0.
inline Dim joins(const OpContext& op) {
  const Dim elements = op.elements(0);
  return elements == Dim(0) ? elements : elements - op.output_elements(0);
}

// `count` if the condition holds, else 0.
inline Dim when(bool condition, const Dim& count) { return condition ? count : Dim(0); }

inline OpCost int8_cost(const OpContext& op) { return in_precision(ElementType::Int8, op.streamed()); }

// --- arguments ---

// Ends the rule if input i has a known rank other than `rank`.
inline void expect_rank(const OpContext& op, int i, int rank) {
  if (op.has_shape(i) && op.rank(i) != rank) op.fail(cat("input ", i, " has rank ", op.rank(i), ", expected ", rank));
}

// The shape of input i, which must have rank `rank`.
inline const Shape& shape_of(const OpContext& op, int i, int rank) {
  expect_rank(op, i, rank);
  return op.shape(i);
}

// Ends the rule if one of the inputs has a known rank other than `rank`.
inline void expect_rank(const OpContext& op, std::initializer_list<int> inputs, int rank) {
  for (const int i : inputs) expect_rank(op, i, rank);
}

// An attribute of this type; null if it is absent or has another type.
template <typename T>
const T* attribute_if(const OpContext& op, std::string_view name) {
  const AttributeValue* value = op.attribute_value(name);
  return value == nullptr ? nullptr : std::get_if<T>(value);
}

// The number of entries of a list attribute; 0 if it is absent.
inline std::size_t list_length(const OpContext& op, std::string_view name) {
  if (const auto* integers = attribute_if<std::vector<std::int64_t>>(op, name)) return integers->size();
  if (const auto* reals = attribute_if<std::vector<double>>(op, name)) return reals->size();
  if (const auto* strings = attribute_if<std::vector<std::string>>(op, name)) return strings->size();
  return 0;
}

// A positive integer attribute; 1 if it is absent.
inline std::int64_t positive_or_one(const OpContext& op, std::string_view attribute) {
  const std::int64_t size = op.attribute(attribute, 1);
  if (size < 1) op.fail(cat(attribute, " is ", size));
  return size;
}

// The element type that an attribute gives as a number of onnx.TensorProto.DataType.
inline ElementType element_attribute(const OpContext& op, std::string_view name, ElementType otherwise) {
  constexpr auto kLast = static_cast<std::int64_t>(ElementType::Int2);
  const std::int64_t number = op.attribute(name, static_cast<std::int64_t>(otherwise));
  if (number < 0 || number > kLast || (number == 0 && op.has_attribute(name)))
    op.fail(cat("attribute ", name, " is ", number, ", which is not a known element type"));
  return static_cast<ElementType>(number);
}

// The single element of a small input; empty when it is absent or not known.
std::optional<Dim> scalar_value(const OpContext& op, int i);
// The elements of a small input as sizes; empty unless all are known.
std::optional<std::vector<Dim>> known_sizes(const OpContext& op, int i);
// A boolean input of one element; empty when it is not known.
std::optional<bool> flag_value(const OpContext& op, int i);
// The single element of an input as a size; a fresh symbol named after `hint` if the element is not known.
Dim size_argument(OpContext& op, int i, std::string_view hint);

// A positive integer attribute, below 2^31 so that sums and products of two stay within 64 bits.
std::int64_t positive_attribute(const OpContext& op, std::string_view name);
// size / parts. Ends the rule if both are constants and `parts` does not divide `size`.
Dim divided(const OpContext& op, const Dim& size, const Dim& parts, std::string_view what);

// The size of input i along `axis`, which counts from the end if negative. Ends the rule for an axis outside the rank.
const Dim& dim_of(const OpContext& op, int i, int axis);
// Unifies the dim of input i at `axis` with `dim`, if the input is present and its rank is known.
void expect_dim(OpContext& op, int i, int axis, const Dim& dim, std::string_view what);

// `shape`, then the dims `last`.
Shape appended(Shape shape, std::initializer_list<Dim> last);
// All dims but the last, and their product. For a scalar: no dims, and 1.
Shape leading(const Shape& shape);
Dim row_count(const Shape& shape);

}  // namespace pagoda::inline core::ops
