#include "infer/storage.h"

#include <array>

#include "graph/index.h"
#include "ops/op_rule.h"

namespace pagoda::inline core {
namespace {

class OperandFinder {
 public:
  explicit OperandFinder(const Model& model) : model_(model), operands_(model.graphs.size()) {}

  std::vector<std::vector<bool>> find() {
    for (std::size_t id = 0; id < model_.graphs.size(); ++id) visit(static_cast<GraphId>(id));
    return std::move(operands_);
  }

 private:
  // Readers come after the values they read, so one pass from the end sees readers first. A body is visited with its
  // enclosing graph or before; functions do not call themselves.
  void visit(GraphId id) {
    const Graph& graph = model_.graph(id);
    std::vector<bool>& found = operands_[index(id)];
    if (!found.empty() || graph.values.empty()) return;
    found.resize(graph.values.size(), false);
    for (std::size_t i = graph.nodes.size(); i-- > 0;) {
      const Node& node = graph.nodes[i];
      const Function* function = model_.function(node.domain, node.op_type, node.overload);
      if (function != nullptr) {
        take_arguments(node, function->body, found);
        continue;
      }
      for (const GraphId body : node.bodies()) take_captured(body, found);
      const OpFacts facts = ops::facts_of(node);
      const bool passes_on = moves_elements(facts.kind) && !node.outputs.empty() && node.outputs[0] != kAbsent &&
                             found[index(node.outputs[0])];
      const bool is_attention = facts.kind == OpKind::Attention;
      const std::size_t operands = passes_on || is_attention          ? node.inputs.size()
                                   : multiplies_first_two(facts.form) ? 2
                                                                      : 0;
      for (std::size_t operand = 0; operand < operands && operand < node.inputs.size(); ++operand)
        if (node.inputs[operand] != kAbsent) found[index(node.inputs[operand])] = true;
      for (std::size_t cache = 1; is_attention && cache < node.outputs.size(); ++cache)
        if (node.outputs[cache] != kAbsent) found[index(node.outputs[cache])] = true;
    }
  }

  static bool moves_elements(OpKind kind) {
    return kind == OpKind::View || kind == OpKind::Transpose || kind == OpKind::Layout || kind == OpKind::Expand;
  }

  void take_arguments(const Node& call, GraphId body, std::vector<bool>& found) {
    visit(body);
    const Graph& graph = model_.graph(body);
    for (std::size_t i = 0; i < call.inputs.size() && i < graph.inputs.size(); ++i)
      if (call.inputs[i] != kAbsent && operands_[index(body)][index(graph.inputs[i])])
        found[index(call.inputs[i])] = true;
  }

  void take_captured(GraphId body, std::vector<bool>& found) {
    visit(body);
    const Graph& graph = model_.graph(body);
    for (std::size_t v = 0; v < graph.values.size(); ++v)
      if (graph.values[v].outer != kAbsent && operands_[index(body)][v]) found[index(graph.values[v].outer)] = true;
  }

  const Model& model_;
  std::vector<std::vector<bool>> operands_;
};

}  // namespace

bool multiplies_operands(const OpFacts& facts) {
  return multiplies_first_two(facts.form) || facts.kind == OpKind::Attention;
}

bool is_replaced(ElementType type) {
  return type == ElementType::Float16 || type == ElementType::Bfloat16 || type == ElementType::Float32 ||
         type == ElementType::Float64;
}

FloatStorage storage_of(std::optional<Precision> precision) {
  struct Row {
    Precision precision;
    FloatStorage storage;
  };
  constexpr std::array<Row, 11> kRows = {{
      {Precision::Float64, {.floats = ElementType::Float64}},
      {Precision::Float32, {.floats = ElementType::Float32}},
      {Precision::Tf32, {.floats = ElementType::Float32}},
      {Precision::Float16, {.floats = ElementType::Float16}},
      {Precision::Bfloat16, {.floats = ElementType::Bfloat16}},
      {Precision::Float8, {.floats = ElementType::Float16, .operands = ElementType::Float8e4m3fn}},
      {Precision::Float4, {.floats = ElementType::Float16, .operands = ElementType::Float4e2m1}},
      {Precision::Int32, {.floats = ElementType::Float16, .operands = ElementType::Int32}},
      {Precision::Int16, {.floats = ElementType::Float16, .operands = ElementType::Int16}},
      {Precision::Int8, {.floats = ElementType::Float16, .operands = ElementType::Int8}},
      {Precision::Int4, {.floats = ElementType::Float16, .operands = ElementType::Int4}},
  }};
  for (const Row& row : kRows)
    if (row.precision == precision) return row.storage;
  return {};
}

std::vector<std::vector<bool>> product_operands(const Model& model, const FloatStorage& storage) {
  if (storage.operands == ElementType::Undefined) return std::vector<std::vector<bool>>(model.graphs.size());
  return OperandFinder(model).find();
}

}  // namespace pagoda::inline core
