// Rearranging and repeating: shapes, traffic and folded values of every row.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kLayoutShapes[] = {
    // graph, types, cost, why
    {"x:f32[N,197,12,64] -> y = Transpose(x) {perm=[0,2,1,3]}", "y:f32[N,12,197,64]", "arith=0 read=605184*N written=605184*N", ""},
    {"x:f32[2,3,N] -> y = Transpose(x)", "y:f32[N,3,2]", "", "reversed by default"},
    {"x:f32[2,3] -> y = Transpose(x) {perm=[0]}", "error: perm has 1 entries", "", ""},
    {"x:f32[2,3] -> y = Transpose(x) {perm=[1,1]}", "error: named twice", "", ""},
    {"x:f32 -> y = Transpose(x)", "y:f32", "", "unknown rank"},
    {"x:f32[N,12,H,W] -> y = DepthToSpace(x) {blocksize=2}", "y:f32[N,3,2*H,2*W]", "arith=0 read=48*N*H*W written=48*N*H*W", ""},
    {"x:f32[N,10,4,4] -> y = DepthToSpace(x) {blocksize=2}", "error: 10 does not divide", "", ""},
    {"x:f32[N,3,8,W] -> y = SpaceToDepth(x) {blocksize=2}", "y:f32[N,12,4,floor_div(W,2)]", "arith=0 read=96*N*W", ""},
    {"x:f32[N,3,7,8] -> y = SpaceToDepth(x) {blocksize=2}", "error: 7 does not divide", "", ""},
    {"x:f32[N,3,8] -> y = SpaceToDepth(x) {blocksize=2}", "error: rank 3", "", ""},
    {"x:f32[N,1,8], s:i64=[3,1] -> y = Expand(x, s)", "y:f32[N,3,8]", "arith=0 read=32*N written=96*N", "read once, written repeated"},
    {"x:f32[1,1,8], z:f32[B,S] -> n = Shape(z); e:i64[1] = Constant() {value_ints=[8]}; s = Concat(n, e) {axis=0}; y = Expand(x, s)", "y:f32[B,S,8]", "", "sizes of another tensor"},
    {"x:f32[8], s:i64[3] -> y = Expand(x, s)", "y:f32[?,?,8]", "", "a size above 1 stays"},
    {"x:f32[8], s:i64[K] -> y = Expand(x, s)", "y:f32", "", "an unknown number of sizes"},
    {"x:f32[3], s:i64=[4] -> y = Expand(x, s)", "error: do not broadcast", "", "3 is not 4"},
    {"x:f32[3], s:i64=[-4] -> y = Expand(x, s)", "error: a target size of -4", "", ""},
    {"x:f32[N,3], r:i64=[2,4] -> y = Tile(x, r)", "y:f32[2*N,12]", "arith=0 read=12*N written=96*N", ""},
    {"x:f32[N,3], r:i64[2] -> y = Tile(x, r)", "y:f32[?,?]", "", "repeats from data"},
    {"opset=1: x:f32[N,3], t:f32=4.0, a:f32=1.0 -> y = Tile(x, t, a)", "y:f32[N,12]", "", "one axis before opset 6"},
    {"x:f32[N,3], r:i64=[2] -> y = Tile(x, r)", "error: 1 repeats for rank 2", "", ""},
    {"x:f32[N,3,H], p:i64=[0,0,1,0,0,2] -> y = Pad(x, p)", "y:f32[N,3,H+3]", "arith=0 read=12*N*H written=12*N*H+36*N", ""},
    {"x:f32[N,3,8], p:i64=[0,0,-2,0,0,-1] -> y = Pad(x, p)", "y:f32[N,3,5]", "read=60*N written=60*N", "negative pads crop"},
    {"x:f32[N,3,H], p:i64=[1,1], v:f32=0.0, a:i64=[-1] -> y = Pad(x, p, v, a)", "y:f32[N,3,H+2]", "", "of one axis"},
    {"x:f32[4,3], p:i64[4] -> y = Pad(x, p)", "y:f32[?,?]", "", "pads from data"},
    {"opset=2: x:f32[4,3] -> y = Pad(x) {pads=[0,1,0,2]}", "y:f32[4,6]", "", "an attribute before opset 11"},
    {"opset=1: x:f32[4,3] -> y = Pad(x) {paddings=[0,1,0,2]}", "y:f32[4,6]", "", "by its first name"},
    {"x:f32[4,3], p:i64=[1,1] -> y = Pad(x, p)", "error: pads has 2 entries, expected 4", "", ""},
    {"x:f32[4,3], p:i64=[0,-2,0,-2] -> y = Pad(x, p)", "error: pads remove more than axis 1 has", "", ""},
    {"x:f32[N,S,S] -> y = Trilu(x)", "y:f32[N,S,S]", "arith=0 read=4*N*S*S written=4*N*S*S", ""},
    {"x:f32[5] -> y = Trilu(x)", "error: rank 1", "", "matrices"},
    {"x:f32[T,N,8], l:i64[N] -> y = ReverseSequence(x, l)", "y:f32[T,N,8]", "arith=0 read=32*T*N+8*N written=32*T*N", ""},
    {"x:f32[4,3,8], l:i64[4] -> y = ReverseSequence(x, l)", "error: batch and sequence_lens", "", "3 is not 4"},
    {"x:f32[4,3,8], l:i64[4] -> y = ReverseSequence(x, l) {batch_axis=0, time_axis=0}", "error: are the same", "", ""},
};

constexpr OpCase kLayoutFolds[] = {
    {"c:i64[2,3]=[1,2,3,4,5,6] -> y = Transpose(c)", "y:i64[3,2]=[1,4,2,5,3,6]", "mark=folded", ""},
    {"x:f32[N,3], s:i64=[2,2] -> h = Shape(x); y = Expand(h, s)", "y=[N,3,N,3]", "", ""},
    {"x:f32[N,3], r:i64=[2] -> h = Shape(x); y = Tile(h, r)", "y=[N,3,N,3]", "", ""},
    {"c:i64[2,2]=[1,2,3,4], r:i64=[1,2] -> y = Tile(c, r)", "y=[1,2,1,2,3,4,3,4]", "", "along the last axis"},
    {"c:i64[3,3]=[1,2,3,4,5,6,7,8,9] -> y = Trilu(c); z = Trilu(c) {upper=0}", "y=[1,2,3,0,5,6,0,0,9], z=[1,0,0,4,5,0,7,8,9]", "", ""},
    {"c:i64[2,2]=[1,2,3,4], k:i64=1 -> y = Trilu(c, k)", "y=[0,2,0,0]", "", "above the diagonal"},
    {"c:i64[2,2]=[1,2,3,4], k:i64=-9223372036854775808 -> y = Trilu(c, k)", "y=[1,2,3,4]", "", "far below it"},
};
// clang-format on

TEST_CASE("rearranging writes what it makes and computes nothing") { check_cases(kLayoutShapes); }
TEST_CASE("known elements are rearranged") { check_cases(kLayoutFolds); }

}  // namespace
}  // namespace pagoda::test
