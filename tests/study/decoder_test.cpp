// Prefill and decode of models with a cache.
#include "pagoda/core/decoder.h"

#include <doctest/doctest.h>

#include "pagoda/core/memory.h"
#include "pagoda/core/model.h"
#include "pagoda/core/roofline.h"
#include "pagoda/core/traffic.h"
#include "pagoda/documents/device.h"
#include "support/files.h"
#include "support/text_graph.h"

using namespace pagoda;

namespace {

// One attention head over past and new tokens; the mask's length has its own name.
constexpr const char* kDecoder =
    "ids:i64[batch,sequence], attention_mask:i64[batch,total], past:f32[batch,2,past,8], w:f32[100,16]=const, "
    "shape:i64=[0,0,2,8] -> e = Gather(w, ids); r = Reshape(e, shape); k = Transpose(r) {perm=[0,2,1,3]}; "
    "present = Concat(past, k) {axis=2}; t = Transpose(present) {perm=[0,1,3,2]}; s = MatMul(k, t); "
    "m = Cast(attention_mask) {to=1} => s, present, m";

}  // namespace

TEST_CASE("decode adds one token to the past, prefill reads a prompt") {
  const Model model = test::graph(kDecoder);
  const Analysis analysis = analyze(model, {.batch = 3});
  const PhaseSizes decode = phase_sizes(model, analysis, {.phase = Phase::Decode, .past = 100});
  CHECK(decode.dims == Bindings{{"past", 100}, {"sequence", 1}, {"total", 101}});
  CHECK(decode.past_dim == "past");
  CHECK(decode.token_dim == "sequence");
  CHECK(decode.tokens == Dim(3));
  // Scores: batch 3, 2 heads, 1 new token against 101 tokens, 8 multiplications each.
  CHECK(bind_dims(analysis, decode.dims).totals.cost.macs == Dim(3 * 2 * 101 * 8));

  const PhaseSizes prefill = phase_sizes(model, analysis, {.phase = Phase::Prefill, .tokens = 32});
  CHECK(prefill.dims == Bindings{{"past", 0}, {"sequence", 32}, {"total", 32}});
  CHECK(prefill.tokens == Dim(96));
  CHECK(bind_dims(analysis, prefill.dims).totals.cost.macs == Dim(3 * 2 * 32 * 32 * 8));

  const PhaseSizes open = phase_sizes(model, analysis, {.phase = Phase::Prefill});
  CHECK(open.dims == Bindings{{"past", 0}});  // the prompt's length stays free
}

TEST_CASE("a past that stays free: masks follow it") {
  const Model model = test::graph(kDecoder);
  const Analysis analysis = analyze(model, {.batch = 3});
  const PhaseSizes sizes = phase_sizes(model, analysis, {.phase = Phase::Decode, .past = std::nullopt});
  CHECK(sizes.dims == Bindings{{"sequence", 1}});
  REQUIRE(sizes.masks.size() == 1);
  CHECK(sizes.masks.at("total").to_string() == "past + 1");
  const Analysis step = in_phase(analysis, sizes);
  CHECK(step.free_dims == std::vector<std::string>{"past"});
  const Analysis at_100 = in_phase(analysis, phase_sizes(model, analysis, {.phase = Phase::Decode, .past = 100}));
  CHECK(step.totals.cost.macs.bind({{"past", 100}}) == at_100.totals.cost.macs);
  CHECK(step.totals.cost.bytes().bind({{"past", 100}}) == at_100.totals.cost.bytes());
}

TEST_CASE("a mask's length as a sum of names of its own follows past and new tokens") {
  const std::string text = std::string(kDecoder).replace(std::string(kDecoder).find("total"), 5, "past_n+n");
  const Model model = test::graph(text);
  const Analysis analysis = analyze(model, {.batch = 3});
  const PhaseSizes decode = phase_sizes(model, analysis, {.phase = Phase::Decode, .past = 100});
  CHECK(decode.dims == Bindings{{"n", 1}, {"past", 100}, {"past_n", 100}, {"sequence", 1}});
  CHECK(in_phase(analysis, decode).free_dims.empty());
  const PhaseSizes open = phase_sizes(model, analysis, {.phase = Phase::Decode, .past = std::nullopt});
  CHECK(open.masks.at("past_n").to_string() == "past");
}

