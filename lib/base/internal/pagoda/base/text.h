// Text for people: UTF-8 without terminal control characters, columns, SI units.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pagoda/base/integer.h"

#pragma GCC visibility push(default)
namespace pagoda::base {

inline constexpr char32_t kReplacement = 0xFFFD;

// The code point at `position`, which advances past it; for invalid UTF-8, kReplacement, advancing one byte.
char32_t next_code_point(std::string_view text, std::size_t& position);
void append_utf8(std::string& text, char32_t code_point);

// Whether the code point could mislead a terminal or a reader: control characters, direction marks, invisible spaces.
bool is_unsafe(char32_t code_point);

// Whether the text is printable ASCII throughout.
bool is_plain(std::string_view text);

// Columns that a terminal needs for printable text.
std::size_t display_width(std::string_view text);

// At most `width` columns: the middle is replaced by "…".
std::string elide(std::string_view text, std::size_t width);

// "a, b, c". `text` converts each item to text.
template <typename Items, typename Text = std::identity>
std::string joined(const Items& items, std::string_view separator = ", ", Text text = {}) {
  std::string result;
  bool is_first = true;
  for (const auto& item : items) (result += std::exchange(is_first, false) ? "" : separator) += std::invoke(text, item);
  return result;
}

// "a, b, c" → {"a", "b", "c"}; an empty text has one part, which is empty.
std::vector<std::string> split(std::string_view text, std::string_view separator);

// "1,234,567".
std::string grouped(Int value);
// Three significant digits and a prefix: "1.23 M" + unit; the exact number below 1000: "512 " + unit.
std::string si(Int value, std::string_view unit = "");
// How many digits a measured number shows, and which SI prefixes it may take.
struct SiStyle {
  int least = -8, most = 8;  // powers of 1000: yocto to yotta
  int digits = 3;
  bool trims = true;  // "1.2 T" for "1.20 T"
};
std::string si_text(double value, std::string_view unit, const SiStyle& style = {});
// "1.23 ms", "0 s".
std::string si_seconds(double seconds);
// "1.23 T" + unit.
std::string si_rate(double value, std::string_view unit);
// Shortest decimal that reads back as `value`.
std::string shortest(double value);
// Three significant digits by default.
std::string rounded(double value, int digits = 3);

struct Column {
  std::string header;
  bool is_number = false;          // aligned right
  int drop_order = 0;              // 0: always shown; if space is short, the highest is dropped first
  std::size_t shortest_width = 0;  // may be elided to this width; 0: never elided
};

struct Grid {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

// The grid as aligned lines. `width` 0: unlimited.
std::string aligned(const Grid& grid, std::size_t width);

// `text` safe for terminals: control and direction characters become \x1b or \u{202e}, invalid UTF-8 becomes U+FFFD.
std::string printable(std::string_view text);

// ASCII letters in lower case.
std::string lower(std::string_view text);

// Number of letters to insert, delete or replace to turn one text into the other.
std::size_t edit_distance(std::string_view from, std::string_view to);

// The known name that a misspelt one may mean: "batch" for "btach". Its edit distance is the least, and at most 2/5 of
// the letters of `name`; empty if none is that near.
std::string_view nearest(std::string_view name, std::span<const std::string_view> known);

}  // namespace pagoda::base
#pragma GCC visibility pop
