// Memory: what a run of a model needs on a device, and the largest size with which it still fits.
//
//   Model model = load_model("resnet50.onnx");
//   MemoryNeed need = memory_need(model, analyze(model, {.batch = 8}));
//   need.total();                                     // weights + activations + cache
//   Analysis open = analyze(model, {.symbolic_batch = true});
//   largest_size(model, open, axis_symbols(model, open, "batch"), 24'000'000'000);  // the largest batch in 24 GB
//
// Counted are the tensors of the model: weights, the activations alive at their peak (see plan_memory), the key-value
// cache with the new tokens, and in training gradients, master weights and the optimizer's states. An engine's
// workspace and its allocator come on top, so that what does not fit here fits nowhere.
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

// Bytes. Activations are counted without the cache.
struct MemoryNeed {
  Int weights = 0, cache = 0, gradients = 0, optimizer = 0;
  std::optional<Int> activations;  // empty: not known
  bool at_least = false;           // some tensor's size is not known: the total is a lower bound

  Int total() const { return weights + activations.value_or(0) + cache + gradients + optimizer; }
  // Whether the total is within `bytes`; empty where either is not known well enough.
  std::optional<bool> fits(const std::optional<Int>& bytes) const;
};

// Free dims that `bindings` leave out are 1. With `training` of the step, whose activations are those of its peak.
MemoryNeed memory_need(const Model& model, const Analysis& analysis, const Training* training = nullptr,
                       const Bindings& bindings = {});

// The same total for all sizes: weights, and the activations at their peak with the cache. Empty where that peak is too
// complex a formula.
std::optional<Dim> memory_formula(const Model& model, const Analysis& analysis);

// The largest size of the dims that `symbols` name, all alike, with which a run needs at most `bytes`; 0 where not even
// 1 does. Empty where the need does not grow with them, or is only a lower bound.
std::optional<std::int64_t> largest_size(const Model& model, const Analysis& analysis,
                                         const std::vector<std::string>& symbols, Int bytes,
                                         const Training* training = nullptr);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