TEST_CASE("a state that ordinary operators bring from step to step is a cache of fixed size, as in Mamba") {
  // A convolution's last inputs and a recurrence, named as exporters pair them; an encoder's keys are computed anew.
  const Model model = test::graph(
      "x:f32[B,S,8], encoded:f32[B,E,8], past_states.0.conv_state:f32[B,8,3], past_states.0.ssm_state:f32[B,8,4], "
      "past_states.0.encoder:f32[B,E,8], w:f32[8,8]=const, a:f32[8,4]=const, from:i64[1]=[-3], "
      "to:i64[1]=[9223372036854775807], "
      "axis:i64[1]=[2], last:i64=0 -> "
      "p = MatMul(x, w); t = Transpose(p) {perm=[0,2,1]}; c = Concat(past_states.0.conv_state, t) {axis=2}; "
      "present.0.conv_state = Slice(c, from, to, axis); h = Mul(past_states.0.ssm_state, a); "
      "g = Gather(t, last) {axis=2}; u = Unsqueeze(g, axis); present.0.ssm_state = Add(h, u); "
      "present.0.encoder = MatMul(encoded, w); y = MatMul(p, w) "
      "=> y, present.0.conv_state, present.0.ssm_state, present.0.encoder");
  const Analysis open = analyze(model, {.batch = 2, .dims = {{"E", 10}}});
  const PhaseSizes sizes = phase_sizes(model, open, {.phase = Phase::Decode, .past = 100});
  CHECK(sizes.dims == Bindings{{"S", 1}});
  CHECK(sizes.past_dim.empty());
  const KvCache cache = plan_memory(model, in_phase(open, sizes)).kv_cache;
  REQUIRE(cache.pairs.size() == 2);
  CHECK(cache.bytes_per_token == Dim(0));
  const Int states = Int{2} * 8 * (3 + 4) * 4;
  CHECK(cache.shared_bytes.value() == states);
  CHECK(cache.separate_bytes.value() == 2 * states);
  CHECK(cache.written_bytes.value() == states);
  CHECK(cache.copied_bytes.value() == 0);
}

TEST_CASE("models without a cache, and sizes that contradict") {
  const Model plain = test::graph("ids:i64[batch,sequence], w:f32[100,16]=const -> y = Gather(w, ids)");
  CHECK_THROWS_WITH_AS(phase_sizes(plain, analyze(plain), {}), doctest::Contains("export it with its cache"), Error);
  const Model model = test::graph(kDecoder);
  CHECK_THROWS_AS(phase_sizes(model, analyze(model, {.dims = {{"past", 7}}}), {.past = 8}), Error);
  CHECK(phase_sizes(model, analyze(model, {.dims = {{"past", 7}}}), {.past = 7}).dims.size() == 2);
}

TEST_CASE("a flag decides which branch of a merged decoder runs") {
  const char* text =
      "x:f32[batch,seq,8], use_cache_branch:bool[1], w:f32[8,8]=const, n:f32[2] -> "
      "y = If(use_cache_branch) {then_branch=( -> a = Relu(x)), else_branch=( -> b = MatMul(x, w))}";
  const Model open = test::graph(text);
  CHECK(has_flag(open, kCacheBranch));
  CHECK_FALSE(has_flag(open, "n"));
  CHECK(analyze(open).totals.cost.macs.to_string() == "64*batch*seq");  // the costlier branch
  for (const bool cached : {true, false}) {
    Model model = test::graph(text);
    set_flag(model, kCacheBranch, cached);
    const Analysis analysis = analyze(model);
    CHECK(analysis.totals.cost.macs.to_string() == (cached ? "0" : "64*batch*seq"));
    CHECK(analysis.totals.cost.arith.to_string() == (cached ? "8*batch*seq" : "0"));
    CHECK(analysis.diagnostics.empty());
    CHECK(analysis.inputs.size() == 2);
    CHECK_THROWS_WITH_AS(set_flag(model, kCacheBranch, cached), doctest::Contains("no such input of one boolean"),
                         Error);
  }
}

