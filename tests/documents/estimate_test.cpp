// Estimates as documents: what is written reads back in full; anything else is refused.
#include <doctest/doctest.h>

#include "describe.h"
#include "pagoda/core/analyze.h"
#include "pagoda/core/model.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/what_if.h"
#include "support/files.h"
#include "support/text_graph.h"

namespace pagoda::estimate {
namespace {

const char* const kModels[] = {"resnet50", "bert_base", "bert_base_fused", "recurrent", "swin_t", "linear_64_128"};

Model skeleton(const std::string& name) { return load_model(test::source_path("models/skeletons/" + name + ".onnx")); }

}  // namespace

TEST_CASE("a merged decoder in a phase is answered as a decoder of its own, on its page, too") {
  EstimateRequest request{.sizes = {.batch = 2, .dims = {{"encoder_sequence_length", 20}}},
                          .phase = PhaseOptions{.phase = Phase::Decode, .past = 60},
                          .traffic = TrafficModel::Fused,
                          .device = find_device("h100-sxm")};
  Model model = skeleton("t5_merged");
  set_phase_flag(model, *request.phase);
  const EstimateDocument estimate = make_estimate(model, request);
  CHECK(estimate.roofline->groups.size() < 60);  // 148 where each row of the branch is a kernel
  CHECK(estimate.fit->longest_context.has_value());
  const std::optional<WhatIf> page = what_if(model, request);
  REQUIRE(page);
  CHECK(page->sizes.size() >= 2);
}

TEST_CASE("a phase decides sizes that formulas leave open: where the last rows of a mask begin") {
  // The mask's length has names of its own, so the sign of its difference to the new tokens is not known before.
  const Model model = test::graph(
      "ids:i64[B,S], mask:i64[B,past_n+n], past:f32[B,2,P,8], w:f32[100,16]=const, shape:i64=[0,0,2,8], one:i64[1]=[1] "
      "-> "
      "e = Gather(w, ids); r = Reshape(e, shape); k = Transpose(r) {perm=[0,2,1,3]}; present = Concat(past, k) "
      "{axis=2}; "
      "t = Shape(mask) {start=1}; s = Shape(ids) {start=1,end=2}; f = Sub(t, s); y = Slice(mask, f, t, one) => y, "
      "present");
  const EstimateDocument estimate = make_estimate(
      model, {.sizes = {.batch = 3}, .phase = PhaseOptions{.phase = Phase::Decode, .tokens = 4, .past = 60}});
  CHECK(estimate.symbols.empty());
  CHECK(estimate.bindings.at("past_n") == 60);
  CHECK(estimate.nodes.back().outputs.front().type.shape == Shape{3, 4});
}

TEST_CASE("an estimate with all its parts reads back as it was written") {
  for (const char* name : kModels) {
    CAPTURE(name);
    const Model model = skeleton(name);
    EstimateRequest request{.device = find_device("h100-sxm"),
                            .precision = Precision::Float16,
                            .memory = MemoryOptions{},
                            .budgets = {parse_budget(BudgetKind::Flops, "1GFLOP")},
                            .formulas = true,
                            .row_formulas = true,
                            .tool = "test 1"};
    for (const TrafficModel moved : {TrafficModel::Unfused, TrafficModel::Fused, TrafficModel::Resident})
      for (const bool by_type : {false, true}) {
        request.traffic = moved;
        request.training.reset();  // counts unfused traffic
        if (moved == TrafficModel::Unfused) request.training.emplace();
        request.by_type = by_type;
        EstimateDocument estimate = make_estimate(model, request);
        estimate.cannot_run = "y: sizes differ";
        estimate.phase = {.phase = Phase::Prefill,
                          .tokens = 8,
                          .cache_bytes_per_token = 4,
                          .bytes_per_token = {},
                          .is_timed = true,
                          .tokens_per_second = 1e3,
                          .sequence_tokens = {},
                          .user_tokens_per_second = {},
                          .device_tokens_per_second = {},
                          .speculated = {}};
        estimate.roofline->predicted =
            EstimatePrediction{{.seconds = 0.5,
                                .low = 0.25,
                                .no_interval = "too few families",
                                .row_seconds = {0.125, 0.375},
                                .other_placement = {{.is_apart = true, .seconds = 0.75, .share = 0.25}}},
                               "pytorch-amp",
                               "none: guessed"};
        const std::string text = write_estimate(estimate);
        const EstimateDocument read = parse_estimate(text, "e.json");
        CHECK(read.unknown.empty());
        CHECK(read.cannot_run == estimate.cannot_run);
        CHECK(write_estimate(read) == text);
        CHECK(read.memory->peak_tensors == estimate.memory->peak_tensors);
      }
    const std::string plain = write_estimate(make_estimate(model));
    CHECK(write_estimate(parse_estimate(plain, "e.json")) == plain);
  }
}

TEST_CASE("a memory plan reads back with the formula of its peak and its cache") {
  for (const char* name : {"gpt2_past", "llama_past", "qwen3_5_genai_int4", "t5_merged", "resnet50_dynamic", "unet",
                           "fasterrcnn_resnet50_fpn", "vit_b_16_dynamic", "yolov8n_dynamo", "lstm"}) {
    CAPTURE(name);
    const EstimateDocument estimate = make_estimate(skeleton(name), {.memory = MemoryOptions{}});
    const std::string text = write_estimate(estimate);
    const EstimateDocument read = parse_estimate(text, "e.json");
    CHECK(read.unknown.empty());
    CHECK(write_estimate(read) == text);
    CHECK(read.memory->peak_text == estimate.memory->peak_text);
    CHECK(read.memory->kv_cache.pairs.size() == estimate.memory->kv_cache.pairs.size());
  }
}

TEST_CASE("a sweep reads back as it was written") {
  const Model model = skeleton("linear_64_128");
  const EstimateDocument estimate =
      make_estimate(model, {.device = find_device("h200"), .sweep = {parse_axis("batch=1,2,4..64")}});
  const std::string text = write_estimate(estimate);
  const EstimateDocument read = parse_estimate(text, "e.json");
  REQUIRE(read.sweep);
  CHECK(read.sweep->points.size() == 7);
  CHECK(read.sweep->symbols == estimate.sweep->symbols);
  CHECK(free_dims(read).empty());
  CHECK(write_estimate(read) == text);
}

TEST_CASE("an estimate warns of disturbed ceilings, of peaks that stand in for others, and of missing ones") {
  const Model model = skeleton("linear_64_128");
  const auto warnings = [&](const DeviceSpec& device) {
    std::string text;
    for (const Diagnostic& diagnostic : make_estimate(model, {.device = device}).diagnostics)
      text += diagnostic.message + "\n";
    return text;
  };
  DeviceSpec device = find_device("h200");
  CHECK(warnings(device).find("device") == std::string::npos);
  device.cautions = {"contended: float32 vector peak"};
  CHECK(warnings(device).find("device NVIDIA H200 SXM 141 GB: contended: float32 vector peak") != std::string::npos);
  device.peaks = {{Precision::Float64, Unit::Vector, std::nullopt, {1e12, "test"}}};
  CHECK(warnings(device).find("states no float32 peak: products of 1 node are assumed") != std::string::npos);
  device.peaks = {{Precision::Int8, Unit::Tensor, std::nullopt, {1e12, "test"}}};
  CHECK_MESSAGE(warnings(device).find("states no float32 vector peak, needed by ") != std::string::npos,
                warnings(device));
}

TEST_CASE("an estimate says why it has no joules where the device's constants are incomplete") {
  EstimateRequest request{.device = find_device("orin-agx")};
  const auto notes = [&] {
    std::vector<std::string> list;
    for (const Diagnostic& each : make_estimate(skeleton("linear_64_128"), request).diagnostics)
      if (each.message.find("no joules") != std::string::npos) list.push_back(each.message);
    return list;
  };
  CHECK(notes().empty());  // a device without constants has none to explain
  request.device->energy = DeviceEnergy{.work = {{Precision::Float32, {1e-11, "test"}}},
                                        .joules_per_byte = {std::nullopt, "not separable by a fit to 5 runs"},
                                        .constant_watts = {20.0, "test"}};
  REQUIRE(notes().size() == 1);
  CHECK(notes().front().ends_with("no joules, for it states no joules_per_byte: not separable by a fit to 5 runs"));
  request.device->energy->joules_per_byte = {1e-10, "test"};
  CHECK(notes().empty());
}

TEST_CASE("formulas with more terms than one sum carries stand side by side, and their numbers stay exact") {
  const Model model = skeleton("linear_64_128");
  Findings findings{.analysis = analyze(model)};
  Dim read = 0, written = 0;
  for (int i = 0; i < 400; ++i) {
    read += Dim::symbol("r" + std::to_string(i));
    written += Dim::symbol("w" + std::to_string(i));
  }
  findings.analysis.totals.cost.bytes_read = read;
  findings.analysis.totals.cost.bytes_written = written;
  describe(model, {}, findings);
  const EstimateDocument& estimate = findings.estimate;
  CHECK(*estimate.totals.counts.bytes == 800);
  CHECK(estimate.symbolic->totals.bytes == read.to_string() + " + " + written.to_string());
}

TEST_CASE("bindings tell bound, free and renamed dims apart") {
  const Model model = skeleton("linear_64_128");
  Findings findings{.analysis = analyze(model, {.batch = 3})};
  findings.analysis.free_dims = {"b_c"};
  findings.analysis.renamed = {{"b-c", "b_c"}};
  describe(model, {}, findings);
  const std::string text = write_estimate(findings.estimate);
  CHECK(text.find(R"("bindings": {"b_c": null, "batch": 3, "b-c": "b_c"})") != std::string::npos);
  CHECK(parse_estimate(text, "e.json").renamed == std::map<std::string, std::string>{{"b-c", "b_c"}});
}

TEST_CASE("what is missing beside the analysis is a warning, too") {
  const Model model = skeleton("llama_genai_int4");
  const EstimateDocument estimate = make_estimate(model, {.training = TrainingOptions{}});
  CHECK_FALSE(estimate.is_complete());
  REQUIRE_FALSE(estimate.diagnostics.empty());
  CHECK(estimate.diagnostics.front().severity == Severity::Warning);
  CHECK(estimate.diagnostics.front().message.find("the backward of") == 0);
}

TEST_CASE("a shape's formula is read as one, and sizes and bytes follow with free dims at 1") {
  const EstimateDocument estimate = parse_estimate(
      R"!({"schema": "pagoda.estimate/1", "nodes": [{"outputs": [
          {"name": "y", "type": "float32", "shape": ["2*N", 3]}, {"name": "z", "type": "int4", "shape": [3]},
          {"name": "s", "type": "optional(sequence(float16))", "shape": null},
          {"name": "m", "type": "sequence(map(string,float32))", "shape": null}]}]})!",
      "e.json");
  const auto& outputs = estimate.nodes.at(0).outputs;
  CHECK(outputs[0].type.shape.value()[0] == 2 * Dim::symbol("N"));
  CHECK(*sizes(outputs[0].type) == std::vector<Int>{2, 3});
  CHECK(*stored_bytes(outputs[0].type) == 24);
  CHECK(*stored_bytes(outputs[1].type) == 2);
  CHECK(outputs[2].type.container == Container::OptionalSequence);
  CHECK(outputs[2].type.element == ElementType::Float16);
  CHECK_FALSE(stored_bytes(outputs[2].type));
  CHECK(outputs[3].type == TensorType{.element = ElementType::Float32,
                                      .shape = std::nullopt,
                                      .container = Container::SequenceOfMaps,
                                      .key = ElementType::String});
}

