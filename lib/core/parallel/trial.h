// A trial pushes the split of one product forward until every path ends in a product that contracts it. What a trial
// learns about heads starts it anew; what it cannot place discards it, and the product stays whole.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/index.h"
#include "parallel/rules.h"
#include "parallel/split.h"

namespace pagoda::inline core {

// What the search asks of the graph again and again.
class GraphLookup {
 public:
  GraphLookup(const Model& model, const Analysis& analysis);

  const Shape* shape(ValueId value) const {
    const auto& known = analysis_.types[index(value)].shape;
    return known ? &*known : nullptr;
  }
  const std::string& name(std::int32_t node) const { return display_name(graph, graph.node(node)); }

  // A product of an activation with a weight.
  std::optional<WeightProduct> product(std::int32_t node) const;

  const Graph& graph;
  std::vector<std::int32_t> producer;
  std::vector<std::vector<std::int32_t>> readers;
  std::vector<const NodeReport*> rows;
  std::vector<bool> is_constant;
  std::set<ValueId> outputs, pasts, presents;

 private:
  const Analysis& analysis_;
};

// Thrown inside a trial: it ends here, and begins anew where `origin` is one.
struct TrialStop {
  std::string reason;
  ValueId origin = kAbsent;
  Part part = {};
  bool is_final = false;  // no other start helps: heads cannot be shared out
};

class Trial {
 public:
  Trial(const GraphLookup& lookup, Split& done, Int devices, bool is_head)
      : lookup_(lookup), done_(done), devices_(devices), is_head_(is_head) {}

  // Whether the product is split; done_ then holds all that follows from it.
  bool run(std::int32_t product);
  const std::string& reason() const { return reason_; }
  bool is_final() const { return is_final_; }

 private:
  const Part* part_of(ValueId value) const;
  const Shape& shape(ValueId value) const;
  const Shape& local(ValueId value) const;
  [[noreturn]] void stop(std::int32_t node, const std::string& why) const;
  void set(ValueId value, const Part& part);

  // A weight, or what follows from it alone, back to what the file stores.
  void split_weight(ValueId value, int axis, const Fraction& of);
  void split_columns(std::int32_t node);
  void split_rows(std::int32_t node, const WeightProduct& form, const Part& part);

  // --- what a node makes of the parts of its operands ---

  void visit(std::int32_t id);

  // New rows placed in a cache, which is split as they are.
  void scatter(std::int32_t id, const Node& node);
  const Part& first_part(std::int32_t id, const Node& node) const;

  // Element by element: operands that repeat along the split axis stay whole, weights are split, others must be.
  void pointwise(std::int32_t id, const Node& node);

  // Cuts an operand that is whole to match a result in parts. False where the operand itself must be split.
  bool match(ValueId input, const Part& result, const Shape& whole);

  // Products of activations alone: the batch axes of the matrices are split.
  void matrices(std::int32_t id, const Node& node);
  bool match_leading(ValueId input, const Shape& own, const Part& counts, const Shape& whole);
  void rearrange(std::int32_t id, const Node& node, OpKind kind);

  // The origin of a split must be cut between heads, of which there are `heads`.
  [[noreturn]] void share_heads(std::int32_t id, const Part& part, const Dim& heads);

  // Each device one head, where there are fewer heads than devices.
  Part head_part(std::int32_t id, const Shape& whole, Int heads) const;

  // Devices that share one head: 1 where there are heads for all.
  Int replicas_of(std::int32_t id, Int heads) const;
  void norm(std::int32_t id, const Node& node, RowAxes rows);

  // Split axes pass through unchanged; the operands after the first only say what is done along the other axes.
  void keep_axes(std::int32_t id, const Node& node);
  void concat(std::int32_t id, const Node& node);

  // The cache behind the value, possibly through operators that only pass it on; it is split as well.
  ValueId past_behind(ValueId value) const;

  // Several projections in one product: each projection's part of the split axis is split separately.
  void pieces(std::int32_t id, const Node& node);

  // --- attention operators ---

  // The heads of an operand [tokens …, heads · size]: it must hold `expected` elements of its last axis.
  void expect_heads(std::int32_t id, ValueId value, const Dim& expected, Int replicas);
  void split_cache(ValueId value, int axis, Int heads, Int replicas);
  void attention(std::int32_t id, const Node& node);

  // The standard's operator with heads as an axis of their own, [batch, heads, tokens, size].
  void split_attention(std::int32_t id, const Node& node);

  // --- the trial as a whole ---

  void settle();

  // Products behind operands that must be in parts, too: gate beside up, keys beside queries.
  bool fetch_operands();

  // The nearest product with a weight that is not placed yet; -1 for none.
  std::int32_t product_behind(ValueId value) const;
  void finish();

  const GraphLookup& lookup_;
  Split& done_;
  Int devices_;
  bool is_head_;
  Split here_;
  std::map<ValueId, Part> learnt_;  // sizes of parts by origin
  std::set<std::int32_t> waiting_;  // nodes of which an operand is not in parts yet
  std::set<ValueId> wanted_;        // those operands
  std::deque<std::int32_t> queue_;
  std::string uneven_;  // why a part is only a guess
  std::string reason_;
  bool is_final_ = false;
};

}  // namespace pagoda::inline core
