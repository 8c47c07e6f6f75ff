// Follows the batch axis of recurrent operators' inputs up to the inputs of the graph.
#include "infer/batch_axis.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <utility>

namespace pagoda::inline core {
namespace {

using Axis = std::size_t;

// X is [sequence, batch, features], initial_h and initial_c are [directions, batch, hidden]; with layout 1 the batch
// comes first (Operators.md of ONNX, ContribOperators.md of ONNX Runtime).
constexpr std::array<std::string_view, 4> kRecurrent = {"DynamicQuantizeLSTM", "GRU", "LSTM", "RNN"};
constexpr std::array<std::size_t, 3> kBatched = {0, 5, 6};

// Their first input's axes stay where they are, up to the last two of a product and the axes that a Slice cuts.
constexpr auto kSameAxes =
    std::to_array<std::string_view>({"Add", "Cast", "Clip", "Div", "Dropout", "Gelu", "Identity", "LayerNormalization",
                                     "LeakyRelu", "MatMul", "Mul", "Relu", "Sigmoid", "Slice", "Split", "Sub", "Tanh"});

class Tracer {
 public:
  explicit Tracer(const Graph& graph)
      : graph_(graph),
        producer_(graph.values.size(), nullptr),
        input_(graph.values.size()),
        is_seen_(graph.values.size(), false) {
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) input_[static_cast<std::size_t>(graph.inputs[i])] = i;
    for (const Node& node : graph.nodes)
      for (const ValueId output : node.outputs)
        if (output != kAbsent) producer_[static_cast<std::size_t>(output)] = &node;
  }

  std::vector<std::optional<Axis>> run() {
    axes_.resize(graph_.inputs.size());
    for (const Node& node : graph_.nodes) {
      if (std::find(kRecurrent.begin(), kRecurrent.end(), node.op_type) == kRecurrent.end()) continue;
      const Axis axis = integer(node, "layout") == 1 ? 0 : 1;
      for (const std::size_t position : kBatched)
        if (position < node.inputs.size()) follow(node.inputs[position], axis);
    }
    return std::move(axes_);
  }

 private:
  static std::int64_t integer(const Node& node, std::string_view name) {
    const Attribute* attribute = node.attribute(name);
    const auto* value = attribute == nullptr ? nullptr : std::get_if<std::int64_t>(&attribute->value);
    return value == nullptr ? 0 : *value;
  }

  bool is_stored(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)].initializer >= 0; }

  // The value that lends `node` its axes, and which of its axes becomes `axis`; empty where that cannot be told.
  std::optional<std::pair<ValueId, Axis>> behind(const Node& node, Axis axis) const {
    const auto input = [&](std::size_t i) { return i < node.inputs.size() ? node.inputs[i] : kAbsent; };
    if (std::find(kSameAxes.begin(), kSameAxes.end(), node.op_type) != kSameAxes.end()) {
      const bool first_is_weight = input(0) != kAbsent && is_stored(input(0));  // bias + x
      return std::pair{first_is_weight && node.op_type != "MatMul" ? input(1) : input(0), axis};
    }
    if (node.op_type == "Gather" && integer(node, "axis") == 0 && input(0) != kAbsent && is_stored(input(0)))
      return std::pair{input(1), axis};  // an embedding of [sequence, batch] indices
    if (node.op_type == "Transpose") {
      const Attribute* attribute = node.attribute("perm");
      const auto* perm = attribute == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(&attribute->value);
      if (perm == nullptr || axis >= perm->size() || (*perm)[axis] < 0) return std::nullopt;
      return std::pair{input(0), static_cast<Axis>((*perm)[axis])};
    }
    return std::nullopt;
  }

  // The first operator to tell an axis of a value decides, so that each value is looked at once.
  void follow(ValueId id, Axis axis) {
    while (id != kAbsent && !is_seen_[static_cast<std::size_t>(id)]) {
      is_seen_[static_cast<std::size_t>(id)] = true;
      if (const auto input = input_[static_cast<std::size_t>(id)]) {
        axes_[*input] = axis;
        return;
      }
      const Node* node = producer_[static_cast<std::size_t>(id)];
      const auto next = node == nullptr ? std::nullopt : behind(*node, axis);
      if (!next) return;
      std::tie(id, axis) = *next;
    }
  }

  const Graph& graph_;
  std::vector<const Node*> producer_;
  std::vector<std::optional<std::size_t>> input_;  // by ValueId: its place among the inputs
  std::vector<bool> is_seen_;
  std::vector<std::optional<Axis>> axes_;
};

}  // namespace

std::vector<std::optional<std::size_t>> batch_axes(const Graph& graph) { return Tracer(graph).run(); }

}  // namespace pagoda::inline core
