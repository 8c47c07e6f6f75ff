// Numbers with units, as people type them in options and studies: one table of units for every tool.
//
//   quantity(Measure::Bytes, "8GiB");      // {8589934592, "gib"}
//   quantity(Measure::Seconds, "5 ms");    // {0.005, "ms"}
//   quantity(Measure::Length, "3,35in");   // throws Error: … a comma only separates thousands; write 3.35in
//
// Case does not matter, and a space before the unit is allowed. A unit that could be misread is refused: "m" of a count
// may be milli, "Gb" may be bits. A comma separates thousands, before exactly three digits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace pagoda::base {

enum class Measure : std::uint8_t {
  Bytes,           // B, kB … EB, KiB … TiB, or none
  BytesPerSecond,  // the same with /s, or none
  Flops,           // FLOP, MAC, with prefixes; or a prefix alone
  Parameters,      // k, M, G or B (10^9), T, or none
  Seconds,         // ns, us, µs, ms, s, min, h
  Length,          // mm, cm, in, pt, px; in points of 1/72 inch, a pixel being 1/96 inch
  Share,           // %, or none: 2% and 0.02
  Percent,         // %; as a share
  FlopsPerSecond,  // FLOP/s, with prefixes, or none
  Hertz,           // Hz, with prefixes, or none
};

struct GivenQuantity {
  double value = 0;  // in the measure's unit; not below 0
  std::string unit;  // in lower case, without a prefix: "b", "mac", "ms"; empty: none
};

// Throws Error: the text, what it was taken for, the units there are, an example. `what` replaces the measure's name:
// "a limit on memory".
GivenQuantity quantity(Measure measure, std::string_view text, std::string_view what = {});

}  // namespace pagoda::base
#pragma GCC visibility pop
