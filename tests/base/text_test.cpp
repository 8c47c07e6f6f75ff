// Text for people: rounding, columns, and names that try to control a terminal.
#include "pagoda/base/text.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "pagoda/base/cat.h"

namespace pagoda::base {
namespace {

TEST_CASE("cat() joins texts, characters and integers of every width") {
  const std::string owned = "owned";
  CHECK(cat() == "");
  CHECK(cat("a", owned, std::string_view("view"), 'c') == "aownedviewc");
  CHECK(cat(0, "/", -1, "/", std::size_t{42}) == "0/-1/42");
  CHECK(cat(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(cat(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
}

TEST_CASE("SI numbers have three significant digits, rounded half up, and are exact below 1000") {
  struct Row {
    Int value;
    const char* unit;
    const char* text;
  };
  const Row kRows[] = {
      {0, "", "0"},
      {7, "B", "7 B"},
      {999, "", "999"},
      {1000, "", "1.00 k"},
      {1234, "B", "1.23 kB"},
      {1235, "", "1.24 k"},
      {99'949, "", "99.9 k"},
      {99'950, "", "100 k"},
      {999'499, "", "999 k"},
      {999'500, "", "1.00 M"},
      {4'089'184'256, "", "4.09 G"},
      {Int{1'000'000'000'000'000'000} * 1000, "", "1000 E"},
      {Int{123'456'000'000'000'000} * 1000'000, "B", "123000 EB"},
      {-1500, "", "-1.50 k"},
  };
  for (const Row& row : kRows) CHECK(base::si(row.value, row.unit) == row.text);
}

TEST_CASE("numbers are grouped, and reals shortened, without a locale") {
  CHECK(base::grouped(0) == "0");
  CHECK(base::grouped(999) == "999");
  CHECK(base::grouped(1000) == "1,000");
  CHECK(base::grouped(-1234567) == "-1,234,567");
  CHECK(base::grouped(Int{1} << 80) == "1,208,925,819,614,629,174,706,176");
  CHECK(base::shortest(0.1) == "0.1");
  CHECK(base::shortest(1.0 / 3) == "0.3333333333333333");
  CHECK(base::shortest(24.0) == "24");
  CHECK(base::rounded(0.0123) == "0.012");
  CHECK(base::rounded(1.005) == "1.00");
  CHECK(base::rounded(9.996) == "10.0");
  CHECK(base::rounded(99.96) == "100");
  CHECK(base::rounded(12345678.0) == "1.23e+07");
}

TEST_CASE("printable text holds nothing that a terminal obeys") {
  struct Row {
    const char* raw;
    const char* shown;
    const char* why;
  };
  constexpr Row kRows[] = {
      {"plain/name.0", "plain/name.0", "nothing to do"},
      {"\x1b[2J\x1b]0;owned\x07", "\\x1b[2J\\x1b]0;owned\\x07", "clears the screen, sets the title"},
      {"a\rb\nc\td", "a\\x0db\\x0ac\\x09d", "line breaks"},
      {"\xc2\x9b"
       "31m",
       "\\x9b31m", "C1 control sequence introducer"},
      {"\x7f", "\\x7f", "delete"},
      {"\xe2\x80\xae"
       "evil",
       "\\u{202e}evil", "right-to-left override"},
      {"\xef\xbb\xbfx", "\\u{feff}x", "invisible"},
      {"\xf3\xa0\x81\x81", "\\u{e0041}", "tag character"},
      {"grün 模型 🚀", "grün 模型 🚀", "other scripts stay"},
      {"\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd", "no UTF-8"},
      {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd", "overlong NUL"},
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "a surrogate"},
      {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "beyond Unicode"},
      {"ab\xe2\x82", "ab\xef\xbf\xbd\xef\xbf\xbd", "cut off"},
  };
  for (const Row& row : kRows)
    CHECK_MESSAGE(base::printable(row.raw) == row.shown, row.why, ": ", base::printable(row.raw));
}

TEST_CASE("long names lose their middle, by columns and never inside a character") {
  CHECK(base::elide("abcdefghij", 10) == "abcdefghij");
  CHECK(base::elide("abcdefghij", 7) == "abc…hij");
  CHECK(base::elide("abcdefghij", 6) == "ab…hij");
  CHECK(base::elide("abcdefghij", 1) == "…");
  CHECK(base::elide("abcdefghij", 0) == "");
  CHECK(base::elide("模型模型模型", 7) == "模…型");  // a wide character does not fit into the odd column
  CHECK(base::display_width("模型") == 4);
  CHECK(base::display_width("e\xcc\x81") == 1);  // a combining accent
}

TEST_CASE("a grid that is too wide is elided first, then loses columns by their order") {
  const base::Grid grid{.columns = {{.header = "name", .is_number = false, .drop_order = 0, .shortest_width = 5},
                                    {.header = "count", .is_number = true},
                                    {.header = "extra", .is_number = true, .drop_order = 1},
                                    {.header = "note", .is_number = false, .drop_order = 2}},
                        .rows = {{"abcdefghij", "1", "22", "x"}, {"b", "12345", "", ""}}};
  CHECK(base::aligned(grid, 0) ==
        "name        count  extra  note\n"
        "abcdefghij      1     22  x\n"
        "b           12345\n");
  CHECK(base::aligned(grid, 28) ==
        "name      count  extra  note\n"
        "abc…ghij      1     22  x\n"
        "b         12345\n");
  CHECK(base::aligned(grid, 24) ==
        "name        count  extra\n"
        "abcdefghij      1     22\n"
        "b           12345\n");
  CHECK(base::aligned(grid, 12) ==
        "name   count\n"
        "ab…ij      1\n"
        "b      12345\n");
}

}  // namespace

TEST_CASE("the edit distance counts letters to insert, drop or replace") {
  struct Case {
    const char *from, *to;
    std::size_t distance;
  };
  const Case cases[] = {
      {"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"v10", "v100", 1}, {"ab", "ba", 2},
  };
  for (const Case& row : cases) {
    CAPTURE(row.from);
    CAPTURE(row.to);
    CHECK(base::edit_distance(row.from, row.to) == row.distance);
  }
}

TEST_CASE("a misspelt name means the nearest known one, if one is near") {
  constexpr std::string_view kKnown[] = {"batch", "backend", "model", "matmul", "id"};
  struct Case {
    std::string_view name, meant;
  };
  const Case cases[] = {
      {"btach", "batch"},      // letters swapped: a distance of 2
      {"bath", "batch"},       // one letter missing
      {"backends", "backend"},
      {"Model", "model"},
      {"mod", ""},             // 2 of 3 letters
      {"io", "id"},
      {"xy", ""},
      {"colour", ""},
      {"", ""},
  };
  for (const Case& row : cases) {
    CAPTURE(row.name);
    CHECK(nearest(row.name, kKnown) == row.meant);
  }
  CHECK(nearest("batch", {}) == "");
}

}  // namespace pagoda::base
