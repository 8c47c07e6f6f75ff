// Two measured runs of one network: blocks across fusions and names, what is not compared, refusals, and the reports.
#include "pagoda/present/run_comparison.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <optional>

#include "pagoda/base/text.h"
#include "pagoda/core/model.h"
#include "pagoda/estimate/make_estimate.h"
#include "pagoda/measured/import.h"
#include "support/files.h"
#include "support/golden.h"
#include "support/json_schema.h"
#include "support/text_graph.h"

namespace pagoda::present {
namespace {

using documents::EstimateDocument, documents::Measured, documents::MeasuredKernel;
using measured::compare_runs, measured::RunBlock, measured::RunComparison;

EstimateDocument estimate(const char* graph) { return estimate::make_estimate(test::graph(graph)); }

// "a+b:Op:2.5 c:Op:1" – kernels with their nodes, operator and milliseconds ("?": no time).
Measured run(const char* kernels, std::optional<double> milliseconds = std::nullopt) {
  Measured measured;
  measured.source = "onnxruntime";
  for (const std::string& text : base::split(kernels, " ")) {
    const std::vector<std::string> parts = base::split(text, ":");
    MeasuredKernel kernel;
    kernel.nodes = base::split(parts[0], "+");
    kernel.name = parts[0];
    if (kernel.nodes.size() == 1) kernel.node = parts[0], kernel.nodes.clear();
    kernel.op_type = parts[1];
    if (parts[2] != "?") kernel.seconds = 1e-3 * std::stod(parts[2]);
    if (parts.size() > 3) kernel.detail = " -> " + parts[3];
    measured.kernels.push_back(std::move(kernel));
  }
  if (milliseconds) measured.seconds = 1e-3 * *milliseconds;
  return measured;
}

RunComparison compared(Measured first, const EstimateDocument& a, Measured second, const EstimateDocument& b) {
  return compare_runs({"a.json", std::move(first), &a}, {"b.json", std::move(second), &b});
}

// "MatMul+Add=Gemm 3=1" for each block: the operators of both kernels' types and the milliseconds of both, or the
// cause.
std::string blocks_of(const RunComparison& comparison) {
  return base::joined(comparison.blocks, "; ", [](const RunBlock& block) {
    const auto time = [&](std::size_t side) {
      return block.seconds[side] ? base::shortest(std::round(1e6 * *block.seconds[side]) / 1e3) : std::string("?");
    };
    return base::joined(block.types[0], "+") + "=" + base::joined(block.types[1], "+") + " " + time(0) + "=" + time(1) +
           (block.is_joined() ? "" : " " + block.cause);
  });
}

constexpr const char* kChain =
    "x:f32[4,8], w:f32[8,8]=const, v:f32[8]=const -> p = MatMul(x, w) @ m; s = Add(p, v) @ a; r = Relu(s) @ r; "
    "t = Softmax(r) @ s";
// The same in other names, and quantised around the product.
constexpr const char* kQuantised =
    "x:f32[4,8], w:i8[8,8]=const, v:f32[8]=const, k:f32[]=const, z:i8[]=const -> q = QuantizeLinear(x, k, z) @ q0; d = "
    "DequantizeLinear(q, k, z) @ d0; e = DequantizeLinear(w, k, z) @ d1; p = MatMul(d, e) @ n1; s = Add(p, v) @ n2; "
    "r = Relu(s) @ n3; t = Softmax(r) @ n4";

}  // namespace

TEST_CASE("a block is the smallest set of nodes that kernels of both runs cover wholly") {
  struct Case {
    const char* why;
    const char* graph_a;
    const char* a;
    const char* graph_b;
    const char* b;
    const char* blocks;
  };
  constexpr Case kRows[] = {
      {"the same kernels", kChain, "m:MatMul:4 a:Add:1 r:Relu:1 s:Softmax:2", kChain,
       "m:MatMul:2 a:Add:1 r:Relu:1 s:Softmax:3", "MatMul=MatMul 4=2; Softmax=Softmax 2=3; Add=Add 1=1; Relu=Relu 1=1"},
      {"one fuses the first two", kChain, "m:MatMul:4 a:Add:1 r:Relu:1 s:Softmax:2", kChain,
       "m+a:Gemm:3 r:Relu:1 s:Softmax:2", "MatMul+Add=Gemm 5=3; Relu=Relu 1=1; Softmax=Softmax 2=2"},
      {"fused differently in both: only all three nodes compare", kChain, "m+a:Gemm:4 r:Relu:1 s:Softmax:2", kChain,
       "m:MatMul:2 a+r:FusedAdd:1 s:Softmax:2", "Gemm+Relu=MatMul+FusedAdd 5=3; Softmax=Softmax 2=2"},
      {"renamed and quantised: the nodes around a product are of its block", kChain,
       "m:MatMul:4 a:Add:1 r:Relu:1 s:Softmax:2", kQuantised,
       "q0:QuantizeLinear:0.5 n1:MatMulInteger:1 n2:Add:1 n3:Relu:1 n4:Softmax:2",
       "MatMul=QuantizeLinear+MatMulInteger 4=1.5; Add=Add 1=1; Relu=Relu 1=1; Softmax=Softmax 2=2"},
      {"a type of results is named unless it is float32", kChain, "m:MatMul:4:float[4,8]", kChain,
       "m:MatMul:3:float16[4,8]", "MatMul=MatMul float16 4=3"},
      {"no kernel of the other run names the nodes", kChain, "m:MatMul:4 r:Relu:1 s:Softmax:2", kChain,
       "m:MatMul:4 r:Relu:1",
       "MatMul=MatMul 4=4; Relu=Relu 1=1; Softmax= 2=? nodes that no kernel of the other run names"},
      {"a kernel without a time", kChain, "m:MatMul:4 r:Relu:1", kChain, "m:MatMul:? r:Relu:1",
       "Relu=Relu 1=1; MatMul=MatMul 4=? a kernel of the block has no time"},
      {"nodes that only one model has, read by two blocks",
       "x:f32[64] -> h = Exp(x) @ h; y = Tanh(h) @ t; z = Sqrt(h) @ u", "h:Exp:1 t:Tanh:2 u:Sqrt:3",
       "x:f32[64] -> y = Tanh(x) @ t; z = Sqrt(x) @ u", "t:Tanh:1 u:Sqrt:3",
       "Tanh=Tanh 2=1; Sqrt=Sqrt 3=3; Exp= 1=? nodes that only this model has"},
      {"a change of layout goes with the kernel whose values it moves", kChain,
       "ReorderInput:ReorderInput:0.5:float[4,8] m:MatMul:4:float[4,8] ReorderOutput:ReorderOutput:1:float[4,8] "
       "r:Relu:1:float[4,8]",
       kChain, "m:MatMul:4:float[4,8] r:Relu:1:float[4,8]",
       "ReorderInput+MatMul+ReorderOutput=MatMul 5.5=4; Relu=Relu 1=1"},
      {"a free batch matches a batch of 1", "x:f32[N,8] -> h = Exp(x) @ h; y = Tanh(h) @ t", "h:Exp:1 t:Tanh:2",
       "x:f32[1,8] -> g = Exp(x) @ g; u = Tanh(g) @ u", "g:Exp:2 u:Tanh:2", "Exp=Exp 1=2; Tanh=Tanh 2=2"},
  };
  for (const Case& row : kRows) {
    const EstimateDocument a = estimate(row.graph_a), b = estimate(row.graph_b);
    const std::string blocks = blocks_of(compared(run(row.a), a, run(row.b), b));
    CHECK_MESSAGE(blocks == std::string(row.blocks), row.why);
  }
}

TEST_CASE("kernels that joined no node stay out, by cause, and all time is accounted for") {
  const EstimateDocument model = estimate(kChain);
  const RunComparison comparison = compared(run("m:MatMul:4 ReorderInput:ReorderInput:1"), model,
                                            run("m:MatMul:2 zzz:Mystery:1 yyy:Mystery:0.5"), model);
  REQUIRE(comparison.unjoined.size() == 2);
  CHECK(comparison.unjoined[0].cause == "change of layout");
  CHECK(comparison.unjoined[0].run == 0);
  CHECK(comparison.unjoined[1].cause == "no row of that name");
  CHECK(comparison.unjoined[1].kernels == 2);
  CHECK(comparison.unjoined[1].example == "zzz");
  for (std::size_t side = 0; side < 2; ++side) {
    double all = comparison.joined_seconds[side];
    for (const measured::UnjoinedRunTime& each : comparison.unjoined)
      if (each.run == side) all += *each.seconds;
    CHECK(all == doctest::Approx(comparison.kernel_seconds[side]));
  }
}

TEST_CASE("runs of other sizes, other networks or without times are refused") {
  struct Case {
    const char* why;
    const char* graph_b;
    const char* b;
    std::int64_t batch_a, batch_b;  // settings of the runs; 0: not stated
    const char* says;
  };
  constexpr const char* kFree = "x:f32[batch,8], w:f32[8,8]=const -> p = MatMul(x, w) @ m; r = Relu(p) @ r";
  constexpr Case kRows[] = {
      {"batches of the runs", kFree, "m:MatMul:2", 1, 8, "b.json: has batch=8, and a.json has batch=1"},
      {"sizes that profiles record", kFree, "m:MatMul:2:float[16,8]", 0, 0,
       "m has 32 elements in a.json and 128 elements in b.json"},
      {"sizes of the models", "x:f32[2,8], w:f32[8,8]=const -> p = MatMul(x, w) @ m; r = Relu(p) @ r", "m:MatMul:2", 0,
       0, "m has 64 MAC in a.json and 128 MAC in b.json"},
      {"another network", "x:f32[64] -> p = Exp(x) @ e", "e:Exp:2", 0, 0, "less than half of the work of its model"},
      {"another model's profile", kFree, "n:Gemm:2", 0, 0,
       "0 % of the kernels' time of a.json and 0 % of that of b.json can be compared, expected at least 10 %"},
      {"no times", kFree, "m:MatMul:?", 0, 0, "b.json: none of its kernels has a time"},
      {"no kernels", kFree, "", 0, 0, "b.json: holds no kernels"},
  };
  const EstimateDocument a = estimate(kFree);
  for (const Case& row : kRows) {
    const EstimateDocument b = estimate(row.graph_b);
    Measured first = run("m:MatMul:4:float[4,8]"), second = *row.b == '\0' ? Measured() : run(row.b);
    if (row.batch_a > 0) first.env["batch"] = row.batch_a;
    if (row.batch_b > 0) second.env["batch"] = row.batch_b;
    std::string said = "nothing";
    try {
      compared(std::move(first), a, std::move(second), b);
    } catch (const Error& error) {
      said = error.what();
    }
    CHECK_MESSAGE(said.find(row.says) != std::string::npos, row.why, ": ", said);
  }
}

TEST_CASE("of real profiles at least 95 % of both times is compared") {
  struct Case {
    const char* model_a;
    const char* a;
    const char* model_b;
    const char* b;
  };
  // Profiles of tests/import/README.md: releases, levels, exporters and types.
  constexpr Case kRows[] = {
      {"residual", "residual.1.20.1.all", "residual", "residual.1.32.0.all"},
      {"residual", "residual.1.32.0.disable", "residual", "residual.1.32.0.all"},
      {"residual", "residual.1.32.0.all", "residual_dynamo", "residual_dynamo.1.32.0.all"},
      {"residual", "residual.1.32.0.all", "residual_int8", "residual_int8.1.32.0.all"},
      {"residual", "residual.1.32.0.all", "residual_fp16", "residual_fp16.1.32.0.all"},
      {"transformer", "transformer.1.20.1.all", "transformer", "transformer.1.32.0.all"},
      {"transformer", "transformer.1.32.0.disable", "transformer", "transformer.1.32.0.all"},
      {"recurrent", "recurrent.1.32.0.all", "recurrent_dynamo", "recurrent_dynamo.1.32.0.all"},
      {"control", "control.1.20.1.all", "control", "control.1.32.0.all"},
  };
  const auto path = [](const std::string& name) { return test::source_path("tests/import/data/ort/" + name); };
  for (const Case& row : kRows) {
    const EstimateDocument a = estimate::make_estimate(load_model(path(std::string(row.model_a) + ".onnx"))),
                           b = estimate::make_estimate(load_model(path(std::string(row.model_b) + ".onnx")));
    const RunComparison comparison = compared(measured::load_profile(path(std::string(row.a) + ".json")), a,
                                              measured::load_profile(path(std::string(row.b) + ".json")), b);
    for (std::size_t side = 0; side < 2; ++side)
      CHECK_MESSAGE(comparison.joined_seconds[side] >= 0.95 * comparison.kernel_seconds[side], row.a, " ", row.b);
  }
}

TEST_CASE("the verdict compares times of one kind and says when runs overlap") {
  struct Case {
    const char* why;
    std::optional<double> a, b;                   // wall times in ms
    std::optional<std::array<double, 4>> spread;  // least and most of both
    const char* says;
  };
  const Case kRows[] = {
      {"wall times", 12, 8, {}, "b.json is 1.50× faster than a.json: 12.0 ms → 8.00 ms a run; m -2.00 ms"},
      {"slower", 8, 12, {}, "b.json is 1.50× slower than a.json: 8.00 ms → 12.0 ms a run; m -2.00 ms"},
      {"alike", 10, 10.01, {}, "b.json takes as long as a.json: 10.0 ms → 10.0 ms a run; m -2.00 ms"},
      {"only one has a wall time",
       12,
       {},
       {},
       "b.json is 1.67× faster than a.json: 5.00 ms → 3.00 ms in all kernels; m -2.00 ms"},
      {"apart", 12, 8, {{11, 13, 7, 9}}, "b.json is 1.50× faster than a.json: 12.0 ms → 8.00 ms a run; m -2.00 ms"},
      {"overlap",
       12,
       8,
       {{7, 13, 7, 9}},
       "the median run of b.json is 1.50× faster than a.json: 12.0 ms → 8.00 ms a run; m -2.00 ms"},
  };
  const EstimateDocument model =
      estimate("x:f32[4,8], w:f32[8,8]=const -> p = MatMul(x, w) @ /m/MatMul; r = Relu(p) @ /r/Relu");
  for (const Case& row : kRows) {
    Measured first = run("/m/MatMul:MatMul:4 /r/Relu:Relu:1", row.a),
             second = run("/m/MatMul:MatMul:2 /r/Relu:Relu:1", row.b);
    if (row.spread) {
      first.spread = {.min = 1e-3 * (*row.spread)[0], .max = 1e-3 * (*row.spread)[1], .mean = 0.012, .n = 3};
      second.spread = {.min = 1e-3 * (*row.spread)[2], .max = 1e-3 * (*row.spread)[3], .mean = 0.008, .n = 3};
    }
    const std::string verdict = runs_verdict(compared(std::move(first), model, std::move(second), model));
    CHECK_MESSAGE(verdict == std::string(row.says), row.why);
  }
}

TEST_CASE("parts are modules: layers that are alike are one, as coarse as half of the time allows") {
  struct Case {
    const char* why;
    std::array<const char*, 4> names;
    const char* parts;  // in order of the blocks
  };
  constexpr Case kRows[] = {
      {"stages that differ keep their numbers",
       {"/stem/A", "/s1/s1.0/x/A", "/s2/s2.0/y/A", "/head/A"},
       "stem s1 s2 head"},
      {"alike layers are one, and are told apart by what is inside",
       {"/e/l.0/q/A", "/e/l.0/k/A", "/e/l.1/q/A", "/e/l.1/k/A"},
       "e/l.*/q e/l.*/k e/l.*/q e/l.*/k"},
      {"a module in all names is left behind", {"/m/a/A", "/m/b/A", "/m/c/A", "/m/d/A"}, "m/a m/b m/c m/d"},
      {"without modules: operators", {"n1", "n2", "n3", "n4"}, "MatMul MatMul MatMul MatMul"},
  };
  for (const Case& row : kRows) {
    std::string graph = "x:f32[8,8], w:f32[8,8]=const -> ", kernels;
    for (std::size_t i = 0; i < row.names.size(); ++i) {
      graph += (i > 0 ? "; v" : "v") + std::to_string(i) + " = MatMul(" + (i > 0 ? "v" + std::to_string(i - 1) : "x") +
               ", w) @ " + row.names[i];
      kernels += (i > 0 ? " " : "") + std::string(row.names[i]) + ":MatMul:1";
    }
    const EstimateDocument model = estimate(graph.c_str());
    const RunComparison comparison = compared(run(kernels.c_str()), model, run(kernels.c_str()), model);
    const std::string parts = base::joined(comparison.blocks, " ", [](const RunBlock& block) { return block.part; });
    CHECK_MESSAGE(parts == std::string(row.parts), row.why);
  }
}

TEST_CASE("table, CSV and JSON of two runs") {
  const EstimateDocument a = estimate(
      "x:f32[4,8], w:f32[8,8]=const -> p = MatMul(x, w) @ /enc/layer.0/fc/MatMul; r = Relu(p) @ /enc/layer.0/act/Relu; "
      "q = "
      "MatMul(r, w) @ /enc/layer.1/fc/MatMul; s = Relu(q) @ /enc/layer.1/act/Relu; t = Softmax(s) @ /head/Softmax");
  const RunComparison comparison =
      compared(run("/enc/layer.0/fc/MatMul:MatMul:4 /enc/layer.0/act/Relu:Relu:1 /enc/layer.1/fc/MatMul:MatMul:4 "
                   "/enc/layer.1/act/Relu:Relu:1 /head/Softmax:Softmax:0.5",
                   12),
               a,
               run("/enc/layer.0/fc/MatMul+/enc/layer.0/act/Relu:FusedGemm:2 "
                   "/enc/layer.1/fc/MatMul+/enc/layer.1/act/Relu:FusedGemm:2 "
                   "/head/Softmax:Softmax:0.5 ReorderOutput:ReorderOutput:0.25",
                   6),
               a);
  test::check_golden("report/runs.table.txt", runs_table(comparison));
  test::check_golden("report/runs.csv", runs_csv(comparison));
  const std::string json = runs_json(comparison, "roofline-plot 1");
  test::check_golden("report/runs.json", json);
  test::check_schema(json, "comparison");
  CHECK(runs_table(comparison, 1).find("/head/Softmax") == std::string::npos);  // of one row per table
}

}  // namespace pagoda::present
