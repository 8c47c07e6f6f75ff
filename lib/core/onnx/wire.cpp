// Reading and writing the protobuf wire format: see https://protobuf.dev/programming-guides/encoding.
#include "onnx/wire.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace pagoda::inline core::wire {
namespace {

constexpr std::uint64_t kLongestVarint = 10;
constexpr std::uint64_t kLongestTag = 5;  // also of lengths: 32 bits

}  // namespace

void malformed(std::uint64_t offset, const std::string& what) {
  throw Malformed("malformed protobuf at byte " + std::to_string(offset) + ": " + what);
}

void File::count_fields(std::uint64_t fields) {
  if (fields > fields_left)
    throw Error("more than " + std::to_string(kMaxFields) + " fields besides weights, expected at most that many");
  fields_left -= fields;
}

Reader::Reader(File& file, Range range, int depth) : file_(file), range_(range), depth_(depth) {
  if (depth > kMaxDepth)
    throw Error("messages are nested more than " + std::to_string(kMaxDepth) + " deep at byte " +
                std::to_string(range.begin) + ", expected at most that many");
  seek(range.begin);
}

void Reader::seek(std::uint64_t position) {
  window_begin_ = position;
  window_end_ = std::min<std::uint64_t>(range_.end, position + std::numeric_limits<int>::max());
  stream_.emplace(reinterpret_cast<const std::uint8_t*>(file_.bytes.data()) + window_begin_,
                  static_cast<int>(window_end_ - window_begin_));
}

// Moves the window when a tag and a value might not lie in it whole.
void Reader::ensure_window() {
  if (window_end_ == range_.end) return;
  const std::uint64_t now = position();
  if (window_end_ - now < kLongestTag + kLongestVarint) seek(now);
}

bool Reader::at_end() {
  ensure_window();
  return position() == range_.end;
}

std::uint64_t Reader::varint(const char* what) {
  ensure_window();
  std::uint64_t value = 0;
  const std::uint64_t start = position();
  if (!stream_->ReadVarint64(&value)) [[unlikely]]
    malformed(start, std::string(what) + (range_.end - start < kLongestVarint
                                              ? " is cut off at byte " + std::to_string(range_.end)
                                              : " is longer than 10 bytes"));
  return value;
}

std::uint32_t Reader::tag() {
  const std::uint64_t start = position();
  const std::uint64_t value = varint("a field's tag");
  if (position() - start > kLongestTag || value > std::numeric_limits<std::uint32_t>::max() || value < 8)
    malformed(start, "field number " + std::to_string(value >> 3) + ", expected 1 to 536870911");
  return static_cast<std::uint32_t>(value);
}

void Reader::read_value(Field& field) {
  const auto skip = [&](std::uint64_t size) {
    const std::uint64_t begin = position();
    if (range_.end - begin < size)
      malformed(field.whole.begin, "field " + std::to_string(field.number) + " of " + std::to_string(size) +
                                       " bytes runs past the end of its message at byte " + std::to_string(range_.end) +
                                       "; the file may be truncated");
    field.payload = {begin, begin + size};
    if (begin + size <= window_end_)
      stream_->Skip(static_cast<int>(size));
    else
      seek(begin + size);
  };
  switch (field.type) {
    case Type::Varint:
      field.payload.begin = position();
      field.varint = varint("a number");
      field.payload.end = position();
      return;
    case Type::Fixed64:
      return skip(8);
    case Type::Fixed32:
      return skip(4);
    case Type::Bytes: {
      field.length_at = position();
      const std::uint64_t size = varint("a length");
      if (position() - field.length_at > kLongestTag) malformed(field.length_at, "a length of more than 5 bytes");
      return skip(size);
    }
    case Type::GroupStart:
      return skip_group(field.number, field.whole.begin);
    case Type::GroupEnd:
      malformed(field.whole.begin, "the end of a group that was not begun");
  }
  malformed(field.whole.begin, "wire type " + std::to_string(static_cast<int>(field.type)) + ", expected 0 to 5");
}

std::optional<Field> Reader::next() {
  if (at_end()) return std::nullopt;
  file_.count_fields(1);
  Field field;
  field.whole.begin = position();
  const std::uint32_t tag_value = tag();
  field.number = tag_value >> 3;
  field.type = static_cast<Type>(tag_value & 7);
  read_value(field);
  field.whole.end = position();
  return field;
}

// Groups are deprecated and ONNX has none, but a field unknown to us may be one.
void Reader::skip_group(std::uint32_t number, std::uint64_t start) {
  std::vector<std::uint32_t> open = {number};
  while (!open.empty()) {
    if (at_end()) malformed(start, "a group without an end");
    file_.count_fields(1);
    Field field;
    field.whole.begin = position();
    const std::uint32_t tag_value = tag();
    field.number = tag_value >> 3;
    field.type = static_cast<Type>(tag_value & 7);
    if (field.type == Type::GroupStart) {
      open.push_back(field.number);
      if (depth_ + static_cast<int>(open.size()) > kMaxDepth)
        malformed(field.whole.begin, "groups are nested more than " + std::to_string(kMaxDepth) + " deep");
    } else if (field.type == Type::GroupEnd) {
      if (field.number != open.back()) malformed(field.whole.begin, "the end of another group than the one begun");
      open.pop_back();
    } else {
      read_value(field);
    }
  }
}

void append_varint(std::string& out, std::uint64_t value) {
  std::array<std::uint8_t, kLongestVarint> buffer;
  const std::uint8_t* end = google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(value, buffer.data());
  out.append(reinterpret_cast<const char*>(buffer.data()), static_cast<std::size_t>(end - buffer.data()));
}

void append_varint_field(std::string& out, std::uint32_t number, std::uint64_t value) {
  append_varint(out, number << 3 | static_cast<std::uint32_t>(Type::Varint));
  append_varint(out, value);
}

void append_bytes_field(std::string& out, std::uint32_t number, std::string_view value) {
  append_varint(out, number << 3 | static_cast<std::uint32_t>(Type::Bytes));
  append_varint(out, value.size());
  out += value;
}

std::string quoted(std::string_view name) {
  constexpr std::size_t kLongest = 120;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : name.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '"' || c == '\\') {
      result += "\\x";
      result += kHex[byte >> 4];
      result += kHex[byte & 15];
    } else {
      result += c;
    }
  }
  return result + (name.size() > kLongest ? "…\"" : "\"");
}

}  // namespace pagoda::inline core::wire
