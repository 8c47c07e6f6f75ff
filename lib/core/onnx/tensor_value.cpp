// Decodes small tensors: packed raw data and the typed fields of TensorProto.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "onnx/load.h"
#include "onnx/small_float.h"
#include "pagoda/base/cat.h"

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
  if (type == ElementType::Float32) return static_cast<double>(same_bits<float>(static_cast<std::uint32_t>(code)));
  if (type == ElementType::Float64) return same_bits<double>(code);
  if (type == ElementType::Float8e8m0)  // a power of two; all ones is NaN
    return (code & 255) == 255 ? std::numeric_limits<double>::quiet_NaN()
                               : std::ldexp(1.0, static_cast<int>(code & 255) - 127);
  if (const SmallFloat* format = small_float(type)) return decode(*format, code);
  return std::monostate{};
}

bool has_value(ElementType type) {
  return bits(type) != 0 && type != ElementType::Complex64 && type != ElementType::Complex128;
}

// The elements of data in units, each of which holds one element or, below 8 bits, as many as fit in a byte.
template <typename UnitAt>
TensorValue decode(ElementType type, std::uint64_t elements, const UnitAt& unit_at) {
  TensorValue result;
  result.reserve(elements);
  const int width = bits(type);
  const std::uint64_t in_one = width < 8 ? static_cast<std::uint64_t>(8 / width) : 1;
  for (std::uint64_t i = 0; i < elements; ++i) {
    const std::uint64_t unit = unit_at(i / in_one);
    result.push_back(decode_code(type, in_one == 1 ? unit : unit >> (i % in_one * width) & ((1u << width) - 1)));
  }
  return result;
}

// Of little-endian data, as in TensorProto.raw_data.
TensorValue decode_raw(ElementType type, std::uint64_t elements, std::string_view data) {
  const auto bytes = static_cast<std::size_t>(std::max(bits(type), 8) / 8);
  return decode(type, elements, [&](std::uint64_t unit) { return fixed(data.substr(unit * bytes, bytes)); });
}

[[noreturn]] void corrupt(const StoredTensor& tensor, std::uint64_t found, std::uint64_t expected) {
  throw Error(cat("tensor ", quoted_name(tensor.name), ": ", data_field_name(tensor.data_field), " holds ", found,
                  " values, expected ", expected, " for ", to_string(tensor.element),
                  "; the file is damaged, export or download it again"));
}

// The values in the typed data field of a small tensor, as bits.
std::vector<std::uint64_t> typed_codes(File& file, const StoredTensor& stored, int depth) {
  const std::size_t width = stored.data_field == kFloatData ? 4 : stored.data_field == kDoubleData ? 8 : 0;
  const Type unpacked = width == 4 ? Type::Fixed32 : width == 8 ? Type::Fixed64 : Type::Varint;
  std::vector<std::uint64_t> codes;
  const auto add = [&](std::uint64_t varint) {
    const bool is_int32 = stored.data_field == kInt32Data;
    codes.push_back(is_int32 ? static_cast<std::uint64_t>(static_cast<std::int32_t>(varint)) : varint);
  };
  Reader reader(file, stored.body, depth);
  while (const std::optional<Field> field = reader.next()) {
    if (field->number != stored.data_field) continue;
    if (field->type == Type::Varint && width == 0) {
      add(field->varint);
    } else if (field->type == unpacked) {
      codes.push_back(fixed(file.text(field->payload)));
    } else if (field->type == Type::Bytes && width == 0) {
      for (Reader packed(file, field->payload, depth); !packed.at_end();) add(packed.varint("a value"));
    } else if (field->type == Type::Bytes) {
      const std::string_view data = file.text(field->payload);
      for (std::size_t at = 0; at + width <= data.size(); at += width) codes.push_back(fixed(data.substr(at, width)));
    }
  }
  return codes;
}

