// Dim: an exact integer expression over named symbols. Sizes, counts of work and bytes are all Dims, so a model with
// free dimensions gets closed formulas instead of unknowns.
//
//   Dim batch = Dim::symbol("batch"), seq = Dim::symbol("seq");
//   Dim macs = 768 * batch * seq + 2 * batch * seq * seq;
//   macs.to_string();                         // "768*batch*seq + 2*batch*seq*seq"
//   macs.factored();                          // "2*batch*seq*(seq + 384)"
//   macs.bind({{"batch", 8}, {"seq", 128}});  // 1048576
//
// Canonical form: a sum of monomials (integer coefficient × product of atoms), so equal expressions compare equal. An
// atom is a symbol or an opaque floor_div(a, b), min(a, b), max(a, b). Symbols stand for sizes: integers ≥ 0.
// ceil_div(a, b) is floor_div(a + b - 1, b). Arithmetic is checked in 128 bits: overflow throws Error, expressions
// beyond the limits below throw TooComplex. A count is either exact or an error, never a wrapped number.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pagoda/base/error.h"
#include "pagoda/base/integer.h"
#include "pagoda/base/shared_vector.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

using base::to_string;  // for counts, beside the overloads for this layer's types

// A formula grew too large to be useful, such as an expression of more than kMaxTerms monomials.
class TooComplex : public Error {
 public:
  using Error::Error;
};

using Bindings = std::map<std::string, std::int64_t, std::less<>>;

class Dim {
 public:
  static constexpr std::size_t kMaxTerms = 1024;       // monomials in one expression
  static constexpr std::size_t kMaxTextLength = 4096;  // characters of one atom

  Dim() = default;
  Dim(Int constant) : factor_(static_cast<std::int64_t>(constant)) {
    if (factor_ != constant) set_factor(constant);
  }
  template <std::integral T>
  requires(!std::same_as<T, bool>) Dim(T constant) : Dim(static_cast<Int>(constant)) {}
  Dim(const Dim& other) : factor_(other.factor_), poly_(other.poly_) {
    if (poly_ != nullptr) hold_shared();
  }
  Dim(Dim&& other) noexcept : factor_(std::exchange(other.factor_, 0)), poly_(std::exchange(other.poly_, nullptr)) {}
  Dim& operator=(Dim other) noexcept {
    std::swap(factor_, other.factor_);
    std::swap(poly_, other.poly_);
    return *this;
  }
  ~Dim() {
    if (poly_ != nullptr) drop();
  }

  // The symbol `name`, converted to an identifier first (see identifier()).
  static Dim symbol(std::string_view name);

  // Reads a formula of + - * / // % ** ( ) max min floor floor_div ceil_div over identifiers and integers, as exporters
  // write them ("past + seq", "((n//80) - 3)//2 + 1"). Empty when the text is not a formula.
  static std::optional<Dim> parse(std::string_view formula);

  // `name` with every character that is not [A-Za-z0-9_] replaced by '_', not starting with a digit.
  static std::string identifier(std::string_view name);

  bool is_constant() const { return poly_ == nullptr || (factor_ == 0 && is_long_constant()); }
  std::optional<Int> value() const { return is_constant() ? std::optional<Int>(factor()) : std::nullopt; }
  // value() when it also fits 64 bits.
  std::optional<std::int64_t> value64() const {
    return poly_ == nullptr ? std::optional(factor_) : std::nullopt;
  }

  // Replaces the bound symbols by their values.
  Dim bind(const Bindings& bindings) const;
  // Replaces symbols by expressions.
  Dim substitute(const std::map<std::string, Dim, std::less<>>& replacements) const;
  // The value, with `otherwise` for every symbol missing in `bindings`.
  Int evaluate(const Bindings& bindings, std::int64_t otherwise = 1) const;

  // The names of all symbols, sorted, each once.
  std::vector<std::string> symbols() const;
  bool is_symbol() const;  // exactly one symbol, coefficient 1

  // A lower bound of the expression, given symbols ≥ 0; empty when none is known.
  std::optional<Int> lower_bound() const;

  // Canonical text: valid Python once floor_div is defined; min and max are Python's.
  std::string to_string() const;
  // The form with common factors taken out, or to_string() where that is shorter.
  std::string factored() const;

