// Exports by the tools that people deploy with: quantised mixtures, linear attention, merged decoders, optimised UNets.
// models/tool_exports.py makes them; tool_exports.json lists closed forms and counted runs.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "pagoda/core/decoder.h"
#include "pagoda/core/memory.h"
#include "pagoda/core/model.h"
#include "pagoda/core/traffic.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "support/text_graph.h"

using namespace pagoda;
using nlohmann::json;

namespace {

Model exported(const std::string& name) { return load_model(test::source_path("models/skeletons/" + name + ".onnx")); }

const json& tool_exports() {
  static const json loaded = test::read_json("models/tool_exports.json")["models"];
  return loaded;
}

// A merged decoder's branch; other models as they are.
Model in_phase_branch(const std::string& name, const PhaseOptions& phase) {
  Model model = exported(name);
  set_phase_flag(model, phase);
  std::optional<Model> taken = with_branches_taken(model);
  return taken ? std::move(*taken) : model;
}

}  // namespace

TEST_CASE("work and caches of tools' exports equal closed forms and runs to the integer, with every node modelled") {
  std::size_t points = 0;
  for (const json& row : tool_exports()) {
    const std::string name = row["name"];
    for (const json& point : row["expected"]) {
      CAPTURE(name);
      CAPTURE(point.dump());
      ++points;
      if (point.contains("bindings")) {
        const Analysis analysis = analyze(exported(name), {.dims = point["bindings"].get<Bindings>()});
        CHECK(analysis.totals.unmodelled_nodes == 0);
        CHECK(analysis.totals.cost.macs == Dim(point["contraction_macs"].get<std::int64_t>()));
        continue;
      }
      const std::int64_t past = point["past"];
      const PhaseOptions phase{.phase = past > 0 ? Phase::Decode : Phase::Prefill,
                               .tokens = point["tokens"].get<std::int64_t>(),
                               .past = past};
      const Model model = in_phase_branch(name, phase);
      AnalyzeOptions sizes{.batch = point["batch"].get<std::int64_t>()};
      if (name == "t5_merged") sizes.dims["encoder_sequence_length"] = 20;
      const Analysis open = analyze(model, sizes);
      const Analysis step = in_phase(open, phase_sizes(model, open, phase));
      CHECK(step.totals.unmodelled_nodes == 0);
      CHECK(step.totals.cost.macs == Dim(point["contraction_macs"].get<std::int64_t>()));
      CHECK(plan_memory(model, step).kv_cache.shared_bytes == Dim(point["cache_bytes"].get<std::int64_t>()));
    }
  }
  CHECK(points >= 14);
}

TEST_CASE("a merged decoder's branch is fused as a decoder of its own would be") {
  const PhaseOptions decode{.phase = Phase::Decode, .tokens = 1, .past = 600};
  Model merged = exported("t5_merged");
  set_phase_flag(merged, decode);
  const AnalyzeOptions sizes{.batch = 2, .dims = {{"encoder_sequence_length", 20}}};
  const auto fused_kernels = [&](const Model& model) {
    const Analysis open = analyze(model, sizes);
    return traffic(model, in_phase(open, phase_sizes(model, open, decode)), {.model = TrafficModel::Fused});
  };
  const Traffic filed = fused_kernels(merged), taken = fused_kernels(*with_branches_taken(merged));
  CHECK(taken.groups.size() * 2 < filed.groups.size());
  CHECK(*taken.bytes().value() * 2 < *filed.bytes().value());
}

TEST_CASE("what follows a group norm of ONNX Runtime's optimizer joins its kernel") {
  const Model model = test::graph(
      "x:f32[batch,8,8,64], g:f32[64]=const, b:f32[64]=const -> h = Cast(x) {to=10}; "
      "n = com.microsoft.GroupNorm(h, g, b) {groups=32, activation=1}; y = Cast(n) {to=1}");
  const Analysis analysis = analyze(model);
  const Traffic fused = traffic(model, analysis, {.model = TrafficModel::Fused});
  CHECK(fused.groups.size() == 1);
  CHECK(fused.bytes() == Dim::parse("32768*batch + 512"));
}
