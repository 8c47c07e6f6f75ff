// Element types as one table: ONNX's number, name, width, precision.
#include "pagoda/core/tensor_type.h"

#include <algorithm>
#include <array>

#include "pagoda/base/cat.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/base/text.h"
#include "pagoda/core/precision.h"

namespace pagoda::inline core {
namespace {

enum class Kind { None, Float, Integer, Other };

struct ElementRow {
  ElementType type;
  std::string_view name;
  int bits;
  Kind kind;
  std::optional<Precision> precision;
};

// clang-format off
constexpr std::array kElements = {
    // type                                 name              bits  kind           precision of work on it
    ElementRow{ElementType::Undefined,      "undefined",        0, Kind::None,    std::nullopt},
    ElementRow{ElementType::Float32,        "float32",         32, Kind::Float,   Precision::Float32},
    ElementRow{ElementType::Uint8,          "uint8",            8, Kind::Integer, Precision::Int8},
    ElementRow{ElementType::Int8,           "int8",             8, Kind::Integer, Precision::Int8},
    ElementRow{ElementType::Uint16,         "uint16",          16, Kind::Integer, Precision::Int16},
    ElementRow{ElementType::Int16,          "int16",           16, Kind::Integer, Precision::Int16},
    ElementRow{ElementType::Int32,          "int32",           32, Kind::Integer, Precision::Int32},
    ElementRow{ElementType::Int64,          "int64",           64, Kind::Integer, Precision::Int32},
    ElementRow{ElementType::String,         "string",           0, Kind::Other,   std::nullopt},
    ElementRow{ElementType::Bool,           "bool",             8, Kind::Other,   Precision::Int8},
    ElementRow{ElementType::Float16,        "float16",         16, Kind::Float,   Precision::Float16},
    ElementRow{ElementType::Float64,        "float64",         64, Kind::Float,   Precision::Float64},
    ElementRow{ElementType::Uint32,         "uint32",          32, Kind::Integer, Precision::Int32},
    ElementRow{ElementType::Uint64,         "uint64",          64, Kind::Integer, Precision::Int32},
    ElementRow{ElementType::Complex64,      "complex64",       64, Kind::Other,   Precision::Float32},
    ElementRow{ElementType::Complex128,     "complex128",     128, Kind::Other,   Precision::Float64},
    ElementRow{ElementType::Bfloat16,       "bfloat16",        16, Kind::Float,   Precision::Bfloat16},
    ElementRow{ElementType::Float8e4m3fn,   "float8e4m3fn",     8, Kind::Float,   Precision::Float8},
    ElementRow{ElementType::Float8e4m3fnuz, "float8e4m3fnuz",   8, Kind::Float,   Precision::Float8},
    ElementRow{ElementType::Float8e5m2,     "float8e5m2",       8, Kind::Float,   Precision::Float8},
    ElementRow{ElementType::Float8e5m2fnuz, "float8e5m2fnuz",   8, Kind::Float,   Precision::Float8},
    ElementRow{ElementType::Uint4,          "uint4",            4, Kind::Integer, Precision::Int4},
    ElementRow{ElementType::Int4,           "int4",             4, Kind::Integer, Precision::Int4},
    ElementRow{ElementType::Float4e2m1,     "float4e2m1",       4, Kind::Float,   Precision::Float4},
    ElementRow{ElementType::Float8e8m0,     "float8e8m0",       8, Kind::Float,   Precision::Float8},
    ElementRow{ElementType::Uint2,          "uint2",            2, Kind::Integer, Precision::Int4},
    ElementRow{ElementType::Int2,           "int2",             2, Kind::Integer, Precision::Int4},
};
// clang-format on

static_assert(base::is_indexed_by(&ElementRow::type, kElements));

const ElementRow& row(ElementType type) {
  const auto index = static_cast<std::size_t>(type);
  return kElements[index < kElements.size() ? index : 0];
}

}  // namespace

int bits(ElementType type) { return row(type).bits; }
std::string_view to_string(ElementType type) { return row(type).name; }
bool is_float(ElementType type) { return row(type).kind == Kind::Float; }
bool is_integer(ElementType type) { return row(type).kind == Kind::Integer; }
std::optional<Precision> precision_of(ElementType type) { return row(type).precision; }

std::optional<ElementType> element_type(std::string_view name) {
  for (const ElementRow& element : kElements)
    if (element.name == name) return element.type;
  return std::nullopt;
}

Dim byte_size(const Dim& elements, ElementType type) {
  const int width = bits(type);
  return width % 8 == 0 ? elements * Dim(width / 8) : ceil_div(elements, 8 / width);
}

std::string to_string(const TensorType& type) {
  constexpr base::EnumNames<Container::SparseTensor> kOpenings("", "sequence(", "optional(", "optional(sequence(",
                                                               "map(", "sequence(map(", "sparse(");
  const std::string_view opening = kOpenings[type.container];
  const bool has_key = opening.ends_with("map(") && type.key != ElementType::Undefined;
  const std::string key = has_key ? cat(to_string(type.key), ",") : "";
  const std::string sizes = type.shape ? base::joined(*type.shape, ",", &Dim::to_string) : "?";
  const auto closings = static_cast<std::size_t>(std::count(opening.begin(), opening.end(), '('));
  return cat(opening, key, to_string(type.element), "[", sizes, "]", std::string(closings, ')'));
}

}  // namespace pagoda::inline core