TEST_CASE("a number given for an input of one element decides what it reaches") {
  const char* text =
      "x:f32[N,8], w:f32[8,8]=const, rate:i64[], scale:f32[1], k:i64=16000, half:f32=0.5 -> c = Equal(rate, k); "
      "a = If(c) {then_branch=( -> b = MatMul(x, w)), else_branch=( -> d = Relu(x))}; g = Greater(scale, half); "
      "y = If(g) {then_branch=( -> e = Exp(a)), else_branch=( -> f = Identity(a))}";
  struct Row {
    std::int64_t rate;
    double scale;
    const char *macs, *special;
  };
  const Row rows[] = {{16000, 0.75, "64*N", "8*N"}, {8000, 0.25, "0", "0"}};
  for (const Row& row : rows) {
    Model model = test::graph(text);
    CHECK(has_scalar(model, "rate"));
    CHECK_FALSE(has_scalar(model, "x"));
    CHECK_FALSE(has_flag(model, "rate"));
    set_scalar(model, "rate", Dim(row.rate));
    set_scalar(model, "scale", row.scale);
    const Analysis analysis = analyze(model);
    CHECK(analysis.totals.cost.macs.to_string() == row.macs);
    CHECK(analysis.totals.cost.special.to_string() == row.special);
    CHECK(analysis.diagnostics.empty());
    CHECK_THROWS_WITH_AS(set_scalar(model, "x", Dim(1)), doctest::Contains("give other inputs a shape"), Error);
  }
  Model model = test::graph(text);
  CHECK_THROWS_WITH_AS(set_scalar(model, "rate", 0.5), doctest::Contains("the input holds int64; give an integer"),
                       Error);
}

TEST_CASE("a merged decoder is looked at in another phase, too") {
  const char* text =
      "x:f32[batch,seq,8], past:f32[batch,past,8], use_cache_branch:bool[1], w:f32[8,8]=const -> "
      "present = Concat(past, x) {axis=1}; "
      "y = If(use_cache_branch) {then_branch=( -> a = Relu(x)), else_branch=( -> b = MatMul(x, w))} => y, present";
  Model prefill = test::graph(text);
  set_phase_flag(prefill, {.phase = Phase::Prefill});
  CHECK(analyze(prefill).totals.cost.macs.to_string() == "64*batch*seq");
  CHECK(analyze(in_other_phase(prefill, {.phase = Phase::Decode})).totals.cost.macs == Dim(0));
  CHECK(analyze(in_other_phase(test::graph(text), {.phase = Phase::Decode})).totals.cost.macs == Dim(0));
}

TEST_CASE("the branch that a stored flag selects joins the main graph") {
  const char* text =
      "x:f32[batch,seq,8], past:f32[batch,past,8], use_cache_branch:bool[1], w:f32[8,8]=const -> "
      "y, present = If(use_cache_branch) {then_branch=( -> present = Concat(past, x) {axis=1}; a = MatMul(x, w); "
      "y = Relu(a) => y, present), else_branch=( -> b = MatMul(x, w); c = Relu(b); d = Relu(x) => c, d)} => y, present";
  Model model = test::graph(text);
  CHECK_FALSE(with_branches_taken(model));  // not decided
  set_phase_flag(model, {.phase = Phase::Decode});
  const Analysis filed = analyze(model);
  const std::optional<Model> taken = with_branches_taken(model);
  REQUIRE(taken);
  const Analysis analysis = analyze(*taken);
  CHECK(analysis.totals.cost.macs == filed.totals.cost.macs);
  CHECK(analysis.totals.cost.arith == filed.totals.cost.arith);
  REQUIRE(analysis.nodes.size() == filed.nodes.size());
  // The cache is found and appended to in place, and the activation is fused into the product.
  CHECK(plan_memory(*taken, analysis).kv_cache.pairs.size() == 1);
  const Dim saved = traffic(model, filed, {.model = TrafficModel::Fused}).bytes() -
                    traffic(*taken, analysis, {.model = TrafficModel::Fused}).bytes();
  CHECK(saved.to_string() == "64*batch*past + 64*batch*seq");
  // Outputs of another name are copied by views.
  Model prefill = test::graph(text);
  set_phase_flag(prefill, {.phase = Phase::Prefill});
  const std::optional<Model> other = with_branches_taken(prefill);
  REQUIRE(other);
  CHECK(analyze(*other).totals.cost.arith == analyze(prefill).totals.cost.arith);
}

