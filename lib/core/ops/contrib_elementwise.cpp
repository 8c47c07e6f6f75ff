// com.microsoft: element-wise operators with their neighbours fused in: biases, Gelus, gates, dropout, complex
// products, rotary embeddings.
#include "ops/attention_work.h"

namespace pagoda::inline core::ops {
namespace {

OpCost per_element(const OpContext& op, const Work& work) { return op.streamed() + work * op.output_elements(0); }

Work additions(int count) { return {.arith = count}; }

// Unifies the last axis of input 0 with the length of the vector at input i.
void expect_vector(OpContext& op, int i) {
  if (op.has_shape(0) && op.rank(0) > 0 && op.has_shape(i) && op.rank(i) == 1)
    op.unify(dim_of(op, 0, -1), dim_of(op, i, 0), cat("the last axis and input ", i));
}

// --- biases and Gelus ---

void infer_with_bias(OpContext& op) {
  expect_vector(op, 1);
  op.set_output(0, op.input(0));
}

OpCost cost_fast_gelu(const OpContext& op) {
  return per_element(op, additions(op.has_input(1) ? 1 : 0) + fast_gelu_work());
}

// x·sigmoid(α·x).
OpCost cost_quick_gelu(const OpContext& op) {
  return per_element(op, additions(op.attribute("alpha", 1.702) != 1.0 ? 1 : 0) + silu_work());
}

// z·sigmoid(z) with z = scale·x.
OpCost cost_scaled_silu(const OpContext& op) {
  const bool scaled = op.has_input(1) || op.attribute("alpha", 1.0) != 1.0;
  return per_element(op, additions(scaled ? 1 : 0) + silu_work());
}

// The last axis holds two halves.
Shape halved_shape(OpContext& op) {
  Shape shape = op.shape(0);
  if (shape.empty()) op.fail("input 0 is a scalar");
  shape.back() = divided(op, shape.back(), 2, "the last axis");
  return shape;
}

// [N, S, D] → [N, S, D/2]: the left half times the Gelu of the right half.
Shape bias_split_gelu_shape(OpContext& op) {
  expect_vector(op, 1);
  return halved_shape(op);
}

// --- dropout: compare a random number with the ratio, scale, select; a copy in inference ---

template <bool HasBitmask>
void infer_dropout(OpContext& op) {
  op.set_output(0, op.input(0));
  if (!HasBitmask) return op.set_output(1, {.element = ElementType::Bool, .shape = op.input(0).shape});
  if (op.has_shape(0)) op.set_output(1, ElementType::Uint32, {ceil_div(op.elements(0), 32)});
}

// Inputs of the bias, the residual and the mode; −1 where the operator has none.
template <int Bias, int Residual, int Training>
OpCost cost_dropout(const OpContext& op) {
  const bool drops = op.has_input(Training) && flag_value(op, Training).value_or(false);
  const int added = (op.has_input(Bias) ? 1 : 0) + (op.has_input(Residual) ? 1 : 0);
  return op.streamed({0, Bias, Residual}) +
         (additions(added) + (drops ? Work{.arith = 3, .comparisons = 2} : Work())) * op.elements(0);
}

// --- complex products: the last axis holds real and imaginary parts ---

Shape complex_shape(OpContext& op) {
  for (const int i : {0, 1})
    if (op.has_shape(i)) op.unify(op.shape(i).empty() ? Dim(0) : dim_of(op, i, -1), 2, "parts of a complex number");
  return op.broadcast(op.shape(0), op.shape(1));
}

// --- rotary embeddings ---

void infer_rotary(OpContext& op) {
  if (op.has_shape(0) && op.rank(0) != 3 && op.rank(0) != 4)
    op.fail(cat("the input has rank ", op.rank(0), ", expected 3 or 4"));
  op.set_output(0, op.input(0));
}

// input [B, S, N·D] or [B, N, S, D]; caches [positions, rotated / 2]. Every head is rotated in full unless
// rotary_embedding_dim limits it; tokens pick their rows of the caches.
OpCost cost_rotary(const OpContext& op) {
  const Shape& data = op.shape(0);
  const bool packed = data.size() == 3;
  const Dim tokens = data[0] * data[packed ? 1 : 2];
  const std::int64_t partial = op.attribute("rotary_embedding_dim", 0);
  Dim rotated = op.elements(0);
  if (partial > 0) rotated = tokens * (packed ? Dim(positive_attribute(op, "num_heads")) : data[1]) * partial;
  OpCost cost = op.streamed({0, 1});
  read_rotary_tables(cost, op, 2, tokens);
  return std::move(cost) + rotary_work(rotated);
}

void infer_multimodal_rotary(OpContext& op) {
  const auto sections = op.integer_list("mrope_section");
  if (!sections || sections->size() != 3) op.fail("mrope_section should hold 3 sizes");
  infer_rotary(op);
}

void infer_gemma_rotary(OpContext& op) {
  op.set_output(0, op.input(1));
  op.set_output(1, op.input(3));
}

// q·cos + q_rot·sin and the same for k, with sin and cos of every angle.
OpCost cost_gemma_rotary(const OpContext& op) {
  return in_precision(op.element(1), op.streamed()) +
         Work{.arith = 3 * (op.elements(1) + op.elements(3)), .special = 2 * op.elements(0)};
}

// --- gates of linear attention, Engram and hyper-connections ---

// a [B, T, H], dt_bias [H], decay_scale [H], b [B, T, H].
void infer_attention_gate(OpContext& op) {
  expect_vector(op, 1);
  expect_vector(op, 2);
  op.set_output(0, op.input(0));
  if (op.has_output(1)) op.set_output(1, op.input(3));
}

// decay_scale·softplus(a + dt_bias), where softplus is an exp, an addition and a log; sigmoid(b).
OpCost cost_attention_gate(const OpContext& op) {
  return in_precision(ElementType::Float32, op.streamed()) + Work{.arith = 3, .special = 2} * op.elements(0) +
         Work{.special = op.has_output(1) ? op.output_elements(1) : Dim(0)};
}

void infer_engram(OpContext& op) {
  expect_rank(op, 0, 4);
  op.set_output(0, op.input(0));
  op.set_output(1, op.input(0));
}

// Per key and query element RMS norm (3) and its scale; their dot product; per gate 1/√H (1), |·|, max, √, sign
// (comparison, mul), sigmoid; a product per element and, if it is an output, the RMS norm of that with its scale.
OpCost cost_engram(const OpContext& op) {
  const Dim elements = op.elements(0);
  const Dim gates = row_count(op.shape(0));
  const Dim norms = op.has_output(1) ? 3 : 2;
  return in_precision(ElementType::Float32, op.streamed()) + Work{.arith = elements, .macs = elements} +
         scaled_rms_norm_work(elements, gates) * norms + Work{.arith = 5, .special = 2, .comparisons = 3} * gates;
}

// Streams [… C, H], or flattened [… C·H] with num_branches = C.
struct Streams {
  Shape outer;
  Dim count, size;
};

Streams streams_of(const OpContext& op) {
  const Shape& shape = op.shape(0);
  const std::int64_t branches = op.attribute("num_branches", 0);
  if (branches > 0) {
    if (shape.empty()) op.fail("streams are a scalar");
    return {leading(shape), branches, divided(op, shape.back(), branches, "streams and branches")};
  }
  if (shape.size() < 2) op.fail(cat("streams have rank ", shape.size(), ", expected 2 or more"));
  return {Shape(shape.begin(), shape.end() - 2), shape[shape.size() - 2], shape.back()};
}

Shape pre_mix_shape(OpContext& op) {
  const Streams streams = streams_of(op);
  return appended(streams.outer, {streams.size});
}

// Every feature is a sum of C products.
OpCost cost_pre_mix(const OpContext& op) {
  return op.streamed() + Work{.arith = when(op.attribute("reduction_scale", 1.0) != 1.0, op.output_elements(0)),
                              .macs = op.elements(0)};
}

// C products per element where streams are mixed; a product and an addition for the branch.
OpCost cost_post_mix(const OpContext& op) {
  const Dim macs = op.has_input(3) ? streams_of(op).count : Dim(0);
  return op.streamed() + Work{.arith = 2, .macs = macs} * op.elements(0);
}

// streams, norm scale [C·H], down [C·H, R], up [R, C·H], inject [C·H, C], the previous block's output and gate.
void infer_low_rank_mix(OpContext& op) {
  for (const int output : {0, 1, 2}) set_element(op, output, op.element(0));
  const Streams streams = streams_of(op);
  expect_dim(op, 2, 0, streams.count * streams.size, "streams and rows of the down projection");
  expect_dim(op, 3, 1, streams.count * streams.size, "streams and columns of the up projection");
  op.set_output(0, op.element(0), appended(streams.outer, {streams.size}));
  op.set_output(1, op.element(0), appended(streams.outer, {streams.count}));
  op.set_output(2, op.input(0));
}

// Products of the three projections and of hn·g; RMS norm with scale (4) and a sigmoid per element; ScaledSiLU per
// element of rank R; per gate a sigmoid; two for the previous block per element. Scales ≠ 1 are a product or division.
OpCost cost_low_rank_mix(const OpContext& op) {
  const auto scale = [&](std::string_view name) { return op.attribute(name, 1.0) != 1.0 ? 1 : 0; };
  const Streams streams = streams_of(op);
  const Dim rows = element_count(streams.outer);
  const Dim elements = op.elements(0);
  const Dim gates = rows * streams.count;
  return op.streamed() +
         Work{.arith = scale("reduction_scale") * rows * streams.size +
                       (scale("gate_div") + scale("gate_mul")) * gates + when(op.has_input(5), 2 * elements),
              .special = elements + gates,
              .macs = rows * (op.elements(2) + op.elements(3) + op.elements(4)) + elements} +
         scaled_rms_norm_work(elements, gates) +
         (silu_work() + additions(scale("silu_alpha"))) * (rows * dim_of(op, 2, 1));
}

// --- SwiGLU of gate and up, or of both halves of one tensor ---

void infer_swiglu(OpContext& op) {
  if (op.has_input(1)) {
    if (op.has_shape(0)) expect_rank(op, 1, op.rank(0));
    return op.set_output(0, op.has_shape(0) ? op.input(0) : op.input(1));
  }
  shaped<halved_shape>(op);
}

OpCost cost_swiglu(const OpContext& op) {
  return in_precision(ElementType::Float32, op.streamed()) +
         swiglu_work(op, op.attribute("limit", 0.0) > 0) * op.output_elements(0);
}

// --- IsAllFinite ---

void infer_all_finite(OpContext& op) { op.set_output(0, ElementType::Bool, {}); }

// A test per element, and the conjunction of all.
OpCost cost_all_finite(const OpContext& op) {
  Dim elements = 0;
  for (int i = 0; i < op.input_count(); ++i) elements += op.elements(i);
  return op.streamed() + compared(2 * elements - 1);
}

// clang-format off
constexpr OpRule kContribElementwiseRules[] = {
    // op                         infer                  cost                     fold     cost in words
    {"BiasAdd",                   infer_with_bias,       cost_each<2>,            nullptr, "2 adds per element", kAddition.with(Gradient::Unmodelled)},
    {"BiasDropout",               infer_dropout<false>,  cost_dropout<1, 2, 4>,   nullptr, "bias and residual add per element; in training comparison, mul, selection", kOther.with(Gradient::Unmodelled)},
    {"BiasGelu",                  infer_with_bias,       cost_each<5, 1>,         nullptr, "add, Gelu (4 and erf) per element", kPointwise.reads({{}, WeightUse::Additive})},
    {"BiasSoftmax",               infer_same,            cost_each<5, 1, 1>,      nullptr, "add, softmax (4 and exp) per element", kNorm.with(Gradient::Unmodelled)},
    {"BiasSplitGelu",             shaped<bias_split_gelu_shape>, cost_each<7, 1>, nullptr, "2 adds, Gelu (4 and erf), mul per output element", kOther.with(Gradient::Unmodelled)},
    {"BitmaskBiasDropout",        infer_dropout<true>,   cost_dropout<1, 2, 4>,   nullptr, "as BiasDropout", kOther.with(Gradient::Unmodelled)},
    {"BitmaskDropout",            infer_dropout<true>,   cost_dropout<-1, -1, 2>, nullptr, "nothing in inference; in training comparison, mul, selection", kOther.with(Gradient::Unmodelled)},
    {"ComplexMul",                shaped<complex_shape>, cost_each<3>,            nullptr, "3 per real element", kOther.with(Gradient::Unmodelled)},
    {"ComplexMulConj",            shaped<complex_shape>, cost_each<3>,            nullptr, "3 per real element", kOther.with(Gradient::Unmodelled)},
    {"EngramGate",                infer_engram,          cost_engram,             nullptr, "H macs, 5, sqrt, sigmoid per gate; 2 RMS norms with scale (4), mul per element; output norm", kAttention},
    {"FastGelu",                  infer_with_bias,       cost_fast_gelu,          nullptr, "bias add, 5 mul, 2 add, tanh per element", kPointwise.reads({{}, WeightUse::Additive})},
    {"GatedAdd",                  infer_same,            cost_each<2>,            nullptr, "mul, add per element", kPointwise.with(Gradient::Unmodelled)},
    {"Gelu",                      infer_same,            cost_as<"Gelu">,         nullptr, "3 mul, add, erf per element", kPointwise},
    {"GemmaRotaryEmbedding",      infer_gemma_rotary,    cost_gemma_rotary,       nullptr, "sin, cos per angle; 2 mul, add per element of q and k", kAttention},
    {"HyperConnectionLowRankMix", infer_low_rank_mix,    cost_low_rank_mix,       nullptr, "macs of three projections, 1 per element; RMS norm with scale (4), sigmoid per element; SiLU per element of the rank; sigmoid per gate", kOther.with(Gradient::Unmodelled)},
    {"HyperConnectionPostMix",    infer_same,            cost_post_mix,           nullptr, "C macs per element with a stream matrix; mul, add per element", kOther.with(Gradient::Unmodelled)},
    {"HyperConnectionPreMix",     shaped<pre_mix_shape>, cost_pre_mix,            nullptr, "C macs per output element; mul for a scale ≠ 1", kOther.with(Gradient::Unmodelled)},
    {"IsAllFinite",               infer_all_finite,      cost_all_finite,         nullptr, "a test and a conjunction per element", kOther.with(Gradient::Unmodelled)},
    {"LinearAttentionGate",       infer_attention_gate,  cost_attention_gate,     nullptr, "2 add, mul, exp, log per element; sigmoid per element of b", kAttention},
    {"MRotaryEmbedding",          infer_multimodal_rotary, cost_rotary,           nullptr, "3 per rotated element", kAttention},
    {"QuickGelu",                 infer_same,            cost_quick_gelu,         nullptr, "2 mul, sigmoid per element", kPointwise},
    {"RotaryEmbedding",           infer_rotary,          cost_rotary,             nullptr, "3 per rotated element", kAttention.with(Gradient::Rule)},
    {"SampleOp",                  infer_same,            cost_move,               nullptr, "no arithmetic: a copy", kPointwise.with(Gradient::Unmodelled)},
    {"ScaledSiLU",                infer_same,            cost_scaled_silu,        nullptr, "mul for a scale, mul, sigmoid per element", kPointwise.with(Gradient::Unmodelled)},
    {"SwiGLU",                    infer_swiglu,          cost_swiglu,             nullptr, "2 mul, sigmoid per element; clamps 3; mul and add for α ≠ 1 and β ≠ 0", kPointwise.with(Gradient::Unmodelled)},
};
// clang-format on
static_assert(well_formed(kContribElementwiseRules));

}  // namespace

std::span<const OpRule> contrib_elementwise_rules() { return kContribElementwiseRules; }

}  // namespace pagoda::inline core::ops
