// Pieces that many rows share: types that pass through and costs of the simplest kinds.
#pragma once

#include <cstdint>
#include <string>

#include "ops/op_rule.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core::ops {

// Output 0 has the type of input 0.
inline void infer_same(OpContext& op) { op.set_output(0, op.input(0)); }

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

// All inputs read once, all outputs written once, nothing computed.
inline OpCost cost_move(const OpContext& op) { return op.streamed(); }

// Only input 0 is read; the others are arguments such as axes, known before launch.
inline OpCost cost_move_first(const OpContext& op) { return op.streamed({0}); }

// Work per element of output 0; `Arith` includes `Comparisons`.
template <int Arith, int Special = 0, int Comparisons = 0>
OpCost cost_each(const OpContext& op) {
  static_assert(Comparisons <= Arith);
  OpCost cost = op.streamed();
  const Dim count = op.output_elements(0);
  if constexpr (Arith != 0) cost.arith = Arith * count;
  if constexpr (Special != 0) cost.special = Special * count;
  if constexpr (Comparisons != 0) cost.comparisons = Comparisons * count;
  return cost;
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
