// Finds the rows of each node of a graph in the flat list of an analysis, which also contains the rows of bodies.
#pragma once

#include <cstddef>
#include <vector>

#include "memory/schedule.h"

namespace pagoda::inline core {

// One Step per node of graph `id`, whose rows begin at rows[begin], with `row`, `mark`, `has_body`, `body`,
// `body_begin`, `body_end` and `last_run` set; the caller sets the rest. Rows that do not fit the graph (which
// analyze() never makes) leave the nodes without rows.
std::vector<Step> locate_steps(const Model& model, const std::vector<NodeReport>& rows, GraphId id, std::size_t begin);

}  // namespace pagoda::inline core
