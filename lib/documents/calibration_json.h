// Shared by the readers and writers of all calibration files.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "pagoda/base/json.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/base/text.h"
#include "pagoda/core/predict.h"

namespace pagoda::documents {

// Coefficients are written with four significant digits.
inline double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

inline double at_least(const base::JsonField& object, const char* key, double least = 0) {
  const base::JsonField field = object.at(key);
  if (!field.value().is_number() || field.number() < least)
    field.fail_expected("a number of at least " + base::shortest(least));
  return field.number();
}

// The members "low" and "high"; both null if no interval is known, never 0.
inline std::optional<Factors> factors(const base::JsonField& json) {
  if (json.at("low").value().is_null() && json.at("high").value().is_null()) return std::nullopt;
  const Factors result{at_least(json, "low"), at_least(json, "high")};
  if (result.low == 0) json.at("low").fail("found 0; expected a number above 0, or null for low and high");
  if (result.high < result.low) json.at("high").fail_expected("a number of at least \"low\"");
  return result;
}

// Reads the required member "interval"; sets `coverage` and returns the low and high factors.
inline Factors claimed_interval(const base::JsonField& document, double& coverage) {
  const base::JsonField interval = document.at("interval");
  interval.only({"coverage", "low", "high"});
  coverage = interval.at("coverage").positive();
  if (coverage >= 1) interval.at("coverage").fail_expected("a number below 1");
  return {interval.at("low").positive(), interval.at("high").positive()};
}

// The member "ceilings" of a calibration by --here: the whole text of the machine's pagoda.ceilings/1.
inline void embed_ceilings(base::JsonWriter& json, const std::string& text) {
  const base::JsonDocument ceilings = base::parse_json(text, "ceilings", "expected pagoda.ceilings/1");
  json.key("ceilings").value(ceilings.root().value());
}

}  // namespace pagoda::documents
