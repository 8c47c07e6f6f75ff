// What an engine takes of a device's memory, other than the arena of a provider, which placements have.
//
//   documents::EngineFit taken = *engine_memory(request, estimate);   // of llm-serving or tensorrt
//   taken.pool_bytes;                                      // before the first request
#pragma once

#include <optional>

#include "pagoda/estimate/make_estimate.h"

#pragma GCC visibility push(default)
namespace pagoda::estimate {

// vLLM's defaults: gpu_memory_utilization and block_size (vllm/config/cache.py).
inline constexpr int kPoolPercent = 90, kBlockTokens = 16;

// Under the request's engine: the pool of a serving engine, or TensorRT's engine file with its activations. `estimate`:
// with its fit and phase. Empty: nothing is known of the engine.
std::optional<documents::EngineFit> engine_memory(const EstimateRequest& request,
                                                  const documents::EstimateDocument& estimate);

}  // namespace pagoda::estimate
#pragma GCC visibility pop