TEST_CASE("the mask of an encoder's tokens is not as long as the decoder's") {
  const Model model = test::graph(
      "x:f32[batch,seq,8], encoder_attention_mask:i64[batch,encoder], past:f32[batch,past,8], "
      "keys:f32[batch,encoder,8], one:i64=[1] -> present = Concat(past, x) {axis=1}; t = Transpose(keys) "
      "{perm=[0,2,1]}; "
      "s = MatMul(x, t); m = Cast(encoder_attention_mask) {to=1}; u = Unsqueeze(m, one); y = Add(s, u) "
      "=> present, y");
  const PhaseSizes sizes = phase_sizes(model, analyze(model), {.past = 600});
  CHECK(sizes.dims.contains("past"));
  CHECK_FALSE(sizes.dims.contains("encoder"));
}

TEST_CASE("keys that a decoder takes from its encoder are part of the cache, and do not grow") {
  const Model model = test::graph(
      "x:f32[batch,2,seq,8], past_0:f32[batch,2,past,8], past_0_encoder:f32[batch,2,encoder,8] -> "
      "present_0 = Concat(past_0, x) {axis=2}; t = Transpose(past_0_encoder) {perm=[0,1,3,2]}; y = MatMul(x, t) "
      "=> present_0, y");
  const KvCache cache = plan_memory(model, analyze(model)).kv_cache;
  CHECK(cache.pairs.size() == 1);
  CHECK(cache.bytes_per_token == Dim::parse("64*batch"));
  CHECK(cache.fixed_bytes == Dim::parse("64*batch*encoder"));
  CHECK(cache.shared_bytes == Dim::parse("64*batch*(past + seq) + 64*batch*encoder"));
}

TEST_CASE("a buffer that keeps a window has the window's rows in every phase") {
  const Model model = test::graph(
      "q:f16[batch,seq,128], a:f16[batch,2,past,16], b:f16[batch,2,past,16], c:f16[batch,2,sliding,16], "
      "d:f16[batch,2,sliding,16], mask:i64[batch,total] -> s = Shape(mask) {start=1}; t = Cast(s) {to=6}; "
      "l = ReduceSum(mask) {keepdims=0}; n = Cast(l) {to=6}; "
      "x, pa, pb = com.microsoft.GroupQueryAttention(q, , , a, b, n, t) {num_heads=4, kv_num_heads=2}; "
      "y, pc, pd = com.microsoft.GroupQueryAttention(q, , , c, d, n, t) {num_heads=4, kv_num_heads=2, "
      "local_window_size=128, sliding_window_cache=1} => x, y, pa, pb, pc, pd");
  const Analysis open = analyze(model, {.batch = 1});
  for (const std::int64_t past : {0, 600}) {
    const PhaseSizes sizes = phase_sizes(model, open, {.phase = Phase::Prefill, .tokens = 8, .past = past});
    CHECK(sizes.dims.at("sliding") == 128);
    CHECK(sizes.dims.at("past") == past);
    const KvCache cache = plan_memory(model, in_phase(open, sizes)).kv_cache;
    CHECK(cache.bytes_per_token == Dim(2 * 2 * 16 * 2));
    CHECK(cache.shared_bytes == Dim((past + 8 + 128) * 2 * 2 * 16 * 2));
  }
}

