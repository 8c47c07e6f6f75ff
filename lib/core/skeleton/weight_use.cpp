// Traces weights from their storage to the operators that read them.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "graph/index.h"
#include "skeleton/fill.h"
#include "ops/op_rule.h"

namespace pagoda::inline core::wire {
namespace {

double size_of(const Dim& dim) { return static_cast<double>(dim.value64().value_or(1)); }

// The weight whose numbers a value holds.
struct Origin {
  const Tensor* tensor = nullptr;
  bool is_rearranged = false;  // its dims may be in a different order
};

// Preserves the variance through a contraction of `fan_in` products (LeCun et al., "Efficient BackProp", 1998). Without
// the factor of 2 for a Relu (He et al., arXiv 1502.01852), with which the sums of 50 residual blocks would overflow
// half precision.
double unit_deviation(double fan_in) { return std::sqrt(1 / fan_in); }

double guessed_fan_in(const Shape& shape) {
  if (shape.size() < 2) return 1;
  if (shape.size() == 2) return std::max(size_of(shape[0]), size_of(shape[1]));
  double product = 1;  // as for convolutions: all but the output channels
  for (std::size_t i = 1; i < shape.size(); ++i) product *= size_of(shape[i]);
  return std::max(product, 1.0);
}

// Products summed per output element.
double fan_in(const Node& node, const OpFacts& facts, int input, const Origin& origin) {
  const Shape& shape = *origin.tensor->type.shape;
  const std::size_t rank = shape.size();
  if (rank < 2) return 1;
  if (origin.is_rearranged) return guessed_fan_in(shape);
  const Dim& rows = shape[rank - 2];
  const Dim& columns = shape[rank - 1];
  if (facts.kind == OpKind::Attention) return size_of(rows);
  switch (facts.form) {
    case ProductForm::Matrices:
      return size_of(input == 0 ? columns : rows);
    case ProductForm::Matrix: {
      const bool is_transposed = node.integer(input == 0 ? "transA" : "transB", 0) != 0;
      return size_of((input == 0) == is_transposed ? rows : columns);
    }
    case ProductForm::Deconvolution: {
      double product = size_of(shape[0]);
      for (std::size_t i = 2; i < rank; ++i) product *= size_of(shape[i]);
      return product;
    }
    case ProductForm::Convolution:
    case ProductForm::Einsum:
    case ProductForm::Integers:
    case ProductForm::Other:
    case ProductForm::ScaledConvolution:
      break;
  }
  return guessed_fan_in(shape);
}

class UseFinder {
 public:
  explicit UseFinder(const Model& model) : model_(model), origins_(model.graphs.size()) {}

  std::map<WeightPlace, WeightUse> run() {
    // A graph comes after its enclosing graph, so the origins of captures are known.
    for (std::size_t id = 0; id < model_.graphs.size(); ++id) visit(static_cast<GraphId>(id));
    return std::move(uses_);
  }

 private:
  void visit(GraphId id) {
    const Graph& graph = model_.graph(id);
    std::vector<Origin>& origins = origins_[index(id)];
    origins.resize(graph.values.size());
    for (std::size_t i = 0; i < graph.values.size(); ++i) {
      const Value& value = graph.values[i];
      if (value.initializer >= 0) origins[i].tensor = &graph.initializer(value.initializer);
      if (value.outer != kAbsent) origins[i] = origins_[index(graph.parent)][index(value.outer)];
    }
    for (const Node& node : graph.nodes) visit(node, origins);
  }

  void visit(const Node& node, std::vector<Origin>& origins) {
    const OpFacts facts = ops::facts_of(node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == kAbsent || origins[index(id)].tensor == nullptr) continue;
      const Origin& origin = origins[index(id)];
      WeightUse& use = uses_[{origin.tensor->extent.location, origin.tensor->extent.offset}];
      if (use.use != Use::Unknown) continue;
      const int input = static_cast<int>(i);
      use.use = facts.weight(i);
      if (use.use == Use::Weight) use.deviation = unit_deviation(fan_in(node, facts, input, origin));
      if (use.use == Use::Unknown) use.deviation = unit_deviation(guessed_fan_in(*origin.tensor->type.shape));
      if (use.use == Use::QuantScale) use.deviation = scale_deviation(node, input, origins);
    }
    if (node.outputs.empty() || node.outputs[0] == kAbsent) return;
    Origin& output = origins[index(node.outputs[0])];
    if (const Attribute* value = node.op_type == "Constant" ? node.attribute("value") : nullptr) {
      output.tensor = std::get_if<Tensor>(&value->value);
    } else if (node.input(0) != kAbsent && facts.numbers != Numbers::New) {
      const Origin& input = origins[index(node.inputs[0])];
      output = {input.tensor, input.is_rearranged || facts.numbers == Numbers::Rearranged};
    }
  }

  // The scale that gives quantised numbers, which are uniform over their range, the deviation of weights.
  static double scale_deviation(const Node& node, int scale, const std::vector<Origin>& origins) {
    double width = 8, products = 1;
    const ValueId quantised = scale == 0 ? kAbsent : node.inputs[index(scale) - 1];
    const Tensor* tensor = quantised == kAbsent ? nullptr : origins[index(quantised)].tensor;
    if (tensor != nullptr) {
      width = bits(tensor->type.element);
      products = guessed_fan_in(*tensor->type.shape);
    }
    if (node.op_type == "MatMulNBits") {
      width = static_cast<double>(node.integer("bits", 4));
      products = std::max(static_cast<double>(node.integer("K", 1)), 1.0);
    }
    return unit_deviation(products) * std::sqrt(12) / std::exp2(width);
  }

  const Model& model_;
  std::vector<std::vector<Origin>> origins_;
  std::map<WeightPlace, WeightUse> uses_;
};

}  // namespace

std::map<WeightPlace, WeightUse> weight_uses(const Model& model) { return UseFinder(model).run(); }

}  // namespace pagoda::inline core::wire
