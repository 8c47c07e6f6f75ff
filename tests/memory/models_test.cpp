// The memory plan and the traffic models on the whole model set: against oracles and against each other.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "memory/oracle.h"
#include "pagoda/core/memory.h"
#include "pagoda/core/model.h"
#include "pagoda/core/traffic.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "support/sometimes.h"

using namespace pagoda;
using nlohmann::json;

namespace {

const std::string kModels = test::source_path("models/");

// Calls `check` with every model of the set, its analysis with free dims, and the bindings of each point.
template <typename Check>
void for_each_point(const Check& check) {
  const json manifest = test::read_json("models/manifest.json");
  for (const json& entry : manifest["models"]) {
    CAPTURE(entry["name"].get<std::string>());
    const Model model = load_model(kModels + entry["file"].get<std::string>());
    const Analysis analysis = analyze(model);
    for (const json& point : entry["expected"]) {
      CAPTURE(point["bindings"].dump());
      check(model, analysis, point["bindings"].get<Bindings>());
    }
  }
}

Int number(const Dim& dim, const Bindings& bindings) { return dim.evaluate(bindings); }

}  // namespace

TEST_CASE("the liveness of every model equals an oracle that recounts every step") {
  test::Sometimes has_formula("a formula of the peak");
  for_each_point([&](const Model& model, const Analysis& analysis, const Bindings& bindings) {
    const test::Oracle oracle(model, analysis, bindings);
    const MemoryPlan plan = plan_memory(model, analysis, {.bindings = bindings, .arena = false});
    std::vector<Int> expected = oracle.alive(plan.order);
    for (const PlannedTensor& tensor : plan.tensors)  // the oracle ignores memory inside branches
      if (tensor.body_of >= 0) expected[static_cast<std::size_t>(tensor.first_step)] += tensor.bytes;
    CHECK(plan.timeline == expected);
    CHECK(plan.peak_bytes == *std::max_element(expected.begin(), expected.end()));
    if (has_formula(plan.peak_formula)) CHECK(number(*plan.peak_formula, bindings) == plan.peak_bytes);
    CHECK(plan.peak_formula == analysis.totals.activation_peak_bytes);
    CHECK(plan.unsized.empty());
    Int together = 0;
    for (const std::size_t i : plan.peak_tensors) together += plan.tensors[i].bytes;
    CHECK(together == plan.peak_bytes);
    if (!plan.reordered) return;
    const std::vector<Int> again = oracle.alive(plan.reordered->order);
    CHECK(*std::max_element(again.begin(), again.end()) == plan.reordered->peak_bytes);
    CHECK(plan.reordered->peak_bytes < plan.peak_bytes);
  });
}

TEST_CASE("no two tensors share bytes of an arena while both are alive") {
  for_each_point([](const Model& model, const Analysis& analysis, const Bindings& bindings) {
    for (const bool in_place : {false, true}) {
      const MemoryPlan plan =
          plan_memory(model, analysis, {.bindings = bindings, .in_place = in_place, .reorder = false});
      Int overlaps = 0, outside = 0;
      for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
        const PlannedTensor& a = plan.tensors[i];
        outside += *a.offset < 0 || *a.offset + a.bytes > *plan.arena_bytes ? 1 : 0;
        for (std::size_t j = i + 1; j < plan.tensors.size() && plan.tensors[j].first_step <= a.last_step; ++j) {
          const PlannedTensor& b = plan.tensors[j];
          overlaps += *a.offset < *b.offset + b.bytes && *b.offset < *a.offset + a.bytes ? 1 : 0;
        }
      }
      CHECK(overlaps == 0);
      CHECK(outside == 0);
      CHECK(*plan.arena_bytes >= plan.peak_bytes);
    }
  });
}

TEST_CASE("arenas with operands overwritten are no larger than the best published planner's") {
  // Arena sizes of onnxsim 0.8.1 for the static graphs at batch 1; the DeepLab graph keeps its auxiliary head.
  const std::map<std::string, Int> published = {{"resnet50", 7'225'344},
                                                {"efficientnet_b0", 9'633'792},
                                                {"densenet121", 8'429'568},
                                                {"deeplabv3_resnet50", 86'528'000}};
  for (const auto& entry : published) {
    const auto& name = entry.first;
    CAPTURE(name);
    const Model model = load_model(kModels + "skeletons/" + name + ".onnx");
    const MemoryPlan plan = plan_memory(model, analyze(model), {.in_place = true});
    Int arena = *plan.arena_bytes;
    if (plan.reordered) arena = std::min(arena, *plan.reordered->arena_bytes);
    CHECK(arena <= entry.second);
  }
}

