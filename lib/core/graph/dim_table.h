// Many formulas at many points: a table with each distinct formula once, as a weighted sum of monomials that all
// formulas share. One evaluation costs a few multiplications per formula, whatever the model's size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pagoda/core/dim.h"

namespace pagoda::inline core {

class DimTable {
 public:
  using Id = std::uint32_t;

  // The row of `dim`; equal formulas share one.
  Id add(const Dim& dim);

  // The values of all rows, with 1 for symbols missing in `bindings`. Integers below 2^53 are exact; larger ones are
  // rounded to doubles. Throws Error where a formula divides by 0.
  void evaluate(const Bindings& bindings, std::vector<double>& values) const;

  // The table as plain data; adds rows for the arguments of divisions, minima and maxima.
  FormulaTable parsed();

 private:
  Id atom_of(const Dim::Atom& atom);
  Id monomial_of(const Dim::Monomial& monomial);

  std::map<std::vector<std::pair<Id, Int>>, Id> rows_;  // by monomials and their coefficients
  std::vector<std::size_t> row_begin_ = {0};
  std::vector<FormulaTable::Term> terms_;  // of all rows, one after another
  std::map<std::string, Id> atom_ids_;
  std::vector<Dim> atoms_;
  std::map<std::vector<Id>, Id> monomial_ids_;
  std::vector<std::vector<Id>> monomials_;  // atoms, repeated by their powers
};

}  // namespace pagoda::inline core
