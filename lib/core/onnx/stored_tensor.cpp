// Reads the header of a TensorProto and checks the length of its data against its dims.
#include "onnx/stored_tensor.h"

#include <algorithm>
#include <array>

#include "onnx/message.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"
#include "pagoda/core/model.h"

namespace pagoda::inline core::wire {
namespace {

// All data field numbers are below.
constexpr std::uint32_t kDataFields = kUint64Data + 1;
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 63;
// The most bytes of one tensor kept in a skeleton: 1024 integers as varints take at most 10 KB.
constexpr std::uint64_t kMostKeptBytes = kLongestVarint * kInlineIntegerElements;

// The extent of one data field of a tensor.
struct DataField {
  Range span;
  std::uint64_t bytes = 0;     // of payloads
  std::uint64_t unpacked = 0;  // values written as one field each
  bool is_present = false;
};

class TensorScan {
 public:
  TensorScan(File& file, Range body, int depth) : file_(file), depth_(depth) { tensor_.body = body; }

  StoredTensor run() {
    Reader reader(file_, tensor_.body, depth_);
    while (const std::optional<Field> field = reader.next()) read(*field);
    tensor_.elements = counter_.elements(tensor_.name);
    choose_data();
    if (!tensor_.is_external) check_data();
    return std::move(tensor_);
  }

 private:
  void read(const Field& field) {
    if (is_data_field(field.number)) return add_data(field);
    if (field.type == Type::Bytes && field.number != kDims && field.number != kName) tensor_.is_plain = false;
    switch (field.number) {
      case kDims:
        return read_dims(field);
      case kDataType:
        if (field.type == Type::Varint) tensor_.element = known_element(static_cast<std::int32_t>(field.varint));
        return;
      case kName:
        if (field.type != Type::Bytes) return;
        tensor_.name_at = field.payload;
        tensor_.name = file_.text(field.payload);
        return;
      case kDataLocation:
        if (field.type == Type::Varint) tensor_.is_external = field.varint == 1;
        return;
      case kExternalData:
        if (field.type == Type::Bytes) read_entry(field.payload);
        return;
      default:
        return;
    }
  }

  void read_dims(const Field& field) {
    if (field.type == Type::Varint || field.type == Type::Bytes)
      for_each_number(file_, field, depth_, "a dim", [&](std::uint64_t number) { add_dim(number); });
  }

  void add_dim(std::uint64_t varint) {
    const auto dim = static_cast<std::int64_t>(varint);
    counter_.add(dim);
    if (tensor_.dims.size() < ElementCounter::kMaxRank) tensor_.dims.push_back(dim);
  }

  void read_entry(Range body) {
    std::string_view key, value;
    Reader reader(file_, body, depth_ + 1);
    while (const std::optional<Field> field = reader.next()) {
      if (field->type != Type::Bytes) continue;
      if (field->number == 1) key = file_.keep(field->payload);
      if (field->number == 2) value = file_.keep(field->payload);
    }
    read_external_entry(key, value, tensor_.external, tensor_.external_problem);
    tensor_.names_more = tensor_.names_more || (key != "location" && key != "offset" && key != "length") ||
                         (key == "location" && value.find_first_of("/\\") != std::string_view::npos);
  }

  // Whether the field's wire type fits its number; as in protobuf, others are unknown fields.
  static bool has_values(const Field& field) {
    if (field.type == Type::Bytes) return true;
    if (field.number == kRawData || field.number == kStringData) return false;
    return field.type == (field.number == kFloatData    ? Type::Fixed32
                          : field.number == kDoubleData ? Type::Fixed64
                                                        : Type::Varint);
  }

  void add_data(const Field& field) {
    if (field.number != kRawData) tensor_.is_plain = false;
    if (!has_values(field)) return;
    DataField& data = data_[field.number];
    tensor_.all_bytes += field.payload.size();
    // raw_data is one value: the last one counts. The typed fields add up.
    if (!data.is_present || field.number == kRawData)
      data = {.span = field.payload, .bytes = 0, .unpacked = 0, .is_present = true};
    data.span.end = field.payload.end;
    data.bytes += field.payload.size();
    if (field.type != Type::Bytes || field.number == kStringData) ++data.unpacked;
  }

  // Raw data takes precedence over typed data; of the typed fields, the one that suits the type counts.
  void choose_data() {
    std::uint32_t number = data_[kRawData].is_present ? +kRawData : typed_data_field(tensor_.element);
    if (!data_[number].is_present) {
      const auto any = std::find_if(data_.begin(), data_.end(), [](const DataField& data) { return data.is_present; });
      if (any == data_.end()) return;
      // For a type without a fixed width, any present field.
      if (bits(tensor_.element) == 0 && tensor_.element != ElementType::String)
        number = static_cast<std::uint32_t>(any - data_.begin());
      else
        wrong_ = static_cast<std::uint32_t>(any - data_.begin());
    }
    tensor_.data_field = number;
    tensor_.data = data_[number].span;
    tensor_.data_bytes = data_[number].bytes;
  }

  [[noreturn]] void corrupt(const std::string& found) const {
    throw Error(cat("tensor ", quoted_name(tensor_.name), " at byte ", tensor_.body.begin, ": ", found,
                    "; the file is damaged, export or download it again"));
  }

