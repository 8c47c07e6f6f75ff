// Outputs are the same in a process whose decimal point is a comma.
#include <doctest/doctest.h>

#include "pagoda/base/number.h"
#include "support/comma_locale.h"
#include "surroundings/outputs.h"

namespace pagoda {

TEST_CASE("no output depends on the locale of the process") {
  for (const test::Output& output : test::outputs()) {
    CAPTURE(std::string(output.name));
    const std::string expected = output.make();
    CHECK(expected.size() > 4);
    const test::CommaLocale locale;
    CHECK(output.make() == expected);
  }
}

TEST_CASE("numbers are read with a decimal point whatever the locale is") {
  const test::CommaLocale locale;
  if (!locale.is_of_c()) MESSAGE("C's functions kept the decimal point: this system has no such locale");
  CHECK(base::parse_number<double>("3.5396e-06") == 3.5396e-06);
  CHECK_FALSE(base::parse_number<double>("3,5396e-06"));
  CHECK(base::leading_number<double>("1.5 GB") == 1.5);
  CHECK(base::decimal(1234.5, std::chars_format::fixed, 1) == "1234.5");
}

}  // namespace pagoda
