// The work of one of several devices: against the analysis of a graph written with that device's sizes, against closed
// forms of published configurations, and by properties that hold for every split.
#include "pagoda/core/parallel.h"

#include <doctest/doctest.h>

#include <string>

#include "pagoda/base/text.h"
#include "pagoda/core/analyze.h"
#include "pagoda/core/decoder.h"
#include "pagoda/core/fit.h"
#include "pagoda/core/memory.h"
#include "pagoda/core/model.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/make_estimate.h"
#include "pagoda/present/report.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "support/sometimes.h"
#include "support/text_graph.h"

using namespace pagoda;
using doctest::Approx;

namespace {

// A gated feed-forward layer after grouped-query attention, with the given numbers of heads and inner channels.
std::string layer(int heads, int kv_heads, int inner) {
  const auto number = [](int value) { return std::to_string(value); };
  const std::string q = number(heads * 8), kv = number(kv_heads * 8), width = number((heads + 2 * kv_heads) * 8);
  return "opset=22 com.microsoft=1 : x:f16[B,1,64], past.key:f16[B," + number(kv_heads) + ",P,8], past.value:f16[B," +
         number(kv_heads) + ",P,8], last:i32[B], total:i32[]=9, scale:f16[64]=const, wqkv:f16[64," + width +
         "]=const, wo:f16[" + q + ",64]=const, wg:f16[64," + number(inner) + "]=const, wu:f16[64," + number(inner) +
         "]=const, wd:f16[" + number(inner) +
         ",64]=const -> n = SimplifiedLayerNormalization(x, scale); qkv = MatMul(n, wqkv);"
         " a, present.key, present.value = com.microsoft.GroupQueryAttention(qkv, , , past.key, past.value, last, "
         "total)"
         " {num_heads=" +
         number(heads) + ", kv_num_heads=" + number(kv_heads) +
         "};"
         " o = MatMul(a, wo); r = Add(x, o); m = SimplifiedLayerNormalization(r, scale);"
         " g = MatMul(m, wg); s = Sigmoid(g); h = Mul(g, s); u = MatMul(m, wu); b = Mul(h, u); d = MatMul(b, wd);"
         " y = Add(r, d) => y, present.key, present.value";
}

Analysis analysis_of(const Model& model) {
  return analyze(model, {.dims = model.main().inputs.size() > 1 ? Bindings{{"B", 4}, {"P", 8}} : Bindings{}});
}

Share share_of(const Model& model, ParallelOptions options) {
  return share_of_device(model, analysis_of(model), options);
}

std::string refusal(const std::string& graph, ParallelOptions options) {
  const Model model = test::graph(graph.c_str());
  return test::error_of([&] { share_of(model, options); });
}

Model skeleton(const std::string& name) { return load_model(test::source_path("models/skeletons/" + name + ".onnx")); }

}  // namespace

TEST_CASE("one device's share is the analysis of the graph with that device's sizes") {
  struct Case {
    int devices, kv_heads, own_kv_heads;
    const char* why;
  };
  for (const Case& c : {Case{2, 4, 2, "key heads split as query heads are"},
                        Case{8, 4, 1, "two devices share a key head"}, Case{4, 1, 1, "one key head for all"}}) {
    CAPTURE(c.why);
    const Model whole = test::graph(layer(8, c.kv_heads, 96).c_str());
    const Model own = test::graph(layer(8 / c.devices, c.own_kv_heads, 96 / c.devices).c_str());
    const Share share = share_of(whole, {.tensor = c.devices});
    const Analysis expected = analysis_of(own);
    CHECK(share.analysis.totals.cost.macs == expected.totals.cost.macs);
    CHECK(share.analysis.totals.cost.bytes_read == expected.totals.cost.bytes_read);
    CHECK(share.analysis.totals.cost.bytes_written == expected.totals.cost.bytes_written);
    CHECK(share.analysis.totals.params == expected.totals.params);
    CHECK(share.analysis.totals.param_bytes == expected.totals.param_bytes);
    CHECK(share.analysis.totals.activation_peak_bytes == expected.totals.activation_peak_bytes);
    REQUIRE(share.analysis.nodes.size() == expected.nodes.size());
    for (std::size_t i = 0; i < expected.nodes.size(); ++i) {
      CAPTURE(i);
      CHECK(share.analysis.nodes[i].cost.macs == expected.nodes[i].cost.macs);
      CHECK(share.analysis.nodes[i].cost.bytes() == expected.nodes[i].cost.bytes());
      CHECK(share.analysis.nodes[i].needed_bytes == expected.nodes[i].needed_bytes);
    }
    CHECK(share.columns == 3);
    CHECK(share.rows == 2);
    REQUIRE(share.collectives.size() == 2);
    for (const Collective& each : share.collectives) {
      CHECK(each.kind == CollectiveKind::AllReduce);
      CHECK(each.bytes == Dim(4 * 64 * 2));
    }
  }
}

