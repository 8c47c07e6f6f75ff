// Counting attention as ONNX Runtime's operators define it: which (query, key) pairs are visible, what each costs, and
// which rows of a key/value cache move.
//
// Pairs that a causal mask or a window hides cost nothing. Masks given as tensors hide nothing, since they are data.
#pragma once

#include <cstdint>
#include <optional>

#include "ops/nn_work.h"

namespace pagoda::inline core::ops {

// The first inputs of attention over projected heads.
enum AttentionInput { kQuery, kKey, kValue };

// Counts are kept doubled, n·(n + 1) instead of half that, so that formulas stay polynomials; half() undoes it.
Dim half(const Dim& even);

// Twice the visible pairs of one head of one sequence whose queries are its last positions. With a window, a query
// sees the nearest `window` keys, its own included; 0 or less means all keys up to its own.
//   all: Σ_{i<S} (T − S + i + 1) = S·(2T − S + 1)/2      window: Σ min(T − S + i + 1, window)
Dim twice_causal_pairs(const Dim& queries, const Dim& keys, std::int64_t window = 0);

// The same for queries that start after the first `offset` of `keys` keys; the keys may end before or after the
// queries: query i sees min(offset + i + 1, keys).
Dim twice_offset_pairs(const Dim& queries, const Dim& keys, const Dim& offset);

// The sizes that decide the products and softmaxes of one attention.
struct Scores {
  Dim twice_pairs;  // over all heads and sequences
  Dim rows;         // softmaxes: queries × heads × sequences
  Dim key_size, value_size;
  int masks = 0;         // tensors added to the scores
  bool softcap = false;  // c·tanh(x/c)
  bool sink = false;     // one more term in every softmax's denominator
  Dim raw_scores = 0;    // scores computed even where hidden, because they are an output
};

// QKᵀ and PV take key_size + value_size products per pair. Each pair also takes scale (1), softcap (div, tanh, mul), an
// addition for each mask, softmax (4 and exp). A sink takes a comparison, a subtraction, exp and an addition per row.
Work scores_work(const Scores& scores);

// The hidden sizes of query and value: the attribute qkv_hidden_sizes, else a third of the columns of input 1 each.
struct HiddenSizes {
  Dim query, value;
};
HiddenSizes hidden_sizes(const OpContext& op);

// --- linear attention: a state S of key size × value size per head ---

struct UpdateRule {
  bool delta, gated;
};
// The attribute update_rule; ends the rule for an unknown one.
UpdateRule update_rule(const OpContext& op);

struct LinearSizes {
  Dim tokens, query_heads, key_heads, key_size, value_size;
};

// Reads them from query [B, T, Hq·Dk], key [B, T, Hkv·Dk], value [B, T, Hkv·Dv].
LinearSizes linear_sizes(const OpContext& op);

// Counts the recurrence token by token; chunked engines do different work for the same result. Per token and key head:
// add k ⊗ v to S (key · value macs); delta rules also take Sᵀk and, per value element, a difference and a product with
// β; gated rules take the decay's exp and its product with S. Per output head: Sᵀq and the scale.
Work linear_attention_work(const UpdateRule& rule, const LinearSizes& sizes, const Dim& output_heads,
                           const Dim& decays);

// --- rotations ---

// 4 multiplications, a subtraction and an addition per rotated pair.
inline Work rotary_work(const Dim& rotated_elements) { return {.arith = 3 * rotated_elements}; }

// --- caches ---

// Rows (positions) of a key/value cache, per head and sequence. Past and present count as one buffer, updated in place,
// as engines do wherever the caller allows it ("when past_key uses same tensor as present_key", ONNX Runtime's
// ContribOperators.md): no execution moves fewer rows. KvCache holds the extra cost of separate buffers.
struct Cache {
  Dim past;                 // rows of the past tensor
  Dim present;              // rows of the present tensor
  Dim total;                // rows in use afterwards
  Dim added;                // rows that this call appends
  std::int64_t window = 0;  // how far back queries see, 0 for all; see twice_causal_pairs
  bool drops = false;       // the buffer holds few more rows than the window, and rows that leave it make room

  Dim valid() const { return total - added; }  // rows in use before
  // Rows read: those already in use that at least one query sees. The first new query sees the window − 1 rows
  // before its own; later queries see fewer.
  Dim read() const { return window > 0 ? min(valid(), window - 1) : valid(); }
  // Rows written: the new ones, or the last of them that fit the window; without a past, all rows of the present. An
  // engine may move the rows that stay to the start of the buffer. That copy is not counted, because an engine that
  // lets the present begin at a later row of the past needs none.
  Dim written() const { return past == Dim(0) ? present : drops ? min(added, window) : added; }
};

// In a streamed cost, replaces the full size of the cache tensors, [… rows, head size], by the rows that move.
void move_cache(OpCost& cost, const OpContext& op, std::initializer_list<int> pasts,
                std::initializer_list<int> presents, const Cache& cache);

// Adds reads of the rows, at most all, that `tokens` tokens pick from the rotary tables, inputs `cos` and `cos` + 1.
void read_rotary_tables(OpCost& cost, const OpContext& op, int cos, const Dim& tokens);

}  // namespace pagoda::inline core::ops