TEST_CASE("a buffer that keeps a window is read as far as it is full, also where every cache keeps one") {
  // 2 heads of 16 in float16, a window of 128.
  const Model model = test::graph(
      "q:f16[batch,seq,128], c:f16[batch,2,sliding,16], d:f16[batch,2,sliding,16], n:i32[batch], "
      "mask:i64[batch,total] -> s = Shape(mask) {start=1}; t = Cast(s) {to=6}; "
      "y, pc, pd = com.microsoft.GroupQueryAttention(q, , , c, d, n, t) {num_heads=4, kv_num_heads=2, "
      "local_window_size=128, sliding_window_cache=1} => y, pc, pd");
  const std::int64_t batch = 3, window = 128, row = 2 * 2 * 16 * 2;  // keys and values
  const Analysis any = analyze(model);
  const Analysis some = analyze(model, {.batch = batch});
  for (const std::int64_t tokens : {1, 5, 300})
    for (const std::int64_t past : {0, 1, 126, 127, 128, 129, 5000}) {
      CAPTURE(tokens);
      CAPTURE(past);
      const PhaseOptions options{.phase = Phase::Decode, .tokens = tokens, .past = past};
      const Analysis first = in_phase(some, phase_sizes(model, some, options));
      const Analysis afterwards = bind_dims(in_phase(any, phase_sizes(model, any, options)), {{"batch", batch}});
      std::int64_t pairs = 0;
      for (std::int64_t query = 1; query <= tokens; ++query) pairs += std::min(past + query, window);
      const std::int64_t read = batch * row * std::min(past, window - 1);
      const std::int64_t written = batch * row * std::min(tokens, window);
      // Queries, keys and values of the new tokens, one length for each sequence; results.
      const std::int64_t others = batch * tokens * 128 * 2 + batch * 4, results = batch * tokens * 64 * 2;
      for (const Analysis* step : {&first, &afterwards}) {
        const OpCost& cost = step->nodes.back().cost;
        CHECK(cost.macs == Dim(batch * 4 * pairs * 2 * 16));
        CHECK(cost.bytes_read == Dim(others + read));
        CHECK(cost.bytes_written == Dim(results + written));
      }
      CHECK(traffic(model, first, {.model = TrafficModel::Fused}).bytes() ==
            traffic(model, afterwards, {.model = TrafficModel::Fused}).bytes());
      // The buffer holds the window's rows, whatever came before.
      CHECK(plan_memory(model, first).kv_cache.shared_bytes == Dim(batch * row * window));
    }
  // A past that is left free is a size of its own.
  const PhaseSizes open = phase_sizes(model, some, {.phase = Phase::Decode, .past = std::nullopt});
  CHECK(open.past_dim == "past");
  const Analysis step = bind_dims(in_phase(some, open), {{"past", 100}});
  CHECK(step.nodes.back().cost.bytes_read == Dim(batch * (128 * 2 + 4) + batch * row * 100));
}

TEST_CASE("a cache in pages holds whole pages of past and new tokens") {
  const Model model = test::graph(
      "q:f16[T,64], k:f16[T,32], v:f16[T,32], a:f16[N,16,2,16], b:f16[N,16,2,16], c:i32[C], p:i32[S], t:i32[S,M] -> "
      "y, pk, pv = com.microsoft.PagedAttention(q, k, v, a, b, c, p, t) {num_heads=4, kv_num_heads=2} => y, pk, pv");
  const Analysis open = analyze(model, {.dims = {{"S", 5}}});
  const PhaseSizes decode = phase_sizes(model, open, {.phase = Phase::Decode, .past = 32});
  CHECK(decode.dims == Bindings{{"T", 5}, {"M", 3}, {"N", 15}});  // 33 tokens: 3 pages of 16
  CHECK(decode.tokens == Dim(5));
  const Analysis step = in_phase(open, decode);
  // Keys and values of 15 pages of 16 tokens, 2 heads of 16, 2 bytes.
  CHECK(plan_memory(model, step).kv_cache.shared_bytes == Dim(2 * 15 * 16 * 2 * 16 * 2));
  const PhaseSizes prefill = phase_sizes(model, open, {.phase = Phase::Prefill, .tokens = 16});
  CHECK(prefill.dims == Bindings{{"T", 80}, {"M", 1}, {"N", 5}});
  const PhaseSizes free = phase_sizes(model, open, {.phase = Phase::Decode, .past = std::nullopt});
  CHECK(free.past_dim == "M");
  CHECK(free.tokens_per_past == 16);
  CHECK(free.masks.at("N").to_string() == "5*M");
  const Analysis any = analyze(model);  // sequences that stay open
  CHECK(phase_sizes(model, any, {.phase = Phase::Decode, .past = 32}).masks.at("N").to_string() == "3*S");
}

