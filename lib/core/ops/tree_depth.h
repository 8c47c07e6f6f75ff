// The shape of decision trees as ai.onnx.ml stores them: parallel lists of nodes.
#pragma once

#include <cstdint>

#include "pagoda/core/rule.h"

namespace pagoda::inline core::ops {

struct Forest {
  std::int64_t tests = 0;    // nodes that test a feature
  std::int64_t depth = 0;    // Σ over the trees: tests on the longest path from the root to a leaf
  std::int64_t weights = 0;  // Σ over the trees: the most weights that a leaf adds
};

// TreeEnsembleClassifier and -Regressor: nodes_treeids, nodes_nodeids, nodes_truenodeids, nodes_falsenodeids,
// nodes_modes; the weights of leaves under `prefix` ("class" or "target") in …_treeids and …_nodeids.
// Ends the rule if the lists do not form trees.
Forest forest_of_nodes(const OpContext& op, std::string_view prefix);

// TreeEnsemble: tree_roots, nodes_trueleafs, nodes_truenodeids, nodes_falseleafs, nodes_falsenodeids. Every leaf adds
// one weight.
Forest forest_of_roots(const OpContext& op);

}  // namespace pagoda::inline core::ops
