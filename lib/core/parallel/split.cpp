// Tries products one by one, and keeps what each successful trial has split.
#include "parallel/split.h"

#include <algorithm>

#include "graph/index.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "parallel/trial.h"

namespace pagoda::inline core {
namespace {

// Splits tables with as many rows as a head has columns: the embedding of the same vocabulary.
void split_embeddings(const GraphLookup& lookup, Int devices, Split& split) {
  std::set<Int> vocabularies;
  for (const std::int32_t node : split.heads)
    if (const auto size = lookup.shape(lookup.graph.node(node).output(0))->back().value()) vocabularies.insert(*size);
  for (std::size_t n = 0; n < lookup.graph.nodes.size(); ++n) {
    const Node& node = lookup.graph.nodes[n];
    if (node.op_type != "Gather" || node.input(0) == kAbsent || !lookup.is_constant[index(node.input(0))]) continue;
    const Shape* table = lookup.shape(node.input(0));
    if (table == nullptr || table->size() != 2 || node.integer("axis", 0) != 0) continue;
    const auto rows = (*table)[0].value();
    if (!rows || !vocabularies.contains(*rows)) continue;
    Part part{.shape = *table};
    part.shape[0] = (*rows + devices - 1) / devices;
    // A table that is shared with the head is one Transpose away from the stored weight.
    const std::int32_t from = lookup.producer[index(node.input(0))];
    const ValueId stored =
        from >= 0 && lookup.graph.node(from).op_type == "Transpose" ? lookup.graph.node(from).input(0) : kAbsent;
    if (from >= 0 && !split.parts.contains(stored)) continue;
    split.parts[node.input(0)] = part;
    split.looked_up.insert(static_cast<std::int32_t>(n));
  }
}

}  // namespace

std::vector<bool> constant_values(const Model& model, const Analysis& analysis) {
  const Graph& graph = model.main();
  std::vector<bool> is_constant(graph.values.size(), false);
  for (std::size_t v = 0; v < graph.values.size(); ++v) is_constant[v] = graph.values[v].initializer >= 0;
  std::vector<const NodeReport*> rows(graph.nodes.size(), nullptr);
  for (const NodeReport& row : analysis.nodes)
    if (row.graph == 0) rows[index(row.node)] = &row;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const bool is_known = rows[n] != nullptr && node.bodies().empty() &&
                          rows[n]->facts.placement != Placement::AsksShape &&
                          std::all_of(node.inputs.begin(), node.inputs.end(),
                                      [&](ValueId input) { return input == kAbsent || is_constant[index(input)]; });
    for (const ValueId output : node.outputs)
      if (output != kAbsent) is_constant[index(output)] = is_known;
  }
  return is_constant;
}

Split find_split(const Model& model, const Analysis& analysis, std::int64_t devices) {
  const GraphLookup lookup(model, analysis);
  Split split;
  std::map<std::int32_t, std::string> reasons;  // why products are whole
  const auto is_placed = [&](std::int32_t node) { return split.columns.contains(node) || split.rows.contains(node); };
  for (const bool is_head : {false, true})
    for (std::size_t n = 0; n < lookup.graph.nodes.size(); ++n) {
      const auto node = static_cast<std::int32_t>(n);
      if (!lookup.product(node) || is_placed(node)) continue;
      const std::optional<TrialStop> failed = try_split(lookup, node, devices, is_head, split);
      if (!failed) {
        split.whole.erase(node);
        continue;
      }
      if (failed->is_final) throw Error(base::field("tensor_parallel", devices) + ": " + failed->reason);
      if (is_head) continue;
      split.whole.insert(node);
      reasons[node] = lookup.name(node) + ": " + failed->reason;
    }
  if (split.rows.empty())
    throw Error(base::field("tensor_parallel", devices) + ": the model has no products that devices can share" +
                (reasons.empty() ? "" : "; " + reasons.begin()->second));
  if (!split.whole.empty()) split.whole_reason = reasons.at(*split.whole.begin());
  split_embeddings(lookup, devices, split);
  return split;
}

}  // namespace pagoda::inline core
