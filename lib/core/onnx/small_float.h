// Floating-point formats of up to 16 bits, decoded and encoded through double.
#pragma once

#include <cstdint>
#include <cstring>

#include "pagoda/core/tensor_type.h"

namespace pagoda::inline core::wire {

// std::bit_cast(), which libc++ before 14 lacks.
template <typename To, typename From>
To same_bits(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

struct SmallFloat {
  ElementType type;
  int exponent, mantissa;  // bits; one sign bit before them
  int bias;
  // What the codes with all exponent bits set are: IEEE's infinities and NaNs; one NaN, all ones; numbers, with the
  // NaN at minus zero; numbers.
  enum class Special : std::uint8_t { Ieee, AllOnes, NegativeZero, None } special;
};

// The format of a type; null for types that are no such format.
const SmallFloat* small_float(ElementType type);

double decode(const SmallFloat& format, std::uint64_t code);

// The nearest code, ties away from zero; the largest number for what lies beyond it.
std::uint64_t encode(const SmallFloat& format, double value);

}  // namespace pagoda::inline core::wire
