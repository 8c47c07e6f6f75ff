// Folding of small tensors: elements of inputs whose shape is constant, numpy broadcasting over them, and the
// gathers, slices and reductions that move known elements around. Unknown elements stay unknown.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "ops/context.h"
#include "ops/scalar_math.h"
#include "pagoda/base/small_vector.h"
#include "pagoda/core/rule.h"

namespace pagoda::inline core::ops {

using Extents = base::SmallVector<std::int64_t, 6>;  // a constant shape

inline constexpr std::int64_t kFoldLimit = 1024;  // elements of a folded tensor

// A small tensor of constant shape. If its value is not known, all its elements are unknown.
struct SmallTensor {
  const TensorValue* known = nullptr;
  Extents shape;
  std::int64_t count = 1;

  const Scalar& operator[](std::int64_t index) const;
};

// Input i as a small tensor; empty when absent, of unknown or symbolic shape, or above kFoldLimit.
std::optional<SmallTensor> small_input(const OpContext& op, int i);
// The same, where at least one element is known.
std::optional<SmallTensor> known_input(const OpContext& op, int i);
// The extents of output i; empty if they are not constant or hold more than kFoldLimit elements.
std::optional<Extents> small_output(const OpContext& op, int i);

// Row-major strides along each axis, in elements.
Extents strides_of(std::span<const std::int64_t> shape);

// Where an element of shape `to` lies in shape `from`, which broadcasts to `to`.
class BroadcastIndex {
 public:
  BroadcastIndex(std::span<const std::int64_t> to, std::span<const std::int64_t> from);
  std::int64_t operator()(std::int64_t index) const;

 private:
  struct Axis {
    std::int64_t size, to_stride, from_stride;
  };
  base::SmallVector<Axis, 6> axes_;  // those along which `from` does not repeat; none where the shapes are equal
  bool is_same_;
};

// Number of elements of a constant shape.
std::int64_t count_of(std::span<const std::int64_t> shape);

// Sets an output's value unless nothing in it is known or its size disagrees with the output's shape.
void publish(OpContext& op, TensorValue value, int output = 0);

// Sets an output of `count` elements to element(0), element(1), …
template <typename Element>
void publish_each(OpContext& op, std::int64_t count, const Element& element, int output = 0) {
  TensorValue value;
  value.reserve(count);
  for (std::int64_t i = 0; i < count; ++i) value.push_back(element(i));
  publish(op, std::move(value), output);
}

// Output 0 = f over the elements of the inputs at one place, where each input of two values (see Banded) has the same
// band and all others have one element. For tensors too large to be folded element by element.
void fold_banded(OpContext& op, const std::function<Scalar(std::span<const Scalar>)>& f);
void publish_banded(OpContext& op, Banded banded);
// Of a value that is the same everywhere.
inline void publish_uniform(OpContext& op, const Scalar& element) { publish_banded(op, {element, element}); }
// The elements of a tensor of this shape that are not 0.
std::optional<Dim> count_nonzero(const Banded& banded, const Shape& shape);

// Output 0 = the elements of input 0 in the same order: reshapes, identities.
void fold_same(OpContext& op);
// Element k of an output = element source(k) of input 0.
void fold_moved(OpContext& op, const std::function<std::int64_t(std::int64_t)>& source, int output = 0);
// The same, where the source is a sum over the axes: of offset(axis, the element's coordinate along it).
void fold_axes(OpContext& op, const std::function<std::int64_t(std::size_t, std::int64_t)>& offset);
// Output 0 = f over the broadcast inputs, from left to right.
void fold_broadcast(OpContext& op, BinaryFold f);

template <UnaryFold F>
void fold_unary(OpContext& op) {
  if (const auto input = known_input(op, 0))
    publish_each(op, input->count, [&](std::int64_t i) { return F((*input)[i], op.element(0)); });
  else
    fold_banded(op, [&](std::span<const Scalar> elements) { return F(elements[0], op.element(0)); });
}

template <BinaryFold F>
void fold_each(OpContext& op) {
  fold_broadcast(op, F);
}

}  // namespace pagoda::inline core::ops
