// Attention and related operators: rotary embeddings, cache updates, linear attention.
//
// A score is one (query, key) pair. Pairs that a causal mask or a window hides cost nothing: an engine need not
// compute them. Masks given as tensors hide nothing, since they are data.
#include <limits>

#include "ops/attention_work.h"

namespace pagoda::inline core::ops {

Dim half(const Dim& even) {
  if (const auto exact = exact_div(even, 2)) return *exact;
  return floor_div(even, 2);
}

Dim twice_causal_pairs(const Dim& queries, const Dim& keys, std::int64_t window) {
  if (window <= 0) return queries * (2 * keys - queries + 1);
  if (queries == Dim(1)) return 2 * min(keys, window);
  const auto up_to = [&](const Dim& n) {  // 2·Σ_{k=1…n} min(k, window)
    const Dim rising = min(n, window);
    return rising * (rising + 1) + 2 * (n - rising) * window;
  };
  return up_to(keys) - up_to(keys - queries);
}

// Each of the first m = min(queries, keys − offset) queries sees one key more than the query before; the rest see all.
Dim twice_offset_pairs(const Dim& queries, const Dim& keys, const Dim& offset) {
  const Dim m = min(queries, keys - offset);
  return m * (2 * offset + m + 1) + 2 * (queries - m) * keys;
}

Work scores_work(const Scores& scores) {
  const Dim pairs = half(scores.twice_pairs);
  const bool raw = scores.raw_scores != Dim(0);
  const Dim scored = raw ? scores.raw_scores : pairs;
  Work work = {.arith = scored + scores.masks * pairs,
               .macs = raw ? scored * scores.key_size + half(scores.twice_pairs * scores.value_size)
                           : half(scores.twice_pairs * (scores.key_size + scores.value_size))};
  if (scores.softcap) work += Work{.arith = 2, .special = 1} * scored;
  if (scores.sink) work += Work{.arith = 3, .special = 1, .comparisons = 1} * scores.rows;
  return work + softmax_work() * pairs;
}

HiddenSizes hidden_sizes(const OpContext& op) {
  const auto sizes = op.integer_list("qkv_hidden_sizes").value_or(std::vector<std::int64_t>());
  if (sizes.empty()) {
    const Dim third = divided(op, dim_of(op, 1, 1), 3, "columns of the weights");
    return {third, third};
  }
  if (sizes.size() != 3) op.fail(cat("qkv_hidden_sizes has ", sizes.size(), " entries, expected 3"));
  if (std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size < 1; }))
    op.fail("qkv_hidden_sizes holds no sizes");
  return {sizes[0], sizes[2]};
}

UpdateRule update_rule(const OpContext& op) {
  const std::string_view rule = op.attribute("update_rule", "gated_delta");
  if (rule == "linear") return {false, false};
  if (rule == "gated") return {false, true};
  if (rule == "delta") return {true, false};
  if (rule == "gated_delta") return {true, true};
  op.fail(cat("update_rule is '", rule, "'"));
}

LinearSizes linear_sizes(const OpContext& op) {
  expect_rank(op, {kQuery, kValue}, 3);
  const Shape& query = op.shape(kQuery);
  const Dim query_heads = positive_attribute(op, "q_num_heads"), key_heads = positive_attribute(op, "kv_num_heads");
  return {.tokens = query[0] * query[1],
          .query_heads = query_heads,
          .key_heads = key_heads,
          .key_size = divided(op, query[2], query_heads, "hidden size of the query and heads"),
          .value_size = divided(op, dim_of(op, kValue, 2), key_heads, "hidden size of the value and heads")};
}

Work linear_attention_work(const UpdateRule& rule, const LinearSizes& sizes, const Dim& output_heads,
                           const Dim& decays) {
  const Dim state = sizes.key_size * sizes.value_size;
  const Dim deltas = when(rule.delta, 2 * sizes.key_heads * sizes.value_size);
  const Dim decayed = when(rule.gated, sizes.key_heads * state);
  return {.arith = sizes.tokens * (output_heads * sizes.value_size + deltas + decayed),
          .special = when(rule.gated, decays),
          .macs = sizes.tokens * state * (sizes.key_heads * (rule.delta ? 2 : 1) + output_heads)};
}

