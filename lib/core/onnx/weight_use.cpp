// Follows weights from where they are stored to the operators that read them.
#include "onnx/weight_use.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

namespace pagoda::inline core::wire {
namespace {

struct UseRow {
  std::string_view op;
  int input;
  Use use;
};

// clang-format off
constexpr UseRow kUses[] = {
    // op                            input  use
    {"Add",                            0, Use::Additive},
    {"Add",                            1, Use::Additive},
    {"Attention",                      1, Use::Weight},
    {"Attention",                      2, Use::Additive},
    {"BatchNormalization",             1, Use::Factor},
    {"BatchNormalization",             2, Use::Additive},
    {"BatchNormalization",             3, Use::Additive},
    {"BatchNormalization",             4, Use::Positive},
    {"BiasGelu",                       1, Use::Additive},
    {"Conv",                           1, Use::Weight},
    {"Conv",                           2, Use::Additive},
    {"ConvInteger",                    2, Use::ZeroPoint},
    {"ConvInteger",                    3, Use::ZeroPoint},
    {"ConvTranspose",                  1, Use::Weight},
    {"ConvTranspose",                  2, Use::Additive},
    {"DequantizeLinear",               1, Use::QuantScale},
    {"DequantizeLinear",               2, Use::ZeroPoint},
    {"Div",                            0, Use::Factor},
    {"Div",                            1, Use::Positive},
    {"EmbedLayerNormalization",        2, Use::Embedding},
    {"EmbedLayerNormalization",        3, Use::Embedding},
    {"EmbedLayerNormalization",        4, Use::Embedding},
    {"EmbedLayerNormalization",        5, Use::Factor},
    {"EmbedLayerNormalization",        6, Use::Additive},
    {"FastGelu",                       1, Use::Additive},
    {"FusedMatMul",                    0, Use::Weight},
    {"FusedMatMul",                    1, Use::Weight},
    {"GRU",                            1, Use::Weight},
    {"GRU",                            2, Use::Weight},
    {"GRU",                            3, Use::Additive},
    {"Gather",                         0, Use::Embedding},
    {"GatherBlockQuantized",           2, Use::QuantScale},
    {"GatherBlockQuantized",           3, Use::ZeroPoint},
    {"Gemm",                           0, Use::Weight},
    {"Gemm",                           1, Use::Weight},
    {"Gemm",                           2, Use::Additive},
    {"GroupNormalization",             1, Use::Factor},
    {"GroupNormalization",             2, Use::Additive},
    {"InstanceNormalization",          1, Use::Factor},
    {"InstanceNormalization",          2, Use::Additive},
    {"LSTM",                           1, Use::Weight},
    {"LSTM",                           2, Use::Weight},
    {"LSTM",                           3, Use::Additive},
    {"LayerNormalization",             1, Use::Factor},
    {"LayerNormalization",             2, Use::Additive},
    {"Log",                            0, Use::Positive},
    {"MatMul",                         0, Use::Weight},
    {"MatMul",                         1, Use::Weight},
    {"MatMulInteger",                  2, Use::ZeroPoint},
    {"MatMulInteger",                  3, Use::ZeroPoint},
    {"MatMulNBits",                    2, Use::QuantScale},
    {"MatMulNBits",                    3, Use::ZeroPoint},
    {"Mul",                            0, Use::Factor},
    {"Mul",                            1, Use::Factor},
    {"PRelu",                          1, Use::Factor},
    {"Pow",                            0, Use::Positive},
    {"QLinearConv",                    1, Use::QuantScale},
    {"QLinearConv",                    2, Use::ZeroPoint},
    {"QLinearConv",                    4, Use::QuantScale},
    {"QLinearConv",                    5, Use::ZeroPoint},
    {"QLinearConv",                    6, Use::QuantScale},
    {"QLinearConv",                    7, Use::ZeroPoint},
    {"QLinearMatMul",                  1, Use::QuantScale},
    {"QLinearMatMul",                  2, Use::ZeroPoint},
    {"QLinearMatMul",                  4, Use::QuantScale},
    {"QLinearMatMul",                  5, Use::ZeroPoint},
    {"QLinearMatMul",                  6, Use::QuantScale},
    {"QLinearMatMul",                  7, Use::ZeroPoint},
    {"QuantizeLinear",                 1, Use::QuantScale},
    {"QuantizeLinear",                 2, Use::ZeroPoint},
    {"RMSNormalization",               1, Use::Factor},
    {"RNN",                            1, Use::Weight},
    {"RNN",                            2, Use::Weight},
    {"RNN",                            3, Use::Additive},
    {"Reciprocal",                     0, Use::Positive},
    {"SimplifiedLayerNormalization",   1, Use::Factor},
    {"SkipLayerNormalization",         2, Use::Factor},
    {"SkipLayerNormalization",         3, Use::Additive},
    {"SkipLayerNormalization",         4, Use::Additive},
    {"SkipSimplifiedLayerNormalization", 2, Use::Factor},
    {"SkipSimplifiedLayerNormalization", 3, Use::Additive},
    {"Sqrt",                           0, Use::Positive},
    {"Sub",                            0, Use::Additive},
    {"Sub",                            1, Use::Additive},
};

// Operators whose first output holds the numbers of their first input.
constexpr std::array kViews = {
    std::string_view{"Cast"}, std::string_view{"Concat"}, std::string_view{"DequantizeLinear"}, std::string_view{"Expand"},
    std::string_view{"Flatten"}, std::string_view{"Identity"}, std::string_view{"QuantizeLinear"}, std::string_view{"Reshape"},
    std::string_view{"Slice"}, std::string_view{"Squeeze"}, std::string_view{"Tile"}, std::string_view{"Transpose"},
    std::string_view{"Unsqueeze"}};
// clang-format on

// Reading order: every pair of operator and input once.
consteval bool well_formed() {
  for (std::size_t i = 1; i < std::size(kUses); ++i)
    if (!(kUses[i - 1].op < kUses[i].op || (kUses[i - 1].op == kUses[i].op && kUses[i - 1].input < kUses[i].input)))
      return false;
  return std::is_sorted(kViews.begin(), kViews.end());
}
static_assert(well_formed());

Use use_of(std::string_view op, int input) {
  const auto row = std::lower_bound(std::begin(kUses), std::end(kUses), std::pair(op, input),
                                    [](const UseRow& a, const auto& b) { return std::pair(a.op, a.input) < b; });
  return row != std::end(kUses) && row->op == op && row->input == input ? row->use : Use::Unknown;
}

double size_of(const Dim& dim) { return static_cast<double>(dim.value64().value_or(1)); }

// The weight that a value is, or holds the numbers of.
struct Origin {
  const Tensor* tensor = nullptr;
  bool is_rearranged = false;  // its dims may be in another order
};

// Keeps the variance through a contraction of `fan_in` products (LeCun et al., "Efficient BackProp", 1998). Without
// the factor of 2 for a Relu (He et al., arXiv 1502.01852): the sums of 50 residual blocks would leave half precision.
double unit_deviation(double fan_in) { return std::sqrt(1 / fan_in); }

double guessed_fan_in(const Shape& shape) {
  if (shape.size() < 2) return 1;
  if (shape.size() == 2) return std::max(size_of(shape[0]), size_of(shape[1]));
  double product = 1;  // as for convolutions: all but the output channels
  for (std::size_t i = 1; i < shape.size(); ++i) product *= size_of(shape[i]);
  return std::max(product, 1.0);
}

// Products summed for one output.
double fan_in(const Node& node, int input, const Origin& origin) {
  const Shape& shape = *origin.tensor->type.shape;
  const std::size_t rank = shape.size();
  if (rank < 2) return 1;
  if (origin.is_rearranged) return guessed_fan_in(shape);
  const Dim& rows = shape[rank - 2];
  const Dim& columns = shape[rank - 1];
  if (node.op_type == "MatMul" || node.op_type == "FusedMatMul") return size_of(input == 0 ? columns : rows);
  if (node.op_type == "Gemm") {
    const Attribute* transposed = node.attribute(input == 0 ? "transA" : "transB");
    const auto* flag = transposed == nullptr ? nullptr : std::get_if<std::int64_t>(&transposed->value);
    const bool is_transposed = flag != nullptr && *flag != 0;
    return size_of((input == 0) == is_transposed ? rows : columns);
  }
  if (node.op_type == "Attention") return size_of(rows);
  if (node.op_type == "ConvTranspose") {
    double product = size_of(shape[0]);
    for (std::size_t i = 2; i < rank; ++i) product *= size_of(shape[i]);
    return product;
  }
  return guessed_fan_in(shape);
}

class UseFinder {
 public:
  explicit UseFinder(const Model& model) : model_(model), origins_(model.graphs.size()) {}

