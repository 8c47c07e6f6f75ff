// The representation of a non-constant Dim, shared by its arithmetic (dim.cpp), bounds (dim_bounds.cpp) and text
// (dim_text.cpp), and the checked arithmetic of its coefficients.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pagoda/base/error.h"
#include "pagoda/base/shared_vector.h"
#include "pagoda/base/small_vector.h"
#include "pagoda/core/dim.h"

namespace pagoda::inline core {

using base::Holders;

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

// A product of powers of atoms, sorted by the atoms' text; empty: 1. Copies share it.
using FactorList = base::SharedVector<Dim::Factor>;

struct Dim::Monomial {
  Int coefficient = 0;
  FactorList factors;  // empty: the constant term
};

// Shared by Dims that each multiply it by their own factor; the last holder deletes it. Immutable.
struct Dim::Poly {
  using Terms = base::SmallVector<Monomial, 2>;

  // In canonical order, no two with the same factors, no coefficient 0. The coefficients have no common factor, and the
  // first is above 0.
  Terms terms;
  Int long_factor = 0;   // of the holders whose factor_ is 0
  bool is_long = false;  // some coefficient exceeds 62 bits
  Holders holders;

  explicit Poly(Terms terms, Int long_factor = 0);
  static Terms terms_of(const Dim& dim);          // with the factor; none for 0
  static Dim sum_of(Terms terms);                 // in canonical order, no two with the same factors
  static Dim merged(const Dim& a, const Dim& b);  // the sum
  static void multiply(Dim& dim, Int factor);
  static Int factor_of(const Dim& dim) { return dim.factor(); }
  static Dim of(const Atom& only) { return atom(only); }
  template <typename Find>
  static Dim substituted(const Dim& dim, const Find& find);
  // A lower bound of a − b, given symbols ≥ 0; empty when none is known.
  static std::optional<Int> least_difference(const Dim& a, const Dim& b);
};

// Order of monomials in the canonical form and in text: constants last, otherwise by degree, then by name.
std::strong_ordering order(const FactorList& a, const FactorList& b);

[[noreturn]] inline void overflow() { throw Error("a count exceeds 128 bits: the model's sizes are not credible"); }

inline Int add(Int a, Int b) {
  Int result;
  if (__builtin_add_overflow(a, b, &result)) overflow();
  return result;
}

inline Int subtract(Int a, Int b) {
  Int result;
  if (__builtin_sub_overflow(a, b, &result)) overflow();
  return result;
}

inline Int multiply(Int a, Int b) {
  Int result;
  if (__builtin_mul_overflow(a, b, &result)) overflow();
  return result;
}

// The greatest common divisor.
inline Int common_divisor(Int a, Int b) {
  const auto is_short = [](Int value) { return static_cast<std::int64_t>(value) == value; };
  while (b != 0 && !(is_short(a) && is_short(b))) a = std::exchange(b, a % b);
  auto x = static_cast<std::int64_t>(a);
  if (b == 0) return a < 0 ? -a : a;
  // −2^63 % −1 overflows, and a divisor of 1 ends the search.
  for (auto y = static_cast<std::int64_t>(b); y != 0; x = std::exchange(y, x % y))
    if (y == 1 || y == -1) return 1;
  return x < 0 ? -Int{x} : Int{x};
}

// The terms of a formula and the factor of all of them; a number is one term.
class TermList {
 public:
  explicit TermList(const Dim& dim) : poly_(dim.poly()), factor_(Dim::Poly::factor_of(dim)) {
    if (poly_ == nullptr) number_.coefficient = std::exchange(factor_, 1);
  }
  const Dim::Monomial* begin() const { return poly_ != nullptr ? poly_->terms.begin() : &number_; }
  const Dim::Monomial* end() const { return poly_ != nullptr ? poly_->terms.end() : &number_ + 1; }
  Int coefficient(const Dim::Monomial& term) const { return multiply(term.coefficient, factor_); }

 private:
  const Dim::Poly* poly_;
  Int factor_;
  Dim::Monomial number_;
};

// Calls `visit` with the factors and the coefficient of each term of the sum or difference of two formulas, in
// canonical order. `combine` is add or subtract.
template <typename Visit>
void visit_merged(const Dim& a, const Dim& b, Int (*combine)(Int, Int), const Visit& visit) {
  const TermList of_a(a), of_b(b);
  auto ia = of_a.begin();
  auto ib = of_b.begin();
  while (ia != of_a.end() || ib != of_b.end()) {
    const auto ordering = ib == of_b.end()   ? std::strong_ordering::less
                          : ia == of_a.end() ? std::strong_ordering::greater
                                             : order(ia->factors, ib->factors);
    const FactorList& factors = ordering > 0 ? ib->factors : ia->factors;
    Int coefficient = ordering > 0 ? 0 : of_a.coefficient(*ia++);
    if (ordering >= 0) coefficient = combine(coefficient, of_b.coefficient(*ib++));
    if (coefficient != 0) visit(factors, coefficient);
  }
}

// The sum of many formulas: one list of monomials that grows, rather than a new formula after each addition.
class DimSum {
 public:
  void add(const Dim& dim) {
    if (const auto number = dim.value64())
      constant_ = pagoda::add(constant_, *number);
    else
      add_terms(dim);
  }
  void add(Int coefficient, const FactorList& factors);
  Dim total() const;

 private:
  void add_terms(const Dim& dim);

  Int constant_ = 0;
  Dim::Poly::Terms terms_;  // in no order
};

// ⌊a / b⌋ for either sign; C++ division truncates.
inline Int floor_quotient(Int a, Int b) {
  const Int quotient = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? quotient - 1 : quotient;
}

// Whether a ≥ b is known for all values of the symbols.
inline bool is_at_least(const Dim& a, const Dim& b) {
  const std::optional<Int> difference = Dim::Poly::least_difference(a, b);
  return difference && *difference >= 0;
}

// Whether `holds` is true of the name of a symbol in the expression.
template <typename Holds>
bool any_symbol(const Dim& dim, const Holds& holds) {
  if (dim.is_constant()) return false;
  const std::vector<std::string> names = dim.symbols();
  return std::ranges::any_of(names, holds);
}

// An upper bound of the expression, given symbols ≥ 0; empty when none is known.
std::optional<Int> upper_bound(const Dim& dim);

}  // namespace pagoda::inline core
