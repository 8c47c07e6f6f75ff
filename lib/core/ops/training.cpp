// ai.onnx.preview.training: optimisers, and gradients of a part of the graph. Inputs of an optimiser are the learning
// rate, the update count, then all tensors, all gradients, and all states; outputs are the new tensors and states.
#include "ops/nn_work.h"

namespace pagoda::inline core::ops {
namespace {

constexpr int kFirstTensor = 2;

// The number of tensors that the node optimises; each has `groups` inputs.
int tensor_count(const OpContext& op, int groups) {
  const int listed = op.input_count() - kFirstTensor;
  if (listed < groups || listed % groups != 0)
    op.fail(cat("there are ", listed, " tensors, gradients and states, expected a multiple of ", groups));
  return listed / groups;
}

// Every group except the gradients has outputs of the same types as its inputs.
template <int Groups>
void infer_optimizer(OpContext& op) {
  const int count = tensor_count(op, Groups);
  for (int i = 0; i < count; ++i) {
    if (op.has_shape(kFirstTensor + i) && op.has_shape(kFirstTensor + count + i)) {
      const Shape& tensor = op.shape(kFirstTensor + i);
      const Shape& gradient = op.shape(kFirstTensor + count + i);
      if (tensor.size() != gradient.size()) op.fail(cat("tensor ", i, " and its gradient differ in rank"));
      unify_axes(op, tensor, gradient, "dims of a tensor and its gradient");
    }
    op.set_output(i, op.input(kFirstTensor + i));
    for (int group = 2; group < Groups; ++group)
      op.set_output((group - 1) * count + i, op.input(kFirstTensor + group * count + i));
  }
}

// `element` per element of the tensors, `once` per node.
template <int Groups>
OpCost cost_optimizer(const OpContext& op, const Work& element, const Work& once) {
  Dim elements = 0;
  for (int i = 0; i < tensor_count(op, Groups); ++i) elements += op.elements(kFirstTensor + i);
  return in_precision(op.element(kFirstTensor), op.streamed()) + element * elements + once;
}

bool is_set(const OpContext& op, std::string_view attribute) { return op.attribute(attribute, 0.0) != 0.0; }

// Weight decay: g + norm·x.
Dim decay_arith(const OpContext& op) { return is_set(op, "norm_coefficient") ? 2 : 0; }

// h + g² (2); √h + ε (1, sqrt); x − r·g/h (3). Once r = R / (1 + T·decay) (3).
OpCost cost_adagrad(const OpContext& op) {
  const Work once = {.arith = is_set(op, "decay_factor") ? 3 : 0};
  return cost_optimizer<3>(op, {.arith = 6 + decay_arith(op), .special = 1}, once);
}

// α·v + (1 − α)·g (3); β·h + (1 − β)·g² (4); √h + ε (1, sqrt); x − r·v/√h (3); a factor for decay applied afterwards.
// Once r = R·√(1 − βᵀ) / (1 − αᵀ): 4, two pow, a sqrt.
OpCost cost_adam(const OpContext& op) {
  const Dim after = is_set(op, "norm_coefficient_post") ? 1 : 0;
  return cost_optimizer<4>(op, {.arith = 11 + after + decay_arith(op), .special = 1}, {.arith = 4, .special = 3});
}

// α·v + β·g (3); x − R·v (2), or x − R·(g + α·v) (4) with Nesterov's momentum.
OpCost cost_momentum(const OpContext& op) {
  const std::string_view mode = op.attribute("mode", "standard");
  if (mode != "standard" && mode != "nesterov") op.fail(cat("mode is '", mode, "'"));
  return cost_optimizer<3>(op, {.arith = (mode == "nesterov" ? 7 : 5) + decay_arith(op)}, {});
}

// The i-th output is the gradient with respect to the i-th of `xs`, which are the first inputs.
void infer_gradient(OpContext& op) {
  for (int i = 0; i < op.output_count(); ++i)
    if (op.has_output(i)) op.set_output(i, op.input(i));
}

OpCost cost_gradient(const OpContext& op) {
  op.unknown(cat("the work of differentiating the graph up to '", op.attribute("y", "?"), "' is not counted"));
}

// clang-format off
constexpr OpRule kTrainingRules[] = {
    // op        infer               cost           fold     cost in words
    {"Adagrad",  infer_optimizer<3>, cost_adagrad,  nullptr, "6, sqrt per element; 2 for weight decay", kTrainer.with(Gradient::Unmodelled)},
    {"Adam",     infer_optimizer<4>, cost_adam,     nullptr, "11, sqrt per element; 2 for weight decay, 1 for decay afterwards; 4, 2 pow, sqrt per node", kTrainer.with(Gradient::Unmodelled)},
    {"Gradient", infer_gradient,     cost_gradient, nullptr, "not known: differentiates a part of the graph", kTrainer.with(Gradient::Unmodelled)},
    {"Momentum", infer_optimizer<3>, cost_momentum, nullptr, "5, with Nesterov's 7 per element; 2 for weight decay", kTrainer.with(Gradient::Unmodelled)},
};
// clang-format on
static_assert(well_formed(kTrainingRules));

}  // namespace

std::span<const OpRule> training_rules() { return kTrainingRules; }

}  // namespace pagoda::inline core::ops
