// The rules of the published Pagoda estimator (dream-lab/pagoda, src/analytical_model/estimates.py), faults included.
//
// Where the estimator ends with an exception (a Conv weight not of rank 4, a 1-D pool), the rule throws Unanswerable,
// which the caller reports.
#include "pagoda/base/cat.h"
#include "pagoda/core/conventions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace pagoda::inline core {
namespace {

// Sizes are constant Dims: their arithmetic is checked.
constexpr Int kElementBytes = 4;  // whatever the type
constexpr Int kLstmSteps = 8;     // whatever the sequence

struct Unanswerable {
  std::string why;
};

const Dim& at(const Shape& sizes, std::size_t axis) {
  if (axis >= sizes.size()) throw Unanswerable{cat("it expects a tensor of rank ", axis + 1, " or more")};
  return sizes[axis];
}

// One node as its rules see it: the first input and output always have sizes.
struct PagodaNode {
  const Node& node;
  Dim batch;
  std::vector<std::optional<Shape>> inputs;  // empty for initializers and omitted inputs
  std::optional<Shape> weight;               // of input 1, when it is an initializer
  Shape output;

  const Shape& input() const { return *inputs[0]; }
  Dim elements() const { return batch * element_count(output); }
};

PagodaCount count(const Dim& flops, const Dim& param_elements, const Dim& activation_elements) {
  const Dim params = param_elements * kElementBytes;
  const Dim memory = params + activation_elements * kElementBytes;
  return {.flops = *flops.value(), .param_bytes = *params.value(), .memory_bytes = *memory.value()};
}

// 2·out·(Cin/g)·Kh·Kw + out: a bias add per output element whether or not there is a bias.
PagodaCount count_conv(const PagodaNode& op) {
  if (!op.weight) return {};
  if (op.weight->size() != 4) throw Unanswerable{"it expects a Conv weight of rank 4"};
  const Shape& weight = *op.weight;
  const Dim pixels = at(op.output, 2) * at(op.output, 3);
  const Dim outputs = op.batch * weight[0] * pixels;
  const Dim input_channels = weight[1] * op.node.integer("group", 1);
  const Dim inputs = op.batch * input_channels * at(op.input(), 2) * at(op.input(), 3);
  return count(2 * outputs * (weight[1] * weight[2] * weight[3]) + outputs, element_count(weight), inputs + outputs);
}

// 2·d0·d1 once per batch, whatever the number of rows.
PagodaCount count_gemm(const PagodaNode& op) {
  if (!op.weight) return {};
  if (op.weight->size() != 2) throw Unanswerable{"it expects a Gemm weight of rank 2"};
  const Shape& weight = *op.weight;
  return count(2 * op.batch * weight[0] * weight[1], weight[0] * weight[1], op.batch * (weight[0] + weight[1]));
}

// 2·out·K; the second operand is treated as a [K, N] weight even if it is an activation.
PagodaCount count_matmul(const PagodaNode& op) {
  if (op.input().size() < 2) return {};
  if (op.output.size() < 2) throw Unanswerable{"it expects a MatMul output of rank 2 or more"};
  const Dim reduced = op.input().back();
  return count(2 * op.elements() * reduced, reduced * op.output.back(),
               op.batch * element_count(op.input()) + op.elements());
}

// 2 per element; two parameters per channel.
PagodaCount count_batch_norm(const PagodaNode& op) {
  return count(2 * op.elements(), 2 * at(op.output, 1), 2 * op.elements());
}

// `less` is 1 for a maximum, which takes one comparison fewer than its elements.
template <int less>
PagodaCount count_pool(const PagodaNode& op) {
  const auto* sizes = op.node.integers("kernel_shape");
  const Dim window = sizes == nullptr ? Dim(1) : element_count(Shape(sizes->begin(), sizes->end()));
  const Dim outputs = op.batch * at(op.output, 1) * at(op.output, 2) * at(op.output, 3);
  const Dim inputs = op.batch * at(op.input(), 1) * at(op.input(), 2) * at(op.input(), 3);
  return count(outputs * (window - less), 0, inputs + outputs);
}

// One addition per input element; the division is not counted.
PagodaCount count_global_average_pool(const PagodaNode& op) {
  const Dim outputs = op.batch * at(op.output, 1);
  const Dim pixels = at(op.input(), 2) * at(op.input(), 3);
  return count(outputs * pixels, 0, op.batch * at(op.input(), 1) * pixels + outputs);
}

PagodaCount count_concat(const PagodaNode& op) {
  Dim inputs = 0;
  int known = 0;
  for (const std::optional<Shape>& input : op.inputs) {
    if (!input) continue;
    inputs += op.batch * element_count(*input);
    ++known;
  }
  return known < 2 ? PagodaCount{} : count(0, 0, inputs + op.elements());
}

// Input read as [batch, sequence, I], the sequence always 8 steps, a multiply-accumulate is one FLOP, `batch` has no
// effect, one direction. Per step and sample: 4·I·H + 4·H·H + 4·H additions, 3·4·H sigmoids, 5·H tanh, 3·H products.
PagodaCount count_lstm(const PagodaNode& op) {
  if (op.input().size() != 3) return {};
  const Dim hidden = op.node.integer("hidden_size", 1);
  const Dim samples = op.input()[0];
  const Dim input = op.input()[2];
  const Dim per_step = 4 * input * hidden + 4 * hidden * hidden + (4 + 12 + 5 + 3) * hidden;
  const Dim weights = 4 * (input * hidden + hidden * hidden);
  return count(samples * kLstmSteps * per_step, 0, weights + samples * (kLstmSteps * (input + hidden) + 2 * hidden));
}

struct PagodaRule {
  std::string_view op_type;                             // in any domain
  PagodaCount (*special)(const PagodaNode&) = nullptr;  // null: the numbers below
  int flops = 0;                                        // per output element
  int reads = 0, moves = 0;                             // of elements: per input element, per output element

