// Aligns a sequence of PyTorch's calls with a sequence of nodes, both in order of execution.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "join/pytorch_calls.h"

namespace pagoda::measured {

// The places in `nodes` of each call's operators. Maximizes the calls and nodes that belong together. A call has none
// if it fits no node, or if equally good alignments differ in its nodes.
std::vector<std::vector<std::size_t>> align_calls(const std::vector<std::string_view>& calls,
                                                  const std::vector<TypedNode>& nodes);

}  // namespace pagoda::measured
