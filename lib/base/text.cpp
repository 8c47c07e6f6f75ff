#include "pagoda/base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <set>

#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"
#include "pagoda/base/settings.h"

namespace pagoda::base {
namespace {

struct Range {
  char32_t first, last;
};

bool in(std::span<const Range> ranges, char32_t code_point) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return range.first <= code_point && code_point <= range.last; });
}

// C0, DEL and C1 controls; soft hyphen; Arabic letter mark; zero-width and direction marks; line separators;
// invisible operators and isolates; byte order mark; annotations; tags (Unicode 15, general categories Cc and Cf).
constexpr Range kUnsafe[] = {{0x00, 0x1F},     {0x7F, 0x9F},      {0xAD, 0xAD},     {0x61C, 0x61C},
                             {0x200B, 0x200F}, {0x2028, 0x202E},  {0x2060, 0x206F}, {0xFEFF, 0xFEFF},
                             {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F}};

// Scripts that terminals draw two columns wide (Unicode 15, East Asian Width W and F), coarsely.
constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},  {0x3041, 0xA4CF}, {0xAC00, 0xD7A3},
                           {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},  {0xFF00, 0xFF60}, {0xFFE0, 0xFFE6},
                           {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};

// Marks drawn over the letter before them.
constexpr Range kCombining[] = {{0x300, 0x36F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};

std::size_t columns_of(char32_t code_point) {
  if (code_point < 0x300) return 1;
  if (in(kCombining, code_point)) return 0;
  return in(kWide, code_point) ? 2 : 1;
}

constexpr std::array<std::string_view, 17> kPrefixes = {"y", "z", "a", "f", "p", "n", "µ", "m", "",
                                                        "k", "M", "G", "T", "P", "E", "Z", "Y"};
constexpr std::size_t kNoPrefix = 8;

// The least width of a column at which elided cells of different text still differ, at most `most`.
std::size_t distinct_width(const Grid& grid, std::size_t column, std::size_t most) {
  std::set<std::string_view> texts;
  for (const auto& row : grid.rows) texts.insert(row[column]);
  for (std::size_t width = grid.columns[column].shortest_width; width < most; ++width) {
    std::set<std::string> shown;
    if (std::ranges::all_of(texts, [&](std::string_view text) { return shown.insert(elide(text, width)).second; }))
      return width;
  }
  return most;
}

// The width of each column; 0 for columns left out because they are empty or do not fit.
std::vector<std::size_t> fit(const Grid& grid, std::size_t width) {
  constexpr std::size_t kGap = 2;
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < grid.columns.size(); ++c) {
    std::size_t widest = 0;
    for (const auto& row : grid.rows) widest = std::max(widest, display_width(row[c]));
    const bool says_nothing = widest == 0 && !grid.rows.empty();
    widths.push_back(says_nothing ? 0 : std::max(widest, display_width(grid.columns[c].header)));
  }
  if (width == 0) return widths;
  const auto total = [&] {
    std::size_t sum = 0;
    for (const std::size_t w : widths) sum += w == 0 ? 0 : w + kGap;
    return sum - kGap;
  };
  // Elides columns as far as allowed, then drops columns; the space of a dropped column goes back to elided ones. The
  // first column that may be elided names the rows: if half of the width suffices, its cells still tell rows apart.
  const std::vector<std::size_t> wanted = widths;
  std::vector<std::size_t> shortest;
  for (const Column& column : grid.columns) shortest.push_back(column.shortest_width);
  if (total() > width) {
    const auto names = static_cast<std::size_t>(
        std::ranges::find_if(shortest, [](std::size_t least) { return least > 0; }) - shortest.begin());
    if (names < shortest.size())
      shortest[names] = std::max(shortest[names], distinct_width(grid, names, std::min(widths[names], width / 2)));
  }
  const auto shrink = [&] {
    for (std::size_t c = 0; c < widths.size() && total() > width; ++c) {
      const std::size_t least = shortest[c];
      if (least == 0 || widths[c] <= least) continue;
      widths[c] = std::max(least, widths[c] - std::min(widths[c], total() - width));
    }
  };
  shrink();
  while (total() > width) {
    std::size_t dropped = widths.size();
    for (std::size_t c = 0; c < widths.size(); ++c)
      if (widths[c] != 0 && grid.columns[c].drop_order > 0 &&
          (dropped == widths.size() || grid.columns[c].drop_order > grid.columns[dropped].drop_order))
        dropped = c;
    if (dropped == widths.size()) break;
    widths[dropped] = 0;
    for (std::size_t c = 0; c < widths.size(); ++c)
      if (widths[c] != 0) widths[c] = wanted[c];
    shrink();
  }
  return widths;
}

}  // namespace

