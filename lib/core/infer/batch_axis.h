// Which axis of each input is the batch, where operators tell it: recurrent ones read [sequence, batch, features].
#pragma once

#include <optional>
#include <vector>

#include "pagoda/core/graph.h"

namespace pagoda::inline core {

// One entry per graph input; empty where no operator decides it.
std::vector<std::optional<std::size_t>> batch_axes(const Graph& graph);

}  // namespace pagoda::inline core
