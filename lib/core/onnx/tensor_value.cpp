// Decodes small tensors: packed raw data and the typed fields of TensorProto.
#include "onnx/tensor_value.h"

#include <bit>
#include <cmath>
#include <limits>

#include "onnx/skeleton.h"
#include "onnx/small_float.h"
#include "onnx/stored_tensor.h"

namespace pagoda::inline core::wire {
namespace {

Scalar decode_integer(ElementType type, std::uint64_t code) {
  const int width = bits(type);
  using enum ElementType;
  const bool is_signed =
      type == Int8 || type == Int16 || type == Int32 || type == Int64 || type == Int4 || type == Int2;
  if (type == Bool) return Dim(code != 0 ? 1 : 0);
  if (width == 64) return is_signed ? Dim(static_cast<std::int64_t>(code)) : Dim(static_cast<Int>(code));
  const std::uint64_t low = code & ((std::uint64_t{1} << width) - 1);
  const auto value = static_cast<std::int64_t>(low);
  return Dim(is_signed && low >> (width - 1) != 0 ? value - (std::int64_t{1} << width) : value);
}

// The element whose bits are `code`; unknown for complex numbers and strings.
Scalar decode_code(ElementType type, std::uint64_t code) {
  if (is_integer(type) || type == ElementType::Bool) return decode_integer(type, code);
  if (type == ElementType::Float32) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(code)));
  if (type == ElementType::Float64) return std::bit_cast<double>(code);
  if (type == ElementType::Float8e8m0)  // a power of two; all ones is NaN
    return (code & 255) == 255 ? std::numeric_limits<double>::quiet_NaN()
                               : std::ldexp(1.0, static_cast<int>(code & 255) - 127);
  if (const SmallFloat* format = small_float(type)) return decode(*format, code);
  return std::monostate{};
}

bool has_value(ElementType type) {
  return bits(type) != 0 && type != ElementType::Complex64 && type != ElementType::Complex128;
}

std::uint64_t code_at(std::string_view data, std::uint64_t element, int width) {
  if (width < 8) {
    const auto byte = static_cast<unsigned char>(data[element * width / 8]);
    return byte >> (element * width % 8) & ((1u << width) - 1);
  }
  std::uint64_t code = 0;
  for (int i = 0; i < width / 8; ++i)
    code |= std::uint64_t{static_cast<unsigned char>(data[element * (width / 8) + i])} << (8 * i);
  return code;
}

// Typed values, each holding one element or, below 8 bits, as many as fit a byte.
template <typename Values>
TensorValue decode_typed(ElementType type, std::uint64_t elements, const Values& values) {
  TensorValue result;
  result.reserve(elements);
  const int width = bits(type);
  const std::uint64_t in_one = width < 8 ? static_cast<std::uint64_t>(8 / width) : 1;
  for (std::uint64_t i = 0; i < elements; ++i) {
    const auto value = static_cast<std::uint64_t>(values[static_cast<int>(i / in_one)]);
    result.push_back(decode_code(type, in_one == 1 ? value : value >> (i % in_one * width) & ((1u << width) - 1)));
  }
  return result;
}

[[noreturn]] void corrupt(const Tensor& tensor, std::int64_t found, const char* field, std::uint64_t expected) {
  throw Error("tensor " + quoted(tensor.name) + ": " + field + " holds " + std::to_string(found) +
              " values, expected " + std::to_string(expected) + " for " + to_string(tensor.type) +
              "; the file is damaged, export or download it again");
}

}  // namespace

TensorValue decode_raw(ElementType type, std::uint64_t elements, std::string_view data) {
  TensorValue result;
  result.reserve(elements);
  for (std::uint64_t i = 0; i < elements; ++i) result.push_back(decode_code(type, code_at(data, i, bits(type))));
  return result;
}

