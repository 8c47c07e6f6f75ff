// Dim: polynomials over symbols and opaque atoms, kept in canonical form. The arithmetic is here; values for
// symbols are in dim_bind.cpp, bounds in dim_bounds.cpp, parsing and printing in dim_text.cpp.
#include "pagoda/core/dim.h"

#include <algorithm>
#include <numeric>

#include "graph/dim_poly.h"
#include "pagoda/base/error.h"

namespace pagoda::inline core {

namespace {

// The sum of the powers.
int degree(const FactorList& factors) {
  return std::accumulate(factors.begin(), factors.end(), 0,
                         [](int sum, const Dim::Factor& factor) { return sum + factor.power; });
}

}  // namespace

std::strong_ordering order(const FactorList& a, const FactorList& b) {
  if (a.data() == b.data()) return std::strong_ordering::equal;  // one list, shared
  if (a.empty() || b.empty()) return a.empty() <=> b.empty();
  if (auto by_degree = degree(a) <=> degree(b); by_degree != 0) return by_degree;
  auto ia = a.begin();
  auto ib = b.begin();
  for (; ia != a.end() && ib != b.end(); ++ia, ++ib) {
    if (const int by_name = ia->atom.text.compare(ib->atom.text); by_name != 0) return by_name <=> 0;
    if (auto by_power = ib->power <=> ia->power; by_power != 0) return by_power;
  }
  return a.size() <=> b.size();
}

namespace {

// Most lists are shared.
bool same_factors(const FactorList& a, const FactorList& b) { return a.data() == b.data() || order(a, b) == 0; }

bool same_terms(const Dim::Poly& a, const Dim::Poly& b) {
  return &a == &b || std::equal(a.terms.begin(), a.terms.end(), b.terms.begin(), b.terms.end(),
                                [](const Dim::Monomial& x, const Dim::Monomial& y) {
                                  return x.coefficient == y.coefficient && same_factors(x.factors, y.factors);
                                });
}

FactorList merge_factors(const FactorList& a, const FactorList& b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  FactorList merged;
  merged.reserve(a.size() + b.size());
  auto ia = a.begin();
  auto ib = b.begin();
  while (ia != a.end() || ib != b.end()) {
    if (ib == b.end() || (ia != a.end() && ia->atom.text < ib->atom.text)) {
      merged.push_back(*ia++);
    } else if (ia == a.end() || ib->atom.text < ia->atom.text) {
      merged.push_back(*ib++);
    } else {
      merged.push_back(*ia++);
      merged.back().power += (ib++)->power;
    }
  }
  return merged;
}

// a / b as monomials; empty when b does not divide a.
std::optional<Dim::Monomial> divide(const Dim::Monomial& a, const Dim::Monomial& b) {
  if (a.coefficient % b.coefficient != 0) return std::nullopt;
  FactorList quotient;
  auto ib = b.factors.begin();
  for (const Dim::Factor& factor : a.factors) {
    if (ib != b.factors.end() && ib->atom.text == factor.atom.text) {
      if (ib->power > factor.power) return std::nullopt;
      if (factor.power > ib->power) quotient.push_back({factor.atom, factor.power - ib->power});
      ++ib;
    } else {
      quotient.push_back(factor);
    }
  }
  if (ib != b.factors.end()) return std::nullopt;
  return Dim::Monomial{.coefficient = a.coefficient / b.coefficient, .factors = std::move(quotient)};
}

// The order in which polynomial long division eliminates terms: a true monomial order (pure lexicographic over
// the exponents of the atoms in order of their text), unlike the order in text.
bool leads(const Dim::Monomial& a, const Dim::Monomial& b) {
  auto ia = a.factors.begin();
  auto ib = b.factors.begin();
  while (ia != a.factors.end() && ib != b.factors.end()) {
    if (ia->atom.text != ib->atom.text) return ia->atom.text < ib->atom.text;
    if (ia->power != ib->power) return ia->power > ib->power;
    ++ia, ++ib;
  }
  return ia != a.factors.end();
}

const Dim::Monomial& leading(const Dim::Poly::Terms& terms) {
  return *std::min_element(terms.begin(), terms.end(), leads);
}

}  // namespace

Dim::Poly::Poly(Terms sum, Int factor) : terms(std::move(sum)), long_factor(factor) {
  constexpr Int kLong = Int{1} << 62;
  for (const Monomial& term : terms) is_long = is_long || term.coefficient >= kLong || term.coefficient <= -kLong;
}

void Dim::hold_shared() noexcept { poly_->holders.add(); }

Int Dim::long_factor() const { return poly_->long_factor; }

bool Dim::is_long_constant() const { return poly_->terms.empty(); }

bool Dim::is_short_multiple() const { return poly_ != nullptr && factor_ != 0 && !poly_->is_long; }

void Dim::set_factor(Int factor) {
  if (poly_ != nullptr && is_constant()) drop();
  factor_ = static_cast<std::int64_t>(factor);
  if (factor_ == factor) return;
  hold(Poly(poly_ != nullptr ? poly_->terms : Poly::Terms(), factor));
  factor_ = 0;
}

// With factor 1.
void Dim::hold(Poly poly) {
  if (poly_ != nullptr) drop();
  factor_ = 1;
  poly_ = new Poly(std::move(poly));
}

void Dim::drop() noexcept {
  if (poly_->holders.leave()) delete poly_;
  poly_ = nullptr;
}

Dim Dim::atom(Atom atom) {
  if (atom.text.size() > kMaxTextLength)
    throw TooComplex("a size formula is too long to carry on: " + atom.text.substr(0, 60) + "…");
  Dim dim;
  dim.hold(Poly({Monomial{.coefficient = 1, .factors = {Factor{std::move(atom), 1}}}}));
  return dim;
}

Dim Dim::symbol(std::string_view name) {
  return atom(Atom{.kind = AtomKind::Symbol, .text = identifier(name), .arguments = {}});
}

std::string Dim::identifier(std::string_view name) {
  std::string result(name);
  for (char& c : result) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!kept) c = '_';
  }
  if (result.empty() || (result[0] >= '0' && result[0] <= '9')) result.insert(result.begin(), '_');
  return result;
}

