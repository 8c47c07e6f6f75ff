#include "pagoda/estimate/engine_memory.h"

#include <algorithm>

#include "describe.h"
#include "pagoda/core/placement.h"
#include "pagoda/documents/provider.h"

namespace pagoda::estimate {
namespace {

// A pool taken before the first request. Weights and the activations of the step come off; what a profiling run of
// more tokens and the driver take is not known. See docs/memory.md for published logs.
EngineFit serving_memory(const EstimateRequest& request, const EstimateDocument& estimate) {
  const EstimateFit& fit = *estimate.fit;
  EngineFit engine;
  engine.engine = request.engine->engine;
  engine.weight_bytes = fit.weight_bytes;
  if (!fit.device_bytes) return engine;
  engine.pool_bytes = engine.total_bytes = Count(*fit.device_bytes * kPoolPercent / 100);
  if (!fit.weight_bytes || !fit.activation_bytes) return engine;
  const Int left = *engine.pool_bytes - *fit.weight_bytes - *fit.activation_bytes;
  engine.cache_bytes = std::max(left, Int{0});
  if (!estimate.cannot_run.empty()) return engine;
  const auto& phase = estimate.phase;
  if (!phase || !phase->cache_bytes_per_token || !phase->sequence_tokens || !phase->tokens) return engine;
  if (*phase->tokens <= 0 || *phase->sequence_tokens <= 0 || *phase->cache_bytes_per_token <= 0) return engine;
  const Int sequences = *phase->tokens / *phase->sequence_tokens;
  const Int block_bytes = kBlockTokens * *phase->cache_bytes_per_token / std::max(sequences, Int{1});
  if (block_bytes <= 0) return engine;
  const Int context = request.phase->past.value_or(0) + *phase->sequence_tokens;
  engine.blocks = *engine.cache_bytes / block_bytes;
  engine.tokens = *engine.blocks * kBlockTokens;
  engine.context = context;
  engine.users = *engine.blocks / ((context + kBlockTokens - 1) / kBlockTokens);
  return engine;
}

// The engine file holds the weights; the context adds one block for activations. Workspaces depend on the kernels that
// the builder times.
EngineFit tensorrt_memory(const EstimateRequest& request, const EstimateDocument& estimate) {
  const EstimateFit& fit = *estimate.fit;
  EngineFit engine;
  engine.engine = request.engine->engine;
  engine.weight_bytes = fit.weight_bytes;
  engine.total_bytes = (fit.weight_bytes + fit.activation_bytes).at_least();
  return engine;
}

}  // namespace

std::optional<EngineFit> engine_memory(const EstimateRequest& request, const EstimateDocument& estimate) {
  if (!predicts(request) || !estimate.fit || request.parallel || request.training) return std::nullopt;
  const std::string& engine = request.engine->engine;
  if (engine == "llm-serving") return serving_memory(request, estimate);
  if (engine == "tensorrt") return tensorrt_memory(request, estimate);
  return std::nullopt;
}

std::vector<std::int64_t> arena_weights_of(const Model& model, const EstimateRequest& request,
                                           const Analysis& analysis) {
  const auto weights = [&](const Provider& provider) {
    return place(model, analysis, provider, {.form = request.placement_form}).weight_bytes;
  };
  for (const Provider& each : request.providers)
    if (!each.arena_of.empty()) return weights(each);
  if (!predicts(request) || request.engine->engine != "onnxruntime-cuda") return {};
  return weights(find_provider("cuda"));
}

}  // namespace pagoda::estimate
