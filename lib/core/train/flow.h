// How gradients flow through the main graph: which values depend on something trained, which receive a gradient, and
// what each node's backward computes and reads.
#pragma once

#include <string>
#include <vector>

#include "memory/schedule.h"
#include "ops/context.h"
#include "train/backward_rule.h"

namespace pagoda::inline core::train_rules {

struct Flow {
  std::vector<bool> trained;       // by value: an initializer that the optimizer updates
  std::vector<bool> from_weights;  // by value: a weight, or computed from weights alone
  std::vector<NodeBackward> nodes;
  std::vector<TrainingRow> rows;   // by node; a call that its body replaces has no costs
  std::vector<bool> has_gradient;  // by value
  std::vector<bool> seeded;        // by value: an output whose gradient comes from the loss
};

// The flow of gradients. Its rows hold the forward in training mode, and why the forward or the backward is unknown.
Flow gradient_flow(const Model& model, const Analysis& analysis, const Schedule& schedule,
                   const TrainingOptions& options);

// Adds the parts of each node's backward to its row.
void add_backward_costs(const Graph& graph, const Analysis& analysis, const TrainingOptions& options, Flow& flow);

// Adds to the rows the tensors that a step keeps or computes again, and to `memory` their bytes and the step's peak.
// The schedule is that of forward in training mode; it is the same on return.
void add_step_memory(const Analysis& analysis, const TrainingOptions& options, Schedule& schedule, Flow& flow,
                     TrainingMemory& memory);

// Adds the parameters that the optimizer updates, its work, and their memory.
void add_parameters(const Graph& graph, const Analysis& analysis, const TrainingOptions& options, const Flow& flow,
                    Training& result);

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