  PagodaCount of(const PagodaNode& op) const {
    if (special != nullptr) return special(op);
    const Dim read = reads == 0 ? Dim(0) : reads * op.batch * element_count(op.input());
    return count(flops * op.elements(), 0, read + moves * op.elements());
  }
};

// clang-format off
constexpr PagodaRule kRules[] = {
    // op                   count                   flops  reads  moves  elements moved (4 bytes each)
    {"Add",                 nullptr,                    1,     0,     3},  // two reads and a write, even of a scalar
    {"AveragePool",         count_pool<0>},                                // in + out
    {"BatchNormalization",  count_batch_norm},                             // 2·C parameters, 2·out
    {"Concat",              count_concat},                                 // Σin + out
    {"ConstantOfShape",     nullptr,                    0,     0,     1},
    {"Conv",                count_conv},                                   // weight, in + out
    {"Div",                 nullptr,                    1,     0,     3},
    {"Erf",                 nullptr,                    8,     0,     2},
    {"Flatten",             nullptr,                    0,     1,     1},  // counted even where nothing moves
    {"Gemm",                count_gemm},                                   // d0·d1, batch·(d0 + d1)
    {"GlobalAveragePool",   count_global_average_pool},                    // in + C
    {"HardSigmoid",         nullptr,                    4,     0,     2},
    {"HardSwish",           nullptr,                    5,     0,     2},
    {"Identity",            nullptr,                    0,     1,     1},
    {"LSTM",                count_lstm},                                   // weights, input, output, two states
    {"MatMul",              count_matmul},                                 // K·N, A + out
    {"MaxPool",             count_pool<1>},                                // in + out
    {"Mul",                 nullptr,                    1,     0,     3},
    {"Relu",                nullptr,                    1,     0,     2},
    {"Sigmoid",             nullptr,                    4,     0,     2},
    {"Softmax",             nullptr,                    7,     0,     2},
    {"Sub",                 nullptr,                    1,     0,     3},
    {"Swish",               nullptr,                    5,     0,     2},
    {"Tanh",                nullptr,                    5,     0,     2},
    {"Transpose",           nullptr,                    0,     1,     1},
};
// clang-format on

Shape known_sizes(const Shape& shape) {
  Shape sizes;
  for (const Dim& dim : shape) sizes.push_back(std::max<Int>(dim.value().value_or(1), 1));
  return sizes;
}

// Initializers have no sizes unless the graph also lists them as inputs. An unknown rank counts as a scalar.
std::optional<Shape> sizes_of(const Graph& graph, const Analysis& analysis, ValueId id) {
  if (id == kAbsent) return std::nullopt;
  const Value& value = graph.values[id];
  if (value.initializer >= 0 && !value.is_input) return std::nullopt;
  const TensorType& type = analysis.types.at(static_cast<std::size_t>(id));
  if (type.container != Container::Tensor) return Shape{};
  if (type.shape) return known_sizes(*type.shape);
  if (type.element == ElementType::Undefined) return std::nullopt;
  return Shape{};
}

PagodaCount count_node(const Graph& graph, const Analysis& analysis, const Node& node, std::int64_t batch) {
  const auto rule = std::find_if(std::begin(kRules), std::end(kRules),
                                 [&](const PagodaRule& row) { return row.op_type == node.op_type; });
  if (rule == std::end(kRules) || node.inputs.empty() || node.outputs.empty()) return {};
  PagodaNode op{.node = node, .batch = batch, .inputs = {}, .weight = {}, .output = {}};
  for (const ValueId input : node.inputs) op.inputs.push_back(sizes_of(graph, analysis, input));
  std::optional<Shape> output = sizes_of(graph, analysis, node.outputs[0]);
  if (!op.inputs[0] || !output) return {};
  op.output = *std::move(output);
  if (node.inputs.size() > 1 && node.inputs[1] != kAbsent) {
    const std::int32_t initializer = graph.values[node.inputs[1]].initializer;
    if (initializer >= 0)
      if (const auto& shape = graph.initializers[initializer].type.shape) op.weight = known_sizes(*shape);
  }
  return rule->of(op);
}

}  // namespace

