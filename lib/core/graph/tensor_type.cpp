// Element types as one table: ONNX's number, name, width.
#include "pagoda/core/tensor_type.h"

#include <array>

namespace pagoda::inline core {
namespace {

enum class Kind { None, Float, Integer, Other };

struct ElementRow {
  ElementType type;
  std::string_view name;
  int bits;
  Kind kind;
};

// clang-format off
constexpr std::array kElements = {
    // type                          name              bits  kind
    ElementRow{ElementType::Undefined,      "undefined",        0, Kind::None},
    ElementRow{ElementType::Float32,        "float32",         32, Kind::Float},
    ElementRow{ElementType::Uint8,          "uint8",            8, Kind::Integer},
    ElementRow{ElementType::Int8,           "int8",             8, Kind::Integer},
    ElementRow{ElementType::Uint16,         "uint16",          16, Kind::Integer},
    ElementRow{ElementType::Int16,          "int16",           16, Kind::Integer},
    ElementRow{ElementType::Int32,          "int32",           32, Kind::Integer},
    ElementRow{ElementType::Int64,          "int64",           64, Kind::Integer},
    ElementRow{ElementType::String,         "string",           0, Kind::Other},
    ElementRow{ElementType::Bool,           "bool",             8, Kind::Other},
    ElementRow{ElementType::Float16,        "float16",         16, Kind::Float},
    ElementRow{ElementType::Float64,        "float64",         64, Kind::Float},
    ElementRow{ElementType::Uint32,         "uint32",          32, Kind::Integer},
    ElementRow{ElementType::Uint64,         "uint64",          64, Kind::Integer},
    ElementRow{ElementType::Complex64,      "complex64",       64, Kind::Other},
    ElementRow{ElementType::Complex128,     "complex128",     128, Kind::Other},
    ElementRow{ElementType::Bfloat16,       "bfloat16",        16, Kind::Float},
    ElementRow{ElementType::Float8e4m3fn,   "float8e4m3fn",     8, Kind::Float},
    ElementRow{ElementType::Float8e4m3fnuz, "float8e4m3fnuz",   8, Kind::Float},
    ElementRow{ElementType::Float8e5m2,     "float8e5m2",       8, Kind::Float},
    ElementRow{ElementType::Float8e5m2fnuz, "float8e5m2fnuz",   8, Kind::Float},
    ElementRow{ElementType::Uint4,          "uint4",            4, Kind::Integer},
    ElementRow{ElementType::Int4,           "int4",             4, Kind::Integer},
    ElementRow{ElementType::Float4e2m1,     "float4e2m1",       4, Kind::Float},
    ElementRow{ElementType::Float8e8m0,     "float8e8m0",       8, Kind::Float},
    ElementRow{ElementType::Uint2,          "uint2",            2, Kind::Integer},
    ElementRow{ElementType::Int2,           "int2",             2, Kind::Integer},
};
// clang-format on

consteval bool indexed_by_type() {
  for (std::size_t i = 0; i < kElements.size(); ++i)
    if (static_cast<std::size_t>(kElements[i].type) != i) return false;
  return true;
}
static_assert(indexed_by_type());

const ElementRow& row(ElementType type) {
  const auto index = static_cast<std::size_t>(type);
  return kElements[index < kElements.size() ? index : 0];
}

}  // namespace

int bits(ElementType type) { return row(type).bits; }
std::string_view to_string(ElementType type) { return row(type).name; }
bool is_float(ElementType type) { return row(type).kind == Kind::Float; }
bool is_integer(ElementType type) { return row(type).kind == Kind::Integer; }

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
  std::string text(to_string(type.element));
  if (type.shape) {
    text += '[';
    for (std::size_t i = 0; i < type.shape->size(); ++i) text += (i == 0 ? "" : ",") + (*type.shape)[i].to_string();
    text += ']';
  } else {
    text += "[?]";
  }
  const std::string key = type.key == ElementType::Undefined ? "" : std::string(to_string(type.key)) + ",";
  switch (type.container) {
    case Container::Tensor:
      return text;
    case Container::Sequence:
      return "sequence(" + text + ")";
    case Container::Optional:
      return "optional(" + text + ")";
    case Container::OptionalSequence:
      return "optional(sequence(" + text + "))";
    case Container::Map:
      return "map(" + key + text + ")";
    case Container::SequenceOfMaps:
      return "sequence(map(" + key + text + "))";
    case Container::SparseTensor:
      return "sparse(" + text + ")";
  }
  return text;
}

}  // namespace pagoda::inline core
