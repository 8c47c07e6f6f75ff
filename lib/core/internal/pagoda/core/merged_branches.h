// The merged form of a network with parallel branches: RepVGG, MobileOne, FastViT and others are trained with
// convolutions and norms of the same tensor that add up, and become one convolution each, whose weights are their sum,
// before they run.
//
//   Model model = load_model("mobileone_s0.onnx");
//   std::optional<MergedForm> merged = merged_form(model, analyze(model));
//   analyze(merged->model);   // a Conv with a bias in place of each sum
//
// Branches are linear and have one source, one stride and one number of groups; the largest window covers the others,
// and nothing else reads what they compute. The sum of one convolution and its own operand does not count: networks
// that encode positions in this way run both apart.
#pragma once

#include <cstdint>
#include <optional>

#include "pagoda/core/analyze.h"
#include "pagoda/core/graph.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

struct MergedForm {
  Model model;
  std::int64_t blocks = 0;  // sums that are one Conv now; its weight stands for theirs, its bias has no values
};

// Of the main graph. Empty if no branches can be merged.
std::optional<MergedForm> merged_form(const Model& model, const Analysis& analysis);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
