// com.microsoft: mixtures of experts. Every token runs through its k best experts only. The weights of at most
// min(experts, tokens·k) experts are read, which is exact for one token.
#include <array>

#include "ops/nn_work.h"

namespace pagoda::inline core::ops {
namespace {

// Inputs of one projection; -1 where the operator has none.
struct Projection {
  int weights, bias, scales, zero_points;
};

using Projections = std::array<Projection, 3>;
constexpr Projections kMoe = {{{2, 3, -1, -1}, {4, 5, -1, -1}, {6, 7, -1, -1}}};
constexpr Projections kQuantizedMoe = {{{2, 4, 3, 11}, {5, 7, 6, 12}, {8, 10, 9, 13}}};

void infer_moe(OpContext& op) {
  if (op.has_shape(0) && op.rank(0) != 2 && op.rank(0) != 3)
    op.fail(cat("the input has rank ", op.rank(0), ", expected 2 or 3"));
  positive_attribute(op, "k");
  expect_rank(op, 1, 2);
  if (op.has_shape(1)) expect_dim(op, 2, 0, dim_of(op, 1, 1), "experts of router and weights");
  op.set_output(0, op.input(0));
}

Dim expert_count(const OpContext& op) { return dim_of(op, 1, 1).is_constant() ? dim_of(op, 1, 1) : dim_of(op, 2, 0); }

std::string_view quantization(const OpContext& op) { return op.attribute("quant_type", "int"); }

// Width of the weights of a projection; where they are packed, a byte holds 8 / bits of them.
std::int64_t weight_bits(const OpContext& op, std::string_view own) {
  const std::string_view type = quantization(op);
  if (type == "fp4" || type == "nvfp4" || type == "wfp4afp8") return 4;
  const std::int64_t bits = op.attribute(own, op.attribute("expert_weight_bits", 4));
  if (bits != 2 && bits != 4 && bits != 8) op.fail(cat(own, " is ", bits));
  return bits;
}

// Number of weights of one expert in projection `number` of 3, whatever the order of their axes.
Dim weights_per_expert(const OpContext& op, const Projections& projections, int number, bool is_packed) {
  const std::int64_t bits = is_packed ? weight_bits(op, cat("fc", number, "_expert_weight_bits")) : 8;
  const int input = projections[static_cast<std::size_t>(number - 1)].weights;
  if (!op.has_input(input)) return 0;
  const Shape& shape = shape_of(op, input, 3);
  return shape[1] * shape[2] * (8 / bits);
}

// Adds the reads of `touched` of the experts, as stored: weights, scales, zero points, bias.
void read_experts(OpCost& cost, const OpContext& op, const Projection& projection, const Dim& touched,
                  const Dim& experts) {
  for (const int i : {projection.weights, projection.bias, projection.scales, projection.zero_points})
    if (op.has_input(i))
      cost.read(i, touched * byte_size(divided(op, op.elements(i), experts, "tensor and experts"), op.element(i)));
}

// Work per hidden element. Gelu is the tanh form; with `gated`, a third projection multiplies the result.
Work expert_activation_work(const OpContext& op, bool gated) {
  const std::string_view name = op.attribute("activation_type", "relu");
  if (name == "swiglu") return swiglu_work(op, op.has_attribute("swiglu_limit"));
  const Work gate = {.arith = gated ? 1 : 0};
  return (name == "gelu" ? fast_gelu_work() : activation_work(op, name)) + gate;
}

// Dividing the k weights of every token by their sum, where an attribute asks for it.
Work normalizing_work(const OpContext& op, const Dim& tokens, std::int64_t k) {
  return {.arith = when(op.flag("normalize_routing_weights"), tokens * (2 * k - 1))};
}

// Softmax over the experts, and a comparison per expert to select; then normalising the k weights. For each of its k
// choices, the sparse mixer takes a selection, |x|, max, sub, div and a comparison for the mask, and a softmax.
Work router_work(const OpContext& op, const Dim& tokens, std::int64_t k) {
  const Dim scores = tokens * expert_count(op);
  if (op.flag("use_sparse_mixer")) return (softmax_work() + Work{.arith = 6, .comparisons = 4}) * (scores * k);
  return (softmax_work() + Work{.arith = 1, .comparisons = 1}) * scores + normalizing_work(op, tokens, k);
}

OpCost cost_experts(const OpContext& op, const Projections& projections, bool is_quantized) {
  const std::int64_t k = positive_attribute(op, "k");
  const Dim tokens = row_count(op.shape(0));
  const Dim& hidden = dim_of(op, 0, -1);
  const Dim runs = tokens * k;  // each of one expert over one token
  const Dim count = expert_count(op);
  const Dim touched = min(count, runs);

  const auto& [fc1, fc2, fc3] = projections;
  const bool is_packed = is_quantized && op.element(fc1.weights) == ElementType::Uint8;
  const Dim w1 = weights_per_expert(op, projections, 1, is_packed);
  const Dim w2 = weights_per_expert(op, projections, 2, is_packed);
  const Dim w3 = weights_per_expert(op, projections, 3, is_packed);
  const Dim inter = divided(op, w2, hidden, "weights of the second projection and hidden size");

  OpCost cost = op.streamed({0, 1, 14, 15, 16, 17, 18, 19, 20});
  for (const Projection& projection : projections) read_experts(cost, op, projection, touched, count);
  cost += Work{.macs = runs * (w1 + w2 + w3)} + router_work(op, tokens, k);
  cost += expert_activation_work(op, op.has_input(fc3.weights)) * (runs * inter);
  if (op.has_input(fc1.bias))
    cost.arith += runs * divided(op, w1, hidden, "weights of the first projection and hidden size");
  cost.arith += when(op.has_input(fc2.bias), runs * hidden) + when(op.has_input(fc3.bias), runs * inter);
  cost.arith += (runs + tokens * (k - 1)) * hidden;  // weigh and sum the experts' outputs
  // Integers: subtract the zero point (2^(bits − 1) if none is given) and scale. Floating-point formats: only scale.
  if (is_quantized) cost.arith += touched * (w1 + w2 + w3) * (quantization(op) == "int" ? 2 : 1);
  return cost;
}

OpCost cost_moe(const OpContext& op) { return cost_experts(op, kMoe, false); }
OpCost cost_quantized_moe(const OpContext& op) { return cost_experts(op, kQuantizedMoe, true); }

// --- MoEPacked: weights in packed formats, a row of bytes per output; the router chooses by given scores ---

enum PackedInput { kTokens, kScores, kGate, kUp, kDown, kMixing };

void infer_moe_packed(OpContext& op) {
  positive_attribute(op, "k");
  expect_rank(op, kScores, 2);
  for (const int weights : {kGate, kUp, kDown}) {
    if (!op.has_input(weights)) continue;
    expect_rank(op, weights, 3);
    if (op.has_shape(kScores)) expect_dim(op, weights, 0, dim_of(op, kScores, 1), "experts of router and weights");
  }
  if (op.has_shape(kTokens)) expect_dim(op, kDown, 1, dim_of(op, kTokens, -1), "hidden sizes of input and output");
  op.set_output(0, op.input(kTokens));
}

// Each packed weight takes a product with its block's scale, whatever the format.
OpCost cost_moe_packed(const OpContext& op) {
  const std::int64_t k = positive_attribute(op, "k");
  const Dim tokens = row_count(op.shape(kTokens));
  const Dim& hidden = dim_of(op, kTokens, -1);
  const Dim runs = tokens * k;
  const Dim& count = dim_of(op, kGate, 0);
  const Dim touched = min(count, runs);
  const Dim& inter = dim_of(op, kGate, 1);
  const Dim weights = (op.has_input(kUp) ? 3 : 2) * hidden * inter;
  OpCost cost = op.streamed({kTokens, kScores, kMixing});
  for (const int blob : {kGate, kUp, kDown})
    if (op.has_input(blob)) cost.read(blob, touched * dim_of(op, blob, 1) * dim_of(op, blob, 2));
  const Dim scores = tokens * count;
  if (!op.has_input(kMixing)) cost += softmax_work() * scores;
  const std::string_view activation = op.attribute("activation_type", "swiglu");
  const Dim scaled = when(op.attribute("routed_scaling_factor", 1.0) != 1.0, runs);
  return std::move(cost) + Work{.arith = touched, .macs = runs} * weights +
         Work{.arith = 1, .comparisons = 1} * scores + normalizing_work(op, tokens, k) +
         Work{.arith = scaled + (runs + tokens * (k - 1)) * hidden} +
         (activation == "swiglu" ? swiglu_work(op, false) : activation_work(op, activation)) * (runs * inter);
}

// --- MoEGroupRouter: sigmoid scores of all experts, or the logarithms of those chosen from the best groups ---

enum RouterInput { kLogits, kBias, kProjection };

void infer_group_router(OpContext& op) {
  positive_attribute(op, "top_k");
  expect_rank(op, kBias, 1);
  set_element(op, 0, op.element(kLogits));
  for (const int output : {1, 2}) set_element(op, output, ElementType::Float32);
  const Shape& logits = op.shape(kLogits);
  if (logits.empty()) op.fail("logits are a scalar");
  Dim experts = logits.back();
  if (op.has_input(kProjection)) {
    expect_dim(op, kProjection, 1, experts, "widths of activations and projection");
    experts = dim_of(op, kProjection, 0);
  }
  expect_dim(op, kBias, 0, experts, "experts and their bias");
  const Shape scores = {row_count(logits), experts};
  op.set_output(0, op.element(kLogits), scores);
  for (const int output : {1, 2}) op.set_output(output, ElementType::Float32, scores);
}

// Per score a sigmoid and the bias. Chosen scores: a comparison per score for the best of each group and again for the
// best of all, a sum per group and its comparison, and per chosen expert a maximum and log.
OpCost cost_group_router(const OpContext& op) {
  const Dim tokens = row_count(op.shape(kLogits));
  const Dim& experts = dim_of(op, kBias, 0);
  const Dim scores = tokens * experts;
  OpCost cost = op.streamed();
  if (op.has_input(kProjection)) cost.macs = tokens * op.elements(kProjection);
  cost += Work{.arith = 1, .special = 1} * scores;
  if (!op.has_output(0)) return cost;
  const Dim groups = tokens * op.attribute("n_group", 1);
  const std::int64_t summed = op.attribute("group_topk", 1);
  return std::move(cost) + Work{.arith = 2, .comparisons = 2} * scores +
         Work{.arith = summed, .comparisons = 1} * groups +
         Work{.arith = 1, .special = 1, .comparisons = 1} * (tokens * positive_attribute(op, "top_k"));
}

// clang-format off
constexpr OpRule kContribMoeRules[] = {
    // op              infer               cost                fold     cost in words
    {"MoE",            infer_moe,          cost_moe,           nullptr, "per token and chosen expert: macs of its projections, biases, activation, weighted sum; router softmax and selection", kOtherProduct},
    {"MoEGroupRouter", infer_group_router, cost_group_router,  nullptr, "sigmoid, add per score; choosing: 2 comparisons per score, sum and comparison per group, log and max per choice; projection macs", kOtherProduct},
    {"MoEPacked",      infer_moe_packed,   cost_moe_packed,    nullptr, "as MoE; 1 mul per weight of the experts that are touched", kOtherProduct},
    {"QMoE",           infer_moe,          cost_quantized_moe, nullptr, "as MoE; sub and mul per weight of the experts that are touched", kOtherProduct},
};
// clang-format on
static_assert(well_formed(kContribMoeRules));

}  // namespace

std::span<const OpRule> contrib_moe_rules() { return kContribMoeRules; }

}  // namespace pagoda::inline core::ops
