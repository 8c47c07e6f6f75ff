// Arithmetic on the elements of small known tensors, for folding a chain such as Shape → Gather → Mul → Floor.
// Integers and bools are exact Dims; reals are doubles rounded to the tensor's type, or a Ratio if they depend on a
// size. An operation whose result cannot be determined gives the unknown Scalar, never a guess.
#pragma once

#include <optional>

#include "pagoda/core/graph.h"
#include "pagoda/core/tensor_type.h"

namespace pagoda::inline core::ops {

using UnaryOperation = Scalar(const Scalar&, ElementType);
using BinaryOperation = Scalar(const Scalar&, const Scalar&, ElementType);
using UnaryFold = UnaryOperation*;
using BinaryFold = BinaryOperation*;

inline bool is_known(const Scalar& scalar) { return scalar.index() != 0; }
inline Scalar truth(bool value) { return Dim(value ? 1 : 0); }

// `value` as an element of a tensor of `type`: rounded to float32, float16 or bfloat16.
Scalar real(double value, ElementType type);
// The element as a fraction whose arithmetic is exact even in single precision; empty if it is not one.
std::optional<Ratio> as_ratio(const Scalar& scalar);
// True if the element is non-zero; empty where that is unknown.
std::optional<bool> is_true(const Scalar& scalar);

// The operands have the element type that is the last argument.
BinaryOperation add, subtract, multiply, power, minimum, maximum;
BinaryOperation divide;     // integers truncate toward zero
BinaryOperation modulo;     // the sign of the divisor
BinaryOperation remainder;  // the sign of the dividend, C's fmod

UnaryOperation negate, absolute, sign, floor, ceil, square_root, reciprocal;
UnaryOperation round;  // half to even

// Comparisons and logic give Dim 0 or 1.
BinaryOperation equals, less, less_or_equal, greater, greater_or_equal;
BinaryOperation logical_and, logical_or, logical_xor;
UnaryOperation logical_not;

Scalar select(const Scalar& condition, const Scalar& a, const Scalar& b);
Scalar convert(const Scalar& a, ElementType from, ElementType to);

}  // namespace pagoda::inline core::ops
