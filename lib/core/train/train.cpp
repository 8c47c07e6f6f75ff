// The main path of a training step: forward in training mode, the flow of gradients, the cost of each backward, what is
// kept and what is computed again, the optimizer, the totals.
#include "pagoda/core/train.h"

#include <algorithm>
#include <set>

#include "graph/index.h"
#include "memory/schedule.h"
#include "ops/context.h"
#include "train/flow.h"
#include "train/optimizer.h"
#include "train/step_memory.h"

namespace pagoda::inline core {
namespace {

using train_rules::GradientFlow;

// The costs of the main graph's nodes in training mode, by node; a call that is replaced by its body has none.
std::vector<OpCost> forward_costs(const Analysis& analysis, const Schedule& schedule, GradientFlow& flow,
                                  Training& result) {
  std::vector<OpCost> costs(schedule.steps.size());
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const std::int32_t row = schedule.steps[i].row;
    if (row < 0) continue;
    costs[i] = analysis.nodes[index(row)].cost;
    TrainingRow& training = result.rows[index(row)];
    const std::string problem = train_rules::stopped([&] {
      if (!schedule.steps[i].has_body) costs[i] = flow.training_forward(static_cast<std::int32_t>(i), costs[i]);
    });
    if (!problem.empty()) training.problem = problem;
    training.forward = costs[i];
  }
  return costs;
}

// In training, the output of a Dropout is no longer a view of its input: rebuilds the schedule with the rows' marks in
// training. Returns an empty schedule if no mark differs.
Schedule training_schedule(const Model& model, Analysis& trained, const Schedule& inference, const Training& result) {
  bool differs = false;
  for (const Step& step : inference.steps) {
    if (step.row < 0) continue;
    OpCost& cost = trained.nodes[index(step.row)].cost;
    const OpCost& forward = result.rows[index(step.row)].forward;
    if (cost.mark == Mark::Folded || cost.mark == forward.mark) continue;
    cost.mark = forward.mark;
    differs = true;
  }
  return differs ? schedule_of(model, trained) : Schedule{};
}

void add_parameters(const Graph& graph, const Analysis& analysis, const train_rules::Flow& flow,
                    const TrainingOptions& options, Training& result) {
  TrainingMemory& memory = result.memory;
  const int states = optimizer_states(options.optimizer);
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    if (!flow.trained[v] || !flow.has_gradient[v]) continue;
    const Tensor& tensor = graph.initializers[index(graph.values[v].initializer)];
    const ElementType element = analysis.types[v].element;
    const Dim elements = element_count(*tensor.type.shape);
    result.parameters.push_back({static_cast<ValueId>(v), graph.values[v].name, element, elements});
    result.trained_elements += elements;
    OpCost& optimizer = result.totals.optimizer;
    const OpCost update = optimizer_cost(options, element, elements);
    // One row covers all parameters: with several types it counts as the narrowest, so its time stays a lower bound.
    const bool is_narrower =
        optimizer.precision == ElementType::Undefined || bits(update.precision) < bits(optimizer.precision);
    optimizer += update;
    if (is_narrower) optimizer.precision = update.precision;
    memory.gradient_bytes += byte_size(elements, options.gradient_type.value_or(element));
    memory.optimizer_state_bytes += states * byte_size(elements, options.state_type);
    if (has_master(options, element)) memory.master_weight_bytes += byte_size(elements, options.state_type);
  }
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
  std::vector<bool> constant(graph.values.size(), false);
  for (std::size_t v = 0; v < constant.size(); ++v)
    if (const std::int32_t storage = schedule.storage_of[v]; storage >= 0)
      constant[v] = schedule.storages[index(storage)].place == StoragePlace::Constant;
  GradientFlow flow(model, analysis, options, constant);
  const std::vector<OpCost> forward = forward_costs(analysis, schedule, flow, result);
  flow.run(forward);

  const auto backward = train_rules::backward_costs(graph, analysis, flow.flow(), options, forward);
  Analysis trained = analysis;
  if (Schedule other = training_schedule(model, trained, schedule, result); other.graph != nullptr)
    schedule = std::move(other);
  // The problems of a call that is replaced by its body are reported at the first row of that body.
  std::vector<std::int32_t> row_of, speaker_of;
  for (const Step& step : schedule.steps) {
    row_of.push_back(step.row);
    const bool has_rows = step.body_begin < step.body_end;
    speaker_of.push_back(step.row >= 0 || !has_rows ? step.row : static_cast<std::int32_t>(step.body_begin));
  }
  train_rules::StepMemory memory = train_rules::step_memory(analysis, schedule, flow.flow(), options, forward);
  for (std::size_t i = 0; i < row_of.size(); ++i) {
    const train_rules::NodeBackward& node = flow.flow().nodes[i];
    if (speaker_of[i] >= 0 && result.rows[index(speaker_of[i])].problem.empty())
      result.rows[index(speaker_of[i])].problem = node.problem.empty() ? backward[i].problem : node.problem;
    if (row_of[i] < 0) continue;
    TrainingRow& row = result.rows[index(row_of[i])];
    row.dx = backward[i].dx;
    row.dw = backward[i].dw;
    row.gradient_bytes = backward[i].gradient_bytes;
    row.parameter_gradient_bytes = backward[i].parameter_gradient_bytes;
    row.saved = std::move(memory.saved[i]);
    row.recomputed = memory.recomputed[i];
  }
  result.memory.saved_activation_bytes = std::move(memory.saved_bytes);
  result.memory.activation_peak_bytes = std::move(memory.peak);
  result.memory.weight_bytes = analysis.totals.param_bytes;
  add_parameters(graph, analysis, flow.flow(), options, result);
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

}  // namespace pagoda::inline core
