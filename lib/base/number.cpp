#include "pagoda/base/number.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <locale>
#include <optional>
#include <sstream>
#include <string_view>

#include "pagoda/base/text.h"

namespace pagoda::base {
namespace portable {
namespace {

const char* digits_end(const char* at, const char* last) {
  while (at != last && std::isdigit(static_cast<unsigned char>(*at)) != 0) ++at;
  return at;
}

// The end of the finite number std::from_chars() would parse (callers need no others); `first` if there is none.
const char* number_end(const char* first, const char* last) {
  const char* at = first != last && *first == '-' ? first + 1 : first;
  const char* const whole = at;
  at = digits_end(at, last);
  auto digits = at - whole;
  if (at != last && *at == '.') {
    const char* const fraction = digits_end(at + 1, last);
    digits += fraction - at - 1;
    at = fraction;
  }
  if (digits == 0) return first;
  if (at == last || (*at != 'e' && *at != 'E')) return at;
  const char* power = at + 1;
  if (power != last && (*power == '-' || *power == '+')) ++power;
  const char* const end = digits_end(power, last);
  return end == power ? at : end;
}

// The nearest double; empty if that is infinite.
std::optional<double> value_of(const std::string& text) {
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  double value = 0;
  stream >> value;
  // A stream reports overflow by the largest double and a failure; a failure alone means a subnormal number.
  const bool is_infinite = !std::isfinite(value) || (!stream && std::abs(value) == std::numeric_limits<double>::max());
  return is_infinite ? std::nullopt : std::optional(value);
}

std::string special(double value) {
  return std::string(std::signbit(value) ? "-" : "") + (std::isnan(value) ? "nan" : "inf");
}

}  // namespace

std::from_chars_result read_number(const char* first, const char* last, double& value) {
  const char* const end = number_end(first, last);
  if (end == first) return {first, std::errc::invalid_argument};
  const std::string text(first, end);
  const std::optional<double> found = value_of(text);
  const bool is_zero = text.substr(0, text.find_first_of("eE")).find_first_of("123456789") == std::string::npos;
  if (!found || (*found == 0 && !is_zero)) return {end, std::errc::result_out_of_range};
  value = *found;
  return {end, std::errc()};
}

std::string decimal(double value, std::chars_format format, int digits) {
  if (!std::isfinite(value)) return special(value);
  std::ostringstream stream;
  stream.imbue(std::locale::classic());
  if (format == std::chars_format::fixed) stream.setf(std::ios::fixed, std::ios::floatfield);
  if (format == std::chars_format::scientific) stream.setf(std::ios::scientific, std::ios::floatfield);
  stream.precision(digits);
  stream << value;
  return stream.str();
}

std::string shortest(double value) {
  if (!std::isfinite(value)) return special(value);
  constexpr int kEnough = std::numeric_limits<double>::max_digits10 - 1;  // after the point
  int digits = 0;
  std::string scientific = decimal(value, std::chars_format::scientific, digits);
  while (digits < kEnough && value_of(scientific) != value)
    scientific = decimal(value, std::chars_format::scientific, ++digits);
  const std::size_t exponent = scientific.find('e') + 1;  // behind it a sign and digits
  const int digits_before = parse_number<int>(scientific.substr(exponent + 1)).value_or(0);
  const int power = scientific[exponent] == '-' ? -digits_before : digits_before;
  if (std::abs(power) > kEnough + 10) return scientific;
  const std::string fixed = decimal(value, std::chars_format::fixed, std::max(0, digits - power));
  return fixed.size() <= scientific.size() ? fixed : scientific;
}

}  // namespace portable

#ifdef __cpp_lib_to_chars  // includes doubles: libstdc++ 11 and later
std::from_chars_result read_number(const char* first, const char* last, double& value) {
  return std::from_chars(first, last, value);
}

std::string decimal(double value, std::chars_format format, int digits) {
  char text[512];  // the largest double has 309 digits before the point
  return {text, std::to_chars(text, text + sizeof text, value, format, digits).ptr};
}

std::string shortest(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}
#else
std::from_chars_result read_number(const char* first, const char* last, double& value) {
  return portable::read_number(first, last, value);
}
std::string decimal(double value, std::chars_format format, int digits) {
  return portable::decimal(value, format, digits);
}
std::string shortest(double value) { return portable::shortest(value); }
#endif

}  // namespace pagoda::base
