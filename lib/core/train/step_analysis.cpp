// A training step laid out as rows.
#include "pagoda/core/train.h"

namespace pagoda::inline core {
namespace {

bool does_anything(const OpCost& cost) {
  for (const Dim* count : {&cost.macs, &cost.arith, &cost.special, &cost.bytes_read, &cost.bytes_written})
    if (*count != Dim(0)) return true;
  return false;
}

// Calls `add` for all that follows forward, in order, with its row, its cost and the name of the part.
template <typename Add>
void each_later_part(const Analysis& analysis, const Training& training, const Add& add) {
  const auto call = [&](std::size_t row, const OpCost& cost, const char* part) {
    if (does_anything(cost)) add(row, cost, part);
  };
  for (std::size_t i = training.rows.size(); i-- > 0;) {
    const TrainingRow& row = training.rows[i];
    if (row.recomputed) call(i, row.forward, "recomputed");
    call(i, row.dx, "dx");
    call(i, row.dw, "dw");
  }
  if (!analysis.nodes.empty()) call(analysis.nodes.size() - 1, training.totals.optimizer, "optimizer");
}

}  // namespace

std::vector<StepRow> step_rows(const Analysis& analysis, const Training& training) {
  std::vector<StepRow> rows;
  for (std::size_t i = 0; i < analysis.nodes.size(); ++i) rows.push_back({i, "forward"});
  each_later_part(analysis, training,
                  [&](std::size_t row, const OpCost&, const char* part) { rows.push_back({row, part}); });
  return rows;
}

Analysis step_analysis(const Analysis& analysis, const Training& training) {
  Analysis step = analysis;
  const auto add = [&](std::size_t at, const OpCost& cost, const std::string& part) {
    const NodeReport& row = analysis.nodes[at];
    NodeReport& added = step.nodes.emplace_back(row);
    added.scope = part + (row.scope.empty() ? "" : "/" + row.scope);
    added.cost = cost;
    added.cost.mark = Mark::Compute;
    added.outputs.clear();
    added.params = added.param_bytes = added.needed_bytes = 0;  // counted by the forward row that uses them first
  };
  for (std::size_t i = 0; i < training.rows.size(); ++i) {
    NodeReport& forward = step.nodes[i];
    if (forward.cost.mark == Mark::Unmodelled) continue;
    forward.cost = training.rows[i].forward;
    if (does_anything(forward.cost)) forward.cost.mark = Mark::Compute;  // rows that inference folds run in every step
  }
  each_later_part(analysis, training, add);

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
