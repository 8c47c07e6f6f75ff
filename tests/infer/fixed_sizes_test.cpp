// A fixed export analysed at other sizes: numbers that the file derived from its sizes must follow, or the request is
// refused with the node that fixes one. tests/resize compares whole exports with re-exports.
#include <doctest/doctest.h>

#include <string>

#include "pagoda/base/error.h"
#include "pagoda/core/analyze.h"
#include "support/text_graph.h"

namespace pagoda::test {
namespace {

using Sizes = std::vector<std::int64_t>;

// The type of the named tensor, or the message of the refusal.
std::string type_at(const Model& model, const Sizes& sizes, std::string_view tensor) {
  try {
    const Analysis analysis = analyze(model, {.input_shapes = {{"x", sizes}}});
    for (std::size_t i = 0; i < analysis.types.size(); ++i)
      if (model.main().values[i].name == tensor) return to_string(analysis.types[i]);
    return "no such tensor";
  } catch (const Error& error) {
    return error.what();
  }
}

struct Row {
  const char* graph;
  Sizes asked;         // shape of x
  const char* tensor;  // y or another one
  const char* found;   // its type, or a part of the refusal
  const char* why;
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    CAPTURE(row.why);
    CAPTURE(row.graph);
    const std::string found = type_at(graph(row.graph), row.asked, row.tensor);
    CHECK_MESSAGE(found.find(row.found) != std::string::npos, "got: " << found << "\nexpected: " << row.found);
  }
}

TEST_CASE("the numbers of a reshape follow the sizes they came from") {
  check({
      {"x:f32[1,64,80,80], t:i64=[1,64,6400] -> y = Reshape(x, t)", {1, 64, 60, 100}, "y", "[1,64,6000]", "flattened"},
      {"x:f32[1,64,80,80], t:i64=[1,64,-1] -> y = Reshape(x, t)", {1, 64, 60, 100}, "y", "[1,64,6000]", "by -1"},
      {"x:f32[1,64,80,80], t:i64=[1,-1,80,80] -> y = Reshape(x, t)",
       {1, 64, 60, 100},
       "y",
       "[1,64,60,100]",
       "-1 for what stays"},
      {"x:f32[1,64,14,14], t:i64=[1,64,196], u:i64=[1,64,14,14] -> a = Reshape(x, t); y = Reshape(a, u)",
       {1, 64, 16, 24},
       "y",
       "[1,64,16,24]",
       "rows before columns"},
      {"x:f32[1,64,14,14], t:i64=[1,64,196], u:i64=[14,14,64] -> a = Reshape(x, t); b = Transpose(a) {perm=[0,2,1]}; y "
       "= Reshape(b, u)",
       {1, 64, 16, 24},
       "y",
       "[16,24,64]",
       "without the batch"},
      {"x:f32[1,197,768], t:i64=[1,197,12,64] -> y = Reshape(x, t)", {1, 50, 768}, "y", "[1,50,12,64]", "heads"},
      {"x:f32[1,197,768], t:i64=[197,12,64] -> a = Transpose(x) {perm=[1,0,2]}; y = Reshape(a, t)",
       {1, 50, 768},
       "y",
       "[50,12,64]",
       "sequence first"},
      {"x:f32[1,18,40,40], t:i64=[1,2,9,40,40], u:i64=[1,2,40,40,9], v:i64=[1,3200,9] -> a = Reshape(x, t); b = "
       "Transpose(a) {perm=[0,1,3,4,2]}; y = Reshape(b, v)",
       {1, 18, 20, 30},
       "y",
       "[1,1200,9]",
       "anchors: 2 · h · w"},
      {"x:f32[1,4,10,10], t:i64=[1,4,2,5,2,5] -> y = Reshape(x, t)",
       {1, 4, 20, 20},
       "y",
       "the file leaves open whether its size",
       "blocks of 5, or 2 of them"},
  });
}

TEST_CASE("what a reshape merges, another takes apart") {
  check({
      {"x:f32[1,8,64,96], t:i64=[1,8,6144], u:i64=[1,8,64,96] -> a = Reshape(x, t); y = Reshape(a, u)",
       {1, 8, 80, 80},
       "y",
       "[1,8,80,80]",
       "not 64 rows of 100"},
      {"x:f32[1,64,64,96], t:i64=[1,1,-1], u:i64=[1,64,64,96] -> a = Reshape(x, t); y = Reshape(a, u)",
       {1, 64, 80, 80},
       "y",
       "[1,64,80,80]",
       "channels and rows of one number"},
      {"x:f32[1,8,12,12], t:i64=[8,4,3,4,3], u:i64=[1,8,12,12] -> p = Reshape(x, t); q = Transpose(p) "
       "{perm=[0,2,1,4,3]}; r = Transpose(q) {perm=[0,2,1,4,3]}; v = Reshape(r, u); y = Add(v, x)",
       {1, 8, 24, 30},
       "y",
       "the file leaves open whether its size",
       "blocks of 3, or 4 of them: both come back"},
      {"x:f32[1,64,1,32], t:i64=[128,16,1] -> y = Reshape(x, t)",
       {1, 64, 1, 64},
       "y",
       "the file leaves open whether its size 2 stays",
       "2 · 16 of 32, or 4 · 16 of 64"},
  });
}

// A cell of 2 · 2 pixels on maps of two sizes is a cell; 16 and 8 are how many there are.
TEST_CASE("a block that divides axes of different sizes keeps its size") {
  const char* one = "x:f32[1,8,32,32], t:i64=[128,2,16,2] -> y = Reshape(x, t)";
  const char* cells =
      "x:f32[1,8,32,32], t:i64=[128,2,16,2], u:i64=[64,2,8,2] -> c = Reshape(x, t); p = MaxPool(x) "
      "{kernel_shape=[2,2], strides=[2,2]}; y = Reshape(p, u)";
  const char* grid =
      "x:f32[1,8,32,32], t:i64=[32,8,4,8], u:i64=[32,4,4,4] -> c = Reshape(x, t); p = MaxPool(x) "
      "{kernel_shape=[2,2], strides=[2,2]}; y = Reshape(p, u)";
  const char* folded =
      "x:f32[1,8,32,32], t:i64=[128,2,16,2], u:i64=[1,8,256,4], v:i64=[128,16,2,2], s:i64=[1,8,32,32], k:i64=[64,2,8,2] "
      "-> c = Reshape(x, t); d = Transpose(c) {perm=[0,2,1,3]}; e = Reshape(d, u); f = Reshape(e, v); g = "
      "Transpose(f) {perm=[0,2,1,3]}; h = Reshape(g, s); y = Concat(x, h) {axis=1}; p = MaxPool(x) "
      "{kernel_shape=[2,2], strides=[2,2]}; q = Reshape(p, k)";
  check({
      {one, {1, 8, 48, 64}, "y", "the file leaves open whether its size", "a single map"},
      {cells, {1, 8, 48, 64}, "c", "[192,2,32,2]", "24 · 32 cells of 2 · 2"},
      {cells, {1, 8, 48, 64}, "y", "[96,2,16,2]", "12 · 16 cells"},
      {grid, {1, 8, 48, 64}, "c", "[32,12,4,16]", "4 · 4 cells of any size"},
      {folded, {1, 8, 48, 64}, "e", "[1,8,768,4]", "unfolded"},
      {folded, {1, 8, 48, 64}, "y", "[1,16,48,64]", "folded back"},
  });
}

// Stored tensors determine the window size: 49 rows of a table, 9·3 channels of a weight.
TEST_CASE("windows are as large as what they meet") {
  const char* blocks =
      "x:f32[1,56,56,96], t:i64=[1,8,7,8,7,96], u:i64=[64,49,96], b:f32[49,96]=const, v:i64=[1,8,8,7,7,96], "
      "s:i64=[1,56,56,96] -> p = Reshape(x, t); q = Transpose(p) {perm=[0,1,3,2,4,5]}; r = Reshape(q, u); z = Add(r, "
      "b); i = Reshape(z, v); j = Transpose(i) {perm=[0,1,3,2,4,5]}; y = Reshape(j, s); o = Add(x, y)";
  const char* grid =
      "x:f32[1,56,56,96], t:i64=[1,7,8,7,8,96], u:i64=[64,49,96], b:f32[49,96]=const -> p = Reshape(x, t); q = "
      "Transpose(p) {perm=[0,2,4,1,3,5]}; r = Reshape(q, u); y = Add(r, b)";
  const char* unshuffled =
      "x:f32[1,8,12,12], t:i64=[1,8,4,3,4,3], u:i64=[1,72,4,4], w:f32[5,72,1,1]=const -> p = Reshape(x, t); q = "
      "Transpose(p) {perm=[0,1,3,5,2,4]}; r = Reshape(q, u); y = Conv(r, w)";
  check({
      {blocks, {1, 70, 84, 96}, "z", "[120,49,96]", "10 · 12 windows"},
      {blocks, {1, 70, 84, 96}, "o", "[1,70,84,96]", "and back"},
      {blocks, {1, 60, 84, 96}, "o", "needs", "60 is no multiple of 7"},
      {grid, {1, 70, 84, 96}, "y", "[120,49,96]", "7 · 7 elements that are 10 and 12 apart"},
      {unshuffled, {1, 8, 24, 30}, "y", "[1,5,8,10]", "channels say that blocks are 3 · 3"},
      {"x:f32[1,7,7,96], t:i64=[1,1,7,1,7,96] -> y = Reshape(x, t)",
       {1, 14, 14, 96},
       "y",
       "one window covers the axis",
       "a single window"},
      {blocks, {1, 7, 70, 96}, "o", "the graph of a single window differs", "a single one where there were 8"},
  });
}

TEST_CASE("stored tensors follow where they are met element by element, and are read so") {
  const Model model = graph(
      "x:f32[1,196,8], e:f32[1,197,8]=const, c:f32[1,1,8]=const -> t = Concat(c, x) {axis=1}; y = "
      "Add(t, e)");
  const Analysis other = analyze(model, {.input_shapes = {{"x", {1, 49, 8}}}});
  CHECK(other.totals.cost.arith == Dim(50 * 8));
  CHECK(other.totals.cost.bytes_read == Dim(4 * (8 + 49 * 8 + 50 * 8 + 50 * 8)));
  CHECK(other.totals.params == Dim(8 + 50 * 8));
  check({
      {"x:f32[1,3,32,32], w:f32[4,3,3,3]=const, g:f32[256,10]=const -> c = Conv(x, w) {pads=[1,1,1,1], strides=[2,2]}; "
       "p = MaxPool(c) {kernel_shape=[2,2], strides=[2,2]}; f = Flatten(p); y = Gemm(f, g)",
       {1, 3, 64, 64},
       "y",
       "its weights fix a size at 256, the sizes asked for make it 1024",
       "a classifier of all pixels"},
      {"x:f32[1,196,8], w:f32[196,50]=const -> a = Transpose(x) {perm=[0,2,1]}; y = MatMul(a, w)",
       {1, 49, 8},
       "y",
       "its weights fix a size at 196",
       "a mixer of tokens"},
      {"x:f32[1,196,8], w:f32[196,8]=const -> y = LayerNormalization(x, w) {axis=1}",
       {1, 49, 8},
       "y",
       "its weights fix a size at 196",
       "a norm over tokens"},
  });
}

TEST_CASE("sizes of a resize are those of what it joins") {
  const char* pyramid =
      "x:f32[1,4,28,28], w:f32[4,4,3,3]=const, z:i64[4]=[1,4,28,28], r:f32[0]=const, s:f32[0]=const -> c = Conv(x, w) "
      "{pads=[1,1,1,1], strides=[2,2]}; u = Resize(c, r, s, z); y = Add(x, u)";
  const char* pooled =
      "x:f32[1,4,28,28], z:i64[4]=[1,4,28,28], r:f32[0]=const, s:f32[0]=const -> p = GlobalAveragePool(x); u = "
      "Resize(p, "
      "r, s, z); y = Concat(x, u) {axis=1}";
  check({
      {pyramid, {1, 4, 40, 56}, "u", "[1,4,40,56]", "even"},
      {pyramid, {1, 4, 41, 57}, "u", "[1,4,41,57]", "odd: twice 21 is 42"},
      {pooled, {1, 4, 41, 57}, "y", "[1,8,41,57]", "a pooled image spread again"},
      {"x:f32[1,4,520,520], w:f32[4,4,3,3]=const, z:i64[4]=[1,4,520,520], r:f32[0]=const, s:f32[0]=const -> a = Conv(x, "
       "w) {pads=[1,1,1,1], strides=[8,8]}; y = Resize(a, r, s, z)",
       {1, 4, 780, 780},
       "y",
       "[1,4,780,780]",
       "back to the image: 8 · 98 would be 784"},
      {"x:f32[1,4,28,28], z:i64[4]=[1,4,56,84], r:f32[0]=const, s:f32[0]=const -> y = Resize(x, r, s, z)",
       {1, 4, 40, 50},
       "y",
       "[1,4,80,150]",
       "2 and 3 times as large"},
      {"x:f32[1,4,28,28], z:i64[4]=[1,4,30,28], r:f32[0]=const, s:f32[0]=const -> y = Resize(x, r, s, z)",
       {1, 4, 40, 50},
       "y",
       "whether its size 30 stays or follows",
       "30 of 28 may be anything"},
      {"x:f32[1,4,28,28], z:i64[4]=[1,4,30,28], r:f32[0]=const, s:f32[0]=const -> y = Resize(x, r, s, z)",
       {1, 4, 56, 56},
       "y",
       "whether its size 30 stays or follows",
       "60 of 56 may be anything, too"},
      {"x:f32[1,4,16,16], t:i64=[1,4,16], z:i64[4]=[1,4,16,16], r:f32[0]=const, s:f32[0]=const, a:i64[1]=[1] -> p = "
       "MaxPool(x) {kernel_shape=[4,4], strides=[4,4]}; k = Reshape(p, t); q = Transpose(k) {perm=[0,2,1]}; m = "
       "MatMul(q, k); n = Unsqueeze(m, a); h = MaxPool(x) {kernel_shape=[2,2], strides=[2,2]}; y = Resize(h, r, s, z)",
       {1, 4, 24, 24},
       "y",
       "[1,4,24,24]",
       "rows are not as many as the 36 tokens, which were 16 at export, too"},
  });
}

TEST_CASE("pools, cuts and picks that cover an axis follow it") {
  check({
      {"x:f32[1,4,7,7] -> y = AveragePool(x) {kernel_shape=[7,7]}", {1, 4, 9, 12}, "y", "[1,4,1,1]", "a global pool"},
      {"x:f32[1,4,12,12] -> y = AveragePool(x) {kernel_shape=[4,4], strides=[4,4]}",
       {1, 4, 24, 12},
       "y",
       "as those of an adaptive pool do",
       "3 · 3 bins, or windows of 4"},
      {"x:f32[1,4,12,12] -> y = AveragePool(x) {kernel_shape=[2,2], strides=[2,2]}",
       {1, 4, 24, 12},
       "y",
       "[1,4,12,6]",
       "halved"},
      {"x:f32[1,12,4], b:i64[1]=[3], e:i64[1]=[12], a:i64[1]=[1] -> y = Slice(x, b, e, a)",
       {1, 20, 4},
       "y",
       "[1,17,4]",
       "from the third to the end"},
      {"x:f32[1,12,4], b:i64[1]=[0], e:i64[1]=[6], a:i64[1]=[1] -> y = Slice(x, b, e, a)",
       {1, 20, 4},
       "y",
       "the file leaves open whether its size 6 stays",
       "half of them, or 6"},
      {"x:f32[1,16,4], b:i64[1]=[1], m:i64[1]=[15], e:i64[1]=[99], a:i64[1]=[1] -> t = Slice(x, b, e, a); p = Concat(x, "
       "t) {axis=1}; h = Slice(p, m, e, a); y = Add(h, x)",
       {1, 20, 4},
       "y",
       "[1,20,4]",
       "the last h of 2h − 1, as what it is added to says"},
      {"x:f32[1,12,4], i:i64[12]=const -> y = Gather(x, i) {axis=1}", {1, 20, 4}, "y", "[1,20,4]", "a permutation"},
      {"x:f32[1,12,4], i:i64[5]=const -> y = Gather(x, i) {axis=1}",
       {1, 20, 4},
       "y",
       "its indices are fixed",
       "a choice"},
      {"x:f32[1,12,4], i:i64=0 -> y = Gather(x, i) {axis=1}", {1, 20, 4}, "y", "[1,4]", "the first"},
      {"x:f32[1,12,4], s:i64[2]=[1,11] -> a, y = Split(x, s) {axis=1}",
       {1, 20, 4},
       "y",
       "[1,19,4]",
       "all but the first"},
      {"x:f32[1,12,4], s:i64[2]=[6,6] -> a, y = Split(x, s) {axis=1}",
       {1, 20, 4},
       "y",
       "parts of fixed sizes",
       "halves"},
      {"x:f32[1,12,1], s:i64[3]=[1,12,5] -> y = Expand(x, s)", {1, 20, 1}, "y", "[1,20,5]", "its own size"},
      {"x:f32[1,12,4], s:i64[3]=[1,12,4], a:i64[1]=[1] -> m = ReduceMean(x, a); u = Expand(m, s); y = Concat(x, u) "
       "{axis=2}",
       {1, 20, 4},
       "y",
       "[1,20,8]",
       "a mean spread over what it is of"},
      {"x:f32[1,12,4], w:f32[4,12]=const, s:i64[3]=[1,12,4], a:i64[1]=[1], b:i64[3]=[1,12,1] -> m = ReduceMean(x, a); u "
       "= Expand(m, s); r = MatMul(m, w); k = Reshape(r, b); y = Add(u, k)",
       {1, 20, 4},
       "y",
       "[1,12,4]",
       "12 queries beside 12 pixels"},
      {"x:f32[1,12,4], s:i64[4]=[1,1,12,12], p:i64[3]=[0,2,1], m:i64[3]=[1,1,12], a:i64[1]=[2], z:i64[1]=[1] -> t = "
       "Transpose(x) {perm=[0,2,1]}; q = MatMul(x, t); w = Unsqueeze(q, z); r = ReduceMean(x, a); n = Reshape(r, m); u "
       "= Unsqueeze(n, z); v = Expand(u, s); y = Add(w, v)",
       {1, 20, 4},
       "y",
       "[1,1,20,20]",
       "a mask of keys, for every query"},
      {"x:f32[1,12,4], s:i64[3]=[1,2,1], g:i64[3]=[1,2,4] , o:i64[3]=[1,1,1] -> u = Tile(x, s); r = ReduceSum(u); k = "
       "Reshape(r, o); y = Expand(k, g)",
       {1, 20, 4},
       "y",
       "[1,2,4]",
       "a size that no pixels have"},
      {"x:f32[1,12,4], c:f32[2,12,4]=const, d:i64[1]=[2], b:i64[1]=[1], e:i64[1]=[3] -> s = Shape(x); t = Slice(s, b, "
       "e); f = Concat(d, t) {axis=0}; y = Expand(c, f)",
       {1, 20, 4},
       "y",
       "[2,20,4]",
       "a stored state, expanded to its own size"},
  });
}

TEST_CASE("what computes a size that the file fixes is refused further on, never guessed") {
  check({
      {"x:f32[1,2,4,4], g:f32[1,4,4,2]=const -> u = GridSample(x, g); y = Add(x, u)",
       {1, 2, 6, 6},
       "y",
       "an input has a size of 4",
       "a grid of 4 · 4"},
      {"x:f32[1,3,32,32], w:f32[4,3,3,3]=const -> y = Conv(x, w) {pads=[0,0,1,1], strides=[2,2]}",
       {1, 3, 33, 32},
       "y",
       "its padding is uneven",
       "padding of a framework that pads by size"},
      {"x:f32[1,3,32,32], w:f32[4,3,3,3]=const -> y = Conv(x, w) {pads=[0,0,1,1], strides=[2,2]}",
       {1, 3, 34, 32},
       "y",
       "[1,4,17,16]",
       "the same for all even sizes"},
      {"x:f32[1,3,32,32], w:f32[4,3,9,9]=const -> y = Conv(x, w)", {1, 3, 4, 32}, "y", "the window spans 9 but the padded input has 4", "too small"},
  });
}

// A size that the data decide counts as 1 in numbers. One that is known in the file must not become such a size.
TEST_CASE("a size that is known in the file and unknown at another size is refused") {
  const char* cut =
      "x:f32[1,24,4], i:i64=1, c:i64[1]=[20], b:i64[1]=[0], a:i64[1]=[1] -> s = Shape(x); g = Gather(s, i); e = "
      "Sub(g, c); y = Slice(x, b, e, a)";
  check({
      {cut, {1, 12, 4}, "y", "y fixes the size: what becomes of one of its sizes is unknown", "x[: h − 20]"},
      {"x:f32[1,24,4] -> n = NonZero(x); y = Neg(n)", {1, 12, 4}, "y", "int64[3,nonzero]", "unknown in the file, too"},
  });
  const Model model = graph(
      "x:f32[1,24,4], i:i64=0, c:i64[1]=[5], b:i64[1]=[0], a:i64[1]=[1] -> s = Shape(x); g = Gather(s, i); e = "
      "Sub(c, g); y = Slice(x, b, e, a)");
  CHECK_THROWS_WITH(analyze(model, {.batch = 8}),
                    "the graph does not support batch 8: y is not modelled: what becomes of one of its sizes is "
                    "unknown (slice bounds are computed from data); export the model with a dynamic batch dim, or "
                    "multiply the numbers of one run");
}

TEST_CASE("the batch and other sizes change together, and a size can be swept") {
  const Model model = graph(
      "x:f32[1,64,14,14], t:i64=[1,64,196], w:f32[64,10]=const -> a = Reshape(x, t); b = Transpose(a) {perm=[0,2,1]}; "
      "y "
      "= MatMul(b, w)");
  CHECK(type_at(model, {8, 64, 16, 24}, "y") == "float32[8,384,10]");
  const Analysis open = analyze(model, {.symbolic_sizes = {"x.2"}});
  CHECK(open.totals.cost.macs.to_string() == "8960*x_2");
  const Analysis both = analyze(model, {.symbolic_batch = true, .symbolic_sizes = {"x.2"}});
  CHECK(both.totals.cost.macs.to_string() == "8960*batch*x_2");
  CHECK(bind_dims(open, {{"x_2", 14}}).totals.cost.macs == analyze(model).totals.cost.macs);
}

}  // namespace
}  // namespace pagoda::test
