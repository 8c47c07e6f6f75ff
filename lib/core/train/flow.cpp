// Gradients flow where a path of differentiable operators joins a trained parameter (or a wanted input) to an output
// that the loss reads. A forward pass over the graph marks what depends on the former; a backward pass marks what a
// gradient reaches.
#include "train/flow.h"

#include <algorithm>

#include "graph/index.h"
#include "infer/infer.h"
#include "ops/op_rule.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"

namespace pagoda::inline core::train_rules {
namespace {

// The value of that name; throws Error if it is not among them.
ValueId value_named(const Graph& graph, const std::vector<ValueId>& among, const std::string& name, const char* what,
                    const char* kind) {
  for (const ValueId value : among)
    if (value != kAbsent && graph.values[index(value)].name == name) return value;
  throw Error(cat(what, " '", name, "': the model has no such ", kind));
}

class GradientFlow {
 public:
  GradientFlow(const Model& model, const Analysis& analysis, const Schedule& schedule, const TrainingOptions& options)
      : model_(model),
        graph_(model.main()),
        options_(options),
        session_(model),
        values_(graph_.values.size()),
        leads_(graph_.values.size(), false) {
    for (std::vector<bool>* flags : {&flow_.trained, &flow_.from_weights, &flow_.has_gradient, &flow_.seeded})
      flags->assign(values_.size(), false);
    flow_.nodes.resize(graph_.nodes.size());
    flow_.rows.resize(graph_.nodes.size());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      values_[i].type = analysis.types[i];
      if (analysis.values[i]) values_[i].stored_value = &*analysis.values[i];
      if (const std::int32_t storage = schedule.storage_of[i]; storage >= 0)
        flow_.from_weights[i] = schedule.storages[index(storage)].place == StoragePlace::Constant;
      values_[i].constant = flow_.from_weights[i];
    }
    find_trained();
    find_leading();
    seed();
    for (std::size_t id = 0; id < graph_.nodes.size(); ++id)
      if (const Step& step = schedule.steps[id]; step.row >= 0) run_forward(id, analysis.nodes[index(step.row)], step);
  }

  Flow run() {
    for (auto id = static_cast<std::int32_t>(graph_.nodes.size()); id-- > 0;) visit(id);
    return std::move(flow_);
  }

 private:
  void find_trained() {
    std::vector<bool> used(options_.frozen.size(), false);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Value& value = graph_.values[i];
      if (value.initializer < 0) continue;
      bool frozen = false;
      for (std::size_t f = 0; f < options_.frozen.size(); ++f)
        if (value.name.starts_with(options_.frozen[f])) used[f] = frozen = true;
      const TensorType& type = graph_.initializers[index(value.initializer)].type;
      flow_.trained[i] = !frozen && is_float(type.element) && type.shape && !type.shape->empty();
    }
    for (std::size_t f = 0; f < used.size(); ++f)
      if (!used[f]) throw Error(cat("frozen '", options_.frozen[f], "': no initializer's name begins with it"));
    leads_ = flow_.trained;
    for (const std::string& name : options_.inputs_with_gradient)
      leads_[index(value_named(graph_, graph_.inputs, name, "gradient of", "input"))] = true;
  }

  bool is_differentiable(ValueId value) const {
    return value != kAbsent && is_float(values_[index(value)].type.element);
  }

  const BackwardRule& rule_of(const Node& node) const {
    const bool has_body =
        !node.bodies().empty() || model_.function(node.domain, node.op_type, node.overload) != nullptr;
    return has_body ? unmodelled_backward() : backward_rule(plain_domain(node.domain), node.op_type);
  }

  bool wants(const Node& node, const BackwardRule& rule, std::size_t input) const {
    const ValueId value = node.inputs[input];
    return is_differentiable(value) && leads_[index(value)] && rule.can_have_gradient(static_cast<int>(input));
  }

  void find_leading() {
    for (const Node& node : graph_.nodes) {
      const BackwardRule& rule = rule_of(node);
      bool leads = !node.bodies().empty();  // weights of its own, or captured ones
      for (std::size_t i = 0; i < node.inputs.size(); ++i) leads = leads || wants(node, rule, i);
      if (!leads) continue;
      for (std::size_t i = 0; i < node.outputs.size(); ++i)
        if (is_differentiable(node.outputs[i]) && rule.passes_gradient(static_cast<int>(i)))
          leads_[index(node.outputs[i])] = true;
    }
  }

  void seed() {
    const auto mark = [&](ValueId output) {
      if (!is_differentiable(output) || !leads_[index(output)]) return;
      flow_.has_gradient[index(output)] = flow_.seeded[index(output)] = true;
    };
    for (const std::string& name : options_.outputs_with_gradient)
      mark(value_named(graph_, graph_.outputs, name, "gradient at", "output"));
    if (options_.outputs_with_gradient.empty()) std::ranges::for_each(graph_.outputs, mark);
  }

  // The node's output is computed from trained parameters alone: folded in inference, not in training.
  bool unfolds(std::int32_t id) const {
    const auto& outputs = graph_.nodes[index(id)].outputs;
    return std::ranges::any_of(outputs, [&](ValueId value) {
      return value != kAbsent && leads_[index(value)] && flow_.from_weights[index(value)];
    });
  }

  void run_forward(std::size_t id, const NodeReport& inference, const Step& step) {
    TrainingRow& row = flow_.rows[id];
    row.forward = inference.cost;
    if (row.forward.mark == Mark::Unmodelled) row.problem = inference.problem;
    if (step.has_body) return;
    std::string problem =
        stopped([&] { row.forward = training_forward(static_cast<std::int32_t>(id), inference.cost); });
    if (!problem.empty()) row.problem = std::move(problem);
  }

