// What counts as weights, what an engine holds of them after folding, and memory that is only partly known.
#include <doctest/doctest.h>

#include <string>

#include "pagoda/core/decoder.h"
#include "pagoda/core/fit.h"
#include "pagoda/core/memory.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/make_estimate.h"
#include "support/text_graph.h"

using namespace pagoda;

TEST_CASE("an engine holds what unfolded nodes read, whatever the file stores") {
  struct Row {
    const char* graph;
    int param_bytes, weight_bytes;
    const char* why;
  };
  // clang-format off
  constexpr Row kRows[] = {
      {"x:f32[N,8], w:f32[8,8]=const -> y = MatMul(x, w)", 256, 256, "nothing is folded"},
      {"x:f32[N,8], w:f32[8,8]=const -> t = Transpose(w); y = MatMul(x, t)", 256, 256, "the transposed weight replaces the stored one"},
      {"x:i64[N], z:f32[N,8], w:f32[9,8]=const -> e = Gather(w, x); t = Transpose(w); y = MatMul(z, t) => e, y", 288, 576, "a tied embedding is held twice"},
      {"x:f32[N,8], w:f16[8,8]=const -> c = Cast(w) {to=1}; y = MatMul(x, c)", 128, 256, "cast to a wider type"},
      {"x:f32[8,32], w:f32[1]=const, s:i64[2]=[8,32] -> m = Expand(w, s); y = Add(x, m)", 4, 1024, "an expanded mask; the number that it repeats is gone"},
      {"x:f32[N,8], w:f32[64]=const, s:i64[2]=[8,8] -> r = Reshape(w, s); y = MatMul(x, r)", 256, 256, "a view of a weight is the weight"},
      {"x:f32[N,8], w:f32[64]=const, s:i64[2]=[8,8] -> r = Reshape(w, s); t = Transpose(r); y = MatMul(x, t)", 256, 256, "a view that only folded nodes read"},
      {"x:f32[N,8], q:i8[8,8]=const, s:f32=0.5 -> w = DequantizeLinear(q, s); y = MatMul(x, w)", 68, 68, "dequantised weights stay stored"},
      {"x:u8[1,3,8,8], xs:f32=0.5, xz:u8=0, w:u8[32,3,1,1]=const, ws:f32=0.5, wz:u8=0, ys:f32=0.5, yz:u8=0, b:i32[32]=const -> y = QLinearConv(x, xs, xz, w, ws, wz, ys, yz, b)", 239, 239, "int32 biases are parameters, and held once"},
      {"x:f32[64], i:i64[64]=const -> y = Gather(x, i)", 0, 512, "a table of indices is no parameter, but held"},
      {"x:f32[64], i:i64[2]=[3,4] -> y = Gather(x, i)", 0, 0, "a literal"},
      {"x:f32[64], w:f32[8]=const -> y = Relu(x); u = Identity(w) => y, u", 32, 32, "an output of the model"},
  };
  // clang-format on
  for (const Row& row : kRows) {
    CAPTURE(std::string(row.graph));
    CAPTURE(std::string(row.why));
    const Model model = test::graph(row.graph);
    const Analysis analysis = analyze(model);
    CHECK(analysis.totals.param_bytes == Dim(row.param_bytes));
    CHECK(analysis.totals.weight_bytes == Dim(row.weight_bytes));
    CHECK(memory_need(model, analysis).weights == row.weight_bytes);
  }
}

TEST_CASE("every stored type is a weight, except those with a reason") {
  struct Row {
    const char* type;
    int params;
  };
  constexpr Row kRows[] = {{"f64", 64}, {"f32", 64}, {"f16", 64}, {"bf16", 64},   {"u16", 64},
                           {"i16", 64}, {"u8", 64},  {"i8", 64},  {"u4", 64},     {"i4", 64},
                           {"u2", 64},  {"i2", 64},  {"f4", 64},  {"f8e4m3", 64}, {"i64", 0},
                           {"u64", 0},  {"i32", 0},  {"u32", 0},  {"bool", 0},    {"str", 0}};
  for (const Row& row : kRows) {
    CAPTURE(std::string(row.type));
    const Model model = test::graph("i:i64[N], w:" + std::string(row.type) + "[8,8]=const -> y = Gather(w, i)");
    CHECK(analyze(model).totals.params == Dim(row.params));
  }
}