TEST_CASE("shares stay formulas of the batch and the past") {
  const Model model = test::graph(layer(8, 2, 96).c_str());
  const Share share = share_of_device(model, analyze(model, {}), {.tensor = 2});
  const Analysis open = bind_dims(share.analysis, {{"B", 4}, {"P", 8}});
  CHECK(open.totals.cost.macs == share_of(model, {.tensor = 2}).analysis.totals.cost.macs);
}

TEST_CASE("what cannot be honoured is refused by name") {
  CHECK(test::contains(refusal(layer(8, 4, 96), {.tensor = 3}), "3 devices do not divide the 8 query heads"));
  CHECK(test::contains(refusal(layer(8, 4, 96), {.tensor = 16}), "16 devices do not divide the 8 query heads"));
  CHECK(test::contains(refusal("x:f32[4,8] -> y = Relu(x)", {.tensor = 2}), "no products that devices can share"));
  CHECK(test::contains(refusal(layer(8, 4, 96), {.expert = 2}), "no mixture of experts"));
}

TEST_CASE("a product behind which the whole is needed stays whole on every device") {
  // A router's softmax needs all of its scores.
  const Model model = test::graph(
      "x:f32[4,8], w:f32[8,16]=const, v:f32[16,8]=const, r:f32[8,4]=const, t:f32[4,8]=const -> h = MatMul(x, w);"
      " a = Relu(h); y = MatMul(a, v); s = MatMul(y, r); p = Softmax(s); z = MatMul(p, t)");
  const Share share = share_of(model, {.tensor = 2});
  CHECK(share.rows == 1);
  CHECK(share.whole == 1);
  CHECK(share.whole_param_bytes == Dim(8 * 4 * 4));
  CHECK(test::contains(share.whole_reason, "Softmax"));
}

TEST_CASE("heads are split in decoders as exporters write them") {
  struct Case {
    const char* name;
    int devices;
    int all_reduces;
  };
  test::Sometimes has_cache("a decoder with a cache");
  // Two all-reduces per layer, and one for the embedding where it shares the rows of the head.
  for (const Case& c : {Case{"llama_past", 3, 13}, Case{"llama_past_dynamo", 3, 13}, Case{"llama_genai_bf16", 3, 13},
                        Case{"llama_past_dynamo_opset23_fp16", 3, 13}, Case{"llama_genai_int4", 3, 12},
                        Case{"llama_genai_int4_qdq", 3, 13}, Case{"gpt2_past", 4, 25}, Case{"gpt2_past_dynamo", 4, 25},
                        Case{"bert_base", 4, 24}}) {
    CAPTURE(c.name);
    const Model model = skeleton(c.name);
    const Analysis whole = analyze(model, {.batch = 2});
    const Share share = share_of_device(model, whole, {.tensor = c.devices});
    CHECK(share.whole == 0);
    std::int64_t all_reduces = 0;
    for (const Collective& each : share.collectives) all_reduces += each.kind == CollectiveKind::AllReduce ? 1 : 0;
    CHECK(all_reduces == c.all_reduces);
    const auto at = [](const Dim& dim) { return dim.evaluate({}, 64); };
    // A split vocabulary is rounded up: less than one extra column per device.
    const double part = static_cast<double>(at(share.analysis.totals.cost.macs)) * c.devices /
                        static_cast<double>(at(whole.totals.cost.macs));
    CHECK(part >= 1);
    CHECK(part < 1.0001);
    if (const KvCache cache = plan_memory(model, share.analysis).kv_cache; has_cache(!cache.pairs.empty()))
      CHECK(at(cache.past_bytes) * c.devices == at(plan_memory(model, whole).kv_cache.past_bytes));
  }
}

