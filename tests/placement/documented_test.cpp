// Providers whose makers publish lists: each row is a statement of such a list, about one node.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "pagoda/core/placement.h"
#include "pagoda/documents/provider.h"
#include "pagoda/estimate/make_estimate.h"
#include "pagoda/present/report.h"
#include "support/text_graph.h"

namespace pagoda {
namespace {

struct Statement {
  const char *provider, *graph;
  const char* reason;  // of the last node; empty: it is on the provider
};

const Statement kStatements[] = {
    {"tensorrt", "opset=17: x:f32[1,5000], k:i64[1]=[4000] -> y, i = TopK(x, k)", "TopK: K of 3,840 or more"},
    {"tensorrt", "opset=17: x:f32[1,5000], k:i64[1]=[300] -> y, i = TopK(x, k)", ""},
    {"tensorrt", "opset=17: x:f32[1,3,8,8] -> y, i = MaxPool(x) {kernel_shape=[2,2]}", "MaxPool: Indices"},
    {"tensorrt", "opset=17: x:f32[1,3,8] -> y = AveragePool(x) {kernel_shape=[2]}", "pooling: not 2D or 3D"},
    {"tensorrt", "opset=17: x:u8[4], s:f32=0.1 -> y = DequantizeLinear(x, s)", "type of input 0"},
    {"tensorrt", "opset=17: x:i8[4], s:f32=0.1, z:i8=3 -> y = DequantizeLinear(x, s, z)",
     "DequantizeLinear: zero point is not 0"},
    {"tensorrt", "opset=17: x:u8[4], n:u8[4] -> y = BitShift(x, n) {direction='LEFT'}", "no kernel: operator"},
    {"coreml", "opset=17: x:f32[1,3,8,8,8], w:f32[4,3,3,3,3]=const -> y = Conv(x, w)", "Conv: not 1D or 2D"},
    {"coreml", "opset=17: x:f32[1,3,8,8], w:f32[4,3,3,3] -> y = Conv(x, w)", ""},
    {"coreml", "opset=17: x:f32[1,3,8,8], w:f32[4,3,3,3]=const, b:f32[4] -> y = Conv(x, w, b)",
     "Conv: bias is not constant"},
    {"coreml", "opset=17: x:f16[4], e:f16[4] -> y = Pow(x, e)", "Pow: an input is not float32"},
    {"coreml", "opset=17: a:f32[2,3], b:f32[3,4]=const -> y = Gemm(a, b) {alpha=0.5}", "Gemm: alpha"},
    {"coreml", "opset=17: x:f32[1,8,h,4] -> y = DepthToSpace(x) {blocksize=2, mode='CRD'}",
     "DepthToSpace: CRD with free dims"},
    {"coreml", "opset=17: x:f32[8], s:i64[1], e:i64[1]=[4] -> y = Slice(x, s, e)", "Slice: starts are not constant"},
    {"directml", "opset=14: x:i32[4] -> y = Relu(x)", ""},
    {"directml", "opset=14: x:f64[4] -> y = Relu(x)", "no kernel: float64"},
    {"directml", "opset=17: x:f32[4] -> y = Unique(x)", "no kernel: operator"},
    {"directml", "opset=21: x:f32[4] -> y = Cos(x)", ""},
    {"directml", "opset=22: x:f32[4] -> y = Cos(x)", "no kernel: opset 22"},
    {"directml", "opset=13: x:i64[4], m:i64[4] -> y = Mod(x, m)", "no kernel: int64"},
    {"directml", "opset=17: x:f16[4] -> y = com.microsoft.QuickGelu(x)", ""},
    {"directml", "opset=17: x:f32[b,8] -> s = Shape(x); y = Cast(s) {to=6}", "shape arithmetic"},
    {"xnnpack", "opset=17: x:f32[1,3,8,8], w:f32[4,3,3,3]=const -> a = Conv(x, w); y = Relu(a)", ""},
    {"xnnpack", "opset=17: x:f32[4] -> y = Relu(x)", "activation: not behind Conv, MaxPool or AveragePool"},
    {"xnnpack", "opset=17: x:f32[1,3,8,8], w:f32[4,3,3,3] -> y = Conv(x, w)", "convolution: weights are not constant"},
    {"xnnpack", "opset=17: x:f32[1,3,8,8] -> y = MaxPool(x) {kernel_shape=[2,2], ceil_mode=1}", "pooling: ceil_mode"},
    {"xnnpack", "opset=13: x:f32[1,3,8,8] -> y = Softmax(x) {axis=1}", "Softmax: axis is not the last"},
};

}  // namespace

TEST_CASE("a documented provider takes what its list states, and is never called judged") {
  for (const Statement& each : kStatements) {
    CAPTURE(each.provider);
    CAPTURE(each.graph);
    const Provider provider = documents::find_provider(each.provider);
    CHECK(!provider.is_judged);
    const Model model = test::graph(each.graph);
    const GraphPlacement placed = place(model, analyze(model), provider, {.form = PlacementForm::Plain});
    CHECK(placed.nodes.back().reason == each.reason);
    CHECK((placed.nodes.back().on == PlacedOn::Provider) == std::string_view(each.reason).empty());
    const auto estimate = estimate::make_estimate(model, {.providers = {provider}});
    CHECK(present::table_report(estimate, {}).find("documented, not judged") != std::string::npos);
  }
}

TEST_CASE("a provider in host memory copies nothing") {
  const Model model =
      test::graph("opset=17: x:f32[1,3,8,8], w:f32[4,3,3,3]=const -> a = Conv(x, w); b = Erf(a); y = Conv(b, w)");
  const GraphPlacement placed = place(model, analyze(model), documents::find_provider("xnnpack"));
  CHECK(placed.nodes[1].on == PlacedOn::Cpu);
  CHECK(placed.copies.empty());
  CHECK(placed.parts == 2);
}

}  // namespace pagoda
