// Memory of a run, from the tensors only, and the largest sizes that fit.
#include "pagoda/core/fit.h"

#include <doctest/doctest.h>

#include "pagoda/core/analyze.h"
#include "pagoda/core/decoder.h"
#include "pagoda/core/memory.h"
#include "pagoda/core/model.h"
#include "pagoda/core/sweep.h"
#include "support/files.h"
#include "support/text_graph.h"

namespace pagoda {
namespace {

// x, h and y take 4·64·N, 4·128·N and 4·32·N bytes; first x and h are alive, then h and y.
constexpr const char* kMlp =
    "x:f32[N,64], w:f32[64,128]=const, v:f32[128,32]=const -> h = MatMul(x, w); y = MatMul(h, v)";
constexpr Int kWeights = 4 * (64 * 128 + 128 * 32), kItem = 4 * (64 + 128);

}  // namespace

TEST_CASE("a run needs its weights and its activations at their peak") {
  const Model model = test::graph(kMlp);
  const MemoryNeed need = memory_need(model, analyze(model, {.batch = 8}));
  CHECK(need.weights == kWeights);
  CHECK(need.activations == 8 * kItem);
  CHECK(need.total() == kWeights + 8 * kItem);
  CHECK_FALSE(need.at_least);
  CHECK(memory_need(model, analyze(model), nullptr, {{"N", 8}}).total() == need.total());
}

TEST_CASE("the largest size is the last that fits") {
  const Model model = test::graph(kMlp);
  const Analysis open = analyze(model, {.symbolic_batch = true});
  const std::vector<std::string> symbols = axis_symbols(model, open, "batch");
  CHECK(largest_size(model, open, symbols, kWeights + 1000 * kItem) == 1000);
  CHECK(largest_size(model, open, symbols, kWeights + 1001 * kItem - 1) == 1000);
  CHECK(largest_size(model, open, symbols, kWeights + kItem) == 1);
  CHECK(largest_size(model, open, symbols, kWeights) == 0);
  CHECK_FALSE(largest_size(model, open, {"no_such_dim"}, kWeights + 2 * kItem));
}

TEST_CASE("a training step needs gradients and the optimizer's states as well") {
  const Model model = test::graph(kMlp);
  const Analysis analysis = analyze(model, {.batch = 8});
  const Training step = train(model, analysis, {.optimizer = Optimizer::Adam});
  const MemoryNeed need = memory_need(model, analysis, &step);
  CHECK(need.weights == kWeights);
  CHECK(need.gradients == kWeights);
  CHECK(need.optimizer == 2 * kWeights);
  CHECK(need.total() == *step.memory.peak_bytes()->value());
}

TEST_CASE("a tensor of unknown size makes the need a lower bound: it can exceed a device, and never fits") {
  const Model model = test::graph("x:f32[8,64], w:f32[64,128]=const -> h = MatMul(x, w); y = my.domain.Secret(h)");
  const MemoryNeed need = memory_need(model, analyze(model));
  CHECK(need.at_least);
  CHECK_FALSE(need.fits(Int{1} << 40).has_value());
  CHECK(need.fits(Int{1}) == false);
  CHECK_FALSE(need.fits(std::nullopt).has_value());
  CHECK_FALSE(largest_size(model, analyze(model), {"no_such_dim"}, Int{1} << 40));
}

TEST_CASE("the cache of a decoder is counted with the new token, apart from the activations") {
  const Model model = load_model(test::source_path("models/skeletons/gpt2_past.onnx"));
  const Analysis analysis = analyze(model, {.batch = 2});
  const Analysis decode =
      in_phase(analysis, phase_sizes(model, analysis, {.phase = Phase::Decode, .tokens = 1, .past = 99}));
  const MemoryNeed need = memory_need(model, decode);
  // Keys and values of 12 layers, 12 heads of 64, float32, for 100 tokens of 2 sequences.
  CHECK(need.cache == 2 * 12 * 12 * 64 * 4 * 100 * 2);
  CHECK(need.total() == *decode.totals.weight_bytes.value() + decode.totals.activation_peak_bytes->evaluate({}));
}

TEST_CASE("memory that is up to the data fits if its upper bound does, and is no largest size") {
  const Model model = test::graph("x:f32[N,4] -> i = NonZero(x)");
  const Analysis analysis = analyze(model, {.batch = 4});
  const MemoryNeed need = memory_need(model, analysis);
  CHECK(need.at_least);
  CHECK(need.total() == 4 * 16 + 8 * 2);    // one position
  CHECK(need.most == 4 * 16 + 8 * 2 * 16);  // all 16
  CHECK(need.fits(need.most) == true);
  CHECK_FALSE(need.fits(*need.most - 1).has_value());
  CHECK(need.fits(need.total() - 1) == false);
  const Analysis open = analyze(model, {.symbolic_batch = true});
  CHECK_FALSE(largest_size(model, open, axis_symbols(model, open, "batch"), 1'000'000).has_value());
  const Analysis assumed = analyze(model, {.batch = 4, .assumed = {{"nonzero", 3}}});
  CHECK_FALSE(memory_need(model, assumed).at_least);
}

}  // namespace pagoda
