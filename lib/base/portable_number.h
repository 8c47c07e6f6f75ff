// The fallback of number.cpp for <charconv> without doubles; compiled everywhere so that tests can compare the two.
#pragma once

#include <charconv>
#include <string>

namespace pagoda::base::portable {

std::from_chars_result read_number(const char* first, const char* last, double& value);
std::string decimal(double value, std::chars_format format, int digits);
std::string shortest(double value);

}  // namespace pagoda::base::portable
