// How gradients flow through the main graph: which values depend on something trained, which receive a gradient, and
// what each node's backward computes and reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/context.h"
#include "train/backward_rule.h"

namespace pagoda::inline core::train_rules {

// The backward of one node.
struct NodeBackward {
  std::vector<bool> wanted;         // by input: a gradient is computed (or would be, if the rule is missing)
  std::vector<bool> arrives;        // by output
  std::vector<Gradient> gradients;  // empty where the rule is missing
  std::vector<Statistic> statistics;
  std::string problem;  // why the rule is missing

  bool runs() const { return !wanted.empty(); }
};

struct Flow {
  std::vector<bool> trained;       // by value: an initializer that the optimizer updates
  std::vector<bool> from_weights;  // by value: a weight, or computed from weights alone
  std::vector<NodeBackward> nodes;
  std::vector<bool> has_gradient;  // by value
  std::vector<bool> seeded;        // by value: an output whose gradient comes from the loss
};

class GradientFlow {
 public:
  GradientFlow(const Model& model, const Analysis& analysis, const TrainingOptions& options,
               const std::vector<bool>& constant);

  // The cost of a node's forward in training mode.
  OpCost training_forward(std::int32_t node, const OpCost& inference);
  // `forward` by node.
  void run(const std::vector<OpCost>& forward);

  const Flow& flow() const { return flow_; }

 private:
  OpContext::State state_of(std::int32_t node);
  // The node's output is computed from trained parameters alone: folded in inference, not in training.
  bool unfolds(std::int32_t node) const;
  const BackwardRule& rule_of(const Node& node) const;
  bool is_differentiable(ValueId value) const;
  bool wants(const Node& node, const BackwardRule& rule, std::size_t input) const;
  void find_trained();
  void find_leading();
  void seed();
  void visit(std::int32_t node, const OpCost& forward);

  const Model& model_;
  const Graph& graph_;
  const TrainingOptions& options_;
  Session session_;
  std::vector<ValueInfo> values_;
  std::vector<bool> leads_;  // by value: a gradient of it would reach something wanted
  Flow flow_;
};

// Costs of the parts of a node's backward, and the gradients' bytes.
struct BackwardCost {
  OpCost dx, dw;
  Dim gradient_bytes, parameter_gradient_bytes;
  std::string problem;  // why the cost is not known
};

// By node of the main graph.
std::vector<BackwardCost> backward_costs(const Graph& graph, const Analysis& analysis, const Flow& flow,
                                         const TrainingOptions& options, const std::vector<OpCost>& forward);

// The message with which a rule ends early while `run` runs; empty if none does.
template <typename Run>
std::string stopped(const Run& run) {
  try {
    run();
    return "";
  } catch (const RuleStop& stop) {
    return stop.message;
  } catch (const TooComplex& too_complex) {
    return too_complex.what();
  }
}

// The operator, with its domain unless that is ai.onnx.
std::string full_name(const Node& node);

// Bytes of a value; 0 if its size is unknown (the node that needs it reports that).
Dim value_bytes(const Analysis& analysis, ValueId value);

}  // namespace pagoda::inline core::train_rules
