// Random contents for weights: the same seed gives the same contents, generated in pieces and never held as a whole.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "onnx/rewrite.h"
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

struct Filling {
  ElementType element = ElementType::Undefined;
  std::uint64_t elements = 0;
  WeightUse use;
  std::uint64_t seed = 0;

  std::uint64_t bytes() const;
  // Whole pieces of the data: elements [begin, end), both multiples of kPiece, except that `end` may be the end of the
  // data.
  static constexpr std::uint64_t kPiece = std::uint64_t{1} << 16;
  std::string piece(std::uint64_t begin, std::uint64_t end) const;
  void write(const Write& out) const;  // all of it
};

}  // namespace pagoda::inline core::wire
