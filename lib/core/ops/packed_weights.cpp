#include "ops/packed_weights.h"

#include <iterator>

#include "graph/by_operator.h"
#include "ops/rule_parts.h"

namespace pagoda::inline core::ops {
namespace {

// The value of an integer attribute, `otherwise` if it is absent; empty if it is implausible as a size or width.
std::optional<std::int64_t> size_attribute(const Node& node, std::string_view name,
                                           std::optional<std::int64_t> otherwise = std::nullopt) {
  const Attribute* attribute = node.attribute(name);
  const auto* value = attribute == nullptr ? nullptr : std::get_if<std::int64_t>(&attribute->value);
  if (value == nullptr) return otherwise;
  return *value > 0 && *value < (std::int64_t{1} << 31) ? std::optional(*value) : std::nullopt;
}

// The number of elements of `bits` bits that the bytes hold.
std::optional<Dim> unpacked(const Dim& bytes, std::optional<std::int64_t> bits) {
  if (!bits || *bits > 8) return std::nullopt;
  return floor_div(bytes * 8, *bits);
}

std::optional<Dim> product(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  return a && b ? std::optional(Dim(*a) * *b) : std::nullopt;
}

// K rows; the attribute `Columns` has the number of weights in each.
template <RuleName Columns>
std::optional<Dim> k_by(const Node& node, const Dim&) {
  return product(size_attribute(node, "K"), size_attribute(node, Columns.view()));
}

// One zero point per block of a row.
std::optional<Dim> n_by_blocks(const Node& node, const Dim&) {
  const auto k = size_attribute(node, "K");
  const auto block = size_attribute(node, "block_size");
  if (!k || !block) return std::nullopt;
  return product((*k + *block - 1) / *block, size_attribute(node, "N"));
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

std::optional<Dim> one_each(const Node&, const Dim& elements) { return elements; }

struct WeightInput {
  std::string_view domain, op_type;
  std::size_t input;
  ElementType element;
  std::optional<Dim> (*weights)(const Node&, const Dim& elements);
};

constexpr std::string_view kMs = "com.microsoft";
constexpr ElementType kByte = ElementType::Uint8;
constexpr ElementType kWide = ElementType::Int32;

// clang-format off
constexpr WeightInput kInputs[] = {
    // domain                 op                               input element weights
    {"",                     "DequantizeLinear",                  0,  kWide,  one_each},
    {"",                     "QLinearConv",                       8,  kWide,  one_each},
    {kMs,                    "DequantizeLinear",                  0,  kWide,  one_each},
    {kMs,                    "GatherBlockQuantized",              0,  kByte,  by_bits},
    {kMs,                    "GatherBlockQuantized",              3,  kByte,  by_bits},
    {kMs,                    "MatMulBlockQuantizedFp4Weight",     1,  kByte,  two_a_byte},
    {kMs,                    "MatMulBnb4",                        1,  kByte,  k_by<"N">},
    {kMs,                    "MatMulNBits",                       1,  kByte,  k_by<"N">},
    {kMs,                    "MatMulNBits",                       3,  kByte,  n_by_blocks},
    {kMs,                    "MatMulNBitsMlp",                    3,  kByte,  k_by<"N">},
    {kMs,                    "MatMulNBitsMlp",                    6,  kByte,  k_by<"N">},
    {kMs,                    "MatMulNBitsQLoRA",                  1,  kByte,  k_by<"N">},
    {kMs,                    "MatMulNBitsQkv",                    3,  kByte,  k_by<"Nq">},
    {kMs,                    "MatMulNBitsQkv",                    6,  kByte,  k_by<"Nkv">},
    {kMs,                    "MatMulNBitsQkv",                    9,  kByte,  k_by<"Nkv">},
    {kMs,                    "MatMulPacked",                      1,  kByte,  k_by<"N">},
    {kMs,                    "QGemm",                             6,  kWide,  one_each},
    {kMs,                    "QLinearConv",                       8,  kWide,  one_each},
    {kMs,                    "QMoE",                              2,  kByte,  expert<'1'>},
    {kMs,                    "QMoE",                              5,  kByte,  expert<'2'>},
    {kMs,                    "QMoE",                              8,  kByte,  expert<'3'>},
    {kMs,                    "QMoE",                             11,  kByte,  expert<'1'>},
    {kMs,                    "QMoE",                             12,  kByte,  expert<'2'>},
    {kMs,                    "QMoE",                             13,  kByte,  expert<'3'>},
    {"com.ms.internal.nhwc", "QLinearConv",                       8,  kWide,  one_each},
    {"trt",                  "DequantizeLinear",                  0,  kWide,  one_each},
};
// clang-format on

// Finds the initializer behind a value: directly, captured from an outer graph, or behind a Reshape.
class Initializers {
 public:
  explicit Initializers(const Model& model) : model_(model) {}

  std::optional<std::pair<GraphId, std::int32_t>> find(GraphId graph_id, ValueId id) {
    for (int steps = 0; steps < 64 && id != kAbsent && graph_id >= 0; ++steps) {
      const Graph& graph = model_.graphs[graph_id];
      const Value& value = graph.values[id];
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
      for (const Node& node : model_.graphs[graph_id].nodes)
        if (node.op_type == "Reshape" && plain_domain(node.domain).empty() && !node.inputs.empty() &&
            !node.outputs.empty())
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
  ByOperator<bool> may_be_packed;
  for (std::size_t g = 0; g < model.graphs.size(); ++g)
    for (const Node& node : model.graphs[g].nodes) {
      if (!may_be_packed.of(node, nullptr, [&] {
            return std::any_of(std::begin(kInputs), std::end(kInputs),
                               [&](const WeightInput& input) { return input.op_type == node.op_type; });
          }))
        continue;
      for (const WeightInput& packed : kInputs) {
        if (packed.op_type != node.op_type || packed.domain != plain_domain(node.domain) ||
            packed.input >= node.inputs.size())
          continue;
        const auto tensor = initializers.find(static_cast<GraphId>(g), node.inputs[packed.input]);
        if (!tensor) continue;
        const TensorType& type = model.graphs[tensor->first].initializers[tensor->second].type;
        if (type.element != packed.element || !type.shape) continue;
        try {
          if (const auto weights = packed.weights(node, element_count(*type.shape))) result.emplace(*tensor, *weights);
        } catch (const Error&) {  // implausible sizes end the analysis where they are used
        }
      }
    }
  return result;
}

}  // namespace pagoda::inline core::ops
