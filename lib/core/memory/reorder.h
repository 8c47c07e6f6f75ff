// Searches for a node order with fewer bytes alive at once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/liveness.h"
#include "memory/schedule.h"

namespace pagoda::inline core {

// Whether each node occurs once, after the producers of its inputs.
bool is_topological(const Model& model, std::span<const std::int32_t> order);

// An order of lower peak than the file's; empty when none was found. Near-linear in the size of the graph. With
// `in_place`, operands may be overwritten.
std::optional<std::vector<std::int32_t>> better_order(const Model& model, const Schedule& schedule,
                                                      const StorageSizes& sizes, bool in_place);

}  // namespace pagoda::inline core