char32_t next_code_point(std::string_view text, std::size_t& position) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(position);
  const std::size_t begin = position++;
  if (lead < 0x80) return lead;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || begin + length > text.size()) return kReplacement;
  char32_t code_point = lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(begin + i) & 0xC0) != 0x80) return kReplacement;
    code_point = code_point << 6 | (byte(begin + i) & 0x3Fu);
  }
  // Overlong encoding, a surrogate, or beyond Unicode.
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (code_point < kLeast[length] || (code_point >= 0xD800 && code_point <= 0xDFFF) || code_point > 0x10FFFF)
    return kReplacement;
  position = begin + length;
  return code_point;
}

void append_utf8(std::string& text, char32_t code_point) {
  const auto byte = [&](char32_t bits) { text.push_back(static_cast<char>(static_cast<unsigned char>(bits))); };
  if (code_point < 0x80) return byte(code_point);
  const int more = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;  // bytes of six bits each
  byte((0xFF00u >> (more + 1) & 0xFF) | code_point >> 6 * more);
  for (int i = more; i-- > 0;) byte(0x80 | (code_point >> 6 * i & 0x3F));
}

bool is_unsafe(char32_t code_point) {
  if (code_point >= 0x20 && code_point < 0x7F) return false;
  return in(kUnsafe, code_point);
}

// Printable ASCII needs one column per byte and no escapes. Nearly all text is printable ASCII.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

std::size_t display_width(std::string_view text) {
  if (is_plain(text)) return text.size();
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size();) width += columns_of(next_code_point(text, i));
  return width;
}

std::string elide(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  std::vector<std::pair<std::size_t, std::size_t>> marks;  // offset and width of each code point
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    marks.emplace_back(begin, columns_of(next_code_point(text, i)));
  }
  // The end of a name is more informative than its beginning, so it gets the odd column.
  const std::size_t head_width = (width - 1) / 2;
  const std::size_t tail_width = width - 1 - head_width;
  std::size_t head = 0, used = 0;
  while (used + marks[head].second <= head_width) used += marks[head++].second;
  std::size_t tail = marks.size();
  used = 0;
  while (used + marks[tail - 1].second <= tail_width) used += marks[--tail].second;
  const std::string_view end = tail == marks.size() ? std::string_view() : text.substr(marks[tail].first);
  return cat(text.substr(0, marks[head].first), "…", end);
}

std::string concatenated(std::initializer_list<std::string_view> pieces) {
  std::size_t length = 0;
  for (const std::string_view piece : pieces) length += piece.size();
  std::string result;
  result.reserve(length);
  for (const std::string_view piece : pieces) result += piece;
  return result;
}

std::string field(std::string_view name, const Piece& value) {
  std::string text = cat("`", name);
  if (!value.text().empty()) text += '=';
  for (const char c : value.text()) text.append(c == '`' ? 2 : 1, c);
  return text += '`';
}

std::vector<std::string> split(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  for (std::size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator)) {
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + separator.size());
  }
  parts.emplace_back(text);
  return parts;
}

