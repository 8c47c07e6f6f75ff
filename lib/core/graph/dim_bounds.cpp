// Bounds of a formula's value for any symbols ≥ 0.
#include <algorithm>

#include "graph/dim_poly.h"

namespace pagoda::inline core {

// Σ of the terms' bounds, where a product of atoms that are each ≥ their bound ≥ 0 is ≥ the product of the bounds.
// Of terms with a negative coefficient only quotients are bounded: c·⌊x/m⌋ ≥ c·x/m for c < 0, so m times the sum has a
// bound without that atom, and the integer sum has that bound divided by m, rounded up: s − ⌊(s+3)/4⌋ ≥ 0.
std::optional<Int> Dim::lower_bound() const {
  if (is_constant()) return factor();
  for (const Monomial& term : poly_->terms) {
    const Int coefficient = multiply(term.coefficient, factor());
    if (coefficient >= 0 || term.factors.size() != 1 || term.factors[0].power != 1) continue;
    const Atom& quotient = term.factors[0].atom;
    if (quotient.kind != AtomKind::FloorDiv || !quotient.arguments[1].is_constant()) continue;
    const Int divisor = *quotient.arguments[1].value();
    constexpr Int kLarge = Int{1} << 40;  // keeps the products below far from 128 bits
    if (divisor <= 0 || divisor > kLarge || coefficient < -kLarge) return std::nullopt;
    const Dim others = *this - coefficient * atom(quotient);
    const auto bound = (divisor * others + coefficient * quotient.arguments[0]).lower_bound();
    return bound ? std::optional(-floor_quotient(-*bound, divisor)) : std::nullopt;
  }
  Int bound = 0;
  for (const Monomial& term : poly_->terms) {
    Int product = multiply(term.coefficient, factor());
    if (term.factors.empty()) {
      bound = add(bound, product);
      continue;
    }
    if (product < 0) return std::nullopt;
    for (const Factor& factor : term.factors) {
      Int atom_bound = 0;
      if (factor.atom.kind != AtomKind::Symbol) {
        const std::optional<Int> a = factor.atom.arguments[0].lower_bound();
        const std::optional<Int> b = factor.atom.arguments[1].lower_bound();
        if (factor.atom.kind == AtomKind::Max) {
          if (!a && !b) return std::nullopt;
          atom_bound = std::max(a.value_or(*(b ? b : a)), b.value_or(*(a ? a : b)));
        } else if (factor.atom.kind == AtomKind::Min) {
          if (!a || !b) return std::nullopt;
          atom_bound = std::min(*a, *b);
        } else {
          const std::optional<Int> divisor = factor.atom.arguments[1].value();
          if (!a) return std::nullopt;
          if (divisor && *divisor > 0) {
            atom_bound = floor_quotient(*a, *divisor);
          } else if (*a < 0 || !b || *b < 0) {
            return std::nullopt;
          }
        }
      }
      if (atom_bound < 0) return std::nullopt;
      for (int i = 0; i < factor.power; ++i) product = multiply(product, atom_bound);
    }
    bound = add(bound, product);
  }
  return bound;
}

// The negated lower_bound of −dim; for a maximum, the greater of its operands' bounds.
std::optional<Int> upper_bound(const Dim& dim) {
  if (const Dim::Atom* atom = dim.as_atom(); atom != nullptr && atom->kind == Dim::AtomKind::Max) {
    const std::optional<Int> a = upper_bound(atom->arguments[0]);
    const std::optional<Int> b = upper_bound(atom->arguments[1]);
    return a && b ? std::optional(std::max(*a, *b)) : std::nullopt;
  }
  const std::optional<Int> mirrored = (-dim).lower_bound();
  return mirrored ? std::optional(-*mirrored) : std::nullopt;
}

std::optional<bool> greater_equal(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return *a.value() >= *b.value();
  if (const auto bound = (a - b).lower_bound(); bound && *bound >= 0) return true;
  if (const auto bound = (b - a).lower_bound(); bound && *bound > 0) return false;
  return std::nullopt;
}

std::optional<bool> equal(const Dim& a, const Dim& b) {
  if (a == b) return true;
  if (a.is_constant() && b.is_constant()) return false;
  const Dim difference = a - b;
  if (difference.is_constant()) return false;
  if (const auto bound = difference.lower_bound(); bound && *bound > 0) return false;
  if (const auto bound = (b - a).lower_bound(); bound && *bound > 0) return false;
  return std::nullopt;
}

}  // namespace pagoda::inline core
