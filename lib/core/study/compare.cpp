// Matches rows by ever weaker keys; each key pairs the rows that are still single, in order.
#include "pagoda/core/compare.h"

#include <array>
#include <deque>
#include <functional>
#include <map>

namespace pagoda::inline core {
namespace {

constexpr std::array<std::string_view, 5> kMatches = {"name", "output", "structure", "operator", ""};

struct Side {
  const Model& model;
  const Analysis& analysis;

  const Node& node(const NodeReport& row) const {
    return model.graphs[static_cast<std::size_t>(row.graph)].nodes[static_cast<std::size_t>(row.node)];
  }
};

bool takes_part(const NodeReport& row) { return row.cost.mark == Mark::Compute || row.cost.mark == Mark::Unmodelled; }

// Optimisers move operators to domains of their own (com.microsoft.nchwc) and leave their names.
std::string op_key(const Side& side, const NodeReport& row) { return side.node(row).op_type; }

// Empty keys match nothing.
using Key = std::function<std::string(const Side&, const NodeReport&)>;

std::string name_key(const Side& side, const NodeReport& row) {
  const std::string& name = side.node(row).name;
  return name.empty() ? "" : row.scope + "\n" + name;
}

std::string output_key(const Side&, const NodeReport& row) {
  return row.outputs.empty() || row.outputs[0].name.empty() ? "" : row.scope + "\n" + row.outputs[0].name;
}

// Contractions keep their MACs whatever is fused to them.
std::string structure_key(const Side& side, const NodeReport& row) {
  if (row.cost.macs != Dim(0)) return row.cost.macs.to_string();
  std::string key = op_key(side, row);
  if (!row.outputs.empty()) key += "\n" + to_string(row.outputs[0].type);
  return key + "\n" + row.cost.arith.to_string();
}

}  // namespace

std::string_view to_string(Match match) { return kMatches[static_cast<std::size_t>(match)]; }

Comparison compare(const Model& before_model, const Analysis& before, const Model& after_model, const Analysis& after) {
  const Side old_side{before_model, before}, new_side{after_model, after};
  std::vector<NodePair> pairs(after.nodes.size());
  std::vector<bool> is_taken(before.nodes.size(), false);
  const std::array<std::pair<Match, Key>, 4> keys = {{{Match::Name, name_key},
                                                      {Match::Output, output_key},
                                                      {Match::Structure, structure_key},
                                                      {Match::Operator, op_key}}};
  for (const auto& [match, key] : keys) {
    std::map<std::string, std::deque<std::int32_t>> single;
    for (std::size_t i = 0; i < before.nodes.size(); ++i) {
      if (is_taken[i] || !takes_part(before.nodes[i])) continue;
      if (std::string text = key(old_side, before.nodes[i]); !text.empty())
        single[std::move(text)].push_back(static_cast<std::int32_t>(i));
    }
    for (std::size_t i = 0; i < after.nodes.size(); ++i) {
      if (pairs[i].before >= 0 || !takes_part(after.nodes[i])) continue;
      const auto found = single.find(key(new_side, after.nodes[i]));
      if (found == single.end() || found->second.empty()) continue;
      pairs[i] = {.before = found->second.front(), .after = static_cast<std::int32_t>(i), .match = match};
      is_taken[static_cast<std::size_t>(found->second.front())] = true;
      found->second.pop_front();
    }
  }
  Comparison result;
  for (std::size_t i = 0; i < after.nodes.size(); ++i) {
    if (!takes_part(after.nodes[i])) continue;
    NodePair pair = pairs[i];
    pair.after = static_cast<std::int32_t>(i);
    ++(pair.before >= 0 ? result.matched : result.added);
    result.nodes.push_back(pair);
  }
  for (std::size_t i = 0; i < before.nodes.size(); ++i) {
    if (is_taken[i] || !takes_part(before.nodes[i])) continue;
    result.nodes.push_back({.before = static_cast<std::int32_t>(i)});
    ++result.removed;
  }
  return result;
}

}  // namespace pagoda::inline core