std::string grouped(Int value) {
  std::string digits = to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string si(Int value, std::string_view unit) {
  const bool negative = value < 0;
  // Three significant digits by integer arithmetic: the scale is a power of ten, halves round up.
  Int magnitude = negative ? -value : value;
  std::size_t exponent = 0;  // number of decimal digits removed
  while (magnitude >= 1000) {
    const bool rounds = magnitude < 10000;
    magnitude = (magnitude + (rounds ? 5 : 0)) / 10;
    ++exponent;
  }
  std::string digits = to_string(magnitude);
  constexpr std::size_t kExa = 6;
  const std::size_t prefix = std::min((exponent + digits.size() - 1) / 3, kExa);
  const std::size_t whole = exponent + digits.size() - 3 * prefix;
  if (prefix > 0) {
    if (whole < digits.size()) digits.insert(whole, 1, '.');
    if (whole > digits.size()) digits.append(whole - digits.size(), '0');
  }
  const std::string suffix = cat(kPrefixes[kNoPrefix + prefix], unit);
  return cat(negative ? "-" : "", digits, suffix.empty() ? "" : " ", suffix);
}

std::string si_text(double value, std::string_view unit, const SiStyle& style) {
  int power = style.least;
  double shown = value / std::pow(1000, power);
  const double next = 1000 - std::pow(10, 3 - style.digits) / 2;  // values from here on round to 1000
  for (; std::abs(shown) >= next && power < style.most; ++power) shown /= 1000;
  std::string text = value == 0 ? "0" : rounded(shown, style.digits);
  if (style.trims && text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  const std::string suffix =
      cat(value == 0 ? "" : *std::next(std::begin(kPrefixes), power + std::ptrdiff_t{kNoPrefix}), unit);
  return cat(text, suffix.empty() ? "" : " ", suffix);
}

std::string si_seconds(double seconds) {
  // Times are in nanoseconds at least, unless that shows a time above 0 as "0.000".
  constexpr double kLeast = 0.5e-12;
  return si_text(seconds, "s", {.least = seconds > 0 && seconds < kLeast ? -8 : -3, .most = 0, .trims = false});
}

std::string si_rate(double value, std::string_view unit) {
  return si_text(value, unit, {.least = 0, .most = 6, .trims = false});
}

std::string rounded(double value, int digits) {
  const double magnitude = std::abs(value);
  int decimals = digits;  // reduced by one for each digit before the point, after rounding
  for (double place = 1; decimals > 0 && magnitude >= place - std::pow(10, -decimals) / 2; place *= 10) --decimals;
  const bool is_long = magnitude >= 1e6;
  return decimal(value, is_long ? std::chars_format::scientific : std::chars_format::fixed,
                 is_long ? digits - 1 : decimals);
}

std::string aligned(const Grid& grid, std::size_t width) {
  const std::vector<std::size_t> widths = fit(grid, width);
  std::size_t last = 0;
  for (std::size_t c = 0; c < widths.size(); ++c)
    if (widths[c] != 0) last = c;
  std::string text;
  const auto add_line = [&](const auto& cell) {
    for (std::size_t c = 0; c < widths.size(); ++c) {
      if (widths[c] == 0) continue;
      const std::string shown = elide(cell(c), widths[c]);
      const std::size_t padding = widths[c] - std::min(widths[c], display_width(shown));
      const bool is_number = grid.columns[c].is_number;
      text.append(is_number ? padding : 0, ' ').append(shown);
      if (c != last) text.append(is_number ? 2 : padding + 2, ' ');
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    text += '\n';
  };
  add_line([&](std::size_t c) -> const std::string& { return grid.columns[c].header; });
  for (const auto& row : grid.rows) add_line([&](std::size_t c) -> const std::string& { return row[c]; });
  return text;
}

std::string printable(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const char32_t code_point = next_code_point(text, i);
    if (!is_unsafe(code_point)) {
      append_utf8(result, code_point);
      continue;
    }
    std::string digits;
    for (char32_t rest = code_point; rest != 0 || digits.size() < 2; rest >>= 4)
      digits.insert(0, 1, kDigits[rest & 0xF]);
    result += code_point <= 0xFF ? "\\x" + digits : "\\u{" + digits + "}";
  }
  return result;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);  // from the prefix of `from` read so far to each prefix of `to`
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (const char c : from) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (c == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::string_view nearest(std::string_view name, std::span<const std::string_view> known) {
  std::string_view best;
  std::size_t limit = std::max<std::size_t>(1, name.size() * 2 / 5);
  for (const std::string_view candidate : known)
    if (const std::size_t distance = edit_distance(name, candidate);
        distance < limit || (best.empty() && distance == limit)) {
      best = candidate;
      limit = distance;
    }
  return best;
}

std::string to_string(Int value) {
  if (const auto narrow = static_cast<std::int64_t>(value); narrow == value) return std::string(Piece(narrow).text());
  std::string digits;
  const bool negative = value < 0;
  // The most negative number cannot be negated: negate each digit instead.
  for (; value != 0; value /= 10) digits.push_back(static_cast<char>('0' + (negative ? -(value % 10) : value % 10)));
  if (negative) digits.push_back('-');
  return {digits.rbegin(), digits.rend()};
}

std::string setting_text(const Setting& setting) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return cat(value); }
    std::string operator()(double value) const { return shortest(value); }
    std::string operator()(const std::string& value) const { return value; }
  };
  return std::visit(Visitor(), setting);
}

}  // namespace pagoda::base
