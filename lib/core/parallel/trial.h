// One trial of the search for products that several devices can share, and the facts about the graph that it looks up.
#pragma once

#include <deque>
#include <string_view>
#include <utility>

#include "graph/index.h"
#include "pagoda/base/cat.h"
#include "parallel/split.h"

namespace pagoda::inline core {

// Facts about the graph that the search looks up repeatedly.
class GraphLookup {
 public:
  GraphLookup(const Model& model, const Analysis& analysis);

  const Shape* shape(ValueId value) const { return shape_of(analysis_, value); }  // null when unknown
  const Name& name(std::int32_t node) const { return display_name(graph, graph.node(node)); }

  // The form of a node that multiplies an activation by a weight; nullopt for other nodes.
  std::optional<WeightProduct> product(std::int32_t node) const {
    const NodeReport* row = rows[index(node)];
    const Node& of = graph.node(node);
    if (row == nullptr || of.input(1) == kAbsent || of.input(0) == kAbsent) return std::nullopt;
    if (!is_constant[index(of.input(1))] || is_constant[index(of.input(0))]) return std::nullopt;
    const Shape* weight = shape(of.input(1));
    return weight == nullptr ? std::nullopt : weight_product(of, row->facts, weight->size());
  }

  const Graph& graph;
  std::vector<std::int32_t> producer;
  std::vector<std::vector<std::int32_t>> readers;
  std::vector<const NodeReport*> rows;
  std::vector<bool> is_constant;
  std::set<ValueId> outputs, pasts, presents;

 private:
  const Analysis& analysis_;
};

// Ends a trial. If `origin` is set, the trial restarts and gives `part` to that value.
struct TrialStop {
  std::string reason;
  ValueId origin = kAbsent;
  Part part = {};
  bool is_final = false;  // a restart does not help: heads cannot be divided over the devices
};

// One attempt to split a product: pushes the split forward until every path ends in a product that contracts it. A rule
// that cannot place a part, or learns about heads, throws TrialStop.
class Trial {
 public:
  // Arbitrary limits of the search: a product whose trials exceed one stays whole.
  static constexpr int kMostRestarts = 64;
  static constexpr std::size_t kMostVisits = 4096;

  Trial(const GraphLookup& graph_lookup, Int device_count, bool is_head, const std::map<ValueId, Part>& known,
        Split& done)
      : lookup(graph_lookup), devices(device_count), learnt(known), done_(done), is_head_(is_head) {}

  const GraphLookup& lookup;
  const Int devices;
  const std::map<ValueId, Part>& learnt;  // sizes of parts by origin, which earlier trials learnt

  // Splits the product and all that follows from it, and adds that to `done`. Throws TrialStop.
  void run(std::int32_t product);

  // --- for the rules in trial_nodes.cpp ---
  // Null if the value is whole.
  const Part* part_of(ValueId value) const {
    if (value == kAbsent) return nullptr;
    if (const auto found = here_.parts.find(value); found != here_.parts.end()) return &found->second;
    const auto found = done_.parts.find(value);
    return found == done_.parts.end() ? nullptr : &found->second;
  }

  const Shape& shape(ValueId value) const {
    const Shape* known = lookup.shape(value);
    if (known == nullptr) throw TrialStop{"the rank of " + lookup.graph.value(value).name + " is not known"};
    return *known;
  }

  void set(ValueId value, const Part& part);
  // Splits a weight, or a value computed from weights alone, back to the tensors that the file stores.
  void split_weight(ValueId value, int axis, const Fraction& of);
  void split_rows(std::int32_t node, const WeightProduct& form, const Part& part);

  // Visits the node again once the operand is in parts too.
  void wait(std::int32_t node, ValueId operand) {
    waiting_.insert(node);
    wanted_.insert(operand);
  }
  bool waits(std::int32_t node) const { return waiting_.contains(node); }
  // Records why a part is only a guess: the trial then fails, unless it restarts first.
  void note_uneven(std::string why) { uneven_ = std::move(why); }

  [[noreturn]] void stop(std::int32_t node, const std::string& why) const {
    throw TrialStop{lookup.graph.node(node).op_type + " " + lookup.name(node) + " " + why};
  }

  // Ends the trial to start again, with a part of `origin` that has `width` elements in the last axis.
  [[noreturn]] void restart(std::int32_t id, std::string_view what, ValueId origin, const Dim& width,
                            Int replicas = 1) const {
    Part part{.shape = shape(origin), .replicas = replicas};
    part.shape.back() = width;
    throw TrialStop{.reason = cat(what, " of ", lookup.name(id)), .origin = origin, .part = std::move(part)};
  }

  // Ends the search: heads cannot be divided over the devices.
  [[noreturn]] void give_up(std::string reason) const {
    throw TrialStop{.reason = std::move(reason), .is_final = true};
  }

 private:
  void settle();
  void fetch_operands();
  std::int32_t product_behind(ValueId value) const;
  void split_columns(std::int32_t node);
  void finish();

  Split& done_;
  const bool is_head_;
  Split here_;
  std::set<std::int32_t> waiting_;  // nodes with an operand that is not in parts yet
  std::set<ValueId> wanted_;        // those operands
  std::deque<std::int32_t> queue_;
  std::string uneven_;  // see note_uneven()
};

// Gives the results of a node whose operands are in parts their own parts, or lets it wait for an operand.
void place_results(Trial& trial, std::int32_t node);

}  // namespace pagoda::inline core
