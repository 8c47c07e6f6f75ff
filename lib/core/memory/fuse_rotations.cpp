// Finds rotary embeddings written as separate operators: x · cos + concat(−x₂, x₁) · sin, where x₁ and x₂ are the
// halves of x. Frameworks compute them in one kernel, which counts as element-wise for its neighbours.
#include <algorithm>

#include "graph/index.h"
#include "memory/fusion.h"

namespace pagoda::inline core {
namespace {

// The node without a group that computes the value, if it is `op`; else -1.
std::int32_t computed_by(const FusionGraph& graph, ValueId value, std::string_view op) {
  const std::int32_t from = graph.producer(value);
  return from >= 0 && graph.group_of(from) < 0 && graph.node(from).op_type == op ? from : -1;
}

// The node without a group that alone reads the value, if it is `op`; else -1.
std::int32_t read_only_by(const FusionGraph& graph, ValueId value, std::string_view op) {
  const std::int32_t reader = graph.only_reader(value);
  return reader >= 0 && graph.group_of(reader) < 0 && graph.node(reader).op_type == op ? reader : -1;
}

std::int32_t half_of(const FusionGraph& graph, ValueId value) {
  const std::int32_t slice = computed_by(graph, value, "Slice");
  return slice >= 0 ? slice : computed_by(graph, value, "Split");
}

// `concat` joins the halves.
void match_rotation(FusionGraph& graph, std::int32_t concat) {
  const Node& node = graph.node(concat);
  if (node.inputs.size() != 2) return;
  const std::int32_t negation = computed_by(graph, node.inputs[0], "Neg");
  if (negation < 0) return;
  const std::int32_t second = half_of(graph, graph.node(negation).inputs[0]), first = half_of(graph, node.inputs[1]);
  if (first < 0 || second < 0) return;
  const ValueId x = graph.node(first).inputs[0];
  if (graph.storage(x) != graph.storage(graph.node(second).inputs[0])) return;
  const std::int32_t turned = read_only_by(graph, graph.output(concat), "Mul");
  const std::int32_t sum = turned < 0 ? -1 : read_only_by(graph, graph.output(turned), "Add");
  if (sum < 0) return;
  std::int32_t kept = -1;
  for (const ValueId term : graph.node(sum).inputs)
    if (term != graph.output(turned)) kept = computed_by(graph, term, "Mul");
  if (kept < 0 || read_only_by(graph, graph.output(kept), "Add") != sum) return;
  const auto& factors = graph.node(kept).inputs;
  if (std::none_of(factors.begin(), factors.end(), [&](ValueId v) { return graph.storage(v) == graph.storage(x); }))
    return;
  const Dim* elements = graph.elements(graph.output(sum));
  if (elements == nullptr) return;
  std::vector<std::int32_t> members = {first, negation, concat, turned, kept, sum};
  if (second != first) members.push_back(second);
  if (!graph.add_closed(GroupKind::Pointwise, members, Fusion::Rotation)) return;
  graph.group(graph.group_of(sum)).elements = *elements;
}

}  // namespace

void fuse_rotations(FusionGraph& graph) {
  const auto& nodes = graph.schedule().graph->nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    if (nodes[i].op_type == "Concat" && graph.only_moves(id) && graph.group_of(id) < 0) match_rotation(graph, id);
  }
}

}  // namespace pagoda::inline core
