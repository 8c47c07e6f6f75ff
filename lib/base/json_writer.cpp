#include "pagoda/base/json_writer.h"

#include <array>
#include <cmath>

#include "json_number.h"
#include "pagoda/base/json.h"
#include "pagoda/base/text.h"

namespace pagoda::base {

JsonWriter& JsonWriter::open(char bracket, Layout layout) {
  begin_value();
  if (!levels_.empty() && levels_.back().layout != Layout::Block) layout = levels_.back().layout;
  text_ += bracket;
  levels_.push_back({layout});
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  const Level level = levels_.back();
  levels_.pop_back();
  if (level.layout == Layout::Block && !level.empty) text_.append("\n").append(2 * levels_.size(), ' ');
  text_ += bracket;
  return *this;
}

// Writes the comma and the line break before a key or an element.
void JsonWriter::separate() {
  if (levels_.empty()) return;
  Level& level = levels_.back();
  if (!level.empty) text_ += ',';
  if (level.layout == Layout::Block) {
    text_ += '\n';
    text_.append(2 * levels_.size(), ' ');
  } else if (!level.empty && level.layout == Layout::Line) {
    text_ += ' ';
  }
  level.empty = false;
}

void JsonWriter::begin_value() {
  if (!after_key_) separate();
  after_key_ = false;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_string(name);
  text_ += ':';
  if (levels_.back().layout != Layout::Compact) text_ += ' ';
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view token) {
  begin_value();
  text_ += token;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  begin_value();
  append_string(text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  return raw(style_ == Style::Plain ? json_number(number) : shortest(number));
}

JsonWriter& JsonWriter::value(const Setting& setting) {
  std::visit(
      [this](const auto& content) {
        if constexpr (std::is_same_v<decltype(content), const std::monostate&>)
          null();
        else
          value(content);
      },
      setting);
  return *this;
}

JsonWriter& JsonWriter::value(const Settings& settings, Layout layout) {
  begin_object(layout);
  for (const auto& [name, setting] : settings) key(name).value(setting);
  return end_object();
}

JsonWriter& JsonWriter::value(const JsonValue& tree) {
  std::visit(
      [this](const auto& content) {
        using Content = std::decay_t<decltype(content)>;
        if constexpr (std::is_same_v<Content, std::monostate>) {
          null();
        } else if constexpr (std::is_same_v<Content, JsonValue::Array>) {
          begin_array(Layout::Compact);
          for (const JsonValue& element : content) value(element);
          end_array();
        } else if constexpr (std::is_same_v<Content, JsonValue::Object>) {
          begin_object(Layout::Compact);
          for (const JsonMember& member : content) key(member.key).value(member.value);
          end_object();
        } else {
          value(content);
        }
      },
      tree.content);
  return *this;
}

namespace {

// Characters that need no escape.
constexpr std::array<bool, 256> kAsItIs = [] {
  std::array<bool, 256> table{};
  for (std::size_t c = 0x20; c < 0x7F; ++c) table[c] = c != '"' && c != '\\';
  return table;
}();

}  // namespace

void JsonWriter::append_string(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto escape = [&](char32_t unit) {
    text_ += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) text_ += kDigits[unit >> shift & 0xF];
  };
  text_ += '"';
  const auto is_as_it_is = [](char c) { return kAsItIs[static_cast<unsigned char>(c)]; };
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    while (i < text.size() && is_as_it_is(text[i])) ++i;
    text_.append(text.data() + begin, i - begin);
    if (i == text.size()) break;
    const char32_t code_point = next_code_point(text, i);
    if (code_point == '"' || code_point == '\\') {
      text_ += '\\';
      text_ += static_cast<char>(code_point);
    } else if (code_point == '\n') {
      text_ += "\\n";
    } else if (code_point == '\t') {
      text_ += "\\t";
    } else if (style_ == Style::Plain && (code_point == '\b' || code_point == '\f' || code_point == '\r')) {
      text_ += code_point == '\b' ? "\\b" : code_point == '\f' ? "\\f" : "\\r";
    } else if (style_ == Style::Plain ? code_point >= 0x20 : !is_unsafe(code_point)) {
      append_utf8(text_, code_point);
    } else if (code_point < 0x10000) {
      escape(code_point);
    } else {  // a surrogate pair (RFC 8259 §7)
      escape(0xD800 + ((code_point - 0x10000) >> 10));
      escape(0xDC00 + ((code_point - 0x10000) & 0x3FF));
    }
  }
  text_ += '"';
}

}  // namespace pagoda::base
