// Exact arithmetic on known elements, and its limits.
#include "ops/scalar_math.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>

#include "pagoda/core/dim.h"

namespace pagoda::inline core::ops {
namespace {

const Scalar kUnknown;

// `value` with `mantissa_bits` significant bits, ties to even.
double quantise(double value, int mantissa_bits) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, mantissa_bits)), exponent - mantissa_bits);
}

// A fraction, reduced by the small prime factors of its denominator or by all of it; a double if it is constant.
Scalar from_ratio(Dim numerator, Int denominator, ElementType type) {
  if (denominator == 0) return kUnknown;
  if (denominator < 0) numerator = -numerator, denominator = -denominator;
  for (const Int prime : {2, 3, 5, 7, 11, 13}) {
    while (denominator % prime == 0) {
      const auto reduced = exact_div(numerator, Dim(prime));
      if (!reduced) break;
      numerator = *reduced;
      denominator /= prime;
    }
  }
  if (denominator != 1) {
    if (auto whole = exact_div(numerator, Dim(denominator))) numerator = *whole, denominator = 1;
  }
  if (const auto constant = numerator.value())
    return real(static_cast<double>(*constant) / static_cast<double>(denominator), type);
  if (denominator > std::numeric_limits<std::int64_t>::max()) return kUnknown;
  return Ratio{std::move(numerator), static_cast<std::int64_t>(denominator)};
}

// An integer result. Unknown beyond 64 bits: it would wrap at run time to a value that no size is meant to have.
Scalar integer(Dim value) {
  if (value.is_constant() && !value.value64()) return kUnknown;
  return value;
}

// Both operands as elements of one kind.
template <typename T>
struct Both {
  const T* a;
  const T* b;
  explicit operator bool() const { return a != nullptr && b != nullptr; }
};
Both<Dim> integers(const Scalar& a, const Scalar& b) { return {std::get_if<Dim>(&a), std::get_if<Dim>(&b)}; }
Both<double> reals(const Scalar& a, const Scalar& b) { return {std::get_if<double>(&a), std::get_if<double>(&b)}; }

// Both as fractions over a common denominator.
struct Fractions {
  Dim a, b;
  Int denominator = 1;
};
std::optional<Fractions> fractions(const Scalar& a, const Scalar& b) {
  const auto x = as_ratio(a);
  const auto y = as_ratio(b);
  if (!x || !y) return std::nullopt;
  const std::int64_t common = std::gcd(x->denominator, y->denominator);
  return Fractions{x->numerator * Dim(y->denominator / common), y->numerator * Dim(x->denominator / common),
                   static_cast<Int>(x->denominator / common) * y->denominator};
}

// Integer division that truncates toward zero, valid for all values of the symbols.
Scalar truncated(const Dim& a, const Dim& b) {
  if (b == Dim(0)) return kUnknown;
  if (auto exact = exact_div(a, b)) return *std::move(exact);
  if (b.is_constant() && *b.value() < 0) return truncated(-a, -b);
  if (greater_equal(b, 0) != true) return kUnknown;
  if (greater_equal(a, 0) == true) return floor_div(a, b);
  if (greater_equal(0, a) == true) return -floor_div(-a, b);
  return floor_div(max(a, 0), b) - floor_div(max(-a, 0), b);
}

}  // namespace

Scalar real(double value, ElementType type) {
  if (type == ElementType::Float32) return static_cast<double>(static_cast<float>(value));
  if (type == ElementType::Float64 || !std::isfinite(value)) return value;
  if (type == ElementType::Float16) {
    const double rounded = quantise(value, 11);
    if (std::abs(rounded) <= 65504.0 && (rounded == 0 || std::abs(rounded) >= 0x1p-14)) return rounded;
    return kUnknown;
  }
  if (type == ElementType::Bfloat16) return quantise(value, 8);
  return kUnknown;
}

// A double counts as a fraction only if it has few significant bits: its product with a size below 2^14 is then exact
// in float32, and its floor is what the runtime computes. 0.7 does not count: 10 · 0.7f rounds up to 7.
std::optional<Ratio> as_ratio(const Scalar& scalar) {
  if (const Dim* dim = std::get_if<Dim>(&scalar)) return Ratio{*dim, 1};
  if (const Ratio* ratio = std::get_if<Ratio>(&scalar)) return *ratio;
  const double* value = std::get_if<double>(&scalar);
  if (value == nullptr || !std::isfinite(*value)) return std::nullopt;
  if (std::trunc(*value) == *value && std::abs(*value) < 0x1p53) return Ratio{static_cast<std::int64_t>(*value), 1};
  constexpr std::int64_t kLargestNumerator = 1024, kLargestDenominator = 1 << 16;
  if (std::abs(*value) > kLargestNumerator) return std::nullopt;
  const double scaled = *value * kLargestDenominator;
  auto numerator = static_cast<std::int64_t>(scaled);
  if (static_cast<double>(numerator) != scaled) return std::nullopt;
  const std::int64_t common = std::gcd(numerator, kLargestDenominator);
  numerator /= common;
  if (std::abs(numerator) > kLargestNumerator) return std::nullopt;
  return Ratio{numerator, kLargestDenominator / common};
}