  void check_data() const {
    if (tensor_.data_field == 0) return;
    const auto elements = [&] { return cat(tensor_.elements, " elements of ", to_string(tensor_.element)); };
    const auto name = [&] { return data_field_name(tensor_.data_field); };
    if (wrong_ != 0 && tensor_.elements != 0)
      corrupt(cat("its data lie in ", data_field_name(wrong_), ", expected ", name(), " for ", elements()));
    if (bits(tensor_.element) == 0 && tensor_.element != ElementType::String) return;
    const DataField& data = data_[tensor_.data_field];
    const auto found = [&] { return cat(name(), " holds ", data.bytes, " bytes, expected ", elements()); };
    if (tensor_.data_field == kRawData) {
      const std::optional<std::uint64_t> bytes = raw_bytes(tensor_.element, tensor_.elements);
      if (bytes && *bytes != data.bytes) corrupt(cat(found(), " in ", *bytes, " bytes"));
      return;
    }
    const std::uint64_t values = typed_values(tensor_.element, tensor_.elements);
    const auto differ = [&](std::uint64_t there) {
      corrupt(cat(name(), " holds ", there, " values, expected ", elements()));
    };
    if (tensor_.data_field == kStringData) {
      if (data.unpacked != values) differ(data.unpacked);
    } else if (tensor_.data_field == kFloatData || tensor_.data_field == kDoubleData) {
      const std::uint64_t width = tensor_.data_field == kFloatData ? 4 : 8;
      if (data.bytes != values * width || values > data.bytes) differ(data.bytes / width);
    } else if (data.bytes < values || data.bytes > kLongestVarint * values) {  // a value takes 1 to 10 bytes
      corrupt(found());
    }
  }

  File& file_;
  int depth_;
  StoredTensor tensor_;
  ElementCounter counter_;
  std::array<DataField, kDataFields> data_{};
  std::uint32_t wrong_ = 0;  // a field that does not suit the type
};

}  // namespace

const char* data_field_name(std::uint32_t number) {
  constexpr std::pair<std::uint32_t, const char*> kNames[] = {
      {kFloatData, "float_data"},  {kInt32Data, "int32_data"}, {kStringData, "string_data"},
      {kInt64Data, "int64_data"},  {kRawData, "raw_data"},     {kDoubleData, "double_data"},
      {kUint64Data, "uint64_data"}};
  for (const auto& [field, name] : kNames)
    if (field == number) return name;
  return "data";
}

bool is_data_field(std::uint32_t number) {
  return (number >= kFloatData && number <= kInt64Data) || (number >= kRawData && number <= kUint64Data);
}

StoredTensor read_stored_tensor(File& file, Range body, int depth) { return TensorScan(file, body, depth).run(); }

void ElementCounter::add(std::int64_t dim) {
  ++rank_;
  if (dim < 0) {
    negative_ = dim;
  } else if (dim == 0) {
    has_zero_ = true;
  } else if (__builtin_mul_overflow(product_, static_cast<std::uint64_t>(dim), &product_) || product_ > kMostElements) {
    overflows_ = true;
    product_ = 1;
  }
}

std::uint64_t ElementCounter::elements(std::string_view tensor_name) const {
  if (rank_ > kMaxRank)
    throw Error(cat("tensor ", quoted_name(tensor_name), " has ", rank_, " dims, expected at most ", kMaxRank));
  if (negative_)
    throw Error(cat("tensor ", quoted_name(tensor_name), " has a dim of ", *negative_,
                    ", expected at least 0; the file is damaged, export or download it again"));
  if (has_zero_) return 0;
  if (overflows_)
    throw Error(cat("tensor ", quoted_name(tensor_name),
                    " has dims of more than 2^63 elements, which no tensor has; "
                    "the file is damaged, export or download it again"));
  return product_;
}

std::uint32_t typed_data_field(ElementType type) {
  using enum ElementType;
  if (type == Float32 || type == Complex64) return kFloatData;
  if (type == Float64 || type == Complex128) return kDoubleData;
  if (type == Int64) return kInt64Data;
  if (type == Uint32 || type == Uint64) return kUint64Data;
  if (type == String) return kStringData;
  return kInt32Data;
}

std::uint64_t typed_values(ElementType type, std::uint64_t elements) {
  if (type == ElementType::Complex64 || type == ElementType::Complex128)
    return elements > kMostElements / 2 ? kMostElements : elements * 2;
  const int width = bits(type);
  if (width == 0 || width >= 8) return elements;
  const auto in_a_byte = static_cast<std::uint64_t>(8 / width);
  return elements / in_a_byte + (elements % in_a_byte != 0 ? 1 : 0);
}

std::optional<std::uint64_t> raw_bytes(ElementType type, std::uint64_t elements) {
  const int width = bits(type);
  if (width == 0) return std::nullopt;
  if (width < 8) return typed_values(type, elements);
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(elements, static_cast<std::uint64_t>(width / 8), &bytes)) return ~std::uint64_t{0};
  return bytes;
}

ElementType known_element(std::int64_t data_type) {
  constexpr auto kNewest = static_cast<std::int64_t>(ElementType::Int2);
  return data_type > 0 && data_type <= kNewest ? static_cast<ElementType>(data_type) : ElementType::Undefined;
}

bool keeps_value(ElementType type, std::uint64_t elements) {
  const bool is_whole = is_integer(type) || type == ElementType::Bool;
  return elements <= (is_whole ? kInlineIntegerElements : kInlineFloatElements);
}

bool StoredTensor::is_small() const { return keeps_value(element, elements) && all_bytes <= kMostKeptBytes; }

void read_external_entry(std::string_view key, std::string_view value, Extent& extent, std::string& problem) {
  const auto number = [&](std::uint64_t& target) {
    const auto bytes = base::parse_number<std::uint64_t>(value);
    target = bytes.value_or(target);
    if (!bytes) problem = cat("its external ", key, " is ", quoted_name(value), ", expected a number of bytes");
  };
  if (key == "location") extent.location = value;
  if (key == "offset") number(extent.offset);
  if (key == "length") number(extent.bytes);
}

}  // namespace pagoda::inline core::wire
