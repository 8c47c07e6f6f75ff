// The inside of a non-constant Dim, shared by its arithmetic (dim.cpp) and its text (dim_text.cpp).
#pragma once

#include "pagoda/dim.h"

namespace pagoda {

// A symbol, or an operation that polynomials cannot express, over two arguments. `text` is its canonical print and
// its identity: atoms with equal text are equal.
struct Dim::Atom {
  AtomKind kind;
  std::string text;
  std::vector<Dim> arguments;
};

struct Dim::Factor {
  Atom atom;
  int power;
};

struct Dim::Monomial {
  Int coefficient = 0;
  std::vector<Factor> factors;  // sorted by atom text; empty: the constant term
};

struct Dim::Poly {
  std::vector<Monomial> terms;  // in canonical order, no two with the same factors, no coefficient 0
};

}  // namespace pagoda
