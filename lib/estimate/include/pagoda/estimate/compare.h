// Compares two estimates row by row: the effect of a change to the network, of an optimiser or of a quantiser.
//
//   Comparison change = compare(before, after);
//   for (const RowPair& pair : change.nodes) …
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "pagoda/documents/estimate.h"

#pragma GCC visibility push(default)
namespace pagoda::estimate {

// How two rows were matched, most reliable first.
enum class Match : std::uint8_t {
  Name,       // scope and name
  Output,     // name of the first output
  Structure,  // MACs, or without MACs: operator, output shape and arithmetic; in order
  Operator,   // operator, in order
  None,       // only in one of the models
};
std::string_view to_string(Match match);  // "name", "output", "structure", "operator", ""

struct RowPair {
  std::int32_t before = -1, after = -1;  // rows of the two estimates; -1: only in the other one
  Match match = Match::None;
};

// What does the same part of both models: a matched pair, the nodes that share their kernels, and unmatched nodes whose
// results all flow into them, or that store their values in another type. A SkipLayerNormalization is one block with
// the two Adds and the LayerNormalization that it replaces.
struct Block {
  std::vector<std::int32_t> before = {},
                            after = {};  // indices of EstimateDocument::nodes; one side is empty: unmatched
  Match match = Match::None;             // the most reliable of its pairs
};

struct Comparison {
  // Whether at least half of the FLOPs of both models are in blocks of both. Otherwise nothing is matched: rows of
  // unrelated models that look alike by chance say nothing.
  bool is_related = true;
  // In the order of `after`, then blocks that only `before` has.
  std::vector<Block> blocks;
  // Rows of `after` in order, then removed rows. `nodes`: the EstimateDocument::nodes that run or are unmodelled.
  // `groups`: the EstimateTraffic::groups, matched by most shared work, if both estimates have kernels.
  std::vector<RowPair> nodes, groups;
  std::int64_t matched = 0, added = 0, removed = 0;  // nodes
};

// Both estimates must contain nodes, not sums by type.
Comparison compare(const documents::EstimateDocument& before, const documents::EstimateDocument& after);

// The same for two runs: blocks follow the kernels that ran instead of those of the traffic model, and nodes that a
// kernel ran take part even if the estimate has no work for them. `groups` is empty.
using RanRows = std::vector<std::vector<std::size_t>>;  // the rows of each kernel
Comparison compare(const documents::EstimateDocument& before, const documents::EstimateDocument& after,
                   const RanRows& ran_before, const RanRows& ran_after);

}  // namespace pagoda::estimate
#pragma GCC visibility pop
