// Comparison of two models node by node: what a change of the network, an optimiser or a quantiser did.
//
//   Comparison change = compare(before_model, before, after_model, after);
//   for (const NodePair& pair : change.nodes) …
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/analyze.h"
#include "pagoda/core/graph.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// How two nodes were found to be the same, surest first.
enum class Match : std::uint8_t {
  Name,       // scope and name
  Output,     // name of the first output
  Structure,  // MACs, or without any operator, output shape and arithmetic; in order
  Operator,   // operator, in order
  None,       // only in one of the models
};
std::string_view to_string(Match match);  // "name", "output", "structure", "operator", ""

struct NodePair {
  std::int32_t before = -1, after = -1;  // rows in Analysis::nodes; -1: in the other model only
  Match match = Match::None;
};

struct Comparison {
  std::vector<NodePair> nodes;  // rows that run or are unmodelled: those of `after` in order, then what went away
  std::int64_t matched = 0, added = 0, removed = 0;
};

Comparison compare(const Model& before_model, const Analysis& before, const Model& after_model, const Analysis& after);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
