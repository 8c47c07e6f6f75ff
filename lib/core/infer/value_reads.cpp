// Follows the values that rules read back to stored tensors.
#include "infer/value_reads.h"

#include "graph/index.h"
#include "ops/op_rule.h"
#include "pagoda/base/error.h"

namespace pagoda::inline core {
namespace {

class ReaderFinder {
 public:
  explicit ReaderFinder(const Model& model) : model_(model) {
    for (std::size_t id = 0; id < model.graphs.size(); ++id) {
      const Graph& graph = model.graphs[id];
      readers_.emplace_back(graph.values.size());
      owners_.resize(model.graphs.size());
      std::vector<const Node*>& writers = writers_.emplace_back(graph.values.size(), nullptr);
      for (const Node& node : graph.nodes) {
        for (const ValueId output : node.outputs)
          if (output != kAbsent) writers[index(output)] = &node;
        for (const GraphId body : node.bodies()) owners_[index(body)].push_back({static_cast<GraphId>(id), &node});
        if (const Function* called = function(node))
          owners_[index(called->body)].push_back({static_cast<GraphId>(id), &node});
      }
    }
  }

  std::vector<std::vector<std::string_view>> run() {
    std::vector<bool> walked(model_.graphs.size(), false);
    try {
      const ValueReads reads = value_reads(model_);
      walked = reads.walked;
      for (const auto& [graph, at, place] : reads.inputs) {
        const Node& node = model_.graph(graph).nodes[at];
        // A pointwise operator's work may depend on an operand; no size does.
        if (ops::facts_of(node).kind != OpKind::Pointwise && place >= 0)
          read(graph, node.input(static_cast<std::size_t>(place)), node.op_type);
      }
    } catch (const Error&) {  // not to be analysed: whatever may be an argument is one
    }
    for (std::size_t id = 0; id < model_.graphs.size(); ++id)
      for (const Node& node : model_.graphs[id].nodes) read_by_structure(static_cast<GraphId>(id), node, walked[id]);
    while (!open_.empty()) {
      const Place place = open_.back();
      open_.pop_back();
      follow(place);
    }
    return std::move(readers_);
  }

 private:
  struct Place {
    GraphId graph;
    ValueId value;
  };
  struct Owner {
    GraphId graph;
    const Node* node;
  };

  const Function* function(const Node& node) const { return model_.function(node.domain, node.op_type, node.overload); }

  void read(GraphId graph, ValueId value, std::string_view reader) {
    if (value == kAbsent || !readers_[index(graph)][index(value)].empty()) return;
    readers_[index(graph)][index(value)] = reader;
    open_.push_back({graph, value});
  }

  // Trips and conditions; and, in a body that the walk did not reach, whatever may be an argument.
  void read_by_structure(GraphId graph, const Node& node, bool is_walked) {
    const bool is_loop = node.op_type == "Loop", is_if = node.op_type == "If";
    const OpFacts facts = ops::facts_of(node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if ((is_loop && i < 2) || (is_if && i == 0) ||
          (!is_walked && facts.kind != OpKind::Pointwise && facts.weight(i) == WeightUse::Unknown))
        read(graph, node.inputs[i], node.op_type);
    if (!is_loop) return;
    for (const GraphId body : node.bodies())
      if (!model_.graph(body).outputs.empty()) read(body, model_.graph(body).outputs.front(), node.op_type);
  }

  void read_all(GraphId graph, const base::SmallVector<ValueId, 2>& values, std::string_view reader) {
    for (const ValueId value : values) read(graph, value, reader);
  }

  void follow(const Place& place) {
    const Graph& graph = model_.graph(place.graph);
    const Value& value = graph.value(place.value);
    const std::string_view reader = readers_[index(place.graph)][index(place.value)];
    if (value.outer != kAbsent) return read(graph.parent, value.outer, reader);
    if (value.is_input) {  // of a body: what its node takes, or what the trip before left
      for (const Owner& owner : owners_[index(place.graph)]) read_all(owner.graph, owner.node->inputs, reader);
      for (const ValueId output : graph.outputs)
        if (place.graph != 0) read(place.graph, output, reader);
      return;
    }
    const Node* writer = writers_[index(place.graph)][index(place.value)];
    if (writer == nullptr) return;
    std::vector<GraphId> bodies = writer->bodies();
    const Function* called = function(*writer);
    if (called != nullptr) bodies.push_back(called->body);
    for (const GraphId body : bodies)
      for (const ValueId output : model_.graph(body).outputs) read(body, output, reader);
    const OpRule* rule = ops::find_rule(plain_domain(writer->domain), writer->op_type);
    const bool folds = rule != nullptr && rule->fold != nullptr && rule->facts.placement != Placement::AsksShape;
    if (folds || !bodies.empty()) read_all(place.graph, writer->inputs, reader);
  }

  const Model& model_;
  std::vector<std::vector<std::string_view>> readers_;
  std::vector<std::vector<const Node*>> writers_;
  std::vector<std::vector<Owner>> owners_;  // of bodies and functions: the nodes that run them
  std::vector<Place> open_;
};

}  // namespace

std::vector<std::vector<std::string_view>> value_readers(const Model& model) { return ReaderFinder(model).run(); }

}  // namespace pagoda::inline core
