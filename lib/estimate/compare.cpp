// Matches nodes by progressively weaker keys; each key pairs the nodes that are still unmatched, in order. Kernels are
// matched through their nodes. Blocks grow from reliable pairs along kernels and data flow.
#include "pagoda/estimate/compare.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <unordered_map>

#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"

namespace pagoda::estimate {

using namespace documents;

namespace {

constexpr std::array<std::string_view, 5> kMatches = {"name", "output", "structure", "operator", ""};

// A model to compare: its nodes, those that take part, and the rows of each kernel.
struct Side {
  const std::vector<EstimateNode>& nodes;
  std::vector<bool> takes_part;
  RanRows kernels = {};

  explicit Side(const EstimateDocument& estimate) : nodes(estimate.nodes) {
    takes_part.reserve(nodes.size());
    for (const EstimateNode& node : nodes)
      takes_part.push_back(node.mark == Mark::Compute || node.mark == Mark::Unmodelled);
  }
  // With the kernels of the traffic model.
  void add_groups(const EstimateTraffic& traffic) {
    kernels.resize(traffic.groups.size());
    for (std::size_t row = 0; row < nodes.size(); ++row)
      if (nodes[row].group >= 0) kernels[static_cast<std::size_t>(nodes[row].group)].push_back(row);
  }
  void add_run(const RanRows& ran) {
    kernels = ran;
    for (const std::vector<std::size_t>& rows : ran)
      for (const std::size_t row : rows) takes_part[row] = true;
  }
};

// Empty keys match nothing.
using Key = std::string (*)(const EstimateNode&);

std::string name_key(const EstimateNode& node) { return node.name.empty() ? "" : node.body + "\n" + node.name; }

std::string output_key(const EstimateNode& node) {
  return node.outputs.empty() || node.outputs[0].name.empty() ? "" : node.body + "\n" + node.outputs[0].name;
}

// A free batch is alike to a batch of 1.
std::string type_key(const TensorType& type) {
  const auto shape = sizes(type);
  return shape ? cat(to_string(type.element), base::joined(*shape, ",", [](Int size) { return base::to_string(size); }))
               : pagoda::to_string(type);
}

// Contractions keep their MACs no matter what is fused into them.
std::string structure_key(const EstimateNode& node) {
  if (node.counts.macs.value_or(0) != 0)
    return base::to_string(*node.counts.macs) + (node.symbolic ? "\n" + node.symbolic->macs : "");
  std::string key = node.op_type;
  if (!node.outputs.empty()) key += "\n" + type_key(node.outputs[0].type);
  return key + "\n" + base::to_string(node.counts.arith.value_or(0));
}

// Optimisers move operators to their own domains (com.microsoft.nchwc) but keep the operator names.
std::string op_key(const EstimateNode& node) { return node.op_type; }

constexpr std::array<std::pair<Match, Key>, 4> kKeys = {{{Match::Name, name_key},
                                                         {Match::Output, output_key},
                                                         {Match::Structure, structure_key},
                                                         {Match::Operator, op_key}}};

// One pair per row of `after`; its `before` is -1 if the row has no match.
std::vector<RowPair> pair_nodes(const Side& before, const Side& after) {
  std::vector<RowPair> pairs(after.nodes.size());
  std::vector<bool> is_taken(before.nodes.size(), false);
  for (const auto& [match, key] : kKeys) {
    std::map<std::string, std::deque<std::int32_t>> single;
    for (std::size_t i = 0; i < before.nodes.size(); ++i) {
      if (is_taken[i] || !before.takes_part[i]) continue;
      if (std::string text = key(before.nodes[i]); !text.empty())
        single[std::move(text)].push_back(static_cast<std::int32_t>(i));
    }
    for (std::size_t i = 0; i < after.nodes.size(); ++i) {
      if (pairs[i].before >= 0 || !after.takes_part[i]) continue;
      const auto found = single.find(key(after.nodes[i]));
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

// Whether the first results are of one type; those of a node without a rule have none that could differ.
bool agree(const EstimateNode& before, const EstimateNode& after) {
  if (before.outputs.empty() || after.outputs.empty()) return before.outputs.empty() == after.outputs.empty();
  const TensorType &x = before.outputs[0].type, &y = after.outputs[0].type;
  return !x.shape || !y.shape || x == y;
}

// Whether a pair shows that two nodes do the same. Exporters number nodes ("Conv_12"), so that a name alone, without a
// module path, also needs equal work, weights or results. An operator alone shows nothing.
bool is_reliable(const EstimateNode& before, const EstimateNode& after, Match match) {
  const auto are_equal = [](const documents::Count& a, const documents::Count& b) {
    return a && b && *a == *b && *a != 0;
  };
  if (match == Match::None || match == Match::Operator) return false;
  const bool has_path = before.scope.view().size() > before.body.view().size();
  return match == Match::Structure || has_path || are_equal(before.counts.macs, after.counts.macs) ||
         are_equal(before.counts.params, after.counts.params) || agree(before, after);
}

constexpr std::array<std::string_view, 4> kStores = {"Cast", "DequantizeLinear", "DynamicQuantizeLinear",
                                                     "QuantizeLinear"};

// Sets of nodes of both models: nodes of `before` first, then those of `after`.
class Sets {
 public:
  Sets(const Side& before, const Side& after)
      : sides_{&before, &after}, parent_(before.nodes.size() + after.nodes.size()), parts_(parent_.size()) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    for (std::size_t at = 0; at < parent_.size(); ++at)
      parts_[at][at < before.nodes.size() ? 0 : 1] = {.nodes = 1, .macs = node(at).counts.macs.value_or(0)};
  }

  std::size_t place(bool is_after, std::size_t row) const { return (is_after ? sides_[0]->nodes.size() : 0) + row; }
  std::size_t find(std::size_t at) const {
    for (; parent_[at] != at; at = parent_[at]) parent_[at] = parent_[parent_[at]];
    return at;
  }
  bool is_matched(std::size_t at) const {
    const auto& part = parts_[find(at)];
    return part[0].nodes > 0 && part[1].nodes > 0;
  }
  void join(std::size_t a, std::size_t b, Match match = Match::None) {
    a = find(a), b = find(b);
    matches_[std::min(a, b)] = std::min({match, match_of(a), match_of(b)});
    if (a == b) return;
    parent_[std::max(a, b)] = std::min(a, b);
    for (std::size_t side = 0; side < 2; ++side) {
      Part &to = parts_[std::min(a, b)][side], &from = parts_[std::max(a, b)][side];
      to = {.nodes = to.nodes + from.nodes, .macs = to.macs + from.macs};
    }
  }

  void join_kernels(bool is_after) {
    for (const std::vector<std::size_t>& rows : sides_[is_after ? 1 : 0]->kernels)
      for (const std::size_t row : rows) join(place(is_after, rows.front()), place(is_after, row));
  }

  // Unmatched nodes join the set into which all their results flow. A set takes no contraction that would give this
  // side more MACs than the other: the chain before the last layers of unrelated models ends there.
  void join_flow(bool is_after) {
    const std::vector<EstimateNode>& nodes = sides_[is_after ? 1 : 0]->nodes;
    std::unordered_map<std::string, std::vector<std::size_t>> readers;
    const auto key = [](const EstimateNode& node, const Name& value) { return node.body + "\n" + value; };
    for (std::size_t row = 0; row < nodes.size(); ++row)
      for (const Name& input : nodes[row].inputs)
        if (!input.empty()) readers[key(nodes[row], input)].push_back(place(is_after, row));
    for (std::size_t row = nodes.size(); row-- > 0;) {
      const std::size_t at = find(place(is_after, row));
      if (is_matched(at)) continue;
      std::optional<std::size_t> set;
      bool is_one = true;
      for (const OutputInfo& output : nodes[row].outputs) {
        const auto found = readers.find(key(nodes[row], output.name));
        if (found == readers.end()) continue;
        for (const std::size_t reader : found->second)
          if (const std::size_t other = find(reader); other != at) {
            is_one = is_one && other == set.value_or(other);
            set = other;
          }
      }
      if (!set || !is_one || !is_matched(*set)) continue;
      const auto& [before, after] = parts_[*set];
      const Part &own = is_after ? after : before, &counterpart = is_after ? before : after;
      const Part& more = parts_[at][is_after ? 1 : 0];
      if (more.macs == 0 || own.macs + more.macs <= counterpart.macs) join(at, *set);
    }
  }

  // Unmatched nodes that only change how a value is stored join the set that it comes from: a QuantizeLinear with
  // several readers, or the last DequantizeLinear.
  void join_sources(bool is_after) {
    const std::vector<EstimateNode>& nodes = sides_[is_after ? 1 : 0]->nodes;
    std::unordered_map<std::string, std::size_t> sources;
    const auto key = [](const EstimateNode& node, const Name& value) { return node.body + "\n" + value; };
    for (std::size_t row = 0; row < nodes.size(); ++row) {
      for (const OutputInfo& output : nodes[row].outputs)
        if (!output.name.empty()) sources[key(nodes[row], output.name)] = place(is_after, row);
      if (!takes_part(place(is_after, row)) || std::ranges::find(kStores, nodes[row].op_type.view()) == kStores.end())
        continue;
      const std::size_t at = find(place(is_after, row));
      if (is_matched(at)) continue;
      std::optional<std::size_t> set;
      bool is_one = true;
      for (const Name& input : nodes[row].inputs)
        if (const auto found = sources.find(key(nodes[row], input)); found != sources.end())
          if (const std::size_t other = find(found->second); other != at && takes_part(found->second)) {
            is_one = is_one && other == set.value_or(other);
            set = other;
          }
      if (set && is_one && is_matched(*set)) join(at, *set);
    }
  }

  // The least share of the FLOPs of a model (of the nodes if it has none) that lies in matched sets.
  double matched_share() const {
    double least = 1;
    for (std::size_t side = 0; side < 2; ++side) {
      double matched[2] = {0, 0}, all[2] = {0, 0};
      for (std::size_t at = 0; at < parent_.size(); ++at) {
        const bool is_here = (at < sides_[0]->nodes.size()) == (side == 0);
        if (!is_here || !takes_part(at)) continue;
        const double weights[] = {static_cast<double>(node(at).counts.flops.value_or(0)), 1};
        for (std::size_t by = 0; by < 2; ++by) {
          all[by] += weights[by];
          if (is_matched(at)) matched[by] += weights[by];
        }
      }
      const std::size_t by = all[0] > 0 ? 0 : 1;
      if (all[by] > 0) least = std::min(least, matched[by] / all[by]);
    }
    return least;
  }

  std::vector<Block> blocks() const {
    std::vector<Block> list;
    std::unordered_map<std::size_t, std::size_t> of_set;
    const auto add = [&](std::size_t begin, std::size_t end, std::vector<std::int32_t> Block::*side) {
      for (std::size_t at = begin; at < end; ++at) {
        if (!takes_part(at)) continue;
        const auto [found, is_new] = of_set.try_emplace(find(at), list.size());
        if (is_new) list.push_back({.before = {}, .after = {}, .match = match_of(find(at))});
        (list[found->second].*side).push_back(static_cast<std::int32_t>(at - begin));
      }
    };
    const std::size_t middle = sides_[0]->nodes.size();
    add(middle, parent_.size(), &Block::after);
    add(0, middle, &Block::before);
    for (Block& block : list)
      if (block.before.empty() || block.after.empty()) block.match = Match::None;
    return list;
  }

 private:
  struct Part {
    std::int64_t nodes = 0;
    Int macs = 0;
  };

  const EstimateNode& node(std::size_t at) const {
    const std::size_t middle = sides_[0]->nodes.size();
    return at < middle ? sides_[0]->nodes[at] : sides_[1]->nodes[at - middle];
  }
  bool takes_part(std::size_t at) const {
    const std::size_t middle = sides_[0]->nodes.size();
    return at < middle ? sides_[0]->takes_part[at] : sides_[1]->takes_part[at - middle];
  }
  Match match_of(std::size_t set) const {
    const auto found = matches_.find(set);
    return found == matches_.end() ? Match::None : found->second;
  }

  std::array<const Side*, 2> sides_;
  mutable std::vector<std::size_t> parent_;  // find() shortens its paths
  std::vector<std::array<Part, 2>> parts_;   // of each set, by side
  std::unordered_map<std::size_t, Match> matches_;
};

// The nodes of `after` that run, and the views of `before` that give the same result: an optimiser replaces a chain
// that ends in a view by one node.
void join_views(const Side& before, const Side& after, const std::vector<RowPair>& pairs, Sets& sets) {
  std::unordered_map<std::string, std::size_t> views;
  for (std::size_t row = 0; row < before.nodes.size(); ++row)
    if (!before.takes_part[row]) views.try_emplace(output_key(before.nodes[row]), row);
  for (const RowPair& pair : pairs) {
    if (pair.before >= 0 || pair.after < 0) continue;
    const auto row = static_cast<std::size_t>(pair.after);
    const auto found = views.find(output_key(after.nodes[row]));
    if (found != views.end() && !found->first.empty() &&
        is_reliable(before.nodes[found->second], after.nodes[row], Match::Output))
      sets.join(sets.place(false, found->second), sets.place(true, row), Match::Output);
  }
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

std::vector<RowPair> listed_nodes(const Side& before, const Side& after, const std::vector<RowPair>& pairs) {
  return listed(
      pairs, before.nodes.size(), [&](std::size_t i) { return before.takes_part[i]; },
      [&](std::size_t i) { return after.takes_part[i]; });
}

Comparison compared(const Side& before, const Side& after) {
  Comparison result;
  std::vector<RowPair> pairs = pair_nodes(before, after);
  const auto match = [&] {
    Sets sets(before, after);
    for (const bool is_after : {false, true}) sets.join_kernels(is_after);
    for (std::size_t row = 0; row < pairs.size(); ++row) {
      const auto old = static_cast<std::size_t>(pairs[row].before);
      if (pairs[row].before >= 0 && is_reliable(before.nodes[old], after.nodes[row], pairs[row].match))
        sets.join(sets.place(false, old), sets.place(true, row), pairs[row].match);
    }
    return sets;
  };
  Sets sets = match();
  constexpr double kRelated = 0.5;
  const std::vector<RowPair> all = listed_nodes(before, after, pairs);
  join_views(before, after, all, sets);
  for (const bool is_after : {false, true}) sets.join_flow(is_after), sets.join_sources(is_after);
  result.is_related = sets.matched_share() >= kRelated;
  if (!result.is_related) {
    pairs.assign(pairs.size(), {});
    sets = match();
  }
  result.blocks = sets.blocks();
  result.nodes = listed_nodes(before, after, pairs);
  for (const RowPair& pair : result.nodes)
    ++(pair.before < 0 ? result.added : pair.after < 0 ? result.removed : result.matched);
  return result;
}

}  // namespace

std::string_view to_string(Match match) { return kMatches[static_cast<std::size_t>(match)]; }

Comparison compare(const EstimateDocument& before, const EstimateDocument& after) {
  Side from(before), to(after);
  const bool has_kernels = before.traffic && after.traffic;
  if (has_kernels) from.add_groups(*before.traffic), to.add_groups(*after.traffic);
  Comparison result = compared(from, to);
  if (has_kernels) {
    const auto any = [](std::size_t) { return true; };
    result.groups = listed(pair_groups(before, after, result.nodes), before.traffic->groups.size(), any, any);
  }
  return result;
}

Comparison compare(const EstimateDocument& before, const EstimateDocument& after, const RanRows& ran_before,
                   const RanRows& ran_after) {
  Side from(before), to(after);
  from.add_run(ran_before), to.add_run(ran_after);
  return compared(from, to);
}

}  // namespace pagoda::estimate
