// Which nodes on the provider run together.
#pragma once

#include <cstdint>
#include <vector>

#include "pagoda/core/placement.h"
#include "place/units.h"

namespace pagoda::inline core {

// Numbers the parts of the nodes on the provider, and returns how many there are. Nodes of parts that the provider does
// not compile go to the CPU. `computed` is LoadedGraph::computed(); rows are by node of the loaded graph.
std::int32_t number_parts(const NodeUnits& units, const Provider& provider, const std::vector<bool>& computed,
                          std::vector<PlacedNode>& rows);

}  // namespace pagoda::inline core
