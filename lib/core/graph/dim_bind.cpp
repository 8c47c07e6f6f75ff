// The symbols of a Dim, and its value with expressions or numbers in their place.
#include <algorithm>
#include <set>

#include "graph/dim_poly.h"
#include "pagoda/base/error.h"

namespace pagoda::inline core {

namespace {

void collect_symbols(const Dim& dim, std::set<std::string>& names) {
  if (dim.is_constant()) return;
  for (const Dim::Monomial& term : dim.poly()->terms)
    for (const Dim::Factor& factor : term.factors) {
      if (factor.atom.kind == Dim::AtomKind::Symbol) names.insert(factor.atom.text);
      for (const Dim& argument : factor.atom.arguments) collect_symbols(argument, names);
    }
}

Dim power_of(const Dim& base, int power) {
  Dim result = base;
  for (int i = 1; i < power; ++i) result *= base;
  return result;
}

// Whether `find` knows some symbol of the formula.
template <typename Find>
bool mentions(const Dim& dim, const Find& find);

template <typename Find>
bool mentions(const FactorList& factors, const Find& find) {
  return std::any_of(factors.begin(), factors.end(), [&](const Dim::Factor& factor) {
    const Dim::Atom& atom = factor.atom;
    if (atom.kind == Dim::AtomKind::Symbol) return find(atom.text).has_value();
    return mentions(atom.arguments[0], find) || mentions(atom.arguments[1], find);
  });
}

template <typename Find>
bool mentions(const Dim& dim, const Find& find) {
  const Dim::Poly* poly = dim.poly();
  return poly != nullptr && std::any_of(poly->terms.begin(), poly->terms.end(),
                                        [&](const Dim::Monomial& term) { return mentions(term.factors, find); });
}

}  // namespace

std::vector<std::string> Dim::symbols() const {
  std::set<std::string> names;
  collect_symbols(*this, names);
  return {names.begin(), names.end()};
}

// `find` returns the replacement of a symbol, or nothing.
template <typename Find>
Dim Dim::Poly::substituted(const Dim& dim, const Find& find) {
  if (!mentions(dim, find)) return dim;
  const auto replaced = [&](const Factor& factor) {
    const Atom& at = factor.atom;
    if (at.kind == AtomKind::Symbol) return power_of(find(at.text).value_or(atom(at)), factor.power);
    const Dim a = substituted(at.arguments[0], find), b = substituted(at.arguments[1], find);
    const Dim value = at.kind == AtomKind::FloorDiv ? floor_div(a, b)
                      : at.kind == AtomKind::Min    ? min(a, b)
                                                    : max(a, b);
    return power_of(value, factor.power);
  };
  const Terms& terms = dim.poly_->terms;
  // Terms share operations, whose arguments hold further ones: each power of one is replaced once.
  std::map<std::pair<std::string_view, int>, Dim> operations;
  DimSum sum;
  for (const Monomial& term : terms) {
    if (!mentions(term.factors, find)) {
      sum.add(term.coefficient, term.factors);
      continue;
    }
    Dim product = term.coefficient;
    for (const Factor& factor : term.factors) {
      if (terms.size() == 1 || factor.atom.kind == AtomKind::Symbol) {
        product *= replaced(factor);
        continue;
      }
      const auto [known, is_new] = operations.try_emplace({factor.atom.text, factor.power});
      if (is_new) known->second = replaced(factor);
      product *= known->second;
    }
    if (terms.size() == 1) return product *= Dim(dim.factor());
    sum.add(product);
  }
  return sum.total() *= Dim(dim.factor());
}

Dim Dim::substitute(const std::map<std::string, Dim, std::less<>>& replacements) const {
  return Poly::substituted(*this, [&](const std::string& name) {
    const auto found = replacements.find(name);
    return found == replacements.end() ? std::nullopt : std::optional<Dim>(found->second);
  });
}

Dim Dim::bind(const Bindings& bindings) const {
  return Poly::substituted(*this, [&](const std::string& name) {
    const auto found = bindings.find(name);
    return found == bindings.end() ? std::nullopt : std::optional<Dim>(found->second);
  });
}

namespace {

Int evaluate_atom(const Dim::Atom& atom, const Bindings& bindings, std::int64_t otherwise) {
  if (atom.kind == Dim::AtomKind::Symbol) {
    const auto found = bindings.find(atom.text);
    return found == bindings.end() ? otherwise : found->second;
  }
  const Int a = atom.arguments[0].evaluate(bindings, otherwise);
  const Int b = atom.arguments[1].evaluate(bindings, otherwise);
  switch (atom.kind) {
    case Dim::AtomKind::FloorDiv:
      if (b == 0) throw Error("division by a size of 0 in " + atom.text);
      return floor_quotient(a, b);
    case Dim::AtomKind::Min:
      return std::min(a, b);
    case Dim::AtomKind::Max:
      return std::max(a, b);
    case Dim::AtomKind::Symbol:
      break;
  }
  return 0;
}

Int evaluate_poly(const Dim::Poly& poly, const Bindings& bindings, std::int64_t otherwise) {
  Int sum = 0;
  for (const Dim::Monomial& term : poly.terms) {
    Int product = term.coefficient;
    for (const Dim::Factor& factor : term.factors) {
      if (otherwise == 1 && factor.atom.kind == Dim::AtomKind::Symbol && bindings.empty()) continue;
      const Int value = evaluate_atom(factor.atom, bindings, otherwise);
      for (int i = 0; i < factor.power; ++i) product = multiply(product, value);
    }
    sum = add(sum, product);
  }
  return sum;
}

}  // namespace

Int Dim::evaluate(const Bindings& bindings, std::int64_t otherwise) const {
  return is_constant() ? factor() : multiply(factor(), evaluate_poly(*poly_, bindings, otherwise));
}

}  // namespace pagoda::inline core
