// Memory that a run of a model needs on a device, and the largest size that still fits.
//
//   Model model = load_model("resnet50.onnx");
//   MemoryNeed need = memory_need(model, analyze(model, {.batch = 8}));
//   need.total();                                     // weights + activations + cache
//   Analysis open = analyze(model, {.symbolic_batch = true});
//   largest_size(model, open, axis_symbols(model, open, "batch"), 24'000'000'000);  // the largest batch in 24 GB
//
// Only the model's tensors count: weights, the activations alive at their peak (see plan_memory), the key-value cache
// with the new tokens, and in training also gradients, master weights and optimizer states. An engine's workspace and
// allocator overhead come on top, so a model that does not fit here never fits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/core/analysis.h"
#include "pagoda/core/graph.h"
#include "pagoda/core/train.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// Bytes. Activations exclude the cache.
struct MemoryNeed {
  Int weights = 0, cache = 0, gradients = 0, optimizer = 0;
  std::optional<Int> activations;  // empty: not known
  bool at_least = false;           // some tensor's size is not known or up to the data: the total is a lower bound
  std::optional<Int> most;         // if it is up to the data alone, the largest total; empty: not known

  Int total() const { return weights + activations.value_or(0) + cache + gradients + optimizer; }
  // Whether the total is within `bytes`; empty where either is not known well enough.
  std::optional<bool> fits(const std::optional<Int>& bytes) const;
};

// Free dims missing in `bindings` are 1. With `training`, the need of a training step, whose activations are those at
// its peak.
MemoryNeed memory_need(const Model& model, const Analysis& analysis, const Training* training = nullptr,
                       const Bindings& bindings = {});

// Whether a formula depends on a size that the data decide: with that size taken as 1, its value is a lower bound.
bool depends_on_data(const Dim& dim, const std::vector<Symbol>& symbols);

// The same total as a formula for all sizes: weights plus the activation peak, cache included. Empty where the formula
// of the peak is too complex.
std::optional<Dim> memory_formula(const Model& model, const Analysis& analysis);

// The largest common size of the dims in `symbols` with which a run needs at most `bytes`; 0 where even size 1 needs
// more. Empty where the need does not grow with them, or is only a lower bound.
std::optional<std::int64_t> largest_size(const Model& model, const Analysis& analysis,
                                         const std::vector<std::string>& symbols, Int bytes,
                                         const Training* training = nullptr);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
