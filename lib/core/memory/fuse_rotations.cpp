// Finds rotary embeddings written as separate operators: x · cos + concat(−x₂, x₁) · sin, where x₁ and x₂ are the
// halves of x. Frameworks compute them in one kernel, which counts as element-wise for its neighbours.
#include <algorithm>

#include "graph/index.h"
#include "memory/fusion.h"

namespace pagoda::inline core {
namespace {

class RotationMatcher {
 public:
  explicit RotationMatcher(FusionGraph& graph) : graph_(graph) {}

  // `concat` joins the halves.
  void match(std::int32_t concat) {
    const Node& node = graph_.node(concat);
    if (node.inputs.size() != 2) return;
    const std::int32_t negation = made_by(node.inputs[0], "Neg");
    if (negation < 0) return;
    const std::int32_t second = half(graph_.node(negation).inputs[0]), first = half(node.inputs[1]);
    if (first < 0 || second < 0) return;
    const ValueId x = graph_.node(first).inputs[0];
    if (graph_.storage(x) != graph_.storage(graph_.node(second).inputs[0])) return;
    const std::int32_t turned = only_reader(graph_.output(concat), "Mul");
    const std::int32_t sum = turned < 0 ? -1 : only_reader(graph_.output(turned), "Add");
    if (sum < 0) return;
    std::int32_t kept = -1;
    for (const ValueId term : graph_.node(sum).inputs)
      if (term != graph_.output(turned)) kept = made_by(term, "Mul");
    if (kept < 0 || only_reader(graph_.output(kept), "Add") != sum) return;
    const auto& factors = graph_.node(kept).inputs;
    if (std::none_of(factors.begin(), factors.end(), [&](ValueId v) { return graph_.storage(v) == graph_.storage(x); }))
      return;
    const Dim* elements = graph_.elements(graph_.output(sum));
    if (elements == nullptr) return;
    std::vector<std::int32_t> members = {first, negation, concat, turned, kept, sum};
    if (second != first) members.push_back(second);
    if (!graph_.add_closed(GroupKind::Pointwise, members, Fusion::Rotation)) return;
    graph_.group(graph_.group_of(sum)).elements = *elements;
  }

 private:
  std::int32_t made_by(ValueId value, std::string_view op) const {
    const std::int32_t from = graph_.producer(value);
    return from >= 0 && graph_.group_of(from) < 0 && graph_.node(from).op_type == op ? from : -1;
  }
  std::int32_t half(ValueId value) const {
    const std::int32_t slice = made_by(value, "Slice");
    return slice >= 0 ? slice : made_by(value, "Split");
  }
  std::int32_t only_reader(ValueId value, std::string_view op) const {
    const std::int32_t reader = graph_.only_reader(value);
    return reader >= 0 && graph_.group_of(reader) < 0 && graph_.node(reader).op_type == op ? reader : -1;
  }

  FusionGraph& graph_;
};

}  // namespace

void fuse_rotations(FusionGraph& graph) {
  RotationMatcher matcher(graph);
  const auto& nodes = graph.schedule().graph->nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    if (nodes[i].op_type == "Concat" && graph.only_moves(id) && graph.group_of(id) < 0) matcher.match(id);
  }
}

}  // namespace pagoda::inline core
