// Gathering, scattering and selecting elements: shapes, traffic, sizes that the data decide, folded values.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kGatherCases[] = {
    // graph, types, cost, why
    {"w:f32[30522,768]=const, i:i64[N,128] -> y = Gather(w, i)", "y:f32[N,128,768]", "arith=0 read=3072*min(30522,128*N)+1024*N written=393216*N", "the rows picked, not the table"},
    {"w:f32[169,3]=const, i:i64[2401]=const -> y = Gather(w, i)", "y:f32[2401,3]", "mark=folded", "constants alone"},
    {"w:f32[169,3], i:i64[2401] -> y = Gather(w, i)", "y:f32[2401,3]", "read=2028+19208 written=28812", "at most the table, once"},
    {"x:f32[N,S,768], i:i64=0 -> y = Gather(x, i) {axis=1}", "y:f32[N,768]", "read=3072*N+8", "a scalar index drops its axis"},
    {"x:f32[N,3], i:i64[2] -> y = Gather(x, i) {axis=2}", "error: axis 2", "", "beyond the rank"},
    {"x:f32, i:i64[2] -> y = Gather(x, i)", "y:f32", "", "unknown rank"},
    {"x:f32[N,9], i:i64[N,2] -> y = GatherElements(x, i) {axis=1}", "y:f32[N,2]", "arith=0 read=24*N written=8*N", "one index per output"},
    {"x:f32[N,9], i:i64[N] -> y = GatherElements(x, i)", "error: different ranks", "", ""},
    {"x:f32[N,9], i:i64[N,2] -> y = GatherElements(x, i) {axis=2}", "error: axis 2", "", "beyond the rank"},
    {"x:f32[4,5,6], i:i64[N,2] -> y = GatherND(x, i)", "y:f32[N,6]", "arith=0 read=24*min(20,N)+16*N written=24*N", "pairs pick rows"},
    {"x:f32[B,5,6], i:i64[B,7,1] -> y = GatherND(x, i) {batch_dims=1}", "y:f32[B,7,6]", "", "in each batch"},
    {"x:f32[4,5], i:i64[N,3] -> y = GatherND(x, i)", "error: index tuples of 3 for data of rank 2", "", ""},
    {"x:f32[4,5], i:i64[3,K] -> y = GatherND(x, i)", "error: length of an index tuple is not known", "", ""},
    {"x:f32[4,5], i:i64[4,2] -> y = GatherND(x, i) {batch_dims=2}", "error: batch_dims is 2", "", ""},
    {"x:f32[4,5], i:i64[3,1] -> y = GatherND(x, i) {batch_dims=1}", "error: batch dims", "", "4 is not 3"},
};

constexpr OpCase kScatter[] = {
    {"x:f32[N,9], i:i64[N,2], u:f32[N,2] -> y = ScatterElements(x, i, u) {axis=1}", "y:f32[N,9]", "arith=0 read=60*N written=36*N", "data, indices and updates"},
    {"x:f32[N,9], i:i64[N,2], u:f32[N,2] -> y = ScatterElements(x, i, u) {axis=1, reduction='add'}", "y:f32[N,9]", "arith=2*N comparisons=0", "1 addition per update"},
    {"x:f32[N,9], i:i64[N,2], u:f32[N,2] -> y = ScatterElements(x, i, u) {axis=1, reduction='max'}", "y:f32[N,9]", "arith=2*N comparisons=2*N", ""},
    {"x:f32[N,9], i:i64[N,2], u:f32[N,2] -> y = ScatterElements(x, i, u) {reduction='xor'}", "error: reduction is 'xor'", "", ""},
    {"x:f32[N,9], i:i64[N,2], u:f32[2] -> y = ScatterElements(x, i, u)", "error: input 2 differs from the data in rank", "", ""},
    {"x:f32[N,9], i:i64[4,2], u:f32[4,3] -> y = ScatterElements(x, i, u)", "error: dims of indices and updates", "", ""},
    {"opset=9: x:f32[N,9], i:i64[N,2], u:f32[N,2] -> y = Scatter(x, i, u) {axis=1}", "y:f32[N,9]", "arith=0 read=60*N written=36*N", "the older name"},
    {"opset=9: x:f32[N,9], i:i64[N,2], u:f32[N,2] -> y = Scatter(x, i, u) {axis=3}", "error: axis 3", "", ""},
    {"x:f32[4,5,6], i:i64[N,2], u:f32[N,6] -> y = ScatterND(x, i, u)", "y:f32[4,5,6]", "arith=0 read=480+40*N written=480", ""},
    {"x:f32[4,5,6], i:i64[N,2], u:f32[N,6] -> y = ScatterND(x, i, u) {reduction='mul'}", "y:f32[4,5,6]", "arith=6*N", ""},
    {"x:f32[4,5,6], i:i64[3,2], u:f32[3,5] -> y = ScatterND(x, i, u)", "error: dims of indices and updates", "", "5 is not 6"},
    {"x:f32[4,5,6], i:i64[3,2], u:f32[3] -> y = ScatterND(x, i, u)", "error: updates have rank 1, expected 2", "", ""},
};

