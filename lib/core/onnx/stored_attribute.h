// An AttributeProto as it is stored: its plain values, and where its messages are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/message.h"

namespace pagoda::inline core::wire {

// AttributeProto.AttributeType. Larger values are newer than this version: protobuf drops values it does not know.
enum class AttributeKind : std::uint8_t {
  Undefined,
  Float,
  Int,
  String,
  Tensor,
  Graph,
  Floats,
  Ints,
  Strings,
  Tensors,
  Graphs,
  SparseTensor,
  SparseTensors,
  Type,
  Types
};
inline constexpr std::uint64_t kAttributeKinds = static_cast<std::uint64_t>(AttributeKind::Types) + 1;

// The fields of AttributeProto that hold messages, by kind.
inline constexpr std::uint32_t kTensor = 5, kGraph = 6, kGraphs = 11, kType = 14, kSparseTensor = 22;

// An AttributeProto; messages in it are read after all its other fields.
struct StoredAttribute {
  std::string_view name, reference;
  AttributeKind kind = AttributeKind::Undefined;
  std::optional<double> real;
  std::optional<std::int64_t> integer;
  std::optional<std::string_view> text;
  std::vector<double> reals;
  std::vector<std::int64_t> integers;
  std::vector<std::string> texts;
  std::vector<Field> messages;

  const Field* message(std::uint32_t number) const {
    for (const Field& field : messages)
      if (field.number == number) return &field;
    return nullptr;
  }
};

StoredAttribute read_attribute(File& file, Range body, int depth);

// The kind that the attribute states or, if it states none (which early versions of ONNX allowed), the kind that its
// content implies.
AttributeKind kind_of(const StoredAttribute& attribute);

// The field that holds a kind's messages; 0 for other kinds.
std::uint32_t message_field(AttributeKind kind);

}  // namespace pagoda::inline core::wire
