// com.microsoft: attention with its projections fused in (Attention, QAttention …), attention over projected heads
// (MultiHeadAttention, DecoderMaskedMultiHeadAttention …), and both over sequences packed without padding. Grouped
// heads and paged caches are in contrib_cache_attention.cpp.
#include "ops/attention_work.h"

namespace pagoda::inline core::ops {
namespace {

// A mask of rank 1 holds lengths; any other is added to the scores.
int masks_added(const OpContext& op, int mask, int attention_bias) {
  const bool adds = op.has_input(mask) && op.rank(mask) > 1;
  return (adds ? 1 : 0) + (op.has_input(attention_bias) ? 1 : 0);
}

bool shares_buffer(const OpContext& op) { return op.flag("past_present_share_buffer"); }

// Twice the pairs over all heads and sequences. A causal mask aligns queries with the keys that are not cached.
Dim twice_pairs(const OpContext& op, const Dim& sequences, const Dim& queries, const Cache& cache) {
  return sequences * (op.flag("unidirectional") ? twice_offset_pairs(queries, cache.total, cache.valid())
                                                : 2 * queries * cache.total);
}

struct HeadSizes {
  Dim batch, queries, heads, query_size, value_size;
  Cache cache;
};

// Scores of every head and sequence.
Work scores_work_of(const OpContext& op, const HeadSizes& sizes, int masks) {
  const Dim sequences = sizes.batch * sizes.heads;
  return scores_work({.twice_pairs = twice_pairs(op, sequences, sizes.queries, sizes.cache),
                      .rows = sequences * sizes.queries,
                      .key_size = sizes.query_size,
                      .value_size = sizes.value_size,
                      .masks = masks});
}

// The cache for a past of `past_rows` rows. An input gives a shared buffer's rows in use; if it is data, all count.
Cache cache_of(const OpContext& op, const Dim& past_rows, const Dim& added, bool shared, int past_length) {
  if (!shared) return {.past = past_rows, .present = past_rows + added, .total = past_rows + added, .added = added};
  const std::optional<Dim> valid = scalar_value(op, past_length);
  return {.past = past_rows, .present = past_rows, .total = valid ? *valid + added : past_rows, .added = added};
}

// --- Attention, QAttention, DecoderMaskedSelfAttention: input [B, S, I], weights [I, Hq + Hk + Hv] ---

struct ProjectedInputs {
  int mask, past, attention_bias, past_length;
};
constexpr ProjectedInputs kAttentionInputs = {.mask = 3, .past = 4, .attention_bias = 5, .past_length = 6};
constexpr ProjectedInputs kQAttentionInputs = {.mask = 5, .past = 8, .attention_bias = -1, .past_length = -1};

struct Projected : HeadSizes {
  Dim input_size, columns;
};

Projected projected(const OpContext& op, const ProjectedInputs& inputs) {
  Projected result;
  const Shape& data = shape_of(op, 0, 3);
  expect_rank(op, 1, 2);
  result.batch = data[0];
  result.queries = data[1];
  result.input_size = dim_of(op, 1, 0).is_constant() ? dim_of(op, 1, 0) : data[2];
  result.columns = dim_of(op, 1, 1);
  result.heads = positive_attribute(op, "num_heads");
  const HiddenSizes hidden = hidden_sizes(op);
  result.query_size = divided(op, hidden.query, result.heads, "hidden size and heads");
  result.value_size = divided(op, hidden.value, result.heads, "hidden size of V and heads");
  expect_rank(op, inputs.past, 5);
  const bool has_past = op.has_input(inputs.past);
  result.cache = cache_of(op, has_past ? dim_of(op, inputs.past, 3) : Dim(0), result.queries,
                          has_past && shares_buffer(op), inputs.past_length);
  return result;
}

// ONNX Runtime 1.32 uses V's head size for K in the present, too (observed with different qkv_hidden_sizes), and
// rejects a past with such sizes.
template <ProjectedInputs Inputs, int Typed>
void infer_projected(OpContext& op) {
  const ElementType element = op.element(Typed);
  set_element(op, 0, element);
  const Projected sizes = projected(op, Inputs);
  op.unify(dim_of(op, 0, 2), dim_of(op, 1, 0), "input size of data and weights");
  if (op.has_shape(2)) op.unify(dim_of(op, 2, -1), sizes.columns, "columns of weights and bias");
  if (op.has_shape(Inputs.past)) {
    op.unify(dim_of(op, Inputs.past, 1), sizes.batch, "batch of input and past");
    op.unify(dim_of(op, Inputs.past, 2), sizes.heads, "heads of the past");
    op.unify(sizes.query_size, sizes.value_size, "with a past, the sizes of the heads of K and V");
  }
  op.set_output(0, element, {sizes.batch, sizes.queries, sizes.heads * sizes.value_size});
  op.set_output(1, element, {Dim(2), sizes.batch, sizes.heads, sizes.cache.present, sizes.value_size});
}

// One product with the weights for Q, K and V, its bias, then the scores. Rotary angles (mul, sin, cos) are computed
// once per position and pair.
template <ProjectedInputs Inputs>
OpCost cost_projected(const OpContext& op) {
  const Projected sizes = projected(op, Inputs);
  const Dim tokens = sizes.batch * sizes.queries;
  OpCost cost = op.streamed();
  move_cache(cost, op, {Inputs.past}, {1}, sizes.cache);
  cost += Work{.arith = op.has_input(2) ? 1 : 0, .macs = sizes.input_size} * (tokens * sizes.columns);
  if (op.flag("do_rotary")) {
    const std::int64_t partial = op.attribute("rotary_embedding_dim", 0);
    const Dim rotated = partial > 0 ? Dim(partial) : sizes.query_size;
    cost += rotary_work(2 * tokens * sizes.heads * rotated);
    cost += Work{.arith = half(sizes.queries * rotated), .special = sizes.queries * rotated};
  }
  return std::move(cost) + scores_work_of(op, sizes, masks_added(op, Inputs.mask, Inputs.attention_bias));
}

// The projection is in integers: a subtraction per element of an operand with a zero point, then one multiplication by
// the combined scale per element. Scores are in floating point.
OpCost cost_q_attention(const OpContext& op) {
  const Projected sizes = projected(op, kQAttentionInputs);
  const Work scaling = {.arith = op.elements(4) + sizes.batch * sizes.queries * sizes.columns};
  return in_precision(ElementType::Int8, cost_projected<kQAttentionInputs>(op)) + zero_point_work(op, 0, 6) +
         zero_point_work(op, 1, 7) + scaling;
}

// --- QOrderedAttention: separate weights for Q, K and V, everything int8 ---

Shape q_ordered_attention_shape(OpContext& op) {
  const Shape& data = shape_of(op, 0, 3);
  for (const int weight : {5, 6, 7}) {
    expect_rank(op, weight, 2);
    expect_dim(op, weight, 0, data[2], "input size of data and weights");
  }
  return {data[0], data[1], dim_of(op, 7, 1)};
}

// As Attention; every result of a product is also scaled, rounded and clamped at both ends.
OpCost cost_q_ordered_attention(const OpContext& op) {
  if (op.has_input(18)) op.unknown("a past state is not defined for this operator yet");
  const Shape& data = op.shape(0);
  const Dim heads = positive_attribute(op, "num_heads");
  const Dim tokens = data[0] * data[1];
  const Dim columns = dim_of(op, 5, 1) + dim_of(op, 6, 1) + dim_of(op, 7, 1);
  const Dim sequences = data[0] * heads;
  const Dim twice =
      twice_pairs(op, sequences, data[1], {.past = 0, .present = data[1], .total = data[1], .added = data[1]});
  return int8_cost(op) + Work{.arith = 1, .macs = data[2]} * (tokens * columns) +
         requantize_work() * (tokens * columns + twice + op.output_elements(0)) +
         scores_work({.twice_pairs = twice,
                      .rows = sequences * data[1],
                      .key_size = divided(op, dim_of(op, 5, 1), heads, "hidden size and heads"),
                      .value_size = divided(op, dim_of(op, 7, 1), heads, "hidden size of V and heads"),
                      .masks = masks_added(op, 17, 19)});
}

// --- MultiHeadAttention, DecoderMaskedMultiHeadAttention ---

struct HeadInputs {
  int bias, mask, attention_bias, past_key, past_length;
  bool states_sharing;  // an attribute says if past and present share a buffer; else a given past length implies it
};
constexpr HeadInputs kMultiHeadInputs = {3, 4, 5, 6, 8, false};
constexpr HeadInputs kDecoderInputs = {10, 3, 4, 5, 7, true};

struct Heads : HeadSizes {
  Dim keys;
  Dim biased;  // elements of the projections that get a bias
};

Heads heads_of(const OpContext& op, const HeadInputs& inputs) {
  const Shape& query = op.shape(0);
  const bool has_key = op.has_input(1);
  if (query.size() != 3 && !(query.size() == 5 && !has_key))
    op.fail(cat("the query has rank ", query.size(), ", expected 3, or 5 for packed Q, K and V"));
  Heads sizes;
  sizes.batch = query[0];
  sizes.queries = sizes.keys = query[1];
  sizes.heads = positive_attribute(op, "num_heads");
  if (query.size() == 5) {
    sizes.query_size = sizes.value_size = query[4];
  } else if (!has_key) {
    sizes.query_size = sizes.value_size = divided(op, query[2], 3 * sizes.heads, "packed hidden size and heads");
  } else {
    sizes.query_size = sizes.value_size = divided(op, query[2], sizes.heads, "hidden size and heads");
    const Shape& key = op.shape(1);
    if (key.size() < 3 || key.size() > 5) op.fail(cat("the key has rank ", key.size(), ", expected 3, 4 or 5"));
    sizes.keys = key[key.size() == 4 ? 2 : 1];
    if (key.size() == 3) sizes.value_size = divided(op, dim_of(op, 2, -1), sizes.heads, "hidden size of V and heads");
    if (key.size() == 4) sizes.value_size = dim_of(op, 2, -1);
  }
  // A key of rank 4 is a cache filled by an earlier step; it already includes its bias.
  const bool key_biased = !has_key || op.rank(1) != 4;
  sizes.biased = sizes.batch * sizes.heads * sizes.queries * sizes.query_size;
  if (key_biased) sizes.biased += sizes.batch * sizes.heads * sizes.keys * (sizes.query_size + sizes.value_size);
  expect_rank(op, inputs.past_key, 4);
  const bool has_past = op.has_input(inputs.past_key);
  const bool shared = has_past && (inputs.states_sharing ? shares_buffer(op) : op.has_input(inputs.past_length));
  sizes.cache =
      cache_of(op, has_past ? dim_of(op, inputs.past_key, 2) : Dim(0), sizes.keys, shared, inputs.past_length);
  return sizes;
}

template <HeadInputs Inputs>
void infer_heads(OpContext& op) {
  set_element(op, 0, op.element(0));
  const Heads sizes = heads_of(op, Inputs);
  if (op.has_shape(1)) {
    op.unify(dim_of(op, 1, 0), sizes.batch, "batch of query and key");
    if (op.rank(1) == 3) op.unify(dim_of(op, 1, 2), sizes.heads * sizes.query_size, "hidden size of query and key");
    if (op.rank(1) == 4) op.unify(dim_of(op, 1, 3), sizes.query_size, "head size of query and key");
  }
  expect_dim(op, Inputs.past_key, 0, sizes.batch, "batch of query and past");
  expect_dim(op, Inputs.past_key, 1, sizes.heads, "heads of the past");
  const ElementType element = op.element(0);
  op.set_output(0, element, {sizes.batch, sizes.queries, sizes.heads * sizes.value_size});
  op.set_output(1, element, {sizes.batch, sizes.heads, sizes.cache.present, sizes.query_size});
  op.set_output(2, element, {sizes.batch, sizes.heads, sizes.cache.present, sizes.value_size});
  op.set_output(3, element, {sizes.batch, sizes.heads, sizes.queries, sizes.cache.total});
}

template <HeadInputs Inputs>
OpCost cost_heads(const OpContext& op) {
  const Heads sizes = heads_of(op, Inputs);
  OpCost cost = op.streamed();
  move_cache(cost, op, {Inputs.past_key, Inputs.past_key + 1}, {1, 2}, sizes.cache);
  return std::move(cost) + Work{.arith = when(op.has_input(Inputs.bias), sizes.biased)} +
         scores_work_of(op, sizes, masks_added(op, Inputs.mask, Inputs.attention_bias));
}

// --- DecoderAttention: query [S, B, H], key [T, B, H]; flags say what is projected and what comes from the cache ---

struct DecoderFlags {
  bool cross, cached;
};

DecoderFlags decoder_flags(const OpContext& op) {
  const auto static_kv = flag_value(op, 8);
  const auto use_past = flag_value(op, 9);
  const auto has_state = flag_value(op, 10);
  if (!static_kv || !use_past || !has_state) op.unknown("static_kv, use_past and has_layer_state are data");
  return {*static_kv, *use_past && *has_state};
}

// Number of keys. Cross attention: those of the cache, else the projected ones. Otherwise: the cache's and the query's.
Dim decoder_keys(const OpContext& op, const DecoderFlags& flags) {
  const Dim cached = flags.cached ? dim_of(op, 6, 2) : Dim(0);
  if (flags.cross) return flags.cached ? cached : dim_of(op, 1, 0);
  return cached + dim_of(op, 0, 0);
}

void infer_decoder_attention(OpContext& op) {
  op.set_output(0, op.input(0));
  const Shape& query = shape_of(op, 0, 3);
  const Dim heads = positive_attribute(op, "num_heads");
  const Dim size = divided(op, query[2], heads, "hidden size and heads");
  if (!op.has_output(1) && !op.has_output(2)) return;
  const Shape cache = {query[1], heads, decoder_keys(op, decoder_flags(op)), size};
  for (const int output : {1, 2}) op.set_output(output, op.element(0), cache);
}

OpCost cost_decoder_attention(const OpContext& op) {
  const DecoderFlags flags = decoder_flags(op);
  const Shape& query = op.shape(0);
  const Dim heads = positive_attribute(op, "num_heads");
  const Dim& hidden = query[2];
  const Dim size = divided(op, hidden, heads, "hidden size and heads");
  const Dim tokens = query[0] * query[1];
  const Dim projected_keys = flags.cross ? (flags.cached ? Dim(0) : dim_of(op, 1, 0) * query[1]) : tokens;
  const Dim columns = tokens * hidden + 2 * projected_keys * hidden;
  std::vector<int> read = {0, 2, 4, 5, 8, 9, 10, 11};
  if (flags.cached) read.insert(read.end(), {6, 7});
  if (!(flags.cross && flags.cached)) read.push_back(3);
  if (flags.cross && !flags.cached) read.push_back(1);
  const Dim sequences = query[1] * heads;
  const bool padded = op.has_input(5) && flag_value(op, 11).value_or(true);
  return op.streamed(read) + Work{.arith = columns, .macs = columns * hidden} +
         scores_work({.twice_pairs = 2 * sequences * query[0] * decoder_keys(op, flags),
                      .rows = sequences * query[0],
                      .key_size = size,
                      .value_size = size,
                      .masks = padded ? 1 : 0});
}

// --- position biases ---

// bias_table [buckets, heads], query_length, key_length → [1, heads, queries, keys].
Shape relative_bias_shape(OpContext& op) {
  expect_rank(op, 0, 2);
  const Dim queries = size_argument(op, 1, "query_length");
  const Dim keys = size_argument(op, 2, "key_length");
  return {Dim(1), dim_of(op, 0, 1), queries, keys};
}

// The bucket depends on the distance alone; each of the queries + keys − 1 distances takes a division, a log, a
// multiplication and two comparisons. Elements are picked from the table.
OpCost cost_relative_bias(const OpContext& op) {
  const Shape& output = op.output_shape(0);
  const Dim distances = when(op.output_elements(0) != Dim(0), output[2] + output[3] - 1);
  return op.streamed({0}) + Work{.arith = 4, .special = 1, .comparisons = 2} * distances;
}

// query [B, S, N·D] or packed [tokens, N·D], weight [D, E] → [B, N, S, S].
Shape gated_tokens(const OpContext& op) {
  const Shape& query = op.shape(0);
  if (query.size() == 3) return {query[0], query[1]};
  if (!op.has_input(6)) op.fail("a packed query needs token_offset");
  return shape_of(op, 6, 2);
}

Shape gated_bias_shape(OpContext& op) {
  const Shape tokens = gated_tokens(op);
  const Dim heads = positive_attribute(op, "num_heads");
  expect_rank(op, 2, 4);
  return {tokens[0], heads, tokens[1], tokens[1]};
}

// Per token and head: query bias (D), a product with the weight (D·E macs) and its bias (E), two sums of E/2, two
// sigmoids, u·(r·a − 1) + 2 (4); per output element a multiplication with the relative bias.
OpCost cost_gated_bias(const OpContext& op) {
  const Shape& weight = shape_of(op, 3, 2);
  const Dim heads = positive_attribute(op, "num_heads");
  const Shape& query = op.shape(0);
  const Dim vectors = row_count(query) * heads;
  return op.streamed() +
         Work{.arith = op.elements(0) + vectors * (weight[1] + weight[1] - 2 + 4) + op.output_elements(0),
              .special = 2 * vectors,
              .macs = vectors * weight[0] * weight[1]};
}

// --- Longformer: a window of neighbours, and a few tokens that see and are seen by all ---

void infer_longformer(OpContext& op) {
  expect_rank(op, 0, 3);
  positive_attribute(op, "window");
  op.set_output(0, op.input(0));
}

OpCost cost_longformer(const OpContext& op) { op.unknown("which tokens attend globally is data"); }

// --- sequences of a batch packed without padding. Only the cumulative lengths give the length of each sequence:
// without them, pairs are known only for a single sequence, or if no token was padding ---

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

// tokens [T, H], offsets [B, S] → [B, S, H].
Shape restore_padding_shape(OpContext& op) {
  expect_rank(op, {0, 1}, 2);
  const Shape& offsets = op.shape(1);
  return {offsets[0], offsets[1], dim_of(op, 0, 1)};
}

// clang-format off
constexpr OpRule kContribAttentionRules[] = {
    // op                           infer                                 cost                              fold     cost in words
    {"Attention",                   infer_projected<kAttentionInputs, 0>, cost_projected<kAttentionInputs>, nullptr, "projection I·(Hq + Hk + Hv) macs and bias per token; D + Dv macs, scale, masks, softmax (4 and exp) per visible pair", kAttention.tokens_along(-2).updating(4, 1, 1).reads({{}, WeightUse::Weight, WeightUse::Additive})},
    {"DecoderAttention",            infer_decoder_attention,              cost_decoder_attention,           nullptr, "projections of the query and of keys that are not cached; then as Attention", kAttention},
    {"DecoderMaskedMultiHeadAttention", infer_heads<kDecoderInputs>,          cost_heads<kDecoderInputs>,       nullptr, "as MultiHeadAttention", kAttention.tokens_along(-2).updating(5, 1, 2)},
    {"DecoderMaskedSelfAttention",  infer_projected<kAttentionInputs, 0>, cost_projected<kAttentionInputs>, nullptr, "as Attention", kAttention.tokens_along(-2).updating(4, 1, 1)},
    {"GatedRelativePositionBias",   shaped<gated_bias_shape>,             cost_gated_bias,                  nullptr, "per token and head D·E macs, D + 2·E + 2, 2 sigmoid; 1 mul per output element", kAttention},
    {"LongformerAttention",         infer_longformer,                     cost_longformer,                  nullptr, "not known: which tokens attend globally is data", kAttention},
    {"MultiHeadAttention",          infer_heads<kMultiHeadInputs>,        cost_heads<kMultiHeadInputs>,     nullptr, "bias per element; D + Dv macs, scale, masks, softmax (4 and exp) per visible pair", kAttention.tokens_along(-2).updating(6, 1, 2)},
    {"PackedAttention",             shaped<packed_shape>,                 cost_packed,                      nullptr, "projection and bias per token; as Attention over each sequence where the lengths are known", kAttention},
    {"PackedMultiHeadAttention",    shaped<packed_heads_shape>,           cost_packed_heads,                nullptr, "as MultiHeadAttention over each sequence where the lengths are known", kAttention},
    {"QAttention",                  infer_projected<kQAttentionInputs, 3>, cost_q_attention,                 nullptr, "as Attention with int8 projections; zero points per operand element, scale per element", kAttention.tokens_along(-2).updating(8, 1, 1)},
    {"QOrderedAttention",           shaped<q_ordered_attention_shape>,    cost_q_ordered_attention,         nullptr, "as Attention; scale, round, 2 clamps per projection, score, probability and output element", kAttention},
    {"QOrderedLongformerAttention", infer_longformer,                     cost_longformer,                  nullptr, "not known: which tokens attend globally is data", kAttention},
    {"RelativePositionBias",        shaped<relative_bias_shape>,          cost_relative_bias,               nullptr, "4 and log per distance; elements picked from the table", kAttention},
    {"RemovePadding",               infer_remove_padding,                 cost_picked_by,                   nullptr, "no arithmetic; reads the tokens that it keeps", kGathering.with(Gradient::Unmodelled)},
    {"RestorePadding",              shaped<restore_padding_shape>,        cost_move,                        nullptr, "no arithmetic; reads the tokens, writes all rows", kGathering.with(Gradient::Unmodelled)},
};
// clang-format on
static_assert(well_formed(kContribAttentionRules));

}  // namespace

std::span<const OpRule> contrib_attention_rules() { return kContribAttentionRules; }

}  // namespace pagoda::inline core::ops
