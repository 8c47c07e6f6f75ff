#include "ops/packed_weights.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace pagoda::ops {
namespace {

// The value of an integer attribute within what sizes and widths can be; empty otherwise.
std::optional<std::int64_t> size_attribute(const Node& node, std::string_view name,
                                           std::optional<std::int64_t> otherwise = std::nullopt) {
  const Attribute* attribute = node.attribute(name);
  const auto* value = attribute == nullptr ? nullptr : std::get_if<std::int64_t>(&attribute->value);
  if (value == nullptr) return otherwise;
  return *value > 0 && *value < (std::int64_t{1} << 31) ? std::optional(*value) : std::nullopt;
}

// Elements at `bits` each in so many bytes.
std::optional<Dim> unpacked(const Dim& bytes, std::optional<std::int64_t> bits) {
  if (!bits || *bits > 8) return std::nullopt;
  return floor_div(bytes * 8, *bits);
}

std::optional<Dim> product(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  return a && b ? std::optional(Dim(*a) * *b) : std::nullopt;
}

std::optional<Dim> k_by_n(const Node& node, const Dim&) {
  return product(size_attribute(node, "K"), size_attribute(node, "N"));
}

// One zero point a block of a row.
std::optional<Dim> n_by_blocks(const Node& node, const Dim&) {
  const auto k = size_attribute(node, "K");
  const auto block = size_attribute(node, "block_size");
  if (!k || !block) return std::nullopt;
  return product((*k + *block - 1) / *block, size_attribute(node, "N"));
}

std::optional<Dim> k_by_query(const Node& node, const Dim&) {
  return product(size_attribute(node, "K"), size_attribute(node, "Nq"));
}

std::optional<Dim> k_by_key(const Node& node, const Dim&) {
  return product(size_attribute(node, "K"), size_attribute(node, "Nkv"));
}

std::optional<Dim> by_bits(const Node& node, const Dim& bytes) {
  return unpacked(bytes, size_attribute(node, "bits", 4));
}

std::optional<Dim> two_a_byte(const Node&, const Dim& bytes) { return bytes * 2; }

template <char Projection>
std::optional<Dim> expert(const Node& node, const Dim& bytes) {
  const Attribute* type = node.attribute("quant_type");
  const auto* name = type == nullptr ? nullptr : std::get_if<std::string>(&type->value);
  if (name != nullptr && *name != "int") return name->find("fp4") == std::string::npos ? bytes : bytes * 2;
  const auto all = size_attribute(node, "expert_weight_bits", 4);
  return unpacked(bytes, size_attribute(node, std::string("fc") + Projection + "_expert_weight_bits", all));
}

struct PackedInput {
  std::string_view op_type;  // of com.microsoft
  std::size_t input;
  std::optional<Dim> (*weights)(const Node&, const Dim& bytes);
};

// clang-format off
constexpr PackedInput kInputs[] = {
    // op                            input weights
    {"GatherBlockQuantized",          0,    by_bits},
    {"GatherBlockQuantized",          3,    by_bits},
    {"MatMulBlockQuantizedFp4Weight", 1,    two_a_byte},
    {"MatMulBnb4",                    1,    k_by_n},
    {"MatMulNBits",                   1,    k_by_n},
    {"MatMulNBits",                   3,    n_by_blocks},
    {"MatMulNBitsMlp",                3,    k_by_n},
    {"MatMulNBitsMlp",                6,    k_by_n},
    {"MatMulNBitsQkv",                3,    k_by_query},
    {"MatMulNBitsQkv",                6,    k_by_key},
    {"MatMulNBitsQkv",                9,    k_by_key},
    {"QMoE",                          2,    expert<'1'>},
    {"QMoE",                          5,    expert<'2'>},
    {"QMoE",                          8,    expert<'3'>},
    {"QMoE",                         11,    expert<'1'>},
    {"QMoE",                         12,    expert<'2'>},
    {"QMoE",                         13,    expert<'3'>},
};
// clang-format on

// The initializer behind a value: itself, the one it captures, or the one that a Reshape renames.
class Initializers {
 public:
  explicit Initializers(const Model& model) : model_(model) {}

  std::optional<std::pair<GraphId, std::int32_t>> find(GraphId graph_id, ValueId id) {
    for (int steps = 0; steps < 64 && id != kAbsent && graph_id >= 0; ++steps) {
      const Graph& graph = model_.graphs[static_cast<std::size_t>(graph_id)];
      const Value& value = graph.values[static_cast<std::size_t>(id)];
      if (value.initializer >= 0) return std::pair(graph_id, value.initializer);
      if (value.outer != kAbsent) {
        id = value.outer;
        graph_id = graph.parent;
      } else {
        id = reshaped(graph_id, id);
      }
    }
    return std::nullopt;
  }

 private:
  ValueId reshaped(GraphId graph_id, ValueId id) {
    const auto [at, is_new] = reshapes_.try_emplace(graph_id);
    if (is_new)
      for (const Node& node : model_.graphs[static_cast<std::size_t>(graph_id)].nodes)
        if (node.op_type == "Reshape" && node.domain.empty() && !node.inputs.empty() && !node.outputs.empty())
          at->second.emplace(node.outputs[0], node.inputs[0]);
    const auto found = at->second.find(id);
    return found == at->second.end() ? kAbsent : found->second;
  }

  const Model& model_;
  std::map<GraphId, std::map<ValueId, ValueId>> reshapes_;  // output → data
};

}  // namespace

std::map<std::pair<GraphId, std::int32_t>, Dim> packed_weights(const Model& model) {
  std::map<std::pair<GraphId, std::int32_t>, Dim> result;
  Initializers initializers(model);
  for (std::size_t g = 0; g < model.graphs.size(); ++g)
    for (const Node& node : model.graphs[g].nodes) {
      if (node.domain != "com.microsoft") continue;
      for (const PackedInput& packed : kInputs) {
        if (packed.op_type != node.op_type || packed.input >= node.inputs.size()) continue;
        const auto tensor = initializers.find(static_cast<GraphId>(g), node.inputs[packed.input]);
        if (!tensor) continue;
        const TensorType& type =
            model.graphs[static_cast<std::size_t>(tensor->first)].initializers[static_cast<std::size_t>(tensor->second)].type;
        if (type.element != ElementType::Uint8 || !type.shape) continue;
        try {
          if (const auto weights = packed.weights(node, element_count(*type.shape))) result.emplace(*tensor, *weights);
        } catch (const Error&) {  // sizes that are not credible end the analysis where they are used
        }
      }
    }
  return result;
}

}  // namespace pagoda::ops
