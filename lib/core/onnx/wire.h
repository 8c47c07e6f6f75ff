// The protobuf wire format, field by field, over a mapped file of any size. A reader steps over payloads without
// touching their pages; every error carries the byte offset at which the file stops making sense.
#pragma once

#include <google/protobuf/io/coded_stream.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pagoda/base/error.h"

namespace pagoda::inline core::wire {

// Messages within messages. Protobuf's own default is 100, which is 33 graphs within graphs.
inline constexpr int kMaxDepth = 500;
// Fields of one file that are looked at. A graph of a million nodes has about 30 million, a forest of ten million
// tree nodes about 100 million.
inline constexpr std::uint64_t kMaxFields = std::uint64_t{1} << 27;

enum class Type : std::uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, GroupStart = 3, GroupEnd = 4, Fixed32 = 5 };

// Bytes [begin, end) of the file.
struct Range {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t size() const { return end - begin; }
};

struct Field {
  std::uint32_t number = 0;
  Type type = Type::Varint;
  Range whole;                  // with the tag
  std::uint64_t length_at = 0;  // Bytes: where the length stands
  Range payload;                // Bytes: the content; otherwise the encoded value
  std::uint64_t varint = 0;     // Varint: the value
};

// What all readers of one file share.
struct File {
  std::span<const std::byte> bytes;
  std::uint64_t fields_left = kMaxFields;

  std::string_view text(Range range) const {
    return {reinterpret_cast<const char*>(bytes.data()) + range.begin, static_cast<std::size_t>(range.size())};
  }
  // Throws Error when the bound on fields is exceeded.
  void count_fields(std::uint64_t fields);
};

// No protobuf, or a damaged one: what() holds the byte offset.
class Malformed : public Error {
 public:
  using Error::Error;
};

[[noreturn]] void malformed(std::uint64_t offset, const std::string& what);

// The fields of one message, or the elements of one packed field.
class Reader {
 public:
  // `depth` is the nesting of the message itself; the model's is 0. Throws Error when it is too deep.
  Reader(File& file, Range range, int depth);

  // The next field; empty at the end of the message. A group is one field. Throws Error for malformed input.
  std::optional<Field> next();
  // For packed elements: whether there is another one, and its value.
  bool at_end();
  std::uint64_t varint(const char* what);

 private:
  std::uint64_t position() {
    const void* at = nullptr;
    int left = 0;
    stream_->GetDirectBufferPointerInline(&at, &left);
    return window_end_ - static_cast<std::uint64_t>(left);
  }
  void seek(std::uint64_t position);
  void ensure_window();
  void skip_group(std::uint32_t number, std::uint64_t start);
  std::uint32_t tag();
  void read_value(Field& field);

  File& file_;
  Range range_;
  int depth_;
  std::uint64_t window_begin_ = 0, window_end_ = 0;
  std::optional<google::protobuf::io::CodedInputStream> stream_;  // over the window: its sizes are ints
};

// --- Writing ---
void append_varint(std::string& out, std::uint64_t value);
void append_varint_field(std::string& out, std::uint32_t number, std::uint64_t value);
void append_bytes_field(std::string& out, std::uint32_t number, std::string_view value);

// A name from a file, safe to print in a message: quoted, control characters escaped, long ones cut.
std::string quoted(std::string_view name);

}  // namespace pagoda::inline core::wire
