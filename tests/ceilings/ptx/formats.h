// Number formats of few bits: sign, exponent, significand, as tensor core operands use them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace ptx {

struct Format {
  int exponent_bits, mantissa_bits;
  bool infinite = true;  // the highest exponent means infinity or NaN
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};
inline constexpr Format kHalf{5, 10}, kBrain{8, 7}, kSingle{8, 23}, kE4m3{4, 3, false}, kE2m1{2, 1, false};

// The exact value.
inline double decode(std::uint64_t bits, const Format& f) {
  const auto mantissa = static_cast<double>(bits & ((1U << f.mantissa_bits) - 1));
  const int exponent = static_cast<int>(bits >> f.mantissa_bits & ((1U << f.exponent_bits) - 1));
  const bool negative = bits >> (f.mantissa_bits + f.exponent_bits) & 1;
  double size = 0;
  if (f.infinite && exponent == (1 << f.exponent_bits) - 1)
    size = mantissa == 0 ? HUGE_VAL : std::nan("");
  else if (exponent == 0)
    size = std::ldexp(mantissa, 1 - f.bias() - f.mantissa_bits);
  else
    size = std::ldexp(mantissa + (1 << f.mantissa_bits), exponent - f.bias() - f.mantissa_bits);
  // e4m3 has no infinities, and one NaN code instead.
  if (f.exponent_bits == 4 && f.mantissa_bits == 3 && (bits & 0x7f) == 0x7f) size = std::nan("");
  return negative ? -size : size;
}

// The nearest number, ties to even. Only for formats with infinities.
inline std::uint64_t encode(double x, const Format& f) {
  const std::uint64_t sign = std::uint64_t{std::signbit(x)} << (f.exponent_bits + f.mantissa_bits);
  const std::uint64_t infinity = ((std::uint64_t{1} << f.exponent_bits) - 1) << f.mantissa_bits;
  if (std::isnan(x)) return sign | infinity | 1;
  const double size = std::abs(x);
  if (std::isinf(size)) return sign | infinity;
  if (size == 0) return sign;
  int exponent = 0;
  std::frexp(size, &exponent);  // size = [1/2, 1) · 2^exponent
  const int scale = std::max(exponent - 1, 1 - f.bias()) - f.mantissa_bits;
  // The implicit one of a normal number adds 1 to the exponent field of `biased`; rounding carries into it as it must.
  const auto units = static_cast<std::uint64_t>(std::nearbyint(std::ldexp(size, -scale)));
  const auto biased = static_cast<std::uint64_t>(scale + f.mantissa_bits + f.bias() - 1) << f.mantissa_bits;
  return sign | std::min(biased + units, infinity);
}

// The sum of two doubles, with the last bit set where it is inexact, so that one more rounding to few bits is correct.
inline double odd_sum(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double virtual_b = sum - a;
  const double error = (a - (sum - virtual_b)) + (b - virtual_b);
  if (error == 0) return sum;
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if (bits & 1) return sum;
  // Step towards the exact value: up in size where the error has the sign of the sum, else down.
  bits += (error > 0) == (sum > 0) ? 1 : -1;
  return std::bit_cast<double>(bits);
}

// a · b + c, rounded once: products of two significands of at most 24 bits are exact in double precision.
inline std::uint64_t fused(std::uint64_t a, std::uint64_t b, std::uint64_t c, const Format& f) {
  return encode(odd_sum(decode(a, f) * decode(b, f), decode(c, f)), f);
}

}  // namespace ptx
