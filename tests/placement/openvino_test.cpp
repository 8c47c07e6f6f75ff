// Where OpenVINO's provider puts nodes on the CPU. Every expected place and part is an answer of onnxruntime-openvino
// 1.24.1 about the same graph, in both forms.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "pagoda/documents/provider.h"
#include "pagoda/estimate/make_estimate.h"
#include "placement/places.h"

namespace pagoda {
namespace {

const PlacedCase kOpenvinoCases[] = {
    {"a node that is not taken cuts the network; the last part may be of one node",
     "opset=17: x:f32[4,8,8] -> a = Relu(x); b = Exp(a); c = Det(b); y = Relu(c)", "ppcp", "ppcp", 2, 1, 1,
     "no kernel: operator", nullptr},
    {"an earlier part of one node is left",
     "opset=17: x:f32[4,8,8] -> a = Relu(x); b = Det(a); c = Relu(b); y = Softplus(c)", "ccpp", "ccpp", 1, 0, 1,
     "a part of one node", nullptr},
    {"unless a later part is connected to it",
     "opset=17: x:f32[4,8,8], z:f32[4], q:f32[4,8,8] -> b = Det(x); a = Relu(z); e = Det(q); c = Add(b, a); d = Add(c, "
     "e); y = Exp(d)",
     "cpcppp", "cpcppp", 2, 1, 3, "no kernel: operator", nullptr},
    {"parts follow the order of nodes, not only their links",
     "opset=17: x:f32[4,8,8], z:f32[4] -> a = Abs(x); b = Det(a); c = Relu(b); y = Exp(c); d = Abs(z); y2 = Exp(d)",
     "ccpppp", "ccpppp", 2, 0, 1, "a part of one node", nullptr},
    {"a part that ends in Conv is left",
     "opset=17: x:f32[1,3,8,8], w:f32[4,3,1,1]=const -> a = Relu(x); b = Conv(a, w); c = Det(b); d = Relu(c); y = "
     "Exp(d)",
     "cccpp", "cccpp", 1, 0, 1, "its part ends in Conv", "another node"},
    {"a part that ends behind it is not",
     "opset=17: x:f32[1,3,8,8], w:f32[4,3,1,1]=const, lo:f32[1]=[-3e38] -> a = Relu(x); b = Conv(a, w); m = Max(b, "
     "lo); "
     "c = Det(m); d = Relu(c); y = Exp(d)",
     "pppcpp", "pppcpp", 2, 1, 1, "no kernel: operator", nullptr},
    {"TopK is taken",
     "opset=17: x:f32[4,8], k:i64[1]=[3] -> a = Relu(x); b = Exp(a); v, i = TopK(b, k); c = Abs(v); y = "
     "Exp(c)",
     "ppppp", "ppppp", 1, 0, 0, "", nullptr},
    {"where another node is left, so is TopK",
     "opset=17: x:f32[4,8,8], k:i64[1]=[3] -> a = Relu(x); b = Exp(a); c = Det(b); d = Abs(c); e = Exp(d); v, i = "
     "TopK(e, k); f = Abs(v); y = Exp(f)",
     "ppcppcpp", "ppcppcpp", 3, 2, 2, "no kernel: operator", nullptr},
    {"a small graph that begins with Cast is left", "opset=17: x:i32[4] -> a = Cast(x) {to=1}; b = Relu(a); y = Exp(b)",
     "ccc", "ccc", 0, 0, 0, "graph of three nodes or fewer, by its first", nullptr},
    {"with four nodes it is taken", "opset=17: x:i32[4] -> a = Cast(x) {to=1}; b = Relu(a); c = Exp(b); y = Abs(c)",
     "pppp", "pppp", 1, 0, 0, "", nullptr},
    {"a Reshape alone to sizes that are not stored", "opset=17: x:f32[4], s:i64[2] -> y = Reshape(x, s)", "c", "c", 0,
     0, 0, "graph of one node", nullptr},
    {"double", "opset=17: x:f64[4,4] -> a = MatMul(x, x); b = Relu(a); y = Exp(b)", "ccc", "ccc", 0, 0, 0,
     "no kernel: float64", "float32"},
    {"a scalar, which ReduceMean writes",
     "opset=17: x:f32[4] -> a = Relu(x); b = Exp(a); y = ReduceMean(b) {keepdims=0}", "ppc", "ppc", 1, 1, 0,
     "scalar operand", "keepdims=1"},
    {"the zero point of ConvInteger is a scalar",
     "opset=17: x:f32[1,3,8,8], w:u8[4,3,1,1]=const, wz:u8=3 -> a = Relu(x); q, s, z = DynamicQuantizeLinear(a); y = "
     "ConvInteger(q, w, z, wz) => y",
     "ppc", "ppc", 1, 2, 0, "scalar operand", "statically"},
    {"products of integers may have one",
     "opset=17: x:f32[4,4], w:u8[4,4]=const, wz:u8=3 -> q, s, z = DynamicQuantizeLinear(x); i = MatMulInteger(q, w, z, "
     "wz); f = Cast(i) {to=1}; y = Mul(f, s)",
     "pppp", "pppp", 1, 0, 0, "", nullptr},
    {"tensors without elements pass some operators",
     "opset=17: x:f32[4], s:i64[1]=[2], e:i64[1]=[2] -> a = Abs(x); b = Slice(a, s, e); c = Concat(b, x) {axis=0}; d = "
     "Elu(c); y = Exp(d)",
     "ppppp", "ppppp", 1, 0, 0, "", nullptr},
    {"the name of an input decides",
     "opset=17: x:f32[4], axes:i64[1]=[1] -> a = Relu(x); b = Exp(a); y = Unsqueeze(b, axes)", "ppc", "ppc", 1, 1, 0,
     "Unsqueeze: an input named axes", "rename"},
    {"Resize with a filter",
     "opset=18: x:f32[1,3,8,8], s:f32[4]=[1,1,0.5,0.5] -> a = Abs(x); b = Elu(a); y = Resize(b, , s) {antialias=1, "
     "mode='linear'}",
     "ppc", "ppc", 1, 1, 0, "Resize: antialias", "antialias=0"},
    {"bodies may read scalars",
     "opset=17: x:f32[4], c:bool[], s:f32[] -> a = Abs(x); z = If(c) {then_branch=(-> q = Mul(a, s)), else_branch=(-> "
     "q2 = "
     "Exp(a))}; y = Exp(z)",
     "ppp", "ppp", 1, 0, 0, "", nullptr},
    {"parts that read only stored tensors are taken until they fold",
     "opset=17: x:f32[4,8,8], w:f32[4]=[1,2,3,4] -> a = Exp(w); y = Abs(a); d = Det(x); e = Abs(d); z = Elu(e)",
     "ppcpp", "ffcpp", 1, 0, 1, "no kernel: operator", nullptr},
    {"an input of unknown rank", "opset=17: x:f32 -> a = Abs(x); y = Abs(a)", "cc", "cc", 0, 0, 0,
     "an input of the model has no rank", nullptr},
};

}  // namespace

TEST_CASE("OpenVINO takes the nodes and parts that the runtime gives it, in both forms") {
  const Provider openvino = documents::find_provider("openvino-cpu");
  CHECK(openvino.is_judged);
  for (const PlacedCase& each : kOpenvinoCases) check_places(each, openvino);
}

TEST_CASE("cures of OpenVINO's reasons are listed") {
  check_cures(kOpenvinoCases, documents::find_provider("openvino-cpu"));
}

TEST_CASE("OpenVINO's types need to be known") {
  const Model model = test::graph("x:f32[4] -> a = my.Op(x); b = Relu(a); c = Abs(b); y = Exp(x); z = Abs(y)");
  const Provider openvino = documents::find_provider("openvino-cpu");
  CHECK(places(place(model, analyze(model), openvino, {.form = PlacementForm::Plain})) == "c??pp");
}

}  // namespace pagoda
