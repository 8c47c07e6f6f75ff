// The fields of ONNX messages that are messages themselves, for a walk over the wire format. Numbers follow onnx.proto
// up to ONNX 1.23; fields not listed are scalars, strings, or unknown.
#pragma once

#include <array>
#include <cstdint>

namespace pagoda::inline core::wire {

enum class Message : std::uint8_t {
  None,  // not a message
  Annotation,
  Attribute,
  Dimension,
  Entry,  // StringStringEntryProto
  Function,
  Graph,
  Model,
  Node,
  Opset,
  Segment,
  Shape,
  SparseTensor,
  Tensor,
  Training,
  Type,
  TypeMap,
  TypeOpaque,
  TypeOptional,
  TypeSequence,
  TypeSparse,
  TypeTensor,
  ValueInfo,
};
inline constexpr std::size_t kMessages = static_cast<std::size_t>(Message::ValueInfo) + 1;

// The content of a length-delimited field.
enum class Content : std::uint8_t { Bytes, Message, Metadata, PackedVarint, PackedFixed32, PackedFixed64 };

struct FieldRow {
  Message in = Message::None;
  std::array<std::uint8_t, 3> numbers = {};  // 0: none
  Content content = Content::Bytes;
  Message message = Message::None;  // of Content::Message and Content::Metadata
};

// clang-format off
inline constexpr FieldRow kFields[] = {
    // in                   numbers       content                 message
    {Message::Annotation,   {2},          Content::Message,       Message::Entry},
    {Message::Attribute,    {5, 10},      Content::Message,       Message::Tensor},
    {Message::Attribute,    {6, 11},      Content::Message,       Message::Graph},
    {Message::Attribute,    {7},          Content::PackedFixed32},
    {Message::Attribute,    {8},          Content::PackedVarint},
    {Message::Attribute,    {14, 15},     Content::Message,       Message::Type},
    {Message::Attribute,    {22, 23},     Content::Message,       Message::SparseTensor},
    {Message::Function,     {7},          Content::Message,       Message::Node},
    {Message::Function,     {9},          Content::Message,       Message::Opset},
    {Message::Function,     {11},         Content::Message,       Message::Attribute},// since ONNX 1.13
    {Message::Function,     {12},         Content::Message,       Message::ValueInfo},// since ONNX 1.15
    {Message::Function,     {14},         Content::Metadata,      Message::Entry},    // since ONNX 1.16
    {Message::Graph,        {1},          Content::Message,       Message::Node},
    {Message::Graph,        {5},          Content::Message,       Message::Tensor},
    {Message::Graph,        {11, 12, 13}, Content::Message,       Message::ValueInfo},
    {Message::Graph,        {14},         Content::Message,       Message::Annotation},
    {Message::Graph,        {15},         Content::Message,       Message::SparseTensor},
    {Message::Graph,        {16},         Content::Metadata,      Message::Entry},    // since ONNX 1.16
    {Message::Model,        {7},          Content::Message,       Message::Graph},
    {Message::Model,        {8},          Content::Message,       Message::Opset},
    {Message::Model,        {14},         Content::Metadata,      Message::Entry},
    {Message::Model,        {20},         Content::Message,       Message::Training},
    {Message::Model,        {25},         Content::Message,       Message::Function},
    {Message::Node,         {5},          Content::Message,       Message::Attribute},
    {Message::Node,         {9},          Content::Metadata,      Message::Entry},    // since ONNX 1.16
    {Message::Shape,        {1},          Content::Message,       Message::Dimension},
    {Message::SparseTensor, {1, 2},       Content::Message,       Message::Tensor},
    {Message::SparseTensor, {3},          Content::PackedVarint},
    {Message::Tensor,       {1},          Content::PackedVarint},
    {Message::Tensor,       {3},          Content::Message,       Message::Segment},
    {Message::Tensor,       {4},          Content::PackedFixed32},                    // float_data
    {Message::Tensor,       {5, 7, 11},   Content::PackedVarint},                     // int32_data, int64_data, uint64_data
    {Message::Tensor,       {10},         Content::PackedFixed64},                    // double_data
    {Message::Tensor,       {13},         Content::Message,       Message::Entry},    // external_data
    {Message::Tensor,       {16},         Content::Metadata,      Message::Entry},    // since ONNX 1.16
    {Message::Training,     {1, 2},       Content::Message,       Message::Graph},
    {Message::Training,     {3, 4},       Content::Message,       Message::Entry},
    {Message::Type,         {1},          Content::Message,       Message::TypeTensor},
    {Message::Type,         {4},          Content::Message,       Message::TypeSequence},
    {Message::Type,         {5},          Content::Message,       Message::TypeMap},
    {Message::Type,         {7},          Content::Message,       Message::TypeOpaque},
    {Message::Type,         {8},          Content::Message,       Message::TypeSparse},
    {Message::Type,         {9},          Content::Message,       Message::TypeOptional},
    {Message::TypeMap,      {2},          Content::Message,       Message::Type},
    {Message::TypeOptional, {1},          Content::Message,       Message::Type},
    {Message::TypeSequence, {1},          Content::Message,       Message::Type},
    {Message::TypeSparse,   {2},          Content::Message,       Message::Shape},
    {Message::TypeTensor,   {2},          Content::Message,       Message::Shape},
    {Message::ValueInfo,    {2},          Content::Message,       Message::Type},
    {Message::ValueInfo,    {4},          Content::Metadata,      Message::Entry},    // since ONNX 1.16
};
// clang-format on

inline constexpr std::uint32_t kFieldNumbers = 32;  // all listed numbers are below

inline constexpr auto kFieldIndex = [] {
  std::array<std::array<FieldRow, kFieldNumbers>, kMessages> index{};
  for (const FieldRow& row : kFields)
    for (const std::uint8_t number : row.numbers)
      if (number != 0) index[static_cast<std::size_t>(row.in)][number] = row;
  return index;
}();

// The row of a field; a row of plain bytes for unlisted fields.
constexpr const FieldRow& field_row(Message message, std::uint32_t number) {
  return kFieldIndex[static_cast<std::size_t>(message)][number < kFieldNumbers ? number : 0];
}

}  // namespace pagoda::inline core::wire
