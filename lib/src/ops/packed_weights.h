// Weights that ONNX Runtime stores several to a byte in uint8 tensors: the type of such a tensor does not tell how many
// weights it holds, the operators that read it do.
#pragma once

#include <map>
#include <utility>

#include "pagoda/graph.h"

namespace pagoda::ops {

// The initializers that hold packed weights, by graph and index, with the number of weights in each. An initializer
// is found through a Reshape too, as embeddings share their table with the last projection.
std::map<std::pair<GraphId, std::int32_t>, Dim> packed_weights(const Model& model);

}  // namespace pagoda::ops
