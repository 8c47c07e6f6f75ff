// What ONNX Runtime's levels of optimisation leave of small graphs. Every expected place, part and copy is an
// answer of onnxruntime-gpu 1.31.1 about the same graph, asked over stub libraries in the default form.
#include <doctest/doctest.h>

#include <span>
#include <string>
#include <string_view>

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
    {"what only a folded node read is gone",
     "opset=17: x:f32[4,8] -> a = Relu(x); b = Exp(a); s = Shape(b); k = ConstantOfShape(s); y = Add(x, k)", "ffffp"},
    {"an input of the model is not taken past a node with other operands",
     "opset=17: x:f32[4,8], o:f32[1]=[1.0] -> d = Div(x, o); y = Exp(d)", "pp"},
    {"but what a node computes is", "opset=17: x:f32[4,8], o:f32[1]=[1.0] -> a = Relu(x); d = Div(a, o); y = Exp(d)",
     "pup"},
    {"equal stored tensors are one",
     "opset=17: x:f32[4,1], s:i64[2]=[4,3], t:i64[2]=[4,3] -> a = Expand(x, s); b = Expand(x, t); c = Relu(a); y = "
     "Add(b, c)",
     "pupp"},
    {"folded ones stay apart",
     "opset=17: x:f32[4,1], z:f32[4,3] -> s = Shape(z); r = Relu(z); t = Shape(r); a = Expand(x, s); b = Expand(x, t); "
     "c = Relu(a); d = Add(b, c); y = Add(d, r)",
     "fpfppppp"},
    {"the runtime folds no operator of its own domain",
     "opset=17: x:f32[2,2], c:f32[2,2]=const -> a = com.microsoft.Gelu(c); y = Add(x, a)", "pp"},
    {"nor merges equal ones",
     "opset=17: x:f32[2,4] -> a = com.microsoft.Gelu(x); b = com.microsoft.Gelu(x); c = Relu(b); y = Add(c, a)",
     "pppp"},
    {"CastLike is not folded, and what it reads belongs to the Cast",
     "opset=19: x:f32[4,4] -> s = Shape(x); k = ConstantOfShape(s); c = CastLike(k, x); d = Exp(c); y = Add(x, d)",
     "ffupp"},
    {"a normalisation that is written out, with an opset that has the operator",
     "opset=17: x:f32[2,4], t:f32=2.0, e:f32=0.00001, g:f32[4]=const, b:f32[4]=const -> m = ReduceMean(x) {axes=[-1]}; "
     "d = Sub(x, m); p = Pow(d, t); v = ReduceMean(p) {axes=[-1]}; w = Add(v, e); r = Sqrt(w); q = Div(d, r); k = "
     "Mul(q, g); y = Add(k, b)",
     "uuuuuuuuu"},
    {"GELU that is written out, with an opset that has the operator",
     "opset=20: x:f32[2,4], h:f32=0.5, o:f32=1.0, r:f32=1.4142135 -> a = Div(x, r); b = Erf(a); c = Add(b, o); d = "
     "Mul(x, c); y = Mul(d, h)",
     "uuuuu"},
    {"sizes that a later Split takes in",
     "opset=17: x:f32[2,6,4], i:i64=1, z:i64[1]=[0], one:i64[1]=[1], two:i64=2, u:i64[1]=[0], six:i64[1]=[6] -> r = "
     "Relu(x); s = Shape(r); g = Gather(s, i); h = Div(g, two); k = Unsqueeze(h, u); a = Slice(r, z, k, one); b = "
     "Slice(r, k, six, one); c = Concat(b, a) {axis=1}",
     "puuuuppp"},
    {"a scale that a product takes in",
     "opset=17: x:f32[2,4], w:f32[4,3], i:i64=1 -> s = Shape(x); g = Gather(s, i); f = Cast(g) {to=1}; q = Sqrt(f); a "
     "= Mul(x, q); m = MatMul(a, w); y = Relu(m)",
     "uuuuppp"},
    {"two pairs in a row are one",
     "opset=17: x:f32[4,8], s:f32=0.1, z:u8=0, t:f32=0.2 -> a = Relu(x); q = QuantizeLinear(a, s, z); d = "
     "DequantizeLinear(q, s, z); r = QuantizeLinear(d, t, z); e = DequantizeLinear(r, t, z); y = Relu(e)",
     "ppuupp"},
    {"a filled tensor of halves that the CPU must cast",
     "opset=17: x:f16[2,4,8] -> s = Shape(x); k = ConstantOfShape(s) {value=f16[1]=[1.0]}; y = Add(x, k)", "uup"},
    {"a pair before a view is repeated behind it, under other names",
     "opset=17: x:f32[1,8], w:f32[4,8], s:f32=0.1, z:u8=0, k:i64[1]=[0] -> r = Relu(w); m = Shape(r); e = Expand(x, "
     "m); u = Unsqueeze(e, k); q = QuantizeLinear(u, s, z); d = DequantizeLinear(q, s, z); y = Add(d, r)",
     "puppppp"},
    {"without the pair, the sizes only fold",
     "opset=17: x:f32[1,8], w:f32[4,8], k:i64[1]=[0] -> r = Relu(w); m = Shape(r); e = Expand(x, m); u = Unsqueeze(e, "
     "k); y = Add(u, r)",
     "pfppp"},
    {"a Reshape to computed sizes and its readers' sizes, from opset 13 on",
     "opset=13: x:f32[b,12,h], o:i64[1]=[0], m:i64[1]=[-1], t:i64[1]=[2], f:i64[1]=[3], one:i64[1]=[1] -> r = Relu(x); "
     "s = Shape(r); c = Slice(s, o, t, o); k = Concat(c, m) {axis=0}; v = Reshape(r, k); g = Shape(v); i = Slice(g, "
     "one, t, o); n = Concat(o, i, f, m) {axis=0}; w = Exp(v); y = Reshape(w, n)",
     "ppccppccpp", 3},
    {"CastLike before an output",
     "opset=19: x:f32[4,8], t:f16[1]=const -> a = Relu(x); h = CastLike(a, t); y = Identity(h)", "puu"},
    {"an unsqueezed step of a whole Slice",
     "opset=17: x:f32[4,8], k:i64=1, o:i64[1]=[0], e:i64[1]=[9223372036854775807] -> r = Relu(x); n = Unsqueeze(k, o); "
     "a = Slice(r, o, e, n, n); y = Exp(a)",
     "pfup"},
    {"a bias of two dims",
     "opset=17: x:f32[n,4], w:f32[4,3]=const, b:f32[1,3]=const -> m = MatMul(x, w); a = Add(m, b); y = Relu(a)", "uup"},
    {"two products whose sizes the runtime does not compare",
     "opset=17: x:f32[1,4], w:f32[4,3]=const, v:f32[4,3]=const, c:i64[2] -> e = Expand(x, c); m = MatMul(e, w); k = "
     "MatMul(e, v); a = Add(m, k); y = Relu(a)",
     "ppppp"},
    {"sizes for a node of halves between two that the CPU must cast",
     "opset=17: x:f16[1,3,8,8], o:i64[1]=[0], t:i64[1]=[2] -> g = GlobalAveragePool(x); s = Shape(g); c = Slice(s, o, "
     "t); r = Reshape(g, c); m = Softmax(r); y = Relu(m)",
     "puuppp"},
    {"two pairs in a row, with two readers",
     "opset=17: x:f32[4,8], s:f32=0.1, z:u8=0, t:f32=0.2 -> a = Relu(x); q = QuantizeLinear(a, s, z); d = "
     "DequantizeLinear(q, s, z); r = QuantizeLinear(d, t, z); e = DequantizeLinear(r, t, z); u = Exp(e); y = Add(u, e)",
     "ppuuppp"},
    {"a pool takes in a Pad of nothing",
     "opset=17: x:f32[1,3,8,8], p:i64[8]=[0,0,0,0,0,0,0,0] -> a = Relu(x); b = Pad(a, p); y = AveragePool(b) "
     "{kernel_shape=[2,2]}",
     "pup"},
};

