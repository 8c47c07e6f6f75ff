// Parallel convolutions that are one convolution: RepVGG, MobileOne, FastViT and others are trained with branches, each
// a convolution or a norm of the same tensor, and merge them by adding up their weights before they run.
#pragma once

#include <cstdint>
#include <vector>

#include "pagoda/core/analysis.h"

namespace pagoda::inline core {

struct MergedBranches {
  std::int32_t root = -1;           // the node that gives the sum
  std::int32_t convolution = -1;    // the node with the largest window: its kernel is that of the merged convolution
  std::vector<std::int32_t> parts;  // all nodes, with these two
  std::int64_t convolutions = 0;    // among the parts
};

// The sums of the main graph. A sum of one convolution and its own operand does not count: networks that encode
// positions in this way run both apart.
std::vector<MergedBranches> find_merged_branches(const Model& model, const Analysis& analysis);

}  // namespace pagoda::inline core
