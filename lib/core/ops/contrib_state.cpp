// com.microsoft: operators that carry a state from call to call: causal convolutions, linear attention, n-gram hashes.
// Recurrences are counted token by token; chunked engines do different work for the same result.
#include "ops/attention_work.h"

namespace pagoda::inline core::ops {
namespace {

std::int64_t count_attribute(const OpContext& op, std::string_view name, std::int64_t most) {
  const std::int64_t count = op.attribute(name, std::int64_t{0});
  if (count < 0 || count > most) op.fail(cat(name, " is ", count));
  return count;
}

// Slots of the state window, the state's first axis; 0 if there is none.
std::int64_t state_window(const OpContext& op) { return count_attribute(op, "state_window", 8); }

Shape windowed(const OpContext& op, Shape state) {
  if (const std::int64_t window = state_window(op); window > 0) state.insert(state.begin(), Dim(window));
  return state;
}

// Only the last slot of a windowed past is read.
void read_last_slot(OpCost& cost, const OpContext& op, int past) {
  const std::int64_t window = state_window(op);
  if (window > 1 && op.has_input(past))
    op.read_only(cost, past, byte_size(floor_div(op.elements(past), window), op.element(past)));
}

// --- causal depthwise convolutions: weight [C, 1, k…] ---

Dim kernel_volume(const OpContext& op) {
  const Shape& weight = op.shape(1);
  if (weight.size() < 3) op.fail(cat("the weight has rank ", weight.size(), ", expected 3 or more"));
  return element_count(Shape(weight.begin() + 2, weight.end()));
}

// The number of earlier positions that the taps reach along the causal axis, which is the last.
Dim state_length(const OpContext& op) {
  const std::int64_t dilation = op.attribute("dilation", std::int64_t{1});
  if (dilation < 1) op.fail(cat("dilation is ", dilation));
  return (dim_of(op, 1, -1) - 1) * dilation;
}

void infer_causal_conv(OpContext& op) {
  op.set_output(0, op.input(0));
  const Shape& data = op.shape(0);
  if (data.size() < 3) op.fail(cat("the input has rank ", data.size(), ", expected 3 or more"));
  const bool channels_last = op.attribute("channels_last", std::int64_t{0}) != 0;
  const Dim channels = channels_last ? element_count(Shape(data.begin() + 2, data.end())) : data[1];
  op.unify(channels, dim_of(op, 1, 0), "channels");
  Shape state = data;
  state[channels_last ? 1 : data.size() - 1] = state_length(op);
  op.set_output(1, op.element(0), windowed(op, std::move(state)));
}

// Taps, bias and activation of every element.
Work causal_conv_work(const OpContext& op, int bias) {
  const Work activation = activation_work(op, op.attribute("activation", std::string_view("none")));
  return (Work{.arith = op.has_input(bias) ? 1 : 0, .macs = kernel_volume(op)} + activation) * op.elements(0);
}

OpCost cost_causal_conv(const OpContext& op) {
  OpCost cost = op.streamed();
  read_last_slot(cost, op, 3);
  return cost + causal_conv_work(op, 2);
}

// input [tokens, C], initial_state [B, C, state].
void infer_varlen_conv(OpContext& op) {
  op.set_output(0, op.input(0));
  expect_rank(op, 0, 2);
  const Shape& state = shape_of(op, 4, 3);
  op.unify(dim_of(op, 0, 1), dim_of(op, 1, 0), "channels");
  op.unify(state[2], state_length(op), "length of the state");
  op.set_output(1, op.element(0), state);
  op.set_output(2, op.element(0), {state[0], Dim(count_attribute(op, "state_update_capacity", 8)), state[1]});
}

OpCost cost_varlen_conv(const OpContext& op) { return op.streamed() + causal_conv_work(op, 3); }

// --- linear attention ---

Dim output_heads(const LinearSizes& sizes) { return max(sizes.query_heads, sizes.key_heads); }

// query [B, T, Hq·Dk], key [B, T, Hkv·Dk], value [B, T, Hkv·Dv].
LinearSizes linear_sizes(const OpContext& op) {
  expect_rank(op, {0, 2}, 3);
  const Shape& query = op.shape(0);
  const Dim query_heads = positive_attribute(op, "q_num_heads"), key_heads = positive_attribute(op, "kv_num_heads");
  return {.tokens = query[0] * query[1],
          .query_heads = query_heads,
          .key_heads = key_heads,
          .key_size = divided(op, query[2], query_heads, "hidden size of the query and heads"),
          .value_size = divided(op, dim_of(op, 2, 2), key_heads, "hidden size of the value and heads")};
}

void infer_linear(OpContext& op) {
  set_element(op, 0, op.element(0));
  const LinearSizes sizes = linear_sizes(op);
  const Shape& query = op.shape(0);
  // Value heads may share keys: ONNX Runtime's builder gives keys as many heads as queries.
  const Dim keys = divided(op, dim_of(op, 1, -1), sizes.key_size, "hidden size of the key and heads");
  divided(op, sizes.key_heads, keys, "heads of the value and of the key");
  expect_dim(op, 2, 1, query[1], "lengths of query and value");
  op.set_output(0, op.element(0), {query[0], query[1], output_heads(sizes) * sizes.value_size});
  op.set_output(1, op.has_input(3) ? op.element(3) : op.element(0),
                windowed(op, {query[0], sizes.key_heads, sizes.key_size, sizes.value_size}));
}

OpCost cost_linear(const OpContext& op) {
  const LinearSizes sizes = linear_sizes(op);
  const Dim decays = op.has_input(4) ? op.elements(4) : Dim(0);
  OpCost cost = op.streamed();
  read_last_slot(cost, op, 3);
  return cost + linear_attention_work(update_rule(op), sizes, output_heads(sizes), decays);
}

// --- GatedDeltaNet: query [tokens, Hq, Dk], or [B, S, Hq, Dk], or Q, K and V packed ---

enum DeltaInput { kOffsets = kValue + 1, kDecay, kBeta, kState, kDecayLog, kDecayBias, kCaptured };

struct DeltaSizes {
  Shape tokens;  // one axis, or batch and sequence
  Dim batch;
  LinearSizes linear;
};

DeltaSizes delta_sizes(const OpContext& op) {
  DeltaSizes sizes;
  const Shape& query = op.shape(kQuery);
  if (op.has_input(kState)) {
    const Shape& state = shape_of(op, kState, 4);
    sizes.batch = state[0];
    sizes.linear.key_heads = state[1];
    sizes.linear.value_size = state[2];
    sizes.linear.key_size = state[3];
  }
  if (!op.has_input(kKey)) {
    if (!op.has_input(kState)) op.fail("packed Q, K and V need initial_state");
    sizes.tokens = leading(query);
    const Dim rest = dim_of(op, kQuery, -1) - sizes.linear.key_heads * sizes.linear.value_size;
    sizes.linear.query_heads = divided(op, rest, 2 * sizes.linear.key_size, "packed width and head sizes");
  } else {
    if (query.size() != 3 && query.size() != 4) op.fail(cat("the query has rank ", query.size(), ", expected 3 or 4"));
    const Shape& value = shape_of(op, kValue, op.rank(kQuery));
    sizes.tokens = Shape(query.begin(), query.end() - 2);
    sizes.linear.query_heads = query[query.size() - 2];
    sizes.linear.key_size = query.back();
    sizes.linear.key_heads = value[value.size() - 2];
    sizes.linear.value_size = value.back();
    if (query.size() == 4) sizes.batch = query[0];
  }
  if (op.has_input(kOffsets)) sizes.batch = dim_of(op, kOffsets, 0) - 1;
  sizes.linear.tokens = element_count(sizes.tokens);
  return sizes;
}

void infer_delta_net(OpContext& op) {
  set_element(op, 0, op.element(kQuery));
  const DeltaSizes sizes = delta_sizes(op);
  const LinearSizes& linear = sizes.linear;
  op.set_output(0, op.element(kQuery), appended(sizes.tokens, {output_heads(linear), linear.value_size}));
  op.set_output(1, ElementType::Float32, {sizes.batch, linear.key_heads, linear.value_size, linear.key_size});
  const Dim transition = linear.key_heads + linear.query_heads * linear.key_size + linear.key_heads * linear.value_size;
  op.set_output(2, ElementType::Float32, {sizes.batch, count_attribute(op, "state_update_capacity", 8) * transition});
}

// The recurrence at the value heads; decay −exp(a_log)·softplus(decay + bias), an exp once per head, and per decay
// exp, log and 3; sigmoid of β; L2 norm of every query and key head: square, add, scale per element, rsqrt per head.
OpCost cost_delta_net(const OpContext& op) {
  const DeltaSizes sizes = delta_sizes(op);
  const LinearSizes& linear = sizes.linear;
  const Dim decays = op.has_input(kDecay) ? op.elements(kDecay) : Dim(0);
  OpCost cost = op.streamed() + linear_attention_work(update_rule(op), linear, output_heads(linear), decays);
  if (op.attribute("gate_activation", std::string_view("none")) == "qwen")
    cost += Work{.arith = 3, .special = 2} * decays + Work{.special = linear.key_heads};
  if (op.attribute("beta_activation", std::string_view("none")) == "sigmoid" && op.has_input(kBeta))
    cost.special += op.elements(kBeta);
  if (op.attribute("qk_l2_norm", std::int64_t{0}) != 0)
    cost += Work{.arith = 3 * linear.key_size, .special = 1} * (2 * linear.tokens * linear.query_heads);
  return cost;
}

// --- n-gram hashes ---

struct Hashes {
  Dim order, heads;  // longest n-gram; hashes per token
};

Hashes hashes_of(const OpContext& op) {
  const std::int64_t order = op.required_integer("max_ngram_size");
  if (order < 2) op.fail(cat("max_ngram_size is ", order));
  return {order, (Dim(order) - 1) * positive_attribute(op, "n_head_per_ngram")};
}

void infer_hash(OpContext& op) {
  set_element(op, 0, op.element(0));
  expect_rank(op, 0, 2);
  const Hashes hashes = hashes_of(op);
  const Shape& ids = op.shape(0);
  op.set_output(0, op.element(0), {ids[0], ids[1], hashes.heads});
  op.set_output(1, op.element(0), {ids[0], hashes.order - 1});
}

void infer_varlen_hash(OpContext& op) {
  set_element(op, 0, op.element(0));
  expect_rank(op, 0, 1);
  const Hashes hashes = hashes_of(op);
  const Dim batch = dim_of(op, 3, 0) - 1;
  op.set_output(0, op.element(0), {dim_of(op, 0, 0), hashes.heads});
  op.set_output(1, op.element(0), {batch, hashes.order - 1});
  op.set_output(2, ElementType::Int32, {batch, hashes.order - 1});
  op.set_output(3, op.element(0), {batch, Dim(count_attribute(op, "state_update_capacity", 8)), hashes.order - 1});
}

// Integer work. Per token a product for every shift, joined by xor from one order to the next; per hash a remainder,
// and an offset where there is one.
template <int Offsets>
OpCost cost_hash(const OpContext& op) {
  const Hashes hashes = hashes_of(op);
  return op.streamed() +
         Work{.arith = op.elements(0) * (2 * hashes.order - 1 + hashes.heads * (op.has_input(Offsets) ? 2 : 1)),
              .comparisons = op.elements(0) * (hashes.order - 1)};
}

// clang-format off
constexpr OpRule kContribStateRules[] = {
    // op                         infer              cost              fold     cost in words
    {"CausalConvWithState",       infer_causal_conv, cost_causal_conv, nullptr, "kernel macs, bias add, activation per element", kAttention.updating(3, 1, 1)},
    {"GatedDeltaNet",             infer_delta_net,   cost_delta_net,   nullptr, "as LinearAttention; fused decay, sigmoid of β, L2 norms", kAttention.updating(6, 1, 1)},
    {"LinearAttention",           infer_linear,      cost_linear,      nullptr, "per token Dk·Dv macs per output head and 1 or 2 times that per key head; decay Dk·Dv mul; delta 2·Dv; scale", kAttention.updating(3, 1, 1)},
    {"NGramHashMapping",          infer_hash,        cost_hash<4>,     nullptr, "2·order − 1 per token, remainder and offset per hash", kOther.with(Gradient::Unmodelled)},
    {"VarlenCausalConvWithState", infer_varlen_conv, cost_varlen_conv, nullptr, "kernel macs, bias add, activation per element", kAttention.updating(4, 1, 1)},
    {"VarlenNGramHashMapping",    infer_varlen_hash, cost_hash<5>,     nullptr, "2·order − 1 per token, remainder and offset per hash", kOther.with(Gradient::Unmodelled)},
};
// clang-format on
static_assert(well_formed(kContribStateRules));

}  // namespace

std::span<const OpRule> contrib_state_rules() { return kContribStateRules; }

}  // namespace pagoda::inline core::ops
