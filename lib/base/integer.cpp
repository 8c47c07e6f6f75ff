#include "pagoda/base/integer.h"

#include <charconv>
#include <cstdint>

namespace pagoda::base {

std::string to_string(Int value) {
  if (const auto narrow = static_cast<std::int64_t>(value); narrow == value) {
    char text[20];  // of −2^63
    return {text, std::to_chars(text, text + sizeof text, narrow).ptr};
  }
  std::string digits;
  const bool negative = value < 0;
  // The most negative number cannot be negated: negate each digit instead.
  for (; value != 0; value /= 10) digits.push_back(static_cast<char>('0' + (negative ? -(value % 10) : value % 10)));
  if (negative) digits.push_back('-');
  return {digits.rbegin(), digits.rend()};
}

}  // namespace pagoda::base
