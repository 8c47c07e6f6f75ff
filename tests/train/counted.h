// Numbers with more than a value, to check derivatives and their cost without finite differences.
//   Dual     carries its derivative exactly (v + d·ε with ε² = 0)
//   Counted  counts its operations: + − · / and comparisons, and special functions
#pragma once

#include <cmath>

namespace pagoda::test {

struct Dual {
  double v = 0, d = 0;
  Dual() = default;
  Dual(double value, double derivative = 0) : v(value), d(derivative) {}  // NOLINT: numbers are constants
};

inline Dual operator-(Dual a) { return {-a.v, -a.d}; }
inline Dual operator+(Dual a, Dual b) { return {a.v + b.v, a.d + b.d}; }
inline Dual operator-(Dual a, Dual b) { return {a.v - b.v, a.d - b.d}; }
inline Dual operator*(Dual a, Dual b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
inline Dual operator/(Dual a, Dual b) { return {a.v / b.v, (a.d * b.v - a.v * b.d) / (b.v * b.v)}; }
inline bool operator<(Dual a, Dual b) { return a.v < b.v; }
inline bool operator>(Dual a, Dual b) { return a.v > b.v; }
inline Dual exp(Dual a) { return {std::exp(a.v), std::exp(a.v) * a.d}; }
inline Dual log(Dual a) { return {std::log(a.v), a.d / a.v}; }
inline Dual sqrt(Dual a) { return {std::sqrt(a.v), a.d / (2 * std::sqrt(a.v))}; }
inline Dual sin(Dual a) { return {std::sin(a.v), std::cos(a.v) * a.d}; }
inline Dual cos(Dual a) { return {std::cos(a.v), -std::sin(a.v) * a.d}; }
inline Dual erf(Dual a) { return {std::erf(a.v), 2 / std::sqrt(M_PI) * std::exp(-a.v * a.v) * a.d}; }
inline Dual tanh(Dual a) {
  const double t = std::tanh(a.v);
  return {t, (1 - t * t) * a.d};
}
inline Dual sigmoid(Dual a) {
  const double s = 1 / (1 + std::exp(-a.v));
  return {s, s * (1 - s) * a.d};
}
inline Dual pow(Dual a, double p) { return {std::pow(a.v, p), p * std::pow(a.v, p - 1) * a.d}; }
inline Dual abs(Dual a) { return a.v < 0 ? -a : a; }

struct Counts {
  long arith = 0, special = 0, comparisons = 0;
};

struct Counted {
  double v = 0;
  static inline Counts counts = {};
  Counted() = default;
  Counted(double value) : v(value) {}  // NOLINT: numbers are constants
};

inline Counted counted(double value, long arith, long special = 0, long comparisons = 0) {
  Counted::counts.arith += arith;
  Counted::counts.special += special;
  Counted::counts.comparisons += comparisons;
  return value;
}

inline Counted operator-(Counted a) { return counted(-a.v, 1); }
inline Counted operator+(Counted a, Counted b) { return counted(a.v + b.v, 1); }
inline Counted operator-(Counted a, Counted b) { return counted(a.v - b.v, 1); }
inline Counted operator*(Counted a, Counted b) { return counted(a.v * b.v, 1); }
inline Counted operator/(Counted a, Counted b) { return counted(a.v / b.v, 1); }
// A branch costs the comparison that selects it; both sides are computed.
inline Counted select(Counted a, Counted above, Counted yes, Counted no) {
  return counted(a.v > above.v ? yes.v : no.v, 1, 0, 1);
}
inline Counted sign(Counted a) { return counted(a.v > 0 ? 1 : -1, 1, 0, 1); }
inline Counted abs(Counted a) { return counted(std::fabs(a.v), 1, 0, 1); }
inline Counted floor(Counted a) { return counted(std::floor(a.v), 1, 0, 1); }
inline Counted exp(Counted a) { return counted(std::exp(a.v), 0, 1); }
inline Counted log(Counted a) { return counted(std::log(a.v), 0, 1); }
inline Counted rsqrt(Counted a) { return counted(1 / std::sqrt(a.v), 0, 1); }
inline Counted sin(Counted a) { return counted(std::sin(a.v), 0, 1); }
inline Counted cos(Counted a) { return counted(std::cos(a.v), 0, 1); }
inline Counted sinh(Counted a) { return counted(std::sinh(a.v), 0, 1); }
inline Counted cosh(Counted a) { return counted(std::cosh(a.v), 0, 1); }
inline Counted erf(Counted a) { return counted(std::erf(a.v), 0, 1); }
inline Counted tanh(Counted a) { return counted(std::tanh(a.v), 0, 1); }
inline Counted sigmoid(Counted a) { return counted(1 / (1 + std::exp(-a.v)), 0, 1); }
inline Counted softplus(Counted a) { return counted(std::log1p(std::exp(a.v)), 0, 1); }
inline Counted pow(Counted a, double p) { return counted(std::pow(a.v, p), 0, 1); }

}  // namespace pagoda::test