constexpr OpCase kChoice[] = {
    {"i:i64[N,4], d:i64=10, v:f32=[0,1] -> y = OneHot(i, d, v)", "y:f32[N,4,10]", "arith=0 read=32*N+8 written=160*N precision=float32", ""},
    {"i:i64[N,4], d:f32=10.0, v:i64=[0,1] -> y = OneHot(i, d, v) {axis=0}", "y:i64[10,N,4]", "", "the depth may be real"},
    {"i:i64[N], d:i64[], v:f32=[0,1] -> y = OneHot(i, d, v)", "y:f32[N,?]", "", "a depth from data"},
    {"i:i64[N], d:i64=-3, v:f32=[0,1] -> y = OneHot(i, d, v)", "error: a depth of -3", "", ""},
    {"i:i64[N], d:i64=3, v:f32=[0,1] -> y = OneHot(i, d, v) {axis=2}", "error: axis 2", "", ""},
    {"x:f32[N,1000], k:i64=[5] -> y, i = TopK(x, k)", "y:f32[N,5], i:i64[N,5]", "arith=1000*N comparisons=1000*N read=4000*N written=60*N", "every element is looked at once"},
    {"opset=1: x:f32[N,1000] -> y, i = TopK(x) {k=5, axis=0}", "y:f32[5,1000], i:i64[5,1000]", "", "k was an attribute"},
    {"x:f32[N,1000], k:i64[1] -> y, i = TopK(x, k)", "y:f32[N,?], i:i64[N,?]", "", "k from data"},
    {"x:f32[N,10], k:i64=[11] -> y, i = TopK(x, k)", "error: k is 11 of 10 elements", "", ""},
    {"x:f32[N,10], k:i64=[1] -> y, i = TopK(x, k) {axis=2}", "error: axis 2", "", ""},
    {"x:f32[N,10] -> y = NonZero(x)", "y:i64[2,?]", "arith=10*N comparisons=10*N read=40*N", "the data decide"},
    {"x:f32 -> y = NonZero(x)", "y:i64[?,?]", "", "unknown rank"},
    {"-> y = NonZero()", "error: input 0 is missing", "", ""},
    {"x:f32[N,10], c:bool[10] -> y = Compress(x, c) {axis=1}", "y:f32[N,?]", "arith=0", "the data decide"},
    {"x:f32[N,4], c:bool=[true,false,true] -> y = Compress(x, c) {axis=1}", "y:f32[N,2]", "read=8*N+3 written=8*N precision=float32", "known conditions"},
    {"x:f32[N,4], c:bool[4] -> y = Compress(x, c)", "y:f32[?]", "", "flat"},
    {"x:f32[N,4], c:bool[4] -> y = Compress(x, c) {axis=2}", "error: axis 2", "", ""},
    {"x:f32[N,4] -> y, i, v, c = Unique(x)", "y:f32[?], i:i64[?], v:i64[4*N], c:i64[?]", "arith=4*N comparisons=4*N", "flat"},
    {"x:f32[N,4] -> y, i, v, c = Unique(x) {axis=1}", "y:f32[N,?], i:i64[?], v:i64[4], c:i64[?]", "", "columns"},
    {"x:f32=[2,1,1,3,4,3] -> y, i, v, c = Unique(x)", "y:f32[4], v:i64[6]", "mark=folded", "known elements"},
    {"x:i64[3,3]=[1,0,0,1,0,0,2,3,4] -> y, i, v, c = Unique(x) {axis=0}; z = Unique(x) {axis=1}", "y:i64[2,3], i:i64[2], v:i64[3], z:i64[3,3]", "", "known rows, known columns"},
    {"x:f32[N,4] -> y = Unique(x) {axis=2}", "error: axis 2", "", ""},
};

