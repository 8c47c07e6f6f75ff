// Doubles as text, the same in every locale and with every standard library.
#pragma once

#include <charconv>
#include <concepts>
#include <string>

#pragma GCC visibility push(default)
namespace pagoda::base {

// std::from_chars(), which libc++ provides for integers only.
std::from_chars_result read_number(const char* first, const char* last, double& value);
template <std::integral Number>
std::from_chars_result read_number(const char* first, const char* last, Number& value) {
  return std::from_chars(first, last, value);
}

// std::to_chars() with a precision; without one, use shortest() of text.h.
std::string decimal(double value, std::chars_format format, int digits);

}  // namespace pagoda::base
#pragma GCC visibility pop
