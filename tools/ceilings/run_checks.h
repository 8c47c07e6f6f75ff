// What both kinds of device describe and check after a measurement.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "pagoda/documents/ceilings.h"
#include "pagoda/lab/plateaus.h"

namespace pagoda::tools::ceilings {

// With a fixed number of decimals.
std::string fixed(double value, int digits);
// With six significant digits.
std::string general(double value);

template <typename T>
base::Setting setting(const std::optional<T>& value) {
  if (!value) return std::monostate{};
  return *value;
}

// An outer level that appears faster than an inner one indicates an error: each ceiling "LEVEL.suffix", from the outer
// to the inner, must exceed `least` times the one before. `digits`: decimals of the rates in the check's text.
void check_order(std::initializer_list<const char*> levels, const char* suffix, double least, int digits,
                 documents::CeilingsDocument& document);

// A level's ceilings are only valid if the sweep shows a clear plateau for the level. `only`: the one level whose
// ceilings depend on the sweep; empty: all.
void apply_plateaus(const std::vector<lab::Plateau>& plateaus, const char* only, int digits,
                    documents::CeilingsDocument& document);

}  // namespace pagoda::tools::ceilings