// A constant sum becomes a plain constant; otherwise the common factor of the coefficients moves out of the sum.
Dim Dim::Poly::sum_of(Terms terms) {
  terms.erase(std::remove_if(terms.begin(), terms.end(), [](const Monomial& term) { return term.coefficient == 0; }),
              terms.end());
  if (terms.size() > kMaxTerms) throw TooComplex("a size formula has too many terms to carry on");
  if (terms.empty()) return 0;
  if (terms.size() == 1 && terms[0].factors.empty()) return terms[0].coefficient;
  Int divisor = 0;
  for (const Monomial& term : terms) divisor = common_divisor(divisor, term.coefficient);
  const Int common = terms.front().coefficient < 0 ? -divisor : divisor;
  if (common != 1)
    for (Monomial& term : terms) term.coefficient /= common;
  Dim dim;
  dim.hold(Poly(std::move(terms)));
  dim.set_factor(common);
  return dim;
}

Dim Dim::Poly::merged(const Dim& a, const Dim& b) {
  Terms terms;
  visit_merged(a, b, pagoda::add, [&](const FactorList& factors, Int coefficient) {
    terms.push_back({.coefficient = coefficient, .factors = factors});
  });
  return sum_of(std::move(terms));
}

Dim::Poly::Terms Dim::Poly::terms_of(const Dim& dim) {
  if (dim.is_constant()) return dim.factor() == 0 ? Terms() : Terms{{.coefficient = dim.factor(), .factors = {}}};
  Terms terms = dim.poly_->terms;
  if (dim.factor_ != 1)
    for (Monomial& term : terms) term.coefficient = pagoda::multiply(term.coefficient, dim.factor());
  return terms;
}

void Dim::Poly::multiply(Dim& dim, Int factor) {
  if (factor == 1) return;
  const Int product = pagoda::multiply(dim.factor(), factor);
  if (dim.poly_ != nullptr && (dim.poly_->is_long || static_cast<std::int64_t>(product) != product))
    for (const Monomial& term : dim.poly_->terms) (void)pagoda::multiply(term.coefficient, product);  // may throw
  if (product == 0 && dim.poly_ != nullptr) dim.drop();
  dim.set_factor(product);
}

