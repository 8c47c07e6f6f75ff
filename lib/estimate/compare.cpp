// Matches nodes by progressively weaker keys; each key pairs the nodes that are still unmatched, in order. Kernels are
// matched through their nodes.
#include "pagoda/estimate/compare.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <string>
#include <tuple>

namespace pagoda::estimate {

using namespace documents;

namespace {

constexpr std::array<std::string_view, 5> kMatches = {"name", "output", "structure", "operator", ""};

bool takes_part(const EstimateNode& node) { return node.mark == Mark::Compute || node.mark == Mark::Unmodelled; }

// Empty keys match nothing.
using Key = std::string (*)(const EstimateNode&);

std::string name_key(const EstimateNode& node) { return node.name.empty() ? "" : node.body + "\n" + node.name; }

std::string output_key(const EstimateNode& node) {
  return node.outputs.empty() || node.outputs[0].name.empty() ? "" : node.body + "\n" + node.outputs[0].name;
}

// Contractions keep their MACs no matter what is fused into them.
std::string structure_key(const EstimateNode& node) {
  if (node.counts.macs.value_or(0) != 0)
    return base::to_string(*node.counts.macs) + (node.symbolic ? "\n" + node.symbolic->macs : "");
  std::string key = node.op_type;
  if (!node.outputs.empty()) key += "\n" + pagoda::to_string(node.outputs[0].type);
  return key + "\n" + base::to_string(node.counts.arith.value_or(0));
}

// Optimisers move operators to their own domains (com.microsoft.nchwc) but keep the operator names.
std::string op_key(const EstimateNode& node) { return node.op_type; }

constexpr std::array<std::pair<Match, Key>, 4> kKeys = {{{Match::Name, name_key},
                                                         {Match::Output, output_key},
                                                         {Match::Structure, structure_key},
                                                         {Match::Operator, op_key}}};

// One pair per row of `after`; its `before` is -1 if the row has no match.
std::vector<RowPair> pair_nodes(const std::vector<EstimateNode>& before, const std::vector<EstimateNode>& after) {
  std::vector<RowPair> pairs(after.size());
  std::vector<bool> is_taken(before.size(), false);
  for (const auto& [match, key] : kKeys) {
    std::map<std::string, std::deque<std::int32_t>> single;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (is_taken[i] || !takes_part(before[i])) continue;
      if (std::string text = key(before[i]); !text.empty())
        single[std::move(text)].push_back(static_cast<std::int32_t>(i));
    }
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (pairs[i].before >= 0 || !takes_part(after[i])) continue;
      const auto found = single.find(key(after[i]));
      if (found == single.end() || found->second.empty()) continue;
      pairs[i] = {.before = found->second.front(), .match = match};
      is_taken[static_cast<std::size_t>(found->second.front())] = true;
      found->second.pop_front();
    }
  }
  return pairs;
}

// Pairs kernels that share nodes, by most shared MACs first, then by most shared nodes.
std::vector<RowPair> pair_groups(const EstimateDocument& before, const EstimateDocument& after,
                                 const std::vector<RowPair>& nodes) {
  struct Shared {
    std::int32_t before, after;
    Int macs = 0;
    std::int64_t nodes = 0;
    Match match = Match::None;
    Int macs_of_match = -1;
  };
  std::map<std::pair<std::int32_t, std::int32_t>, Shared> shared_of;
  for (const RowPair& pair : nodes) {
    if (pair.before < 0 || pair.after < 0) continue;
    const EstimateNode& node = after.nodes[static_cast<std::size_t>(pair.after)];
    const std::int32_t old_group = before.nodes[static_cast<std::size_t>(pair.before)].group;
    if (old_group < 0 || node.group < 0) continue;
    Shared& shared = shared_of.try_emplace({old_group, node.group}, Shared{old_group, node.group}).first->second;
    const Int macs = node.counts.macs.value_or(0);
    shared.macs += macs;
    ++shared.nodes;
    if (macs > shared.macs_of_match) {
      shared.macs_of_match = macs;
      shared.match = pair.match;
    }
  }
  std::vector<Shared> candidates;
  candidates.reserve(shared_of.size());
  for (const auto& [groups, shared] : shared_of) candidates.push_back(shared);
  std::ranges::sort(candidates, {},
                    [](const Shared& each) { return std::tuple(-each.macs, -each.nodes, each.after, each.before); });
  std::vector<RowPair> pairs(after.traffic->groups.size());
  std::vector<bool> is_taken(before.traffic->groups.size(), false);
  for (const Shared& shared : candidates) {
    RowPair& pair = pairs[static_cast<std::size_t>(shared.after)];
    if (pair.before >= 0 || is_taken[static_cast<std::size_t>(shared.before)]) continue;
    pair = {.before = shared.before, .match = shared.match};
    is_taken[static_cast<std::size_t>(shared.before)] = true;
  }
  return pairs;
}

// The `pairs` in order of `after`, without rows that take no part, then the unmatched rows of `before`.
template <typename InBefore, typename InAfter>
std::vector<RowPair> listed(const std::vector<RowPair>& pairs, std::size_t before_rows, InBefore is_in_before,
                            InAfter is_in_after) {
  std::vector<RowPair> list;
  std::vector<bool> is_taken(before_rows, false);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!is_in_after(i)) continue;
    list.push_back({.before = pairs[i].before, .after = static_cast<std::int32_t>(i), .match = pairs[i].match});
    if (pairs[i].before >= 0) is_taken[static_cast<std::size_t>(pairs[i].before)] = true;
  }
  for (std::size_t i = 0; i < before_rows; ++i)
    if (!is_taken[i] && is_in_before(i)) list.push_back({.before = static_cast<std::int32_t>(i)});
  return list;
}

}  // namespace

std::string_view to_string(Match match) { return kMatches[static_cast<std::size_t>(match)]; }

Comparison compare(const EstimateDocument& before, const EstimateDocument& after) {
  Comparison result;
  result.nodes = listed(
      pair_nodes(before.nodes, after.nodes), before.nodes.size(),
      [&](std::size_t i) { return takes_part(before.nodes[i]); },
      [&](std::size_t i) { return takes_part(after.nodes[i]); });
  for (const RowPair& pair : result.nodes)
    ++(pair.before < 0 ? result.added : pair.after < 0 ? result.removed : result.matched);
  if (before.traffic && after.traffic) {
    const auto all = [](std::size_t) { return true; };
    result.groups = listed(pair_groups(before, after, result.nodes), before.traffic->groups.size(), all, all);
  }
  return result;
}

}  // namespace pagoda::estimate