std::optional<bool> is_true(const Scalar& scalar) {
  if (const double* value = std::get_if<double>(&scalar)) return *value != 0;
  const Dim* dim = std::get_if<Dim>(&scalar);
  if (const Ratio* ratio = std::get_if<Ratio>(&scalar)) dim = &ratio->numerator;
  if (dim == nullptr) return std::nullopt;
  const auto zero = equal(*dim, 0);
  return zero ? std::optional<bool>(!*zero) : std::nullopt;
}

namespace {

// A sum or a difference.
template <typename Operation>
Scalar combined(const Scalar& a, const Scalar& b, ElementType type, const Operation& operation) {
  if (const auto i = integers(a, b)) return integer(operation(*i.a, *i.b));
  if (const auto r = reals(a, b)) return real(operation(*r.a, *r.b), type);
  if (const auto f = fractions(a, b)) return from_ratio(operation(f->a, f->b), f->denominator, type);
  return kUnknown;
}

// The lesser or the greater.
template <typename Choice>
Scalar chosen(const Scalar& a, const Scalar& b, ElementType type, const Choice& choice) {
  if (const auto i = integers(a, b)) return choice(*i.a, *i.b);
  if (const auto r = reals(a, b)) return std::isnan(*r.a) || std::isnan(*r.b) ? kUnknown : Scalar(choice(*r.a, *r.b));
  if (const auto f = fractions(a, b)) return from_ratio(choice(f->a, f->b), f->denominator, type);
  return kUnknown;
}

}  // namespace

Scalar add(const Scalar& a, const Scalar& b, ElementType type) { return combined(a, b, type, std::plus<>()); }
Scalar subtract(const Scalar& a, const Scalar& b, ElementType type) { return combined(a, b, type, std::minus<>()); }

Scalar multiply(const Scalar& a, const Scalar& b, ElementType type) {
  if (const auto i = integers(a, b)) return integer(*i.a * *i.b);
  // An integer zero alone decides the product; a real zero does not (NaN, infinity).
  for (const Scalar* scalar : {&a, &b})
    if (const Dim* dim = std::get_if<Dim>(scalar); dim != nullptr && *dim == Dim(0)) return Dim(0);
  if (const auto r = reals(a, b)) return real(*r.a * *r.b, type);
  const auto x = as_ratio(a);
  const auto y = as_ratio(b);
  if (!x || !y) return kUnknown;
  return from_ratio(x->numerator * y->numerator, static_cast<Int>(x->denominator) * y->denominator, type);
}

Scalar divide(const Scalar& a, const Scalar& b, ElementType type) {
  if (const auto i = integers(a, b)) return truncated(*i.a, *i.b);
  if (const auto r = reals(a, b)) return *r.b == 0 ? kUnknown : real(*r.a / *r.b, type);
  const auto f = fractions(a, b);
  if (!f || f->b == Dim(0)) return kUnknown;
  if (const auto divisor = f->b.value()) return from_ratio(f->a, *divisor, type);
  if (const auto quotient = exact_div(f->a, f->b)) return from_ratio(*quotient, 1, type);
  if (const auto inverse = exact_div(f->b, f->a); inverse && inverse->is_constant())
    return from_ratio(1, *inverse->value(), type);
  return kUnknown;
}

Scalar modulo(const Scalar& a, const Scalar& b, ElementType type) {
  if (const auto i = integers(a, b)) {
    if (*i.b == Dim(0) || greater_equal(*i.b, 0) == std::nullopt) return kUnknown;
    return *i.a - *i.b * floor_div(*i.a, *i.b);
  }
  return remainder(a, b, type);
}

Scalar remainder(const Scalar& a, const Scalar& b, ElementType type) {
  if (const auto i = integers(a, b)) {
    const Scalar quotient = truncated(*i.a, *i.b);
    return is_known(quotient) ? Scalar(*i.a - *i.b * std::get<Dim>(quotient)) : kUnknown;
  }
  if (const auto r = reals(a, b)) return *r.b == 0 ? kUnknown : real(std::fmod(*r.a, *r.b), type);
  return kUnknown;
}

