// Tables by id. Ids are 32-bit to keep graphs of many nodes small; tables are indexed by std::size_t.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pagoda::inline core {

struct Graph;

constexpr std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

// By value: the node that writes it; -1 for inputs, weights and captures.
std::vector<std::int32_t> producers_of(const Graph& graph);

}  // namespace pagoda::inline core
