// com.microsoft matrix products and recurrent layers in 8-bit integers.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kProducts[] = {
    // graph, types, cost, why
    {"a:u8[B,3,4], b:u8[4,5], s:f32=0.1, z:u8=1, c:f32[5] -> y = com.microsoft.MatMulIntegerToFloat(a, b, s, s, z, z, c)",
     "y:f32[B,3,5]", "macs=60*B arith=42*B+21 comparisons=0 read=12*B+20+5+20 written=60*B precision=int8", "zero points, a combined scale, scale and bias per element"},
    {"a:i8[3,4], b:i8[4,5], s:f16=0.1, t:f16[5] -> y = com.microsoft.MatMulIntegerToFloat(a, b, s, t)", "y:f16[3,5]", "macs=60 arith=20", "a scale per column, nothing else"},
    {"a:u8[3,4], b:u8[5,5], s:f32=0.1 -> y = com.microsoft.MatMulIntegerToFloat(a, b, s, s)", "error: inner dims", "", "4 is not 5"},
    {"a:f32[B,3,4], b:u8[4,5], s:f32=0.1, z:u8=1, c:f32[5] -> y = com.microsoft.DynamicQuantizeMatMul(a, b, s, z, c)",
     "y:f32[B,3,5]", "macs=60*B arith=126*B+30 comparisons=60*B+5 precision=int8", "A is quantised on the way: 7 and its zero point per element, 9 once"},
    {"a:f32[3,4], b:u8[5,5], s:f32=0.1 -> y = com.microsoft.DynamicQuantizeMatMul(a, b, s)", "error: inner dims", "", "4 is not 5"},
    {"a:i16[M,4], b:i16[4,5] -> y = com.microsoft.MatMulInteger16(a, b)", "y:i32[M,5]", "macs=20*M arith=0 precision=int16", "nothing but products"},
    {"a:u16[3,4], b:u16[4,5] -> y = com.microsoft.MatMulInteger16(a, b)", "y:u32[3,5]", "macs=60", "unsigned"},
    {"a:i16[3,4], b:i16[5,5] -> y = com.microsoft.MatMulInteger16(a, b)", "error: inner dims", "", "4 is not 5"},
    {"a:u8[M,4], b:u8[4,5], s:f32=0.1, z:u8=1, c:i32[5] -> y = com.microsoft.QGemm(a, s, z, b, s, z, c, s, z)", "y:u8[M,5]", "macs=20*M arith=34*M+22 comparisons=15*M precision=int8", "C, and a quantised output"},
    {"a:u8[M,4], b:i8[5,4], s:f32=0.1, z:u8=1, t:f32[5], w:i8[5] -> y = com.microsoft.QGemm(a, s, z, b, t, w) {transB=1, alpha=0.5}", "y:f32[M,5]", "macs=20*M arith=9*M+30", "scales per column, alpha, a real output"},
    {"a:u8[3,4], b:u8[5,6], s:f32=0.1, z:u8=1 -> y = com.microsoft.QGemm(a, s, z, b, s, z)", "error: inner dims", "", "4 is not 5"},
    {"a:i8[B,3,4], b:i8[4,5], s:f32[], c:f32[5], d:i8[B,3,5] -> y = com.microsoft.QOrderedMatMul(a, s, b, s, s, c, d, s) {order_A=1, order_B=0, order_Y=1}", "y:i8[B,3,5]", "macs=60*B arith=105*B+2 comparisons=45*B precision=int8", "7 per element with bias and C"},
    {"a:i8[3,4], b:i8[5,5], s:f32[] -> y = com.microsoft.QOrderedMatMul(a, s, b, s, s) {order_A=1, order_B=0, order_Y=1}", "error: inner dims", "", "4 is not 5"},
};

// Steps of 2·4 cells, as in the cases of LSTM.
constexpr OpCase kRecurrent[] = {
    {"x:f32[5,2,3], w:u8[1,3,16], r:u8[1,4,16], s:f32[1]=[0.1], z:u8[1]=[1] -> y, h, c = com.microsoft.DynamicQuantizeLSTM(x, w, r, , , , , , s, z, s, z) {hidden_size=4}",
     "y:f32[5,1,2,4], h:f32[1,2,4], c:f32[1,2,4]", "macs=1120 arith=219+325+182+320+160 special=200 comparisons=380 precision=int8", "X and every state quantised, zero points, scales, cells"},
    {"x:f32[S,B,3], w:i8[2,3,16], r:i8[2,4,16], b:f32[2,32], s:f32[2], z:i8[2] -> y, h, c = com.microsoft.DynamicQuantizeLSTM(x, w, r, b, , , , , s, z, s, z) {direction='bidirectional'}",
     "y:f32[S,2,B,4], h:f32[2,B,4], c:f32[2,B,4]", "macs=224*S*B special=40*S*B", "both directions, symbolic"},
    {"x:f32[5,2,4], w:u8[1,3,16], r:u8[1,4,16], s:f32[1], z:u8[1] -> y = com.microsoft.DynamicQuantizeLSTM(x, w, r, , , , , , s, z, s, z)", "error: input size", "", "4 is not 3"},
    {"x:f32[5,2,3], w:u8[1,3,12], r:u8[1,4,16], s:f32[1], z:u8[1] -> y = com.microsoft.DynamicQuantizeLSTM(x, w, r, , , , , , s, z, s, z)", "error: hidden size of W", "", "four gates"},
    {"x:f32[5,2,3], w:f32[1,16,9], r:f32[1,16,4], b:f32[1,32], q:f32[1,4,7], m:f32[1,6,7], v:f32[1,7], e:f32[2,9,6], n:i32[2] -> y, h, c = com.microsoft.AttnLSTM(x, w, r, b, , , , , q, m, v, e, n) {hidden_size=4}",
     "y:f32[5,1,2,4], h:f32[1,2,4], c:f32[1,2,4]", "macs=756+2360+1170 arith=1326 special=920", "keys once; gates, query, scores and context per step"},
    {"x:f32[S,B,3], w:f32[1,16,8], r:f32[1,16,4], q:f32[1,4,7], m:f32[1,6,7], v:f32[1,7], e:f32[B,T,6], n:i32[B], a:f32[1,10,5] -> y = com.microsoft.AttnLSTM(x, w, r, , , , , , q, m, v, e, n, a)",
     "y:f32[S,1,B,4]", "macs=42*B*T+S*B*192+28*S*B+13*S*B*T+50*S*B", "an attention layer of 10 to 5"},
    {"x:f32[5,3], w:f32[1,16,9], r:f32[1,16,4] -> y = com.microsoft.AttnLSTM(x, w, r)", "error: rank 2", "", "no batch"},
};
// clang-format on

}  // namespace

TEST_CASE("com.microsoft products in integers") { check_cases(kProducts); }
TEST_CASE("com.microsoft recurrent layers") { check_cases(kRecurrent); }

}  // namespace pagoda::test