TEST_CASE("16-bit quantised weights count as 8-bit ones do, at their bytes") {
  const auto totals = [](const char* type) {
    const std::string name = type;
    return analyze(test::graph("x:f32[N,64], q:" + name + "[64,64]=const, s:f32=0.5, z:" + name +
                               "=0 -> w = DequantizeLinear(q, s, z); y = MatMul(x, w)"))
        .totals;
  };
  CHECK(totals("u16").params == totals("u8").params);
  CHECK(totals("u16").param_bytes == Dim(2 * (4096 + 1) + 4));
  CHECK(totals("u8").param_bytes == Dim(4096 + 1 + 4));
}

TEST_CASE("weights of bodies that no walk enters count; their work does not") {
  // A weight of the decoder, one of its nested branch, one that it captures, and one that both decoders share.
  const Model model = test::graph(
      "i:i32[B,S], l:i32[1]=[20], c:bool=const, e:f32[10,4]=const -> y = com.microsoft.GreedySearch(i, l) "
      "{eos_token_id=1, pad_token_id=0, init_decoder=(a:f32[2,4] -> z = Gemm(a, e)), "
      "decoder=(a:f32[2,10], w:f32[10,3]=const -> z = MatMul(a, w); k = Constant() "
      "{value=f32[17]=[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}; "
      "p = If(c) {then_branch=( v:f32[5]=const -> q = Relu(v)), else_branch=( -> q = Relu(k))}; u = Gemm(a, e) => z)}");
  const Analysis analysis = analyze(model);
  CHECK(analysis.partial);
  CHECK(analysis.totals.params == Dim(40 + 30 + 17 + 5));
  const MemoryNeed need = memory_need(model, analysis);
  CHECK(need.weights == 4 * 92);
  CHECK(need.at_least);
  CHECK(need.fits(Int{100}) == false);
  CHECK_FALSE(need.fits(Int{1} << 40).has_value());
}

TEST_CASE("a budget of memory counts what folding makes") {
  const Model model =
      test::graph("x:f32[512,512], w:f32[1]=const, s:i64[2]=[512,512] -> m = Expand(w, s); y = Add(x, m)");
  estimate::EstimateRequest request;
  request.budgets = {parse_budget(BudgetKind::Memory, "2.5MB")};  // the mask alone is 1.05 MB, activations 2.10 MB
  CHECK(make_estimate(model, request).budgets->front().verdict == Verdict::Exceeds);
}

TEST_CASE("tensors without a size leave a lower bound, and are named") {
  const Model model = test::graph(
      "x:f32[8,4], i:i64[8] -> s = ai.onnx.ml.LabelEncoder(i) {classes_strings=['a','b']}; y = Relu(x) => y, s");
  const documents::EstimateDocument estimate = estimate::make_estimate(model);
  CHECK(estimate.totals.activation_peak_bytes.is_at_least());
  CHECK(*estimate.totals.activation_peak_bytes >= 2 * 8 * 4 * 4);
  REQUIRE_FALSE(estimate.diagnostics.empty());
  const std::string& message = estimate.diagnostics.front().message;
  CHECK_MESSAGE(message.find("memory is a lower bound, without s (strings have any length)") != std::string::npos,
                message);
}

