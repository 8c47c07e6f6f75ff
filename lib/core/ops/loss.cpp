// Classification losses. scores [N, C, d…], labels [N, d…]: a loss per label, then possibly their sum or mean.
#include "ops/nn_work.h"

namespace pagoda::inline core::ops {
namespace {

void infer_loss(OpContext& op) {
  const std::string_view reduction = op.attribute("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean") op.fail(cat("reduction is '", reduction, "'"));
  set_element(op, 0, op.element(0));
  op.set_output(1, op.input(0));  // SoftmaxCrossEntropyLoss: the log-probabilities
  if (op.has_shape(0) && op.has_shape(1)) {
    const Shape& scores = op.shape(0);
    const Shape& labels = op.shape(1);
    if (scores.size() < 2 || labels.size() + 1 != scores.size())
      op.fail(cat("scores have rank ", scores.size(), ", labels ", labels.size()));
    for (std::size_t i = 0; i < labels.size(); ++i)
      op.unify(scores[i == 0 ? 0 : i + 1], labels[i], "scores and labels");
    if (op.has_shape(2) && op.rank(2) == 1) op.unify(scores[1], op.shape(2)[0], "classes and weights");
  }
  op.set_output(0, op.element(0), reduction == "none" ? op.shape(1) : Shape{});
}

// Per label: a comparison with ignore_index if it is stated, a negation, a multiplication by the class weight, if any.
// The sum takes an addition per label; the mean also takes a division and, with class weights, the sum of the weights.
Work loss_work(const OpContext& op) {
  const Dim labels = op.elements(1);
  const std::string_view reduction = op.attribute("reduction", "mean");
  const bool weighted = op.has_input(2);
  const bool ignores = op.has_attribute("ignore_index");
  Work work = Work{.arith = (ignores ? 2 : 1) + (weighted ? 1 : 0), .comparisons = ignores ? 1 : 0} * labels;
  if (reduction != "none") work.arith += labels;
  if (reduction == "mean") work.arith += (weighted ? labels : Dim(0)) + 1;
  return work;
}

// Only the weights that labels pick are read, at most all.
Dim weight_bytes(const OpContext& op) {
  return op.has_input(2) ? byte_size(min(op.elements(2), op.elements(1)), op.element(2)) : Dim(0);
}

// Reads one log-probability per label.
OpCost cost_nll_loss(const OpContext& op) {
  OpCost cost = cost_reading(op, {1}, byte_size(op.elements(1), op.element(0)));
  cost.read(2, weight_bytes(op));
  return cost + loss_work(op);
}

// Log-softmax over the classes, which has the work of softmax and a log per label, then the loss.
OpCost cost_softmax_cross_entropy(const OpContext& op) {
  OpCost cost = op.streamed({0, 1});
  cost.read(2, weight_bytes(op));
  return cost + softmax_work() * op.elements(0) + Work{.special = op.elements(1)} + loss_work(op);
}

// clang-format off
constexpr OpRule kLossRules[] = {
    // op                          infer       cost                        fold     cost in words
    {"NegativeLogLikelihoodLoss",  infer_loss, cost_nll_loss,              nullptr, "per label neg, weight mul, ignore comparison, add; mean: div, weights' sum", kOther},
    {"SoftmaxCrossEntropyLoss",    infer_loss, cost_softmax_cross_entropy, nullptr, "log-softmax (4 and exp per score, log per label), then as NegativeLogLikelihoodLoss", kOther},
};
// clang-format on
static_assert(well_formed(kLossRules));

}  // namespace

std::span<const OpRule> loss_rules() { return kLossRules; }

}  // namespace pagoda::inline core::ops