Scalar power(const Scalar& a, const Scalar& b, ElementType type) {
  constexpr Int kMaxExponent = 62;
  const auto exponent = as_ratio(b);
  const bool small = exponent && exponent->denominator == 1 && exponent->numerator.is_constant() &&
                     *exponent->numerator.value() >= 0 && *exponent->numerator.value() <= kMaxExponent;
  if (const double* base = std::get_if<double>(&a)) {
    const double* real_exponent = std::get_if<double>(&b);
    if (real_exponent != nullptr) return real(std::pow(*base, *real_exponent), type);
    return small ? real(std::pow(*base, static_cast<double>(*exponent->numerator.value())), type) : kUnknown;
  }
  if (!small || !is_known(a)) return kUnknown;
  constexpr Int kMaxSymbolicExponent = 8;
  const Dim* base = std::get_if<Dim>(&a);
  if ((base == nullptr || !base->is_constant()) && *exponent->numerator.value() > kMaxSymbolicExponent) return kUnknown;
  Scalar result = base != nullptr ? Scalar(Dim(1)) : real(1, type);
  for (Int i = 0; i < *exponent->numerator.value(); ++i) result = multiply(result, a, type);
  return result;
}

Scalar minimum(const Scalar& a, const Scalar& b, ElementType type) {
  using std::min;
  return chosen(a, b, type, [](const auto& x, const auto& y) { return min(x, y); });
}

Scalar maximum(const Scalar& a, const Scalar& b, ElementType type) {
  using std::max;
  return chosen(a, b, type, [](const auto& x, const auto& y) { return max(x, y); });
}

Scalar negate(const Scalar& a, ElementType type) {
  if (const Dim* dim = std::get_if<Dim>(&a)) return integer(-*dim);
  if (const Ratio* ratio = std::get_if<Ratio>(&a)) return Ratio{-ratio->numerator, ratio->denominator};
  if (const double* value = std::get_if<double>(&a)) return real(-*value, type);
  return kUnknown;
}

Scalar absolute(const Scalar& a, ElementType type) {
  if (const double* value = std::get_if<double>(&a)) return real(std::abs(*value), type);
  const auto ratio = as_ratio(a);
  if (!ratio) return kUnknown;
  if (greater_equal(ratio->numerator, 0) == true) return a;
  if (greater_equal(0, ratio->numerator) == true) return negate(a, type);
  return kUnknown;
}

Scalar sign(const Scalar& a, ElementType type) {
  const auto result = [&](int value) {
    return std::holds_alternative<Dim>(a) ? Scalar(Dim(value)) : real(value, type);
  };
  if (const double* value = std::get_if<double>(&a))
    return std::isnan(*value) ? kUnknown : result((*value > 0) - (*value < 0));
  const auto ratio = as_ratio(a);
  if (!ratio) return kUnknown;
  if (ratio->numerator == Dim(0)) return result(0);
  if (greater_equal(ratio->numerator, 1) == true) return result(1);
  if (greater_equal(-1, ratio->numerator) == true) return result(-1);
  return kUnknown;
}

Scalar floor(const Scalar& a, ElementType type) {
  if (const double* value = std::get_if<double>(&a)) return real(std::floor(*value), type);
  if (const Ratio* ratio = std::get_if<Ratio>(&a))
    return from_ratio(floor_div(ratio->numerator, ratio->denominator), 1, type);
  return a;
}

Scalar ceil(const Scalar& a, ElementType type) {
  if (const double* value = std::get_if<double>(&a)) return real(std::ceil(*value), type);
  if (const Ratio* ratio = std::get_if<Ratio>(&a))
    return from_ratio(ceil_div(ratio->numerator, ratio->denominator), 1, type);
  return a;
}

Scalar round(const Scalar& a, ElementType type) {
  if (const double* value = std::get_if<double>(&a)) return real(std::nearbyint(*value), type);
  const Ratio* ratio = std::get_if<Ratio>(&a);
  if (ratio == nullptr || ratio->denominator == 1) return a;
  if (ratio->denominator % 2 == 0) return kUnknown;  // halves go to the even neighbour: no closed form
  return from_ratio(floor_div(2 * ratio->numerator + ratio->denominator, 2 * ratio->denominator), 1, type);
}

Scalar square_root(const Scalar& a, ElementType type) {
  const double* value = std::get_if<double>(&a);
  return value == nullptr ? kUnknown : real(std::sqrt(*value), type);
}

Scalar reciprocal(const Scalar& a, ElementType type) { return divide(real(1, type), a, type); }

