// Counting attention: pairs, scores, cache rows.
#include "ops/attention_work.h"

#include <algorithm>

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
  if (scores.softcap) work = work + Work{.arith = 2, .special = 1} * scored;
  if (scores.sink) work = work + Work{.arith = 3, .special = 1, .comparisons = 1} * scores.rows;
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

}  // namespace pagoda::inline core::ops
