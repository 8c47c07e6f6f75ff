// Views and shapes: targets that are given, solved, computed or unknown; folded values; re-batching of fixed exports.
#include <doctest/doctest.h>

#include <optional>

#include "ops/fixed_sizes.h"
#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kReshape[] = {
    // graph, types, cost, why
    {"x:f32[N,197,768], t:i64=[0,197,12,64] -> y = Reshape(x, t)", "y:f32[N,197,12,64]", "mark=view arith=0 read=0 written=0", "0 copies"},
    {"x:f32[N,512,7,7], t:i64=[-1,25088] -> y = Reshape(x, t)", "y:f32[N,25088]", "mark=view", "-1 is solved for"},
    {"x:f32[N,S,768], t:i64=[0,-1,12,64] -> y = Reshape(x, t)", "y:f32[N,S,12,64]", "", "symbols cancel"},
    {"x:f32[N,S,768], t:i64=[-1] -> y = Reshape(x, t)", "y:f32[768*N*S]", "", "flat"},
    {"x:f32[N,S], t:i64=[-1,4] -> y = Reshape(x, t)", "y:f32[floor_div(N*S,4),4]", "", "a quotient that no polynomial gives"},
    {"x:f32[2,3,4], t:i64=[2,0,1,-1] -> y = Reshape(x, t)", "y:f32[2,3,1,4]", "", "both marks"},
    {"x:f32[0,3,4], t:i64=[3,4,0] -> y = Reshape(x, t) {allowzero=1}", "y:f32[3,4,0]", "", "a real 0"},
    {"x:f32[0,3], t:i64=[0,-1] -> y = Reshape(x, t)", "y:f32[0,3]", "", "an empty tensor"},
    {"opset=1: x:f32[N,6] -> y = Reshape(x) {shape=[0,2,3]}", "y:f32[N,2,3]", "", "an attribute before opset 5"},
    {"x:f32[B,S,768], z:f32[B,S] -> n = Shape(z); e:i64[2] = Constant() {value_ints=[12,-1]}; t = Concat(n, e) {axis=0}; y = Reshape(x, t)", "y:f32[B,S,12,64]", "", "a computed target"},
    {"x:f32[N,6], u:i64[1], c:i64=[3] -> t = Concat(u, c) {axis=0}; y = Reshape(x, t)", "y:f32[2*N,3]", "", "one unknown size is solved for"},
    {"x:f32[N,6], t:i64[3] -> y = Reshape(x, t)", "y:f32[?,?,?]", "", "sizes from data"},
    {"x:f32[N,6], t:i64[1] -> y = Reshape(x, t)", "y:f32[6*N]", "", "one size is all elements"},
    {"x:f32[N,6], t:i64[K] -> y = Reshape(x, t)", "y:f32", "", "unknown rank"},
    {"x:f32, t:i64=[2,-1] -> y = Reshape(x, t)", "y:f32[2,?]", "", "an input of unknown rank"},
    {"x:f32[], t:i64=[1,1] -> y = Reshape(x, t)", "y:f32[1,1]", "", "a scalar"},
    {"x:f32[4,6], t:i64=[5,5] -> y = Reshape(x, t)", "error: 24 elements cannot be reshaped to 25", "", ""},
    {"x:f32[4,6], t:i64=[5,-1] -> y = Reshape(x, t)", "error: 24 elements do not divide by 5", "", ""},
    {"x:f32[4,6], t:i64=[-1,-1] -> y = Reshape(x, t)", "error: two target sizes are -1", "", ""},
    {"x:f32[4,6], t:i64=[4,-2] -> y = Reshape(x, t)", "error: a target size of -2", "", ""},
    {"x:f32[4,6], t:i64=[4,6,0] -> y = Reshape(x, t)", "error: target size 2 is 0, the input has rank 2", "", ""},
    {"x:f32[4,6], t:i64=[0,-1] -> y = Reshape(x, t) {allowzero=1}", "error: beside a size of 0", "", ""},
};

