// com.microsoft: speculative decoding. A verifier runs the draft's tokens at once; of its states, those after the
// accepted prefix are kept, by replaying what the verifier captured.
#include "ops/attention_work.h"

namespace pagoda::inline core::ops {
namespace {

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
  return cost + Work{.arith = 1, .macs = 1} * (state * kept);
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
  return cost + (Work{.arith = 1, .macs = 4} + silu_work()) * channels + Work{.arith = 1, .macs = 2} * state +
         (Work{.arith = 2, .macs = 1} + silu_work()) * inner +
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
  return cost + Work{.arith = op.output_elements(0), .comparisons = op.output_elements(0)};
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
  const std::int64_t rows = op.attribute("head_rows", std::int64_t{8});
  if (rows < 3 || rows > 8) op.fail(cat("head_rows is ", rows, ", expected 3 to 8"));
  OpCost cost = op.streamed();
  cost.arith = cost.comparisons = op.output_elements(0) * (rows - 1);
  return cost;
}

// clang-format off
constexpr OpRule kContribSpeculativeRules[] = {
    // op                                 infer         cost               fold     cost in words
    {"ConvStateReplay",                   infer_replay, cost_conv_replay,  nullptr, "no arithmetic; moves the history", kOther.with(Gradient::Unmodelled)},
    {"GatedDeltaNetStateReplay",          infer_replay, cost_delta_replay, nullptr, "1 mac, 1 mul per element of the state and kept token", kOther.with(Gradient::Unmodelled)},
    {"Mamba2Verify",                      infer_mamba,  cost_mamba,        nullptr, "4 macs, bias, SiLU per channel; 2 macs, 1 mul per element of the state; 4, 3 special per step; gate and RMS norm", kAttention},
    {"PackedSparseAttentionIndexerMerge", infer_merge,  cost_merge,        nullptr, "1 comparison per output entry", kOther.with(Gradient::Unmodelled)},
    {"SpeculativePrefixCommit",           infer_commit, cost_commit,       nullptr, "1 comparison per drafted token", kOther.with(Gradient::Unmodelled)},
};
// clang-format on
static_assert(well_formed(kContribSpeculativeRules));

}  // namespace

std::span<const OpRule> contrib_speculative_rules() { return kContribSpeculativeRules; }

}  // namespace pagoda::inline core::ops
