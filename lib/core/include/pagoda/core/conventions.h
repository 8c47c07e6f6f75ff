// The published Pagoda estimator's own count (arXiv 2509.20189, dream-lab/pagoda), reproduced to the last digit, faults
// included, so that its published figures can be checked and compared. For anything else use Convention::Flops.
//
//   Model model = load_model("resnet50.onnx");
//   PagodaCounts counts = pagoda_counts(model, analyze(model), 32);
//   counts.total.flops;         // 262602129408
//   counts.total.memory_bytes;  // 7611123456
//
// Its rules: every element is 4 bytes; a size that is symbolic or 0 is 1; all shape products are multiplied by the
// batch; an op whose first input is an initializer counts 0, as does every op that it does not list; branches, loops
// and functions are not entered; of nodes with the same name only the last counts. lib/core/conventions/pagoda.cpp has
// the rules per op.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pagoda/core/analyze.h"
#include "pagoda/core/graph.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

struct PagodaCount {
  Int flops = 0;
  Int param_bytes = 0;
  Int memory_bytes = 0;  // "memory accesses": activations read and written, plus param_bytes
};

struct PagodaCounts {
  std::vector<PagodaCount> nodes;  // by index of the main graph's nodes
  PagodaCount total;
  // The node at which the published program ends with an exception, and why; all counts are then 0.
  std::string failure;

  // Nodes of bodies and functions count nothing.
  PagodaCount of(GraphId graph, std::int32_t node) const { return graph == 0 ? nodes.at(node) : PagodaCount(); }
};

// True for the published estimator: pagoda_counts() has its counts, which do not follow from those of a node's cost.
constexpr bool is_published(Convention convention) { return convention == Convention::Pagoda; }

// `analysis` is of the model as in its file, not re-batched; the counts are for `batch` times that graph.
// `is_step` counts a training step: pagoda_training() of each node.
PagodaCounts pagoda_counts(const Model& model, const Analysis& analysis, std::int64_t batch = 1, bool is_step = false);

// The published training step: three times the forward FLOPs and the forward memory accesses, whatever the model;
// parameters once.
PagodaCount pagoda_training(const PagodaCount& forward);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
