// Peak memory of activations over the execution order of the main graph.
#pragma once

#include <optional>
#include <vector>

#include "infer/context.h"

namespace pagoda {

// Bytes of the largest set of activations alive at once: a value lives from the node that writes it (an input: from
// the start) to its last reader (an output: to the end). Views share their source's storage; weights, folded and
// host values and a kernel's workspace are not counted. `marks` holds one Mark per node of the graph.
// Empty when a size is unknown or the formula of the peak grows too complex.
std::optional<Dim> activation_peak(const Graph& graph, const std::vector<ValueInfo>& values, const std::vector<Mark>& marks);

}  // namespace pagoda
