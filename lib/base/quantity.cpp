#include "pagoda/base/quantity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/base/number.h"
#include "pagoda/base/text.h"

namespace pagoda::base {
namespace {

struct UnitRow {
  Measure measure;
  std::string_view text;  // in lower case: no two of a measure differ in case alone
  double factor;
  bool takes_prefix = false;
};

// clang-format off
constexpr UnitRow kUnits[] = {
    // measure                text       factor    prefix
    {Measure::Bytes,          "",        1,        true},
    {Measure::Bytes,          "b",       1,        true},
    {Measure::Bytes,          "byte",    1,        true},
    {Measure::Bytes,          "bytes",   1,        true},
    {Measure::BytesPerSecond, "",        1,        true},
    {Measure::BytesPerSecond, "b",       1,        true},
    {Measure::BytesPerSecond, "b/s",     1,        true},
    {Measure::Flops,          "",        1,        true},
    {Measure::Flops,          "flop",    1,        true},
    {Measure::Flops,          "flops",   1,        true},
    {Measure::Flops,          "mac",     1,        true},
    {Measure::Flops,          "macs",    1,        true},
    {Measure::Parameters,     "",        1,        true},
    {Measure::Parameters,     "b",       1e9},               // "7B": billions
    {Measure::Seconds,        "ns",      1e-9},
    {Measure::Seconds,        "nsec",    1e-9},
    {Measure::Seconds,        "nsecond", 1e-9},
    {Measure::Seconds,        "us",      1e-6},
    {Measure::Seconds,        "\u00b5s", 1e-6},
    {Measure::Seconds,        "\u03bcs", 1e-6},
    {Measure::Seconds,        "usec",    1e-6},
    {Measure::Seconds,        "usecond", 1e-6},
    {Measure::Seconds,        "ms",      1e-3},
    {Measure::Seconds,        "msec",    1e-3},
    {Measure::Seconds,        "msecond", 1e-3},
    {Measure::Seconds,        "s",       1},
    {Measure::Seconds,        "sec",     1},
    {Measure::Seconds,        "second",  1},
    {Measure::Seconds,        "min",     60},
    {Measure::Seconds,        "h",       3600},
    {Measure::Length,         "mm",      72 / 25.4},
    {Measure::Length,         "cm",      72 / 2.54},
    {Measure::Length,         "in",      72},
    {Measure::Length,         "pt",      1},
    {Measure::Length,         "px",      0.75},
    {Measure::Share,          "",        1},
    {Measure::Share,          "%",       0.01},
    {Measure::Percent,        "%",       0.01},
    {Measure::FlopsPerSecond, "",        1,        true},
    {Measure::FlopsPerSecond, "flop/s",  1,        true},
    {Measure::FlopsPerSecond, "flops",   1,        true},
    {Measure::Hertz,          "",        1,        true},
    {Measure::Hertz,          "hz",      1,        true},
    {Measure::PerSecond,      "",        1,        true},
    {Measure::PerSecond,      "/s",      1,        true},
    {Measure::PerSecond,      "fps",     1,        true},
};
constexpr std::pair<std::string_view, double> kUnitPrefixes[] = {
    {"", 1},        {"k", 1e3},      {"m", 1e6},      {"g", 1e9},      {"t", 1e12}, {"p", 1e15}, {"e", 1e18},
    {"ki", 0x1p10}, {"mi", 0x1p20},  {"gi", 0x1p30},  {"ti", 0x1p40}};
struct MeasureRow {  // of messages
  std::string_view what, units;
};
constexpr std::array<MeasureRow, 11> kMeasures = {{  // in the order of Measure
    {"a number of bytes",    "a number and a unit such as 8GiB or 500MB"},
    {"a rate",               "bytes per second such as 450e9 or 450GB/s"},
    {"a count of work",      "a number and a unit such as 10GFLOP or 5GMAC"},
    {"a number of parameters", "a number and a unit such as 25M"},
    {"a time",               "a number and a unit such as 5ms; there are ns, us, ms, s, min and h"},
    {"a length",             "a number with mm, cm, in, pt or px"},
    {"a share",              "a fraction such as 0.02, or a percentage such as 2%"},
    {"a share",              "a percentage such as 2%"},
    {"a rate of work",       "FLOP per second such as 2e12 or 2TFLOP/s"},
    {"a clock",              "a number and a unit such as 918MHz or 1.3GHz"},
    {"a rate",               "items per second such as 30 or 1.5k"},
}};
// clang-format on

// The number without its commas; empty if one of them does not separate thousands.
std::optional<std::string> without_thousands(std::string_view number) {
  const std::size_t point = std::min(number.find('.'), number.size());
  if (number.find(',', point) != std::string_view::npos) return std::nullopt;
  const std::vector<std::string> groups = split(number.substr(0, point), ",");
  for (std::size_t i = 0; i < groups.size() && groups.size() > 1; ++i)
    if (groups[i].empty() || groups[i].size() > 3 || (i > 0 && groups[i].size() != 3)) return std::nullopt;
  if (groups.size() > 1 && groups.front().starts_with('0')) return std::nullopt;  // "0,500" is a fraction
  std::string plain(number);
  std::erase(plain, ',');
  return plain;
}

// "Gb", "Gib", "Mb/s": a small b after a capital prefix.
bool may_be_bits(std::string_view unit) {
  if (unit.ends_with("/s")) unit.remove_suffix(2);
  return unit.ends_with('b') && unit != lower(unit);
}

std::string with_point(std::string text) {
  std::ranges::replace(text, ',', '.');
  return text;
}

struct Unit {
  std::string_view text;  // without its prefix
  double factor;
};

// `unit` in lower case.
std::optional<Unit> find_unit(Measure measure, std::string_view unit) {
  for (const UnitRow& row : kUnits) {
    if (row.measure != measure || !unit.ends_with(row.text)) continue;
    const std::string_view prefix = unit.substr(0, unit.size() - row.text.size());
    const auto* factor = std::ranges::find(kUnitPrefixes, prefix, &std::pair<std::string_view, double>::first);
    if (factor != std::end(kUnitPrefixes) && (prefix.empty() || row.takes_prefix))
      return Unit{row.text, row.factor * factor->second};
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> unit_factor(Measure measure, std::string_view unit) {
  const std::optional<Unit> found = find_unit(measure, lower(unit));
  return found ? std::optional(found->factor) : std::nullopt;
}

GivenQuantity quantity(Measure measure, std::string_view text, std::string_view what) {
  const MeasureRow& names = kMeasures[static_cast<std::size_t>(measure)];
  const auto fail = [&](const std::string& why) {
    throw Error(cat("'", text, "' is not ", what.empty() ? names.what : what, "; ", why));
  };
  const std::string expected = cat("expected ", names.units);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789.,"), text.size());
  const std::optional<std::string> whole = without_thousands(text.substr(0, digits));
  if (!whole)
    fail(std::ranges::count(text, ',') == 1 && text.find('.') == std::string_view::npos
             ? cat("a comma only separates thousands; write ", with_point(std::string(text)))
             : "commas only separate thousands; " + expected);
  const std::string plain = cat(*whole, text.substr(digits));
  double number = 0;
  const auto [end, error] = read_number(plain.data(), plain.data() + plain.size(), number);
  std::string_view given(end, static_cast<std::size_t>(plain.data() + plain.size() - end));
  if (end == plain.data() || error != std::errc() || !std::isfinite(number) || number < 0) fail(expected);
  while (given.starts_with(' ')) given.remove_prefix(1);
  const std::optional<Unit> unit = find_unit(measure, lower(given));
  if (!unit || !(number * unit->factor <= 1e36)) fail(expected);
  if (given == "m") fail("m may be milli; write M for 10^6");
  if (may_be_bits(given) && (measure == Measure::Bytes || measure == Measure::BytesPerSecond))
    fail(cat(given, " may be bits; write B for bytes"));
  return {number * unit->factor, std::string(unit->text)};
}

}  // namespace pagoda::base