TEST_CASE("shares of published configurations are closed forms") {
  const auto decoders = test::read_json("models/decoders.json");
  for (const auto& entry : decoders.at("models")) {
    const std::string name = entry.at("name");
    CAPTURE(name);
    const auto of = [&](const char* key) { return entry.at(key).get<std::int64_t>(); };
    const Model model = skeleton(name);
    const Analysis open = analyze(model, {.batch = 8});
    const PhaseSizes sizes = phase_sizes(model, open, {.phase = Phase::Decode, .past = 1023});
    const Analysis step = in_phase(open, sizes);
    const bool is_mixture = entry.contains("experts");
    CHECK(step.totals.cost.macs == Dim(8 * (of("weight_macs_per_token") + 1024 * of("macs_per_pair"))));
    CHECK(step.totals.param_bytes == Dim(of("weight_bytes")));
    CHECK(plan_memory(model, step).kv_cache.shared_bytes == Dim(8 * 1024 * of("cache_bytes_per_token")));
    for (const std::int64_t devices : {2, 4, 8, 16}) {
      CAPTURE(devices);
      if (of("heads") % devices != 0) continue;  // refused
      const Share share = share_of_device(model, step, {.tensor = devices});
      const std::int64_t layers = of("layers"), hidden = of("hidden"), head = hidden / of("heads");
      const std::int64_t kv_heads = std::max<std::int64_t>(of("kv_heads") / devices, 1);
      const std::int64_t replicas = kv_heads * devices / of("kv_heads");
      // Every device has the norms, routers and position tables; key heads are on each device that needs them.
      const std::int64_t router = is_mixture ? layers * hidden * of("experts") : 0;
      const std::int64_t keys = layers * 2 * hidden * of("kv_heads") * head;
      const std::int64_t weights = of("weight_macs_per_token") - router - keys;
      CHECK(share.analysis.totals.cost.macs ==
            Dim(8 * ((weights + 1024 * of("macs_per_pair")) / devices + router + keys * replicas / devices)));
      CHECK(plan_memory(model, share.analysis).kv_cache.shared_bytes ==
            Dim(8 * 1024 * of("cache_bytes_per_token") * replicas / devices));
      const std::int64_t bias =
          entry.contains("bias") ? layers * head * (of("heads") + 2 * of("kv_heads") * replicas) : 0;
      const std::int64_t everywhere = (2 * layers + 1) * hidden + router + of("positions") * head;
      const std::int64_t stored = of("weight_bytes") / 2 - everywhere -
                                  (entry.contains("bias") ? layers * head * (of("heads") + 2 * of("kv_heads")) : 0) -
                                  keys;
      CHECK(share.analysis.totals.param_bytes ==
            Dim(2 * (stored / devices + keys * replicas / devices + bias / devices + everywhere)));
      CHECK(share.collectives.size() == static_cast<std::size_t>(2 * layers + 2));
    }
  }
}

TEST_CASE("a window bounds the pairs of queries and keys, however long the past") {
  const Model model = skeleton("mistral_7b");
  const Analysis open = analyze(model, {.batch = 1});
  const Analysis step = in_phase(open, phase_sizes(model, open, {.phase = Phase::Decode, .past = 16383}));
  CHECK(step.totals.cost.macs == Dim(std::int64_t{7110393856} + 4096 * 262144));
}

