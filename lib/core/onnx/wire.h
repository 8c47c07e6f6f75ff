// The protobuf wire format, field by field, over a file of any size. A reader skips payloads without touching their
// pages; every error carries the byte offset at which the file becomes invalid.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/error.h"
#include "pagoda/core/model.h"

namespace pagoda::inline core::wire {

// Limit on nested messages. Protobuf's own default is 100, which is 33 nested graphs.
inline constexpr int kMaxDepth = 500;
// Limit on fields read in one file. A graph of a million nodes has about 30 million, a forest of ten million tree nodes
// about 100 million.
inline constexpr std::uint64_t kMaxFields = std::uint64_t{1} << 27;
// Limit on bytes of names and other texts in one model. Those of a million nodes take about 100 MB.
inline constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;

enum class Type : std::uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, GroupStart = 3, GroupEnd = 4, Fixed32 = 5 };

// Bytes [begin, end) of the file.
struct Range {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t size() const { return end - begin; }
};

// A field's number and type, as it is encoded.
constexpr std::uint32_t tag(std::uint32_t number, Type type) { return number << 3 | static_cast<std::uint32_t>(type); }
constexpr std::uint32_t varint_tag(std::uint32_t number) { return tag(number, Type::Varint); }
constexpr std::uint32_t bytes_tag(std::uint32_t number) { return tag(number, Type::Bytes); }
constexpr std::uint32_t fixed32_tag(std::uint32_t number) { return tag(number, Type::Fixed32); }

struct Field {
  std::uint32_t number = 0;
  Type type = Type::Varint;
  Range whole;                  // with the tag
  std::uint64_t length_at = 0;  // Bytes: offset of the length
  Range payload;                // Bytes: the content; otherwise the encoded value
  std::uint64_t varint = 0;     // Varint: the value

  std::uint32_t tag() const { return wire::tag(number, type); }
};

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// --- Limits on the lists of a model: an entry takes many times its size in the file, in one list as in many ---

enum class Entry : std::uint8_t {
  IdleNode,  // a node without outputs
  Initializer,
  SparseInitializer,
  Input,  // of graphs and functions
  Output,
  ValueType,
  Attribute,  // also a function's default
  NodeInput,
  NodeOutput,
  FunctionOpset,
  ShortText,  // in the list of an attribute; a forest of trees has millions of longer ones
};

struct EntryLimit {
  const char* what;
  std::size_t any;        // of any model
  std::size_t of_a_node;  // and for each node that it lists
};

inline constexpr std::size_t kMostUnused = 65'536;
inline constexpr std::size_t kShortText = 4;  // bytes; longer texts take at most six times their size in the file
// Models have at most a few for a node on average. Up to IR version 3 every initializer is an input, too.
inline constexpr std::array<EntryLimit, 11> kEntryLimits = {{
    {"nodes without outputs", kMostUnused, 0},
    {"initializers", kMostUnused, 4},
    {"sparse initializers", kMostUnused, 4},
    {"inputs", kMostUnused + kMostUnused, 8},
    {"outputs", kMostUnused, 8},
    {"value types", kMostUnused, 8},
    {"attributes", kMostUnused, 16},
    {"inputs of nodes", kMostUnused, 16},
    {"outputs of nodes", kMostUnused, 16},
    {"opset imports of functions", kMostUnused, 4},
    {"texts of less than four bytes in attributes", std::size_t{1} << 21, 0},
}};

static_assert(kEntryLimits.size() == static_cast<std::size_t>(Entry::ShortText) + 1);

class Entries {
 public:
  void add_node() { ++nodes_; }
  // Throws Error where the model lists too many of the kind for its nodes, which come first in a file.
  void add(Entry entry) {
    const auto kind = static_cast<std::size_t>(entry);
    const EntryLimit& limit = kEntryLimits[kind];
    if (counts_[kind]++ >= limit.any + limit.of_a_node * nodes_) [[unlikely]]
      fail(limit);
  }

 private:
  [[noreturn]] void fail(const EntryLimit& limit) const;

  std::array<std::size_t, kEntryLimits.size()> counts_ = {};
  std::size_t nodes_ = 0;
};

// The bytes of one file, and the state shared by all its readers. Readers access bytes only through window() and
// text().
class File {
 public:
  using Release = std::function<void(Range)>;

  // `release` is called periodically with a part that has been read and may leave memory. It is read again when needed.
  explicit File(std::span<const std::byte> bytes, Release release = {});
  // `slices` are in order of offset. Access to bytes between slices throws Error.
  File(std::span<const FileSlice> slices, std::uint64_t size) : size_(size), slices_(slices.begin(), slices.end()) {}
  // Reads and keeps pieces around the bytes that readers access.
  File(ReadBytes read, std::uint64_t size) : size_(size), read_(std::move(read)) {}

