// com.microsoft: sequences of a batch packed without padding, and attention over them. Only the cumulative lengths give
// the length of each sequence: without them, pairs are known only for a single sequence, or if no token was padding.
#include "ops/attention_work.h"

namespace pagoda::inline core::ops {
namespace {

// Twice Σ length² over the sequences of a batch of `tokens` tokens; input `offsets` is [B, S], `bounds` [B + 1].
Dim twice_packed_pairs(const OpContext& op, const Dim& tokens, int offsets, int bounds) {
  if (const auto known = op.integers(bounds); known && !known->empty()) {
    Dim pairs = 0;
    for (std::size_t i = 1; i < known->size(); ++i) {
      const std::int64_t length = (*known)[i] - (*known)[i - 1];
      if (length < 0) op.fail(cat("cumulative lengths fall at sequence ", i - 1));
      pairs += 2 * Dim(length) * length;
    }
    return pairs;
  }
  const Shape& padded = shape_of(op, offsets, 2);
  if (padded[0] == Dim(1)) return 2 * tokens * tokens;
  if (equal(tokens, padded[0] * padded[1]) == true) return 2 * tokens * padded[1];
  op.unknown("the lengths of the packed sequences are data");
}

// --- PackedAttention: input [tokens, I], weights [I, Hq + Hk + Hv] ---

Shape packed_shape(OpContext& op) {
  expect_rank(op, {0, 1}, 2);
  op.unify(dim_of(op, 0, 1), dim_of(op, 1, 0), "input size of data and weights");
  return {dim_of(op, 0, 0), hidden_sizes(op).value};
}

OpCost cost_packed(const OpContext& op) {
  const Dim& tokens = dim_of(op, 0, 0);
  const Dim heads = positive_attribute(op, "num_heads");
  const HiddenSizes hidden = hidden_sizes(op);
  return op.streamed() + Work{.arith = tokens * dim_of(op, 1, 1), .macs = tokens * op.elements(1)} +
         scores_work({.twice_pairs = heads * twice_packed_pairs(op, tokens, 3, 4),
                      .rows = heads * tokens,
                      .key_size = divided(op, hidden.query, heads, "hidden size and heads"),
                      .value_size = divided(op, hidden.value, heads, "hidden size of V and heads"),
                      .masks = op.has_input(5) ? 1 : 0});
}

// --- PackedMultiHeadAttention: query [tokens, H], or [tokens, N, 3, D] for packed Q, K and V ---

Dim value_hidden(const OpContext& op) {
  const Shape& query = op.shape(0);
  if (query.size() == 4) return query[1] * query[3];
  if (query.size() != 2) op.fail(cat("the query has rank ", query.size(), ", expected 2 or 4"));
  return dim_of(op, 2, -1);
}

Shape packed_heads_shape(OpContext& op) { return {dim_of(op, 0, 0), value_hidden(op)}; }

OpCost cost_packed_heads(const OpContext& op) {
  const Shape& query = op.shape(0);
  const Dim heads = positive_attribute(op, "num_heads");
  const Dim hidden = query.size() == 4 ? query[1] * query[3] : query[1];
  const Dim values = value_hidden(op);
  return op.streamed() + Work{.arith = when(op.has_input(3), query[0] * (2 * hidden + values))} +
         scores_work({.twice_pairs = heads * twice_packed_pairs(op, query[0], 4, 5),
                      .rows = heads * query[0],
                      .key_size = divided(op, hidden, heads, "hidden size and heads"),
                      .value_size = divided(op, values, heads, "hidden size of V and heads"),
                      .masks = op.has_input(6) ? 1 : 0});
}

// --- padding ---

// input [B, S, H], token counts [B] → tokens [T, H], offsets [B, S], cumulative lengths [B + 1], longest [1].
void infer_remove_padding(OpContext& op) {
  const Shape& input = shape_of(op, 0, 3);
  Dim tokens = 0;
  if (const auto counts = known_sizes(op, 1)) {
    for (const Dim& count : *counts) tokens += count;
  } else {
    tokens = op.fresh("tokens", "tokens that are not padding", input[0] * input[1]);
  }
  op.set_output(0, op.element(0), {tokens, input[2]});
  op.set_output(1, ElementType::Int32, {input[0], input[1]});
  op.set_output(2, ElementType::Int32, {input[0] + 1});
  op.set_output(3, ElementType::Int32, {Dim(1)});
}

// Reads only the tokens that it keeps.
OpCost cost_remove_padding(const OpContext& op) { return cost_reading(op, {1}, op.output_bytes(0)); }

// tokens [T, H], offsets [B, S] → [B, S, H].
Shape restore_padding_shape(OpContext& op) {
  expect_rank(op, {0, 1}, 2);
  const Shape& offsets = op.shape(1);
  return {offsets[0], offsets[1], dim_of(op, 0, 1)};
}

// clang-format off
constexpr OpRule kContribPackedAttentionRules[] = {
    // op                        infer                          cost                 fold     cost in words
    {"PackedAttention",          shaped<packed_shape>,          cost_packed,         nullptr, "projection and bias per token; as Attention over each sequence where the lengths are known", kAttention},
    {"PackedMultiHeadAttention", shaped<packed_heads_shape>,    cost_packed_heads,   nullptr, "as MultiHeadAttention over each sequence where the lengths are known", kAttention},
    {"RemovePadding",            infer_remove_padding,          cost_remove_padding, nullptr, "no arithmetic; reads the tokens that it keeps", kGathering.with(Gradient::Unmodelled)},
    {"RestorePadding",           shaped<restore_padding_shape>, cost_move,           nullptr, "no arithmetic; reads the tokens, writes all rows", kGathering.with(Gradient::Unmodelled)},
};
// clang-format on
static_assert(well_formed(kContribPackedAttentionRules));

}  // namespace

std::span<const OpRule> contrib_packed_attention_rules() { return kContribPackedAttentionRules; }

}  // namespace pagoda::inline core::ops
