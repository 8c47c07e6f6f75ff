// The batch axis of each input, where operators determine it: recurrent ones read [sequence, batch, features].
#pragma once

#include <optional>
#include <vector>

#include "pagoda/core/graph.h"

namespace pagoda::inline core {

// One entry per graph input; empty where no operator determines it.
std::vector<std::optional<std::size_t>> batch_axes(const Graph& graph);

}  // namespace pagoda::inline core
