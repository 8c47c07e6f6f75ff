// Numbers as text, the same in every locale and with every standard library.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace pagoda::base {

// std::from_chars(), which libc++ provides for integers only.
std::from_chars_result read_number(const char* first, const char* last, double& value);
template <std::integral Number>
std::from_chars_result read_number(const char* first, const char* last, Number& value) {
  return std::from_chars(first, last, value);
}

// The number that `text` consists of; empty for other text, and for a number that `Number` cannot hold. Neither white
// space nor a plus sign is part of a number.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = read_number(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The number that `text` begins with: the 32 of "32 KiB".
template <typename Number>
std::optional<Number> leading_number(std::string_view text) {
  Number value{};
  const auto read = read_number(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

// std::to_chars() with a precision; without one, use shortest() of text.h.
std::string decimal(double value, std::chars_format format, int digits);

// The fallbacks for a <charconv> without doubles; compiled everywhere so that tests can compare the two.
namespace portable {
std::from_chars_result read_number(const char* first, const char* last, double& value);
std::string decimal(double value, std::chars_format format, int digits);
std::string shortest(double value);
}  // namespace portable

}  // namespace pagoda::base
#pragma GCC visibility pop