TEST_CASE("experts are shared out over groups, tokens travel twice") {
  const Model model = skeleton("mixtral_8x7b");
  const Analysis whole = analyze(model, {.batch = 4});
  const Share share = share_of_device(model, whole, {.expert = 8});
  std::int64_t sent = 0;
  for (const Collective& each : share.collectives) {
    CHECK(each.kind == CollectiveKind::AllToAll);
    ++sent;
  }
  CHECK(sent == 2 * 32);
  // Seven of eight experts are on other devices.
  CHECK(whole.totals.param_bytes - share.analysis.totals.param_bytes ==
        Dim(std::int64_t{32} * 7 * 3 * 4096 * 14336 * 2));
  CHECK(test::contains(test::error_of([&] { share_of_device(model, whole, {.expert = 3}); }),
                       "does not divide the 8 experts"));
}

TEST_CASE("bytes that collectives send") {
  CHECK(sent_bytes(CollectiveKind::AllReduce, 80, 4) == Approx(120));
  CHECK(sent_bytes(CollectiveKind::AllGather, 80, 4) == Approx(60));
  CHECK(sent_bytes(CollectiveKind::AllToAll, 80, 4) == Approx(60));
  CHECK(sent_bytes(CollectiveKind::Send, 80, 4) == Approx(80));
  CHECK(sent_bytes(CollectiveKind::AllReduce, 80, 1) == Approx(0));
  // With in-switch reduction, each device sends its tensor once and the switch sends the sum once.
  CHECK(sent_bytes(CollectiveKind::AllReduce, 80, 4, true) == Approx(80));
  CHECK(sent_bytes(CollectiveKind::AllReduce, 80, 1, true) == Approx(0));
  CHECK(sent_bytes(CollectiveKind::AllGather, 80, 4, true) == Approx(60));
  CHECK(link_of(documents::find_device("h200"), "nvlink", 8).sums_in_switch);
  CHECK_FALSE(link_of(documents::find_device("a100-80gb"), "nvlink", 8).sums_in_switch);
  CHECK_FALSE(link_of(documents::find_device("h200"), "pcie", 8).sums_in_switch);
}

TEST_CASE("stages of a pipeline hold all rows once, and few activations pass between them") {
  const Model model = skeleton("mistral_7b");
  const Analysis open = analyze(model, {.batch = 8});
  const Analysis step = in_phase(open, phase_sizes(model, open, {.phase = Phase::Decode, .past = 1023}));
  const Roofline bound = roofline(step, documents::find_device("h100-sxm"));
  const std::vector<Stage> stages = pipeline_stages(model, step, bound, 4);
  REQUIRE(stages.size() == 4);
  Dim weights = 0, cache = 0, macs = 0;
  double seconds = 0, longest = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    CHECK(stages[s].begin == (s == 0 ? 0 : stages[s - 1].end));
    CHECK(stages[s].received_bytes == Dim(s == 0 ? 0 : 2 * 8 * 4096 * 2));  // hidden states and the residual
    const Analysis part = analysis_of_stage(model, step, stages[s]);
    weights += part.totals.param_bytes;
    macs += part.totals.cost.macs;
    cache += plan_memory(model, part).kv_cache.shared_bytes;
    seconds += stages[s].seconds;
    longest = std::max(longest, stages[s].seconds);
  }
  CHECK(weights == step.totals.param_bytes);
  CHECK(macs == step.totals.cost.macs);
  CHECK(cache == plan_memory(model, step).kv_cache.shared_bytes);
  CHECK(seconds == Approx(bound.totals.seconds));
  CHECK(longest < 1.15 * seconds / 4);
  CHECK(test::contains(test::error_of([&] { pipeline_stages(model, step, bound, 1000); }), "places to cut it"));
}

TEST_CASE("a long prompt fills a pipeline, one token passes it alone") {
  const Model model = skeleton("mistral_7b");
  estimate::EstimateRequest request{.sizes = {.batch = 1}, .traffic = TrafficModel::Fused};
  request.device = documents::find_device("h100-sxm");
  request.phase = PhaseOptions{.phase = Phase::Prefill, .tokens = 8192};
  const double alone = estimate::make_estimate(model, request).roofline->totals.seconds;
  request.parallel = ParallelOptions{.pipeline = 4};
  const auto prompt = *estimate::make_estimate(model, request).roofline;
  CHECK(prompt.parallel->time.parts > 4);
  CHECK(prompt.totals.seconds < 0.5 * alone);
  CHECK(prompt.totals.seconds > alone / 4);
  CHECK(prompt.totals.floor_seconds <= prompt.totals.seconds);
  request.phase = PhaseOptions{.phase = Phase::Decode, .past = 8192};
  const auto token = *estimate::make_estimate(model, request).roofline;
  CHECK(token.parallel->time.parts == 1);
  CHECK(token.parallel->time.bubble == Approx(0.75).epsilon(0.02));
}

