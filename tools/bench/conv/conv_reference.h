// Convolution by its definition, in double precision: what every other result is held against.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "conv_run.h"

namespace pagoda::tools::conv {

// One element of the output, by its position in row-major order.
double convolve_at(const ConvLayer& layer, const Operands& operands, std::int64_t position);

struct ConvError {
  std::int64_t points = 0;      // outputs that were compared
  std::optional<double> mean;   // Σ|got − reference| / Σ|reference|; empty where a value is not finite
  std::optional<double> worst;  // max|got − reference| / root mean square of the reference
  bool finite = true;
};

// Compares all outputs, or `limit` of them where there are more: the corners of every axis and a seeded random choice.
ConvError compare(const ConvLayer& layer, const Operands& operands, std::span<const float> got, std::int64_t limit);

}  // namespace pagoda::tools::conv
