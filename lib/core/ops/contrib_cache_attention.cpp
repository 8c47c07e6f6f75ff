// com.microsoft: attention with grouped heads over key/value caches: contiguous (GroupQueryAttention), block-sparse,
// paged, and with keys that an indexer selects.
#include "ops/attention_work.h"

namespace pagoda::inline core::ops {
namespace {

// Heads of a query [… tokens, hidden] that holds Q alone, or Q, K and V where the key is absent.
struct Grouped {
  Dim query_heads, key_heads, size;
  bool packed;
};

Grouped grouped(const OpContext& op) {
  Grouped heads{positive_attribute(op, "num_heads"), positive_attribute(op, "kv_num_heads"), 0, !op.has_input(1)};
  if (!exact_div(heads.query_heads, heads.key_heads))
    op.fail(
        cat(heads.query_heads.to_string(), " query heads do not share ", heads.key_heads.to_string(), " key heads"));
  const Dim per_token = heads.packed ? heads.query_heads + 2 * heads.key_heads : heads.query_heads;
  heads.size = divided(op, dim_of(op, 0, -1), per_token, "hidden size and heads");
  return heads;
}

bool has_softcap(const OpContext& op) { return op.attribute("softcap", 0.0) != 0; }

// Adds what is done to queries and new keys before the scores: a norm with weights at input `norm`, and a rotation of
// twice as many channels as the table at input `cos` has columns; `tokens` tokens pick rows of the tables.
void prepare(OpCost& cost, const OpContext& op, const Dim& tokens, const Dim& vectors, const Dim& size, int norm,
             int cos) {
  if (op.has_input(norm)) cost += scaled_rms_norm_work(vectors * size, vectors);
  if (op.attribute("do_rotary", 0) == 0) return;
  read_rotary_tables(cost, op, cos, tokens);
  cost += rotary_work(vectors * 2 * dim_of(op, cos, -1));
}

// In a quantised cache, `cached` rows are multiplied by their scale; `added` ones are divided by it, rounded and
// clamped at both ends.
Work cache_quantization_work(const OpContext& op, const Dim& row, const Dim& cached, const Dim& added) {
  if (op.attribute("k_quant_type", "NONE") == "NONE") return {};
  return (Work{.arith = cached} + Work{.arith = 4, .comparisons = 3} * added) * row;
}

// --- GroupQueryAttention ---

enum GroupInput { kPastKey = kValue + 1, kPastValue, kLengths, kTotal, kCos, kSin, kPositions };
enum GroupOption { kScoreBias = kPositions + 1, kSink, kKeyScale, kValueScale, kQueryNorm, kKeyNorm };

Dim new_keys(const OpContext& op) { return dim_of(op, op.has_input(kKey) ? kKey : kQuery, 1); }

bool keeps_window(const OpContext& op) { return op.flag("sliding_window_cache"); }

// Rows of the present: the larger of the past's rows and the total length (one buffer, or a copy that grows), or the
// window's capacity. `total` is empty where it is data, and so is a result that depends on it.
std::optional<Dim> present_rows(const OpContext& op, const Dim& added, const std::optional<Dim>& total) {
  if (total && greater_equal(*total, added) == false)
    op.fail(cat("a total sequence length of ", total->to_string(), " is below the ", added.to_string(), " new keys"));
  if (!op.has_input(kPastKey)) return total ? *total : added;
  const Dim& past = dim_of(op, kPastKey, 2);
  if (keeps_window(op)) return past;
  if (!total) return std::nullopt;
  if (equal(*total, past + added) == true) return *total;
  return max(*total, past);
}

// The cache as inferred. Where the total length is data, every row of the present counts, and a buffer that keeps a
// window is full before the call. In such a buffer `total` goes on counting, as the operator's schema has it, so that
// the rows in use before are the first of the rows that a call sees: min(total − added, window − 1).
Cache group_cache(const OpContext& op) {
  const Dim added = new_keys(op);
  const std::optional<Dim> total = scalar_value(op, kTotal);
  const Dim past = op.has_input(kPastKey) ? dim_of(op, kPastKey, 2) : Dim(0);
  Dim present = past + added;
  if (const auto rows = present_rows(op, added, total))
    present = *rows;
  else if (op.has_output(1))
    present = op.output_shape(1)[2];
  const std::int64_t window = std::max<std::int64_t>(op.attribute("local_window_size", -1), 0);
  const Dim most = keeps_window(op) ? past + added : present;
  return {.past = past,
          .present = present,
          .total = total ? *total : most,
          .added = added,
          .window = window,
          .drops = keeps_window(op)};
}

void infer_present(OpContext& op, const Grouped& heads, int total_input) {
  if (!op.has_output(1) && !op.has_output(2)) return;
  const Shape& query = op.shape(0);
  expect_rank(op, kPastKey, 4);
  const bool has_past = op.has_input(kPastKey);
  const auto rows = present_rows(op, new_keys(op), scalar_value(op, total_input));
  // Two 4-bit elements share a byte.
  const bool packed_nibbles = op.attribute("kv_cache_bit_width", 0) == 4;
  Dim row = packed_nibbles ? ceil_div(heads.size, 2) : heads.size;
  if (has_past) row = op.unify(dim_of(op, kPastKey, 3), row, "size of a cached head");
  const Dim length = rows ? *rows : op.fresh("present_sequence_length", "the total sequence length is data");
  expect_dim(op, kPastKey, 0, query[0], "batch of query and past");
  expect_dim(op, kPastKey, 1, heads.key_heads, "heads of the past");
  for (const int side : {0, 1})
    op.set_output(1 + side, op.element(has_past ? kPastKey + side : 0), {query[0], heads.key_heads, length, row});
}

void infer_group(OpContext& op) {
  set_element(op, 0, op.element(kQuery));
  expect_rank(op, kQuery, 3);
  const Grouped heads = grouped(op);
  const Shape& query = op.shape(kQuery);
  if (!heads.packed) {
    expect_rank(op, {kKey, kValue}, 3);
    expect_dim(op, kKey, 0, query[0], "batch of query and key");
    if (!op.has_input(kPastKey)) expect_dim(op, kKey, 1, query[1], "lengths of query and key");
    expect_dim(op, kKey, -1, heads.key_heads * heads.size, "hidden size of the key and heads");
    expect_dim(op, kValue, -1, heads.key_heads * heads.size, "hidden size of the value and heads");
  }
  const std::optional<Dim> total = scalar_value(op, kTotal);
  if (total && op.flag("causal", true) && greater_equal(*total, query[1]) == false)
    op.fail(cat("a total sequence length of ", total->to_string(), " is below the ", query[1].to_string(), " queries"));
  op.set_output(0, op.element(kQuery), {query[0], query[1], heads.query_heads * heads.size});
  infer_present(op, heads, kTotal);
  if (op.has_output(3))
    op.set_output(3, op.element(kQuery), {query[0], heads.query_heads, query[1], group_cache(op).total});
}

// Twice the pairs of one head over the whole batch: from each sequence's own length if known, else from the longest.
Dim twice_group_pairs(const OpContext& op, const Dim& queries, const Cache& cache) {
  if (!op.flag("causal", true)) return 2 * dim_of(op, kQuery, 0) * queries * cache.total;
  const auto lengths = op.integers(kLengths);  // total − 1
  if (lengths && dim_of(op, kQuery, 0) == Dim(lengths->size()) &&
      std::all_of(lengths->begin(), lengths->end(),
                  [&](std::int64_t length) { return greater_equal(Dim(length) + 1, queries) == true; })) {
    Dim pairs = 0;
    for (const std::int64_t length : *lengths) pairs += twice_causal_pairs(queries, Dim(length) + 1, cache.window);
    return pairs;
  }
  return dim_of(op, kQuery, 0) * twice_causal_pairs(queries, cache.total, cache.window);
}

OpCost cost_group(const OpContext& op) {
  const Grouped heads = grouped(op);
  const Shape& query = op.shape(kQuery);
  const Dim& queries = query[1];
  const Cache cache = group_cache(op);
  OpCost cost = op.streamed({kQuery, kKey, kValue, kPastKey, kPastValue, kLengths, kPositions, kScoreBias, kSink,
                             kKeyScale, kValueScale, kQueryNorm, kKeyNorm});
  move_cache(cost, op, {kPastKey, kPastValue}, {1, 2}, cache);
  const Dim vectors = query[0] * (queries * heads.query_heads + cache.added * heads.key_heads);
  prepare(cost, op, query[0] * queries, vectors, heads.size, kQueryNorm, kCos);
  cost += cache_quantization_work(op, 2 * query[0] * heads.key_heads * heads.size, cache.read(), cache.added);
  const bool sink = op.has_input(kSink) || op.attribute("smooth_softmax", -1) == 1;
  const bool raw = op.has_output(3) && op.attribute("qk_output", 0) == 1;
  return std::move(cost) + scores_work({.twice_pairs = heads.query_heads * twice_group_pairs(op, queries, cache),
                                        .rows = query[0] * heads.query_heads * queries,
                                        .key_size = heads.size,
                                        .value_size = heads.size,
                                        .masks = op.has_input(kScoreBias) ? 1 : 0,
                                        .softcap = has_softcap(op),
                                        .sink = sink,
                                        .raw_scores = raw ? op.output_elements(3) : Dim(0)});
}

// --- SparseAttention: causal, restricted to the blocks of a mask in compressed sparse rows ---

void infer_sparse(OpContext& op) {
  set_element(op, 0, op.element(0));
  expect_rank(op, 0, 3);
  const Grouped heads = grouped(op);
  const Shape& query = op.shape(0);
  positive_attribute(op, "sparse_block_size");
  op.set_output(0, op.element(0), {query[0], query[1], heads.query_heads * heads.size});
  op.set_output(1, op.input(3));
  op.set_output(2, op.input(4));
}

// Visible pairs of one head under layout `layout`: whole blocks before the query's own, the causal part of its own.
Dim layout_pairs(const OpContext& op, std::int64_t layout, std::int64_t queries, std::int64_t total) {
  constexpr std::int64_t kMaxQueries = 1 << 16;  // longer sequences are not walked query by query
  const auto rows = op.integers(5);
  const auto columns = op.integers(6);
  if (!rows || !columns || queries > kMaxQueries) op.unknown("which blocks are visible is not known");
  const std::int64_t row_stride = dim_of(op, 5, 1).value64().value_or(0);
  const std::int64_t column_stride = dim_of(op, 6, 1).value64().value_or(0);
  const std::int64_t block = op.required_integer("sparse_block_size");
  if (dim_of(op, 6, 0) != dim_of(op, 5, 0)) op.fail("row and column indices differ in layouts");
  Dim pairs = 0;
  for (std::int64_t position = total - queries; position < total; ++position) {
    const std::int64_t own = position / block;
    if (own + 1 >= row_stride) op.fail(cat("position ", position, " lies outside the block mask"));
    const auto row = rows->begin() + layout * row_stride + own;
    std::int64_t visible = 0;
    for (std::int64_t i = row[0]; i < row[1] && i >= 0 && i < column_stride; ++i) {
      const std::int64_t column = (*columns)[static_cast<std::size_t>(layout * column_stride + i)];
      if (column < own) visible += block;
      if (column == own) visible += position % block + 1;
    }
    pairs += visible;
  }
  return pairs;
}

OpCost cost_sparse(const OpContext& op) {
  const Grouped heads = grouped(op);
  const Shape& query = op.shape(0);
  const std::optional<Dim> total = scalar_value(op, 7);
  const auto queries = query[1].value64();
  const auto layouts = dim_of(op, 5, 0).value64();
  if (!total || !total->value64() || !queries || !layouts || *layouts < 1)
    op.unknown("the visible blocks of a symbolic length have no closed count");
  const std::int64_t keys = *total->value64();
  if (*queries < 0 || keys < *queries) op.fail("the total sequence length is below the query's");
  Dim pairs = 0;
  for (std::int64_t layout = 0; layout < *layouts; ++layout) pairs += layout_pairs(op, layout, *queries, keys);
  OpCost cost = op.streamed({0, 1, 2, 3, 4, 5, 6, 8});
  const Cache cache{.past = dim_of(op, 3, 2), .present = dim_of(op, 3, 2), .total = keys, .added = *queries};
  move_cache(cost, op, {3, 4}, {1, 2}, cache);
  const Dim tokens = query[0] * query[1];
  prepare(cost, op, tokens, tokens * (heads.query_heads + heads.key_heads), heads.size, -1, 9);
  const Dim heads_per_layout = divided(op, heads.query_heads, *layouts, "heads and layouts");
  return std::move(cost) + scores_work({.twice_pairs = 2 * query[0] * heads_per_layout * pairs,
                                        .rows = query[0] * heads.query_heads * query[1],
                                        .key_size = heads.size,
                                        .value_size = heads.size});
}

// --- PagedAttention: tokens of several sequences without padding, a cache in blocks ---

Dim paged_value_size(const OpContext& op, const Grouped& heads) {
  const std::int64_t size = op.attribute("v_head_size", 0);
  return size > 0 ? Dim(size) : heads.size;
}

void infer_paged(OpContext& op) {
  set_element(op, 0, op.element(0));
  expect_rank(op, 0, 2);
  const Grouped heads = grouped(op);
  op.set_output(0, op.element(0), {dim_of(op, 0, 0), heads.query_heads * paged_value_size(op, heads)});
  op.set_output(1, op.input(3));
  if (op.has_output(2)) op.set_output(2, op.input(4));
  if (!op.integers(5) || !op.integers(6))
    op.note("the lengths of the sequences are data: tokens are shared evenly, and each sequence needs all its pages");
}

struct PagedPairs {
  Dim twice;   // twice the pairs of one head, over all sequences
  Dim cached;  // past rows that at least one query sees
};

// If the lengths of all sequences are known: the sum of their pairs. If they are data: the tokens are divided evenly
// among the sequences of the block table [sequences, pages]; each sequence needs all its pages and so has at least
// (pages − 1)·(tokens per page) + 1 keys, new ones included.
PagedPairs paged_pairs(const OpContext& op) {
  const std::int64_t window = std::max<std::int64_t>(op.attribute("local_window_size", -1), 0);
  const bool causal = op.flag("is_causal", true);
  if (!causal && window > 0) op.unknown("a window without a causal mask is not counted");
  const auto pairs_of = [&](const Dim& queries, const Dim& keys) {
    return causal ? twice_causal_pairs(queries, keys, window) : 2 * queries * keys;
  };
  const auto seen = [&](const Dim& past) { return window > 0 ? min(past, window - 1) : past; };
  const auto bounds = op.integers(5);
  const auto past = op.integers(6);
  PagedPairs pairs;
  if (!bounds || !past || bounds->size() != past->size() + 1) {
    const Dim& sequences = dim_of(op, 7, 0);
    const Dim queries = divided(op, dim_of(op, 0, 0), sequences, "tokens and sequences");
    const Dim keys = max(dim_of(op, 3, 1) * (dim_of(op, 7, 1) - 1) + 1, queries);
    return {.twice = sequences * pairs_of(queries, keys), .cached = sequences * seen(keys - queries)};
  }
  for (std::size_t i = 0; i < past->size(); ++i) {
    const std::int64_t queries = (*bounds)[i + 1] - (*bounds)[i];
    if (queries < 0 || (*past)[i] < 0) op.fail(cat("sequence ", i, " has a negative length"));
    pairs.twice += pairs_of(queries, (*past)[i] + queries);
    pairs.cached += seen((*past)[i]);
  }
  return pairs;
}

// Reads the visible past rows of the cache and writes the new rows.
OpCost cost_paged(const OpContext& op) {
  const Grouped heads = grouped(op);
  const Dim value_size = paged_value_size(op, heads);
  const auto [twice, cached] = paged_pairs(op);
  const Dim& tokens = dim_of(op, 0, 0);
  OpCost cost = op.streamed({0, 1, 2, 5, 6, 7, 10, 11, 12, 13, 14, 15});
  for (const int side : {3, 4}) {
    if (!op.has_input(side)) continue;
    const Dim row = dim_of(op, side, 2) * dim_of(op, side, 3);
    cost.read(side, byte_size(cached * row, op.element(side)));
    const Dim added = byte_size(tokens * row, op.element(side));
    if (op.has_output(side - 2))
      op.write_only(cost, side - 2, added);
    else  // in place
      cost.write(side - 2, added);
  }
  prepare(cost, op, tokens, tokens * (heads.query_heads + heads.key_heads), heads.size, 12, 8);
  const bool is_latent = op.attribute("kv_cache_layout", "SEPARATE") == "LATENT";
  cost += cache_quantization_work(op, (is_latent ? 1 : 2) * heads.key_heads * heads.size, cached, tokens);
  return std::move(cost) + scores_work({.twice_pairs = heads.query_heads * twice,
                                        .rows = tokens * heads.query_heads,
                                        .key_size = heads.size,
                                        .value_size = value_size,
                                        .softcap = has_softcap(op),
                                        .sink = op.has_input(11)});
}

// --- attention over selected keys ---

void infer_dynamic_sparse(OpContext& op) {
  set_element(op, 0, op.element(0));
  expect_rank(op, 0, 3);
  const Grouped heads = grouped(op);
  op.set_output(0, op.element(0), {dim_of(op, 0, 0), dim_of(op, 0, 1), heads.query_heads * heads.size});
  infer_present(op, heads, 10);
}

OpCost cost_selected(const OpContext& op) { op.unknown("how many keys each query selects is data"); }

// Capacity of the list of selected entries, from attributes alone.
Dim selected_capacity(const OpContext& op) {
  const std::string_view policy = op.attribute("policy_mode", "");
  if (policy == "qsa") return positive_attribute(op, "token_budget") + positive_attribute(op, "compress_ratio") - 1;
  if (policy == "csa") return positive_attribute(op, "index_topk");
  op.fail(cat("policy_mode is '", policy, "', expected qsa or csa"));
}

// query [B, S, …], past_key [B, P, D]. Tokens are compressed `ratio` at a time. The remainder stays in a buffer, which
// also keeps the last complete window: b buffered and S new tokens give ⌊(b + S)/ratio⌋ − ⌊b/ratio⌋ new entries.
void infer_indexer(OpContext& op) {
  expect_rank(op, {0, 7}, 3);
  const Shape& query = op.shape(0);
  op.set_output(0, ElementType::Int32, {query[0], query[1], selected_capacity(op)});
  Shape present = op.shape(7);
  const bool compresses = op.attribute("policy_mode", "") == "csa";
  const Dim ratio = positive_attribute(op, "compress_ratio");
  const Dim buffered = op.has_input(13) ? dim_of(op, 13, 2) : Dim(0);
  const Dim seen = buffered + query[1];
  if (!op.has_input(12)) present[1] += compresses ? floor_div(seen, ratio) - floor_div(buffered, ratio) : query[1];
  op.set_output(1, op.element(7), present);
  if (!op.has_output(2)) return;
  const Dim left = seen - ratio * floor_div(seen, ratio) + ratio * min(1, floor_div(seen, ratio));
  op.set_output(2, op.element(0), {Dim(2), query[0], left, 2 * present[2]});
}

void infer_packed_indexer(OpContext& op) {
  expect_rank(op, 0, 2);
  const Dim& tokens = dim_of(op, 0, 0);
  op.set_output(0, ElementType::Int32, {tokens, selected_capacity(op)});
  op.set_output(1, ElementType::Int32, {tokens});
  op.set_output(2, op.input(12));
  op.set_output(3, op.input(13));
  if (op.has_output(4)) op.set_output(4, op.input(14));
  op.set_output(5, op.input(15));
  if (op.has_output(6))
    op.set_output(6, op.element(0),
                  {dim_of(op, 12, 0), Dim(op.attribute("state_update_capacity", 0)), dim_of(op, 12, 2)});
}

OpCost cost_indexer(const OpContext& op) {
  op.unknown("which entries a query scores depends on masks and lengths, which are data");
}

// clang-format off
constexpr OpRule kContribCacheAttentionRules[] = {
    // op                            infer                 cost           fold     cost in words
    {"DynamicSparseAttention",       infer_dynamic_sparse, cost_selected, nullptr, "not known: the number of selected keys is data", kAttention.updating(3, 1, 2)},
    {"GroupQueryAttention",          infer_group,          cost_group,    nullptr, "2·D macs, scale, masks, softmax (4 and exp) per visible pair; rotary 3, norm 4, cache scales per element", kAttention.tokens_along(-2).updating(3, 1, 2)},
    {"PackedSparseAttentionIndexer", infer_packed_indexer, cost_indexer,  nullptr, "not known: visible entries are data", kAttention},
    {"PagedAttention",               infer_paged,          cost_paged,    nullptr, "as GroupQueryAttention over each sequence; where lengths are data, over alike sequences that fill their pages", kAttention.updating(3, 1, 2, true)},
    {"SparseAttention",              infer_sparse,         cost_sparse,   nullptr, "as GroupQueryAttention over the visible blocks", kAttention.updating(3, 1, 2)},
    {"SparseAttentionIndexer",       infer_indexer,        cost_indexer,  nullptr, "not known: visible entries are data", kAttention},
    {"SparsePagedAttention",         infer_paged,          cost_selected, nullptr, "not known: the number of selected keys is data", kAttention.updating(3, 1, 2, true)},
};
// clang-format on
static_assert(well_formed(kContribCacheAttentionRules));

}  // namespace

std::span<const OpRule> contrib_cache_attention_rules() { return kContribCacheAttentionRules; }

}  // namespace pagoda::inline core::ops
