// Where QNN's provider puts nodes. Every expected place and part is an answer of onnxruntime-qnn 2.7.0 for HTP v73
// about the same graph, asked without an NPU in both forms.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "pagoda/core/placement.h"
#include "pagoda/documents/provider.h"
#include "pagoda/estimate/make_estimate.h"
#include "placement/places.h"
#include "support/text_graph.h"

namespace pagoda {
namespace {

const PlacedCase kQnnCases[] = {
    {"a free dim refuses a node",
     "opset=17: x:f32[b,8] -> y = Relu(x)",
     "c",
     "c",
     0,
     {},
     {},
     "a free dim",
     "fix the free dims"},
    {"without optimisation, inference does not follow a computed size that is joined with a stored number",
     "opset=17: x:f32[2,3,4], i:i64=1, z:i64[1]=[0], m:i64[1]=[-1] -> s = Shape(x); a = Gather(s, i); b = "
     "Unsqueeze(a, z); k = Concat(b, m) {axis=0}; r = Reshape(x, k); y = Relu(r)",
     "cpppcc",
     "ffffpp",
     1,
     {},
     {},
     "Shape",
     nullptr},
    {"a result has the size that one picks from a Shape",
     "opset=17: x:f32[2,3,4], i:i64=1, z:i64[1]=[0] -> s = Shape(x); a = Gather(s, i); b = Unsqueeze(a, z); q = "
     "Relu(x); w = Slice(q, z, b, z); y = Relu(w)",
     "cpppcp",
     "fffppp",
     1,
     {},
     {},
     "Shape",
     nullptr},
    {"a sum with sizes that are known has them where they are not 1",
     "opset=17: x:f32[2,3,4], z:i64[1]=[0], m:i64[1]=[-1] -> s = Shape(x); o = Concat(s, z) {axis=0}; k = Slice(o, "
     "z, m, z); r = Reshape(x, k); v = Add(r, x); y = Relu(v)",
     "cppccp",
     "fffppp",
     1,
     {},
     {},
     "Shape",
     nullptr},
    {"a Slice that leaves nothing",
     "opset=17: x:f32[2,3,4], z:i64[1]=[0] -> w = Slice(x, z, z, z); v = Concat(w, x) {axis=0}; y = Relu(v)",
     "cpp",
     "cpp",
     1,
     {},
     {},
     "Slice: nothing is left",
     nullptr},
    {"GELU written with Erf is one operator",
     "opset=17: x:f32[2,8], e:f32=1.414, h:f32=0.5, o:f32=1.0 -> a = Div(x, e); b = Erf(a); c = Add(b, o); d = Mul(x, "
     "c); y = Mul(d, h)",
     "ppppp",
     "ppppp",
     1,
     {},
     {},
     "",
     nullptr},
    {"Erf alone has no operator",
     "opset=17: x:f32[2,8], o:f32=1.0 -> b = Erf(x); c = Add(b, o); y = Mul(x, c)",
     "cpp",
     "cpp",
     1,
     {},
     {},
     "no QNN operator, but within GELU",
     nullptr},
    {"a product quantised as it runs is taken whole",
     "opset=17: x:f32[4,8], w:u8[8,8]=const, s:f32=0.1 -> q, z, p = DynamicQuantizeLinear(x); a = MatMulInteger(q, w, "
     "p); b = Cast(a) {to=1}; m = Mul(z, s); y = Mul(b, m)",
     "ppppp",
     "ppppp",
     1,
     {},
     {},
     "",
     nullptr},
    {"without a zero point it is not",
     "opset=17: x:f32[4,8], w:u8[8,8]=const -> q, z, p = DynamicQuantizeLinear(x); a = MatMulInteger(q, w); b = "
     "Cast(a) {to=1}; y = Mul(b, z)",
     "ccpp",
     "ccpp",
     1,
     {},
     {},
     "no QNN operator, but before MatMulInteger",
     nullptr},
    {"weights that are inputs",
     "opset=17: x:f32[1,3,8,8], s:f32[3], b:f32[3]=const, m:f32[3]=const, v:f32[3]=const -> a = BatchNormalization(x, "
     "s, b, m, v); y = Relu(a)",
     "cp",
     "cp",
     1,
     {},
     {},
     "BatchNormalization: scale is not constant",
     "initializers"},
    {"weights that are stored",
     "opset=17: x:f32[1,3,8,8], s:f32[3]=const, b:f32[3]=const, m:f32[3]=const, v:f32[3]=const -> a = "
     "BatchNormalization(x, s, b, m, v); y = Relu(a)",
     "pp",
     "pp",
     1,
     {},
     {},
     "",
     nullptr},
    {"Gemm with alpha",
     "opset=17: x:f32[2,4], w:f32[3,4]=const -> a = Gemm(x, w) {transB=1, alpha=0.5}; y = Relu(a)",
     "cp",
     "cp",
     1,
     {},
     {},
     "Gemm: alpha is not 1",
     "Mul"},
    {"alpha as a node",
     "opset=17: x:f32[2,4], w:f32[3,4]=const, h:f32=0.5 -> a = Gemm(x, w) {transB=1}; b = Mul(a, h); y = Relu(b)",
     "ppp",
     "ppp",
     1,
     {},
     {},
     "",
     nullptr},
    {"six dims", "opset=17: x:f32[2,3,4,5,6,7] -> y = Relu(x)", "c", "c", 0, {}, {}, "more than 5 dims", nullptr},
    {"windows of one image: six dims, one of which is 1",
     "opset=17: x:f32[1,8,8,6], s:i64[6]=[1,4,2,4,2,6], t:i64[3]=[16,4,6] -> a = Reshape(x, s); b = Transpose(a) "
     "{perm=[0,1,3,2,4,5]}; c = Reshape(b, t); y = Relu(c)",
     "pppp",
     "pppp",
     1,
     {},
     {},
     "",
     nullptr},
    {"windows of two images",
     "opset=17: x:f32[2,8,8,6], s:i64[6]=[2,4,2,4,2,6], t:i64[3]=[32,4,6] -> a = Reshape(x, s); b = Transpose(a) "
     "{perm=[0,1,3,2,4,5]}; c = Reshape(b, t); y = Relu(c)",
     "cccp",
     "cccp",
     1,
     {},
     {},
     "more than 5 dims",
     nullptr},
    {"a QDQ convolution: the input is quantised on the CPU",
     "opset=17: x:f32[1,3,8,8], w:i8[4,3,3,3]=const, s:f32=0.1, z:u8=0, k:i8=0 -> q = QuantizeLinear(x, s, z); d = "
     "DequantizeLinear(q, s, z); e = DequantizeLinear(w, s, k); c = Conv(d, e); p = QuantizeLinear(c, s, z); f = "
     "DequantizeLinear(p, s, z); y = Relu(f)",
     "cpppppp",
     "cpppppp",
     1,
     {},
     {},
     "quantises an input of the model",
     nullptr},
    {"a refused node takes its unit along",
     "opset=17: x:f32[4,8], s:f32=0.1, z:u8=0 -> r = Relu(x); q = QuantizeLinear(r, s, z); d = DequantizeLinear(q, s, "
     "z); e = Erf(d); p = QuantizeLinear(e, s, z); f = DequantizeLinear(p, s, z); y = Relu(f)",
     "ppcccpp",
     "ppcccpp",
     2,
     {},
     {},
     "no QNN operator, but within GELU",
     nullptr},
    {"quantised input and output stay on the CPU",
     "opset=17: x:f32[4,8], s:f32=0.1, z:u8=0 -> q = QuantizeLinear(x, s, z); d = DequantizeLinear(q, s, z); e = "
     "Sigmoid(d); p = QuantizeLinear(e, s, z); y = DequantizeLinear(p, s, z)",
     "cpppc",
     "cpppc",
     1,
     {},
     {},
     "quantises an input of the model",
     nullptr},
    {"bytes without a scale",
     "opset=17: x:u8[4,8], k:u8[4,8] -> a = Max(x, k); y = Cast(a) {to=1}",
     "cp",
     "cp",
     1,
     {},
     {},
     "8 bits without a scale",
     nullptr},
    {"nearest neighbours, rounded up",
     "opset=17: x:f32[1,3,8,8], s:f32[4]=[1.0,1.0,2.0,2.0] -> a = Resize(x, , s) {mode='nearest', "
     "coordinate_transformation_mode='asymmetric', nearest_mode='ceil'}; y = Relu(a)",
     "cp",
     "cp",
     1,
     {},
     {},
     "Resize: nearest_mode",
     "floor"},
    {"nearest neighbours, rounded down",
     "opset=17: x:f32[1,3,8,8], s:f32[4]=[1.0,1.0,2.0,2.0] -> a = Resize(x, , s) {mode='nearest', "
     "coordinate_transformation_mode='asymmetric', nearest_mode='floor'}; y = Relu(a)",
     "pp",
     "pp",
     1,
     {},
     {},
     "",
     nullptr},
    {"a cast to an int64 output",
     "opset=17: x:f32[4,8] -> a = Relu(x); y = Cast(a) {to=7}",
     "pc",
     "pc",
     1,
     {},
     {},
     "Cast to int64 for an output of the model",
     "int32"},
    {"a cast by way of int32",
     "opset=17: x:f32[4,8] -> a = Relu(x); b = Cast(a) {to=6}; y = Cast(b) {to=7}",
     "ppp",
     "ppp",
     1,
     {},
     {},
     "",
     nullptr},
    {"LSTM with clip",
     "opset=17: x:f32[5,1,3], w:f32[1,16,3]=const, r:f32[1,16,4]=const -> , h = LSTM(x, w, r) {hidden_size=4, "
     "clip=1.0}; y = Relu(h)",
     "cp",
     "cp",
     1,
     {},
     {},
     "recurrent: clip",
     "without clip"},
    {"GRU with its default activations spelt as ONNX does",
     "opset=17: x:f32[5,1,3], w:f32[1,12,3]=const, r:f32[1,12,4]=const -> , h = GRU(x, w, r) {hidden_size=4, "
     "activations=['Sigmoid','Tanh']}; y = Relu(h)",
     "cp",
     "cp",
     1,
     {},
     {},
     "recurrent: activations",
     "leave activations out"},
    {"GRU without them",
     "opset=17: x:f32[5,1,3], w:f32[1,12,3]=const, r:f32[1,12,4]=const -> , h = GRU(x, w, r) {hidden_size=4}; y = "
     "Relu(h)",
     "pp",
     "pp",
     1,
     {},
     {},
     "",
     nullptr},
    {"nodes that are not connected share a part",
     "opset=17: x:f32[4,8] -> a = Relu(x); b = Erf(a); c = Sigmoid(b); d = Tanh(x); y = Exp(d)",
     "pcppp",
     "pcppp",
     2,
     {},
     {},
     "no QNN operator, but within GELU",
     nullptr},
    {"limits that are computed",
     "opset=17: x:f32[4,8], lo:f32[] -> r = Sigmoid(x); c = Clip(r, lo); y = Sigmoid(c)",
     "pcp",
     "pcp",
     2,
     {},
     {},
     "Clip: limits are not constant",
     "initializers"},
};

}  // namespace

TEST_CASE("QNN: nodes and parts are those of the provider, in both forms") {
  const Provider qnn = documents::find_provider("qnn-htp");
  CHECK(qnn.is_judged);
  for (const PlacedCase& each : kQnnCases) check_places(each, qnn);
}

TEST_CASE("QNN: an estimate has the cures that answers show") {
  check_cures(kQnnCases, documents::find_provider("qnn-htp"));
}

TEST_CASE("tensors of more dims than a word has bits are placed, too") {
  std::string dims = "b";
  for (int i = 0; i < 70; ++i) dims += ",1";
  const Model model =
      test::graph("opset=17: x:f32[" + dims + "] -> s = Shape(x); r = Reshape(x, s); a = Abs(r); y = Relu(a)");
  for (const PlacementForm form : {PlacementForm::Plain, PlacementForm::Default}) {
    const GraphPlacement placed = place(model, analyze(model), documents::find_provider("qnn-htp"), {.form = form});
    CHECK(placed.nodes.back().on == PlacedOn::Cpu);
    CHECK(placed.nodes.back().reason == "a free dim");
  }
}

TEST_CASE("a condition of a closed check decides where it refused nine in ten, and is said with its share elsewhere") {
  struct Case {
    const char* what;
    std::int64_t refused;
    const char* places;
  };
  const Case cases[] = {{"all were refused", 40, "c"}, {"nine in ten", 36, "c"}, {"fewer", 35, "p"}, {"none", 0, "p"}};
  const Model model = test::graph("opset=17: x:f32[2,8] -> y = Relu(x)");
  for (const Case& each : cases) {
    CAPTURE(each.what);
    Provider provider = documents::find_provider("qnn-htp");
    ProviderCondition condition;
    condition.operators = {"Relu"};
    condition.reason = "Relu of some kind";
    condition.answers = {.refused = each.refused, .of = 40};
    provider.conditions = {condition};
    const GraphPlacement placed = place(model, analyze(model), provider);
    CHECK(places(placed) == each.places);
    CHECK(placed.nodes[0].reason == "Relu of some kind");
    REQUIRE(placed.nodes[0].answers);
    CHECK(placed.nodes[0].answers->refused == each.refused);
  }
}

}  // namespace pagoda
