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
  // Meaning of codes with all exponent bits set: IEEE infinities and NaNs; numbers, except all ones, which is NaN;
  // numbers, with the NaN at minus zero; numbers.
  enum class Special : std::uint8_t { Ieee, AllOnes, NegativeZero, None } special;
};

// The format of a type; null for other types.
const SmallFloat* small_float(ElementType type);

double decode(const SmallFloat& format, std::uint64_t code);

// The nearest code, ties away from zero; values beyond the largest number saturate.
std::uint64_t encode(const SmallFloat& format, double value);

}  // namespace pagoda::inline core::wire