  // Numbers of 64 bits, as nearly all sizes are once symbols are bound, never leave these lines.
  Dim& operator+=(const Dim& other) {
    if (std::int64_t sum; has_no_poly(other) && !__builtin_add_overflow(factor_, other.factor_, &sum)) {
      factor_ = sum;
      return *this;
    }
    return add_formula(other);
  }
  Dim& operator-=(const Dim& other) {
    if (std::int64_t difference; has_no_poly(other) && !__builtin_sub_overflow(factor_, other.factor_, &difference)) {
      factor_ = difference;
      return *this;
    }
    return subtract_formula(other);
  }
  Dim& operator*=(const Dim& other) {
    if (std::int64_t product; has_no_poly(other) && !__builtin_mul_overflow(factor_, other.factor_, &product)) {
      factor_ = product;
      return *this;
    }
    return multiply_by_formula(other);
  }
  friend Dim operator+(Dim a, const Dim& b) { return a += b; }
  friend Dim operator-(Dim a, const Dim& b) { return a -= b; }
  friend Dim operator*(Dim a, const Dim& b) { return a *= b; }
  friend Dim operator-(const Dim& a) { return Dim(0) - a; }
  friend bool operator==(const Dim& a, const Dim& b) {
    if (a.poly_ == b.poly_ || a.factor_ != b.factor_) return a.poly_ == b.poly_ && a.factor_ == b.factor_;
    return a.has_same_terms(b);
  }

  // The representation, defined in lib/core/graph/dim_poly.h.
  enum class AtomKind : std::uint8_t { Symbol, FloorDiv, Min, Max };
  struct Atom;
  struct Factor;
  struct Monomial;
  struct Poly;
  const Atom* as_atom() const;  // the atom, where the expression is exactly one; else null
  const Poly* poly() const { return is_constant() ? nullptr : poly_; }  // null for constants

 private:
  friend Dim floor_div(const Dim& a, const Dim& b);
  friend std::optional<Dim> exact_div(const Dim& a, const Dim& b);
  friend Dim min(const Dim& a, const Dim& b);
  friend Dim max(const Dim& a, const Dim& b);
  bool has_no_poly(const Dim& other) const { return poly_ == nullptr && other.poly_ == nullptr; }
  void hold_shared() noexcept;
  bool has_same_terms(const Dim& other) const;
  Dim& add_formula(const Dim& other);
  Dim& subtract_formula(const Dim& other);
  Dim& multiply_by_formula(const Dim& other);
  static Dim atom(Atom atom);
  static Dim extreme(AtomKind kind, const Dim& a, const Dim& b);

  // The value of a constant; the factor of a sum.
  Int factor() const { return poly_ == nullptr || factor_ != 0 ? Int{factor_} : long_factor(); }
  void set_factor(Int factor);
  Int long_factor() const;
  // Whether it is a sum times a factor of 64 bits, and every coefficient of the sum is below 2^62.
  bool is_short_multiple() const;
  bool is_long_constant() const;

  void hold(Poly poly);
  void drop() noexcept;

  // Sixteen bytes, because large models hold millions of sizes: a factor beyond 64 bits is in the Poly, and 0 stands
  // for it here. Only then does a constant have a Poly, without terms.
  std::int64_t factor_ = 0;
  // Shared. A plain pointer, because <memory> pulls the streams into every source that includes this header, a fifth of
  // its compile time.
  Poly* poly_ = nullptr;
};

// ⌊a / b⌋. Throws Error when b is the constant 0. Terms of `a` divisible by `b` are moved out of the atom.
Dim floor_div(const Dim& a, const Dim& b);
// ⌈a / b⌉ for b > 0.
Dim ceil_div(const Dim& a, const Dim& b);
// a / b where b divides a as polynomials (exact for all values of the symbols); empty otherwise.
std::optional<Dim> exact_div(const Dim& a, const Dim& b);
Dim min(const Dim& a, const Dim& b);
Dim max(const Dim& a, const Dim& b);

// Whether a ≥ b (a == b) for all values of the symbols; empty when that is unknown or depends on them.
std::optional<bool> greater_equal(const Dim& a, const Dim& b);
std::optional<bool> equal(const Dim& a, const Dim& b);

using Shape = base::SharedVector<Dim>;

// Product of all dims; 1 for a scalar.
Dim element_count(const Shape& shape);

// Formulas in parts, for programs that evaluate them without this library: each distinct formula once, as a weighted sum
// of shared monomials. Monomials are products of atoms: symbols, or operations on other formulas.
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