void move_cache(OpCost& cost, const OpContext& op, std::initializer_list<int> pasts,
                std::initializer_list<int> presents, const Cache& cache) {
  const auto bytes = [](ElementType element, const Shape& shape, const Dim& rows) {
    Dim others = 1;
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (i + 2 != shape.size()) others *= shape[i];
    return byte_size(others * rows, element);
  };
  for (const int* i = pasts.begin(); i != pasts.end(); ++i) {
    const bool seen = std::any_of(pasts.begin(), i, [&](int earlier) { return op.same_value(earlier, *i); });
    if (op.has_input(*i) && !seen) op.read_only(cost, *i, bytes(op.element(*i), op.shape(*i), cache.read()));
  }
  for (const int i : presents)
    if (op.has_output(i)) op.write_only(cost, i, bytes(op.output(i).element, op.output_shape(i), cache.written()));
}

void read_rotary_tables(OpCost& cost, const OpContext& op, int cos, const Dim& tokens) {
  for (const int table : {cos, cos + 1}) {
    if (!op.has_input(table)) continue;
    const Dim picked = min(op.elements(table), tokens * dim_of(op, table, -1));
    cost.read(table, byte_size(picked, op.element(table)));
  }
}

namespace {

// --- Attention ---

enum Input { kMask = kValue + 1, kPastKey, kPastValue, kLengths };
enum Output { kResult, kPresentKey, kPresentValue, kScores };

// Sizes of an attention node, whether its tensors have rank 4, [batch, heads, length, size], or 3 with packed heads,
// [batch, length, heads·size].
struct Heads {
  Dim batch, query_heads, key_heads, queries, keys, size, value_size;
  Dim past = 0;
  bool packed = false;

