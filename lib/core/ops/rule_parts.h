// Pieces that many rows share: types that pass through and costs of the simplest kinds.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "ops/op_rule.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core::ops {

// Output 0 has the type of input 0.
inline void infer_same(OpContext& op) { op.set_output(0, op.input(0)); }

// Sets the element type of an output before its shape is inferred; it stays when the rule ends early.
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

// Ends the rule if input i has a known rank other than `rank`.
inline void expect_rank(const OpContext& op, int i, int rank) {
  if (op.has_shape(i) && op.rank(i) != rank) op.fail(cat("input ", i, " has rank ", op.rank(i), ", expected ", rank));
}

// The shape of input i, which must have rank `rank`.
inline const Shape& shape_of(const OpContext& op, int i, int rank) {
  expect_rank(op, i, rank);
  return op.shape(i);
}

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
  return {.arith = work.arith * times,
          .special = work.special * times,
          .comparisons = work.comparisons * times,
          .macs = work.macs * times};
}
inline Work operator+(const Work& a, const Work& b) {
  return {.arith = a.arith + b.arith,
          .special = a.special + b.special,
          .comparisons = a.comparisons + b.comparisons,
          .macs = a.macs + b.macs};
}
inline OpCost& operator+=(OpCost& cost, const Work& work) {
  cost.arith += work.arith;
  cost.special += work.special;
  cost.comparisons += work.comparisons;
  cost.macs += work.macs;
  return cost;
}
inline OpCost operator+(OpCost cost, const Work& work) {
  cost += work;
  return cost;
}

// Comparisons are arithmetic, too.
inline Work compared(const Dim& count) { return {.arith = count, .comparisons = count}; }

inline OpCost in_precision(ElementType precision, OpCost cost) {
  cost.precision = precision;
  return cost;
}

inline OpCost with_macs(const Dim& macs, OpCost cost) {
  cost.macs = macs;
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

// The same bytes read from input 0 and written to output 0, where the types of one of them do not state the bytes.
inline OpCost cost_moving(const Dim& bytes, ElementType precision) {
  OpCost cost;
  cost.precision = precision;
  cost.read(0, bytes);
  cost.write(0, bytes);
  return cost;
}

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

// An attribute of this type; null if it is absent or has another type.
template <typename T>
const T* attribute_if(const OpContext& op, std::string_view name) {
  const AttributeValue* value = op.attribute_value(name);
  return value == nullptr ? nullptr : std::get_if<T>(value);
}

// Entries of a list attribute, 0 where it is missing.
inline std::size_t list_length(const OpContext& op, std::string_view name) {
  if (const auto* integers = attribute_if<std::vector<std::int64_t>>(op, name)) return integers->size();
  if (const auto* reals = attribute_if<std::vector<double>>(op, name)) return reals->size();
  if (const auto* strings = attribute_if<std::vector<std::string>>(op, name)) return strings->size();
  return 0;
}

// A positive size given by an attribute, 1 where it is missing.
inline Dim positive_or_one(const OpContext& op, std::string_view attribute) {
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

}  // namespace pagoda::inline core::ops
