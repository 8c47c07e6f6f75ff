// Why nodes are not fused: graphs that onnxruntime 1.32 fuses on the CPU, and each of them with one condition broken,
// which it does not. Both were asked about each row: fusions_by_runtime.py asks again.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/text.h"
#include "pagoda/core/analyze.h"
#include "pagoda/core/placement.h"
#include "pagoda/documents/provider.h"
#include "support/text_graph.h"

namespace pagoda {
namespace {

// What the runtime makes one node of a pattern.
struct Base {
  const char* name;
  const char* pattern;
  const char* graph;
};

// clang-format off
const Base kBases[] = {
    {"gelu", "Gelu", "opset=17: x:f32[B,4,8], r:f32=1.4142135, one:f32=1.0, half:f32=0.5 -> d = Div(x, r); e = Erf(d); a = Add(e, one); k = Mul(x, a); y = Mul(k, half)"},
    {"bias", "BiasGelu", "opset=20: x:f32[B,S,8], w:f32[8,8]=const, b:f32[8]=const -> m = MatMul(x, w); f = Add(m, b); y = Gelu(f)"},
    {"fast", "FastGelu", "opset=17: x:f32[B,4,8], three:f32=3.0, k:f32=0.044715, r:f32=0.7978845608, one:f32=1.0, half:f32=0.5 -> p = Pow(x, three); q = Mul(p, k); s = Add(x, q); u = Mul(s, r); t = Tanh(u); a = Add(t, one); h = Mul(x, half); y = Mul(h, a); z = Abs(y)"},
    {"quick", "QuickGelu", "opset=17: x:f32[B,4,8], k:f32=1.702 -> m = Mul(x, k); s = Sigmoid(m); y = Mul(x, s)"},
    {"norm", "LayerNorm", "opset=16: x:f32[B,4,8], g:f32[8]=const, b:f32[8]=const, two:f32=2.0, eps:f32=0.00001 -> m = ReduceMean(x) {axes=[-1]}; d = Sub(x, m); p = Pow(d, two); v = ReduceMean(p) {axes=[-1]}; a = Add(v, eps); s = Sqrt(a); q = Div(d, s); k = Mul(q, g); y = Add(k, b)"},
    {"rms", "SimplifiedLayerNorm", "opset=17: x:f32[B,4,8], g:f32[8]=const, two:f32=2.0, eps:f32=0.00001 -> p = Pow(x, two); v = ReduceMean(p) {axes=[-1]}; a = Add(v, eps); s = Sqrt(a); q = Div(x, s); y = Mul(q, g)"},
    {"skip", "SkipLayerNorm", "opset=17: x:f32[B,4,8], z:f32[B,4,8], g:f32[8]=const, b:f32[8]=const -> a = Add(x, z); y = LayerNormalization(a, g, b)"},
    {"scale", "MatMulScale", "opset=17: x:f32[B,4,8], z:f32[B,8,4], k:f32=0.5 -> a = MatMul(x, z); y = Mul(a, k)"},
    {"turned", "MatMulTranspose", "opset=17: x:f32[B,8,4], z:f32[B,8,4] -> a = Transpose(x) {perm=[0,2,1]}; y = MatMul(a, z)"},
    {"conv", "ConvActivation", "opset=17: x:f32[1,4,8,8], w:f32[4,4,3,3]=const, lo:f32=0.0, hi:f32=6.0 -> c = Conv(x, w); y = Relu(c)"},
    {"clip", "ConvActivation", "opset=17: x:f32[1,4,8,8], w:f32[4,4,3,3]=const, lo:f32=0.0, hi:f32=6.0 -> c = Conv(x, w); y = Clip(c, lo, hi)"},
    {"gemm", "GemmActivation", "opset=17: x:f32[B,8], w:f32[8,8]=const -> c = Gemm(x, w); y = Relu(c)"},
    {"batch", "ConvBatchNormalization", "opset=17: x:f32[1,4,8,8], w:f32[4,4,3,3]=const, b:f32[4]=const, s:f32[4]=const, m:f32[4]=const, v:f32[4]=const -> c = Conv(x, w, b); y = BatchNormalization(c, s, b, m, v)"},
    {"sum", "MatMulAdd", "opset=17: x:f32[2,4,8], w:f32[8,8]=const, b:f32[8]=const -> m = MatMul(x, w); y = Add(m, b)"},
    {"qconv", "QLinearConv", "opset=17: x:f32[1,4,8,8], xs:f32=0.1, xz:u8=0, w:i8[4,4,3,3]=const, ws:f32=0.01, wz:i8=0, wf:f32[4,4,3,3]=const, ys:f32=0.2, yz:u8=0, yo:u8=128 -> q = QuantizeLinear(x, xs, xz); d = DequantizeLinear(q, xs, xz); wd = DequantizeLinear(w, ws, wz); c = Conv(d, wd); qy = QuantizeLinear(c, ys, yz); y = DequantizeLinear(qy, ys, yz)"},
    {"qadd", "QLinearAdd", "opset=17: x:f32[4,4], x2:f32[4,4], xs:f32=0.1, xz:u8=0 -> q = QuantizeLinear(x, xs, xz); d = DequantizeLinear(q, xs, xz); q2 = QuantizeLinear(x2, xs, xz); d2 = DequantizeLinear(q2, xs, xz); c = Add(d, d2); qy = QuantizeLinear(c, xs, xz); y = DequantizeLinear(qy, xs, xz)"},
    {"attention", "Attention", "opset=11: x0:f32[B,S,8], mask:i64[B,S], g:f32[8]=const, b:f32[8]=const, wq:f32[8,8]=const, wk:f32[8,8]=const, wv:f32[8,8]=const, wo:f32[8,8]=const, bq:f32[8]=const, bk:f32[8]=const, bv:f32[8]=const, bo:f32[8]=const, heads:i64[4]=[0,0,2,4], whole:i64[3]=[0,0,8], one:f32=1.0, low:f32=-10000.0, root:f32=2.0, two:f32=2.0, eps:f32=0.00001 -> lm = ReduceMean(x0) {axes=[-1]}; ld = Sub(x0, lm); lp = Pow(ld, two); lv = ReduceMean(lp) {axes=[-1]}; la = Add(lv, eps); ls = Sqrt(la); lq = Div(ld, ls); lk = Mul(lq, g); x = Add(lk, b); u1 = Unsqueeze(mask) {axes=[1]}; u2 = Unsqueeze(u1) {axes=[2]}; mc = Cast(u2) {to=1}; ms = Sub(one, mc); mm = Mul(ms, low); q0 = MatMul(x, wq); q1 = Add(q0, bq); q2 = Reshape(q1, heads); q3 = Transpose(q2) {perm=[0,2,1,3]}; k0 = MatMul(x, wk); k1 = Add(k0, bk); k2 = Reshape(k1, heads); k3 = Transpose(k2) {perm=[0,2,3,1]}; v0 = MatMul(x, wv); v1 = Add(v0, bv); v2 = Reshape(v1, heads); v3 = Transpose(v2) {perm=[0,2,1,3]}; s0 = MatMul(q3, k3); s1 = Div(s0, root); s2 = Add(s1, mm); p = Softmax(s2) {axis=3}; o0 = MatMul(p, v3); o1 = Transpose(o0) {perm=[0,2,1,3]}; o2 = Reshape(o1, whole); o3 = MatMul(o2, wo); o4 = Add(o3, bo); y0 = Add(o4, x); y = Relu(y0)"},
};

// Each row replaces `from` by `to` in a base. `from` is a part of it, or "" to append nodes.
struct Broken {
  const char *what, *base, *from, *to, *condition;
};

const Broken kBroken[] = {
    {"another divisor", "gelu", "r:f32=1.4142135", "r:f32=1.5", "the divisor of Div is 1.5, not sqrt(2)"},
    {"a divisor of three digits", "gelu", "r:f32=1.4142135", "r:f32=1.414", "the divisor of Div is 1.414, not sqrt(2)"},
    {"another summand", "gelu", "one:f32=1.0", "one:f32=2.0", "the number of Add is 2, not 1"},
    {"a factor that is an input", "gelu", "half:f32=0.5", "half:f32[]", "the number of Mul is an input of the model, not stored"},
    {"a factor for each channel", "gelu", "half:f32=0.5", "half:f32=[0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5]", "an operand of Mul is not one number"},
    {"a second reader", "gelu", "", "; z = Relu(e)", "the result of Erf is read twice: by Add and Relu"},
    {"the error function of another tensor", "gelu", "k = Mul(x, a)", "n = Neg(x); k = Mul(n, a)", "Div reads another tensor than the rest of the pattern"},
    {"a Clip before the error function", "gelu", "e = Erf(d)", "d2 = Relu(d); e = Erf(d2)", "a Relu is between Div and Erf"},
    {"a bias of two dims", "bias", "b:f32[8]=const", "b:f32[1,8]=const", "an operand of Add has shape [1, 8], not one dim"},
    {"the biased tensor is an output", "bias", "", " => y, f", "the result of Add is an output of the model"},
    {"the biased tensor is read twice", "bias", "", "; z = Relu(f)", "the result of Add is read twice: by Gelu and Relu"},
    {"another cube factor", "fast", "k:f32=0.044715", "k:f32=0.045", "the number of Mul is 0.045, not 0.044715"},
    {"another root", "fast", "r:f32=0.7978845608", "r:f32=0.79", "the number of Mul is 0.79, not sqrt(2/pi)"},
    {"a square", "fast", "three:f32=3.0", "three:f32=2.0", "the exponent of Pow is 2, not 3"},
    {"the result is an output", "fast", "; z = Abs(y)", "", "the result of Mul is an output of the model"},
    {"a second reader of Tanh", "fast", "", "; z2 = Relu(t)", "the result of Tanh is read twice: by Add and Relu"},
    {"another summand", "fast", "one:f32=1.0", "one:f32=1.5", "the number of Add is 1.5, not 1"},
    {"a gate that is an output", "quick", "", " => y, s", "the result of Sigmoid is an output of the model"},
    {"a factor that is an input", "quick", "k:f32=1.702", "k:f32[]", "the number of Mul is an input of the model, not stored"},
    {"a float64 gate", "quick", "f32", "f64", "the type is float64"},
    {"epsilon is an input", "norm", "eps:f32=0.00001", "eps:f32[]", "the number of Add is an input of the model, not stored"},
    {"epsilon for each channel", "norm", "eps:f32=0.00001", "eps:f32=[1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0]", "an operand of Add is not one number"},
    {"a mean over another axis", "norm", "axes=[-1]", "axes=[1]", "ReduceMean is not over the last axes"},
    {"a scale of two dims", "norm", "g:f32[8]=const", "g:f32[1,8]=const", "an operand of Mul has shape [1, 8], not one dim"},
    {"the variance is an output", "norm", "", " => y, v", "the result of ReduceMean is an output of the model"},
    {"the root is read twice", "norm", "", "; z = Relu(s)", "the result of Sqrt is read twice: by Div and Relu"},
    {"epsilon is an input", "rms", "eps:f32=0.00001", "eps:f32[]", "the number of Add is an input of the model, not stored"},
    {"a mean over another axis", "rms", "axes=[-1]", "axes=[1]", "ReduceMean is not over the last axes"},
    {"a cube", "rms", "two:f32=2.0", "two:f32=3.0", "the exponent of Pow is 3, not 2"},
    {"a scale of two dims", "rms", "g:f32[8]=const", "g:f32[1,8]=const", "an operand of Mul has shape [1, 8], not one dim"},
    {"the mean is read twice", "rms", "", "; z = Relu(v)", "the result of ReduceMean is read twice: by Add and Relu"},
    {"the sum is read twice", "skip", "", "; z2 = Relu(a)", "the result of Add is read twice: by LayerNormalization and Relu"},
    {"the sum is an output", "skip", "", " => y, a", "the result of Add is an output of the model"},
    {"a sum of matrices", "skip", "[B,4,8]", "[B,8]", "the operands of Add have ranks 2 and 2, not 3"},
    {"a sum of four dims", "skip", "[B,4,8]", "[B,2,4,8]", "the operands of Add have ranks 4 and 4, not 3"},
    {"a sum that repeats an operand", "skip", "z:f32[B,4,8]", "z:f32[1,4,8]", "the operands of Add have shapes [B, 4, 8] and [1, 4, 8]"},
    {"a Reshape before the norm", "skip", "y = LayerNormalization(a", "n = Shape(z); r = Reshape(a, n); y = LayerNormalization(r", "a Reshape is between Add and LayerNormalization"},
    {"a factor that is an input", "scale", "k:f32=0.5", "k:f32[]", "the number of Mul is an input of the model, not stored"},
    {"the product is an output", "scale", "", " => y, a", "the result of MatMul is an output of the model"},
    {"the product is read twice", "scale", "", "; z2 = Relu(a)", "the result of MatMul is read twice: by Mul and Relu"},
    {"the turned tensor is an output", "turned", "", " => y, a", "the result of Transpose is an output of the model"},
    {"the convolution is an output", "conv", "", " => y, c", "the result of Conv is an output of the model"},
    {"the convolution is read twice", "conv", "", "; z = Abs(c)", "the result of Conv is read twice: by Relu and Abs"},
    {"a Cast before the activation", "conv", "y = Relu(c)", "d = Cast(c) {to=11}; y = Relu(d)", "a Cast to float64 is between Conv and Relu"},
    {"a bound that is an input", "clip", "lo:f32=0.0", "lo:f32[]", "the number of Clip is an input of the model, not stored"},
    {"the product is read twice", "gemm", "", "; z = Abs(c)", "the result of Gemm is read twice: by Relu and Abs"},
    {"a float64 product", "gemm", "f32", "f64", "the type is float64"},
    {"a scale that is an input", "batch", "s:f32[4]=const", "s:f32[4]", "an operand of BatchNormalization is an input of the model, not stored"},
    {"weights that are an input", "batch", "w:f32[4,4,3,3]=const", "w:f32[4,4,3,3]", "an operand of Conv is an input of the model, not stored"},
    {"the convolution is read twice", "batch", "", "; z = Abs(c)", "the result of Conv is read twice: by BatchNormalization and Abs"},
    {"a Relu between", "batch", "y = BatchNormalization(c", "r = Relu(c); y = BatchNormalization(r", "a Relu is between Conv and BatchNormalization"},
    {"an open size", "sum", "x:f32[2,4,8]", "x:f32[B,4,8]", "a dim of what MatMul reads is open"},
    {"the product is read twice", "sum", "", "; z = Abs(m)", "the result of MatMul is read twice: by Add and Abs"},
    {"a float64 product", "sum", "f32", "f64", "the type is float64"},
    {"no QuantizeLinear", "qconv", "qy = QuantizeLinear(c, ys, yz); y = DequantizeLinear(qy, ys, yz)", "y = Abs(c)", "no QuantizeLinear follows Conv"},
    {"the float result is read twice", "qconv", "", "; z = Abs(c)", "the result of Conv is read twice: by QuantizeLinear and Abs"},
    {"a Relu whose zero point is not the least", "qconv", "xz:u8=0, w:i8[4,4,3,3]=const, ws:f32=0.01, wz:i8=0, wf:f32[4,4,3,3]=const, ys:f32=0.2, yz:u8=0, yo:u8=128 -> q = QuantizeLinear(x, xs, xz); d = DequantizeLinear(q, xs, xz); wd = DequantizeLinear(w, ws, wz); c = Conv(d, wd); qy = QuantizeLinear(c", "xz:u8=0, w:i8[4,4,3,3]=const, ws:f32=0.01, wz:i8=0, ys:f32=0.2, yz:u8=128 -> q = QuantizeLinear(x, xs, xz); d = DequantizeLinear(q, xs, xz); wd = DequantizeLinear(w, ws, wz); c = Conv(d, wd); r = Relu(c); qy = QuantizeLinear(r", "a Relu is before QuantizeLinear, whose zero point is not the least integer"},
    {"an operand in float", "qadd", "c = Add(d, d2)", "c = Add(d, x2)", "an input of the model is where the pattern has DequantizeLinear"},
    {"the float sum is read twice", "qadd", "", "; z = Abs(c)", "the result of Add is read twice: by QuantizeLinear and Abs"},
    {"a mask of rank 3", "attention", "mask:i64[B,S]", "mask:i64[B,1,S]", "mask of rank 3, not 2"},
    {"a mask of bools", "attention", "mask:i64", "mask:bool", "mask of type bool"},
    {"no mask", "attention", "p = Softmax(s2)", "p = Softmax(s1)", "no Add is between Div and Softmax"},
    {"a product as scale", "attention", "s1 = Div(s0, root)", "s1 = Mul(s0, root)", "a Mul is where the pattern has Div"},
    {"a Cast before Softmax", "attention", "p = Softmax(s2) {axis=3}", "s3 = Cast(s2) {to=11}; p3 = Softmax(s3) {axis=3}; p = Cast(p3) {to=1}", "a Cast to float32 is between Softmax and MatMul"},
    {"Softmax is read twice", "attention", "", "; z = Relu(p)", "the result of Softmax is read twice: by MatMul and Relu"},
    {"Softmax is an output", "attention", "", " => y, p", "the result of Softmax is an output of the model"},
    {"another axis", "attention", "{axis=3}", "{axis=-1}", "Softmax has axis [-1], not 3"},
    {"the shape of heads is an input", "attention", "heads:i64[4]=[0,0,2,4]", "heads:i64[4]", "an operand of Reshape is an input of the model, not stored"},
    {"the heads' size is left open", "attention", "heads:i64[4]=[0,0,2,4]", "heads:i64[4]=[0,0,2,-1]", "the shape of Reshape is [0, 0, 2, -1]"},
    {"no bias of the query", "attention", "q1 = Add(q0, bq); q2 = Reshape(q1", "q2 = Reshape(q0", "no Add is between MatMul and Reshape"},
    {"a bias before its product", "attention", "Add(q0, bq)", "Add(bq, q0)", "the operands of Add are in the other order"},
    {"a mask before the scores", "attention", "Add(s1, mm)", "Add(mm, s1)", "the operands of Add are in the other order"},
    {"another number of the mask", "attention", "one:f32=1.0", "one:f32=2.0", "the number of Sub is 2, not 1"},
    {"a scale that is no root", "attention", "root:f32=2.0", "root:f32=3.0", "the divisor of Div is 3, not the root of 4"},
    {"the norm is read more often", "attention", "", "; z = Relu(x)", "LayerNormalization is not read by three MatMul and one Add alone"},
    {"no sum with the norm", "attention", "y0 = Add(o4, x); y = Relu(y0)", "y = Relu(o4)", "LayerNormalization is not read by three MatMul and one Add alone"},
    {"a sum in the other order", "attention", "Add(o4, x)", "Add(x, o4)", "no MatMul, bias and sum with what Q, K and V read follow"},
    {"no norm", "attention", "x = Add(lk, b)", "x = Tanh(x0)", "what Q, K and V read is written by Tanh, not by LayerNormalization"},
    {"all sizes are fixed", "attention", "x0:f32[B,S,8], mask:i64[B,S]", "x0:f32[2,4,8], mask:i64[2,4]", "MatMul and Add have become Gemm first, as all sizes are fixed"},
};
// clang-format on

std::string graph_of(const Base& base) { return base.graph; }

std::string graph_of(const Broken& broken) {
  const Base* base = std::ranges::find(kBases, std::string_view(broken.base), &Base::name);
  REQUIRE(base != std::end(kBases));
  std::string text = base->graph;
  const std::string_view from = broken.from;
  if (from.empty()) return text + broken.to;
  std::size_t found = text.find(from);
  REQUIRE(found != std::string::npos);
  for (; found != std::string::npos; found = text.find(from, found + std::string_view(broken.to).size()))
    text.replace(found, from.size(), broken.to);
  return text;
}

GraphPlacement fusions_of(const std::string& text) {
  const Model model = test::graph(text);
  return place(model, analyze(model), documents::find_provider("cpu"), {.with_fusions = true});
}

bool fuses(const GraphPlacement& placed, std::string_view pattern) {
  return std::ranges::any_of(placed.fused, [&](const FusedNodes& each) { return each.pattern == pattern; });
}

}  // namespace

TEST_CASE("patterns are fused as the runtime fuses them") {
  for (const Base& each : kBases) {
    CAPTURE(std::string(each.name));
    CHECK(fuses(fusions_of(graph_of(each)), each.pattern));
  }
}

TEST_CASE("a near match names the condition that fails") {
  for (const Broken& each : kBroken) {
    CAPTURE(std::string(each.what));
    CAPTURE(std::string(each.base));
    const std::string_view pattern = std::ranges::find(kBases, std::string_view(each.base), &Base::name)->pattern;
    const GraphPlacement placed = fusions_of(graph_of(each));
    CHECK_FALSE(fuses(placed, pattern));
    std::vector<std::string> conditions;
    for (const UnfusedNodes& near : placed.unfused)
      if (near.pattern == pattern) conditions.push_back(near.conditions.front());
    CHECK(base::joined(conditions, "; ") == each.condition);
  }
}

TEST_CASE("what only looks alike is no near match") {
  struct Row {
    const char *what, *graph;
  };
  constexpr Row kRows[] = {
      {"the head of a classifier", "x:f32[B,8], w:f32[8,4]=const -> m = MatMul(x, w); y = Softmax(m)"},
      {"a gate of another tensor", "x:f32[B,8], z:f32[B,8] -> s = Sigmoid(z); y = Mul(x, s)"},
      {"the gate of a recurrent cell", "x:f32[B,8], z:f32[B,8] -> t = Tanh(z); y = Mul(x, t)"},
      {"a scale for each channel", "x:f32[B,8], g:f32[8]=const, w:f32[8,4]=const -> m = Mul(x, g); y = MatMul(m, w)"},
      {"heads that are turned",
       "x:f32[B,8,2,4], w:f32[4,4]=const -> t = Transpose(x) {perm=[0,2,1,3]}; y = MatMul(t, w)"},
      {"a mean over pixels", "x:f32[B,8,4,4] -> y = ReduceMean(x)"},
      {"positions",
       "opset=17: x:f32[B,4,8], p:f32[1,4,8]=const, g:f32[8]=const -> a = Add(x, p); y = LayerNormalization(a, g)"},
  };
  for (const Row& each : kRows) {
    CAPTURE(std::string(each.what));
    const GraphPlacement placed = fusions_of(each.graph);
    CHECK(placed.fused.empty());
    CHECK(placed.unfused.empty());
  }
}

}  // namespace pagoda