  Dim total_keys() const { return past + keys; }
};

Dim head_size(const OpContext& op, const Dim& hidden, const Dim& heads) {
  if (const auto size = exact_div(hidden, heads)) return *size;
  if (hidden.is_constant())
    op.fail(cat("a hidden size of ", hidden.to_string(), " does not divide into ", heads.to_string(), " heads"));
  return floor_div(hidden, heads);
}

Heads heads_of(const OpContext& op) {
  const Shape& query = op.shape(kQuery);
  const Shape& key = op.shape(kKey);
  const Shape& value = op.shape(kValue);
  if (query.size() != key.size() || query.size() != value.size() || (query.size() != 3 && query.size() != 4))
    op.fail(cat("Q, K and V have ranks ", query.size(), ", ", key.size(), " and ", value.size(),
                ", expected 3 or 4 for all"));
  Heads heads;
  heads.batch = query[0];
  heads.packed = query.size() == 3;
  heads.queries = query[heads.packed ? 1 : 2];
  heads.keys = key[heads.packed ? 1 : 2];
  heads.query_heads = heads.packed ? Dim(positive_attribute(op, "q_num_heads")) : query[1];
  heads.key_heads = heads.packed ? Dim(positive_attribute(op, "kv_num_heads")) : key[1];
  heads.size = heads.packed ? head_size(op, query[2], heads.query_heads) : query[3];
  heads.value_size = heads.packed ? head_size(op, value[2], heads.key_heads) : value[3];
  if (op.has_input(kPastKey)) {
    if (op.rank(kPastKey) != 4) op.fail(cat("past_key has rank ", op.rank(kPastKey), ", expected 4"));
    heads.past = op.shape(kPastKey)[2];
  }
  return heads;
}

void infer_attention(OpContext& op) {
  set_element(op, kResult, op.element(kQuery));
  set_element(op, kPresentKey, op.element(kKey));
  set_element(op, kPresentValue, op.element(kValue));
  set_element(op, kScores, op.element(kQuery));
  const Heads heads = heads_of(op);
  const Shape& key = op.shape(kKey);
  op.unify(heads.batch, key[0], "batch of Q and K");
  op.unify(heads.batch, op.shape(kValue)[0], "batch of Q and V");
  op.unify(heads.keys, op.shape(kValue)[heads.packed ? 1 : 2], "lengths of K and V");
  op.unify(heads.packed ? heads.size * heads.key_heads : heads.size, key.back(), "head size of Q and K");
  if (heads.query_heads.is_constant() && heads.key_heads.is_constant() &&
      (heads.key_heads == Dim(0) || !exact_div(heads.query_heads, heads.key_heads)))
    op.fail(
        cat(heads.query_heads.to_string(), " query heads do not share ", heads.key_heads.to_string(), " key heads"));
  if (op.has_input(kLengths) && !op.integers(kLengths))
    op.note("the lengths of the sequences in the cache are data: every key counts");

  op.set_output(kResult, op.element(kQuery),
                heads.packed ? Shape{heads.batch, heads.queries, heads.query_heads * heads.value_size}
                             : Shape{heads.batch, heads.query_heads, heads.queries, heads.value_size});
  const Dim total = heads.total_keys();
  op.set_output(kPresentKey, op.element(kKey), {heads.batch, heads.key_heads, total, heads.size});
  op.set_output(kPresentValue, op.element(kValue), {heads.batch, heads.key_heads, total, heads.value_size});
  op.set_output(kScores, op.element(kQuery), {heads.batch, heads.query_heads, heads.queries, total});
}

// 2·Σ_{i < queries} clamp(i + offset, 0, keys): twice (see half()) the pairs of a query i and a key below i + offset.
Dim twice_keys_below(const Dim& queries, const Dim& offset, const Dim& keys) {
  const auto up_to = [&](const Dim& n) {  // 2·Σ_{k < n} clamp(k, 0, keys)
    const Dim rising = max(min(n, keys), 0);
    return rising * (rising - 1) + 2 * (max(n, keys) - keys) * keys;
  };
  return up_to(queries + offset) - up_to(offset);
}

// Keys that a query at position p = offset + i may see: p − left … p + right, −1 for no bound.
struct Visibility {
  std::int64_t left = -1, right = -1;
};

Visibility visibility(const OpContext& op) {
  Visibility visible;
  if (op.opset() >= 25) {
    visible.left = op.attribute("left_window_size", -1);
    visible.right = op.attribute("right_window_size", -1);
    if (visible.left < -1 || visible.right < -1) op.fail("a window size is below -1");
  }
  if (op.flag("is_causal")) visible.right = 0;
  return visible;
}

// The lengths of the sequences in an external cache (nonpad_kv_seqlen), if known. In causal attention, query i sees key
// j if j ≤ i + offset: the length of the past, 0 without one, or, with an external cache, which already holds the new
// keys, the sequence's length less its queries (onnx, reference/ops/op_attention.py, opsets 23 to 25).
std::optional<std::vector<std::int64_t>> external_lengths(const OpContext& op, const Heads& heads) {
  const auto lengths = op.has_input(kLengths) ? op.integers(kLengths) : std::nullopt;
  if (!lengths || heads.batch != Dim(lengths->size())) return std::nullopt;
  for (const std::int64_t length : *lengths)
    if (length < 0) op.fail(cat("a sequence of length ", length));
  return lengths;
}

// Twice the visible pairs of one head of one sequence of `keys` keys, `offset` of which precede the first query.
Dim twice_visible(const Visibility& visible, const Dim& queries, const Dim& keys, const Dim& offset) {
  if (visible.left < 0 && visible.right < 0) return 2 * queries * keys;
  if (visible.left < 0 && visible.right == 0 && greater_equal(offset, 0) == true)
    return twice_offset_pairs(queries, keys, offset);
  const Dim below =
      visible.right < 0 ? 2 * queries * keys : twice_keys_below(queries, offset + visible.right + 1, keys);
  return visible.left < 0 ? below : below - twice_keys_below(queries, offset - visible.left, keys);
}

// The same over all heads and the whole batch.
Dim twice_pairs(const OpContext& op, const Heads& heads) {
  const Visibility visible = visibility(op);
  if (const auto lengths = external_lengths(op, heads)) {
    Dim pairs = 0;
    for (const std::int64_t length : *lengths)
      pairs += twice_visible(visible, heads.queries, length, Dim(length) - heads.queries);
    return heads.query_heads * pairs;
  }
  const Dim offset = op.has_input(kLengths) ? heads.keys - heads.queries : heads.past;
  return heads.query_heads * heads.batch * twice_visible(visible, heads.queries, heads.total_keys(), offset);
}

// Reads the valid keys and values of an external cache that at least one query sees: with a left window, the window of
// the first query and all rows after it.
void read_external_cache(OpCost& cost, const OpContext& op, const Heads& heads) {
  const Visibility visible = visibility(op);
  const auto seen = [&](const Dim& length) {
    return visible.left < 0 ? length : min(length, heads.queries + visible.left);
  };
  Dim rows = 0;
  if (const auto lengths = external_lengths(op, heads))
    for (const std::int64_t length : *lengths) rows += seen(length);
  else
    rows = heads.batch * seen(heads.keys);
  for (const int side : {kKey, kValue}) {
    const Shape& shape = op.shape(side);
    const Dim row = heads.packed ? shape[2] : shape[1] * shape[3];
    op.read_only(cost, side, byte_size(rows * row, op.element(side)));
  }
}

// If the raw scores are an output, hidden pairs need them too. A bool mask selects; other masks add.
OpCost cost_attention(const OpContext& op) {
  const Heads heads = heads_of(op);
  const bool selects = op.has_input(kMask) && op.element(kMask) == ElementType::Bool;
  const bool raw_scores = op.has_output(kScores) && op.attribute("qk_matmul_output_mode", 0) <= 1;
  const Scores scores{.twice_pairs = twice_pairs(op, heads),
                      .rows = heads.batch * heads.query_heads * heads.queries,
                      .key_size = heads.size,
                      .value_size = heads.value_size,
                      .masks = op.has_input(kMask) ? 1 : 0,
                      .softcap = op.attribute("softcap", 0.0) != 0,
                      .raw_scores = raw_scores ? op.output_elements(kScores) : Dim(0)};
  OpCost cost = op.streamed();
  if (op.has_input(kLengths)) read_external_cache(cost, op, heads);
  // A left window of n keys, plus the query's own key; 0: none, or one beyond any number of keys.
  const std::int64_t left = visibility(op).left;
  const bool is_limited = left >= 0 && left < std::numeric_limits<std::int64_t>::max();
  move_cache(cost, op, {kPastKey, kPastValue}, {kPresentKey, kPresentValue},
             {.past = heads.past,
              .present = heads.total_keys(),
              .total = heads.total_keys(),
              .added = heads.keys,
              .window = is_limited ? left + 1 : 0});
  return std::move(cost) + scores_work(scores) + Work{.comparisons = when(selects, half(scores.twice_pairs))};
}

// --- FlexAttention: as Attention without masks, with graphs that rewrite scores and probabilities; the driver adds
// their work, once per score (Walker::add_modifiers) ---

void infer_flex_attention(OpContext& op) {
  if (op.rank(kQuery) != 4) op.fail(cat("Q has rank ", op.rank(kQuery), ", expected 4"));
  infer_attention(op);
}

// --- RotaryEmbedding ---

void infer_rotary(OpContext& op) {
  if (op.has_shape(0) && op.rank(0) != 3 && op.rank(0) != 4)
    op.fail(cat("X has rank ", op.rank(0), ", expected 3 or 4"));
  for (const int cache : {1, 2}) expect_rank(op, cache, op.has_input(3) ? 2 : 3);
  op.set_output(0, op.input(0));
}

// Each rotated pair takes 4 multiplications, a subtraction and an addition: 3 per rotated element. With position_ids
// only the picked rows of the caches are read.
OpCost cost_rotary(const OpContext& op) {
  const Shape& data = op.shape(0);
  const bool packed = data.size() == 3;
  const Dim heads = packed ? positive_attribute(op, "num_heads") : data[1];
  const Dim size = packed ? head_size(op, data[2], heads) : data[3];
  const Dim tokens = data[0] * (packed ? data[1] : data[2]);
  const std::int64_t partial = op.attribute("rotary_embedding_dim", 0);
  const Dim rotated = partial > 0 ? Dim(partial) : size;
  OpCost cost = op.streamed({0, 3});
  for (const int cache : {1, 2}) {
    const Dim picked = op.has_input(3) ? min(op.elements(cache), tokens * op.shape(cache).back()) : op.elements(cache);
    cost.read(cache, byte_size(picked, op.element(cache)));
  }
  return std::move(cost) + rotary_work(tokens * heads * rotated);
}

// --- TensorScatter ---

// The in-place cache of the standard (onnx Operators.md, TensorScatter-24): past and present are one buffer, of which
// only the update's rows are written.
OpCost cost_tensor_scatter(const OpContext& op) {
  OpCost cost = op.streamed({1, 2});
  op.write_only(cost, 0, op.input_bytes(1));
  return cost;
}

void infer_tensor_scatter(OpContext& op) {
  if (op.has_shape(0) && op.has_shape(1)) {
    const int rank = op.rank(0);
    if (op.rank(1) != rank) op.fail("past_cache and update differ in rank");
    const int axis = normal_axis(op, op.attribute("axis", -2), rank);
    for (int i = 0; i < rank; ++i)
      if (i != axis)
        op.unify(op.shape(0)[static_cast<std::size_t>(i)], op.shape(1)[static_cast<std::size_t>(i)],
                 "past_cache and update");
  }
  op.set_output(0, op.input(0));
}

// --- LinearAttention ---

void infer_linear_attention(OpContext& op) {
  const ElementType state = op.element(op.has_input(3) ? 3 : 0);
  set_element(op, 0, op.element(0));
  set_element(op, 1, state);
  const LinearSizes heads = linear_sizes(op);
  const Dim batch = op.shape(0)[0], tokens = op.shape(0)[1];
  if (op.has_shape(1) && op.rank(1) == 3) {
    op.unify(tokens, op.shape(1)[1], "lengths of query and key");
    op.unify(heads.key_heads * heads.key_size, op.shape(1)[2], "head size of query and key");
  }
  op.set_output(0, op.element(0), {batch, tokens, heads.query_heads * heads.value_size});
  op.set_output(1, state, {batch, heads.key_heads, heads.key_size, heads.value_size});
}

OpCost cost_linear_attention(const OpContext& op) {
  const LinearSizes heads = linear_sizes(op);
  const UpdateRule rule = update_rule(op);
  const Dim decays = rule.gated ? op.elements(4) : Dim(0);
  return op.streamed() + linear_attention_work(rule, heads, heads.query_heads, decays);
}

// clang-format off
constexpr OpRule kAttentionRules[] = {
    // op               infer                   cost                   fold     cost in words
    {"Attention",       infer_attention,        cost_attention,        nullptr, "D + Dv macs, scale, mask, softmax (4 and exp) per visible query-key pair; softcap div, tanh, mul", kAttention.tokens_along(-2).updating(4, 1, 2).with(Gradient::Rule)},
    {"LinearAttention", infer_linear_attention, cost_linear_attention, nullptr, "per token D·Dv macs per query head and 1 or 2 times that per key head; decay D·Dv mul; delta 2·Dv; scale", kAttention.updating(3, 1, 1)},
    {"RotaryEmbedding", infer_rotary,           cost_rotary,           nullptr, "3 per rotated element", kAttention.with(Gradient::Rule)},
    {"TensorScatter",   infer_tensor_scatter,   cost_tensor_scatter,   nullptr, "no arithmetic; reads and writes the new rows", kGathering.tokens_along(-2).updating(0, 0, 1)},
};

constexpr OpRule kPreviewRules[] = {
    // op             infer                 cost            fold     cost in words
    {"FlexAttention", infer_flex_attention, cost_attention, nullptr, "as Attention, and the work of score_mod and prob_mod", kAttention},
};
// clang-format on
static_assert(well_formed(kAttentionRules) && well_formed(kPreviewRules));

}  // namespace

std::span<const OpRule> attention_rules() { return kAttentionRules; }
std::span<const OpRule> preview_rules() { return kPreviewRules; }

}  // namespace pagoda::inline core::ops
