// The representation of a non-constant Dim, shared by its arithmetic (dim.cpp), bounds (dim_bounds.cpp) and text
// (dim_text.cpp), and the checked arithmetic of its coefficients.
#pragma once

#include <optional>

#include "pagoda/base/error.h"
#include "pagoda/core/dim.h"

namespace pagoda::inline core {

// A symbol, or an operation on two arguments that polynomials cannot express. `text` is its canonical text and its
// identity: atoms with equal text are equal.
struct Dim::Atom {
  AtomKind kind;
  std::string text;
  std::vector<Dim> arguments;
};

struct Dim::Factor {
  Atom atom;
  int power;
};

struct Dim::Monomial {
  Int coefficient = 0;
  std::vector<Factor> factors;  // sorted by atom text; empty: the constant term
};

// Shared by Dims that each multiply it by their own factor; the last holder deletes it. Immutable.
struct Dim::Poly {
  // In canonical order, no two with the same factors, no coefficient 0. The coefficients have no common factor, and the
  // first is above 0.
  std::vector<Monomial> terms;
  Int long_factor = 0;        // of the holders whose factor_ is 0
  std::uint32_t holders = 1;  // accessed through std::atomic_ref

  static std::vector<Monomial> terms_of(const Dim& dim);  // with the factor; none for 0
  static Dim sum_of(std::vector<Monomial> terms);         // in canonical order, no two with the same factors
  static void multiply(Dim& dim, Int factor);
};

[[noreturn]] inline void overflow() { throw Error("a count exceeds 128 bits: the model's sizes are not credible"); }

inline Int add(Int a, Int b) {
  Int result;
  if (__builtin_add_overflow(a, b, &result)) overflow();
  return result;
}

inline Int multiply(Int a, Int b) {
  Int result;
  if (__builtin_mul_overflow(a, b, &result)) overflow();
  return result;
}

// The greatest common divisor.
inline Int common_divisor(Int a, Int b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a < 0 ? -a : a;
}

// ⌊a / b⌋ for either sign; C++ division truncates.
inline Int floor_quotient(Int a, Int b) {
  const Int quotient = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? quotient - 1 : quotient;
}

// An upper bound of the expression, given symbols ≥ 0; empty when none is known.
std::optional<Int> upper_bound(const Dim& dim);

}  // namespace pagoda::inline core
