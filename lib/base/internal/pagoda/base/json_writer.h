// Writes JSON piece by piece into one string: 128-bit integers as integers, any bytes as valid UTF-8.
//
//   JsonWriter json;
//   json.begin_object();
//   json.member("macs", Int{1} << 90);
//   json.key("nodes").begin_array();
//   json.begin_object(JsonWriter::Layout::Line).member("name", "conv1").end_object();
//   json.end_array().end_object();
//   std::string text = std::move(json).text();
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "pagoda/base/integer.h"
#include "pagoda/base/name.h"
#include "pagoda/base/settings.h"

#pragma GCC visibility push(default)
namespace pagoda::base {

struct JsonValue;

class JsonWriter {
 public:
  // Block: one line per element; Line: the object or array and its contents on one line; Compact: Line without spaces.
  enum class Layout { Block, Line, Compact };
  // Readable: terminal control characters are escaped, numbers are as short as possible. Plain: only characters that
  // JSON forbids are escaped, and doubles stay doubles ("1.0"); for text that is hashed or read by type-sensitive
  // readers.
  enum class Style { Readable, Plain };

  explicit JsonWriter(Style style = Style::Readable) : style_(style) {}

  // Makes room for a text of about this length, so that a long one is not copied as it grows.
  void reserve(std::size_t length) { text_.reserve(length); }

  JsonWriter& begin_object(Layout layout = Layout::Block) { return open('{', layout); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array(Layout layout = Layout::Block) { return open('[', layout); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  // Invalid UTF-8 becomes U+FFFD.
  JsonWriter& value(std::string_view text);
  template <std::convertible_to<std::string_view> Text>
  JsonWriter& value(const Text& text) {
    return value(std::string_view(text));
  }
  JsonWriter& value(Int number);
  template <typename Integer>
  requires(std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>) JsonWriter& value(Integer number) {
    return value(static_cast<Int>(number));
  }
  JsonWriter& value(bool truth) { return raw(truth ? "true" : "false"); }
  JsonWriter& value(double number);  // a decimal that reads back exactly; null if not finite
  JsonWriter& null() { return raw("null"); }
  JsonWriter& value(std::monostate) { return null(); }
  JsonWriter& value(const Setting& setting);
  JsonWriter& value(const Settings& settings, Layout layout = Layout::Line);
  JsonWriter& value(const JsonValue& tree);
  template <typename T>
  JsonWriter& value(const std::vector<T>& items) {
    return on_one_line(items);
  }
  template <typename T, std::size_t N>
  JsonWriter& value(const std::array<T, N>& items) {
    return on_one_line(items);
  }
  template <typename T>
  JsonWriter& value(const std::optional<T>& maybe) {
    return maybe ? value(*maybe) : null();
  }

  // Other types write themselves: write_json(JsonWriter&, const T&), found by argument-dependent lookup.
  template <typename T>
  requires requires(JsonWriter& json, const T& content) { write_json(json, content); }
  JsonWriter& value(const T& content) {
    write_json(*this, content);
    return *this;
  }

  template <typename T>
  JsonWriter& member(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  // The member, or null for an empty text.
  JsonWriter& member_or_null(std::string_view name, const std::string& text) {
    return text.empty() ? key(name).null() : member(name, text);
  }

  JsonWriter& member_if_any(std::string_view name, const std::string& text) {
    return text.empty() ? *this : member(name, text);
  }

  std::string text() && { return std::move(text_) + "\n"; }
  std::string line() && { return std::move(text_); }  // without the line end

 private:
  template <typename Items>
  JsonWriter& on_one_line(const Items& items) {
    begin_array(Layout::Line);
    for (const auto& item : items) value(item);
    return end_array();
  }

  struct Level {
    Layout layout;
    bool empty = true;
  };

  JsonWriter& open(char bracket, Layout layout);
  JsonWriter& close(char bracket);
  JsonWriter& raw(std::string_view token);
  void begin_value();
  void separate();
  void append_string(std::string_view text);

  Style style_;
  std::string text_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace pagoda::base
#pragma GCC visibility pop
