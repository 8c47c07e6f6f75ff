// Numbers and tables as programs print them in the locales of their users. The property at the end writes tables by the
// conventions of locales, which are those of the Unicode CLDR, and reads them back.
#include "pagoda/base/csv_table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/base/number.h"

namespace pagoda::base {
namespace {

constexpr double kNone = -1;  // refused

// The numbers of column "time" below a header; kNone alone: refused.
std::vector<double> times(const std::string& text) {
  try {
    CsvTable table(text, "t.csv", has_column("time"), "no header");
    table.expect_all_numbers();
    std::vector<double> result;
    while (table.next()) result.push_back(table.number(table.find({"time"})));
    return result;
  } catch (const Error&) {
    return {kNone};
  }
}

std::string message(const std::string& text) {
  try {
    CsvTable table(text, "t.csv", has_column("time"), "no header");
    table.expect_all_numbers();
    while (table.next()) (void)table.number(table.find({"time"}));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a number is read with each decimal mark that explains it") {
  struct Case {
    const char* text;
    double with_point, with_comma;  // kNone: no number
    const char* why;
  };
  // clang-format off
  constexpr Case kCases[] = {
      {"12",            12,        12,        "whole"},
      {"12.34",         12.34,     kNone,     "two digits are no group"},
      {"12,34",         kNone,     12.34,     ""},
      {"12.345",        12.345,    12345,     "a fraction, or a group"},
      {"12,345",        12345,     12.345,    ""},
      {"0.345",         0.345,     kNone,     "no group begins with 0"},
      {"0,345",         kNone,     0.345,     ""},
      {"1234.567",      1234.567,  kNone,     "four digits are no first group"},
      {"1.234,5",       kNone,     1234.5,    "Germany"},
      {"1,234.5",       1234.5,    kNone,     "United States"},
      {"1,234,567",     1234567,   kNone,     "groups repeat, decimal marks do not"},
      {"1.234.567",     kNone,     1234567,   ""},
      {"12,34,567.5",   1234567.5, kNone,     "India"},
      {"1,23,45",       kNone,     kNone,     "the last group has three digits"},
      {"12 345,6",      kNone,     12345.6,   "a space"},
      {"12\u00a0345,6", kNone,     12345.6,   "a no-break space"},
      {"12\u202f345,6", kNone,     12345.6,   "a narrow no-break space: France"},
      {"12\u2009345.6", 12345.6,   kNone,     "a thin space: SI"},
      {"12 345",        12345,     12345,     ""},
      {"1 2",           kNone,     kNone,     "two numbers"},
      {"1'234.5",       1234.5,    kNone,     "Switzerland"},
      {"1\u2019234.5",  1234.5,    kNone,     "Switzerland, as CLDR writes it"},
      {"1'234,567.5",   kNone,     kNone,     "two kinds of groups"},
      {"1,234.567,8",   kNone,     kNone,     ""},
      {"1.5e-3",        1.5e-3,    kNone,     ""},
      {"1,5E+3",        kNone,     1500,      ""},
      {"1.234e3",       1234,      kNone,     "no program groups digits before an exponent"},
      {"+7",            7,         7,         ""},
      {"\u22127",       -7,        -7,        "a minus of typographers"},
      {" 3e9 ",         3e9,       3e9,       ""},
      {"158 (0: 158)",  158,       158,       "ncu's instances"},
      {".5",            0.5,       kNone,     ""},
      {"5.",            5,         kNone,     ""},
      {"1.2.3",         kNone,     kNone,     "a version"},
      {"n/a",           kNone,     kNone,     ""},
      {"nan",           kNone,     kNone,     ""},
      {"inf",           kNone,     kNone,     ""},
      {"1e999",         kNone,     kNone,     "more than a double holds"},
      {"",              kNone,     kNone,     ""},
      {"-",             kNone,     kNone,     ""},
      {"12 us",         kNone,     kNone,     "with a unit"},
      {"0x10",          kNone,     kNone,     ""},
  };
  // clang-format on
  for (const Case& each : kCases) {
    CAPTURE(std::string(each.text));
    CAPTURE(std::string(each.why));
    const PrintedNumber found = printed(each.text);
    CHECK(found.with_point.value_or(kNone) == doctest::Approx(each.with_point == -7 ? -7 : each.with_point));
    CHECK(found.with_comma.value_or(kNone) == doctest::Approx(each.with_comma));
  }
}

TEST_CASE("a table's numbers are read as the whole of it shows, or refused") {
  struct Case {
    std::string text;
    std::vector<double> times;
    const char* why;
  };
  const Case cases[] = {
      {"time,name\n12.345,a\n", {12.345}, "cells between commas and no quotes: the point is the decimal mark"},
      {"time,name\n\"12,34\",a\n\"7,5\",b\n", {12.34, 7.5}, "decimal commas in quotes"},
      {"time,name\n\"12,34\",a\n\"12,345\",b\n", {12.34, 12.345}, "the first number shows what the second is"},
      {"time,name\n\"1,234.5\",a\n\"12,345\",b\n", {1234.5, 12345}, ""},
      {"time,name\n\"12,345\",a\n", {kNone}, "12.345 or 12345"},
      {"time;name\n12,345;a\n", {kNone}, ""},
      {"time;name\n12.345;a\n", {kNone}, "a table of semicolons may have decimal commas"},
      {"time;name\n12.345;a\n7,5;b\n", {12345, 7.5}, ""},
      {"time;name\n12.345;a\n7.5;b\n", {12.345, 7.5}, ""},
      {"time;name\n12.345;a\n123456;b\n", {12.345, 123456}, "a program that groups would have grouped the second"},
      {"time;name\n12,345;a\n123456;b\n", {12.345, 123456}, ""},
      {"time;watts\n12.345;7,5\n", {12345}, "another column shows it"},
      {"time,watts\n12.345,\"7,5\"\n", {12345}, "also between commas"},
      {"time;a;b\n12.345;7,5;7.5\n", {kNone}, "the other columns contradict each other"},
      {"time;name\n7.5;a\n7,5;b\n", {kNone}, "the column mixes two locales"},
      {"time;name\n12 345,6;a\n12 345;b\n", {12345.6, 12345}, ""},
      {"time;name\n1'234.5;a\n1.234;b\n", {1234.5, 1.234}, ""},
      {"time\tname\r\n7,5\ta\r\n", {7.5}, "tabs"},
      {"\xEF\xBB\xBFtime;name\r\n7,5;a\r\n", {7.5}, "a byte order mark"},
      {"sep=;\r\ntime;name\r\n7,5;a\r\n", {7.5}, "Excel's first line"},
      {"time;name\r7,5;a\r8,5;b\r", {7.5, 8.5}, "lines that end in CR"},
      {"hello, world\n\ntime,name\n7.5,a\n", {7.5}, "lines of another program above the header"},
      {"time,name\n7.5\n", {kNone}, "cut off"},
      {"time,name\nn/a,a\n", {kNone}, "no number"},
      {"zeit;name\n7,5;a\n", {kNone}, "no such column"},
  };
  for (const Case& each : cases) {
    CAPTURE(each.text);
    CAPTURE(std::string(each.why));
    CHECK(times(each.text) == each.times);
  }
}

TEST_CASE("a refusal names the cell, its readings and the remedy") {
  CHECK(message("time;name\n12,345;a\n") ==
        "t.csv, line 2: \"12,345\" is 12345 or 12.345, and no other number of the file shows which; print numbers "
        "without separators of thousands (LC_ALL=C), and fractions with a decimal point");
  CHECK(message("time;name\n7.5;a\n7,5;b\n") ==
        "t.csv, line 2: \"7.5\" has another decimal mark than other numbers of the column \"time\"; print them all in "
        "one locale");
}

TEST_CASE("a table written in any locale is read back as the same numbers, or refused") {
  struct Locale {
    const char* name;
    std::string decimal, group;
    std::size_t least;  // digits before the decimal mark from which digits are grouped
    bool is_indian = false;
  };
  const Locale locales[] = {
      {"C", ".", "", 99},          {"C with commas", ",", "", 99},    {"en_US", ".", ",", 4},
      {"en_IN", ".", ",", 4, true}, {"de_DE", ",", ".", 4},           {"es_ES", ",", ".", 5},
      {"fr_FR", ",", "\u202f", 4}, {"ru_RU", ",", "\u00a0", 4},      {"de_CH", ".", "\u2019", 4},
      {"pl_PL", ",", "\u00a0", 5}, {"SI", ".", "\u2009", 5},         {"by hand", ",", " ", 4},
  };
  const auto written = [](const Locale& locale, double value, int digits) {
    std::string text = decimal(value, std::chars_format::fixed, digits);
    const std::size_t point = std::min(text.find('.'), text.size());
    std::string whole = text.substr(0, point);
    if (whole.size() >= locale.least)
      for (std::size_t step = 3, at = whole.size(); at > step; step = locale.is_indian ? 2 : 3)
        whole.insert(at -= step, locale.group);
    return point == text.size() ? whole : whole + locale.decimal + text.substr(point + 1);
  };
  std::mt19937_64 random(51);
  std::size_t read = 0, refused = 0;
  for (int round = 0; round < 4000; ++round)
    for (const Locale& locale : locales) {
      for (const char separator : {',', ';', '\t'}) {
        const bool quotes_all = random() % 2 == 0;
        const int digits = static_cast<int>(random() % 4);
        std::string text = cat("time", std::string(1, separator), "name\n");
        std::vector<double> expected;
        for (std::size_t rows = 1 + random() % 4; rows > 0; --rows) {
          const double scale = std::pow(10, static_cast<double>(random() % 9));
          const double exact = static_cast<double>(random() % 1000) / 1000 * scale;
          // What the text holds: rounded to its digits.
          expected.push_back(*parse_number<double>(decimal(exact, std::chars_format::fixed, digits)));
          std::string cell = written(locale, exact, digits);
          if (quotes_all || cell.find(separator) != std::string::npos) cell = cat("\"", cell, "\"");
          text += cat(cell, std::string(1, separator), "x\n");
        }
        const std::vector<double> found = times(text);
        found == std::vector{kNone} ? ++refused : ++read;
        // Cells between commas and no quotes are those of a program that knows no locale: "12.345" is a fraction.
        if (locale.group == "." && separator == ',' && text.find('"') == std::string::npos) continue;
        CAPTURE(std::string(locale.name));
        CAPTURE(text);
        if (found != std::vector{kNone}) REQUIRE(found == expected);
      }
    }
  MESSAGE(read, " tables read, ", refused, " refused");
  CHECK(read > 10 * refused);
}

}  // namespace pagoda::base
