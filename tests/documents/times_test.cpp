// Times of an estimate: whose they are, what bounds them, and what would lower them.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "pagoda/base/cat.h"
#include "pagoda/core/model.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/engines.h"
#include "pagoda/estimate/make_estimate.h"
#include "pagoda/estimate/measured_runs.h"
#include "pagoda/estimate/what_if.h"
#include "support/files.h"
#include "support/text_graph.h"

namespace pagoda::estimate {
namespace {

using namespace documents;

Model bundled(const std::string& name) { return load_model(test::source_path("models/skeletons/" + name + ".onnx")); }

EstimateRequest predicted_by(const char* engine, EstimateRequest request) {
  set_prediction(engine, "", request);
  return request;
}

// A product and the two operators that a fusing engine runs with it.
constexpr const char* kBlock =
    "x:f32[n,256], w:f32[256,256]=const, b:f32[256]=const -> h = MatMul(x, w); s = Add(h, b); y = Relu(s)";

// A run whose products were counted in this format.
Measured counted(const char* unit, double seconds) {
  Measured run;
  run.source = "pagoda-profile";
  run.device = "NVIDIA H200";
  MeasuredKernel kernel;
  kernel.name = "gemm";
  kernel.seconds = seconds;
  kernel.flops = {{unit, 1e9}, {"float32", 1e6}, {"float64", std::nullopt}};
  run.kernels.push_back(kernel);
  return run;
}

}  // namespace

TEST_CASE("one function decides the traffic that holds") {
  const DeviceSpec gpu = find_device("h200");
  struct Row {
    EstimateRequest request;
    TrafficModel model;
    const char* reason;
  };
  const Row rows[] = {
      {{}, TrafficModel::Unfused, "nothing is timed"},
      {{.device = gpu}, TrafficModel::Fused, "a device"},
      {{.other_devices = {gpu, find_device("t4")}}, TrafficModel::Fused, "several devices"},
      {{.device = gpu, .sweep = {parse_axis("n=1,2")}}, TrafficModel::Fused, "a sweep"},
      {{.traffic = TrafficModel::Fused}, TrafficModel::Fused, "asked for"},
      {{.traffic = TrafficModel::Unfused, .device = gpu}, TrafficModel::Unfused, "asked for"},
      {predicted_by("pytorch-amp", {.device = gpu}), TrafficModel::Unfused, "eager PyTorch"},
      {predicted_by("tensorrt", {.device = gpu}), TrafficModel::Fused, "TensorRT"},
      {predicted_by("pytorch-amp", {.traffic = TrafficModel::Fused, .device = gpu}), TrafficModel::Fused, "asked for"},
      {{.device = gpu, .training = TrainingOptions()}, TrafficModel::Unfused, "a step is defined unfused"},
      {{.count = Convention::Pagoda, .device = gpu}, TrafficModel::Unfused, "published counts have rules of their own"},
  };
  const Model model = test::graph(kBlock);
  for (const Row& row : rows) {
    CAPTURE(row.reason);
    CHECK(traffic_model_of(row.request) == row.model);
    const EstimateDocument estimate = make_estimate(model, row.request);
    if (estimate.roofline) CHECK(estimate.roofline->traffic == row.model);
    if (estimate.sweep) CHECK(estimate.sweep->traffic == row.model);
    for (const EstimateVariant& variant : estimate.variants) CHECK(variant.traffic == row.model);
    CHECK(estimate.traffic.has_value() == (row.model != TrafficModel::Unfused && row.request.other_devices.empty()));
  }
}

TEST_CASE("totals and nodes count unfused bytes; kernels and rows of the bound sum to those of the traffic") {
  const Model model = test::graph(kBlock);
  const EstimateRequest request{.sizes = {.dims = {{"n", 512}}}, .device = find_device("h200")};
  const EstimateDocument plain = make_estimate(model, {.sizes = request.sizes}), timed = make_estimate(model, request);
  CHECK(timed.totals.counts == plain.totals.counts);
  CHECK(timed.totals.intensity == plain.totals.intensity);
  CHECK(plain.moved() == plain.totals.counts);
  Int nodes = 0, kernels = 0;
  for (const EstimateNode& node : timed.nodes) nodes += *node.counts.bytes;
  for (const EstimateGroup& kernel : timed.traffic->groups) kernels += *kernel.counts.bytes;
  CHECK(nodes == *timed.totals.counts.bytes);
  CHECK(kernels == *timed.traffic->bytes);
  CHECK(timed.moved().bytes == timed.traffic->bytes);
  // x, w and b are read and y is written: (2·512·256 + 256·256 + 256)·4 bytes.
  CHECK(*timed.traffic->bytes == (2 * 512 * 256 + 256 * 256 + 256) * 4);
  double rows = 0, groups = 0;
  for (const RowBound& row : timed.roofline->rows) rows += row.bytes;
  for (const RowBound& row : timed.roofline->groups) groups += row.bytes;
  CHECK(rows == doctest::Approx(static_cast<double>(kernels)));
  CHECK(groups == doctest::Approx(static_cast<double>(kernels)));
  CHECK(*timed.moved_intensity() ==
        doctest::Approx(static_cast<double>(*timed.totals.counts.flops) / static_cast<double>(kernels)));
  CHECK(make_estimate(model, {.device = find_device("h200")}).traffic->bytes_formula == "2048*n + 263168");
}

TEST_CASE("no time is below the floor, and fusing never takes longer") {
  int compared = 0;
  for (const char* name :
       {"resnet50", "resnet50_qdq_int8", "bert_base", "bert_base_fused_dynamic_int8", "swin_t", "lstm", "gpt2_past",
        "llama_genai_int4_qdq", "unet", "alexnet_qdq_fp8", "mobilenet_v3_large"}) {
    const Model model = bundled(name);
    for (const std::optional<Precision>& precision :
         {std::optional<Precision>(), std::optional(Precision::Tf32), std::optional(Precision::Float16),
          std::optional(Precision::Float8), std::optional(Precision::Int8), std::optional(Precision::Int4)})
      for (const char* id : {"h200", "t4", "rtx-4090", "v100", "mi300x", "epyc-9755"})
        for (const std::int64_t devices : {1, 2}) {
          if (devices > 1 && (precision != Precision::Float16 || std::string(id) != "h200")) continue;
          CAPTURE(name);
          CAPTURE(id);
          CAPTURE(devices);
          CAPTURE((precision ? std::string(to_string(*precision)) : std::string("as filed")));
          EstimateRequest request{.device = find_device(id), .precision = precision};
          if (devices > 1) request.parallel = ParallelOptions{.tensor = devices};
          EstimateDocument estimate;
          try {
            estimate = make_estimate(model, request);
            for (const std::string& dim : estimate.unset) request.sizes.dims.emplace(dim, 64);
            if (!estimate.unset.empty()) estimate = make_estimate(model, request);
          } catch (const Error&) {  // work that cannot be divided
            continue;
          }
          const EstimateRoofline& bound = *estimate.roofline;
          REQUIRE(bound.fused_seconds);
          REQUIRE(bound.unfused_seconds);
          ++compared;
          const double slack = 1 + 1e-9;  // of the order of summation
          CHECK(bound.totals.floor_seconds <= *bound.fused_seconds * slack);
          CHECK(*bound.fused_seconds <= *bound.unfused_seconds * slack);
          CHECK(bound.totals.seconds == *bound.fused_seconds);
          request.traffic = TrafficModel::Unfused;
          const EstimateRoofline unfused = *make_estimate(model, request).roofline;
          CHECK(unfused.totals.seconds == *bound.unfused_seconds);
          CHECK(unfused.fused_seconds == bound.fused_seconds);
        }
  }
  CHECK(compared > 300);
}

TEST_CASE("a model that counts otherwise at a batch of 1 than its formulas is counted at 1") {
  const Model model = test::graph("x:f32[n,4,1] -> s = Squeeze(x); y = Relu(s)");
  const EstimateDocument open = make_estimate(model, {.device = find_device("h200")});
  EstimateRequest request{.device = find_device("h200")};
  request.sizes.dims = {{"n", 1}};
  const EstimateDocument at_one = make_estimate(model, request);
  REQUIRE(open.totals.counts.bytes);
  CHECK(open.totals.counts == at_one.totals.counts);
  CHECK(open.roofline->totals.seconds == at_one.roofline->totals.seconds);
  CHECK(open.bindings == at_one.bindings);
  CHECK(open.diagnostics.at(0).message.find("these numbers are of 1") != std::string::npos);
  // Who asks for formulas gets no counts at 1, and a model with an open height has none.
  CHECK_FALSE(make_estimate(model, {.formulas = true}).totals.counts.bytes);
  const Model image = test::graph("x:f32[n,4,1,h] -> s = Squeeze(x); y = Relu(s)");
  CHECK_FALSE(make_estimate(image, {}).totals.counts.bytes);
}

TEST_CASE("an engine's products decide the precision of a float32 file, unless one is asked for") {
  const Model model = test::graph(kBlock);
  const EstimateDocument amp = make_estimate(model, predicted_by("pytorch-amp", {.device = find_device("h200")}));
  CHECK(amp.roofline->precision == Precision::Float16);
  CHECK(amp.precision == Precision::Float16);
  const EstimateDocument half = make_estimate(test::graph("x:f16[4,256], w:f16[256,256]=const -> y = MatMul(x, w)"),
                                              predicted_by("tensorrt", {.device = find_device("h200")}));
  CHECK_FALSE(half.precision);
}

TEST_CASE("a measured run is held against the precision of its products, and brings its device") {
  const Model model = test::graph("x:f32[512,256], w:f32[256,256]=const -> y = MatMul(x, w)");
  struct Row {
    const char* unit;
    std::optional<Precision> precision;
  };
  for (const Row& row :
       {Row{"tf32.tensor", Precision::Tf32}, Row{"float16.tensor", Precision::Float16}, Row{"float32", {}}}) {
    CAPTURE(row.unit);
    EstimateRequest request;
    set_measured(counted(row.unit, 1e-3), request);
    REQUIRE(request.device);
    CHECK(request.device->id == "h200");
    request.advice = true;
    const EstimateDocument estimate = make_estimate(model, request);
    CHECK(estimate.roofline->precision == row.precision);
    CHECK(estimate.measured->precision == row.precision);
    CHECK(*estimate.measured->bound_share == doctest::Approx(estimate.roofline->totals.seconds / 1e-3));
    for (const EstimateAdvice& each : estimate.advice)
      if (row.precision) CHECK(each.precision != row.precision);
    request.precision = Precision::Float32;  // asked for
    CHECK(make_estimate(model, request).roofline->precision == Precision::Float32);
  }
}

TEST_CASE("where launches exceed the work, the first advice is to capture them, and gains include them") {
  const EstimateDocument estimate = make_estimate(
      bundled("swin_t"), {.device = find_device("h200"), .precision = Precision::Float16, .advice = true});
  const RooflineTotals& time = estimate.roofline->totals;
  REQUIRE(estimate.advice.size() >= 2);
  const EstimateAdvice& first = estimate.advice.front();
  CHECK(first.kind == AdviceKind::Launch);
  CHECK(first.seconds == time.seconds);
  CHECK(first.gain == doctest::Approx(*time.eager_seconds / time.seconds));
  for (const EstimateAdvice& each : estimate.advice) {
    CHECK(each.kind != AdviceKind::Traffic);  // the engine fuses already
    if (!each.batch) continue;
    // The launches of one run serve all of its items.
    CHECK(each.seconds >= *time.eager_seconds);
    CHECK(each.gain > 10);
  }
  const EstimateDocument busy =
      make_estimate(bundled("swin_t"), {.sizes = {.batch = 256}, .device = find_device("h200"), .advice = true});
  for (const EstimateAdvice& each : busy.advice) CHECK(each.kind != AdviceKind::Launch);
}

TEST_CASE("a run that does not fit is told first what makes it fit") {
  const Model model = bundled("mistral_7b");
  EstimateRequest request{.sizes = {.batch = 1},
                          .phase = PhaseOptions{.phase = Phase::Decode, .past = 64},
                          .device = find_device("rtx-4090"),
                          .precision = Precision::Float32,
                          .advice = true};
  const EstimateDocument estimate = make_estimate(model, request);
  REQUIRE(estimate.fit->fits == false);
  REQUIRE_FALSE(estimate.advice.empty());
  for (const EstimateAdvice& each : estimate.advice) CHECK(each.kind == AdviceKind::Fit);
  REQUIRE(estimate.advice.front().precision == Precision::Float16);
  CHECK(estimate.advice.front().change == "`precision=float16`");
  request.precision = Precision::Float16;
  CHECK(make_estimate(model, request).fit->fits == true);
  const auto& last = estimate.advice.back();
  REQUIRE(last.devices == 2);
  CHECK(last.change == "`tensor_parallel=2`");
  request.precision = Precision::Float32;
  request.parallel = ParallelOptions{.tensor = 2};
  CHECK(make_estimate(model, request).fit->fits == true);
}

TEST_CASE("nothing is advised for sizes that exceed a table: it would not make them run") {
  EstimateRequest request{.sizes = {.batch = 4},
                          .phase = PhaseOptions{.phase = Phase::Decode, .past = 1024},
                          .device = find_device("a100-80gb"),
                          .advice = true};
  const EstimateDocument estimate = make_estimate(bundled("gpt2_past"), request);
  REQUIRE_FALSE(estimate.exceeded_table.empty());
  CHECK(estimate.cannot_run == estimate.exceeded_table);
  CHECK(estimate.fit->fits == false);
  CHECK(estimate.advice.empty());
  request.phase->past = 1023;
  const EstimateDocument last = make_estimate(bundled("gpt2_past"), request);
  CHECK(last.exceeded_table.empty());
  CHECK_FALSE(last.advice.empty());
}

TEST_CASE("sizes at which a node cannot run have no time, and budgets cannot tell") {
  // Halved, halved again, doubled and joined: the sizes agree where they are multiples of 4.
  const Model model = test::graph(
      "opset=17: x:f32[batch,1,h,w], k:f32[1,1,1,1]=const, s:f32[4]=[1,1,2,2] -> a = Conv(x, k) {strides=[2,2]}; b = "
      "Conv(a, k) {strides=[2,2]}; c = Resize(b, , s) {mode='nearest'}; y = Concat(a, c) {axis=1}");
  EstimateRequest request{.sizes = {.dims = {{"h", 32}, {"w", 32}}},
                          .device = find_device("h200"),
                          .budgets = {parse_budget(BudgetKind::Seconds, "1s")},
                          .advice = true};
  const EstimateDocument runs = make_estimate(model, request);
  CHECK(runs.cannot_run.empty());
  CHECK(runs.roofline->totals.seconds > 0);
  request.sizes.dims["h"] = 34;
  const EstimateDocument broken = make_estimate(model, request);
  CAPTURE(broken.cannot_run);
  CHECK(broken.cannot_run.starts_with("y: "));
  CHECK(broken.roofline->totals.seconds == 0);
  CHECK(broken.fit->fits == false);
  CHECK(broken.advice.empty());
  CHECK_FALSE(broken.is_complete());
  CHECK(broken.budgets->front().verdict == Verdict::CannotTell);
  CHECK_FALSE(broken.budgets->front().value.has_value());
}

TEST_CASE("a batch that is none is left alone, and no item") {
  // Trips of a loop, and rows that meet.
  const char* const graphs[] = {
      "x:f32[t,8], w:f32[8,8]=const, h:f32[1,8], z:i64=0, c:bool=true -> s = Shape(x); n = Gather(s, z); y = Loop(n, "
      "c, h) "
      "{body=( i:i64[], k:bool[], v:f32[1,8] -> q = MatMul(v, w) => k, q)}",
      "a:f32[t,8], b:f32[q,8] -> u = Transpose(b); y = MatMul(a, u)"};
  for (const char* const graph : graphs) {
    CAPTURE(graph);
    const Model model = test::graph(graph);
    EstimateRequest request{.sizes = {.batch = 4}, .device = find_device("h200")};
    const EstimateDocument ignored = make_estimate(model, request);
    CHECK(std::ranges::find(ignored.unset, "t") != ignored.unset.end());
    CHECK(std::ranges::any_of(
        ignored.diagnostics, [](const Diagnostic& each) { return each.message.starts_with("`batch` has no effect"); }));
    request.sizes = {};
    for (const std::string& dim : ignored.unset) request.sizes.dims.emplace(dim, 64);
    CHECK_FALSE(make_estimate(model, request).roofline->items.has_value());
  }
  const Model batched = test::graph("x:f32[unk__7,8], w:f32[8,8]=const -> y = MatMul(x, w)");
  CHECK(make_estimate(batched, {.sizes = {.batch = 4}, .device = find_device("h200")}).roofline->items == Count(4));
  const EstimateRequest named{.sizes = {.dims = {{"unk__7", 4}}}, .device = find_device("h200")};
  CHECK(make_estimate(batched, named).roofline->items == Count(4));
}

TEST_CASE("sizes to set are said with their inputs, and with sizes at which the model runs") {
  struct Row {
    const char* graph;
    const char* sizes;
  };
  const Row rows[] = {
      {"x:f32[batch,3,h,w], k:f32[8,3,3,3]=const -> y = Conv(x, k)", "`dims=h=224` `dims=w=224`"},
      {"x:i64[batch,seq], t:f32[100,8]=const -> y = Gather(t, x)", "`dims=seq=128`"},
      // The Reshape wants 320 rows. 224 is tried first, and fails.
      {"x:f32[batch,3,h,320], z:i64[2]=[-1,102400] -> y = Reshape(x, z)", "`dims=h=320`"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.graph);
    const EstimateDocument estimate = make_estimate(test::graph(row.graph), {.device = find_device("h200")});
    const auto said = std::ranges::find(estimate.diagnostics, Cause::OpenSizes, &Diagnostic::cause);
    REQUIRE(said != estimate.diagnostics.end());
    CAPTURE(said->message);
    CHECK(said->message.starts_with("open sizes: x is "));
    CHECK(said->message.find(row.sizes) != std::string::npos);
  }
}

TEST_CASE("a smaller batch and more devices are advised if they fit") {
  EstimateRequest request{.sizes = {.batch = 200'000}, .device = find_device("h200"), .precision = Precision::Int8};
  request.advice = true;
  const EstimateDocument estimate = make_estimate(bundled("resnet50_dynamic"), request);
  REQUIRE(estimate.fit->fits == false);
  REQUIRE_FALSE(estimate.advice.empty());
  const auto smaller = std::ranges::find_if(estimate.advice, [](const auto& each) { return each.batch.has_value(); });
  REQUIRE(smaller != estimate.advice.end());
  CHECK(Count(*smaller->batch) == estimate.fit->largest_batch);
}

TEST_CASE("advice, both bounds and the best size read back as they were written") {
  EstimateRequest request{.device = find_device("h200"), .advice = true};
  const EstimateDocument estimate = make_estimate(bundled("swin_t"), request);
  const std::string text = write_estimate(estimate);
  const EstimateDocument read = parse_estimate(text, "e.json");
  CHECK(read.unknown.empty());
  CHECK(write_estimate(read) == text);
  CHECK(read.roofline->fused_seconds == estimate.roofline->fused_seconds);
  CHECK(read.roofline->unfused_seconds == estimate.roofline->unfused_seconds);
  REQUIRE(read.advice.size() == estimate.advice.size());
  CHECK(read.advice.front().kind == estimate.advice.front().kind);
  const std::size_t eager = text.find("\"eager_seconds\": "), launched = text.find("\"launched_seconds\": ");
  REQUIRE(eager != std::string::npos);
  REQUIRE(launched != std::string::npos);
  CHECK(text.substr(eager + 17, text.find(',', eager) - eager - 17) ==
        text.substr(launched + 20, text.find(',', launched) - launched - 20));
}

TEST_CASE("a sweep says from which size on more does not pay") {
  const EstimateDocument estimate = make_estimate(
      bundled("resnet50_dynamic"),
      {.device = find_device("h200"), .precision = Precision::Float16, .sweep = {parse_axis("batch=1,2,4..1024")}});
  REQUIRE(estimate.sweep->best);
  const EstimateBest& best = *estimate.sweep->best;
  double most = 0;
  const auto rate = [](const EstimatePoint& point) {
    return static_cast<double>(*point.items) / point.time->eager_seconds.value_or(point.time->seconds);
  };
  for (const EstimatePoint& point : estimate.sweep->points) most = std::max(most, rate(point));
  for (const EstimatePoint& point : estimate.sweep->points)
    CHECK((rate(point) >= 0.95 * most) == (point.sizes[0] >= best.size));
  CHECK(best.size > 1);
  const std::string text = write_estimate(estimate);
  CHECK(text.find(cat("\"best\": {\"batch\": ", best.size, ", \"share\": ")) != std::string::npos);
  CHECK(write_estimate(parse_estimate(text, "e.json")) == text);
  // Nothing to choose where no item depends on the size.
  CHECK_FALSE(make_estimate(test::graph("x:f32[4,n], w:f32[n,8]=const -> y = MatMul(x, w)"),
                            {.device = find_device("h200"), .sweep = {parse_axis("n=1,2,4")}})
                  .sweep->best);
}

TEST_CASE("a measured or a predicted time decides a limit that a bound cannot") {
  const Model model = test::graph("x:f32[512,256], w:f32[256,256]=const -> y = MatMul(x, w)");
  EstimateRequest request{.device = find_device("h200"), .budgets = {parse_budget(BudgetKind::Seconds, "1ms")}};
  const auto verdict = [&] { return make_estimate(model, request).budgets->front().verdict; };
  CHECK(verdict() == Verdict::CannotTell);
  // A sum of kernels is not the time of the run: gaps between them may exceed the limit.
  set_measured(counted("float32", 0.5e-3), request);
  CHECK(verdict() == Verdict::CannotTell);
  Measured whole = counted("float32", 0.5e-3);
  whole.seconds = 0.5e-3;
  set_measured(whole, request);
  CHECK(verdict() == Verdict::Fits);
  set_measured(counted("float32", 2e-3), request);
  CHECK(verdict() == Verdict::Exceeds);
}

TEST_CASE("what-if rows are of both models unless something says which holds") {
  const Model model = test::graph(kBlock);
  EstimateRequest request{
      .sizes = {.dims = {{"n", 64}}}, .device = find_device("h200"), .other_precisions = {Precision::Float16}};
  CHECK(make_estimate(model, request).variants.size() == 2);
  CHECK(make_estimate(model, request).variants.back().traffic == TrafficModel::Fused);
  request.traffic = TrafficModel::Unfused;
  CHECK(make_estimate(model, request).variants.size() == 1);
  request = predicted_by("tensorrt",
                         {.sizes = request.sizes, .device = request.device, .other_precisions = {Precision::Float16}});
  REQUIRE(make_estimate(model, request).variants.size() == 1);
  CHECK(make_estimate(model, request).variants.front().traffic == TrafficModel::Fused);
}

}  // namespace pagoda::estimate
