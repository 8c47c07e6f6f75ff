// Numbers with units, as people type them in options and studies and programs head their columns: one table of units.
//
//   quantity(Measure::Bytes, "8GiB");      // {8589934592, "b"}
//   quantity(Measure::Seconds, "5 ms");    // {0.005, "ms"}
//   quantity(Measure::Length, "3,35in");   // throws Error: … a comma only separates thousands; write 3.35in
//
// Case does not matter, and a space before the unit is allowed. A unit that could be misread is refused: "m" of a count
// may be milli, "Gb" may be bits. A comma separates thousands: exactly three digits follow it, and no 0 begins them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace pagoda::base {

enum class Measure : std::uint8_t {
  Bytes,           // B, kB … EB, KiB … TiB, or none
  BytesPerSecond,  // B/s and B with the same prefixes, or none
  Flops,           // FLOP, MAC, with prefixes; or a prefix alone
  Parameters,      // k, M, G or B (10^9), T, or none
  Seconds,         // ns, us, µs, ms, s, also as nsec or nsecond; min, h
  Length,          // mm, cm, in, pt, px; in points of 1/72 inch, a pixel being 1/96 inch
  Share,           // %, or none: 2% and 0.02
  Percent,         // %; as a share
  FlopsPerSecond,  // FLOP/s, with prefixes, or none
  Hertz,           // Hz, with prefixes, or none
  PerSecond,       // /s, fps, with prefixes, or none
};

struct GivenQuantity {
  double value = 0;  // in the measure's unit; not below 0
  std::string unit;  // in lower case, without a prefix: "b", "mac", "ms"; empty: none
};

// Throws Error, which names the text, the measure or `what` in its place ("a limit on memory"), and an example.
GivenQuantity quantity(Measure measure, std::string_view text, std::string_view what = {});

// 1e-6 of "us"; empty for other text.
std::optional<double> unit_factor(Measure measure, std::string_view unit);

}  // namespace pagoda::base
#pragma GCC visibility pop
