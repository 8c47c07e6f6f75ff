// What the weights of a model are used for: decides which random numbers let it run with sensible values.
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
  double deviation = 1;  // of Weight, QuantScale and Unknown: keeps activations at the size of the inputs
};

// Where a tensor's data lie: location and offset. Tensors that share data are one weight.
using WeightPlace = std::pair<std::string, std::uint64_t>;

// By the first use that decides, seen through views, casts and dequantisation.
std::map<WeightPlace, WeightUse> weight_uses(const Model& model);

// The deviation for a tensor of which only the shape is known.
double guessed_deviation(const Shape& shape);

}  // namespace pagoda::inline core::wire
