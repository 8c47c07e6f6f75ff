// The shape of decision trees as ai.onnx.ml stores them: parallel lists of nodes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pagoda/core/rule.h"

namespace pagoda::inline core::ops {

// One tree of an ensemble.
struct Tree {
  std::int64_t depth = 0;    // tests on the longest path from the root to a leaf
  std::int64_t weights = 0;  // the most weights that a leaf adds
};

struct Forest {
  std::vector<Tree> trees;
  std::int64_t tests = 0;  // nodes that test a feature

  std::int64_t depth() const;    // Σ over the trees
  std::int64_t weights() const;  // Σ over the trees
};

// TreeEnsembleClassifier and -Regressor: nodes_treeids, nodes_nodeids, nodes_truenodeids, nodes_falsenodeids,
// nodes_modes; the weights of leaves under `prefix` ("class" or "target") in …_treeids and …_nodeids.
// Ends the rule if the lists do not form trees.
Forest forest_of_nodes(const OpContext& op, std::string_view prefix);

// TreeEnsemble: tree_roots, nodes_trueleafs, nodes_truenodeids, nodes_falseleafs, nodes_falsenodeids. Every leaf adds
// one weight.
Forest forest_of_roots(const OpContext& op);

}  // namespace pagoda::inline core::ops
