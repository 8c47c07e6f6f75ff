// Reading and writing the protobuf wire format: see https://protobuf.dev/programming-guides/encoding.
#include "onnx/wire.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "pagoda/base/cat.h"

namespace pagoda::inline core::wire {
namespace {

constexpr std::uint64_t kLongestTag = 5;  // also for lengths: 32 bits

}  // namespace

void malformed(std::uint64_t offset, const std::string& what) {
  throw Malformed(cat("malformed protobuf at byte ", offset, ": ", what));
}

void damaged(Range message, const std::string& found, const std::string& expected) {
  throw Error(cat(found, " at byte ", message.begin, ", expected ", expected,
                  "; the file is damaged, export or download it again"));
}

File::File(std::span<const std::byte> bytes, Release release)
    : size_(bytes.size()), slices_{{.offset = 0, .bytes = as_text(bytes)}}, release_(std::move(release)) {}

void File::find_slice(std::uint64_t offset) {
  if (read_) {
    here_ = piece_with({offset, std::min(size_, offset + kWhole)});
    return;
  }
  const auto after = std::upper_bound(slices_.begin(), slices_.end(), offset,
                                      [](std::uint64_t at, const FileSlice& slice) { return at < slice.offset; });
  if (after == slices_.begin() || offset - std::prev(after)->offset >= std::prev(after)->bytes.size())
    fail_slice(offset);
  here_ = *std::prev(after);
}

std::string_view File::text_of_pieces(Range range, std::size_t found) {
  if (!read_) fail_slice(range.begin + found);
  const FileSlice piece = piece_with(range);
  return piece.bytes.substr(static_cast<std::size_t>(range.begin - piece.offset),
                            static_cast<std::size_t>(range.size()));
}

// A piece already read that contains the range, or a new one that starts at the range.
FileSlice File::piece_with(Range range) {
  const auto after = pieces_.upper_bound(range.begin);
  if (after != pieces_.begin()) {
    const auto& [offset, bytes] = *std::prev(after);
    if (offset + bytes.size() >= range.end) return {.offset = offset, .bytes = bytes};
  }
  const std::uint64_t end = std::max(range.end, std::min(size_, range.begin + kPiece));
  const auto piece = pieces_.emplace(range.begin, std::string(static_cast<std::size_t>(end - range.begin), '\0'));
  read_(range.begin, piece->second);
  return {.offset = range.begin, .bytes = piece->second};
}

void File::fail_slice(std::uint64_t offset) {
  throw Error(cat("byte ", offset, " is in none of the slices, expected all but large tensors' data"));
}

void File::fail_fields() {
  throw Error(cat("more than ", kMaxFields, " fields besides weights, expected at most that many"));
}

void Entries::fail(const EntryLimit& limit) const {
  const std::string nodes = limit.of_a_node > 0 ? cat(" for its ", nodes_, " nodes") : "";
  throw Error(cat("the model has more than ", limit.any + limit.of_a_node * nodes_, " ", limit.what,
                  ", expected at most that many", nodes, "; the file is damaged, export it again"));
}

void File::fail_bytes() {
  throw Error(cat("names and texts of more than ", kMaxBytes, " bytes, expected at most that many"));
}

void File::release_up_to(std::uint64_t offset) {
  if (release_) release_({released_, offset});
  released_ = offset;
}

Reader::Reader(File& file, Range range, int depth) : file_(file), range_(range), depth_(depth) {
  if (depth > kMaxDepth)
    throw Error(cat("messages are nested more than ", kMaxDepth, " deep at byte ", range.begin,
                    ", expected at most that many"));
  seek(range.begin);
}

void Reader::seek(std::uint64_t position) {
  const std::string_view window = file_.window({position, range_.end});
  at_ = window.data();
  end_ = at_ + window.size();
  window_end_ = position + window.size();
}

std::uint64_t Reader::long_varint(const char* what) {
  const std::uint64_t start = position();
  if (window_end_ != range_.end && window_end_ - start < kLongestVarint) seek(start);
  std::uint64_t value = 0;
  for (unsigned shift = 0; at_ != end_ && shift < 7 * kLongestVarint; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at_++);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  const bool is_cut = range_.end - start < kLongestVarint;
  malformed(start, cat(what, is_cut ? cat(" is cut off at byte ", range_.end) : " is longer than 10 bytes"));
}

// Begins a field with its tag.
Field Reader::begin_field() {
  const std::uint64_t start = position();
  const std::uint64_t value = varint("a field's tag");
  if (value < 8 || value > std::numeric_limits<std::uint32_t>::max() || position() - start > kLongestTag) [[unlikely]]
    malformed(start, cat("field number ", value >> 3, ", expected 1 to 536870911"));
  Field field;
  field.number = static_cast<std::uint32_t>(value >> 3);
  field.type = static_cast<Type>(value & 7);
  field.whole.begin = start;
  return field;
}

void Reader::read_value(Field& field) {
  const auto skip = [&](std::uint64_t size) {
    const std::uint64_t begin = position();
    if (range_.end - begin < size)
      malformed(field.whole.begin,
                cat("field ", field.number, " of ", size, " bytes runs past the end of its message at byte ",
                    range_.end, "; the file may be truncated"));
    field.payload = {begin, begin + size};
    if (begin + size <= window_end_)
      at_ += size;
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
  malformed(field.whole.begin, cat("wire type ", static_cast<int>(field.type), ", expected 0 to 5"));
}

std::optional<Field> Reader::long_next() {
  if (at_end()) return std::nullopt;
  file_.count_fields(1);
  Field field = begin_field();
  read_value(field);
  field.whole.end = position();
  return field;
}

// Groups are deprecated and ONNX has none, but an unknown field may be one.
void Reader::skip_group(std::uint32_t number, std::uint64_t start) {
  std::vector<std::uint32_t> open = {number};
  while (!open.empty()) {
    if (at_end()) malformed(start, "a group without an end");
    file_.count_fields(1);
    Field field = begin_field();
    if (field.type == Type::GroupStart) {
      open.push_back(field.number);
      if (depth_ + static_cast<int>(open.size()) > kMaxDepth)
        malformed(field.whole.begin, cat("groups are nested more than ", kMaxDepth, " deep"));
    } else if (field.type == Type::GroupEnd) {
      if (field.number != open.back()) malformed(field.whole.begin, "the end of another group than the one begun");
      open.pop_back();
    } else {
      read_value(field);
    }
  }
}

std::string_view name_in(File& file, std::uint32_t number, Range payload) {
  if (payload.size() > kLongestText)
    throw Error(cat("field ", number, " at byte ", payload.begin, " has ", payload.size(),
                    " bytes, expected a name of at most ", kLongestText));
  return file.keep(payload);
}

void take_once(std::optional<Range>& place, const Field& field) {
  if (place) malformed(field.whole.begin, cat("field ", field.number, " a second time in its message, expected once"));
  place = field.payload;
}

std::uint64_t fixed(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void append_varint_field(std::string& out, std::uint32_t number, std::uint64_t value) {
  append_varint(out, varint_tag(number));
  append_varint(out, value);
}

void append_bytes_field(std::string& out, std::uint32_t number, std::string_view value) {
  append_varint(out, bytes_tag(number));
  append_varint(out, value.size());
  out += value;
}

std::string quoted_name(std::string_view name) {
  constexpr std::size_t kLongest = 120;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : name.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '"' || c == '\\')
      result += cat("\\x", kHex[byte >> 4], kHex[byte & 15]);
    else
      result += c;
  }
  return result + (name.size() > kLongest ? "…\"" : "\"");
}

}  // namespace pagoda::inline core::wire
