// Packed weights, identified by their consumers, since the tensor's type is that of any other integers: several to a
// byte in uint8 tensors of ONNX Runtime, and quantised biases in int32 tensors.
#pragma once

#include <map>
#include <utility>

#include "pagoda/core/graph.h"

namespace pagoda::inline core::ops {

// The initializers that hold such weights, by graph and index, with the number of weights in each. An initializer is
// also found behind a Reshape, since embeddings share their table with the last projection.
std::map<std::pair<GraphId, std::int32_t>, Dim> packed_weights(const Model& model);

}  // namespace pagoda::inline core::ops
