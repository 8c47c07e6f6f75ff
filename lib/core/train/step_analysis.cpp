// A training step laid out as rows.
#include "pagoda/core/train.h"

namespace pagoda::inline core {
namespace {

bool does_anything(const OpCost& cost) {
  for (const Dim* count : {&cost.macs, &cost.arith, &cost.special, &cost.bytes_read, &cost.bytes_written})
    if (*count != Dim(0)) return true;
  return false;
}

}  // namespace

Analysis step_analysis(const Analysis& analysis, const Training& training) {
  Analysis step = analysis;
  const auto add = [&](const NodeReport& row, const OpCost& cost, const std::string& part) {
    if (!does_anything(cost)) return;
    NodeReport& added = step.nodes.emplace_back(row);
    added.scope = part + (row.scope.empty() ? "" : "/" + row.scope);
    added.cost = cost;
    added.cost.mark = Mark::Compute;
    added.outputs.clear();
    added.params = added.param_bytes = added.needed_bytes = 0;  // counted where forward is the first to use them
  };
  for (std::size_t i = 0; i < training.rows.size(); ++i) {
    NodeReport& forward = step.nodes[i];
    if (forward.cost.mark == Mark::Unmodelled) continue;
    forward.cost = training.rows[i].forward;
    if (does_anything(forward.cost)) forward.cost.mark = Mark::Compute;  // what inference folds runs every step
  }
  for (std::size_t i = training.rows.size(); i-- > 0;) {
    const TrainingRow& row = training.rows[i];
    if (row.recomputed) add(analysis.nodes[i], row.forward, "recomputed");
    add(analysis.nodes[i], row.dx, "dx");
    add(analysis.nodes[i], row.dw, "dw");
  }
  if (!analysis.nodes.empty()) add(analysis.nodes.back(), training.totals.optimizer, "optimizer");

  const TrainingMemory& memory = training.memory;
  step.totals.cost = training.totals.step;
  step.totals.param_bytes = memory.static_bytes();
  step.totals.activation_peak_bytes = memory.activation_peak_bytes;
  step.totals.unmodelled_nodes = training.totals.unmodelled_nodes;
  step.totals.unmodelled_ops = training.totals.unmodelled_ops;
  step.partial = training.partial;
  return step;
}

}  // namespace pagoda::inline core
