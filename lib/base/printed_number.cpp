#include "pagoda/base/printed_number.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string>
#include <vector>

#include "pagoda/base/number.h"

namespace pagoda::base {
namespace {

using namespace std::string_view_literals;

// Characters that only group digits, and the minus that typographers use.
constexpr std::array kSpaces = {" "sv,      "\u00a0"sv, "\u2009"sv, "\u202f"sv,
                                "\u2007"sv, "\u2006"sv, "\u2008"sv, "\t"sv};
constexpr std::array kApostrophes = {"'"sv, "\u2019"sv};
constexpr std::string_view kMinus = "\u2212";

constexpr char kGroupSpace = ' ', kGroupApostrophe = '\'';  // which stand for all of these

// The text in ASCII, without spaces at its ends; empty if it has other characters.
std::string plain(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto starts = [&](std::string_view mark) { return text.starts_with(mark); };
    const auto* const space = std::ranges::find_if(kSpaces, starts);
    const auto* const apostrophe = std::ranges::find_if(kApostrophes, starts);
    std::size_t length = 1;
    if (space != kSpaces.end()) {
      result += kGroupSpace, length = space->size();
    } else if (apostrophe != kApostrophes.end()) {
      result += kGroupApostrophe, length = apostrophe->size();
    } else if (text.starts_with(kMinus)) {
      result += '-', length = kMinus.size();
    } else {
      result += text.front();
    }
    text.remove_prefix(length);
  }
  const std::size_t begin = result.find_first_not_of(kGroupSpace);
  return begin == std::string::npos ? "" : result.substr(begin, result.find_last_not_of(kGroupSpace) - begin + 1);
}

// The digits of "1234567", "1,234,567" or "12,34,567", which one character other than `decimal` groups; empty for other
// groups.
std::optional<std::string> ungrouped(std::string_view text, char decimal) {
  std::string digits;
  std::vector<std::size_t> lengths = {0};
  char separator = 0;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      digits += c;
      ++lengths.back();
      continue;
    }
    const bool groups = c == kGroupSpace || c == kGroupApostrophe || ((c == ',' || c == '.') && c != decimal);
    if (!groups || (separator != 0 && c != separator)) return std::nullopt;
    separator = c;
    lengths.push_back(0);
  }
  if (lengths.size() == 1) return digits;
  const auto inner = [&](std::size_t length) {
    return std::all_of(lengths.begin() + 1, lengths.end() - 1, [&](std::size_t each) { return each == length; });
  };
  const bool is_western = lengths.front() <= 3 && inner(3), is_indian = lengths.front() <= 2 && inner(2);
  const bool is_grouped = lengths.front() > 0 && lengths.back() == 3 && (is_western || is_indian);
  // No program groups "0,123".
  return is_grouped && digits.front() != '0' ? std::optional(digits) : std::nullopt;
}

// `text` with an optional sign, digits, a decimal mark and an exponent.
std::optional<double> value_of(std::string_view text, char decimal) {
  std::string digits;
  if (text.starts_with('-') || text.starts_with('+')) {
    if (text.front() == '-') digits = "-";
    text.remove_prefix(1);
  }
  const std::size_t exponent = std::min(text.find_first_of("eE"), text.size());
  const std::string_view number = text.substr(0, exponent);
  const std::size_t mark = std::min(number.find(decimal), number.size());
  const std::optional<std::string> whole = ungrouped(number.substr(0, mark), decimal);
  if (!whole || (exponent < text.size() && whole->size() != mark)) return std::nullopt;  // no groups with an exponent
  const std::string_view fraction = number.substr(std::min(mark + 1, number.size()));
  if (fraction.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  (digits += *whole).append(".").append(fraction).append(text.substr(exponent));
  const std::optional<double> value = parse_number<double>(digits);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace

PrintedNumber printed(std::string_view text) {
  const bool is_whole = text.find_first_not_of("0123456789") == std::string_view::npos;  // as most are
  if (const auto value = is_whole ? parse_number<double>(text) : std::nullopt) return {value, value, text.size() >= 5};
  if (const std::size_t instances = text.find(" ("); instances != std::string_view::npos)
    text = text.substr(0, instances);
  const std::string number = plain(text);
  const std::size_t begin = std::min(number.find_first_of("0123456789"), number.size());
  const std::size_t end = std::min(number.find_first_not_of("0123456789", begin), number.size());
  return {value_of(number, '.'), value_of(number, ','), end - begin >= 5};
}

void Marks::see(std::string_view text) {
  const PrintedNumber number = printed(text);
  is_ungrouped |= number.is_ungrouped;
  if (number.is_ambiguous())  // the larger reading takes the mark for one of groups
    (std::abs(*number.with_point) < std::abs(*number.with_comma) ? may_be_point : may_be_comma) = true;
  else if (number.with_point != number.with_comma)
    (number.with_point ? has_point : has_comma) = true;
}

std::optional<DecimalMark> Marks::decimal() const {
  const bool point = shows(DecimalMark::Point);
  if (point == shows(DecimalMark::Comma)) return std::nullopt;
  return point ? DecimalMark::Point : DecimalMark::Comma;
}

}  // namespace pagoda::base