TEST_CASE("work and links overlap in a bound, and the longer counts") {
  const Model model = skeleton("qwen2_5_14b");
  estimate::EstimateRequest request{.sizes = {.batch = 16}, .traffic = TrafficModel::Fused};
  request.device = documents::find_device("h100-sxm");
  request.phase = PhaseOptions{.phase = Phase::Decode, .past = 2047};
  request.parallel = ParallelOptions{.tensor = 8};
  const auto document = estimate::make_estimate(model, request);
  const auto& parallel = *document.roofline->parallel;
  CHECK(parallel.link.name == "nvlink");
  // 97 all-reduces of a token's channels, summed in NVLink's switches, and one gather of the logits.
  const double logits = 7 / 8.0 * 16 * 152064 * 2;
  CHECK(parallel.time.link_seconds == Approx((97.0 * 16 * 5120 * 2 + logits) / 450e9));
  const double sent = 2 * 7 / 8.0 * 97 * 16 * 5120 * 2 + logits;
  CHECK(document.roofline->totals.seconds == Approx(parallel.time.work_seconds));
  request.link.bytes_per_second = 1e9;
  const auto slow = *estimate::make_estimate(model, request).roofline;
  CHECK(slow.totals.seconds == Approx(sent / 1e9));
  CHECK(slow.totals.seconds >= slow.totals.floor_seconds);
  CHECK(document.fit->weight_bytes == parallel.weight_bytes);
  request.device = documents::find_device("i7-12700h");
  request.link.bytes_per_second.reset();
  CHECK(test::contains(test::error_of([&] { estimate::make_estimate(model, request); }), "`link=BYTES_PER_SECOND`"));
}

TEST_CASE("a group of experts needs its part of the batch") {
  estimate::EstimateRequest request{.sizes = {.batch = 12}};
  request.device = documents::find_device("h100-sxm");
  request.phase = PhaseOptions{.phase = Phase::Decode, .past = 100};
  request.parallel = ParallelOptions{.expert = 8};
  const Model model = skeleton("mixtral_8x7b");
  CHECK(test::contains(test::error_of([&] { estimate::make_estimate(model, request); }), "multiple of 8"));
  request.sizes.batch = 16;
  const auto document = estimate::make_estimate(model, request);
  CHECK(document.roofline->parallel->devices.devices() == 8);
  for (const std::int64_t stages : {1, 2}) {
    request.parallel->pipeline = stages;
    const auto largest = estimate::make_estimate(model, request).fit->largest_batch;
    REQUIRE(largest.has_value());
    const auto fits = [&](Int batch) {
      estimate::EstimateRequest at = request;
      at.sizes.batch = static_cast<std::int64_t>(batch);
      return *estimate::make_estimate(model, at).fit->fits;
    };
    CHECK(fits(*largest));
    // Each batch gets new stages, and a different cut may fit a little more.
    CHECK_FALSE(fits(*largest + (stages == 1 ? 8 : *largest / 8 / 8 * 8)));
  }
}

TEST_CASE("a table over devices holds of each what one of its devices needs") {
  estimate::EstimateRequest request{.sizes = {.batch = 16}, .traffic = TrafficModel::Fused};
  request.phase = PhaseOptions{.phase = Phase::Decode, .past = 100};
  request.parallel = ParallelOptions{.pipeline = 4};
  estimate::EstimateRequest alone = request;
  alone.device = documents::find_device("h100-sxm");
  request.other_devices = {documents::find_device("h100-sxm"), documents::find_device("h200")};
  const Model model = skeleton("llama_3_1_70b");
  const auto rows = estimate::make_estimate(model, request).variants;
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].total_bytes == estimate::make_estimate(model, alone).fit->total_bytes);
  CHECK(*rows[0].fits);
  CHECK_FALSE(rows[0].joules.has_value());
}

