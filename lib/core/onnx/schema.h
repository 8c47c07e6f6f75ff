// The fields of ONNX messages, for a walk over the wire format. Numbers follow onnx.proto up to ONNX 1.23; fields not
// listed are unknown.
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

enum class Content : std::uint8_t {
  Unknown,  // of a field that is not listed
  // Length-delimited:
  Message,
  Metadata,
  PackedVarint,
  PackedFixed32,
  PackedFixed64,
  Text,   // a name
  Notes,  // for people
  Data,   // of tensors and attributes
  Scalar,
};

struct FieldRow {
  Message in = Message::None;
  std::array<std::uint8_t, 3> numbers = {};  // 0: none
  Content content = Content::Unknown;
  Message message = Message::None;  // of Content::Message and Content::Metadata
};

// clang-format off
inline constexpr FieldRow kFields[] = {
    // in                   numbers       content                 message
    {Message::Annotation,   {1},          Content::Text},
    {Message::Annotation,   {2},          Content::Message,       Message::Entry},
    {Message::Attribute,    {1, 21},      Content::Text},
    {Message::Attribute,    {2, 3, 20},   Content::Scalar},
    {Message::Attribute,    {4, 9},       Content::Data},
    {Message::Attribute,    {5, 10},      Content::Message,       Message::Tensor},
    {Message::Attribute,    {6, 11},      Content::Message,       Message::Graph},
    {Message::Attribute,    {7},          Content::PackedFixed32},
    {Message::Attribute,    {8},          Content::PackedVarint},
    {Message::Attribute,    {13},         Content::Notes},
    {Message::Attribute,    {14, 15},     Content::Message,       Message::Type},
    {Message::Attribute,    {22, 23},     Content::Message,       Message::SparseTensor},
    {Message::Dimension,    {1},          Content::Scalar},
    {Message::Dimension,    {2},          Content::Text},
    {Message::Dimension,    {3},          Content::Notes},
    {Message::Entry,        {1, 2},       Content::Text},
    {Message::Function,     {1, 4, 5},    Content::Text},
    {Message::Function,     {6, 10, 13},  Content::Text},
    {Message::Function,     {7},          Content::Message,       Message::Node},
    {Message::Function,     {8},          Content::Notes},
    {Message::Function,     {9},          Content::Message,       Message::Opset},
    {Message::Function,     {11},         Content::Message,       Message::Attribute},// since ONNX 1.13
    {Message::Function,     {12},         Content::Message,       Message::ValueInfo},// since ONNX 1.15
    {Message::Function,     {14},         Content::Metadata,      Message::Entry},    // since ONNX 1.16
    {Message::Graph,        {1},          Content::Message,       Message::Node},
    {Message::Graph,        {2},          Content::Text},
    {Message::Graph,        {5},          Content::Message,       Message::Tensor},
    {Message::Graph,        {10},         Content::Notes},
    {Message::Graph,        {11, 12, 13}, Content::Message,       Message::ValueInfo},
    {Message::Graph,        {14},         Content::Message,       Message::Annotation},
    {Message::Graph,        {15},         Content::Message,       Message::SparseTensor},
    {Message::Graph,        {16},         Content::Metadata,      Message::Entry},    // since ONNX 1.16
    {Message::Model,        {1, 5},       Content::Scalar},
    {Message::Model,        {2, 3},       Content::Text},
    {Message::Model,        {4, 6},       Content::Notes},
    {Message::Model,        {7},          Content::Message,       Message::Graph},
    {Message::Model,        {8},          Content::Message,       Message::Opset},
    {Message::Model,        {14},         Content::Metadata,      Message::Entry},
    {Message::Model,        {20},         Content::Message,       Message::Training},
    {Message::Model,        {25},         Content::Message,       Message::Function},
    {Message::Node,         {1, 2, 3},    Content::Text},
    {Message::Node,         {4, 7, 8},    Content::Text},
    {Message::Node,         {5},          Content::Message,       Message::Attribute},
    {Message::Node,         {6},          Content::Notes},
    {Message::Node,         {9},          Content::Metadata,      Message::Entry},    // since ONNX 1.16
    {Message::Opset,        {1},          Content::Text},
    {Message::Opset,        {2},          Content::Scalar},
    {Message::Segment,      {1, 2},       Content::Scalar},
    {Message::Shape,        {1},          Content::Message,       Message::Dimension},
    {Message::SparseTensor, {1, 2},       Content::Message,       Message::Tensor},
    {Message::SparseTensor, {3},          Content::PackedVarint},
    {Message::Tensor,       {1},          Content::PackedVarint},
    {Message::Tensor,       {2, 14},      Content::Scalar},
    {Message::Tensor,       {3},          Content::Message,       Message::Segment},
    {Message::Tensor,       {4},          Content::PackedFixed32},                    // float_data
    {Message::Tensor,       {5, 7, 11},   Content::PackedVarint},                     // int32_data, int64_data, uint64_data
    {Message::Tensor,       {6, 9},       Content::Data},
    {Message::Tensor,       {8},          Content::Text},
    {Message::Tensor,       {10},         Content::PackedFixed64},                    // double_data
    {Message::Tensor,       {12},         Content::Notes},
    {Message::Tensor,       {13},         Content::Message,       Message::Entry},    // external_data
    {Message::Tensor,       {16},         Content::Metadata,      Message::Entry},    // since ONNX 1.16
    {Message::Training,     {1, 2},       Content::Message,       Message::Graph},
    {Message::Training,     {3, 4},       Content::Message,       Message::Entry},
    {Message::Type,         {1},          Content::Message,       Message::TypeTensor},
    {Message::Type,         {4},          Content::Message,       Message::TypeSequence},
    {Message::Type,         {5},          Content::Message,       Message::TypeMap},
    {Message::Type,         {6},          Content::Notes},
    {Message::Type,         {7},          Content::Message,       Message::TypeOpaque},
    {Message::Type,         {8},          Content::Message,       Message::TypeSparse},
    {Message::Type,         {9},          Content::Message,       Message::TypeOptional},
    {Message::TypeMap,      {1},          Content::Scalar},
    {Message::TypeMap,      {2},          Content::Message,       Message::Type},
    {Message::TypeOpaque,   {1, 2},       Content::Text},
    {Message::TypeOptional, {1},          Content::Message,       Message::Type},
    {Message::TypeSequence, {1},          Content::Message,       Message::Type},
    {Message::TypeSparse,   {1},          Content::Scalar},
    {Message::TypeSparse,   {2},          Content::Message,       Message::Shape},
    {Message::TypeTensor,   {1},          Content::Scalar},
    {Message::TypeTensor,   {2},          Content::Message,       Message::Shape},
    {Message::ValueInfo,    {1},          Content::Text},
    {Message::ValueInfo,    {2},          Content::Message,       Message::Type},
    {Message::ValueInfo,    {3},          Content::Notes},
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

// The row of a field; that of an unknown one for unlisted fields.
constexpr const FieldRow& field_row(Message message, std::uint32_t number) {
  return kFieldIndex[static_cast<std::size_t>(message)][number < kFieldNumbers ? number : 0];
}

}  // namespace pagoda::inline core::wire