TEST_CASE("weights by type add up to the parameters") {
  const json manifest = test::read_json("models/manifest.json");
  for (const json& entry : manifest["models"]) {
    CAPTURE(entry["name"].get<std::string>());
    const Model model = load_model(kModels + entry["file"].get<std::string>());
    const Analysis analysis = analyze(model);
    Int bytes = 0;
    for (const WeightBytes& weight : plan_memory(model, analysis, {.reorder = false, .arena = false}).weights)
      bytes += weight.bytes;
    CHECK(analysis.totals.param_bytes == Dim(bytes));
  }
}

TEST_CASE("caches of the language models, per token") {
  const std::map<std::string, std::pair<std::size_t, std::string>> expected = {
      {"gpt2_past", {24, "73728*batch"}},  // 12 layers · K and V · 12 heads · 64 · 4 bytes
      {"gpt2_past_dynamo", {24, "73728*batch"}},
      {"llama_past", {12, "9216*batch"}},  // 6 layers · K and V · 3 heads · 64 · 4 bytes
      {"llama_past_dynamo_opset23_fp16", {12, "4608*batch"}},
      {"bert_base", {0, "0"}},
  };
  for (const auto& entry : expected) {
    const auto& name = entry.first;
    CAPTURE(name);
    const Model model = load_model(kModels + "skeletons/" + name + ".onnx");
    const KvCache found = plan_memory(model, analyze(model), {.reorder = false, .arena = false}).kv_cache;
    CHECK(found.pairs.size() == entry.second.first);
    CHECK(found.bytes_per_token.to_string() == entry.second.second);
  }
}

TEST_CASE("fusion never adds traffic, a cache never adds to it, and every group moves what an oracle says") {
  test::Sometimes is_fused("a group of several rows");
  for_each_point([&](const Model& model, const Analysis& analysis, const Bindings& bindings) {
    const test::Oracle oracle(model, analysis, bindings);
    const Traffic unfused = traffic(model, analysis);
    const Traffic fused = traffic(model, analysis, {.model = TrafficModel::Fused});
    CHECK(unfused.bytes() == analysis.totals.cost.bytes());
    Dim saved = 0;
    for (const TrafficGroup& group : fused.groups) {
      saved += group.saved;
      CHECK(number(group.saved, bindings) >= 0);
      CHECK(number(group.cost.bytes_read, bindings) >= 0);
      CHECK(number(group.cost.bytes_written, bindings) >= 0);
      if (is_fused(group.rows.size() > 1)) CHECK(number(group.cost.bytes(), bindings) == oracle.group_bytes(group));
    }
    CHECK(fused.bytes() + saved == unfused.bytes());

    const Int fused_bytes = number(fused.bytes(), bindings);
    Int before = fused_bytes;
    for (const std::int64_t l2 :
         {std::int64_t{0}, std::int64_t{4} << 20, std::int64_t{50} << 20, std::int64_t{1} << 40}) {
      const Traffic resident =
          traffic(model, analysis, {.model = TrafficModel::Resident, .l2_bytes = l2, .bindings = bindings});
      const Int bytes = *resident.bytes().value();
      CHECK((l2 > 0 || bytes == fused_bytes));
      CHECK(bytes <= fused_bytes);
      CHECK((l2 < std::int64_t{1} << 40 || bytes <= before));  // an unlimited cache is the best
      before = std::min(before, bytes);
    }
  });
}

TEST_CASE("groups are closed: their order is one in which they can run") {
  for_each_point([](const Model& model, const Analysis& analysis, const Bindings&) {
    const Traffic fused = traffic(model, analysis, {.model = TrafficModel::Fused});
    CHECK(test::Oracle(model, analysis, {}).can_run_in_order(fused));
  });
}

TEST_CASE("what is planned after binding is what is planned with the sizes bound first") {
  const json manifest = test::read_json("models/manifest.json");
  for (const json& entry : manifest["models"]) {
    CAPTURE(entry["name"].get<std::string>());
    const Model model = load_model(kModels + entry["file"].get<std::string>());
    const Analysis formulas = analyze(model);
    for (const json& point : entry["expected"]) {
      AnalyzeOptions options;
      options.dims = point["bindings"].get<Bindings>();
      if (options.dims.empty()) continue;
      const Analysis first = analyze(model, options);
      CHECK(plan_memory(model, first, {.reorder = false}).timeline ==
            plan_memory(model, formulas, {.bindings = options.dims, .reorder = false}).timeline);
    }
  }
}
