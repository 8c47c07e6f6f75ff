// The sum of many formulas: one list of monomials that grows, rather than a new formula after each addition.
#pragma once

#include "graph/dim_poly.h"

namespace pagoda::inline core {

class DimSum {
 public:
  void add(const Dim& dim) {
    if (const auto number = dim.value64())
      constant_ = pagoda::add(constant_, *number);
    else
      add_terms(dim);
  }
  void add(const Dim::Monomial& term);
  Dim total() const;

 private:
  void add_terms(const Dim& dim);

  Int constant_ = 0;
  Dim::Poly::Terms terms_;  // in no order
};

}  // namespace pagoda::inline core
