// The work of optimizers per element, and the states that they keep.
#include <array>

#include "graph/index.h"
#include "pagoda/base/enum_names.h"
#include "train/flow.h"

namespace pagoda::inline core {
namespace {

constexpr base::EnumNames<Optimizer::AdamW> kOptimizers("sgd", "momentum", "adam", "adamw");
constexpr base::EnumNames<Recompute::Sqrt> kRecompute("none", "pointwise", "segments", "sqrt");
constexpr base::EnumNames<SavedKind::Statistic> kSaved("input", "output", "statistic");

struct Row {
  int states;          // tensors of the parameter's size, read and written in every step
  int arith, special;  // per element
};

// clang-format off
constexpr std::array<Row, kOptimizers.kSize> kRows = {{
    // states arith special
    {0,       2,    0},  // SGD: w − r·g
    {1,       4,    0},  // momentum: v = μ·v + g (2); w − r·v (2)
    // Adam: m = α·m + (1 − α)·g (3); v = β·v + (1 − β)·g² (4); √v + ε (1, sqrt); w − r·m/h (3). Bias corrections are
    // folded into r and ε, once per step.
    {2,       11,   1},
    {2,       12,   1},  // AdamW: and w·(1 − r·λ)
}};
// clang-format on

const Row& row(Optimizer optimizer) { return kRows[static_cast<std::size_t>(optimizer)]; }

// A parameter of that type has a master copy of higher precision.
bool has_master(const TrainingOptions& options, ElementType weight) {
  return options.master_weights.value_or(bits(weight) < bits(options.state_type));
}

}  // namespace

std::optional<Optimizer> optimizer(std::string_view name) { return kOptimizers.value(name); }
std::vector<std::string_view> optimizer_names() { return kOptimizers.all(); }
std::string_view to_string(Optimizer optimizer) { return kOptimizers[optimizer]; }

std::optional<Recompute> recompute(std::string_view name) { return kRecompute.value(name); }

std::vector<std::string_view> recompute_names() {
  std::vector<std::string_view> names = kRecompute.all();
  std::erase(names, to_string(Recompute::Segments));
  return names;
}

std::string_view to_string(Recompute recompute) { return kRecompute[recompute]; }
std::string_view to_string(SavedKind kind) { return kSaved[kind]; }

// Reads the gradient, the states and the parameter or its master; writes the states, the parameter and the master.
OpCost optimizer_cost(const TrainingOptions& options, ElementType weight, const Dim& elements) {
  const Row& does = row(options.optimizer);
  const bool master = has_master(options, weight);
  const Dim states = does.states * byte_size(elements, options.state_type);
  const Dim own = byte_size(elements, weight);
  const Dim updated = master ? byte_size(elements, options.state_type) : own;
  OpCost cost;
  cost.precision = master || does.states > 0 ? options.state_type : weight;
  cost.arith = does.arith * elements;
  cost.special = does.special * elements;
  cost.bytes_read = byte_size(elements, options.gradient_type.value_or(weight)) + states + updated;
  cost.bytes_written = states + updated + (master ? own : Dim(0));
  return cost;
}

void train_rules::add_parameters(const Graph& graph, const Analysis& analysis, const TrainingOptions& options,
                                 const Flow& flow, Training& result) {
  TrainingMemory& memory = result.memory;
  const int states = row(options.optimizer).states;
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    if (!flow.trained[v] || !flow.has_gradient[v]) continue;
    const Tensor& tensor = graph.initializers[index(graph.values[v].initializer)];
    const ElementType element = analysis.types[v].element;
    const Dim elements = element_count(*tensor.type.shape);
    result.parameters.push_back({static_cast<ValueId>(v), graph.values[v].name, element, elements});
    result.trained_elements += elements;
    OpCost& optimizer = result.totals.optimizer;
    const OpCost update = optimizer_cost(options, element, elements);
    // One row covers all parameters: with several types it counts as the narrowest, so its time stays a lower bound.
    const bool is_narrower =
        optimizer.precision == ElementType::Undefined || bits(update.precision) < bits(optimizer.precision);
    optimizer += update;
    if (is_narrower) optimizer.precision = update.precision;
    memory.gradient_bytes += byte_size(elements, options.gradient_type.value_or(element));
    memory.optimizer_state_bytes += states * byte_size(elements, options.state_type);
    if (has_master(options, element)) memory.master_weight_bytes += byte_size(elements, options.state_type);
  }
}

}  // namespace pagoda::inline core