// Answers of onnxruntime-webgpu 1.27.0, which name the nodes that run: with channels last, and fused.
const LevelOneCase kFusedCases[] = {
    {"a convolution takes in an activation",
     "opset=17: x:f32[1,3,8,8], w:f32[4,3,3,3]=const -> c = Conv(x, w); a = Relu(c); y = Neg(a)", "pup"},
    {"and stays where none fits",
     "opset=17: x:f32[1,3,8,8], w:f32[4,3,3,3]=const -> c = Conv(x, w); a = Elu(c); y = Neg(a)", "ppp"},
    {"SiLU is one node", "opset=17: x:f32[4,8] -> a = Relu(x); s = Sigmoid(a); m = Mul(a, s); y = Neg(m)", "puup"},
    {"a sum joins the normalisation behind it",
     "opset=17: x:f32[2,3,4], z:f32[2,3,4], g:f32[4]=const, b:f32[4]=const -> a = Add(x, z); n = LayerNormalization(a, "
     "g, b); y = Neg(n)",
     "uup"},
    {"but not one of two dims",
     "opset=17: x:f32[3,4], z:f32[3,4], g:f32[4]=const, b:f32[4]=const -> a = Add(x, z); n = LayerNormalization(a, g, "
     "b); y = Neg(n)",
     "ppp"},
    {"nor one that others read",
     "opset=17: x:f32[2,3,4], z:f32[2,3,4], g:f32[4]=const, b:f32[4]=const -> a = Add(x, z); n = LayerNormalization(a, "
     "g, b); y = Mul(n, a)",
     "ppp"},
    {"beside a node on the CPU, what works with channels last is another node",
     "opset=17: x:f32[1,3,8,8], w:f32[4,3,3,3]=const -> c = Conv(x, w); a = Selu(c); p = MaxPool(a) "
     "{kernel_shape=[2,2]}; y = Neg(p)",
     "ucup", 2},
    {"a Transpose to channels last goes",
     "opset=17: x:f32[1,3,8,8], w:f32[4,3,3,3]=const -> c = Conv(x, w); n = Neg(c); t = Transpose(n) {perm=[0,2,3,1]}; "
     "y = Exp(t)",
     "ppup"},
    {"in a graph on the GPU, a Transpose passes no Reshape that splits dims",
     "opset=17: x:f32[84,7,64], s:i64[4]=[7,12,64,7] -> a = Relu(x); t = Transpose(a) {perm=[0,2,1]}; r = Reshape(t, "
     "s); y = Relu(r)",
     "pppp"},
    {"a product and a sum of three dims",
     "opset=17: x:f32[2,3,8], w:f32[8,8]=const, b:f32[8]=const -> m = MatMul(x, w); a = Add(m, b); y = Relu(a)", "uup"},
    {"a normalisation that is written out stays where the opset lacks the operator",
     "opset=16: x:f32[2,4], t:f32=2.0, e:f32=0.00001, g:f32[4]=const, b:f32[4]=const -> m = ReduceMean(x) {axes=[-1]}; "
     "d = Sub(x, m); p = Pow(d, t); v = ReduceMean(p) {axes=[-1]}; w = Add(v, e); r = Sqrt(w); q = Div(d, r); k = "
     "Mul(q, g); y = Add(k, b)",
     "ppppppppp"},
    {"nor a Gather of one place",
     "opset=17: x:f32[2,3,4,5], i:i64=0 -> a = Relu(x); t = Transpose(a) {perm=[0,2,3,1]}; g = Gather(t, i) {axis=1}; "
     "y = Relu(g)",
     "pppp"},
    {"GELU stays",
     "opset=17: x:f32[2,4], h:f32=0.5, o:f32=1.0, r:f32=1.4142135 -> a = Div(x, r); b = Erf(a); c = Add(b, o); d = "
     "Mul(x, c); y = Mul(d, h)",
     "ppppp"},
};

void check(std::span<const LevelOneCase> cases, std::string_view id, bool checks_copies) {
  const Provider provider = documents::find_provider(id);
  for (const LevelOneCase& each : cases) {
    CAPTURE(each.what);
    const Model model = test::graph(each.graph);
    const GraphPlacement placed = place(model, analyze(model), provider);
    CHECK(places(placed) == each.places);
    CHECK(placed.parts == each.parts);
    if (checks_copies) CHECK(placed.copies.empty());
  }
}

}  // namespace

TEST_CASE("nodes that the first level of optimisation moves, folds and fuses are where the runtime has them") {
  check(kLevelOneCases, "cuda", true);
}

TEST_CASE("nodes that the provider runs with channels last, or fused, are where the runtime has them") {
  check(kFusedCases, "webgpu", false);
}

}  // namespace pagoda
