// Number formats that hardware multiplies.
#include "pagoda/core/precision.h"

#include <array>

#include "pagoda/base/enum_names.h"
#include "pagoda/base/text.h"

namespace pagoda::inline core {
namespace {

// Significant bits count the hidden one; an integer of n bits needs n of them (unsigned).
struct Format {
  Precision precision;
  std::string_view name, short_name;
  int bits;         // in memory
  int significant;  // bits of mantissa
  int exponent;     // bits of exponent; 0 for integers
};

// clang-format off
constexpr std::array<Format, 11> kFormats = {{
    // precision            name        short   bits  significant  exponent
    {Precision::Float64,  "float64",  "fp64",   64,   53,          11},
    {Precision::Float32,  "float32",  "fp32",   32,   24,           8},
    {Precision::Tf32,     "tf32",     "tf32",   32,   11,           8},
    {Precision::Float16,  "float16",  "fp16",   16,   11,           5},
    {Precision::Bfloat16, "bfloat16", "bf16",   16,    8,           8},
    {Precision::Float8,   "float8",   "fp8",     8,    4,           5},  // the maximum of e4m3 and e5m2
    {Precision::Float4,   "float4",   "fp4",     4,    2,           2},
    {Precision::Int32,    "int32",    "int32",  32,   32,           0},
    {Precision::Int16,    "int16",    "int16",  16,   16,           0},
    {Precision::Int8,     "int8",     "int8",    8,    8,           0},
    {Precision::Int4,     "int4",     "int4",    4,    4,           0},
}};
// clang-format on

static_assert(base::is_indexed_by(&Format::precision, kFormats));

const Format& format(Precision precision) { return kFormats[static_cast<std::size_t>(precision)]; }

}  // namespace

std::string_view to_string(Precision precision) { return format(precision).name; }

std::string_view option_name(Precision precision) { return format(precision).short_name; }

std::optional<Precision> precision(std::string_view name) {
  const std::string folded = base::lower(name);
  constexpr std::array<std::pair<std::string_view, Precision>, 5> kAliases = {{{"double", Precision::Float64},
                                                                               {"single", Precision::Float32},
                                                                               {"half", Precision::Float16},
                                                                               {"tensorfloat32", Precision::Tf32},
                                                                               {"nvfp4", Precision::Float4}}};
  for (const Format& known : kFormats)
    if (known.name == folded || known.short_name == folded) return known.precision;
  for (const auto& [alias, value] : kAliases)
    if (alias == folded) return value;
  return std::nullopt;
}

std::string precision_names() { return base::joined(kFormats, ", ", &Format::name); }

int bits(Precision precision) { return format(precision).bits; }

// A float can represent an integer whose bits fit its mantissa (all exponents here reach that far: 15 < 2^5 of float16
// and 7 < 8 of float8's e4m3). No integer type can represent all floats.
bool holds(Precision wide, Precision narrow) {
  const Format& w = format(wide);
  const Format& n = format(narrow);
  if (wide == narrow) return true;
  if (w.exponent == 0) return n.exponent == 0 && w.bits >= n.bits;
  return w.significant >= n.significant && (n.exponent == 0 || w.exponent >= n.exponent);
}

}  // namespace pagoda::inline core
