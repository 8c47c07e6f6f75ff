// The main path of a training step: forward in training mode, the flow of gradients, the cost of each backward, what is
// kept and what is computed again, the optimizer, the totals.
#include "pagoda/core/train.h"

#include <set>

#include "graph/index.h"
#include "train/flow.h"

namespace pagoda::inline core {
namespace {

// In training, the output of a Dropout is no longer a view of its input: rebuilds the schedule with the rows' marks in
// training. Returns an empty schedule if no mark differs.
Schedule training_schedule(const Model& model, const Analysis& analysis, const Schedule& inference,
                           const std::vector<TrainingRow>& nodes) {
  std::optional<Analysis> trained;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::int32_t row = inference.steps[i].row;
    if (row < 0) continue;
    const Mark mark = analysis.nodes[index(row)].cost.mark;
    if (mark == Mark::Folded || mark == nodes[i].forward.mark) continue;
    if (!trained) trained = analysis;
    trained->nodes[index(row)].cost.mark = nodes[i].forward.mark;
  }
  return trained ? schedule_of(model, *trained) : Schedule{};
}

void sum_up(const Model& model, const Analysis& analysis, Training& result) {
  TrainingTotals& totals = result.totals;
  std::set<std::string> unmodelled;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const TrainingRow& row = result.rows[i];
    totals.forward += row.forward;
    totals.dx += row.dx;
    totals.dw += row.dw;
    if (row.recomputed) totals.recomputed += row.forward;
    const NodeReport& report = analysis.nodes[i];
    totals.unmodelled_nodes += report.unmodelled_inside;
    if (row.problem.empty() && report.unmodelled_inside == 0) continue;
    totals.unmodelled_nodes += row.problem.empty() ? 0 : 1;
    unmodelled.insert(train_rules::full_name(model.graphs[index(report.graph)].nodes[index(report.node)]));
  }
  totals.unmodelled_ops.assign(unmodelled.begin(), unmodelled.end());
  totals.backward += totals.dx;
  totals.backward += totals.dw;
  for (const OpCost* part : {&totals.forward, &totals.backward, &totals.recomputed, &totals.optimizer})
    totals.step += *part;
  result.partial = totals.unmodelled_nodes > 0;
}

// --- the step laid out as rows ---

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

Dim TrainingRow::saved_bytes() const {
  Dim sum = 0;
  for (const SavedTensor& tensor : saved) sum += tensor.bytes;
  return sum;
}

std::optional<Dim> TrainingMemory::peak_bytes() const {
  return activation_peak_bytes ? std::optional<Dim>(static_bytes() + *activation_peak_bytes) : std::nullopt;
}

Training train(const Model& model, const Analysis& analysis, const TrainingOptions& options) {
  const Graph& graph = model.main();
  Training result;
  result.rows.resize(analysis.nodes.size());
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    result.rows[i].forward = analysis.nodes[i].cost;
    if (analysis.nodes[i].cost.mark == Mark::Unmodelled) result.rows[i].problem = analysis.nodes[i].problem;
  }

  Schedule schedule = schedule_of(model, analysis);
  train_rules::Flow flow = train_rules::gradient_flow(model, analysis, schedule, options);
  train_rules::add_backward_costs(graph, analysis, options, flow);
  if (Schedule other = training_schedule(model, analysis, schedule, flow.rows); other.graph != nullptr)
    schedule = std::move(other);
  train_rules::add_step_memory(analysis, options, schedule, flow, result.memory);
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    if (step.row >= 0) {
      result.rows[index(step.row)] = std::move(flow.rows[i]);
    } else if (step.body_begin < step.body_end && result.rows[step.body_begin].problem.empty()) {
      // The first row of the body reports the problem of a call that the body replaces.
      result.rows[step.body_begin].problem = std::move(flow.rows[i].problem);
    }
  }
  result.memory.weight_bytes = analysis.totals.param_bytes;
  train_rules::add_parameters(graph, analysis, options, flow, result);
  sum_up(model, analysis, result);
  return result;
}

Training bind_dims(const Training& training, const Bindings& bindings) {
  Training result = training;
  const auto bind = [&](Dim& dim) {
    if (!dim.is_constant()) dim = dim.bind(bindings);
  };
  for (TrainingRow& row : result.rows) {
    for (OpCost* cost : {&row.forward, &row.dx, &row.dw}) *cost = cost->bind(bindings);
    bind(row.gradient_bytes);
    bind(row.parameter_gradient_bytes);
    for (SavedTensor& tensor : row.saved) bind(tensor.bytes);
  }
  for (TrainedParameter& parameter : result.parameters) bind(parameter.elements);
  bind(result.trained_elements);
  TrainingTotals& totals = result.totals;
  for (OpCost* cost :
       {&totals.forward, &totals.dx, &totals.dw, &totals.recomputed, &totals.optimizer, &totals.backward, &totals.step})
    *cost = cost->bind(bindings);
  TrainingMemory& memory = result.memory;
  for (Dim* bytes : {&memory.weight_bytes, &memory.master_weight_bytes, &memory.gradient_bytes,
                     &memory.optimizer_state_bytes, &memory.saved_activation_bytes})
    bind(*bytes);
  if (memory.activation_peak_bytes) bind(*memory.activation_peak_bytes);
  return result;
}

std::vector<StepRow> step_rows(const Analysis& analysis, const Training& training) {
  std::vector<StepRow> rows;
  for (std::size_t i = 0; i < analysis.nodes.size(); ++i) rows.push_back({i, "forward"});
  each_later_part(analysis, training, [&](std::size_t row, const OpCost&, const char* part) {
    rows.push_back({row, part});
  });
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
  step.totals.param_bytes = step.totals.weight_bytes = memory.static_bytes();
  step.totals.activation_peak_bytes = memory.activation_peak_bytes;
  step.totals.unmodelled_nodes = training.totals.unmodelled_nodes;
  step.totals.unmodelled_ops = training.totals.unmodelled_ops;
  step.partial = training.partial;
  return step;
}

}  // namespace pagoda::inline core
