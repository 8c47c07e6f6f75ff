// How a model uses its weights: determines which random numbers keep its values sensible.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "pagoda/core/graph.h"
#include "pagoda/core/op_facts.h"

namespace pagoda::inline core::wire {

using Use = pagoda::WeightUse;

struct WeightUse {
  Use use = Use::Unknown;
  double deviation = 1;  // of Weight, QuantScale and Unknown: keeps activations at the magnitude of the inputs
};

// Where a tensor's data is stored: location and offset. Tensors that share data are one weight.
using WeightPlace = std::pair<std::string, std::uint64_t>;

// Determined by the first decisive use, traced through views, casts and dequantisation.
std::map<WeightPlace, WeightUse> weight_uses(const Model& model);

// The deviation for a tensor with only its shape known.
double guessed_deviation(const Shape& shape);

}  // namespace pagoda::inline core::wire