constexpr OpCase kViews[] = {
    {"x:f32[N,512,7,7] -> y = Flatten(x)", "y:f32[N,25088]", "mark=view", ""},
    {"x:f32[N,2,3] -> y = Flatten(x) {axis=0}", "y:f32[1,6*N]", "", "an empty product is 1"},
    {"x:f32[N,2,3] -> y = Flatten(x) {axis=3}", "y:f32[6*N,1]", "", "the other end"},
    {"x:f32[N,2,3] -> y = Flatten(x) {axis=-1}", "y:f32[2*N,3]", "", "from the back"},
    {"x:f32[] -> y = Flatten(x) {axis=0}", "y:f32[1,1]", "", "a scalar"},
    {"x:f32 -> y = Flatten(x)", "y:f32[?,?]", "", "two axes whatever the rank"},
    {"x:f32[N,2,3] -> y = Flatten(x) {axis=4}", "error: axis 4", "", "beyond the rank"},
    {"x:f32[N,1,3,1], a:i64=[1,-1] -> y = Squeeze(x, a)", "y:f32[N,3]", "mark=view read=0", ""},
    {"x:f32[N,1,3,1] -> y = Squeeze(x)", "y:f32[N,3]", "", "all sizes of 1"},
    {"x:f32[N,1,3,1], a:i64=[] -> y = Squeeze(x, a)", "y:f32[N,3]", "", "an empty list is not a list"},
    {"opset=11: x:f32[N,1,3] -> y = Squeeze(x) {axes=[1]}", "y:f32[N,3]", "", "an attribute before opset 13"},
    {"x:f32[N,1,3], a:i64[1] -> y = Squeeze(x, a)", "y:f32[?,?]", "", "computed axes"},
    {"x:f32[N,2,3], a:i64=[1] -> y = Squeeze(x, a)", "error: the size of squeezed axis 1 and 1", "", "2 is not 1"},
    {"x:f32[N,1,3], a:i64=[3] -> y = Squeeze(x, a)", "error: axis 3", "", "beyond the rank"},
    {"x:f32[N,3], a:i64=[0,-1] -> y = Unsqueeze(x, a)", "y:f32[1,N,3,1]", "mark=view", "positions in the output"},
    {"opset=11: x:f32[N,3] -> y = Unsqueeze(x) {axes=[1]}", "y:f32[N,1,3]", "", "an attribute before opset 13"},
    {"x:f32[N,3], a:i64[1] -> y = Unsqueeze(x, a)", "y:f32[?,?,?]", "", "computed axes"},
    {"x:f32[N,3], a:i64=[1,1] -> y = Unsqueeze(x, a)", "error: named twice", "", ""},
    {"x:f32[N,3], a:i64=[3] -> y = Unsqueeze(x, a)", "error: axis 3", "", "beyond the rank"},
    {"x:f32[N,3] -> y = Unsqueeze(x)", "error: no axes are given", "", "mandatory"},
    {"x:seq(f32[N,3]) -> y = Identity(x)", "y:seq(f32[N,3])", "mark=view", "of any type"},
    {"-> y = Identity()", "error: input 0 is missing", "", ""},
    {"x:f32[N,3], r:f32=0.5 -> y, m = Dropout(x, r)", "y:f32[N,3], m:bool[N,3]", "arith=0 read=0 written=3*N", "in inference only a mask is written"},
    {"x:f32[N,3] -> y = Dropout(x)", "y:f32[N,3]", "mark=view", "in inference a view"},
    {"x:f32[N,3], r:f32=0.5, t:bool=true -> y, m = Dropout(x, r, t)", "y:f32[N,3], m:bool[N,3]", "arith=9*N comparisons=6*N read=12*N written=15*N", "in training"},
    {"opset=6: x:f32[N,3] -> y = Dropout(x)", "y:f32[N,3]", "arith=9*N", "trains unless is_test is set"},
    {"opset=6: x:f32[N,3] -> y, m = Dropout(x) {is_test=1}", "y:f32[N,3], m:f32[N,3]", "arith=0", "the mask was of the data's type"},
    {"-> y = Dropout()", "error: input 0 is missing", "", ""},
};

constexpr OpCase kReshapeShapes[] = {
    {"x:f32[N,3,H] -> y = Shape(x)", "y:i64[3]=[N,3,H]", "mark=host read=0 written=0", ""},
    {"x:f32[N,3,H] -> y = Shape(x) {start=-2}", "y:i64[2]=[3,H]", "", ""},
    {"x:f32[N,3,H] -> y = Shape(x) {start=1, end=-1}", "y:i64[1]=[3]", "", ""},
    {"x:f32[N,3,H] -> y = Shape(x) {start=-9, end=9}", "y:i64[3]=[N,3,H]", "", "clamped"},
    {"x:f32[N,3,H] -> y = Shape(x) {start=2, end=1}", "y:i64[0]", "", "nothing between"},
    {"x:f32 -> y = Shape(x)", "y:i64[?]", "", "unknown rank"},
    {"-> y = Shape()", "error: input 0 is missing", "", ""},
    {"x:f32[N,3,H] -> y = Size(x)", "y:i64[]=3*N*H", "mark=host", ""},
    {"-> y = Size()", "error: input 0 is missing", "", ""},
};

constexpr OpCase kReshapeFolds[] = {
    {"x:f32[N,3], t:i64=[2,1] -> s = Shape(x); y = Reshape(s, t); z = Flatten(y); w = Identity(z)", "w:i64[2,1]=[N,3]", "mark=view", "a view keeps the elements"},
    {"x:f32[N,3], i:i64=0, a:i64=[0] -> s = Shape(x); g = Gather(s, i); u = Unsqueeze(g, a); y = Squeeze(u, a)", "u=[N], y=N", "mark=host", ""},
    {"x:f32[N,3] -> s = Shape(x); y = Dropout(s)", "y=[N,3]", "", ""},
};
// clang-format on

