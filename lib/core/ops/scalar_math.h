// Arithmetic on the elements of small known tensors, for folding a chain such as Shape → Gather → Mul → Floor.
// Integers and bools are exact Dims; reals are doubles rounded to the tensor's type, or a Ratio if they depend on a
// size. An operation whose result cannot be determined gives the unknown Scalar, never a guess.
#pragma once

#include <optional>

#include "pagoda/core/graph.h"
#include "pagoda/core/tensor_type.h"

namespace pagoda::inline core::ops {

using UnaryFold = Scalar (*)(const Scalar&, ElementType);
using BinaryFold = Scalar (*)(const Scalar&, const Scalar&, ElementType);

inline bool is_known(const Scalar& scalar) { return scalar.index() != 0; }
inline Scalar truth(bool value) { return Dim(value ? 1 : 0); }

// `value` as an element of a tensor of `type`: rounded to float32, float16 or bfloat16.
Scalar real(double value, ElementType type);
// The element as a fraction whose arithmetic is exact even in single precision; empty if it is not one.
std::optional<Ratio> as_ratio(const Scalar& scalar);
// Whether the element is non-zero; empty where that is unknown.
std::optional<bool> is_true(const Scalar& scalar);

// The operands have element type `type`.
Scalar add(const Scalar& a, const Scalar& b, ElementType type);
Scalar subtract(const Scalar& a, const Scalar& b, ElementType type);
Scalar multiply(const Scalar& a, const Scalar& b, ElementType type);
Scalar divide(const Scalar& a, const Scalar& b, ElementType type);     // integers truncate toward zero
Scalar modulo(const Scalar& a, const Scalar& b, ElementType type);     // the sign of the divisor
Scalar remainder(const Scalar& a, const Scalar& b, ElementType type);  // the sign of the dividend, C's fmod
Scalar power(const Scalar& a, const Scalar& b, ElementType type);
Scalar minimum(const Scalar& a, const Scalar& b, ElementType type);
Scalar maximum(const Scalar& a, const Scalar& b, ElementType type);

Scalar negate(const Scalar& a, ElementType type);
Scalar absolute(const Scalar& a, ElementType type);
Scalar sign(const Scalar& a, ElementType type);
Scalar floor(const Scalar& a, ElementType type);
Scalar ceil(const Scalar& a, ElementType type);
Scalar round(const Scalar& a, ElementType type);  // half to even
Scalar square_root(const Scalar& a, ElementType type);
Scalar reciprocal(const Scalar& a, ElementType type);

// Comparisons and logic give Dim 0 or 1.
Scalar equals(const Scalar& a, const Scalar& b, ElementType type);
Scalar less(const Scalar& a, const Scalar& b, ElementType type);
Scalar less_or_equal(const Scalar& a, const Scalar& b, ElementType type);
Scalar greater(const Scalar& a, const Scalar& b, ElementType type);
Scalar greater_or_equal(const Scalar& a, const Scalar& b, ElementType type);
Scalar logical_and(const Scalar& a, const Scalar& b, ElementType type);
Scalar logical_or(const Scalar& a, const Scalar& b, ElementType type);
Scalar logical_xor(const Scalar& a, const Scalar& b, ElementType type);
Scalar logical_not(const Scalar& a, ElementType type);

Scalar select(const Scalar& condition, const Scalar& a, const Scalar& b);
Scalar convert(const Scalar& a, ElementType from, ElementType to);

}  // namespace pagoda::inline core::ops