TEST_CASE("the document of a group of devices satisfies its schema and comes back as it was") {
  estimate::EstimateRequest request{.sizes = {.batch = 4}, .traffic = TrafficModel::Fused};
  request.device = documents::find_device("h100-sxm");
  request.phase = PhaseOptions{.phase = Phase::Decode, .past = 100};
  request.parallel = ParallelOptions{.tensor = 2, .pipeline = 2};
  const std::string text = documents::write_estimate(estimate::make_estimate(skeleton("mistral_7b"), request));
  test::check_schema(text, "estimate");
  CHECK(documents::write_estimate(documents::parse_estimate(text, "estimate")) == text);
}

TEST_CASE("a step says what a user gets and what a device gives") {
  estimate::EstimateRequest request{.sizes = {.batch = 16}, .traffic = TrafficModel::Fused};
  request.device = documents::find_device("h100-sxm");
  request.phase = PhaseOptions{.phase = Phase::Decode, .past = 1023};
  request.parallel = ParallelOptions{.tensor = 4};
  const Model model = skeleton("mistral_7b");
  const auto document = estimate::make_estimate(model, request);
  const double seconds = document.roofline->totals.seconds;
  CHECK(*document.phase->user_tokens_per_second == Approx(1 / seconds));
  CHECK(*document.phase->tokens_per_second == Approx(16 / seconds));
  CHECK(*document.phase->device_tokens_per_second == Approx(4 / seconds));
  const std::string text = documents::write_estimate(document);
  test::check_schema(text, "estimate");
  CHECK(documents::write_estimate(documents::parse_estimate(text, "estimate")) == text);
}

TEST_CASE("speculated tokens that stay are a geometric sum") {
  estimate::EstimateRequest request{.sizes = {.batch = 2}, .traffic = TrafficModel::Fused};
  request.device = documents::find_device("h100-sxm");
  request.phase = PhaseOptions{.phase = Phase::Decode, .tokens = 4, .past = 1023};
  request.speculation = estimate::Speculation{.tokens = 3, .acceptance = 0.5};
  const auto document = estimate::make_estimate(skeleton("mistral_7b"), request);
  CHECK(document.phase->speculated->tokens_per_step == Approx(1.875));  // 1 + 1/2 + 1/4 + 1/8
  CHECK(document.phase->tokens == Int(2 * 4));
  test::check_schema(documents::write_estimate(document), "estimate");
}

TEST_CASE("what fits where: users and contexts of each device are exact") {
  estimate::EstimateRequest request{.sizes = {.batch = 8}, .traffic = TrafficModel::Fused};
  request.other_devices = {documents::find_device("h100-sxm"), documents::find_device("l40s"),
                           documents::find_device("h200")};
  request.phase = PhaseOptions{.phase = Phase::Decode, .past = 4095};
  const Model model = skeleton("qwen2_5_14b");
  const auto document = estimate::make_estimate(model, request);
  REQUIRE(document.variants.size() == 3);
  for (const documents::EstimateVariant& row : document.variants) {
    CAPTURE(row.device);
    estimate::EstimateRequest at = request;
    at.other_devices.clear();
    at.device = documents::find_device(row.device);
    at.sizes.batch = static_cast<std::int64_t>(*row.largest_batch);
    CHECK(estimate::make_estimate(model, at).fit->fits == true);
    ++at.sizes.batch;
    CHECK(estimate::make_estimate(model, at).fit->fits == false);
    at.sizes.batch = 8;
    at.phase->past = static_cast<std::int64_t>(*row.longest_context) - 1;
    CHECK(estimate::make_estimate(model, at).fit->fits == true);
    ++*at.phase->past;
    CHECK(estimate::make_estimate(model, at).fit->fits == false);
  }
  test::check_schema(documents::write_estimate(document), "estimate");
}