  std::map<WeightPlace, WeightUse> run() {
    // A graph comes after the one around it, so the origins of captures are known.
    for (std::size_t graph = 0; graph < model_.graphs.size(); ++graph) visit(graph);
    return std::move(uses_);
  }

 private:
  void visit(std::size_t index) {
    const Graph& graph = model_.graphs[index];
    std::vector<Origin>& origins = origins_[index];
    origins.resize(graph.values.size());
    for (std::size_t i = 0; i < graph.values.size(); ++i) {
      const Value& value = graph.values[i];
      if (value.initializer >= 0) origins[i].tensor = &graph.initializers[static_cast<std::size_t>(value.initializer)];
      if (value.outer != kAbsent)
        origins[i] = origins_[static_cast<std::size_t>(graph.parent)][static_cast<std::size_t>(value.outer)];
    }
    for (const Node& node : graph.nodes) visit(node, origins);
  }

  void visit(const Node& node, std::vector<Origin>& origins) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == kAbsent || origins[static_cast<std::size_t>(id)].tensor == nullptr) continue;
      add(node, static_cast<int>(i), origins);
    }
    if (node.outputs.empty() || node.outputs[0] == kAbsent) return;
    Origin& output = origins[static_cast<std::size_t>(node.outputs[0])];
    if (const Attribute* value = node.op_type == "Constant" ? node.attribute("value") : nullptr)
      output.tensor = std::get_if<Tensor>(&value->value);
    else if (!node.inputs.empty() && node.inputs[0] != kAbsent &&
             std::binary_search(kViews.begin(), kViews.end(), std::string_view(node.op_type)))
      output = {origins[static_cast<std::size_t>(node.inputs[0])].tensor,
                origins[static_cast<std::size_t>(node.inputs[0])].is_rearranged || !keeps_order(node)};
  }

  static bool keeps_order(const Node& node) {
    return node.op_type == "Identity" || node.op_type == "Cast" || node.op_type.ends_with("Linear");
  }

  void add(const Node& node, int input, const std::vector<Origin>& origins) {
    const Origin& origin = origins[static_cast<std::size_t>(node.inputs[static_cast<std::size_t>(input)])];
    WeightUse& use = uses_[{origin.tensor->extent.location, origin.tensor->extent.offset}];
    if (use.use != Use::Unknown) return;
    use.use = use_of(node.op_type, input);
    if (use.use == Use::Weight) use.deviation = unit_deviation(fan_in(node, input, origin));
    if (use.use == Use::Unknown) use.deviation = guessed_deviation(*origin.tensor->type.shape);
    if (use.use == Use::QuantScale) use.deviation = scale_deviation(node, input, origins);
  }

  // The scale that gives quantised numbers, which are uniform over their range, the deviation of weights.
  static double scale_deviation(const Node& node, int scale, const std::vector<Origin>& origins) {
    double width = 8, products = 1;
    const ValueId quantised = scale == 0 ? kAbsent : node.inputs[static_cast<std::size_t>(scale) - 1];
    const Tensor* tensor = quantised == kAbsent ? nullptr : origins[static_cast<std::size_t>(quantised)].tensor;
    if (tensor != nullptr) {
      width = bits(tensor->type.element);
      products = guessed_fan_in(*tensor->type.shape);
    }
    if (node.op_type == "MatMulNBits") {
      width = integer(node, "bits", 4);
      products = std::max(integer(node, "K", 1), 1.0);
    }
    return unit_deviation(products) * std::sqrt(12) / std::exp2(width);
  }

  static double integer(const Node& node, std::string_view name, double otherwise) {
    const Attribute* attribute = node.attribute(name);
    const auto* value = attribute == nullptr ? nullptr : std::get_if<std::int64_t>(&attribute->value);
    return value == nullptr ? otherwise : static_cast<double>(*value);
  }

  const Model& model_;
  std::vector<std::vector<Origin>> origins_;
  std::map<WeightPlace, WeightUse> uses_;
};

}  // namespace

double guessed_deviation(const Shape& shape) { return unit_deviation(guessed_fan_in(shape)); }

std::map<WeightPlace, WeightUse> weight_uses(const Model& model) { return UseFinder(model).run(); }

}  // namespace pagoda::inline core::wire
