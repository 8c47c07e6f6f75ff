// Checked reading of JSON and files: places in messages, exact numbers, limits.
#include "pagoda/base/json.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "pagoda/base/files.h"

namespace {

using pagoda::Error;
using namespace pagoda::base;

constexpr const char* kText =
    R"({"peaks": [{"rate": 1.5}, {"rate": "fast", "unit": null}], "n": 9007199254740993, "a.b": -1})";

}  // namespace

TEST_CASE("an error names the place of a value, what was expected there and what was found") {
  const JsonDocument document = parse_json(kText, "gpu.json", "expected a device");
  const JsonField root = document.root();
  const std::vector<JsonField> peaks = root.array("peaks");
  CHECK(peaks[0].at("rate").positive() == 1.5);
  CHECK_THROWS_WITH_AS(peaks[1].at("rate").positive(),
                       "gpu.json.peaks[1].rate: expected a number above 0, found \"fast\"", Error);
  CHECK_THROWS_WITH_AS(peaks[1].number("rate"), "gpu.json.peaks[1].rate: expected a number or null, found \"fast\"",
                       Error);
  CHECK_THROWS_WITH_AS(peaks[0].at("unit"), "gpu.json.peaks[0]: \"unit\" is missing", Error);
  CHECK_THROWS_WITH_AS(root.at("peaks").text(), "gpu.json.peaks: expected a string, found an array", Error);
  CHECK_THROWS_WITH_AS(root.array("n"), "gpu.json: expected an array \"n\"", Error);
  CHECK_FALSE(peaks[1].find("unit"));
  CHECK(peaks[1].has("unit"));
}

TEST_CASE("integers of 64 bits are exact, larger ones are doubles, and of equal keys the last counts") {
  const JsonDocument document = parse_json(
      R"({"a": -9223372036854775808, "b": 9223372036854775807, "c": 9223372036854775808, "b": 7, "d": 3.0})", "x", "");
  const JsonField root = document.root();
  CHECK(root.at("a").integer() == INT64_MIN);
  CHECK(root.at("b").integer() == 7);
  CHECK(root.at("c").number() == 9223372036854775808.0);
  CHECK_THROWS_AS(root.at("c").integer(), Error);
  CHECK(root.at("d").integer() == 3);
  const JsonDocument exact = parse_json(kText, "x", "");
  CHECK(exact.root().at("n").integer() == 9007199254740993);
}

TEST_CASE("damaged, deep and unbounded documents are refused with the byte") {
  CHECK_THROWS_WITH_AS(parse_json("{\"a\": ", "x", "expected a device"),
                       "x: not JSON, byte 7: it ends there, as a file that was cut off; expected a device", Error);
  CHECK_THROWS_WITH_AS(parse_json("[1e999]", "x", "expected a device"),
                       "x: a number is out of range, byte 6; expected a device", Error);
  CHECK_THROWS_WITH_AS(parse_json(std::string(100000, '['), "x", ""), "x: nests deeper than 100", Error);
  CHECK_NOTHROW(parse_json(std::string(100, '[') + std::string(100, ']'), "x", ""));
}

