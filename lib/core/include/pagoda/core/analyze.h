// The analysis of a model: types of all values, cost of every node, totals.
//
//   Model model = load_model("resnet50.onnx");
//   Analysis analysis = analyze(model, {.batch = 8});
//   analysis.totals.cost.macs;   // exact; a formula where dims are free
#pragma once

#include "pagoda/core/analysis.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// Throws Error for contradictory bindings, cycles and anything else that makes the whole model unusable.
Analysis analyze(const Model& model, const AnalyzeOptions& options = {});

}  // namespace pagoda::inline core
#pragma GCC visibility pop
