// com.microsoft: operators that carry a state from call to call: causal convolutions, linear attention, n-gram hashes;
// and speculative decoding. Recurrences are counted token by token; chunked engines do different work for the same
// result.
#include "ops/attention_work.h"

namespace pagoda::inline core::ops {
namespace {

std::int64_t count_attribute(const OpContext& op, std::string_view name, std::int64_t most) {
  const std::int64_t count = op.attribute(name, 0);
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
Dim state_length(const OpContext& op) { return (dim_of(op, 1, -1) - 1) * positive_or_one(op, "dilation"); }

void infer_causal_conv(OpContext& op) {
  op.set_output(0, op.input(0));
  const Shape& data = op.shape(0);
  if (data.size() < 3) op.fail(cat("the input has rank ", data.size(), ", expected 3 or more"));
  const bool channels_last = op.flag("channels_last");
  const Dim channels = channels_last ? element_count(Shape(data.begin() + 2, data.end())) : data[1];
  op.unify(channels, dim_of(op, 1, 0), "channels");
  Shape state = data;
  state[channels_last ? 1 : data.size() - 1] = state_length(op);
  op.set_output(1, op.element(0), windowed(op, std::move(state)));
}

// Taps, bias and activation of every element.
Work causal_conv_work(const OpContext& op, int bias) {
  const Work activation = activation_work(op, op.attribute("activation", "none"));
  return (Work{.arith = op.has_input(bias) ? 1 : 0, .macs = kernel_volume(op)} + activation) * op.elements(0);
}

OpCost cost_causal_conv(const OpContext& op) {
  OpCost cost = op.streamed();
  read_last_slot(cost, op, 3);
  return std::move(cost) + causal_conv_work(op, 2);
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
  return std::move(cost) + linear_attention_work(update_rule(op), sizes, output_heads(sizes), decays);
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
  if (op.attribute("gate_activation", "none") == "qwen")
    cost += Work{.arith = 3, .special = 2} * decays + Work{.special = linear.key_heads};
  if (op.attribute("beta_activation", "none") == "sigmoid" && op.has_input(kBeta)) cost.special += op.elements(kBeta);
  if (op.flag("qk_l2_norm"))
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

// --- speculative decoding: a verifier runs the draft's tokens at once; of its states, those after the accepted prefix
// are kept, by replaying what the verifier captured ---

// --- replays: source, captured updates and destination are flat buffers; metadata says which parts ---

constexpr int kSource = 0, kCapture = 1, kDestination = 2, kMetadata = 3;

void infer_replay(OpContext& op) { op.set_output(0, op.input(kDestination)); }

// An entry of the metadata; a symbol where the metadata is data.
Dim described(const OpContext& op, std::size_t entries, std::size_t entry, std::string_view name) {
  const auto metadata = op.integers(kMetadata);
  if (!metadata) return op.fresh(name, "the metadata of the replay is data");
  if (metadata->size() != entries) op.fail(cat("metadata has ", metadata->size(), " entries, expected ", entries));
  if ((*metadata)[entry] < 0) op.fail(cat("entry ", entry, " of the metadata is negative"));
  return (*metadata)[entry];
}

// metadata: three offsets; batch, channels, width of the history, capacity, kept. Moves the history, shifted by `kept`.
OpCost cost_conv_replay(const OpContext& op) {
  constexpr std::size_t kEntries = 8;
  const Dim lines = described(op, kEntries, 3, "replayed_batch") * described(op, kEntries, 4, "replayed_channels");
  const Dim width = described(op, kEntries, 5, "replayed_history");
  const Dim taken = min(described(op, kEntries, 7, "kept_tokens"), width);  // from the captured inputs
  OpCost cost = op.streamed({});
  cost.read(kSource, byte_size(lines * (width - taken), op.element(kSource)));
  cost.read(kCapture, byte_size(lines * taken, op.element(kCapture)));
  op.write_only(cost, 0, byte_size(lines * width, op.element(kDestination)));
  return cost;
}

// metadata: five offsets; Hv, Dv, Dk, Hk, capacity, kept. Per kept token and element of the state: a product with the
// decay, and key · delta added.
OpCost cost_delta_replay(const OpContext& op) {
  constexpr std::size_t kEntries = 11;
  const Dim value_heads = described(op, kEntries, 5, "replayed_heads");
  const Dim value_size = described(op, kEntries, 6, "replayed_value_size");
  const Dim key_size = described(op, kEntries, 7, "replayed_key_size");
  const Dim key_heads = described(op, kEntries, 8, "replayed_key_heads");
  const Dim kept = described(op, kEntries, 10, "kept_tokens");
  const Dim state = value_heads * value_size * key_size;
  OpCost cost = op.streamed({});
  cost.read(kSource, byte_size(state, op.element(kSource)));
  // At least one decay per head; there may be one per element of the key.
  cost.read(kCapture,
            byte_size(kept * (value_heads + key_heads * key_size + value_heads * value_size), op.element(kCapture)));
  op.write_only(cost, 0, byte_size(state, op.element(kDestination)));
  return std::move(cost) + Work{.arith = 1, .macs = 1} * (state * kept);
}

// --- Mamba2Verify: projection [R, gate, x, B, C, dt] of one sequence; snapshots of its states after each token ---

constexpr int kProjected = 0, kConvState = 1, kDeltaState = 2;

struct MambaSizes {
  Dim tokens, slots, heads, head_size, state_size, groups;

  Dim inner() const { return heads * head_size; }
  Dim channels() const { return inner() + 2 * groups * state_size; }
  Dim state() const { return heads * state_size * head_size; }
};

MambaSizes mamba_sizes(const OpContext& op) {
  const Shape& state = shape_of(op, kDeltaState, 4);
  return {.tokens = dim_of(op, kProjected, 0),
          .slots = state[0],
          .heads = positive_attribute(op, "heads"),
          .head_size = state[3],
          .state_size = state[2],
          .groups = positive_attribute(op, "n_groups")};
}

void infer_mamba(OpContext& op) {
  for (const int output : {0, 1, 3}) set_element(op, output, op.element(kProjected));
  for (const int output : {2, 4}) set_element(op, output, ElementType::Float32);
  expect_rank(op, kProjected, 2);
  expect_rank(op, kConvState, 3);
  const MambaSizes sizes = mamba_sizes(op);
  expect_dim(op, kProjected, 1, sizes.inner() + sizes.channels() + sizes.heads, "width of the projection");
  expect_dim(op, kConvState, 1, sizes.channels(), "channels of the convolution's state");
  expect_dim(op, kDeltaState, 1, sizes.heads, "heads of the state");
  op.set_output(0, op.element(kProjected), {sizes.tokens, sizes.inner()});
  op.set_output(1, op.input(kConvState));
  op.set_output(2, op.input(kDeltaState));
  op.set_output(3, op.element(kProjected), {sizes.tokens, sizes.channels()});
  op.set_output(4, ElementType::Float32, {sizes.tokens, sizes.inner()});
}

// Per channel four taps, bias and SiLU. Per head the step max(softplus(dt + bias), least) and exp(A·step): 4, 3
// special, a comparison. Per element of the state a product with the decay, B added, C summed: 2 macs, 1. Per inner
// element step · x, D · x, SiLU of the gate and its product, RMS norm with scale.
OpCost cost_mamba(const OpContext& op) {
  const MambaSizes sizes = mamba_sizes(op);
  const Dim inner = sizes.tokens * sizes.inner();
  const Dim channels = sizes.tokens * sizes.channels();
  const Dim state = sizes.tokens * sizes.state();
  const Dim steps = sizes.tokens * sizes.heads;
  OpCost cost = in_precision(ElementType::Float32, op.streamed());
  const Dim written = min(sizes.tokens, sizes.slots);  // snapshots; one is read
  for (const int i : {kConvState, kDeltaState}) {
    const Dim snapshot = floor_div(op.elements(i), sizes.slots);
    op.read_only(cost, i, byte_size(snapshot, op.element(i)));
    op.write_only(cost, i, byte_size(snapshot * written, op.element(i)));  // output 1 is input 1's, output 2 input 2's
  }
  return std::move(cost) + (Work{.arith = 1, .macs = 4} + silu_work()) * channels +
         Work{.arith = 1, .macs = 2} * state + (Work{.arith = 2, .macs = 1} + silu_work()) * inner +
         Work{.arith = 4, .special = 3, .comparisons = 1} * steps +
         scaled_rms_norm_work(inner, sizes.tokens * sizes.groups);
}

// --- PackedSparseAttentionIndexerMerge: the union of selected entries, first occurrences in order ---

constexpr int kBase = 0, kRows = 2;

void infer_merge(OpContext& op) {
  const std::int64_t entries = positive_attribute(op, "max_output_entries");
  for (const int output : {0, 1, 2}) set_element(op, output, ElementType::Int32);
  expect_rank(op, kRows, 1);
  const Dim& queries = dim_of(op, kRows, 0);
  op.set_output(0, ElementType::Int32, {queries, Dim(entries)});
  for (const int output : {1, 2}) op.set_output(output, ElementType::Int32, {queries});
}

// Every output entry is tested for being new. A query reads its row of the base, at most all rows.
OpCost cost_merge(const OpContext& op) {
  OpCost cost = op.streamed();
  const Dim rows = min(dim_of(op, kBase, 0), dim_of(op, kRows, 0));
  op.read_only(cost, kBase, byte_size(rows * dim_of(op, kBase, 1), op.element(kBase)));
  return std::move(cost) + compared(op.output_elements(0));
}

// --- SpeculativePrefixCommit: the accepted prefix ends where a prediction differs from the draft ---

constexpr int kControl = 3, kContext = 4;
constexpr int kControlWords = 16;

void infer_commit(OpContext& op) {
  set_element(op, 0, ElementType::Int32);
  op.set_output(1, op.input(kControl));
  op.set_output(2, op.input(kContext));
  op.set_output(0, ElementType::Int32,
                {divided(op, op.elements(kControl), kControlWords, "control words and sequence")});
}

OpCost cost_commit(const OpContext& op) {
  const std::int64_t rows = op.attribute("head_rows", 8);
  if (rows < 3 || rows > 8) op.fail(cat("head_rows is ", rows, ", expected 3 to 8"));
  return op.streamed() + compared(op.output_elements(0) * (rows - 1));
}

// clang-format off
constexpr OpRule kContribStateRules[] = {
    // op                         infer              cost               fold     cost in words
    {"CausalConvWithState",       infer_causal_conv, cost_causal_conv,  nullptr, "kernel macs, bias add, activation per element", kAttention.updating(3, 1, 1)},
    {"ConvStateReplay",           infer_replay,      cost_conv_replay,  nullptr, "no arithmetic; moves the history", kOther.with(Gradient::Unmodelled)},
    {"GatedDeltaNet",             infer_delta_net,   cost_delta_net,    nullptr, "as LinearAttention; fused decay, sigmoid of β, L2 norms", kAttention.updating(6, 1, 1)},
    {"GatedDeltaNetStateReplay",  infer_replay,      cost_delta_replay, nullptr, "1 mac, 1 mul per element of the state and kept token", kOther.with(Gradient::Unmodelled)},
    {"LinearAttention",           infer_linear,      cost_linear,       nullptr, "per token Dk·Dv macs per output head and 1 or 2 times that per key head; decay Dk·Dv mul; delta 2·Dv; scale", kAttention.updating(3, 1, 1)},
    {"Mamba2Verify",              infer_mamba,       cost_mamba,        nullptr, "4 macs, bias, SiLU per channel; 2 macs, 1 mul per element of the state; 4, 3 special per step; gate and RMS norm", kAttention},
    {"NGramHashMapping",          infer_hash,        cost_hash<4>,      nullptr, "2·order − 1 per token, remainder and offset per hash", kOther.with(Gradient::Unmodelled)},
    {"PackedSparseAttentionIndexerMerge", infer_merge,       cost_merge,        nullptr, "1 comparison per output entry", kOther.with(Gradient::Unmodelled)},
    {"SpeculativePrefixCommit",   infer_commit,      cost_commit,       nullptr, "1 comparison per drafted token", kOther.with(Gradient::Unmodelled)},
    {"VarlenCausalConvWithState", infer_varlen_conv, cost_varlen_conv,  nullptr, "kernel macs, bias add, activation per element", kAttention.updating(4, 1, 1)},
    {"VarlenNGramHashMapping",    infer_varlen_hash, cost_hash<5>,      nullptr, "2·order − 1 per token, remainder and offset per hash", kOther.with(Gradient::Unmodelled)},
};
// clang-format on
static_assert(well_formed(kContribStateRules));

}  // namespace

std::span<const OpRule> contrib_state_rules() { return kContribStateRules; }

}  // namespace pagoda::inline core::ops
