// com.microsoft element-wise operators on 8-bit integers: shapes, and work by
// definition: dequantise, compute, quantise.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kPairs[] = {
    // graph, types, cost, why
    {"a:u8[B,1,4], b:u8[3,4], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearAdd(a, s, z, b, s, z, s, z)",
     "y:u8[B,3,4]", "macs=0 arith=80*B+24 comparisons=36*B read=4*B+12+5 written=12*B precision=int8", "2 per operand element, 6 per output element"},
    {"a:i8[B,1,4], b:i8[3,4], s:f32=0.1 -> y = com.microsoft.QLinearAdd(a, s, , b, s, , s)", "y:i8[B,3,4]", "arith=64*B+12", "no zero points"},
    {"a:u8[2,4], b:u8[3,4], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearAdd(a, s, z, b, s, z, s, z)", "error: do not broadcast", "", "2 is not 3"},
    {"a:u8[B,1,4], b:u8[3,4], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearMul(a, s, z, b, s, z, s, z)", "y:u8[B,3,4]", "arith=76*B+14 comparisons=36*B precision=int8", "1 per operand element; the scales are one"},
    {"a:u8[2,4], b:u8[3,4], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearMul(a, s, z, b, s, z, s, z)", "error: do not broadcast", "", "2 is not 3"},
    {"a:u8[B,4], b:u8[4], z:u8=1 -> y = com.microsoft.MulInteger(a, z, b, z)", "y:i32[B,4]", "arith=8*B+4 comparisons=0 written=16*B", "a sub per operand element, a mul"},
    {"a:u8[3], b:u8[4] -> y = com.microsoft.MulInteger(a, , b)", "error: do not broadcast", "", "3 is not 4"},
    {"c:bool[3,4], x:u8[B,1,4], w:u8[1], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearWhere(c, x, s, z, w, s, z, s, z)", "y:u8[B,3,4]", "arith=80*B+2 comparisons=48*B", "a selection, then 5"},
    {"c:bool[3,5], x:u8[B,1,4], w:u8[1], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearWhere(c, x, s, z, w, s, z, s, z)", "error: do not broadcast", "", "5 is not 4"},
    {"x:u8[2,N], w:u8[2,4], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearConcat(s, z, x, s, z, w, s, z) {axis=1}", "y:u8[2,N+4]", "arith=14*N+56 comparisons=6*N+24", "7 per element"},
    {"x:u8[3,4], w:u8[2,4], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearConcat(s, z, x, s, z, w, s, z) {axis=1}", "error: dims of the tensors", "", "3 is not 2"},
    {"x:u8[3,4], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearConcat(s, z, x, s) {axis=1}", "error: tensor, scale and zero point", "", "an incomplete triple"},
};

constexpr OpCase kUnary[] = {
    {"x:u8[N,4], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearLeakyRelu(x, s, z, s, z)", "y:u8[N,4]", "arith=36*N special=0 comparisons=16*N", "2 + 2 + 5 per element"},
    {"x:u8, s:f32=0.1 -> y = com.microsoft.QLinearLeakyRelu(x, s, , s)", "error: rank of input 0 is not known", "mark=unmodelled", "a rank that is not known"},
    {"x:u8[N,4], s:f32=0.1 -> y = com.microsoft.QLinearSigmoid(x, s, , s)", "y:u8[N,4]", "arith=20*N special=4*N comparisons=12*N", "no zero points"},
    {"x:u8, s:f32=0.1 -> y = com.microsoft.QLinearSigmoid(x, s, , s)", "error: rank of input 0 is not known", "", "a rank that is not known"},
    {"x:u8[N,4], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearSoftmax(x, s, z, s, z) {opset=13}", "y:u8[N,4]", "arith=44*N special=4*N comparisons=16*N", "2 + 4 + 5 and exp"},
    {"x:u8[N,4], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearSoftmax(x, s, z, s, z) {opset=13, axis=2}", "error: axis 2", "", "rank 2"},
    {"x:u8[N,8,3], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearReduceMean(x, s, z, s, z) {axes=[1], keepdims=1}", "y:u8[N,1,3]", "arith=87*N comparisons=9*N", "3 per element, 5 per mean"},
    {"x:u8[N,8,3], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearReduceMean(x, s, z, s, z) {axes=[1,-1], keepdims=0}", "y:u8[N]", "arith=77*N", "axes go"},
    {"x:u8[N,8,3], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearReduceMean(x, s, z, s, z) {axes=[3], keepdims=0}", "error: axis 3", "", "rank 3"},
    {"x:u8[N,8] -> y = com.microsoft.ReduceSumInteger(x) {axes=[1], keepdims=0}", "y:u32[N]", "arith=7*N", "unsigned"},
    {"x:i8[N,8] -> y = com.microsoft.ReduceSumInteger(x) {axes=[1], keepdims=1}", "y:i32[N,1]", "arith=7*N precision=int8", "signed"},
    {"x:i8[N,8] -> y = com.microsoft.ReduceSumInteger(x) {keepdims=1}", "error: axes is missing", "", "axes are needed"},
};

