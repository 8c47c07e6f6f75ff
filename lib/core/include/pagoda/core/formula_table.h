// Formulas in parts, for programs that evaluate them without this library: each distinct formula once, as a weighted
// sum of shared monomials.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pagoda/core/dim.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// Monomials are products of atoms: symbols, or operations on other formulas.
struct FormulaTable {
  struct Atom {
    Dim::AtomKind kind = Dim::AtomKind::Symbol;
    std::string symbol;          // for Symbol
    std::uint32_t a = 0, b = 0;  // for the others: arguments, as indices in `formulas`
  };
  struct Term {
    double coefficient = 0;
    std::uint32_t monomial = 0;
  };
  std::vector<Atom> atoms;
  std::vector<std::vector<std::uint32_t>> monomials;  // atoms, repeated by their powers
  std::vector<std::vector<Term>> formulas;
};

}  // namespace pagoda::inline core
#pragma GCC visibility pop
