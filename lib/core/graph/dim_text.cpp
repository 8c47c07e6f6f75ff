// Dim as text: canonical and factored printing, and parsing of exporters' formulas.
#include <algorithm>
#include <cctype>
#include <numeric>

#include "graph/dim_poly.h"
#include "pagoda/base/error.h"

namespace pagoda::inline core {

namespace {

std::string monomial_text(const Dim::Monomial& term) {
  std::string text;
  const Int magnitude = term.coefficient < 0 ? -term.coefficient : term.coefficient;
  if (magnitude != 1 || term.factors.empty()) text = to_string(magnitude);
  for (const Dim::Factor& factor : term.factors) {
    for (int i = 0; i < factor.power; ++i) {
      if (!text.empty()) text += '*';
      text += factor.atom.text;
    }
  }
  return text;
}

std::string sum_text(const Dim::Poly::Terms& terms) {
  std::string text;
  for (const Dim::Monomial& term : terms) {
    const bool is_negative = term.coefficient < 0;
    text += text.empty() ? (is_negative ? "-" : "") : (is_negative ? " - " : " + ");
    text += monomial_text(term);
  }
  return text;
}

// The factors common to all terms.
FactorList common_factors(const Dim::Poly::Terms& terms) {
  FactorList common = terms.front().factors;
  for (const Dim::Monomial& term : terms) {
    const auto is_missing = [&](Dim::Factor& factor) {
      const auto found = std::find_if(term.factors.begin(), term.factors.end(),
                                      [&](const Dim::Factor& other) { return other.atom.text == factor.atom.text; });
      if (found == term.factors.end()) return true;
      factor.power = std::min(factor.power, found->power);
      return false;
    };
    common.erase(std::remove_if(common.begin(), common.end(), is_missing), common.end());
  }
  return common;
}

}  // namespace

std::string Dim::to_string() const {
  return is_constant() ? pagoda::to_string(factor()) : sum_text(Poly::terms_of(*this));
}

std::string Dim::factored() const {
  std::string plain = to_string();
  if (is_constant() || poly_->terms.size() < 2) return plain;
  const Monomial content{.coefficient = factor() < 0 ? -factor() : factor(), .factors = common_factors(poly_->terms)};
  if (content.coefficient == 1 && content.factors.empty()) return plain;
  const std::optional<Dim> rest = exact_div(*this, Poly::sum_of({content}));
  if (!rest) return plain;
  std::string text = monomial_text(content) + "*(" + rest->to_string() + ")";
  return text.size() <= plain.size() ? text : plain;
}

// --- Reading formulas -------------------------------------------------------------------------------------------

namespace {

// Recursive descent over:  sum := product (('+'|'-') product)*   product := unary (('*'|'//'|'/'|'%') unary)*
//                          unary := '-' unary | power     power := primary ('**' integer)?
//                          primary := integer | name | name '(' args ')' | '(' sum ')'
class FormulaReader {
 public:
  explicit FormulaReader(std::string_view text) : text_(text) {}

  std::optional<Dim> read() {
    std::optional<Dim> result = sum(0);
    skip_space();
    return position_ == text_.size() ? result : std::nullopt;
  }

 private:
  static constexpr int kMaxDepth = 64;  // of parentheses

  static Dim remainder(const Dim& a, const Dim& b) { return a - floor_div(a, b) * b; }

  void skip_space() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }

  bool accept(std::string_view token) {
    skip_space();
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }

  std::optional<Dim> sum(int depth) {
    std::optional<Dim> left = product(depth);
    while (left) {
      const bool adds = accept("+");
      if (!adds && !accept("-")) break;
      const std::optional<Dim> right = product(depth);
      if (!right) return std::nullopt;
      left = adds ? *left + *right : *left - *right;
    }
    return left;
  }