TEST_CASE("nan and infinities, which programs write, are read as null and counted") {
  const char* rows[] = {"nan", "NaN", "-nan", "NAN", "inf", "-inf", "Infinity", "-Infinity", "INF"};
  for (const char* row : rows) {
    CAPTURE(row);
    const JsonDocument document =
        parse_json(cat("{\"a\": ", row, ", \"b\":[", row, "],\"nan\" : \"\\\"nan\"}"), "x", "");
    CHECK(document.not_numbers() == 2);
    CHECK(document.root().at("a").value().is_null());
    CHECK(document.root().at("b").array().front().value().is_null());
    CHECK(document.root().at("nan").text() == "\"nan");
    CHECK(!document.root().number("a"));
    CHECK_THROWS_WITH_AS(document.root().at("a").number(),
                         "x.a: expected a number, found null, as nan and infinities are read", Error);
    // Later bytes are counted in the file.
    CHECK_THROWS_WITH_AS(parse_json(cat("[", row, ",\n '']"), "x", "expected a list"),
                         cat("x: not JSON, byte ", std::string_view(row).size() + 5,
                             " (line 2, column 2): strings take double quotes; expected a list")
                             .c_str(),
                         Error);
  }
  for (const char* row : {"nano", "nanx", "infinite", "-info"})
    CHECK_THROWS_AS(parse_json(cat("[", row, "]"), "x", ""), Error);
  CHECK(parse_json("nan", "x", "").root().value().is_null());
  CHECK(parse_json("null", "x", "").not_numbers() == 0);
  std::size_t before = 0;
  parse_json_elements("[1, nan, 2]", "x", "", [&](const JsonField& element, std::size_t index) {
    if (index == 1) CHECK(element.value().is_null());
    ++before;
  });
  CHECK(before == 3);
}

TEST_CASE("text that is not JSON is named, broken JSON has a place and a hint") {
  const std::pair<const char*, const char*> rows[] = {
      {"", "x: is empty; write or download it again; expected a device"},
      {"hello", "x: is text; expected a device"},
      {"a,b\n1,2\n", "x: is a table (CSV); expected a device"},
      {"{'a': 1}", "x: not JSON, byte 2 (line 1, column 2): strings take double quotes; expected a device"},
      {"{\"a\": 1,}", "x: not JSON, byte 9 (line 1, column 9): a comma before the end; expected a device"},
      {"{\n\"a\": True}", "x: not JSON, byte 8 (line 2, column 6): JSON's is true; expected a device"},
      {"{\"a\": 1 // one\n}", "x: not JSON, byte 9 (line 1, column 9): JSON has no comments; expected a device"},
      {"[1 2]", "x: not JSON, byte 4 (line 1, column 4); expected a device"},
      {"[1, 2", "x: not JSON, byte 6: it ends there, as a file that was cut off; expected a device"},
  };
  for (const auto& [text, says] : rows) CHECK_THROWS_WITH_AS(parse_json(text, "x", "expected a device"), says, Error);
}

TEST_CASE("elements of an array are read one by one, each with its place") {
  std::vector<std::int64_t> seen;
  const auto take = [&](const JsonField& element, std::size_t) { seen.push_back(element.at("v").integer()); };
  const JsonDocument rest = parse_json_elements(R"({"k": 1, "list": [{"v": 5}, {"v": 6}]})", "x", "list", take);
  CHECK(seen == std::vector<std::int64_t>{5, 6});
  CHECK(rest.root().integer("k") == 1);
  CHECK_THROWS_WITH_AS(parse_json_elements(R"({"list": [{"v": 5}, {}]})", "x", "list", take),
                       "x.list[1]: \"v\" is missing", Error);
  CHECK_THROWS_WITH_AS(parse_json_elements("[3]", "x", "list", take), "x[0]: expected an object, found 3", Error);
  CHECK_THROWS_WITH_AS(parse_json_elements("{}", "x", "list", take), "x: has no array \"list\"", Error);
}

TEST_CASE("a file is read whole, or the error names it, the cause and what was expected") {
  const std::string file = std::filesystem::temp_directory_path() / ("pagoda_read_" + std::to_string(getpid()));
  write_file(file, "a text of 20 bytes..");
  CHECK(read_file(file, "a text") == "a text of 20 bytes..");
  CHECK(read_file(file, "a text", 20).size() == 20);
  CHECK_THROWS_AS(read_file(file, "a text", 19), Error);
  std::filesystem::remove(file);
  CHECK_THROWS_WITH_AS(read_file("/nowhere/a.json", "a device"),
                       "/nowhere/a.json: cannot be opened: No such file or directory; expected a device", Error);
  CHECK_THROWS_WITH_AS(read_file("/", "a device"), doctest::Contains("/: is a folder; name a file"), Error);
}