TEST_CASE("what is wrong in an estimate is an error with its place") {
  struct Row {
    const char* members;
    const char* error;
  };
  const Row rows[] = {
      {R"("nodes": [{"name": 3}])", "e.json.nodes[0].name: expected a string, found 3"},
      {R"("nodes": [{}, {"outputs": [{"shape": ["2*"]}]}])",
       "e.json.nodes[1].outputs[0].shape[0]: expected an integer or a formula, found \"2*\""},
      {R"("nodes": [{"outputs": [{"type": "float33"}]}])",
       "e.json.nodes[0].outputs[0].type: expected a type, found \"float33\""},
      {R"("nodes": [{"flops": -1}])", "e.json.nodes[0].flops: is negative; expected an amount or null"},
      {R"("nodes": [{"mark": "odd"}])",
       "e.json.nodes[0].mark: expected one of compute, view, host, folded, unmodelled, found \"odd\""},
      {R"("nodes": [], "totals": 3)", "e.json.totals: expected an object, found 3"},
      {R"("nodes": [], "roofline": {"seconds": -1})",
       "e.json.roofline.seconds: is negative; expected an amount or null"},
      {R"("model": {})", "e.json: has no array \"nodes\""},
  };
  for (const Row& row : rows)
    CHECK_THROWS_WITH_AS(
        parse_estimate(std::string(R"({"schema": "pagoda.estimate/1", )") + row.members + "}", "e.json"), row.error,
        Error);
}

TEST_CASE("members that this version does not know are named once, by their path") {
  const EstimateDocument estimate = parse_estimate(
      R"({"schema": "pagoda.estimate/1", "odd": 1, "nodes": [{"hue": 1}, {"hue": 2}], "totals": {"moons": 3}})",
      "e.json");
  CHECK(estimate.unknown == std::vector<std::string>{"nodes.hue", "odd", "totals.moons"});
}

}  // namespace pagoda::estimate
