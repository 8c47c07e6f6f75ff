// LSTM, GRU and RNN, and ONNX Runtime's variants of LSTM. A step of one sequence in one direction multiplies the gates'
// weights with the input and with the previous state: gates · hidden · (input + hidden) multiply-accumulates, the sum
// of the two products included; then comes the arithmetic of the cell, per hidden element. Steps are sequence × batch ×
// directions, or the sum of sequence_lens where that is known. W's and R's biases are summed once per run.
#include "ops/nn_work.h"
#include "pagoda/base/text.h"

namespace pagoda::inline core::ops {
namespace {

// All three operators have X, W, R, B, sequence_lens and initial_h.
enum Input { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeephole };

std::int64_t directions(const OpContext& op) { return op.attribute("direction", "forward") == "bidirectional" ? 2 : 1; }

bool is_batch_first(const OpContext& op) { return op.flag("layout"); }

Dim hidden_size(const OpContext& op) {
  if (op.has_attribute("hidden_size")) return positive_attribute(op, "hidden_size");
  if (op.rank(kR) != 3) op.fail(cat("R has rank ", op.rank(kR), ", expected 3"));
  return op.shape(kR)[2];
}

// Y, by default [S, directions, B, H], and the last states, [directions, B, H].
void set_recurrent_outputs(OpContext& op, const Dim& hidden) {
  const Shape& data = op.shape(kX);
  const Dim direction_count = directions(op);
  const ElementType element = op.element(kX);
  if (is_batch_first(op)) {
    op.set_output(0, element, {data[0], data[1], direction_count, hidden});
    for (const int output : {1, 2}) op.set_output(output, element, {data[0], direction_count, hidden});
  } else {
    op.set_output(0, element, {data[0], direction_count, data[1], hidden});
    for (const int output : {1, 2}) op.set_output(output, element, {direction_count, data[1], hidden});
  }
}

template <int Gates>
void infer_recurrent(OpContext& op) {
  for (int i = 0; i < op.output_count(); ++i) set_element(op, i, op.element(kX));
  const Shape& data = op.shape(kX);
  if (data.size() != 3) op.fail(cat("X has rank ", data.size(), ", expected 3"));
  Dim hidden = hidden_size(op);
  const Dim direction_count = directions(op);
  set_recurrent_outputs(op, hidden);  // known even where operands contradict one another
  for (const int i : {kW, kR}) {
    if (!op.has_shape(i)) continue;
    const std::string_view name = i == kW ? "W" : "R";
    if (op.rank(i) != 3) op.fail(cat(name, " has rank ", op.rank(i), ", expected 3"));
    op.unify(op.shape(i)[0], direction_count, cat("directions of ", name));
    op.unify(op.shape(i)[1], Gates * hidden, cat("gates × hidden size of ", name));
    if (i == kW)
      op.unify(op.shape(kW)[2], data[2], "input size of X and W");
    else
      hidden = op.unify(hidden, op.shape(kR)[2], "hidden size");
  }
  if (op.has_shape(kInitialH) && op.rank(kInitialH) == 3)
    op.unify(op.shape(kInitialH)[is_batch_first(op) ? 0 : 1], data[is_batch_first(op) ? 0 : 1],
             "batch of X and initial_h");
  set_recurrent_outputs(op, hidden);
}

// --- activations ---

using ActivationWork = Work(const OpContext&, std::string_view name);

// As activation_work(), but ends the rule for a name that ONNX does not define. Elu multiplies by α if it is stated.
Work onnx_activation_work(const OpContext& op, std::string_view name) {
  if (base::lower(name) == "affine") return {.arith = 2};  // α·x + β
  const Activation* activation = find_activation(name);
  if (activation == nullptr || !activation->is_recurrent) op.fail(cat("activation '", name, "' is not one of ONNX's"));
  const bool is_unscaled = activation->name == "Elu" && !op.has_attribute("activation_alpha");
  return activation->work() + Work{.arith = is_unscaled ? -1 : 0};
}

// Activation f, g or h (index `of`) of every direction, one evaluation each, with the clipping of its input: two
// comparisons. `defaults` are those of one direction.
Work activations_work(const OpContext& op, ActivationWork* work_of, std::initializer_list<std::string_view> defaults,
                      std::size_t of) {
  const std::size_t per_direction = defaults.size();
  const auto count = static_cast<std::size_t>(directions(op));
  const auto* names = attribute_if<std::vector<std::string>>(op, "activations");
  const bool is_stated = names != nullptr && !names->empty();
  // The schema of RNN lists both directions' defaults whatever the direction.
  if (is_stated && names->size() < per_direction * count)
    op.fail(cat("there are ", names->size(), " activations, expected ", per_direction * count));
  Work work;
  for (std::size_t direction = 0; direction < count; ++direction) {
    const std::size_t at = direction * per_direction + of;
    work += work_of(op, is_stated ? std::string_view((*names)[at]) : defaults.begin()[of]);
    if (op.has_attribute("clip")) work += Work{.arith = 2, .comparisons = 2};
  }
  return work;
}

// --- cost ---

// Steps of all sequences in one direction.
Dim step_count(const OpContext& op) {
  const Dim length = op.shape(kX)[is_batch_first(op) ? 1 : 0];
  const Dim batch = op.shape(kX)[is_batch_first(op) ? 0 : 1];
  if (const TensorValue* lengths = op.value(kLengths); lengths != nullptr && batch == Dim(lengths->size())) {
    Dim sum = 0;
    bool known = true;
    for (const Scalar& entry : *lengths) {
      const std::optional<Dim> steps = as_dim(entry);
      known = known && steps.has_value();
      if (steps && steps->is_constant() && *steps->value() < 0) op.fail("a sequence of length " + steps->to_string());
      if (steps) sum += *steps;
    }
    if (known) return sum;
  }
  return length * batch;
}

// Contractions, and the sum of W's and R's biases for the `summed` gates that add them together.
OpCost cost_gates(const OpContext& op, int gates, int summed) {
  OpCost cost = op.streamed();
  const Dim hidden = hidden_size(op);
  cost.macs = directions(op) * step_count(op) * gates * hidden * (op.shape(kX)[2] + hidden);
  if (op.has_input(kB)) cost.arith += directions(op) * summed * hidden;
  return cost;
}

// Per hidden element and step: a bias for each of the gates i, o, f, c; f thrice, g, h; C = f·C + i·c (3), H = o·h(C)
// (1); peepholes a mul and an add for each of i, o, f. Coupled gates are f = 1 − i: one subtraction, no gate f.
// `steps` counts one direction.
Work lstm_cells_work(const OpContext& op, const Dim& steps, const Dim& hidden, ActivationWork* work_of) {
  const bool coupled = op.flag("input_forget");
  const int gates = coupled ? 3 : 4;
  const auto work = [&](std::size_t of) { return activations_work(op, work_of, {"Sigmoid", "Tanh", "Tanh"}, of); };
  const int biases = op.has_input(kB) ? gates : 0;
  const int per_cell = (coupled ? 5 : 4) + biases + (op.has_input(kPeephole) ? 2 * (gates - 1) : 0);
  return ((work(0) * (gates - 1) + work(1) + work(2)) * steps +
          Work{.arith = directions(op) * (steps * per_cell + biases)}) *
         hidden;
}

OpCost cost_lstm(const OpContext& op) {
  const int gates = op.flag("input_forget") ? 3 : 4;
  return cost_gates(op, gates, 0) + lstm_cells_work(op, step_count(op), hidden_size(op), onnx_activation_work);
}

// Per hidden element and step: f twice, g; r·H (1), H = (1 − z)·h + z·H (4); a bias for each of z, r, h. With
// linear_before_reset, r scales H·R + Rb: the hidden gate adds its two products itself and has two biases.
OpCost cost_gru(const OpContext& op) {
  const bool linear_first = op.flag("linear_before_reset");
  OpCost cost = cost_gates(op, 3, linear_first ? 2 : 3);
  const Dim cells = step_count(op) * hidden_size(op);
  const auto work = [&](std::size_t of) { return activations_work(op, onnx_activation_work, {"Sigmoid", "Tanh"}, of); };
  cost += (work(0) * 2 + work(1)) * cells;
  Dim per_cell = linear_first ? 6 : 5;
  if (op.has_input(kB)) per_cell += linear_first ? 4 : 3;
  cost.arith += directions(op) * cells * per_cell;
  return cost;
}

OpCost cost_rnn(const OpContext& op) {
  const Dim cells = step_count(op) * hidden_size(op);
  return cost_gates(op, 1, 1) + activations_work(op, onnx_activation_work, {"Tanh"}, 0) * cells +
         Work{.arith = op.has_input(kB) ? directions(op) * cells : Dim(0)};
}

// --- DynamicQuantizeLSTM: W [directions, I, 4·H], R [directions, H, 4·H] ---

void infer_dynamic_lstm(OpContext& op) {
  expect_rank(op, {1, 2}, 3);
  const Dim& hidden = dim_of(op, 2, 1);
  op.unify(dim_of(op, 1, 1), dim_of(op, 0, -1), "input size of X and W");
  op.unify(dim_of(op, 1, 2), 4 * hidden, "gates × hidden size of W");
  expect_rank(op, kX, 3);
  set_recurrent_outputs(op, hidden);
}

// X is quantised once, the state at every step. Zero points are subtracted once from W and R, and from every quantised
// element; each of the two products of a gate is scaled.
OpCost cost_dynamic_lstm(const OpContext& op) {
  const Shape& data = op.shape(0);
  const Dim& hidden = dim_of(op, 2, 1);
  const Dim steps = directions(op) * data[0] * data[1];
  const Dim states = steps * hidden;
  const int gates = op.flag("input_forget") ? 3 : 4;
  return int8_cost(op) + dynamic_quantize_work(op.elements(0), 1) +
         dynamic_quantize_work(states, directions(op) * data[0]) +
         Work{.arith = op.elements(0) + states + op.elements(1) + op.elements(2) + 2 * gates * states,
              .macs = gates * states * (data[2] + hidden)} +
         lstm_cells_work(op, data[0] * data[1], hidden, activation_work);
}

// --- AttnLSTM: an LSTM whose input is X and the attention of the previous step ---

enum AttentionLstmInput { kQueryWeight = kPeephole + 1, kMemoryWeight, kVector, kMemory, kMemoryLengths, kLayerWeight };

void infer_attention_lstm(OpContext& op) {
  expect_rank(op, kR, 3);
  expect_rank(op, kX, 3);
  set_recurrent_outputs(op, hidden_size(op));
}

// Keys once: memory × its weight. Per step: gates over W's own input size (X and attention) and the state; the query's
// product; per memory position a tanh, its addition, and a product with the vector; softmax; the context; the
// attention layer. Masked positions count in full.
OpCost cost_attention_lstm(const OpContext& op) {
  const Shape& data = shape_of(op, kX, 3);
  const Shape& memory = shape_of(op, kMemory, 3);
  const Dim hidden = dim_of(op, kR, 2);
  const Dim attention = dim_of(op, kVector, -1);
  const Dim steps = data[0] * data[1];
  Dim macs = memory[0] * memory[1] * memory[2] * attention;
  macs += steps * (4 * hidden * (dim_of(op, kW, 2) + hidden) + hidden * attention);
  if (op.has_input(kLayerWeight)) macs += steps * dim_of(op, kLayerWeight, 1) * dim_of(op, kLayerWeight, 2);
  const Work per_position =
      Work{.arith = 1, .special = 1} * attention + softmax_work() + Work{.macs = attention + memory[2]};
  return op.streamed() + (Work{.macs = macs} + per_position * (steps * memory[1])) * directions(op) +
         lstm_cells_work(op, steps, hidden, activation_work);
}

// clang-format off
constexpr OpRule kRecurrentRules[] = {
    // op    infer               cost       fold     cost in words
    {"GRU",  infer_recurrent<3>, cost_gru,  nullptr, "3·H·(I + H) macs per step; 2 sigmoid, tanh, 5 (6 linear_before_reset), 3 (4) biases per hidden element", kRecurrence.reads({{}, WeightUse::Weight, WeightUse::Weight, WeightUse::Additive})},
    {"LSTM", infer_recurrent<4>, cost_lstm, nullptr, "4·H·(I + H) macs per step; 3 sigmoid, 2 tanh, 4, 4 biases, 6 for peepholes per hidden element", kRecurrence.reads({{}, WeightUse::Weight, WeightUse::Weight, WeightUse::Additive})},
    {"RNN",  infer_recurrent<1>, cost_rnn,  nullptr, "H·(I + H) macs per step; tanh, bias per hidden element", kRecurrence.reads({{}, WeightUse::Weight, WeightUse::Weight, WeightUse::Additive})},
};

constexpr OpRule kContribRecurrentRules[] = {
    // op                   infer                 cost                 fold     cost in words
    {"AttnLSTM",            infer_attention_lstm, cost_attention_lstm, nullptr, "LSTM; per step H·A, per memory position A + depth macs, tanh, softmax", kRecurrence.with(BatchAxis::Lost).with(Gradient::Unmodelled)},
    {"DynamicQuantizeLSTM", infer_dynamic_lstm,   cost_dynamic_lstm,   nullptr, "as LSTM; quantise (7) per input and state element, 2 mul per gate element, zero points", kRecurrence.with(Gradient::Unmodelled)},
};
// clang-format on
static_assert(well_formed(kRecurrentRules) && well_formed(kContribRecurrentRules));

}  // namespace

std::span<const OpRule> recurrent_rules() { return kRecurrentRules; }
std::span<const OpRule> contrib_recurrent_rules() { return kContribRecurrentRules; }

}  // namespace pagoda::inline core::ops