// Three times everything but the parameters.
PagodaCount pagoda_training(const PagodaCount& forward) {
  return {.flops = 3 * forward.flops, .param_bytes = forward.param_bytes, .memory_bytes = 3 * forward.memory_bytes};
}

PagodaCounts pagoda_counts(const Model& model, const Analysis& analysis, std::int64_t batch, bool is_step) {
  const Graph& graph = model.main();
  PagodaCounts counts;
  counts.nodes.resize(graph.nodes.size());
  std::map<std::string_view, std::size_t> last_of_name;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const base::Name& name = display_name(graph, graph.nodes[i]);
    try {
      counts.nodes[i] = count_node(graph, analysis, graph.nodes[i], batch);
    } catch (const Unanswerable& stop) {
      return {.nodes = std::vector<PagodaCount>(graph.nodes.size()),
              .total = {},
              .failure = cat("the published estimator ends with an exception at node ", name, ": ", stop.why)};
    }
    if (is_step) counts.nodes[i] = pagoda_training(counts.nodes[i]);
    const auto [at_name, is_new] = last_of_name.emplace(name, i);
    if (!is_new) counts.nodes[std::exchange(at_name->second, i)] = {};
  }
  const auto sum = [&](Int PagodaCount::*count) {
    Dim total = 0;
    for (const PagodaCount& node : counts.nodes) total += node.*count;
    return *total.value();
  };
  counts.total = {.flops = sum(&PagodaCount::flops),
                  .param_bytes = sum(&PagodaCount::param_bytes),
                  .memory_bytes = sum(&PagodaCount::memory_bytes)};
  return counts;
}

}  // namespace pagoda::inline core
