// Longest paths of decision trees, found without recursion: a tree in a file may be as deep as its list is long.
#include "ops/tree_depth.h"
#include "ops/rule_parts.h"
#include "pagoda/base/cat.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

namespace pagoda::inline core::ops {
namespace {

constexpr std::int64_t kLeaf = -1;

// The indices of the nodes that follow a test; kLeaf for a leaf.
struct Test {
  std::int64_t on_true = kLeaf, on_false = kLeaf;
};

// Not copied: a large forest has millions of entries.
std::span<const std::int64_t> list(const OpContext& op, std::string_view name) {
  const std::vector<std::int64_t>* found = op.node().integers(name);
  return found == nullptr ? std::span<const std::int64_t>() : std::span(*found);
}

// The same; ends the rule unless it has `expected` entries.
std::span<const std::int64_t> list(const OpContext& op, std::string_view name, std::size_t expected) {
  const auto found = list(op, name);
  if (found.size() != expected) op.fail(cat(name, " has ", found.size(), " entries, expected ", expected));
  return found;
}

// The number of tests on the longest path from each node, memoised. Reaching a node of the current path is a cycle.
class Depths {
 public:
  Depths(const OpContext& op, const std::vector<Test>& tests)
      : op_(op), tests_(tests), depths_(tests.size(), kUnvisited) {}

  std::int64_t from(std::int64_t root) {
    if (root == kLeaf) return 0;
    std::vector<std::int64_t> path = {root};
    while (!path.empty()) {
      const auto at = static_cast<std::size_t>(path.back());
      depths_[at] = kOnPath;
      std::int64_t longest = 0;
      bool ready = true;
      for (const std::int64_t next : {tests_[at].on_true, tests_[at].on_false}) {
        if (next == kLeaf) continue;
        const std::int64_t depth = depths_[next];
        if (depth == kOnPath) op_.fail("tree nodes form a cycle");
        if (depth == kUnvisited) {
          path.push_back(next);
          ready = false;
          break;
        }
        longest = std::max(longest, depth);
      }
      if (!ready) continue;
      depths_[at] = longest + 1;
      path.pop_back();
    }
    return depths_[root];
  }

 private:
  static constexpr std::int64_t kUnvisited = -1, kOnPath = -2;
  const OpContext& op_;
  const std::vector<Test>& tests_;
  std::vector<std::int64_t> depths_;
};

// The index of a node, by tree and id.
class Places {
 public:
  Places(const OpContext& op, std::span<const std::int64_t> trees, std::span<const std::int64_t> ids) {
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (!places_.emplace(std::pair(trees[i], ids[i]), static_cast<std::int64_t>(i)).second)
        op.fail(cat("node ", ids[i], " of tree ", trees[i], " is listed twice"));
  }

  std::optional<std::int64_t> find(std::int64_t tree, std::int64_t id) const {
    const auto found = places_.find({tree, id});
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  struct Hash {
    std::size_t operator()(const std::pair<std::int64_t, std::int64_t>& key) const {
      constexpr std::size_t kGolden = 0x9e3779b97f4a7c15ULL;  // 2^64 / golden ratio
      return std::hash<std::int64_t>()(key.first) * kGolden + std::hash<std::int64_t>()(key.second);
    }
  };
  std::unordered_map<std::pair<std::int64_t, std::int64_t>, std::int64_t, Hash> places_;
};

}  // namespace

Forest forest_of_nodes(const OpContext& op, std::string_view prefix) {
  const auto* modes = attribute_if<std::vector<std::string>>(op, "nodes_modes");
  if (modes == nullptr || modes->empty()) op.unknown("attribute nodes_modes is missing: the trees are not known");
  const std::size_t count = modes->size();
  const auto tree_ids = list(op, "nodes_treeids", count);
  const auto node_ids = list(op, "nodes_nodeids", count);
  const auto on_true = list(op, "nodes_truenodeids", count);
  const auto on_false = list(op, "nodes_falsenodeids", count);

  const Places places(op, tree_ids, node_ids);
  Forest forest;
  std::vector<Test> tests(count);
  std::vector<bool> is_child(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    if ((*modes)[i] == "LEAF") continue;
    ++forest.tests;
    const auto follow = [&](std::int64_t id) {
      const auto place = places.find(tree_ids[i], id);
      if (!place) op.fail(cat("node ", id, " of tree ", tree_ids[i], " does not exist"));
      is_child[*place] = true;
      return (*modes)[*place] == "LEAF" ? kLeaf : *place;
    };
    tests[i] = {follow(on_true[i]), follow(on_false[i])};
  }

  const auto weight_trees = list(op, cat(prefix, "_treeids"));
  const auto weight_nodes = list(op, cat(prefix, "_nodeids"), weight_trees.size());
  std::vector<std::int64_t> weights(count, 0);
  for (std::size_t i = 0; i < weight_trees.size(); ++i)
    if (const auto place = places.find(weight_trees[i], weight_nodes[i])) ++weights[*place];

  Depths depths(op, tests);
  struct Tree {
    std::int64_t depth = 0, weights = 0;
    bool is_rooted = false;
  };
  std::map<std::int64_t, Tree> trees;
  for (std::size_t i = 0; i < count; ++i) {
    Tree& tree = trees[tree_ids[i]];
    tree.weights = std::max(tree.weights, weights[i]);
    tree.is_rooted = tree.is_rooted || !is_child[i];
    if (is_child[i] || (*modes)[i] == "LEAF") continue;
    tree.depth = std::max(tree.depth, depths.from(static_cast<std::int64_t>(i)));
  }
  for (const auto& [id, tree] : trees) {
    if (!tree.is_rooted) op.fail(cat("the nodes of tree ", id, " form a cycle"));
    forest.depth += tree.depth;
    forest.weights += tree.weights;
  }
  return forest;
}

Forest forest_of_roots(const OpContext& op) {
  const auto roots = list(op, "tree_roots");
  const auto on_true = list(op, "nodes_truenodeids");
  if (roots.empty() || on_true.empty())
    op.unknown("attributes tree_roots and nodes_truenodeids are missing: the trees are not known");
  const std::size_t count = on_true.size();
  const auto true_leafs = list(op, "nodes_trueleafs", count);
  const auto false_leafs = list(op, "nodes_falseleafs", count);
  const auto on_false = list(op, "nodes_falsenodeids", count);

  const auto node = [&](std::int64_t index) {
    if (index < 0 || static_cast<std::size_t>(index) >= count) op.fail(cat("node ", index, " does not exist"));
    return index;
  };
  Forest forest{.tests = static_cast<std::int64_t>(count), .weights = static_cast<std::int64_t>(roots.size())};
  std::vector<Test> tests(count);
  for (std::size_t i = 0; i < count; ++i)
    tests[i] = {true_leafs[i] != 0 ? kLeaf : node(on_true[i]), false_leafs[i] != 0 ? kLeaf : node(on_false[i])};
  Depths depths(op, tests);
  for (const std::int64_t root : roots) forest.depth += depths.from(node(root));
  return forest;
}

}  // namespace pagoda::inline core::ops