  std::optional<Dim> product(int depth) {
    std::optional<Dim> left = unary(depth);
    while (left) {
      const bool multiplies = accept("*");
      const bool divides = !multiplies && (accept("//") || accept("/"));
      if (!multiplies && !divides && !accept("%")) break;
      const std::optional<Dim> right = unary(depth);
      if (!right || (!multiplies && *right == Dim(0))) return std::nullopt;
      left = multiplies ? *left * *right : divides ? floor_div(*left, *right) : remainder(*left, *right);
    }
    return left;
  }

  std::optional<Dim> unary(int depth) {
    if (depth > kMaxDepth) return std::nullopt;
    if (accept("-")) {
      const std::optional<Dim> operand = unary(depth + 1);
      return operand ? std::optional<Dim>(-*operand) : std::nullopt;
    }
    return power(depth);
  }

  // torch.export prints products of equal sizes as powers. Binds tighter than the sign on its left, as in Python.
  std::optional<Dim> power(int depth) {
    constexpr Int kMaxExponent = 16;  // above any real size formula
    const std::optional<Dim> base = primary(depth);
    if (!base || !accept("**")) return base;
    const std::optional<Dim> exponent = primary(depth + 1);
    if (!exponent || !exponent->is_constant() || *exponent->value() < 0 || *exponent->value() > kMaxExponent)
      return std::nullopt;
    Dim result = 1;
    for (Int i = 0; i < *exponent->value(); ++i) result *= *base;
    return result;
  }

  std::optional<Dim> primary(int depth) {
    if (depth > kMaxDepth) return std::nullopt;
    if (accept("(")) {
      std::optional<Dim> inner = sum(depth + 1);
      return accept(")") ? inner : std::nullopt;
    }
    skip_space();
    const std::size_t begin = position_;
    const auto is_word = [&](std::size_t i) {
      return i < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[i])) != 0 || text_[i] == '_');
    };
    while (is_word(position_)) ++position_;
    const std::string_view word = text_.substr(begin, position_ - begin);
    if (word.empty()) return std::nullopt;
    if (word[0] >= '0' && word[0] <= '9') {
      Int value = 0;
      for (const char c : word) {
        if (c < '0' || c > '9' || value > (Int{1} << 100)) return std::nullopt;
        value = value * 10 + (c - '0');
      }
      return Dim(value);
    }
    if (!accept("(")) return Dim::symbol(word);
    return call(word, depth);
  }

  std::optional<Dim> call(std::string_view name, int depth) {
    std::vector<Dim> arguments;
    do {
      std::optional<Dim> argument = sum(depth + 1);
      if (!argument) return std::nullopt;
      arguments.push_back(*std::move(argument));
    } while (accept(","));
    if (!accept(")")) return std::nullopt;
    if (name == "floor" && arguments.size() == 1) return arguments[0];  // around a '/', which already rounds down
    if (arguments.size() < 2) return std::nullopt;
    if (name == "max" || name == "Max" || name == "min" || name == "Min") {
      Dim result = arguments[0];
      for (std::size_t i = 1; i < arguments.size(); ++i)
        result = (name[1] == 'a') ? max(result, arguments[i]) : min(result, arguments[i]);
      return result;
    }
    if (arguments.size() != 2 || arguments[1] == Dim(0)) return std::nullopt;
    if (name == "floor_div" || name == "FloorDiv") return floor_div(arguments[0], arguments[1]);
    if (name == "ceil_div") return ceil_div(arguments[0], arguments[1]);
    if (name == "Mod" || name == "mod" || name == "PythonMod") return remainder(arguments[0], arguments[1]);
    return std::nullopt;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace

std::optional<Dim> Dim::parse(std::string_view formula) {
  constexpr std::size_t kMaxFormulaLength = 1024;
  if (formula.size() > kMaxFormulaLength) return std::nullopt;
  try {
    return FormulaReader(formula).read();
  } catch (const Error&) {  // overflow: not a size
    return std::nullopt;
  }
}

}  // namespace pagoda::inline core
