// A trial pushes the split of one product forward until every path ends in a product that contracts it. A trial
// that learns about heads restarts; one that cannot place a part is discarded, and the product stays whole.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/index.h"
#include "parallel/rules.h"
#include "parallel/split.h"

namespace pagoda::inline core {

// Facts about the graph that the search looks up repeatedly.
class GraphLookup {
 public:
  GraphLookup(const Model& model, const Analysis& analysis);

  const Shape* shape(ValueId value) const {
    const auto& known = analysis_.types[index(value)].shape;
    return known ? &*known : nullptr;
  }
  const Name& name(std::int32_t node) const { return display_name(graph, graph.node(node)); }

  // The form of a node that multiplies an activation by a weight; nullopt for other nodes.
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

// Thrown to end a trial. If `origin` is set, the trial restarts and gives `part` to that value.
struct TrialStop {
  std::string reason;
  ValueId origin = kAbsent;
  Part part = {};
  bool is_final = false;  // a restart does not help: heads cannot be divided over the devices
};

class Trial {
 public:
  Trial(const GraphLookup& lookup, Split& done, Int devices, bool is_head)
      : lookup_(lookup), done_(done), devices_(devices), is_head_(is_head) {}

  // Returns whether the product is split; done_ then holds all that follows from it.
  bool run(std::int32_t product);
  const std::string& reason() const { return reason_; }
  bool is_final() const { return is_final_; }

 private:
  const Part* part_of(ValueId value) const;
  const Shape& shape(ValueId value) const;
  const Shape& local(ValueId value) const;
  [[noreturn]] void stop(std::int32_t node, const std::string& why) const;
  void set(ValueId value, const Part& part);

  // Splits a weight, or a value computed from weights alone, back to the tensors that the file stores.
  void split_weight(ValueId value, int axis, const Fraction& of);
  void split_columns(std::int32_t node);
  void split_rows(std::int32_t node, const WeightProduct& form, const Part& part);

  // --- from the parts of a node's operands to the parts of its results ---

  void visit(std::int32_t id);

  // New rows placed in a cache, which is split like the rows.
  void scatter(std::int32_t id, const Node& node);
  const Part& first_part(std::int32_t id, const Node& node) const;

  // Element-wise: operands broadcast along the split axis stay whole, weights are split, others must be in parts.
  void pointwise(std::int32_t id, const Node& node);

  // Fits a whole operand to a result in parts, splitting a weight. False if the operand must first be in parts. The
  // last `inner` axes are those of matrices, which stay whole.
  bool match(ValueId input, const Part& result, const Shape& whole, std::size_t inner = 0);

  // Products of activations alone: the batch axes of the matrices are split.
  void matrices(std::int32_t id, const Node& node);
  void rearrange(std::int32_t id, const Node& node, OpKind kind);

  // Ends the trial to start again, with a known part of `origin`.
  [[noreturn]] void restart(std::int32_t id, std::string_view what, ValueId origin, Part part) const;
  // Ends the search: heads cannot be divided over the devices.
  [[noreturn]] void give_up(std::string reason) const;

  // Stops the trial, or restarts it with the origin of the split cut between its `heads` heads.
  [[noreturn]] void share_heads(std::int32_t id, const Part& part, const Dim& heads);

  // The part of one device; one head each if there are fewer heads than devices.
  Part head_part(std::int32_t id, const Shape& whole, Int heads) const;

  // Number of devices that hold the same head: 1 if there are enough heads for all.
  Int replicas_of(std::int32_t id, Int heads) const;
  void norm(std::int32_t id, const Node& node, RowAxes rows);

  // Split axes pass through unchanged; the operands after the first only affect the other axes.
  void keep_axes(std::int32_t id, const Node& node);
  void concat(std::int32_t id, const Node& node);

  // The past cache that the value is, or that one node passes on to it; kAbsent if there is none.
  ValueId past_behind(ValueId value) const;

  // Several projections in one product: each projection's part of the split axis is split separately.
  void pieces(std::int32_t id, const Node& node);

  // --- attention operators ---

  // Checks the heads of an operand [tokens …, heads · size]: its part must have `expected` elements in the last axis.
  void expect_heads(std::int32_t id, ValueId value, const Dim& expected, Int replicas);
  void split_cache(ValueId value, int axis, const Dim& heads, Int replicas);
  void attention(std::int32_t id, const Node& node);

  // The standard operator with heads on their own axis, [batch, heads, tokens, size].
  void split_attention(std::int32_t id, const Node& node);

  // --- the trial as a whole ---

  void settle();

  // Splits the products behind operands that must also be in parts: gate beside up, keys beside queries.
  bool fetch_operands();

  // The nearest product with a weight that is not placed yet; -1 if there is none.
  std::int32_t product_behind(ValueId value) const;
  void finish();

  const GraphLookup& lookup_;
  Split& done_;
  Int devices_;
  bool is_head_;
  Split here_;
  std::map<ValueId, Part> learnt_;  // sizes of parts by origin
  std::set<std::int32_t> waiting_;  // nodes with an operand that is not in parts yet
  std::set<ValueId> wanted_;        // those operands
  std::deque<std::int32_t> queue_;
  std::string uneven_;  // why a part is only a guess
  std::string reason_;
  bool is_final_ = false;
};

}  // namespace pagoda::inline core
