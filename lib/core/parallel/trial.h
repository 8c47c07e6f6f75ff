// A trial pushes the split of one product forward until every path ends in a product that contracts it. A trial
// that learns about heads restarts; one that cannot place a part is discarded, and the product stays whole.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/index.h"
#include "parallel/split.h"

namespace pagoda::inline core {

// Facts about the graph that the search looks up repeatedly.
class GraphLookup {
 public:
  GraphLookup(const Model& model, const Analysis& analysis);

  const Shape* shape(ValueId value) const { return shape_of(analysis_, value); }  // null when unknown
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

// Ends a trial. If `origin` is set, the trial restarts and gives `part` to that value.
struct TrialStop {
  std::string reason;
  ValueId origin = kAbsent;
  Part part = {};
  bool is_final = false;  // a restart does not help: heads cannot be divided over the devices
};

// Splits `product` and all that follows from it, and adds that to `done`. Returns why that fails, else nullopt.
std::optional<TrialStop> try_split(const GraphLookup& lookup, std::int32_t product, Int devices, bool is_head,
                                   Split& done);

}  // namespace pagoda::inline core
