// Doubles as text: the replacement for <charconv>, where that lacks doubles, gives the same bytes.
#include "pagoda/base/number.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "pagoda/base/text.h"

namespace pagoda::test {
namespace {

std::vector<double> samples() {
  using Limits = std::numeric_limits<double>;
  std::vector<double> values = {0,
                                -0.0,
                                1,
                                -1,
                                0.1,
                                100000,
                                1e5 + 0.5,
                                123456789,
                                1e15,
                                1e16,
                                1e21,
                                1e22,
                                1e23,
                                1e-4,
                                1e-5,
                                9.5,
                                0.001,
                                12345678901e10,
                                5e-324,
                                2.5,
                                1e100,
                                1e-300,
                                0.3,
                                2.0 / 3,
                                99999.5,
                                4.35,
                                1.5e300,
                                Limits::max(),
                                Limits::min(),
                                Limits::infinity(),
                                -Limits::infinity()};
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const double any = std::bit_cast<double>(random());
    if (std::isfinite(any)) values.push_back(any);
    values.push_back(static_cast<double>(random() % 2'000'000) / 1000);  // like measured values
    values.push_back(std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 80) - 60));
  }
  return values;
}

TEST_CASE("a text is a number as a whole or not at all") {
  struct Row {
    const char* text;
    std::optional<std::int32_t> integer;
    std::optional<double> real;
  };
  constexpr auto kNone = std::nullopt;
  for (const Row& row :
       {Row{"12", 12, 12}, Row{"-7", -7, -7}, Row{"0012", 12, 12}, Row{"2147483648", kNone, 2147483648.},
        Row{"1.5", kNone, 1.5}, Row{"2e3", kNone, 2000}, Row{"1e999", kNone, kNone}, Row{"1,5", kNone, kNone},
        Row{"", kNone, kNone}, Row{" 1", kNone, kNone}, Row{"1 ", kNone, kNone}, Row{"+1", kNone, kNone},
        Row{"x", kNone, kNone}, Row{"0x10", kNone, kNone},
        Row{"99999999999999999999999", kNone, 99999999999999999999999.}}) {
    CAPTURE(row.text);
    CHECK(base::parse_number<std::int32_t>(row.text) == row.integer);
    CHECK(base::parse_number<double>(row.text) == row.real);
  }
  CHECK_FALSE(base::parse_number<std::uint32_t>("-1"));
  CHECK(base::leading_number<int>("32 KiB") == 32);
  CHECK(base::leading_number<double>("0.50 0.40") == 0.5);
  CHECK_FALSE(base::leading_number<int>("KiB 32"));
}

TEST_CASE("numbers print alike with and without <charconv>") {
  for (const double value : samples()) {
    CAPTURE(value);
    CHECK(base::portable::shortest(value) == base::shortest(value));
    for (const auto format : {std::chars_format::fixed, std::chars_format::scientific, std::chars_format::general})
      if (format != std::chars_format::fixed || std::abs(value) < 1e200)
        CHECK(base::portable::decimal(value, format, 4) == base::decimal(value, format, 4));
  }
}

TEST_CASE("numbers are read alike with and without <charconv>") {
  std::vector<std::string> texts = {"",       "-",      ".",       "1.",         ".5",       "-.5e1",
                                    "+1",     "1e",     "1e+",     "1e+x",       "1e5x",     "1e999",
                                    "-1e999", "1e-999", "0e999",   "0.000e-999", " 1",       "1 ",
                                    "0x10",   "1,5",    "1..2",    "1-2",        "00012",    "1e05",
                                    "--1",    "e5",     "1E-3 GB", "918MHz",     "4.9e-324", "1.7976931348623158e308"};
  for (const double value : samples())
    if (std::isfinite(value)) texts.push_back(base::shortest(value) + (texts.size() % 3 == 0 ? "B" : ""));
  for (const std::string& text : texts) {
    CAPTURE(text);
    double found = -7, expected = -7;
    const char *first = text.data(), *last = first + text.size();
    const auto portable = base::portable::read_number(first, last, found);
    const auto standard = base::read_number(first, last, expected);
    CHECK(portable.ptr - first == standard.ptr - first);
    CHECK(portable.ec == standard.ec);
    CHECK(found == expected);
  }
}

}  // namespace
}  // namespace pagoda::test
