// JSON written piece by piece into one string: 128-bit integers as integers, any bytes as valid UTF-8.
//
//   JsonWriter json;
//   json.begin_object();
//   json.member("macs", Int{1} << 90);
//   json.key("nodes").begin_array();
//   json.begin_object(JsonWriter::Layout::Line).member("name", "conv1").end_object();
//   json.end_array().end_object();
//   std::string text = std::move(json).text();
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "pagoda/base/integer.h"

#pragma GCC visibility push(default)
namespace pagoda::base {

class JsonWriter {
 public:
  // Block: a line per element; Line: the object or array, and all it holds, on one line.
  enum class Layout { Block, Line };

  JsonWriter& begin_object(Layout layout = Layout::Block) { return open('{', layout); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array(Layout layout = Layout::Block) { return open('[', layout); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  // Bytes that are no UTF-8 become U+FFFD; what a terminal would obey is escaped.
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(Int number) { return raw(to_string(number)); }
  template <typename Integer>
  requires(std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>) JsonWriter& value(Integer number) {
    return value(static_cast<Int>(number));
  }
  JsonWriter& value(bool truth) { return raw(truth ? "true" : "false"); }
  JsonWriter& value(double number);  // shortest decimal that reads back; null when not finite
  JsonWriter& null() { return raw("null"); }
  template <typename T>
  JsonWriter& value(const std::optional<T>& maybe) {
    return maybe ? value(*maybe) : null();
  }

  // Other types write themselves: write_json(JsonWriter&, const T&), found beside the type.
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

  std::string text() && { return std::move(text_) + "\n"; }

 private:
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

  std::string text_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace pagoda::base
#pragma GCC visibility pop
