// The memory that serving engines and TensorRT take, against published logs.
#include "pagoda/estimate/engine_memory.h"

#include <doctest/doctest.h>

#include <string>

#include "pagoda/core/model.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/engines.h"
#include "support/files.h"
#include "support/text_graph.h"

using namespace pagoda;

namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

// Blocks of 16 tokens at the start of vLLM with its default share of 0.9, one GPU, 16 bits.
struct Published {
  const char* device;
  double weight_gib;             // as the log states, else of the parameters
  std::int64_t bytes_per_token;  // 2 × layers × heads of keys and values × size of a head × 2
  std::int64_t blocks;
  double error;  // at most, of ours
  const char* source;
};
// clang-format off
constexpr Published kPublished[] = {
    {"h100-sxm",  14.96, 131072, 27284, 0.08, "vllm-project/vllm#10511: Llama-3-8B, 53.29 GiB for the cache"},
    {"a100-80gb", 12.55, 524288,  7449, 0.08, "vllm-project/vllm#2031: Llama-2-7B, before"},
    {"a100-80gb", 12.55, 524288,  7351, 0.08, "vllm-project/vllm#2031: Llama-2-7B, after"},
    {"l40s",       6.15,  65536, 33660, 0.08, "a log of vLLM 0.7.2, granite-3.1-3b-a800m, 131.48 requests of 4,096 tokens"},
    // What a profiling run and the driver take, 1.6 GB, is a large part of so small a device.
    {"t4",        5.7915, 36864, 10533, 0.33, "a log on Colab, Qwen2.5-3B-Instruct, 41.14 requests of 4,096 tokens"},
};
// clang-format on

}  // namespace

TEST_CASE("blocks of a serving engine are near those that vLLM logged") {
  for (const Published& each : kPublished) {
    CAPTURE(each.source);
    estimate::EstimateRequest request{.device = documents::find_device(each.device)};
    estimate::set_prediction("llm-serving", "", request);
    request.phase = PhaseOptions{.phase = Phase::Decode, .past = 4000};
    documents::EstimateDocument estimate;
    documents::EstimateFit& fit = estimate.fit.emplace();
    fit.device_bytes = request.device->memory_bytes();
    fit.weight_bytes = static_cast<Int>(each.weight_gib * kGiB);
    fit.activation_bytes = Int{0};
    documents::EstimatePhase& phase = estimate.phase.emplace();
    phase.tokens = Int{8};  // of eight sequences
    phase.sequence_tokens = Int{1};
    phase.cache_bytes_per_token = Int{8 * each.bytes_per_token};
    const documents::EngineFit taken = *estimate::engine_memory(request, estimate);
    REQUIRE(taken.blocks);
    const double ratio = static_cast<double>(*taken.blocks) / static_cast<double>(each.blocks);
    CHECK(ratio == doctest::Approx(1).epsilon(each.error));
    CHECK(*taken.pool_bytes == *fit.device_bytes * 9 / 10);
    CHECK(*taken.tokens == 16 * *taken.blocks);
    CHECK(*taken.users == *taken.blocks / 251);  // 4,001 tokens
  }
}

TEST_CASE("TensorRT's memory is a lower bound, other engines have none, and a pool too small holds nothing") {
  const Model model = test::graph("x:f32[64,512], w:f32[512,512]=const -> y = MatMul(x, w)");
  estimate::EstimateRequest request{.device = documents::find_device("t4")};
  CHECK_FALSE(estimate::make_estimate(model, request).fit->engine);
  estimate::set_prediction("tensorrt", "", request);
  const documents::EstimateDocument estimate = estimate::make_estimate(model, request);
  REQUIRE(estimate.fit->engine);
  CHECK(estimate.fit->engine->weight_bytes == documents::Count(512 * 512 * 2));
  CHECK(estimate.fit->engine->total_bytes.is_at_least());
  CHECK_FALSE(estimate.fit->engine->workspace_bytes);
  estimate::EstimateRequest serving{.device = documents::find_device("t4")};
  estimate::set_prediction("llm-serving", "", serving);
  documents::EstimateDocument large = estimate;
  large.fit->weight_bytes = Int{1} << 40;
  CHECK(estimate::engine_memory(serving, large)->cache_bytes == documents::Count(0));
}