constexpr OpCase kGatherFolds[] = {
    {"x:f32[N,3,H,W], i:i64=[0,-1] -> s = Shape(x); y = Gather(s, i)", "y=[N,W]", "mark=host", ""},
    {"x:f32[N,3,H,W], i:i64=2 -> s = Shape(x); y = Gather(s, i)", "y:i64[]=H", "mark=host", "a scalar"},
    {"x:f32[N,3], i:i64[2] -> s = Shape(x); y = Gather(s, i)", "y=none", "", "which one is not known"},
    {"c:i64[2,3]=[1,2,3,4,5,6], i:i64=[2,0] -> y = Gather(c, i) {axis=1}", "y=[3,1,6,4]", "", "columns"},
    {"c:i64[2,2]=[1,2,3,4], i:i64[2,2]=[0,0,1,0] -> y = GatherElements(c, i) {axis=1}", "y=[1,1,4,3]", "", ""},
    {"c:i64[2,2]=[1,2,3,4], i:i64[2,2]=[0,0,1,1] -> y = GatherND(c, i)", "y=[1,4]", "", ""},
    {"x:f32[N,3,4], i:i64[1,1]=[1], u:i64=[9] -> s = Shape(x); y = ScatterND(s, i, u)", "y=[N,9,4]", "", "one size replaced"},
    {"x:f32[N,3,4], i:i64[2]=[2,0], u:i64=[7,8] -> s = Shape(x); y = ScatterElements(s, i, u)", "y=[8,3,7]", "", ""},
    {"x:f32[N,3], i:i64=[1], d:i64=3, one:i64=[1], a:i64=[0], b:i64=[1] -> s = Shape(x); n = Slice(s, a, b); v = Concat(one, n) {axis=0}; y = OneHot(i, d, v)", "y:i64[1,3]=[1,N,1]", "", "repeats of one axis"},
    {"i:i64[2]=[-1,5], d:i64=3, v:i64=[7,8] -> y = OneHot(i, d, v) {axis=0}", "y:i64[3,2]=[7,7,7,7,8,7]", "mark=folded", "from the end; beyond it nowhere"},
    {"i:i64[1], d:i64=3, v:i64=[7,8] -> y = OneHot(i, d, v)", "y=none", "", "which one is not known"},
    {"c:f32[5]=[1,5,2,5,0], k:i64=[3] -> y, i = TopK(c, k); z, j = TopK(c, k) {largest=0}", "y=[5,5,2], i=[1,3,2], z=[0,1,2], j=[4,0,2]", "", "ties keep their order"},
    {"c:i64[2,3]=[0,1,1,1,0,0] -> y = NonZero(c)", "y:i64[2,3]=[0,0,1,1,2,0]", "mark=folded", "rows, then columns"},
    {"x:f32[N+1,3] -> s = Shape(x); y = NonZero(s)", "y:i64[1,2]=[0,1]", "", "sizes that cannot be 0"},
    {"x:f32[N,3] -> s = Shape(x); y = NonZero(s)", "y:i64[1,?]", "", "N may be 0"},
};
constexpr OpCase kGatherRebatched[] = {
    {"x:f32[1,512], f:i64=[-1], i:i64[1,512,1]=const -> v = Reshape(x, f); y = Gather(v, i)", "y:f32[batch,512,1]", "", "a view that names every element"},
    {"x:f32[2,6], f:i64=[-1], i:i64[4,3]=const -> v = Reshape(x, f); y = Gather(v, i)", "y:f32[2*batch,3]", "", "4 = 2 · 2"},
    {"x:f32[2,6], f:i64=[-1], i:i64[3]=const -> v = Reshape(x, f); y = Gather(v, i)", "y:f32[3]", "", "some of them"},
    {"x:f32[2,6], i:i64[1]=const -> y = Gather(x, i)", "y:f32[1,6]", "", "one of the batch"},
};
// clang-format on

