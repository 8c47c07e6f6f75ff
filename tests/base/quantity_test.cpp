// Numbers with units: every measure by every spelling.
#include "pagoda/base/quantity.h"

#include <doctest/doctest.h>

#include "pagoda/base/error.h"
#include "support/files.h"

namespace pagoda::base {
namespace {

TEST_CASE("a number with a unit is read alike whatever its case, and with or without a space") {
  struct Row {
    Measure measure;
    const char* text;
    double value;
    const char* unit;
  };
  // clang-format off
  constexpr Row kRows[] = {
      {Measure::Bytes,          "7",           7,            ""},
      {Measure::Bytes,          "7B",          7,            "b"},
      {Measure::Bytes,          "1.5kB",       1500,         "b"},
      {Measure::Bytes,          "1.5KB",       1500,         "b"},
      {Measure::Bytes,          "500 MB",      5e8,          "b"},
      {Measure::Bytes,          "500mb",       5e8,          "b"},
      {Measure::Bytes,          "8GiB",        8589934592.0, "b"},
      {Measure::Bytes,          "8gib",        8589934592.0, "b"},
      {Measure::Bytes,          "8GIB",        8589934592.0, "b"},
      {Measure::Bytes,          "8Gi",         8589934592.0, ""},
      {Measure::Bytes,          "2 TB",        2e12,         "b"},
      {Measure::Bytes,          "1PB",         1e15,         "b"},
      {Measure::Bytes,          "12 bytes",    12,           "bytes"},
      {Measure::Bytes,          "1,000,000",   1e6,          ""},
      {Measure::Bytes,          "1,024.5kB",   1024500,      "b"},
      {Measure::Bytes,          "1e9",         1e9,          ""},
      {Measure::BytesPerSecond, "450e9",       450e9,        ""},
      {Measure::BytesPerSecond, "450GB/s",     450e9,        "b/s"},
      {Measure::BytesPerSecond, "450 gb/s",    450e9,        "b/s"},
      {Measure::BytesPerSecond, "450GB",       450e9,        "b"},
      {Measure::Flops,          "10GFLOP",     1e10,         "flop"},
      {Measure::Flops,          "10 gflops",   1e10,         "flops"},
      {Measure::Flops,          "5GMAC",       5e9,          "mac"},
      {Measure::Flops,          "5 GMACs",     5e9,          "macs"},
      {Measure::Flops,          "8.2G",        8.2e9,        ""},
      {Measure::Parameters,     "25.6M",       25.6e6,       ""},
      {Measure::Parameters,     "7B",          7e9,          "b"},
      {Measure::Parameters,     "7b",          7e9,          "b"},
      {Measure::Seconds,        "5ms",         5e-3,         "ms"},
      {Measure::Seconds,        "5 MS",        5e-3,         "ms"},
      {Measure::Seconds,        "250us",       250e-6,       "us"},
      {Measure::Seconds,        "2\u00b5s",    2e-6,         "\u00b5s"},
      {Measure::Seconds,        "2\u03bcs",    2e-6,         "\u03bcs"},
      {Measure::Seconds,        "30 ns",       30e-9,        "ns"},
      {Measure::Seconds,        "1.5s",        1.5,          "s"},
      {Measure::Seconds,        "2 usec",      2e-6,         "usec"},
      {Measure::Seconds,        "2nsecond",    2e-9,         "nsecond"},
      {Measure::Seconds,        "5 min",       300,          "min"},
      {Measure::Seconds,        "2h",          7200,         "h"},
      {Measure::Length,         "25.4mm",      72,           "mm"},
      {Measure::Length,         "2.54 cm",     72,           "cm"},
      {Measure::Length,         "3.35in",      241.2,        "in"},
      {Measure::Length,         "7PT",         7,            "pt"},
      {Measure::Length,         "96px",        72,           "px"},
      {Measure::Share,          "2%",          0.02,         "%"},
      {Measure::Share,          "0.02",        0.02,         ""},
      {Measure::Percent,        "2 %",         0.02,         "%"},
      {Measure::FlopsPerSecond, "2TFLOP/s",    2e12,         "flop/s"},
      {Measure::FlopsPerSecond, "2 TFLOPS",    2e12,         "flops"},
      {Measure::FlopsPerSecond, "2e12",        2e12,         ""},
      {Measure::Hertz,          "918MHz",      918e6,        "hz"},
      {Measure::Hertz,          "1.3ghz",      1.3e9,        "hz"},
  };
  // clang-format on
  for (const Row& row : kRows) {
    CAPTURE(row.text);
    const GivenQuantity amount = quantity(row.measure, row.text);
    CHECK(amount.value == doctest::Approx(row.value));
    CHECK(amount.unit == row.unit);
  }
}

TEST_CASE("what could be misread is refused by name, and what is no number says what is expected") {
  struct Row {
    Measure measure;
    const char* text;
    const char* message;
  };
  // clang-format off
  constexpr Row kRows[] = {
      {Measure::Bytes,          "5 Gb",      "'5 Gb' is not a number of bytes; Gb may be bits; write B for bytes"},
      {Measure::Bytes,          "5Gib",      "Gib may be bits"},
      {Measure::BytesPerSecond, "5 Gb/s",    "Gb/s may be bits"},
      {Measure::Bytes,          "5m",        "m may be milli; write M for 10^6"},
      {Measure::Flops,          "5 m",       "m may be milli"},
      {Measure::Bytes,          "",          "expected a number and a unit such as 8GiB or 500MB"},
      {Measure::Bytes,          "GB",        "expected a number"},
      {Measure::Bytes,          "-1",        "expected a number"},
      {Measure::Bytes,          "nan",       "expected a number"},
      {Measure::Bytes,          "inf",       "expected a number"},
      {Measure::Bytes,          "1e99",      "expected a number"},
      {Measure::Bytes,          "0x10",      "expected a number"},
      {Measure::Bytes,          "5GBps",     "expected a number"},
      {Measure::Bytes,          "8 gigs",    "expected a number"},
      {Measure::Bytes,          "5GFLOP",    "expected a number"},
      {Measure::Flops,          "5GB",       "'5GB' is not a count of work; expected a number and a unit such as 10GFLOP or 5GMAC"},
      {Measure::Parameters,     "5kB",       "'5kB' is not a number of parameters"},
      {Measure::Seconds,        "5",         "'5' is not a time; expected a number and a unit such as 5ms"},
      {Measure::Seconds,        "5 apples",  "is not a time"},
      {Measure::Length,         "12",        "'12' is not a length; expected a number with mm, cm, in, pt or px"},
      {Measure::Length,         "3,35in",    "'3,35in' is not a length; a comma only separates thousands; write 3.35in"},
      {Measure::Seconds,        "1,5s",      "write 1.5s"},
      {Measure::Bytes,          "1,0000",    "write 1.0000"},
      {Measure::Bytes,          ",500",      "write .500"},
      {Measure::Bytes,          "0,500GB",   "write 0.500GB"},
      {Measure::Seconds,        "00,500s",   "write 00.500s"},
      {Measure::Bytes,          "1,23,456",  "commas only separate thousands"},
      {Measure::Bytes,          "1.234,5",   "commas only separate thousands"},
      {Measure::Bytes,          "1000,000",  "write 1000.000"},
      {Measure::Percent,        "2",         "'2' is not a share; expected a percentage such as 2%"},
      {Measure::Hertz,          "918MB",     "'918MB' is not a clock"},
  };
  // clang-format on
  for (const Row& row : kRows) {
    CAPTURE(row.text);
    const std::string message = test::error_of([&] { quantity(row.measure, row.text); });
    CHECK_MESSAGE(message.find(row.message) != std::string::npos, message);
  }
  CHECK(test::error_of([] {
          quantity(Measure::Bytes, "x", "a limit on memory");
        }).starts_with("'x' is not a limit on memory"));
}

}  // namespace
}  // namespace pagoda::base
