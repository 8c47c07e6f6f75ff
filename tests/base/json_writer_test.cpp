// JSON that any parser accepts, whatever bytes a model's names contain.
#include "pagoda/base/json_writer.h"
#include "pagoda/documents/dim_json.h"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace pagoda::base {
namespace {

std::string written(std::string_view text) {
  base::JsonWriter json;
  json.value(text);
  return std::move(json).text();
}

// Long texts are read eight characters at a time.
TEST_CASE("a character is written the same at every place of a text") {
  const auto inner = [](std::string_view text) {
    const std::string json = written(text);
    return json.substr(1, json.size() - 3);  // without quotes and line break
  };
  for (int c = 0; c < 128; ++c) {
    const std::string alone(1, static_cast<char>(c));
    for (std::size_t place = 0; place < 20; ++place) {
      const std::string before(place, 'x'), after(19 - place, 'y');
      CAPTURE(c);
      CHECK(inner(before + alone + after) == before + inner(alone) + after);
    }
  }
}

TEST_CASE("any bytes become a valid JSON string") {
  struct Row {
    std::string_view raw;
    const char* json;
  };
  constexpr Row kRows[] = {
      {"plain", "\"plain\"\n"},
      {"quote\" back\\slash", "\"quote\\\" back\\\\slash\"\n"},
      {std::string_view("nul\0nul", 7), "\"nul\\u0000nul\"\n"},
      {"\n\t\r\x1b", "\"\\n\\t\\u000d\\u001b\"\n"},
      {"\x7f\xc2\x9b", "\"\\u007f\\u009b\"\n"},
      {"\xe2\x80\xa8\xe2\x80\xae", "\"\\u2028\\u202e\"\n"},
      {"\xf3\xa0\x81\x81", "\"\\udb40\\udc41\"\n"},
      {"\xff", "\"\xef\xbf\xbd\"\n"},
      {"\xc3", "\"\xef\xbf\xbd\"\n"},
      {"größe", "\"größe\"\n"},
      {"</script>", "\"</script>\"\n"},
  };
  for (const Row& row : kRows) {
    CHECK(written(row.raw) == row.json);
    CHECK(nlohmann::json::accept(written(row.raw)));
  }
}

TEST_CASE("every byte, and every pair of bytes, gives text that a strict parser accepts") {
  std::string pair(2, '\0');
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      pair[0] = static_cast<char>(first);
      pair[1] = static_cast<char>(second);
      if (!nlohmann::json::accept(written(pair))) FAIL("bytes " << first << " " << second);
    }
  }
}

TEST_CASE("integers of 128 bits stay integers, reals are shortest, what is not a number is null") {
  base::JsonWriter json;
  json.begin_array(base::JsonWriter::Layout::Line);
  json.value(std::numeric_limits<std::int64_t>::min())
      .value(Int{1} << 100)
      .value(-(Int{1} << 100))
      .value(std::size_t{7});
  json.value(0.1).value(-0.0).value(1e300).value(std::numeric_limits<double>::infinity()).value(std::optional<Int>());
  json.value(true).value("text").value(Dim(3)).value(Dim::symbol("n") + 1);
  json.end_array();
  CHECK(
      std::move(json).text() ==
      "[-9223372036854775808, 1267650600228229401496703205376, -1267650600228229401496703205376, 7, 0.1, 0, 1e+300, null, "
      "null, true, \"text\", 3, \"n + 1\"]\n");
}

TEST_CASE("objects and arrays are laid out in blocks, or all on one line") {
  base::JsonWriter json;
  json.begin_object();
  json.member("a", 1);
  json.key("block").begin_array();
  json.begin_object(base::JsonWriter::Layout::Line)
      .member("x", 1)
      .key("y")
      .begin_array()
      .value(1)
      .value(2)
      .end_array()
      .end_object();
  json.begin_object(base::JsonWriter::Layout::Line).end_object();
  json.end_array();
  json.key("empty").begin_array().end_array();
  json.end_object();
  CHECK(std::move(json).text() ==
        "{\n"
        "  \"a\": 1,\n"
        "  \"block\": [\n"
        "    {\"x\": 1, \"y\": [1, 2]},\n"
        "    {}\n"
        "  ],\n"
        "  \"empty\": []\n"
        "}\n");
}

}  // namespace
}  // namespace pagoda::base
