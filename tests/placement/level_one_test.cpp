// What ONNX Runtime's first level of optimisation leaves of small graphs. Every expected place, part and copy is an
// answer of onnxruntime-gpu 1.31.1 about the same graph, asked over stub libraries in the default form.
#include <doctest/doctest.h>

#include <string>

#include "pagoda/documents/provider.h"
#include "placement/places.h"

namespace pagoda {
namespace {

struct LevelOneCase {
  const char* what;
  const char* graph;
  const char* places;
  std::int32_t parts = 1;
};

const LevelOneCase kLevelOneCases[] = {
    {"Transposes cancel around an operator that both pass",
     "opset=17: x:f32[2,3,4,5] -> a = Relu(x); t = Transpose(a) {perm=[0,2,3,1]}; e = Elu(t); u = Transpose(e) "
     "{perm=[0,3,1,2]}; y = Relu(u)",
     "pupup"},
    {"and around a sum with a stored row, which gets the other layout",
     "opset=17: x:f32[2,3,4,5], b:f32[3]=const -> a = Relu(x); t = Transpose(a) {perm=[0,2,3,1]}; s = Add(t, b); u = "
     "Transpose(s) {perm=[0,3,1,2]}; y = Relu(u)",
     "pupup"},
    {"a Transpose that leads to none stays",
     "opset=17: x:f32[2,3,4,5] -> a = Relu(x); t = Transpose(a) {perm=[0,2,3,1]}; s = Softplus(t); y = Relu(s)",
     "pppp"},
    {"two Transposes become the second",
     "opset=17: x:f32[2,3,4,5] -> a = Relu(x); t = Transpose(a) {perm=[0,2,3,1]}; u = Transpose(t) {perm=[0,2,3,1]}; y "
     "= Relu(u)",
     "pupp"},
    {"a Transpose passes a Reshape that only splits dims, and is made anew",
     "opset=17: x:f32[84,7,64], s:i64[4]=[7,12,64,7] -> a = Relu(x); t = Transpose(a) {perm=[0,2,1]}; r = Reshape(t, "
     "s); y = Relu(r)",
     "pupp"},
    {"a Transpose passes a Gather of one place, whose result has fewer dims",
     "opset=17: x:f32[2,3,4,5], i:i64=0 -> a = Relu(x); t = Transpose(a) {perm=[0,2,3,1]}; g = Gather(t, i) {axis=1}; "
     "y "
     "= Relu(g)",
     "pupp"},
    {"and a reduction",
     "opset=17: x:f32[2,3,4,5] -> a = Relu(x); t = Transpose(a) {perm=[0,2,3,1]}; r = ReduceMean(t) {axes=[1,2], "
     "keepdims=0}; y = Relu(r)",
     "pupp"},
    {"a product of three dims and its bias become a Gemm between Reshapes",
     "opset=17: x:f32[2,3,8], w:f32[8,4]=const, b:f32[4]=const -> m = MatMul(x, w); a = Add(m, b); y = Relu(a)", "uup"},
    {"a Reshape takes in what only adds dims",
     "opset=17: x:f32[2,3,8], s:i64[2]=[6,8], z:i64[1]=[0] -> a = Relu(x); r = Reshape(a, s); u = Unsqueeze(r, z); y = "
     "Relu(u)",
     "puup"},
    {"a filled tensor of free sizes stays",
     "opset=17: x:f32[b,8], z:i64=0, z1:i64[1]=[0], e:i64[1]=[8] -> s = Shape(x); g = Gather(s, z); u = Unsqueeze(g, "
     "z1); c = Concat(u, e) {axis=0}; f = ConstantOfShape(c); y = Add(x, f)",
     "pcccpp", 2},
    {"with known sizes it folds, as do sizes behind it",
     "opset=17: x:f32[4,8], z:i64=0, z1:i64[1]=[0], e:i64[1]=[8] -> s = Shape(x); g = Gather(s, z); u = Unsqueeze(g, "
     "z1); c = Concat(u, e) {axis=0}; f = ConstantOfShape(c); h = Shape(f); k = ConstantOfShape(h); y = Add(x, k)",
     "fffffffp"},
    {"CastLike runs as Cast", "opset=19: x:f32[4,8], t:f16[1]=const -> a = Relu(x); h = CastLike(a, t)", "pu"},
    {"Mish runs as three operators", "opset=18: x:f32[4,8] -> a = Relu(x); m = Mish(a); y = Relu(m)", "pup"},
    {"a stored bias that is unsqueezed joins the convolution",
     "opset=17: x:f32[1,3,8,8], w:f32[4,3,3,3]=const, b:f32[4]=const, k:i64[2]=[1,2] -> c = Conv(x, w); u = "
     "Unsqueeze(b, k); m = Add(c, u); y = Relu(m)",
     "pfup"},
    {"two readers of dequantised numbers",
     "opset=17: q:u8[4,8], s:f32=0.1 -> d = DequantizeLinear(q, s); a = Relu(d); b = Softplus(d); y = Add(a, b)",
     "pppp"},
    {"equal fillings are one",
     "opset=17: x:f32[b,8] -> s = Shape(x); f = ConstantOfShape(s) {value=f32[1]=[1.0]}; g = ConstantOfShape(s) "
     "{value=f32[1]=[1.0]}; a = Add(x, f); y = Mul(a, g)",
     "ppupp"},
    {"and different ones are not",
     "opset=17: x:f32[b,8] -> s = Shape(x); f = ConstantOfShape(s) {value=f32[1]=[1.0]}; g = ConstantOfShape(s) "
     "{value=f32[1]=[2.0]}; a = Add(x, f); y = Mul(a, g)",
     "ppppp"},
    {"a pool takes in a Pad of nothing",
     "opset=17: x:f32[1,3,8,8], p:i64[8]=[0,0,0,0,0,0,0,0] -> a = Relu(x); b = Pad(a, p); y = AveragePool(b) "
     "{kernel_shape=[2,2]}",
     "pup"},
};

}  // namespace

TEST_CASE("nodes that the first level of optimisation moves, folds and fuses are where the runtime has them") {
  const Provider cuda = documents::find_provider("cuda");
  for (const LevelOneCase& each : kLevelOneCases) {
    CAPTURE(each.what);
    const Model model = test::graph(each.graph);
    const GraphPlacement placed = place(model, analyze(model), cuda);
    CHECK(places(placed) == each.places);
    CHECK(placed.parts == each.parts);
    CHECK(placed.copies.empty());
  }
}

}  // namespace pagoda