TEST_CASE("tables that positions look up, by where their index comes from") {
  const auto table = [](const char* text) {
    const Model model = test::graph(text);
    return position_table(model, analyze(model));
  };
  // Tokens index the first table, positions the second one, behind two reserved rows.
  const auto learned = table(
      "ids:i64[B,S], position_ids:i64[B,S], w:f32[100,16]=const, p:f32[66,16]=const, two:i64=2 -> "
      "e = Gather(w, ids); i = Add(position_ids, two); q = Gather(p, i); y = Add(e, q)");
  REQUIRE(learned);
  CHECK(learned->positions == 64);
  CHECK(learned->name == "p");
  // A logarithm bounds the buckets of relative positions.
  CHECK_FALSE(
      table("position_ids:i64[B,S], r:f32[32,8]=const -> f = Cast(position_ids) {to=1}; l = Log(f); "
            "i = Cast(l) {to=7}; y = Gather(r, i)"));
  CHECK_FALSE(table("ids:i64[B,S], w:f32[100,16]=const -> y = Gather(w, ids)"));
  const auto rotated = table(
      "opset=23: x:f32[B,4,S,16], c:f32[512,8]=const, s:f32[512,8]=const, position_ids:i64[B,S] -> "
      "y = RotaryEmbedding(x, c, s, position_ids)");
  REQUIRE(rotated);
  CHECK(rotated->positions == 512);
  // Whisper's decoder takes rows from the length of its cache on.
  const char* const cut =
      "ids:i64[B,S], past:f32[B,4,P,8], x:f32[B,S,16], p:f32[448,16]=const, one:i64=1, two:i64=2, from:i64[1]=[0], "
      "axis:i64[1]=[AXIS] -> a = Shape(ids); s = Gather(a, one); b = Shape(past); h = Gather(b, two); t = Add(s, h); "
      "e = Unsqueeze(t, from); f = Unsqueeze(h, from); q = Slice(p, f, e, axis); y = Add(x, q)";
  const auto along = [&](const char* axis) {
    return table(std::string(cut).replace(std::string(cut).find("AXIS"), 4, axis).c_str());
  };
  REQUIRE(along("0"));
  CHECK(along("0")->positions == 448);
  CHECK_FALSE(along("1"));  // columns
}

// --- decode with caches as engines keep them ---

namespace {

Model skeleton(const char* name) {
  return load_model(test::source_path("models/skeletons/" + std::string(name) + ".onnx"));
}

struct Step {
  Analysis analysis;
  Traffic fused;
  RooflineTotals time;
  MemoryPlan memory;
};

Step decode_step(const char* name, const char* device, std::int64_t batch, std::int64_t past) {
  const Model model = skeleton(name);
  const Analysis free = analyze(model, {.batch = batch});
  Step step;
  step.analysis = in_phase(free, phase_sizes(model, free, {.phase = Phase::Decode, .past = past}));
  step.fused = traffic(model, step.analysis, {.model = TrafficModel::Fused});
  step.time = roofline(step.analysis, step.fused, documents::device(device)).totals;
  step.memory = plan_memory(model, step.analysis, {.reorder = false, .arena = false});
  return step;
}

}  // namespace

TEST_CASE("a step of grouped-query decode reads its cache once and writes one token") {
  const Step step = decode_step("llama_genai_int4", "h100-sxm", 16, 131072);
  // 6 layers, keys and values, 16 sequences, 3 heads of 64 in float32.
  const double token = 6.0 * 2 * 16 * 3 * 64 * 4;
  const double cache = token * 131072;
  CHECK(step.time.seconds > cache / 3352e9);
  CHECK(step.time.seconds < 5.85e-3);
  CHECK(step.time.floor_seconds > 5.7e-3);
  CHECK(step.time.floor_seconds <= step.time.seconds);
  CHECK(step.fused.bytes_written.value().value() < 10'000'000);
  // One buffer for past and present, and little more.
  CHECK(step.memory.peak_bytes > static_cast<Int>(cache + token));
  CHECK(step.memory.peak_bytes < static_cast<Int>(cache + token + 20e6));
  CHECK(step.analysis.totals.activation_peak_bytes->value() == step.memory.peak_bytes);
}

TEST_CASE("a decoder that concatenates its cache is bound by reading it once, as engines that append run it") {
  const Step step = decode_step("gpt2_past", "a100-80gb", 16, 4096);
  // 12 layers, keys and values, 16 sequences, 768 channels in float32; the 498 MB of
  // weights include the vocabulary projection.
  const double token = 12.0 * 2 * 16 * 768 * 4;
  const double cache = token * 4096;
  CHECK(step.time.floor_seconds > (cache + 400e6) / 2039e9);
  CHECK(step.time.seconds < 1.2 * step.time.floor_seconds);
  // The additional traffic of a copy: the past is read and written again.
  CHECK(step.memory.kv_cache.copied_bytes == Dim(static_cast<std::int64_t>(2 * cache)));
  CHECK(step.memory.kv_cache.shared_bytes == Dim(static_cast<std::int64_t>(cache + token)));
  CHECK(step.memory.kv_cache.separate_bytes == Dim(static_cast<std::int64_t>(2 * cache + token)));
}
