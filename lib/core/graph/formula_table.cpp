#include "pagoda/core/dim.h"

#include "graph/dim_poly.h"
#include "graph/dim_table.h"

namespace pagoda::inline core {

FormulaTable DimTable::parsed() {
  FormulaTable table;
  // Arguments may add new atoms to the end.
  std::size_t next = 0;
  while (next < atoms_.size()) {
    const Dim atom_as_dim = atoms_[next++];
    const Dim::Atom& atom = *atom_as_dim.as_atom();
    FormulaTable::Atom& each = table.atoms.emplace_back();
    each.kind = atom.kind;
    if (atom.kind == Dim::AtomKind::Symbol)
      each.symbol = atom.text;
    else
      each.a = add(atom.arguments[0]), each.b = add(atom.arguments[1]);
  }
  for (const std::vector<Power>& powers : monomials_) {
    std::vector<std::uint32_t>& factors = table.monomials.emplace_back();
    for (const Power& power : powers)
      factors.insert(factors.end(), static_cast<std::size_t>(power.exponent), power.atom);
  }
  for (std::size_t row = 0; row + 1 < row_begin_.size(); ++row) {
    auto& terms = table.formulas.emplace_back();
    for (std::size_t i = row_begin_[row]; i < row_begin_[row + 1]; ++i)
      terms.push_back({terms_[i].coefficient, terms_[i].monomial});
  }
  return table;
}

}  // namespace pagoda::inline core