TEST_CASE("gathers read what they pick") { check_cases(kGatherCases); }
TEST_CASE("scatters copy the data and place the updates") { check_cases(kScatter); }
TEST_CASE("what the data decide is a symbol with a bound") {
  check_cases(kChoice);
  const Analysis analysis = analyze(graph("x:f32[N,10] -> y = NonZero(x)"));
  REQUIRE(analysis.symbols.size() == 1);
  CHECK(analysis.symbols[0].upper == 10 * Dim::symbol("N"));
  CHECK(analysis.symbols[0].cause == "the number of elements that are not 0");
}
TEST_CASE("indices fixed at export take the batch where they name everything") {
  AnalyzeOptions options;
  options.symbolic_batch = true;
  check_cases(kGatherRebatched, options);
}
TEST_CASE("known elements are picked and placed") { check_cases(kGatherFolds); }

}  // namespace

TEST_CASE("NonZero of a triangle or a band is counted, at sizes too large to list and at free ones") {
  struct Row {
    const char* why;
    const char* made;  // z from ones of [N,M]
  };
  const Row rows[] = {
      {"upper", "z = Trilu(a)"},
      {"strictly lower", "k = Constant() {value=i64[]=-1}; z = Trilu(a, k) {upper=0}"},
      {"lower and 3 more", "k = Constant() {value=i64[]=3}; z = Trilu(a, k) {upper=0}"},
      {"upper from -2", "k = Constant() {value=i64[]=-2}; z = Trilu(a, k)"},
      {"upper from 4", "k = Constant() {value=i64[]=4}; z = Trilu(a, k)"},
      {"a band",
       "k = Constant() {value=i64[]=-1}; l = Constant() {value=i64[]=2}; b = Trilu(a, k); z = Trilu(b, l) {upper=0}"},
      {"as bool, negated", "b = Trilu(a); c = Cast(b) {to=9}; z = Not(c)"},
      {"compared", "b = Trilu(a); o = Constant() {value=f32[]=0.5}; z = Less(b, o)"},
      {"chosen",
       "b = Trilu(a); c = Cast(b) {to=9}; o = Constant() {value=f32[]=0.0}; p = Constant() {value=f32[]=2.0}; "
       "z = Where(c, o, p)"},
      {"as integers, half of 1 is 0",
       "o = Constant() {value=f32[]=0.5}; b = Mul(a, o); c = Cast(b) {to=7}; z = Trilu(c)"},
      {"of several matrices", "f = Constant() {value=i64[3]=[2,1,1]}; b = Expand(a, f); z = Trilu(b)"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.why);
    const Model model = graph("x:f32[N,M] -> s = Shape(x); a = ConstantOfShape(s) {value=f32[1]=[1.0]}; " +
                              std::string(row.made) + "; y = NonZero(z)");
    const Analysis open = analyze(model);
    CHECK(open.symbols.empty());
    const auto count_at = [](const Analysis& analysis) { return (*analysis.outputs[0].type.shape)[1]; };
    for (std::int64_t n = 1; n < 8; ++n)
      for (std::int64_t m = 1; m < 8; ++m) {
        AnalyzeOptions options;
        options.dims = {{"N", n}, {"M", m}};
        const Analysis listed = analyze(model, options);  // few enough elements to list them
        REQUIRE(count_at(listed).is_constant());
        CHECK(count_at(bind_dims(open, options.dims)) == count_at(listed));
      }
  }
  const Analysis square =
      analyze(graph("x:f32[n,4] -> s = Shape(x) {end=1}; t = Concat(s, s) {axis=0}; "
                    "a = ConstantOfShape(t) {value=f32[1]=[1.0]}; k = Constant() {value=i64[]=-1}; "
                    "z = Trilu(a, k) {upper=0}; y = NonZero(z)"));
  const Dim n = Dim::symbol("n");
  CHECK((*square.outputs[0].type.shape)[1] == floor_div(n * n - n, 2));
  const Analysis large =
      analyze(graph("t:i64[2]=[1000,1000] -> a = ConstantOfShape(t) {value=f32[1]=[1.0]}; z = Trilu(a); "
                    "y = NonZero(z)"));
  CHECK((*large.outputs[0].type.shape)[1] == Dim(500'500));
}

}  // namespace pagoda::test
