// Convolution by its definition, in double precision: the reference for every other result.
#pragma once

#include <optional>
#include <span>

#include "conv_run.h"

namespace pagoda::tools::conv {

// One element of the output, by its position in row-major order.
double convolve_at(const ConvLayer& layer, const Operands& operands, std::int64_t position);

struct ConvError {
  std::int64_t points = 0;      // outputs compared
  std::optional<double> mean;   // Σ|got − reference| / Σ|reference|; empty: a value is not finite, or all are 0
  std::optional<double> worst;  // max|got − reference| / root mean square of the reference
  bool finite = true;
};

// Compares all outputs (`limit` 0), or at most `limit`: the corners of all axes and a seeded random choice.
ConvError compare(const ConvLayer& layer, const Operands& operands, std::span<const float> got, std::int64_t limit);

}  // namespace pagoda::tools::conv