TEST_CASE("each size of a sweep is a run of its own on all devices") {
  estimate::EstimateRequest request{.traffic = TrafficModel::Fused};
  request.device = documents::find_device("h100-sxm");
  request.phase = PhaseOptions{.phase = Phase::Decode};
  request.parallel = ParallelOptions{.tensor = 2, .pipeline = 2};
  request.sweep = {{"batch", {4, 64}}, {"past", {1023, 8191}}};
  const Model model = skeleton("mistral_7b");
  const auto swept = estimate::make_estimate(model, request);
  REQUIRE(swept.sweep->points.size() == 4);
  test::check_schema(documents::write_estimate(swept), "estimate");
  for (const documents::EstimatePoint& point : swept.sweep->points) {
    estimate::EstimateRequest at = request;
    at.sweep.clear();
    at.sizes.batch = point.sizes[0];
    at.phase->past = point.sizes[1];
    const auto alone = estimate::make_estimate(model, at);
    CHECK(point.time->seconds == Approx(alone.roofline->totals.seconds));
    CHECK(point.memory_bytes == alone.fit->total_bytes);
    CHECK(point.counts.macs == alone.totals.counts.macs);
  }
}

TEST_CASE("a context ends with the table of its positions, or with memory") {
  estimate::EstimateRequest request{.sizes = {.batch = 1}, .traffic = TrafficModel::Fused};
  request.phase = PhaseOptions{.phase = Phase::Decode, .past = 100};
  request.device = documents::find_device("h200");
  const auto small = estimate::make_estimate(skeleton("gpt2_past"), request);
  REQUIRE(small.fit->position_table);
  CHECK(small.fit->longest_context == Int(1024));
  CHECK(small.fit->position_table->name == "model.transformer.wpe.weight");
  CHECK(*small.fit->memory_context > 1'000'000);
  CHECK(estimate::make_estimate(skeleton("mistral_7b"), request).fit->longest_context == Int(32768));
  request.device = documents::find_device("l4");
  request.sizes.batch = 8;
  const auto full = estimate::make_estimate(skeleton("mistral_7b"), request);
  CHECK(full.fit->longest_context == full.fit->memory_context);
  CHECK(*full.fit->memory_context < full.fit->position_table->positions);
  const std::string text = documents::write_estimate(full);
  test::check_schema(text, "estimate");
  CHECK(documents::write_estimate(documents::parse_estimate(text, "estimate")) == text);
  request.other_devices = {documents::find_device("h200"), documents::find_device("l4")};
  const auto compared = estimate::make_estimate(skeleton("mistral_7b"), request);
  REQUIRE(compared.variants.size() == 2);
  CHECK(compared.variants[0].longest_context == Int(32768));
  CHECK(compared.variants[1].memory_context == full.fit->memory_context);
  test::check_schema(documents::write_estimate(compared), "estimate");
  const std::string table = present::table_report(compared);
  CHECK(test::contains(table, "longest context: cos_cache has 32,768 rows; memory alone holds " +
                                  base::grouped(*compared.variants[0].memory_context) + " on h200\n"));
}

TEST_CASE("a prompt's cache goes to the devices that decode") {
  estimate::EstimateRequest request{.sizes = {.batch = 2}, .traffic = TrafficModel::Fused};
  request.device = documents::find_device("h100-sxm");
  request.decode_device = documents::find_device("h20");
  request.phase = PhaseOptions{.phase = Phase::Prefill, .tokens = 4096};
  request.parallel = ParallelOptions{.tensor = 4};
  const Model model = skeleton("mistral_7b");
  const auto document = estimate::make_estimate(model, request);
  const documents::EstimateHandover& handover = *document.roofline->handover;
  CHECK(handover.cache_bytes == Int(2 * 4096) * 131072);
  CHECK(handover.transfer_seconds == Approx(2.0 * 4096 * 131072 / (4 * 450e9)));
  estimate::EstimateRequest there = request;
  there.decode_device.reset();
  there.device = request.decode_device;
  there.phase = PhaseOptions{.phase = Phase::Decode, .past = 4096};
  CHECK(handover.decode_seconds == Approx(estimate::make_estimate(model, there).roofline->totals.seconds));
  const std::string text = documents::write_estimate(document);
  test::check_schema(text, "estimate");
  CHECK(documents::write_estimate(documents::parse_estimate(text, "estimate")) == text);
}
