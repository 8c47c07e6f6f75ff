// Precision: a number format that hardware multiplies, and its names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pagoda/core/tensor_type.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// Formats that hardware multiplies. Both 8-bit floats run at the same rate, as do signed and unsigned integers of the
// same width.
enum class Precision : std::uint8_t {
  Float64,
  Float32,
  Tf32,  // float32 in memory, 10 bits of mantissa in the multiplier
  Float16,
  Bfloat16,
  Float8,
  Float4,
  Int32,
  Int16,
  Int8,
  Int4,
};
std::string_view to_string(Precision precision);  // "float64", "tf32", "bfloat16", "int8", …
// Also reads the short names: fp64 fp32 fp16 bf16 fp8 fp4, half, single, double. Any case.
std::optional<Precision> precision(std::string_view name);
std::string_view option_name(Precision precision);  // "fp16", as in command-line options
std::string precision_names();  // of all precisions, for messages
int bits(Precision precision);  // in memory: 32 for tf32
// The format in which work on `type` is done; empty for strings and unknown types. 64-bit integers are done as Int32.
std::optional<Precision> precision_of(ElementType type);
// Whether every value of `narrow` is a value of `wide`.
bool holds(Precision wide, Precision narrow);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
