// Coefficients as calibrations write them.
#pragma once

#include <cmath>

namespace pagoda::documents {

// Coefficients are worth four digits.
inline double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

}  // namespace pagoda::documents
