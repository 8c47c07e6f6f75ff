// Splits formulas into shared monomials and recombines them at each point.
#include "graph/dim_table.h"

#include <span>

#include "graph/dim_poly.h"

namespace pagoda::inline core {
DimTable::Id DimTable::atom_of(const Dim::Atom& atom) {
  const auto [at, is_new] = atom_ids_.emplace(atom.text, static_cast<Id>(atoms_.size()));
  if (is_new) atoms_.push_back(Dim::Poly::of(atom));
  return at->second;
}

DimTable::Id DimTable::monomial_of(const Dim::Monomial& monomial) {
  std::vector<Id> atoms;
  for (const Dim::Factor& factor : monomial.factors)
    atoms.insert(atoms.end(), static_cast<std::size_t>(factor.power), atom_of(factor.atom));
  const auto [at, is_new] = monomial_ids_.emplace(std::move(atoms), static_cast<Id>(monomials_.size()));
  if (is_new) monomials_.push_back(at->first);
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
  for (const std::vector<Id>& factors : monomials_) {
    double product = 1;
    for (const Id atom : factors) product *= atoms[atom];
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

FormulaTable DimTable::parsed() {
  FormulaTable table;
  std::size_t next = 0;
  while (next < atoms_.size()) {  // arguments may add new atoms to the end
    const Dim as_dim = atoms_[next++];
    const Dim::Atom& atom = *as_dim.as_atom();
    FormulaTable::Atom& each = table.atoms.emplace_back();
    each.kind = atom.kind;
    if (atom.kind == Dim::AtomKind::Symbol)
      each.symbol = atom.text;
    else
      each.a = add(atom.arguments[0]), each.b = add(atom.arguments[1]);
  }
  table.monomials = monomials_;
  for (std::size_t row = 0; row + 1 < row_begin_.size(); ++row) {
    const auto terms = std::span(terms_).subspan(row_begin_[row], row_begin_[row + 1] - row_begin_[row]);
    table.formulas.emplace_back(terms.begin(), terms.end());
  }
  return table;
}

}  // namespace pagoda::inline core
