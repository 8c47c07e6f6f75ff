// The symbols of a Dim, and what it is with others in their place: expressions, or numbers.
#include <algorithm>
#include <set>

#include "graph/dim_poly.h"
#include "pagoda/base/error.h"

namespace pagoda::inline core {

namespace {

void collect_symbols(const Dim::Poly& poly, std::set<std::string>& names);

void collect_symbols(const Dim::Atom& atom, std::set<std::string>& names) {
  if (atom.kind == Dim::AtomKind::Symbol) names.insert(atom.text);
  for (const Dim& argument : atom.arguments)
    for (std::string& name : argument.symbols()) names.insert(std::move(name));
}

void collect_symbols(const Dim::Poly& poly, std::set<std::string>& names) {
  for (const Dim::Monomial& term : poly.terms)
    for (const Dim::Factor& factor : term.factors) collect_symbols(factor.atom, names);
}

Dim power_of(const Dim& base, int power) {
  Dim result = base;
  for (int i = 1; i < power; ++i) result *= base;
  return result;
}

// Rebuilds the expression with every symbol replaced by what `replace` returns for it.
template <typename Replace>
Dim rebuild(const Dim::Poly& poly, const Replace& replace);

template <typename Replace>
Dim rebuild(const Dim::Atom& atom, const Replace& replace, const Dim& self) {
  if (atom.kind == Dim::AtomKind::Symbol) {
    std::optional<Dim> replacement = replace(atom.text);
    return replacement ? *std::move(replacement) : self;
  }
  const Dim a = replace(atom.arguments[0]);
  const Dim b = replace(atom.arguments[1]);
  switch (atom.kind) {
    case Dim::AtomKind::FloorDiv:
      return floor_div(a, b);
    case Dim::AtomKind::Min:
      return min(a, b);
    case Dim::AtomKind::Max:
      return max(a, b);
    case Dim::AtomKind::Symbol:
      break;
  }
  return self;
}

}  // namespace

std::vector<std::string> Dim::symbols() const {
  std::set<std::string> names;
  if (!is_constant()) collect_symbols(*poly_, names);
  return {names.begin(), names.end()};
}

Dim Dim::substitute(const std::map<std::string, Dim, std::less<>>& replacements) const {
  if (is_constant()) return *this;
  struct Replace {
    const std::map<std::string, Dim, std::less<>>& replacements;
    std::optional<Dim> operator()(const std::string& name) const {
      const auto found = replacements.find(name);
      return found == replacements.end() ? std::nullopt : std::optional<Dim>(found->second);
    }
    Dim operator()(const Dim& argument) const { return argument.substitute(replacements); }
  };
  const Replace replace{replacements};
  Dim sum = 0;
  for (const Monomial& term : poly_->terms) {
    Dim product = term.coefficient;
    for (const Factor& factor : term.factors)
      product *= power_of(rebuild(factor.atom, replace, atom(factor.atom)), factor.power);
    sum += product;
  }
  return sum *= Dim(factor());
}

Dim Dim::bind(const Bindings& bindings) const {
  if (is_constant()) return *this;
  std::map<std::string, Dim, std::less<>> replacements;
  for (const std::string& name : symbols())
    if (const auto found = bindings.find(name); found != bindings.end()) replacements.emplace(name, Dim(found->second));
  return replacements.empty() ? *this : substitute(replacements);
}

namespace {

Int evaluate_poly(const Dim::Poly& poly, const Bindings& bindings, std::int64_t otherwise);

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