Dim& Dim::add_formula(const Dim& other) {
  if (other.poly_ == nullptr && other.factor_ == 0) return *this;
  if (poly_ == nullptr && factor_ == 0) return *this = other;
  // Multiples of one sum, as most sizes of a model are.
  if (std::int64_t sum; poly_ == other.poly_ && is_short_multiple() && other.factor_ != 0 &&
                        !__builtin_add_overflow(factor_, other.factor_, &sum)) {
    factor_ = sum;
    if (sum == 0) drop();
    return *this;
  }
  if (is_constant() && other.is_constant()) {
    set_factor(add(factor(), other.factor()));
    return *this;
  }
  if (!is_constant() && !other.is_constant() && same_terms(*poly_, *other.poly_)) {  // with other factors
    const Int sum = add(factor(), other.factor());
    factor_ = 1;
    Poly::multiply(*this, sum);
    return *this;
  }
  return *this = Poly::merged(*this, other);
}

Dim& Dim::subtract_formula(const Dim& other) {
  if (is_constant() && other.is_constant()) {
    set_factor(subtract(factor(), other.factor()));
    return *this;
  }
  if (std::int64_t difference; poly_ == other.poly_ && is_short_multiple() && other.factor_ != 0 &&
                               !__builtin_sub_overflow(factor_, other.factor_, &difference)) {
    factor_ = difference;
    if (difference == 0) drop();
    return *this;
  }
  Dim negated = other;
  Poly::multiply(negated, -1);
  return add_formula(negated);
}

void DimSum::add(Int coefficient, const FactorList& factors) {
  if (factors.empty()) {
    constant_ = pagoda::add(constant_, coefficient);
    return;
  }
  const auto known = std::find_if(terms_.begin(), terms_.end(),
                                  [&](const Dim::Monomial& each) { return same_factors(each.factors, factors); });
  if (known == terms_.end())
    terms_.push_back({.coefficient = coefficient, .factors = factors});
  else
    known->coefficient = pagoda::add(known->coefficient, coefficient);
}

void DimSum::add_terms(const Dim& dim) {
  if (dim.is_constant()) {
    constant_ = pagoda::add(constant_, *dim.value());
    return;
  }
  const Int factor = Dim::Poly::factor_of(dim);
  for (const Dim::Monomial& term : dim.poly()->terms) add(multiply(term.coefficient, factor), term.factors);
}

Dim DimSum::total() const {
  Dim::Poly::Terms terms = terms_;
  std::sort(terms.begin(), terms.end(), [](const auto& x, const auto& y) { return order(x.factors, y.factors) < 0; });
  terms.push_back({.coefficient = constant_, .factors = {}});
  return Dim::Poly::sum_of(std::move(terms));
}

Dim& Dim::multiply_by_formula(const Dim& other) {
  // A sum and a number, at least one of each.
  if (std::int64_t product; (poly_ == nullptr) != (other.poly_ == nullptr) && factor_ != 0 && other.factor_ != 0 &&
                            (poly_ == nullptr ? other : *this).is_short_multiple() &&
                            !__builtin_mul_overflow(factor_, other.factor_, &product)) {
    if (poly_ == nullptr) {
      poly_ = other.poly_;
      poly_->holders.add();
    }
    factor_ = product;
    return *this;
  }
  if (is_constant() && other.is_constant()) {
    set_factor(multiply(factor(), other.factor()));
    return *this;
  }
  if (is_constant() || other.is_constant()) {
    const Int constant = is_constant() ? factor() : other.factor();
    if (is_constant()) *this = other;
    Poly::multiply(*this, constant);
    return *this;
  }
  // The factors stay outside: a product of sums without a common factor has none (Gauss's lemma).
  const Poly::Terms &a = poly_->terms, &b = other.poly_->terms;
  if (a.size() * b.size() > 8 * kMaxTerms) throw TooComplex("a size formula has too many terms to carry on");
  Poly::Terms product;
  product.reserve(a.size() * b.size());
  for (const Monomial& x : a)
    for (const Monomial& y : b)
      product.push_back(
          {.coefficient = multiply(x.coefficient, y.coefficient), .factors = merge_factors(x.factors, y.factors)});
  if (product.size() > 1) {
    std::sort(product.begin(), product.end(),
              [](const Monomial& x, const Monomial& y) { return order(x.factors, y.factors) < 0; });
    std::size_t last = 0;
    for (std::size_t i = 1; i < product.size(); ++i) {
      if (same_factors(product[last].factors, product[i].factors)) {
        product[last].coefficient = add(product[last].coefficient, product[i].coefficient);
      } else if (++last != i) {
        product[last] = std::move(product[i]);
      }
    }
    product.erase(product.begin() + last + 1, product.end());
  }
  const Int factors = multiply(factor(), other.factor());
  *this = Poly::sum_of(std::move(product));
  Poly::multiply(*this, factors);
  return *this;
}

