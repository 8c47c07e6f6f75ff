// How the runtime's transpose optimiser moves a Transpose through operators.
#pragma once

#include <cstdint>

#include "place/loaded.h"

namespace pagoda::inline core {

// How a Transpose passes an operator, and through which inputs.
enum class Passage : std::uint8_t {
  None,
  First,      // the first input; the outputs are transposed alike
  Broadcast,  // all inputs but scalars, of one rank
  Concat,     // all inputs; the attribute axis moves
  Split,
  Softmax,
  ShapeOf,  // a Gather of the sizes follows
  Pad,
  Tile,
  Reduce,
  ArgReduce,
  Gather,  // of one place, which is known
  Squeeze,
  Unsqueeze,
  Slice,
  Quantize,
  Transpose,  // both become one, or none
  Reshape,    // one that only moves dims of 1 is a Transpose
  QLinearBinary,
  QLinearConcat,
};

Passage passage_of(const LoadedNode& node, Release release);
bool moves_outputs(Passage passage);

}  // namespace pagoda::inline core
