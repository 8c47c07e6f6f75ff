// LSTM, GRU and RNN. A step of one sequence in one direction multiplies the gates' weights with the input and with the
// previous state: gates · hidden · (input + hidden) multiply-accumulates, the sum of the two products included; then
// comes the arithmetic of the cell, per hidden element. Steps are sequence × batch × directions, or the sum of
// sequence_lens where that is known. W's and R's biases are summed once per run.
#include <algorithm>

#include "ops/nn_work.h"
#include "ops/op_rule.h"
#include "ops/shape_math.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core::ops {
namespace {

// All three operators have X, W, R, B, sequence_lens and initial_h.
enum Input { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeephole };

std::int64_t directions(const OpContext& op) { return op.attribute("direction", "forward") == "bidirectional" ? 2 : 1; }

bool is_batch_first(const OpContext& op) { return op.flag("layout"); }

Dim hidden_size(const OpContext& op) {
  if (op.has_attribute("hidden_size")) {
    const std::int64_t hidden = op.required_integer("hidden_size");
    if (hidden < 1) op.fail(cat("hidden_size is ", hidden));
    return hidden;
  }
  if (op.rank(kR) != 3) op.fail(cat("R has rank ", op.rank(kR), ", expected 3"));
  return op.shape(kR)[2];
}

void infer_recurrent(OpContext& op, int gates) {
  for (int i = 0; i < op.output_count(); ++i) set_element(op, i, op.element(kX));
  const Shape& data = op.shape(kX);
  if (data.size() != 3) op.fail(cat("X has rank ", data.size(), ", expected 3"));
  Dim hidden = hidden_size(op);
  const Dim direction_count = directions(op);
  for (const int i : {kW, kR}) {
    if (!op.has_shape(i)) continue;
    const std::string_view name = i == kW ? "W" : "R";
    if (op.rank(i) != 3) op.fail(cat(name, " has rank ", op.rank(i), ", expected 3"));
    op.unify(op.shape(i)[0], direction_count, cat("directions of ", name));
    op.unify(op.shape(i)[1], gates * hidden, cat("gates × hidden size of ", name));
    if (i == kW)
      op.unify(op.shape(kW)[2], data[2], "input size of X and W");
    else
      hidden = op.unify(hidden, op.shape(kR)[2], "hidden size");
  }
  const bool batch_first = is_batch_first(op);
  const Dim& batch = data[batch_first ? 0 : 1];
  const Dim& length = data[batch_first ? 1 : 0];
  const ElementType element = op.element(kX);
  op.set_output(
      0, element,
      batch_first ? Shape{batch, length, direction_count, hidden} : Shape{length, direction_count, batch, hidden});
  const Shape state = batch_first ? Shape{batch, direction_count, hidden} : Shape{direction_count, batch, hidden};
  op.set_output(1, element, state);
  op.set_output(2, element, state);
}

void infer_lstm(OpContext& op) { infer_recurrent(op, 4); }
void infer_gru(OpContext& op) { infer_recurrent(op, 3); }
void infer_rnn(OpContext& op) { infer_recurrent(op, 1); }

// --- activations ---

struct Activation {
  std::string_view name;
  int arith, special, comparisons;
};

// clang-format off
constexpr Activation kActivations[] = {
    // name             arith special comparisons
    {"Affine",          2,    0,      0},  // α·x + β
    {"Elu",             2,    1,      1},  // comparison, exp, sub; a mul where α is given
    {"HardSigmoid",     4,    0,      2},  // mul, add, min, max
    {"LeakyRelu",       2,    0,      1},  // comparison, mul
    {"Relu",            1,    0,      1},
    {"ScaledTanh",      2,    1,      0},  // α·tanh(β·x)
    {"Sigmoid",         0,    1,      0},
    {"Softplus",        1,    2,      0},  // log(1 + exp(x))
    {"Softsign",        3,    0,      1},  // x / (1 + |x|)
    {"Tanh",            0,    1,      0},
    {"ThresholdedRelu", 1,    0,      1},
};
// clang-format on

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

Work activation_work(const OpContext& op, std::string_view name) {
  for (const Activation& activation : kActivations) {
    if (!same_name(activation.name, name)) continue;
    const bool scaled = activation.name == "Elu" && op.has_attribute("activation_alpha");
    return {.arith = activation.arith + (scaled ? 1 : 0),
            .special = activation.special,
            .comparisons = activation.comparisons};
  }
  op.fail(cat("activation '", name, "' is not one of ONNX's"));
}

// Activation f, g or h (index `of`) of every direction, one evaluation each, with the clipping of its input: two
// comparisons. `defaults` are those of one direction.
Work activations_work(const OpContext& op, std::initializer_list<std::string_view> defaults, std::size_t of) {
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
    work = work + activation_work(op, is_stated ? std::string_view((*names)[at]) : defaults.begin()[of]);
    if (op.has_attribute("clip")) work = work + Work{.arith = 2, .comparisons = 2};
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
OpCost cost_lstm(const OpContext& op) {
  const bool coupled = op.flag("input_forget");
  const int gates = coupled ? 3 : 4;
  OpCost cost = cost_gates(op, gates, gates);
  const Dim cells = step_count(op) * hidden_size(op);  // per direction
  const auto work = [&](std::size_t of) { return activations_work(op, {"Sigmoid", "Tanh", "Tanh"}, of); };
  cost += (work(0) * (gates - 1) + work(1) + work(2)) * cells;
  Dim per_cell = coupled ? 5 : 4;
  if (op.has_input(kB)) per_cell += gates;
  if (op.has_input(kPeephole)) per_cell += 2 * (gates - 1);
  cost.arith += directions(op) * cells * per_cell;
  return cost;
}

// Per hidden element and step: f twice, g; r·H (1), H = (1 − z)·h + z·H (4); a bias for each of z, r, h. With
// linear_before_reset, r scales H·R + Rb: the hidden gate adds its two products itself and has two biases.
OpCost cost_gru(const OpContext& op) {
  const bool linear_first = op.flag("linear_before_reset");
  OpCost cost = cost_gates(op, 3, linear_first ? 2 : 3);
  const Dim cells = step_count(op) * hidden_size(op);
  const auto work = [&](std::size_t of) { return activations_work(op, {"Sigmoid", "Tanh"}, of); };
  cost += (work(0) * 2 + work(1)) * cells;
  Dim per_cell = linear_first ? 6 : 5;
  if (op.has_input(kB)) per_cell += linear_first ? 4 : 3;
  cost.arith += directions(op) * cells * per_cell;
  return cost;
}

OpCost cost_rnn(const OpContext& op) {
  const Dim cells = step_count(op) * hidden_size(op);
  return cost_gates(op, 1, 1) + activations_work(op, {"Tanh"}, 0) * cells +
         Work{.arith = op.has_input(kB) ? directions(op) * cells : Dim(0)};
}

// clang-format off
constexpr OpRule kRecurrentRules[] = {
    // op     infer       cost       fold     cost in words
    {"GRU",   infer_gru,  cost_gru,  nullptr, "3·H·(I + H) macs per step; 2 sigmoid, tanh, 5 (6 linear_before_reset), 3 (4) biases per hidden element", kRecurrence.reads({{}, WeightUse::Weight, WeightUse::Weight, WeightUse::Additive})},
    {"LSTM",  infer_lstm, cost_lstm, nullptr, "4·H·(I + H) macs per step; 3 sigmoid, 2 tanh, 4, 4 biases, 6 for peepholes per hidden element", kRecurrence.reads({{}, WeightUse::Weight, WeightUse::Weight, WeightUse::Additive})},
    {"RNN",   infer_rnn,  cost_rnn,  nullptr, "H·(I + H) macs per step; tanh, bias per hidden element", kRecurrence.reads({{}, WeightUse::Weight, WeightUse::Weight, WeightUse::Additive})},
};
// clang-format on
static_assert(well_formed(kRecurrentRules));

}  // namespace

std::span<const OpRule> recurrent_rules() { return kRecurrentRules; }

}  // namespace pagoda::inline core::ops