// Of dims with the same factor_ and other polynomials.
bool Dim::has_same_terms(const Dim& other) const {
  if (is_constant() != other.is_constant() || factor() != other.factor()) return false;
  return is_constant() || same_terms(*poly_, *other.poly_);
}

bool Dim::is_symbol() const {
  const Atom* only = as_atom();
  return only != nullptr && only->kind == AtomKind::Symbol;
}

std::optional<Dim> exact_div(const Dim& a, const Dim& b) {
  if (b.is_constant() && b.factor() == 0) return std::nullopt;
  if (a == b) return Dim(1);
  // The common factor of the coefficients is outside the sum.
  if (b.is_constant() || a.poly_ == b.poly_) {
    if (a.factor() % b.factor() != 0) return std::nullopt;
    Dim quotient = b.is_constant() ? a : Dim(1);
    quotient.set_factor(a.factor() / b.factor());
    return quotient;
  }
  const Dim::Poly::Terms divisor = Dim::Poly::terms_of(b);
  const Dim::Monomial& divisor_lead = leading(divisor);
  if (divisor.size() == 1) {  // term by term, in the same order
    Dim::Poly::Terms terms = Dim::Poly::terms_of(a);
    for (Dim::Monomial& term : terms) {
      std::optional<Dim::Monomial> reduced = divide(term, divisor_lead);
      if (!reduced) return std::nullopt;
      term = *std::move(reduced);
    }
    std::sort(terms.begin(), terms.end(), [](const auto& x, const auto& y) { return order(x.factors, y.factors) < 0; });
    return Dim::Poly::sum_of(std::move(terms));
  }
  // Long division by the leading term; each step removes one term of the remainder. Quotients of sizes have few terms,
  // and steps over long sums take time.
  constexpr std::size_t kMostWork = 4096;
  const std::size_t steps = std::max<std::size_t>(1, kMostWork / divisor.size());
  Dim remainder = a;
  Dim quotient = 0;
  for (std::size_t step = 0; step < std::min(steps, Dim::kMaxTerms); ++step) {
    if (remainder.is_constant() && remainder.factor() == 0) return quotient;
    const Dim::Poly::Terms left = Dim::Poly::terms_of(remainder);
    const std::optional<Dim::Monomial> term = divide(leading(left), divisor_lead);
    if (!term) return std::nullopt;
    const Dim term_dim = Dim::Poly::sum_of({*term});
    quotient += term_dim;
    remainder -= term_dim * b;
  }
  return std::nullopt;
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (b.is_constant() && b.factor() == 0) throw Error("division by a size of 0");
  if (a.is_constant() && b.is_constant()) return floor_quotient(a.factor(), b.factor());
  if (auto exact = exact_div(a, b)) return *std::move(exact);

  Dim whole = 0;  // moved out of the atom: ⌊(b·q + r) / b⌋ = q + ⌊r / b⌋
  Dim rest = a;
  if (b.is_constant()) {
    if (b.factor() < 0) return floor_div(-a, Dim(-b.factor()));
    Dim::Poly::Terms outside = Dim::Poly::terms_of(a), inside = outside;
    for (std::size_t i = 0; i < inside.size(); ++i) {
      outside[i].coefficient = floor_quotient(inside[i].coefficient, b.factor());
      inside[i].coefficient -= outside[i].coefficient * b.factor();
    }
    whole = Dim::Poly::sum_of(std::move(outside));
    rest = Dim::Poly::sum_of(std::move(inside));
    if (rest.is_constant()) return whole + floor_quotient(rest.factor(), b.factor());
    // 0 ≤ rest < b: such as the part that rounding toward zero adds for h = 0 in (h − 1) / 32.
    if (const auto upper = upper_bound(rest); upper && *upper < b.factor() && is_at_least(rest, 0)) return whole;
    // ⌊Σc·t + k⌋/b with every c above b/2 is Σt − ⌊Σ(b−c)·t + b−1−k⌋/b, which makes −⌊−s/4⌋ and ⌊(s+3)/4⌋ one formula.
    const Dim::Poly::Terms terms = Dim::Poly::terms_of(rest);
    if (std::all_of(terms.begin(), terms.end(), [&](const Dim::Monomial& term) {
          return term.factors.empty() || term.coefficient > b.factor() - term.coefficient;
        })) {
      Dim::Poly::Terms once;
      for (const Dim::Monomial& term : terms)
        if (!term.factors.empty()) once.push_back({.coefficient = 1, .factors = term.factors});
      const Dim terms_once = Dim::Poly::sum_of(std::move(once));
      return whole + terms_once - floor_div(b * terms_once - rest + b - Dim(1), b);
    }
    // ⌊(⌊x / m⌋ + c) / n⌋ = ⌊(x + c·m) / (m·n)⌋: chains of strided windows stay one atom.
    const bool is_atom_plus_constant = terms.size() == 1 || (terms.size() == 2 && terms[1].factors.empty());
    if (is_atom_plus_constant && terms[0].coefficient == 1 && terms[0].factors.size() == 1 &&
        terms[0].factors[0].power == 1 && terms[0].factors[0].atom.kind == Dim::AtomKind::FloorDiv &&
        terms[0].factors[0].atom.arguments[1].is_constant()) {
      const Dim::Atom& inner = terms[0].factors[0].atom;
      const Dim constant = terms.size() == 2 ? Dim(terms[1].coefficient) : Dim(0);
      return whole + floor_div(inner.arguments[0] + constant * inner.arguments[1], inner.arguments[1] * b);
    }
  }
  std::string text = "floor_div(" + rest.to_string() + ", " + b.to_string() + ")";
  return whole + Dim::atom({.kind = Dim::AtomKind::FloorDiv, .text = std::move(text), .arguments = {rest, b}});
}