namespace {

// a ≥ b, where that is known.
std::optional<bool> at_least(const Scalar& a, const Scalar& b) {
  if (const auto r = reals(a, b)) return *r.a >= *r.b;
  const auto f = fractions(a, b);
  return f ? greater_equal(f->a, f->b) : std::nullopt;
}

bool is_nan(const Scalar& a) {
  const double* value = std::get_if<double>(&a);
  return value != nullptr && std::isnan(*value);
}

Scalar truth_if_known(std::optional<bool> answer) { return answer ? truth(*answer) : kUnknown; }

// Answers that depend on sizes are formulas of value 0 or 1.
Dim is_above_zero(const Dim& dim) { return min(max(dim, 0), 1); }
Dim is_not_zero(const Dim& dim) { return min(max(dim, -dim), 1); }

}  // namespace

Scalar equals(const Scalar& a, const Scalar& b, ElementType) {
  if (const auto r = reals(a, b)) return truth(*r.a == *r.b);
  const auto f = fractions(a, b);
  if (!f) return kUnknown;
  const std::optional<bool> answer = equal(f->a, f->b);
  return answer ? truth(*answer) : Scalar(1 - is_not_zero(f->a - f->b));
}
Scalar greater_or_equal(const Scalar& a, const Scalar& b, ElementType) {
  const std::optional<bool> answer = at_least(a, b);
  const auto f = answer ? std::nullopt : fractions(a, b);
  return f ? Scalar(1 - is_above_zero(f->b - f->a)) : truth_if_known(answer);
}
Scalar less_or_equal(const Scalar& a, const Scalar& b, ElementType type) { return greater_or_equal(b, a, type); }
Scalar less(const Scalar& a, const Scalar& b, ElementType type) {
  return is_nan(a) || is_nan(b) ? truth(false) : logical_not(greater_or_equal(a, b, type), type);
}
Scalar greater(const Scalar& a, const Scalar& b, ElementType type) { return less(b, a, type); }

// Bools are 0 or 1.
Scalar logical_and(const Scalar& a, const Scalar& b, ElementType) {
  if (is_true(a) == false || is_true(b) == false) return truth(false);
  const auto t = integers(a, b);
  return t ? Scalar(*t.a * *t.b) : kUnknown;
}

Scalar logical_or(const Scalar& a, const Scalar& b, ElementType) {
  if (is_true(a) == true || is_true(b) == true) return truth(true);
  const auto t = integers(a, b);
  return t ? Scalar(*t.a + *t.b - *t.a * *t.b) : kUnknown;
}

Scalar logical_xor(const Scalar& a, const Scalar& b, ElementType) {
  const auto t = integers(a, b);
  return t ? Scalar(*t.a + *t.b - 2 * *t.a * *t.b) : kUnknown;
}

Scalar logical_not(const Scalar& a, ElementType) {
  const Dim* x = std::get_if<Dim>(&a);
  return x != nullptr ? Scalar(1 - *x) : kUnknown;
}

Scalar select(const Scalar& condition, const Scalar& a, const Scalar& b) {
  if (const auto chosen = is_true(condition)) return *chosen ? a : b;
  return a == b ? a : kUnknown;
}

namespace {

// True if a constant fits the integer type; a symbolic size always does.
bool fits(const Dim& dim, ElementType type) {
  const auto value = dim.value();
  if (!value) return true;
  const int width = bits(type);
  if (type == ElementType::Int64 || type == ElementType::Int32 || type == ElementType::Int16 ||
      type == ElementType::Int8 || type == ElementType::Int4 || type == ElementType::Int2)
    return *value >= -(static_cast<Int>(1) << (width - 1)) && *value < (static_cast<Int>(1) << (width - 1));
  return *value >= 0 && *value < (static_cast<Int>(1) << width);
}

}  // namespace

Scalar convert(const Scalar& a, ElementType from, ElementType to) {
  if (!is_known(a) || from == to) return a;
  if (to == ElementType::Bool) {
    const std::optional<bool> answer = is_nan(a) ? true : is_true(a);
    const auto ratio = answer ? std::nullopt : as_ratio(a);
    return ratio ? Scalar(is_not_zero(ratio->numerator)) : truth_if_known(answer);
  }
  if (is_float(to)) {
    if (const double* value = std::get_if<double>(&a)) return real(*value, to);
    const auto ratio = as_ratio(a);
    return from_ratio(ratio->numerator, ratio->denominator, to);
  }
  if (!is_integer(to)) return kUnknown;
  if (const Dim* dim = std::get_if<Dim>(&a)) return fits(*dim, to) ? a : kUnknown;
  if (const double* value = std::get_if<double>(&a)) {
    if (!std::isfinite(*value) || std::abs(*value) > 0x1p62) return kUnknown;
    const Dim integer = static_cast<std::int64_t>(*value);
    return fits(integer, to) ? Scalar(integer) : kUnknown;
  }
  const Ratio& ratio = std::get<Ratio>(a);
  return truncated(ratio.numerator, ratio.denominator);
}

}  // namespace pagoda::inline core::ops
