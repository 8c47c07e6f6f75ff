// Puts the branches that stored conditions select into the main graph.
#include <algorithm>
#include <set>

#include "graph/index.h"
#include "pagoda/core/decoder.h"

namespace pagoda::inline core {
namespace {

Node identity(const std::string& name, ValueId from, ValueId to) {
  Node node;
  node.name = name;
  node.op_type = "Identity";
  node.inputs = {from};
  node.outputs = {to};
  return node;
}

class BranchTaker {
 public:
  explicit BranchTaker(Model& model) : model_(model), graph_(model.graphs.front()) {}

  // Replaces the first If with a known condition; false if there is none.
  bool take_one() {
    for (std::size_t at = 0; at < graph_.nodes.size(); ++at) {
      const Node& node = graph_.nodes[at];
      if (node.op_type != "If" || !plain_domain(node.domain).empty()) continue;
      const std::optional<bool> condition = stored(node.input(0));
      const std::optional<GraphId> branch = condition ? body(node, *condition) : std::nullopt;
      if (!branch) continue;
      replace(at, *branch);
      return true;
    }
    return false;
  }

 private:
  std::optional<bool> stored(ValueId value) const {
    if (value == kAbsent || !graph_.is_stored(value)) return std::nullopt;
    const base::Boxed<TensorValue>& known = graph_.initializer(graph_.value(value).initializer).value;
    if (!known || known->size() != 1) return std::nullopt;
    const Dim* number = std::get_if<Dim>(&known->front());
    const std::optional<std::int64_t> bit = number == nullptr ? std::nullopt : number->value64();
    return bit ? std::optional(*bit != 0) : std::nullopt;
  }

  static std::optional<GraphId> body(const Node& node, bool is_then) {
    const Attribute* attribute = node.attribute(is_then ? "then_branch" : "else_branch");
    const GraphId* id = attribute == nullptr ? nullptr : std::get_if<GraphId>(&attribute->value);
    return id == nullptr ? std::nullopt : std::optional(*id);
  }

  ValueId add(Value value) {
    graph_.values.push_back(std::move(value));
    return static_cast<ValueId>(graph_.values.size() - 1);
  }

  void replace(std::size_t at, GraphId branch) {
    const Node taken = std::move(graph_.nodes[at]);
    Graph inner = std::move(model_.graphs[index(branch)]);  // emptied: its weights now belong to the main graph
    model_.graphs[index(branch)] = {};
    model_.graphs[index(branch)].parent = 0;

    // Outputs that a node of the branch computes under the same name keep it; the others are copies.
    std::vector<ValueId> outer(inner.values.size(), kAbsent);
    std::vector<Node> copies;
    for (std::size_t i = 0; i < taken.outputs.size() && i < inner.outputs.size(); ++i) {
      const ValueId from = inner.outputs[i], to = taken.outputs[i];
      if (to == kAbsent) continue;
      const Value& value = inner.value(from);
      Value& result = graph_.values[index(to)];
      if (!result.declared.shape) result.declared = value.declared;
      if (value.outer == kAbsent && value.initializer < 0 && outer[index(from)] == kAbsent && value.name == result.name)
        outer[index(from)] = to;
      else
        copies.push_back(identity(result.name, from, to));
    }
    for (std::size_t i = 0; i < inner.values.size(); ++i) {
      Value& value = inner.values[i];
      if (outer[i] != kAbsent) continue;
      if (value.outer != kAbsent) {
        outer[i] = value.outer;
        continue;
      }
      if (value.initializer >= 0) {
        graph_.initializers.push_back(std::move(inner.initializers[index(value.initializer)]));
        value.initializer = static_cast<std::int32_t>(graph_.initializers.size() - 1);
      }
      outer[i] = add(std::move(value));
    }

    // The If's own row stays, as a view of its condition.
    std::vector<Node> nodes;
    const std::string name = display_name(graph_, taken);
    Value condition;
    condition.name = name + "/condition";
    nodes.push_back(identity(name, taken.input(0), add(std::move(condition))));
    nodes.back().scope = taken.scope;
    std::set<std::string, std::less<>> used;
    for (const Node& node : graph_.nodes) used.insert(node.name);
    for (Node& node : inner.nodes)
      if (!node.name.empty() && used.contains(node.name)) node.name = name + "/" + node.name;
    for (std::vector<Node>* list : {&inner.nodes, &copies})
      for (Node& node : *list) {
        for (ValueId& input : node.inputs)
          if (input != kAbsent) input = outer[index(input)];
        if (list == &inner.nodes) {
          for (ValueId& output : node.outputs)
            if (output != kAbsent) output = outer[index(output)];
          for (const GraphId nested : node.bodies()) adopt(nested, outer);
        }
        nodes.push_back(std::move(node));
      }
    const auto place = graph_.nodes.erase(graph_.nodes.begin() + at);
    graph_.nodes.insert(place, std::make_move_iterator(nodes.begin()), std::make_move_iterator(nodes.end()));
  }

  // A body within the branch captures from the main graph from now on.
  void adopt(GraphId id, const std::vector<ValueId>& outer) {
    Graph& body = model_.graphs[index(id)];
    body.parent = 0;
    for (Value& value : body.values)
      if (value.outer != kAbsent) value.outer = outer[index(value.outer)];
  }

  Model& model_;
  Graph& graph_;
};

}  // namespace

std::optional<Model> with_branches_taken(const Model& model) {
  if (model.graphs.empty()) return std::nullopt;
  const std::vector<Node>& nodes = model.main().nodes;
  if (std::none_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.op_type == "If"; }))
    return std::nullopt;
  Model result = model;
  BranchTaker taker(result);
  bool is_changed = false;
  while (taker.take_one()) is_changed = true;
  return is_changed ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace pagoda::inline core