void TensorReader::read_value(const ::onnx::TensorProto& proto, std::uint64_t elements, Tensor& tensor) {
  const ElementType type = tensor.type.element;
  std::uint64_t& left = type == ElementType::Int64 ? indices_left_ : others_left_;
  if (elements > left) {
    tensor.unread = "the model's small tensors have too many elements to keep them all";
    return;
  }
  const std::uint64_t bytes = *raw_bytes(type, elements);
  const std::uint64_t values = typed_values(type, elements);
  const auto check = [&](int found, const char* field) {
    if (static_cast<std::uint64_t>(found) != values) corrupt(tensor, found, field, values);
  };
  if (proto.data_location() == ::onnx::TensorProto::EXTERNAL) {
    if (!tensor.unread.empty()) return;
    ExternalData::Bytes data = external_.read(tensor.extent, bytes);
    if (data.problem.empty()) tensor.value = decode_raw(type, elements, data.bytes);
    tensor.unread = std::move(data.problem);
  } else if (proto.has_raw_data()) {
    if (proto.raw_data().size() != bytes)
      corrupt(tensor, static_cast<std::int64_t>(proto.raw_data().size()), "raw_data", bytes);
    tensor.value = decode_raw(type, elements, proto.raw_data());
  } else if (proto.float_data_size() + proto.int32_data_size() + proto.int64_data_size() + proto.double_data_size() +
                 proto.uint64_data_size() + proto.string_data_size() ==
             0) {
    if (elements == 0)
      tensor.value = TensorValue{};
    else
      tensor.unread = "the file holds no data for it";
  } else if (type == ElementType::Float32) {
    check(proto.float_data_size(), "float_data");
    tensor.value = TensorValue(proto.float_data().begin(), proto.float_data().end());
  } else if (type == ElementType::Float64) {
    check(proto.double_data_size(), "double_data");
    tensor.value = TensorValue(proto.double_data().begin(), proto.double_data().end());
  } else if (type == ElementType::Int64) {
    check(proto.int64_data_size(), "int64_data");
    tensor.value = decode_typed(type, elements, proto.int64_data());
  } else if (type == ElementType::Uint32 || type == ElementType::Uint64) {
    check(proto.uint64_data_size(), "uint64_data");
    tensor.value = decode_typed(type, elements, proto.uint64_data());
  } else {
    check(proto.int32_data_size(), "int32_data");
    tensor.value = decode_typed(type, elements, proto.int32_data());
  }
  if (tensor.value) left -= elements;
}

Tensor TensorReader::read(const ::onnx::TensorProto& proto) {
  Tensor tensor;
  tensor.name = proto.name();
  tensor.type.element = known_element(proto.data_type());
  tensor.type.shape.emplace();
  ElementCounter counter;
  for (const std::int64_t dim : proto.dims()) {
    counter.add(dim);
    tensor.type.shape->push_back(dim);
  }
  const std::uint64_t elements = counter.elements(tensor.name);
  const bool is_external = proto.data_location() == ::onnx::TensorProto::EXTERNAL;
  if (is_external) {
    for (const ::onnx::StringStringEntryProto& entry : proto.external_data())
      read_external_entry(entry.key(), entry.value(), tensor.extent, tensor.unread);
  } else {
    tensor.extent.bytes = proto.raw_data().size();
  }
  if (has_value(tensor.type.element) && keeps_value(tensor.type.element, elements)) read_value(proto, elements, tensor);
  if (tensor.extent.location == kInModel) tensor.extent.location.clear();
  return tensor;
}

Tensor TensorReader::read(const ::onnx::SparseTensorProto& proto) {
  Tensor tensor = read(proto.values());
  tensor.value.reset();
  tensor.type.shape.emplace();
  ElementCounter counter;
  for (const std::int64_t dim : proto.dims()) {
    counter.add(dim);
    tensor.type.shape->push_back(dim);
  }
  counter.elements(tensor.name);
  return tensor;
}

}  // namespace pagoda::inline core::wire