void read_value(Loader& loader, const StoredTensor& stored, int depth, Tensor& tensor) {
  const ElementType type = stored.element;
  const std::uint64_t elements = stored.elements;
  std::uint64_t& left = type == ElementType::Int64 ? loader.indices_left : loader.others_left;
  if (elements > left) {
    tensor.unread = "the model's small tensors have too many elements to keep them all";
    return;
  }
  if (stored.is_external || !tensor.extent.location.empty()) {
    if (!tensor.unread.empty()) return;
    ExternalData::Bytes data = loader.external.read(tensor.extent, *raw_bytes(type, elements));
    if (data.problem.empty()) tensor.value = decode_raw(type, elements, data.bytes);
    tensor.unread = data.problem;
  } else if (elements == 0) {
    tensor.value = TensorValue{};
  } else if (stored.data_field == 0) {
    tensor.unread = "the file holds no data for it";
  } else if (stored.data_field == kRawData) {
    tensor.value = decode_raw(type, elements, loader.file.text(stored.data));
  } else {
    const std::vector<std::uint64_t> codes = typed_codes(loader.file, stored, depth);
    const std::uint64_t expected = typed_values(type, elements);
    if (codes.size() != expected) corrupt(stored, codes.size(), expected);
    tensor.value = decode(type, elements, [&](std::uint64_t unit) { return codes[unit]; });
  }
  if (tensor.value) left -= elements;
}

}  // namespace

Tensor read_tensor(Loader& loader, Range body, int depth) {
  const StoredTensor stored = read_stored_tensor(loader.file, body, depth);
  const bool is_small = stored.is_small();
  if (!stored.is_plain)
    for_each_field(loader.file, Message::Tensor, body, depth, [&](const Field& field) {
      // Skips large data, and the location of external data, which is already known.
      return field.number == kExternalData || (!is_small && is_data_field(field.number));
    });
  Tensor tensor;
  tensor.name = loader.names.add(name_in(loader.file, kName, stored.name_at));
  tensor.message_at = body.begin;
  tensor.type = {.element = stored.element, .shape = Shape(stored.dims.begin(), stored.dims.end())};
  if (stored.is_external) {
    tensor.extent = stored.external;
    if (is_small || stored.all_bytes == 0) tensor.unread = stored.external_problem;
  } else if (!is_small && stored.all_bytes != 0) {
    tensor.extent = {
        .location = loader.names.shared(kInModel), .offset = stored.data.begin, .bytes = stored.data_bytes};
  } else if (stored.data_field == kRawData) {
    tensor.extent.bytes = stored.data_bytes;
  }
  // Shape arithmetic uses lists and single numbers: floats in a table are weights.
  const bool is_table = is_float(stored.element) && stored.dims.size() > 1 && stored.elements > 1;
  if (has_value(stored.element) && keeps_value(stored.element, stored.elements) && !is_table)
    read_value(loader, stored, depth, tensor);
  if (tensor.extent.location == kInModel) tensor.extent.location = {};
  return tensor;
}

Tensor read_sparse_tensor(Loader& loader, Range body, int depth) {
  std::optional<Range> values, indices;
  Shape shape;
  ElementCounter counter;
  const auto add = [&](std::uint64_t varint) {
    const auto dim = static_cast<std::int64_t>(varint);
    counter.add(dim);
    if (shape.size() < ElementCounter::kMaxRank) shape.push_back(dim);
  };
  const auto add_all = [&](const Field& field) { for_each_number(loader.file, field, depth, "a dim", add); };
  for_each_field(loader.file, Message::SparseTensor, body, depth,
                 on(bytes_tag(1), [&](const Field& field) { take_once(values, field); }),
                 on(bytes_tag(2), [&](const Field& field) { return take_once(indices, field), false; }),
                 on(varint_tag(3), add_all), on(bytes_tag(3), add_all));
  Tensor tensor = read_tensor(loader, values.value_or(Range{body.end, body.end}), depth + 1);
  counter.elements(tensor.name);
  tensor.value.reset();
  tensor.type.shape = std::move(shape);
  return tensor;
}

}  // namespace pagoda::inline core::wire
