// Bounds of a formula's value for any symbols ≥ 0.
#include <algorithm>

#include "graph/dim_poly.h"

namespace pagoda::inline core {

namespace {

std::optional<Int> lower_bound(const Dim::Atom& atom) {
  if (atom.kind == Dim::AtomKind::Symbol) return 0;
  const std::optional<Int> a = atom.arguments[0].lower_bound();
  const std::optional<Int> b = atom.arguments[1].lower_bound();
  if (atom.kind == Dim::AtomKind::Max) return a && b ? std::max(a, b) : a ? a : b;
  if (atom.kind == Dim::AtomKind::Min) return a && b ? std::min(a, b) : std::nullopt;
  const std::optional<Int> divisor = atom.arguments[1].value();
  if (a && divisor && *divisor > 0) return floor_quotient(*a, *divisor);
  return a && b && *a >= 0 && *b >= 0 ? std::optional<Int>(0) : std::nullopt;
}

// A product of atoms that are each ≥ their bound ≥ 0 is ≥ the product of the bounds.
std::optional<Int> lower_bound(const FactorList& factors, Int coefficient) {
  if (factors.empty()) return coefficient;
  if (coefficient < 0) return std::nullopt;
  for (const Dim::Factor& factor : factors) {
    const std::optional<Int> bound = lower_bound(factor.atom);
    if (!bound || *bound < 0) return std::nullopt;
    for (int i = 0; i < factor.power; ++i) coefficient = multiply(coefficient, *bound);
  }
  return coefficient;
}

// The atom where the term is that of a quotient by a number, else null.
const Dim::Atom* quotient_of(const FactorList& factors) {
  if (factors.size() != 1 || factors[0].power != 1) return nullptr;
  const Dim::Atom& atom = factors[0].atom;
  return atom.kind == Dim::AtomKind::FloorDiv && atom.arguments[1].is_constant() ? &atom : nullptr;
}

}  // namespace

std::optional<Int> Dim::lower_bound() const { return is_constant() ? factor() : Poly::least_difference(*this, 0); }

// Σ of the terms' bounds. Of terms with a negative coefficient only quotients are bounded: c·⌊x/m⌋ ≥ c·x/m for c < 0,
// so m times the sum has a bound without that atom, and the integer sum has that bound divided by m, rounded up: s −
// ⌊(s+3)/4⌋ ≥ 0.
std::optional<Int> Dim::Poly::least_difference(const Dim& a, const Dim& b) {
  std::optional<Int> sum = 0;
  const Atom* quotient = nullptr;
  Int of_quotient = 0;
  visit_merged(a, b, subtract, [&](const FactorList& factors, Int coefficient) {
    if (quotient != nullptr) return;
    if (coefficient < 0 && (quotient = quotient_of(factors)) != nullptr) of_quotient = coefficient;
    if (!sum) return;
    const std::optional<Int> bound = core::lower_bound(factors, coefficient);
    sum = bound ? std::optional(pagoda::add(*sum, *bound)) : std::nullopt;
  });
  if (quotient == nullptr) return sum;
  const Int divisor = *quotient->arguments[1].value();
  constexpr Int kLarge = Int{1} << 40;  // keeps the products below far from 128 bits
  if (divisor <= 0 || divisor > kLarge || of_quotient < -kLarge) return std::nullopt;
  const Dim others = a - b - of_quotient * atom(*quotient);
  const auto bound = (divisor * others + of_quotient * quotient->arguments[0]).lower_bound();
  return bound ? std::optional(-floor_quotient(-*bound, divisor)) : std::nullopt;
}

// The negated lower_bound of −dim; for a maximum, the greater of its operands' bounds.
std::optional<Int> upper_bound(const Dim& dim) {
  if (const Dim::Atom* atom = dim.as_atom(); atom != nullptr && atom->kind == Dim::AtomKind::Max) {
    const std::optional<Int> a = upper_bound(atom->arguments[0]);
    const std::optional<Int> b = upper_bound(atom->arguments[1]);
    return a && b ? std::optional(std::max(*a, *b)) : std::nullopt;
  }
  const std::optional<Int> mirrored = Dim::Poly::least_difference(0, dim);
  return mirrored ? std::optional(-*mirrored) : std::nullopt;
}

std::optional<bool> greater_equal(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return *a.value() >= *b.value();
  if (is_at_least(a, b)) return true;
  if (const auto bound = Dim::Poly::least_difference(b, a); bound && *bound > 0) return false;
  return std::nullopt;
}

std::optional<bool> equal(const Dim& a, const Dim& b) {
  if (a == b) return true;
  if (a.is_constant() && b.is_constant()) return false;
  if (const auto bound = Dim::Poly::least_difference(a, b); bound && *bound > 0) return false;
  if (const auto bound = Dim::Poly::least_difference(b, a); bound && *bound > 0) return false;
  return std::nullopt;
}

}  // namespace pagoda::inline core
