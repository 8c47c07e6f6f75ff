// Comparison of two estimates row by row: what a change of the network, an optimiser or a quantiser did.
//
//   Comparison change = compare(before, after);
//   for (const RowPair& pair : change.nodes) …
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pagoda/documents/estimate.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

// How two rows were found to be the same, surest first.
enum class Match : std::uint8_t {
  Name,       // scope and name
  Output,     // name of the first output
  Structure,  // MACs, or without any operator, output shape and arithmetic; in order
  Operator,   // operator, in order
  None,       // only in one of the models
};
std::string_view to_string(Match match);  // "name", "output", "structure", "operator", ""

struct RowPair {
  std::int32_t before = -1, after = -1;  // rows of the two estimates; -1: in the other one only
  Match match = Match::None;
};

struct Comparison {
  // Rows of `after` in order, then what went away: of EstimateDocument::nodes those that run or are unmodelled, and of
  // EstimateTraffic::groups, where both estimates have kernels, those that share the most work.
  std::vector<RowPair> nodes, groups;
  std::int64_t matched = 0, added = 0, removed = 0;  // nodes
};

// Both estimates must have their nodes, not sums by type.
Comparison compare(const EstimateDocument& before, const EstimateDocument& after);

}  // namespace pagoda::documents
#pragma GCC visibility pop