  std::uint64_t size() const { return size_; }
  // The first bytes of the range: all of them, or those up to the end of the slice.
  std::string_view window(Range range) {
    if (range.size() == 0) return {};
    // A number must lie in the window as a whole: the rest of a piece may hold only part of it.
    if (range.begin < here_.offset || here_.offset + here_.bytes.size() < range.begin + std::min(range.size(), kWhole))
        [[unlikely]]
      find_slice(range.begin);
    const std::string_view rest = here_.bytes.substr(static_cast<std::size_t>(range.begin - here_.offset));
    return rest.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(range.size(), rest.size())));
  }
  // The bytes of a name or a small tensor, valid as long as the file's.
  std::string_view text(Range range) {
    const std::string_view found = window(range);
    if (found.size() != range.size()) [[unlikely]]
      return text_of_pieces(range, found.size());
    return found;
  }
  // The same, for text that is stored in the model. Throws Error when the limit on such bytes is exceeded.
  std::string_view keep(Range range) {
    if (range.size() > bytes_left_) [[unlikely]]
      fail_bytes();
    bytes_left_ -= range.size();
    return text(range);
  }

  // Throws Error when the limit on fields is exceeded.
  void count_fields(std::uint64_t fields) {
    if (fields > fields_left_) [[unlikely]]
      fail_fields();
    fields_left_ -= fields;
  }
  void count_node() { entries_.add_node(); }
  void count(Entry entry) { entries_.add(entry); }
  // Everything before `offset` has been read; a smaller offset begins a new walk.
  void passed(std::uint64_t offset) {
    released_ = std::min(released_, offset);
    if (offset - released_ >= kReleaseInterval) release_up_to(offset);
  }

 private:
  // Bytes between two releases. Linux maps 64 KB around each page touched, so far-apart headers add up.
  static constexpr std::uint64_t kReleaseInterval = std::uint64_t{1} << 23;
  static constexpr std::uint64_t kWhole = 16;                      // at least as long as the longest number
  static constexpr std::uint64_t kPiece = std::uint64_t{1} << 14;  // a few nodes
  [[noreturn]] static void fail_fields();
  [[noreturn]] static void fail_bytes();
  [[noreturn]] static void fail_slice(std::uint64_t offset);
  void find_slice(std::uint64_t offset);
  std::string_view text_of_pieces(Range range, std::size_t found);
  FileSlice piece_with(Range range);
  void release_up_to(std::uint64_t offset);

  std::uint64_t size_ = 0;
  std::vector<FileSlice> slices_;
  FileSlice here_;  // the last slice used
  Release release_;
  ReadBytes read_;
  std::multimap<std::uint64_t, std::string> pieces_;  // pieces read, by offset; views of them are given out
  std::uint64_t fields_left_ = kMaxFields, bytes_left_ = kMaxBytes;
  Entries entries_;
  std::uint64_t released_ = 0;  // up to this offset
};

// Not protobuf, or damaged: what() contains the byte offset.
class Malformed : public Error {
 public:
  using Error::Error;
};

[[noreturn]] void malformed(std::uint64_t offset, const std::string& what);
// Throws Error for a message that parses but cannot be valid.
[[noreturn]] void damaged(Range message, const std::string& found, const std::string& expected);

// The fields of one message, or the elements of one packed field.
class Reader {
 public:
  // `depth` is the nesting of the message itself; the model's is 0. Throws Error when it is too deep.
  Reader(File& file, Range range, int depth);

  // The next field; empty at the end of the message. A group is one field. Throws Error for malformed input.
  std::optional<Field> next() {
    // Most fields are names and small messages: a tag and a length of one byte each, in the window as a whole.
    if (end_ - at_ < 2) return long_next();
    const auto tag_value = static_cast<unsigned char>(at_[0]), size = static_cast<unsigned char>(at_[1]);
    if (tag_value < 8 || tag_value >= 0x80 || (tag_value & 7) != static_cast<int>(Type::Bytes) || size >= 0x80 ||
        end_ - at_ - 2 < size)
      return long_next();
    file_.count_fields(1);
    const std::uint64_t begin = position();
    at_ += 2 + size;
    return Field{.number = static_cast<std::uint32_t>(tag_value >> 3),
                 .type = Type::Bytes,
                 .whole = {begin, begin + 2 + size},
                 .length_at = begin + 1,
                 .payload = {begin + 2, begin + 2 + size},
                 .varint = 0};
  }
  // For packed elements: whether all are read, and the next value.
  bool at_end() const { return at_ == end_ && window_end_ == range_.end; }
  std::uint64_t varint(const char* what) {
    if (at_ != end_ && static_cast<unsigned char>(*at_) < 0x80) return static_cast<unsigned char>(*at_++);
    return long_varint(what);
  }

 private:
  std::uint64_t position() const { return window_end_ - static_cast<std::uint64_t>(end_ - at_); }
  void seek(std::uint64_t position);
  std::optional<Field> long_next();
  std::uint64_t long_varint(const char* what);
  void skip_group(std::uint32_t number, std::uint64_t start);
  Field begin_field();
  void read_value(Field& field);

  File& file_;
  Range range_;
  int depth_;
  std::uint64_t window_end_ = 0;
  const char* at_ = nullptr;   // in the window
  const char* end_ = nullptr;  // of the window
};

// The number whose little-endian bytes these are, at most eight.
std::uint64_t fixed(std::string_view bytes);

// Longer texts are not names.
inline constexpr std::uint64_t kLongestText = std::uint64_t{1} << 20;

// The name or other text in a field's payload. Throws Error when it is too long.
std::string_view name_in(File& file, std::uint32_t number, Range payload);
inline std::string_view name_in(File& file, const Field& field) { return name_in(file, field.number, field.payload); }

// Records the range of a message that may occur only once in its parent. Throws Error when it occurs twice.
void take_once(std::optional<Range>& place, const Field& field);

inline constexpr std::uint64_t kLongestVarint = 10;  // bytes of one value

// --- Writing ---
void append_varint(std::string& out, std::uint64_t value);
void append_varint_field(std::string& out, std::uint32_t number, std::uint64_t value);
void append_bytes_field(std::string& out, std::uint32_t number, std::string_view value);

// A name from a file, safe to print in a message: quoted, control characters escaped, long ones cut.
std::string quoted_name(std::string_view name);

}  // namespace pagoda::inline core::wire