constexpr OpCase kFormats[] = {
    {"x:f32[N,4], s:f32=0.1, z:i16=1 -> y = com.microsoft.QuantizeLinear(x, s, z)", "y:i16[N,4]", "arith=20*N comparisons=12*N written=8*N", "16 bits"},
    {"x:f32[N,4], s:f32=0.1 -> y = com.microsoft.QuantizeLinear(x, s)", "y:u8[N,4]", "arith=16*N", "unsigned bytes by default"},
    {"x:f32[3,4], s:f32[2,2,4] -> y = com.microsoft.QuantizeLinear(x, s)", "error: scale has rank 3", "", "rank 1 at most"},
    {"x:u16[N,4], s:f16=0.1, z:u16=1 -> y = com.microsoft.DequantizeLinear(x, s, z)", "y:f16[N,4]", "arith=8*N precision=float16", "the scale's type"},
    {"x:u8[3,4], s:f32[2,2,4] -> y = com.microsoft.DequantizeLinear(x, s)", "error: scale has rank 3", "", "rank 1 at most"},
    {"x:f32[N,4] -> y, s, t = com.microsoft.QuantizeBFP(x) {bfp_type=0}", "y:u8[?], s:i64[2], t:i64[2]", "mark=unmodelled", "a block format of the provider"},
    {"x:f32 -> y = com.microsoft.QuantizeBFP(x) {bfp_type=0}", "error: rank of input 0", "", "a rank that is not known"},
    {"x:u8[100], s:i64[2]=[3,4], t:i64[2] -> y = com.microsoft.DequantizeBFP(x, s, t) {bfp_type=0, dtype=10}", "y:f16[3,4]", "mark=unmodelled", "the shape is a value"},
    {"x:u8[100], n:f32[N,4], t:i64[2] -> s = Shape(n); y = com.microsoft.DequantizeBFP(x, s, t) {bfp_type=0}", "y:f32[N,4]", "", "symbolic"},
    {"x:u8[100], s:i64[2], t:i64[2] -> y = com.microsoft.DequantizeBFP(x, s, t) {bfp_type=0}", "error: shape of the original", "", "a shape that is data"},
    {"x:f16[N,4], s:f32[] -> y = com.microsoft.QuantizeWithOrder(x, s) {order_input=1, order_output=2}", "y:i8[N,4]", "arith=16*N comparisons=12*N", "no zero point"},
    {"s:f32[] -> y = com.microsoft.QuantizeWithOrder(, s) {order_input=1, order_output=2}", "error: input 0 is missing", "", "nothing to quantise"},
    {"x:i8[N,4], s:f32[] -> y = com.microsoft.DequantizeWithOrder(x, s) {order_input=2, order_output=1, to=10}", "y:f16[N,4]", "arith=4*N precision=float16", "a scaling"},
    {"x:i8[N,4], s:f32[] -> y = com.microsoft.DequantizeWithOrder(x, s) {order_input=2, order_output=1, to=7}", "error: attribute to is 7", "", "no real type"},
    {"x:i8[N,4], s:f32[] -> y = com.microsoft.QOrderedGelu(x, s, s)", "y:i8[N,4]", "arith=36*N special=4*N comparisons=12*N precision=int8", "1 + 4 + 4 and erf"},
    {"x:i8, s:f32[] -> y = com.microsoft.QOrderedGelu(x, s, s)", "error: rank of input 0 is not known", "", "a rank that is not known"},
    {"x:i8[N,8], s:f32[], g:f16[8], b:f16[8] -> y = com.microsoft.QOrderedLayerNormalization(x, s, g, b, s)", "y:i8[N,8]", "arith=99*N special=N comparisons=24*N", "12 per element, 3 and a root per row"},
    {"x:i8[N,8], s:f32[], g:f16[8] -> y = com.microsoft.QOrderedLayerNormalization(x, s, g, , s) {axis=2}", "error: axis 2", "", "rank 2"},
};
// clang-format on

}  // namespace

TEST_CASE("com.microsoft quantised operators on several tensors") { check_cases(kPairs); }
TEST_CASE("com.microsoft quantised operators on one tensor") { check_cases(kUnary); }
TEST_CASE("com.microsoft quantisation formats") { check_cases(kFormats); }

}  // namespace pagoda::test