  // Batch statistics: the moments (4 per element, 2 divisions per channel), and two products and an addition for each
  // running statistic, which is written. Dropout: a comparison, a product and a selection per element, and the mask.
  OpCost training_forward(std::int32_t id, const OpCost& inference) {
    const Node& node = graph_.nodes[index(id)];
    OpContext::State state = state_of(id);
    const OpContext op(state);
    OpCost cost = inference;
    const OpRule* rule = ops::find_rule(plain_domain(node.domain), node.op_type);
    if (inference.mark == Mark::Folded) return rule != nullptr && unfolds(id) ? rule->cost(op) : cost;
    if (!plain_domain(node.domain).empty()) return cost;
    if (node.op_type == "BatchNormalization" && node.outputs.size() < 2) {
      const Dim channels = op.elements(1);
      cost.arith += 4 * op.elements(0) + 8 * channels;
      cost.write(1, op.input_bytes(3));
      cost.write(2, op.input_bytes(4));
    }
    if (node.op_type == "Dropout" && cost.arith == Dim(0) && drops_in_training(op)) {
      cost.mark = Mark::Compute;
      cost.precision = op.element(0);
      cost.arith = 3 * op.elements(0);
      cost.comparisons = 2 * op.elements(0);
      cost.read(0, op.input_bytes(0));
      cost.write(0, op.output_bytes(0));
      cost.write(1, op.elements(0));
    }
    return cost;
  }

  void visit(std::int32_t id) {
    const Node& node = graph_.nodes[index(id)];
    const BackwardRule& rule = rule_of(node);
    NodeBackward backward;
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      backward.arrives.push_back(node.outputs[i] != kAbsent && flow_.has_gradient[index(node.outputs[i])] &&
                                 rule.passes_gradient(static_cast<int>(i)));
    for (std::size_t i = 0; i < node.inputs.size(); ++i) backward.wanted.push_back(wants(node, rule, i));
    const auto any = [](const std::vector<bool>& flags) { return std::ranges::find(flags, true) != flags.end(); };
    if (!any(backward.arrives) || (!any(backward.wanted) && node.bodies().empty())) return;
    for (const GraphId body : node.bodies())
      for (const Value& captured : model_.graph(body).values)
        if (is_differentiable(captured.outer) && leads_[index(captured.outer)])
          flow_.has_gradient[index(captured.outer)] = true;

    TrainingRow& row = flow_.rows[index(id)];
    std::string problem;
    if (row.forward.mark == Mark::Unmodelled)
      problem = "forward is not modelled";
    else if (rule.is_unmodelled())
      problem = "no backward rule for " + full_name(node);
    else
      problem = apply(rule, id, backward);
    if (!problem.empty()) {
      backward.gradients.clear();
      backward.statistics.clear();
      if (row.problem.empty()) row.problem = std::move(problem);
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (backward.wanted[i]) flow_.has_gradient[index(node.inputs[i])] = true;
    if (backward.wanted.empty()) backward.wanted.push_back(false);  // it runs, although no input is wanted
    flow_.nodes[index(id)] = std::move(backward);
  }

  // Adds the gradients of the wanted inputs; returns why that fails, else an empty text.
  std::string apply(const BackwardRule& rule, std::int32_t id, NodeBackward& result) {
    const Node& node = graph_.nodes[index(id)];
    OpContext::State state = state_of(id);
    const OpContext op(state);
    Backward backward(op, flow_.rows[index(id)].forward, options_, result);
    for (const ValueId input : node.inputs)
      backward.parameters.push_back(input != kAbsent && flow_.from_weights[index(input)]);
    std::string problem = stopped([&] { rule.gradients(backward); });
    for (std::size_t i = 0; i < result.wanted.size() && problem.empty(); ++i)
      if (result.wanted[i] && std::ranges::count(result.gradients, static_cast<int>(i), &Gradient::input) == 0)
        problem = cat("no gradient of input ", i, " of ", full_name(node));
    return problem;
  }

  OpContext::State state_of(std::int32_t id) {
    const Node& node = graph_.nodes[index(id)];
    OpContext::State state{.session = session_,
                           .node = node,
                           .display_name = display_name(graph_, node),
                           .opset = model_.opset(node.domain),
                           .inputs = {},
                           .outputs = std::vector<ValueInfo>(node.outputs.size()),
                           .output_set = std::vector<bool>(node.outputs.size(), true)};
    for (const ValueId input : node.inputs) state.inputs.push_back(input == kAbsent ? nullptr : &values_[index(input)]);
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kAbsent) state.outputs[i] = values_[index(node.outputs[i])];
    return state;
  }

  const Model& model_;
  const Graph& graph_;
  const TrainingOptions& options_;
  Session session_;
  std::vector<ValueInfo> values_;
  std::vector<bool> leads_;  // by value: a gradient of it would reach something wanted
  Flow flow_;
};

}  // namespace

std::string full_name(const Node& node) {
  return plain_domain(node.domain).empty() ? std::string(node.op_type) : cat(node.domain, ".", node.op_type);
}

Flow gradient_flow(const Model& model, const Analysis& analysis, const Schedule& schedule,
                   const TrainingOptions& options) {
  return GradientFlow(model, analysis, schedule, options).run();
}

}  // namespace pagoda::inline core::train_rules
