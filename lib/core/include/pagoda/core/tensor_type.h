// TensorType: the element type and shape of a value, as far as they are known.
#pragma once

#include <optional>
#include <string_view>

#include "pagoda/core/dim.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// The numbering is that of onnx.TensorProto.DataType, up to ONNX 1.23.
enum class ElementType : std::uint8_t {
  Undefined = 0,
  Float32 = 1,
  Uint8 = 2,
  Int8 = 3,
  Uint16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Float64 = 11,
  Uint32 = 12,
  Uint64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  Bfloat16 = 16,
  Float8e4m3fn = 17,
  Float8e4m3fnuz = 18,
  Float8e5m2 = 19,
  Float8e5m2fnuz = 20,
  Uint4 = 21,
  Int4 = 22,
  Float4e2m1 = 23,
  Float8e8m0 = 24,
  Uint2 = 25,
  Int2 = 26,
};

// Width of one element in bits; 4-bit and 2-bit types exist. 0 for Undefined and String (no fixed width).
int bits(ElementType type);
std::string_view to_string(ElementType type);  // "float32", "bfloat16", "uint4", …; "undefined"
std::optional<ElementType> element_type(std::string_view name);
bool is_float(ElementType type);    // float16 … float64, bfloat16, fp8, fp4
bool is_integer(ElementType type);  // signed and unsigned integers of any width; not bool

// Bytes that `elements` packed elements of `type` take: ⌈elements · bits / 8⌉.
Dim byte_size(const Dim& elements, ElementType type);

enum class Container : std::uint8_t { Tensor, Sequence, Optional, OptionalSequence, Map, SequenceOfMaps, SparseTensor };

struct TensorType {
  ElementType element = ElementType::Undefined;
  std::optional<Shape> shape;               // empty: rank unknown
  Container container = Container::Tensor;  // for the others, element and shape are the members'
  ElementType key = ElementType::Undefined;  // of maps

  bool operator==(const TensorType&) const = default;
};

// "float32[batch,3,224,224]", "float32[?]" when the rank is unknown, "sequence(float32[2])",
// "map(int64,float32[?])".
std::string to_string(const TensorType& type);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
