#include "pagoda/base/json_writer.h"

#include <cmath>
#include <cstring>

#include "pagoda/base/cat.h"
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
  if (level.layout == Layout::Line && !level.empty) {
    text_.append(", ", 2);
    return;
  }
  if (!level.empty) text_ += ',';
  if (level.layout == Layout::Block) {
    text_ += '\n';
    text_.append(2 * levels_.size(), ' ');
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
  text_.append(": ", levels_.back().layout == Layout::Compact ? 1 : 2);
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

JsonWriter& JsonWriter::value(Int number) {
  const auto narrow = static_cast<std::int64_t>(number);
  return narrow == number ? raw(Piece(narrow).text()) : raw(to_string(number));
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  if (number == 0) number = 0;  // a zero without a sign: a reader of integers does not keep it
  return raw(style_ == Style::Plain ? json_number(number) : shortest(number));
}

JsonWriter& JsonWriter::value(const Setting& setting) {
  std::visit([this](const auto& content) { value(content); }, setting);
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
        if constexpr (std::is_same_v<Content, JsonValue::Array>) {
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

bool needs_no_escape(char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

// Whether all eight characters need no escape. In a byte with its high bit off, adding 0x80 − n sets that bit for
// values from n on; a byte that equals c is zero in the difference from c.
bool are_as_they_are(std::uint64_t eight) {
  constexpr std::uint64_t kOnes = 0x0101010101010101, kHigh = 0x80 * kOnes;
  const auto from = [&](std::uint64_t bytes, std::uint64_t least) { return bytes + kOnes * (0x80 - least); };
  const std::uint64_t printable = from(eight, 0x20) & ~from(eight, 0x7F);
  const std::uint64_t others = from(eight ^ '"' * kOnes, 1) & from(eight ^ '\\' * kOnes, 1);
  return (~eight & printable & others & kHigh) == kHigh;
}

// The length of the part from `begin` on that needs no escape.
std::size_t plain_length(std::string_view text, std::size_t begin) {
  std::size_t i = begin;
  for (std::uint64_t eight; i + sizeof eight <= text.size(); i += sizeof eight) {
    std::memcpy(&eight, text.data() + i, sizeof eight);
    if (!are_as_they_are(eight)) break;
  }
  while (i < text.size() && needs_no_escape(text[i])) ++i;
  return i - begin;
}

}  // namespace

void JsonWriter::append_string(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto escape = [&](char32_t unit) {
    text_ += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) text_ += kDigits[unit >> shift & 0xF];
  };
  text_ += '"';
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t plain = plain_length(text, i);
    text_.append(text.data() + i, plain);
    i += plain;
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
