// Splits formulas into shared monomials and recombines them at each point.
#include "graph/dim_table.h"

#include "graph/dim_poly.h"

namespace pagoda::inline core {
namespace {

Dim dim_of(const Dim::Atom& atom) {
  switch (atom.kind) {
    case Dim::AtomKind::Symbol:
      return Dim::symbol(atom.text);
    case Dim::AtomKind::FloorDiv:
      return floor_div(atom.arguments[0], atom.arguments[1]);
    case Dim::AtomKind::Min:
      return min(atom.arguments[0], atom.arguments[1]);
    case Dim::AtomKind::Max:
      return max(atom.arguments[0], atom.arguments[1]);
  }
  return 0;
}

}  // namespace

DimTable::Id DimTable::atom_of(const Dim::Atom& atom) {
  const auto [at, is_new] = atom_ids_.emplace(atom.text, static_cast<Id>(atoms_.size()));
  if (is_new) atoms_.push_back(dim_of(atom));
  return at->second;
}

DimTable::Id DimTable::monomial_of(const Dim::Monomial& monomial) {
  std::vector<std::pair<Id, int>> key;
  for (const Dim::Factor& factor : monomial.factors) key.emplace_back(atom_of(factor.atom), factor.power);
  const auto [at, is_new] = monomial_ids_.emplace(key, static_cast<Id>(monomials_.size()));
  if (is_new) {
    std::vector<Power> powers;
    powers.reserve(key.size());
    for (const auto& [atom, exponent] : key) powers.push_back({atom, exponent});
    monomials_.push_back(std::move(powers));
  }
  return at->second;
}

DimTable::Id DimTable::add(const Dim& dim) {
  std::vector<std::pair<Id, Int>> row;
  if (const auto value = dim.value()) {
    row.emplace_back(monomial_of({}), *value);
  } else {
    for (const Dim::Monomial& term : Dim::Poly::terms_of(dim)) row.emplace_back(monomial_of(term), term.coefficient);
  }
  const auto [at, is_new] = rows_.emplace(std::move(row), static_cast<Id>(row_begin_.size() - 1));
  if (is_new) {
    for (const auto& [monomial, coefficient] : at->first)
      terms_.push_back({static_cast<double>(coefficient), monomial});
    row_begin_.push_back(terms_.size());
  }
  return at->second;
}

void DimTable::evaluate(const Bindings& bindings, std::vector<double>& values) const {
  std::vector<double> atoms, monomials;
  for (const Dim& atom : atoms_) atoms.push_back(static_cast<double>(atom.evaluate(bindings)));
  for (const std::vector<Power>& powers : monomials_) {
    double product = 1;
    for (const Power& power : powers)
      for (int i = 0; i < power.exponent; ++i) product *= atoms[power.atom];
    monomials.push_back(product);
  }
  values.resize(row_begin_.size() - 1);
  for (std::size_t row = 0; row < values.size(); ++row) {
    double sum = 0;
    for (std::size_t i = row_begin_[row]; i < row_begin_[row + 1]; ++i)
      sum += terms_[i].coefficient * monomials[terms_[i].monomial];
    values[row] = sum;
  }
}

}  // namespace pagoda::inline core
