// Binds the sizes of the model's inputs: named dims, full shapes, the batch.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/analysis.h"
#include "pagoda/core/diagnostic.h"

namespace pagoda::inline core {

struct BoundInputs {
  std::vector<TensorType> types;  // one per graph input
  AnalyzeOptions options;         // the caller's, with all bindings in `dims`
  std::optional<FixedSizes> fixed;
  Bindings bindings;                      // bound sizes, by dim name
  Bindings bind_last;                     // bound only after the walk: symbols of fixed sizes
  Bindings asked;                         // the requested sizes in place of fixed ones, by dim name
  Bindings units;                         // symbols that count an asked size in units: the size of one
  std::map<std::string, int> input_dims;  // free dims → order of first appearance
  std::map<std::string, Dim> assumed;     // free dims assumed to be formulas of the others
  std::map<std::string, std::string> renamed;
  std::vector<Diagnostic> diagnostics;
};

// The free dims that are the batch: those named so, in formulas too; failing that, each input's batch dim as determined
// by operators; failing that, the first dim of each input, unless its name says that it counts tokens, nodes or the
// like.
std::vector<std::string> batch_symbols(const Graph& graph, const std::vector<TensorType>& inputs);

// Whether exporters and users use this name for the batch dim.
bool names_batch(std::string_view name);

// The batch axis of each input, where operators determine it: recurrent ones read [sequence, batch, features].
std::vector<std::optional<std::size_t>> batch_axes(const Graph& graph);

// Throws Error where options contradict each other or the model.
BoundInputs bind_inputs(const Model& model, const AnalyzeOptions& options);

}  // namespace pagoda::inline core