Dim ceil_div(const Dim& a, const Dim& b) { return floor_div(a + b - Dim(1), b); }

namespace {

// The operands of nested atoms of one kind, min(a, min(b, c)): a, b, c.
void flatten(const Dim& dim, Dim::AtomKind kind, std::vector<Dim>& operands) {
  const Dim::Atom* atom = dim.as_atom();
  if (atom == nullptr || atom->kind != kind) return operands.push_back(dim);
  for (const Dim& argument : atom->arguments) flatten(argument, kind, operands);
}

}  // namespace

const Dim::Atom* Dim::as_atom() const {
  if (!poly_ || factor_ != 1 || poly_->terms.size() != 1) return nullptr;
  const Monomial& term = poly_->terms[0];
  const bool is_atom = term.factors.size() == 1 && term.factors[0].power == 1;
  return is_atom ? &term.factors[0].atom : nullptr;
}

// min or max of both operands' operands: drops those known to be dominated by another, sorts the rest by text.
Dim Dim::extreme(AtomKind kind, const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return (a.factor() < b.factor()) == (kind == AtomKind::Min) ? a : b;
  const auto beats = [&](const Dim& x, const Dim& y) {
    return kind == AtomKind::Max ? is_at_least(x, y) : is_at_least(y, x);
  };
  std::vector<Dim> candidates, kept;
  flatten(a, kind, candidates);
  flatten(b, kind, candidates);
  constexpr std::size_t kMostOperands = 64;  // each is compared with all others
  if (candidates.size() > kMostOperands) throw TooComplex("a size formula has too many minima or maxima to carry on");
  for (Dim& candidate : candidates) {
    if (std::any_of(kept.begin(), kept.end(), [&](const Dim& other) { return beats(other, candidate); })) continue;
    std::erase_if(kept, [&](const Dim& other) { return beats(candidate, other); });
    kept.push_back(std::move(candidate));
  }
  std::vector<std::pair<std::string, Dim>> sorted;
  sorted.reserve(kept.size());
  for (Dim& dim : kept) sorted.emplace_back(dim.to_string(), std::move(dim));
  std::sort(sorted.begin(), sorted.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  Dim result = std::move(sorted.back().second);
  for (std::size_t i = sorted.size() - 1; i-- > 0;) {
    std::string text = (kind == AtomKind::Max ? "max(" : "min(") + sorted[i].first + ", " + result.to_string() + ")";
    result =
        atom({.kind = kind, .text = std::move(text), .arguments = {std::move(sorted[i].second), std::move(result)}});
  }
  return result;
}

Dim min(const Dim& a, const Dim& b) { return Dim::extreme(Dim::AtomKind::Min, a, b); }
Dim max(const Dim& a, const Dim& b) { return Dim::extreme(Dim::AtomKind::Max, a, b); }

Dim element_count(const Shape& shape) {
  Dim product = 1;
  for (const Dim& dim : shape) product *= dim;
  return product;
}

}  // namespace pagoda::inline core