TEST_CASE("Reshape reads, copies and solves for its target") { check_cases(kReshape); }
TEST_CASE("views cost nothing") { check_cases(kViews); }
TEST_CASE("a shape is known without the data") { check_cases(kReshapeShapes); }
TEST_CASE("views keep known elements") { check_cases(kReshapeFolds); }

// clang-format off
// Exported at batch 1 (or as the input's first size says), and analysed with a symbolic batch.
constexpr OpCase kReshapeRebatched[] = {
    {"x:f32[1,197,768], t:i64=[1,197,12,64] -> y = Reshape(x, t)", "y:f32[batch,197,12,64]", "", "the 1 in front"},
    {"x:f32[1,56,56,96], t:i64=[1,8,7,8,7,96], u:i64=[64,49,96] -> a = Reshape(x, t); b = Transpose(a) {perm=[0,1,3,2,4,5]}; y = Reshape(b, u)",
     "y:f32[64*batch,49,96]", "", "windows"},
    {"x:f32[1,56,56,96], t:i64=[1,8,7,8,7,-1], u:i64=[64,49,96], v:i64=[1,8,8,7,7,-1] -> a = Reshape(x, t); b = Transpose(a) {perm=[0,1,3,2,4,5]}; c = Reshape(b, u); y = Reshape(c, v)",
     "a:f32[batch,8,7,8,7,96], y:f32[batch,8,8,7,7,96]", "", "and back, with -1 for the channels"},
    {"x:f32[1,197,768], t:i64=[197,12,64] -> s = Transpose(x) {perm=[1,0,2]}; y = Reshape(s, t)", "y:f32[197,12*batch,64]", "", "sequence-first attention"},
    {"x:f32[1,12,197,64], t:i64=[197,768], u:i64=[197,1,768] -> s = Transpose(x) {perm=[2,0,1,3]}; y = Reshape(s, t); z = Reshape(y, u)",
     "y:f32[197*batch,768], z:f32[197,batch,768]", "", "features stay last, the 1 takes the batch"},
    {"x:f32[2,197,768], t:i64=[394,768] -> y = Reshape(x, t)", "y:f32[197*batch,768]", "", "a batch of 2 multiplied in"},
    {"x:f32[2,197,768], t:i64=[197,24,64] -> s = Transpose(x) {perm=[1,0,2]}; y = Reshape(s, t)", "y:f32[197,12*batch,64]", "", "24 = 2·12"},
    {"x:f32[1,256,6,6], t:i64=[-1,9216] -> y = Reshape(x, t)", "y:f32[batch,9216]", "", "-1 takes it"},
    {"x:f32[1,256,6,6], t:i64=[1,-1] -> y = Reshape(x, t)", "y:f32[batch,9216]", "", "the 1 takes it"},
    {"x:f32[1,320,64,64], t:i64=[0,32,-1] -> y = Reshape(x, t)", "y:f32[batch,32,40960]", "", "0 copies it"},
    {"x:f32[1,116,28,28], t:i64=[1,2,58,28,28] -> y = Reshape(x, t)", "y:f32[batch,2,58,28,28]", "", "channel shuffle"},
    {"x:f32[1,7], t:i64=[3,5] -> y = Reshape(x, t)", "error: 7 elements cannot be reshaped to 15", "", "no such shape at any batch"},
    {"x:f32[1,7], a:i64=[0] -> y = Squeeze(x, a)", "error: the batch axis is squeezed away", "", ""},
    {"x:f32[1,1,7] -> y = Squeeze(x)", "y:f32[batch,7]", "", "the batch stays"},
    {"x:f32[1,7], s:i64=[1,7] -> y = Expand(x, s)", "y:f32[batch,7]", "", "a 1 broadcasts"},
    {"x:f32[1,196,768], c:f32[1,1,768]=const -> y = Concat(c, x) {axis=1}", "y:f32[batch,197,768]", "", "a class token joins"},
};
// clang-format on

TEST_CASE("a reshape fixed at export takes the batch where it belongs") {
  AnalyzeOptions options;
  options.symbolic_batch = true;
  check_cases(kReshapeRebatched, options);
}

TEST_CASE("the batch has no place where several sizes hold it") {
  const FixedSizes fixed{.exported = {{"batch", 1}}, .asked = {}, .batch = "batch"};
  const Dim batch = Dim::symbol("batch");
  CHECK(ops::batch_position({batch, batch}, {1, 1}, fixed) == std::nullopt);
  CHECK(ops::batch_position({Dim(7)}, {7}, fixed) == std::nullopt);
  CHECK(ops::batch_position({batch, 7}, {7, 1}, fixed) == std::optional<std::size_t>(0));
}

}  // namespace
}  // namespace pagoda::test