TEST_CASE("a peak with more alternatives than its formula holds is a number all the same") {
  // Each step keeps one axis of its own: no size is known to exceed another.
  std::string inputs, nodes;
  constexpr int kSteps = 40;
  for (int i = 0; i < kSteps; ++i) {
    const std::string n = std::to_string(i);
    inputs += (i > 0 ? ", x" : "x") + n + ":f32[a" + n + "]";
    nodes += (i > 0 ? "; y" : "y") + n + " = Relu(x" + n + "); z" + n + " = ReduceSum(y" + n + ") {keepdims=1}";
  }
  const Model model = test::graph(inputs + " -> " + nodes);
  const Analysis analysis = analyze(model);
  REQUIRE_FALSE(analysis.totals.activation_peak_bytes);
  const documents::EstimateDocument estimate = estimate::make_estimate(model);
  CHECK(estimate.totals.activation_peak_bytes ==
        documents::Count(plan_memory(model, analysis, {.reorder = false}).peak_bytes));
  CHECK_FALSE(estimate.totals.activation_peak_bytes.is_at_least());
}

TEST_CASE("sizes beyond a table of positions are said, do not fit, and are not complete") {
  struct Row {
    const char* graph;
    int used;  // positions with S = 20 tokens; 0: the values of an input say
    const char* why;
  };
  // clang-format off
  constexpr Row kRows[] = {
      {"ids:i64[B,S], p:f32[16,8]=const, one:i64=1, zero:i64=0 -> s = Shape(ids); n = Gather(s, one); r = Range(zero, n, one); y = Gather(p, r)", 20, "a range"},
      {"ids:i64[B,S], past:f32[B,2,P,4], p:f32[16,8]=const, one:i64=1, two:i64=2 -> s = Shape(ids); n = Gather(s, one); t = Shape(past); b = Gather(t, two); e = Add(n, b); r = Range(b, e, one); y = Gather(p, r)", 21, "a range behind the past, of 1 here"},
      {"attention_mask:i64[B,S], p:f32[18,8]=const, axis:i64=1, less:i64=1, two:i64=2 -> c = CumSum(attention_mask, axis); d = Mul(c, attention_mask); e = Sub(d, less); f = Add(e, two); y = Gather(p, f)", 20, "sums of a mask, behind two reserved rows"},
      {"x:f32[B,S,8], ids:i64[B,S], c:f32[16,2]=const, s:f32[16,2]=const -> y = com.microsoft.RotaryEmbedding(x, ids, c, s) {num_heads=2}", 20, "no rotation of more tokens than rows"},
      {"i:i32[B,S], g:i32[B,S], w:f32[9,8]=const, p:f32[16,8]=const, t:f32[2,8]=const, a:f32[8]=const, b:f32[8]=const -> y, m = com.microsoft.EmbedLayerNormalization(i, g, w, p, t, a, b)", 20, "a row per token"},
      {"position_ids:i64[B,S], p:f32[16,8]=const -> y = Gather(p, position_ids)", 0, "an input says"},
  };
  // clang-format on
  for (const Row& row : kRows) {
    CAPTURE(std::string(row.graph));
    CAPTURE(std::string(row.why));
    const Model model = test::graph(row.graph);
    const Analysis open = analyze(model);
    const std::vector<PositionTable> tables = position_tables(model, open);
    REQUIRE(tables.size() == 1);
    CHECK(tables.front().positions == 16);
    CHECK(exceeded_table(tables, {{"S", 10}}).empty());
    const std::string problem = exceeded_table(tables, {{"S", 20}});
    const std::string expected = row.used == 0 ? ""
                                               : tables.front().name + " has rows for 16 positions, these sizes take " +
                                                     std::to_string(row.used);
    CHECK(problem == expected);
    estimate::EstimateRequest request;
    request.sizes.dims = {{"B", 1}, {"S", 20}};
    if (row.graph == kRows[1].graph) request.sizes.dims["P"] = 1;
    request.device = documents::device("h200");
    const documents::EstimateDocument estimate = make_estimate(model, request);
    CHECK(estimate.exceeded_table == expected);
    CHECK(estimate.is_complete() == expected.empty());
    CHECK(estimate.fit->fits == expected.empty());
    request.device.reset();
    request.sizes.dims.erase("S");
    request.sweep = {parse_axis("S=10,20")};
    const documents::EstimateDocument swept = make_estimate(model, request);
    CHECK(swept.sweep->points[0].counts.flops);
    CHECK(swept.sweep->points[1].counts.flops.has_value() == expected.empty());
  }
}
