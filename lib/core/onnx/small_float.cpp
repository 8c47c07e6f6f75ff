// Half precision, bfloat16, and the 8- and 4-bit formats of ONNX.
#include "onnx/small_float.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pagoda::inline core::wire {
namespace {

// clang-format off
constexpr SmallFloat kFormats[] = {
    // IEEE 754; onnx.proto, TensorProto.DataType; Micikevicius et al., arXiv 2209.05433 (e4m3fn, e5m2);
    // Noune et al., arXiv 2206.02915 (fnuz); OCP Microscaling Formats 1.0 (e2m1)
    // type                    exponent mantissa bias  special
    {ElementType::Float16,        5,     10,      15, SmallFloat::Special::Ieee},
    {ElementType::Bfloat16,       8,      7,     127, SmallFloat::Special::Ieee},
    {ElementType::Float8e4m3fn,   4,      3,       7, SmallFloat::Special::AllOnes},
    {ElementType::Float8e4m3fnuz, 4,      3,       8, SmallFloat::Special::NegativeZero},
    {ElementType::Float8e5m2,     5,      2,      15, SmallFloat::Special::Ieee},
    {ElementType::Float8e5m2fnuz, 5,      2,      16, SmallFloat::Special::NegativeZero},
    {ElementType::Float4e2m1,     2,      1,       1, SmallFloat::Special::None},
};
// clang-format on

// The code of the largest finite number.
std::uint64_t largest(const SmallFloat& format) {
  const std::uint64_t all_ones = (std::uint64_t{1} << (format.exponent + format.mantissa)) - 1;
  switch (format.special) {
    case SmallFloat::Special::Ieee:
      return all_ones - (std::uint64_t{1} << format.mantissa);
    case SmallFloat::Special::AllOnes:
      return all_ones - 1;
    case SmallFloat::Special::NegativeZero:
    case SmallFloat::Special::None:
      return all_ones;
  }
  return all_ones;
}

}  // namespace

const SmallFloat* small_float(ElementType type) {
  for (const SmallFloat& format : kFormats)
    if (format.type == type) return &format;
  return nullptr;
}

double decode(const SmallFloat& format, std::uint64_t code) {
  const std::uint64_t mantissa = code & ((std::uint64_t{1} << format.mantissa) - 1);
  const std::uint64_t exponent_mask = (std::uint64_t{1} << format.exponent) - 1;
  const std::uint64_t exponent = code >> format.mantissa & exponent_mask;
  const bool negative = (code >> (format.mantissa + format.exponent) & 1) != 0;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (format.special) {
    case SmallFloat::Special::Ieee:
      if (exponent != exponent_mask) break;
      return mantissa != 0 ? kNan : negative ? -kInfinity : kInfinity;
    case SmallFloat::Special::AllOnes:
      if (exponent == exponent_mask && mantissa == (std::uint64_t{1} << format.mantissa) - 1) return kNan;
      break;
    case SmallFloat::Special::NegativeZero:
      if (negative && exponent == 0 && mantissa == 0) return kNan;
      break;
    case SmallFloat::Special::None:
      break;
  }
  // Subnormal numbers lack the implied leading one and have the exponent of the smallest normal ones.
  const std::uint64_t fraction = exponent == 0 ? mantissa : mantissa | std::uint64_t{1} << format.mantissa;
  const int power = (exponent == 0 ? 1 : static_cast<int>(exponent)) - format.bias - format.mantissa;
  const double magnitude = std::ldexp(static_cast<double>(fraction), power);
  return negative ? -magnitude : magnitude;
}

std::uint64_t encode(const SmallFloat& format, double value) {
  const double magnitude = std::abs(value);
  // Codes of positive numbers, subnormal ones included, are consecutive: units in the last place, counted from zero.
  const int least = 1 - format.bias;
  const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), least) : least;
  const double units = std::round(std::ldexp(magnitude, format.mantissa - exponent));
  const double steps = std::ldexp(static_cast<double>(exponent - least), format.mantissa) + units;
  const auto most = static_cast<double>(largest(format));
  const auto code = static_cast<std::uint64_t>(std::min(steps, most));
  // A format without minus zero uses that code for NaN.
  const bool negative = value < 0 && code != 0;
  return code | (negative ? std::uint64_t{1} << (format.exponent + format.mantissa) : 0);
}

}  // namespace pagoda::inline core::wire
