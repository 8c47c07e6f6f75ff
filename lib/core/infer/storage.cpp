#include "infer/storage.h"

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
        visit(function->body);
        const std::vector<ValueId>& arguments = model_.graph(function->body).inputs;
        for (std::size_t k = 0; k < node.inputs.size() && k < arguments.size(); ++k)
          if (operands_[index(function->body)][index(arguments[k])]) mark(node.inputs[k], found);
        continue;
      }
      for (const GraphId body : node.bodies()) {
        visit(body);
        const std::vector<Value>& values = model_.graph(body).values;
        for (std::size_t v = 0; v < values.size(); ++v)
          if (operands_[index(body)][v]) mark(values[v].outer, found);
      }
      const OpFacts facts = ops::facts_of(node);
      const ValueId output = node.output(0);
      const bool passes_on = moves_elements(facts.kind) && output != kAbsent && found[index(output)];
      const bool is_attention = facts.kind == OpKind::Attention;
      const std::size_t operands = passes_on || is_attention          ? node.inputs.size()
                                   : multiplies_first_two(facts.form) ? 2
                                                                      : 0;
      for (std::size_t operand = 0; operand < operands; ++operand) mark(node.input(operand), found);
      for (std::size_t cache = 1; is_attention && cache < node.outputs.size(); ++cache)
        mark(node.outputs[cache], found);
    }
  }

  static void mark(ValueId value, std::vector<bool>& found) {
    if (value != kAbsent) found[index(value)] = true;
  }

  static bool moves_elements(OpKind kind) {
    return kind == OpKind::View || kind == OpKind::Transpose || kind == OpKind::Layout || kind == OpKind::Expand;
  }

  const Model& model_;
  std::vector<std::vector<bool>> operands_;
};

}  // namespace

bool is_replaced(ElementType type) {
  return type == ElementType::Float16 || type == ElementType::Bfloat16 || type == ElementType::Float32 ||
         type == ElementType::Float64;
}

FloatStorage storage_of(std::optional<Precision> precision) {
  if (!precision) return {};
  using enum ElementType;
  const ElementType element = *precision == Precision::Tf32     ? Float32
                              : *precision == Precision::Float8 ? Float8e4m3fn
                              : *precision == Precision::Float4 ? Float4e2m1
                                                                : *element_type(to_string(*precision));
  // Only products support the other formats: all floats that are not their operands are float16.
  if (is_replaced(element)) return {.floats = element};
  return {.floats = Float16, .operands = element};
}

std::vector<std::vector<bool>> product_operands(const Model& model, const FloatStorage& storage) {
  if (storage.operands == ElementType::Undefined) return std::vector<std::vector<bool>>(model.graphs.size());
  return OperandFinder(model).find();
}

}  // namespace pagoda::inline core
