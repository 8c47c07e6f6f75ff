// Costs of the parts of each node's backward: the work of its gradients, the distinct bytes that they read, the
// gradients that they write, and the additions if a value has several.
#include <set>

#include "graph/index.h"
#include "train/flow.h"

namespace pagoda::inline core::train_rules {
namespace {

class Coster {
 public:
  Coster(const Graph& graph, const Analysis& analysis, const Flow& flow, const TrainingOptions& options)
      : graph_(graph), analysis_(analysis), flow_(flow), options_(options), has_one_(flow.seeded) {}

  void visit(std::size_t id, TrainingRow& row) {
    const Node& node = graph_.nodes[id];
    const NodeBackward& backward = flow_.nodes[id];
    row.dx.precision = row.dw.precision = row.forward.precision;
    if (!backward.runs()) return;
    for (const bool of_weights : {false, true}) add_part(node, backward, of_weights, of_weights ? row.dw : row.dx);
    std::set<ValueId> seen;
    for (const Gradient& gradient : backward.gradients) write(node, gradient, seen, row);
  }

 private:
  bool is_of_weights(const Node& node, const Gradient& gradient) const {
    return flow_.from_weights[index(node.inputs[index(gradient.input)])];
  }

  // Adds the gradients of weights, or those of activations.
  void add_part(const Node& node, const NodeBackward& backward, bool of_weights, OpCost& cost) const {
    Dim arriving = 0;
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (backward.arrives[i]) arriving += value_bytes(analysis_, node.outputs[i]);
    bool reads_all = false;
    Dim read_parts = 0;
    std::set<ValueId> tensors;
    std::set<int> statistics;
    for (const Gradient& gradient : backward.gradients) {
      if (is_of_weights(node, gradient) != of_weights) continue;
      cost += gradient.work;
      if (gradient.is_renamed) continue;
      if (gradient.arriving_bytes)
        read_parts += *gradient.arriving_bytes;
      else if (gradient.moved == Dim(1))
        reads_all = true;
      else
        read_parts += arriving * gradient.moved;
      for (const Read& read : gradient.reads) {
        if (read.source == Source::Input) tensors.insert(node.inputs[index(read.index)]);
        if (read.source == Source::Output) tensors.insert(node.outputs[index(read.index)]);
        if (read.source == Source::Statistic) statistics.insert(read.index);
      }
    }
    cost.bytes_read += reads_all ? arriving : read_parts;
    for (const ValueId tensor : tensors) cost.bytes_read += value_bytes(analysis_, tensor);
    for (const int statistic : statistics) cost.bytes_read += backward.statistics[index(statistic)].bytes;
  }

  // The first gradient of a value is written; every further one is added: read both, write the sum. Two gradients
  // from the same node are added before they are written.
  void write(const Node& node, const Gradient& gradient, std::set<ValueId>& seen, TrainingRow& row) {
    const ValueId value = node.inputs[index(gradient.input)];
    const bool is_trained = flow_.trained[index(value)];
    OpCost& cost = is_of_weights(node, gradient) ? row.dw : row.dx;
    const TensorType& type = analysis_.types[index(value)];
    if (!type.shape) return;
    const Dim elements = element_count(*type.shape);
    const Dim bytes = byte_size(elements, is_trained ? options_.gradient_type.value_or(type.element) : type.element);
    if (!seen.insert(value).second) {
      cost.arith += elements;
      return;
    }
    if (!gradient.is_renamed) {
      cost.bytes_written += bytes * gradient.moved;
      if (!is_trained) row.gradient_bytes += bytes * gradient.moved;
      if (is_trained && !has_one_[index(value)]) row.parameter_gradient_bytes += bytes;
    }
    if (has_one_[index(value)]) {
      cost.arith += elements;
      cost.bytes_read += 2 * bytes;
      cost.bytes_written += bytes;
    }
    has_one_[index(value)] = true;
  }

  const Graph& graph_;
  const Analysis& analysis_;
  const Flow& flow_;
  const TrainingOptions& options_;
  std::vector<bool> has_one_;  // by value: a gradient is there already
};

}  // namespace

Dim value_bytes(const Analysis& analysis, ValueId value) {
  return value == kAbsent ? Dim(0) : bytes_of(analysis.types[index(value)]).value_or(0);
}

void add_backward_costs(const Graph& graph, const Analysis& analysis, const TrainingOptions& options, Flow& flow) {
  Coster coster(graph, analysis, flow, options);
  for (std::size_t id = graph.nodes.size(); id-- > 0;) {
    TrainingRow& row = flow.rows[id];
    std::string problem = stopped([&] { coster.visit(id, row); });
    if (problem.empty()) continue;
    row.dx = row.dw = {};
    row.gradient_bytes = row.parameter_gradient_bytes = 0;
    if (row.problem.empty()) row.problem = std::move(problem);
  }
}

}  // namespace pagoda::inline core::train_rules
