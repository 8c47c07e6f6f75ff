// Element-wise operators on several tensors: broadcasting of every opset, work and folded values of every row.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kBroadcasting[] = {
    // graph, types, cost, why
    {"a:f32[N,1,4], b:f32[3,1] -> y = Add(a, b)",  "y:f32[N,3,4]", "arith=12*N read=16*N+12 written=48*N", "each operand is read once"},
    {"a:f32[N,4] -> y = Mul(a, a)",                "y:f32[N,4]", "arith=4*N read=16*N", "one tensor is read once"},
    {"a:f32[2,3], b:f32[4] -> y = Sub(a, b)",      "error: do not broadcast", "", "3 is not 4"},
    {"a:f32[2], b:i64[2] -> y = Sub(a, b)",        "error: float32 and int64", "", "one type"},
    {"a:f32[2] -> y = Sub(a)",                     "error: input 1 is missing", "", "two operands"},
    {"a:f32[2,3], b:f32 -> y = Div(a, b)",         "y:f32", "", "unknown rank"},
    {"a:f32[], b:f32[0,3] -> y = Div(a, b)",       "y:f32[0,3]", "arith=0", "nothing to do"},
    {"opset=6: a:f32[2,3,4,5], b:f32[3,4] -> y = Add(a, b) {broadcast=1, axis=1}", "y:f32[2,3,4,5]", "arith=120 read=528", "aligned by axis"},
    {"opset=6: a:f32[2,3], b:f32[1] -> y = Add(a, b) {broadcast=1}", "y:f32[2,3]", "arith=6", "aligned at the end"},
    {"opset=6: a:f32[2,3], b:f32[3] -> y = Add(a, b)", "error: B has rank 1", "", "broadcast is not set"},
    {"opset=6: a:f32[2,3], b:f32[2,4] -> y = Add(a, b)", "error: dims of A and B", "", "3 is not 4"},
    {"opset=6: a:f32[2,3,4], b:f32[4] -> y = Add(a, b) {broadcast=1, axis=1}", "error: dims of A and B", "", "3 is not 4"},
    {"opset=6: a:f32[2,3], b:f32[3] -> y = Add(a, b) {broadcast=1, axis=2}", "error: axis is 2", "", "beyond the rank"},
};

constexpr OpCase kArithmetic[] = {
    {"a:f32[N,4], b:f32[4] -> y = Add(a, b)",      "y:f32[N,4]", "arith=4*N comparisons=0", ""},
    {"a:f32[N,4], b:f32[4] -> y = Sub(a, b)",      "y:f32[N,4]", "arith=4*N", ""},
    {"a:f32[N,4], b:f32[4] -> y = Mul(a, b)",      "y:f32[N,4]", "arith=4*N", ""},
    {"a:f32[N,4], b:f32[4] -> y = Div(a, b)",      "y:f32[N,4]", "arith=4*N", ""},
    {"a:i64[N,4], b:i64[4] -> y = Mod(a, b)",      "y:i64[N,4]", "arith=4*N", ""},
    {"a:f32[2,3], b:f32[4] -> y = Mod(a, b)",      "error: do not broadcast", "", ""},
    {"a:f32[N,4], b:f32[4] -> y = Pow(a, b)",      "y:f32[N,4]", "special=4*N arith=0", "1 pow"},
    {"a:f32[N,4], e:i64[] -> y = Pow(a, e)",       "y:f32[N,4]", "special=4*N", "the base's type"},
    {"a:f32[N,4], e:f32=2.0 -> y = Pow(a, e)",     "y:f32[N,4]", "special=0 arith=4*N", "a square is a product"},
    {"a:f32[N,4], e:f32[1]=[0.5] -> y = Pow(a, e)", "y:f32[N,4]", "special=4*N arith=0", "a root"},
    {"a:f32[2,3], b:f32[4] -> y = Pow(a, b)",      "error: do not broadcast", "", ""},
    {"a:f32[N,4], b:f32[4], c:f32[N,1] -> y = Sum(a, b, c)", "y:f32[N,4]", "arith=8*N comparisons=0", "n − 1"},
    {"a:f32[N,4] -> y = Sum(a)",                   "y:f32[N,4]", "arith=0", "one operand"},
    {"a:f32[2,3], b:f32[4] -> y = Sum(a, b)",      "error: do not broadcast", "", ""},
    {"a:f32[N,4], b:f32[4], c:f32[N,1] -> y = Mean(a, b, c)", "y:f32[N,4]", "arith=12*N", "and a division"},
    {"a:f32[2,3], b:f32[4] -> y = Mean(a, b)",     "error: do not broadcast", "", ""},
    {"a:f32[N,4], b:f32[4], c:f32[N,1] -> y = Max(a, b, c)", "y:f32[N,4]", "arith=8*N comparisons=8*N", ""},
    {"a:f32[2,3], b:f32[4] -> y = Max(a, b)",      "error: do not broadcast", "", ""},
    {"a:f16[N,4], b:f16[4] -> y = Min(a, b)",      "y:f16[N,4]", "arith=4*N comparisons=4*N precision=float16", ""},
    {"a:f32[2,3], b:f32[4] -> y = Min(a, b)",      "error: do not broadcast", "", ""},
    {"x:f32[N,8,H], s:f32[8,1] -> y = PRelu(x, s)", "y:f32[N,8,H]", "arith=16*N*H comparisons=8*N*H", "comparison, product"},
    {"opset=6: x:f32[N,8,H], s:f32[8] -> y = PRelu(x, s)", "y:f32[N,8,H]", "arith=16*N*H", "one slope a channel"},
    {"x:f32[8,1], s:f32[8,5] -> y = PRelu(x, s)",  "error: the slope does not broadcast", "", "one way only"},
    {"x:f32[5], s:f32[8,5] -> y = PRelu(x, s)",    "error: the slope has more axes", "", "one way only"},
};

constexpr OpCase kLogic[] = {
    {"a:bool[N,4], b:bool[4] -> y = And(a, b)",    "y:bool[N,4]", "arith=4*N comparisons=4*N read=4*N+4 written=4*N", ""},
    {"a:bool[N,4], b:bool[4] -> y = Or(a, b)",     "y:bool[N,4]", "arith=4*N comparisons=4*N", ""},
    {"a:bool[N,4], b:bool[4] -> y = Xor(a, b)",    "y:bool[N,4]", "arith=4*N comparisons=4*N", ""},
    {"a:bool[2,3], b:bool[4] -> y = And(a, b)",    "error: do not broadcast", "", ""},
    {"a:bool[2,3], b:bool[4] -> y = Or(a, b)",     "error: do not broadcast", "", ""},
    {"a:bool[2,3], b:bool[4] -> y = Xor(a, b)",    "error: do not broadcast", "", ""},
    {"a:f32[N,4], b:f32[4] -> y = Equal(a, b)",    "y:bool[N,4]", "arith=4*N comparisons=4*N written=4*N precision=float32", ""},
    {"a:f32[2], b:i64[2] -> y = Equal(a, b)",      "error: float32 and int64", "", "one type"},
    {"a:f32[N,4], b:f32[4] -> y = Greater(a, b)",  "y:bool[N,4]", "comparisons=4*N", ""},
    {"a:f32[2,3], b:f32[4] -> y = Greater(a, b)",  "error: do not broadcast", "", ""},
    {"a:f32[N,4], b:f32[4] -> y = GreaterOrEqual(a, b)", "y:bool[N,4]", "comparisons=4*N", ""},
    {"a:f32[2,3], b:f32[4] -> y = GreaterOrEqual(a, b)", "error: do not broadcast", "", ""},
    {"opset=1: a:f32[N,4], b:f32[4] -> y = Less(a, b) {broadcast=1}", "y:bool[N,4]", "comparisons=4*N", ""},
    {"a:f32[2,3], b:f32[4] -> y = Less(a, b)",     "error: do not broadcast", "", ""},
    {"a:f32[N,4], b:f32[4] -> y = LessOrEqual(a, b)", "y:bool[N,4]", "comparisons=4*N", ""},
    {"a:f32[2,3], b:f32[4] -> y = LessOrEqual(a, b)", "error: do not broadcast", "", ""},
    {"a:u8[N,4], b:u8[4] -> y = BitShift(a, b) {direction='LEFT'}", "y:u8[N,4]", "arith=4*N comparisons=4*N", ""},
    {"a:u8[2,3], b:u8[4] -> y = BitShift(a, b)",   "error: do not broadcast", "", ""},
    {"a:i32[N,4], b:i32[4] -> y = BitwiseAnd(a, b)", "y:i32[N,4]", "arith=4*N", ""},
    {"a:i32[N,4], b:i32[4] -> y = BitwiseOr(a, b)", "y:i32[N,4]", "arith=4*N", ""},
    {"a:i32[N,4], b:i32[4] -> y = BitwiseXor(a, b)", "y:i32[N,4]", "arith=4*N", ""},
    {"a:i32[2,3], b:i32[4] -> y = BitwiseAnd(a, b)", "error: do not broadcast", "", ""},
    {"a:i32[2,3], b:i32[4] -> y = BitwiseOr(a, b)", "error: do not broadcast", "", ""},
    {"a:i32[2,3], b:i32[4] -> y = BitwiseXor(a, b)", "error: do not broadcast", "", ""},
    {"c:bool[N,1], a:f16[4], b:f16[] -> y = Where(c, a, b)", "y:f16[N,4]", "arith=4*N comparisons=4*N read=N+10 written=8*N precision=float16", "1 selection"},
    {"c:bool[2], a:f32[2], b:i64[2] -> y = Where(c, a, b)", "error: float32 and int64", "", "one type"},
};

constexpr OpCase kElementwiseFolds[] = {
    {"x:f32[N,6], c:i64[2]=[1,-4] -> s = Shape(x); y = Add(s, c)",   "y=[N+1,2]", "mark=host", ""},
    {"x:f32[N,6], c:i64[2]=[1,10] -> s = Shape(x); y = Sub(s, c)",   "y=[N-1,-4]", "", ""},
    {"x:f32[N,6] -> s = Shape(x); y = Mul(s, s)",                    "y=[N*N,36]", "", ""},
    {"x:f32[N,7], c:i64=2 -> s = Shape(x); y = Div(s, c)",           "y=[floor_div(N,2),3]", "", "a size is not negative"},
    {"x:f32[8*N,7], c:i64[2]=[4,-2] -> s = Shape(x); y = Div(s, c)", "y=[2*N,-3]", "", "toward zero"},
    {"x:f32[N,7], one:i64=1, two:i64=2 -> s = Shape(x); m = Sub(s, one); y = Div(m, two)",
     "y=[floor_div(max(0,N-1),2)-floor_div(max(0,1-N),2),3]", "", "toward zero for every N"},
    {"c:i64[4]=[7,-7,7,-7], d:i64[4]=[2,2,-2,-2] -> y = Div(c, d); z = Mod(c, d); w = Mod(c, d) {fmod=1}",
     "y=[3,-3,-3,3], z=[1,1,-1,-1], w=[1,-1,1,-1]", "", "signs of quotient and remainder"},
    {"c:i64=7, d:i64=0 -> y = Div(c, d)", "y=none", "", "no division by zero"},
    {"x:f32[N,7], c:i64=4 -> s = Shape(x); y = Mod(s, c)",           "y=[N-4*floor_div(N,4),3]", "", ""},
    {"x:f32[N,7] -> s = Shape(x); e:i64 = Constant() {value_int=2}; y = Pow(s, e)", "y=[N*N,49]", "", ""},
    {"x:f32[N,7], c:i64=5 -> s = Shape(x); y = Max(s, c); z = Min(s, c)", "y=[max(5,N),7], z=[min(5,N),5]", "", ""},
    {"x:f32[N,7] -> s = Shape(x); y = Sum(s, s, s)",                 "y=[3*N,21]", "", ""},
    {"c:f32[2]=[1,2], d:f32[2]=[2,4] -> y = Mean(c, d)",             "y=[1.5,3]", "", ""},
    {"x:f32[N,7], c:i64=-1 -> s = Shape(x); y = Equal(s, c)",        "y=[false,false]", "", "a size is never −1"},
    {"x:f32[N,7], c:i64=7 -> s = Shape(x); y = Equal(s, c)",         "y=[-min(1, max(-N + 7, N - 7)) + 1,true]", "", "it may be 7"},
    {"x:f32[N,7], c:i64=0 -> s = Shape(x); y = Less(s, c); z = GreaterOrEqual(s, c)", "y=[false,false], z=[true,true]", "", "a size is ≥ 0"},
    {"x:f32[N,7], c:i64=3 -> s = Shape(x); y = Greater(s, c); z = LessOrEqual(s, c)", "y=[min(1, max(0, N - 3)),true], z=[1 - min(1, max(0, N - 3)),false]", "", "depends on N"},
    {"x:f32[N,7], c:i64=0, t:bool=true -> s = Shape(x); l = Less(s, c); y = And(l, t); z = Or(l, t); w = Xor(l, t); v = Not(l)",
     "y=[false,false], z=[true,true], w=[true,true], v=[true,true]", "", ""},
    {"x:f32[N,7], c:i64=3, f:bool=false -> s = Shape(x); g = Greater(s, c); y = And(g, f); z = Or(g, f)",
     "y=[false,false], z=[min(1, max(0, N - 3)),true]", "", "false decides alone"},
    {"x:f32[N,7], t:i64[2]=[-1,5], m:i64=-1 -> s = Shape(x); q = Equal(t, m); y = Where(q, s, t)", "y=[N,5]", "", "Expand as torch exports it"},
    {"x:f32[N,7], c:i64=3 -> s = Shape(x); g = Greater(s, c); y = Where(g, s, s)", "y=[N,7]", "", "both branches agree"},
    {"x:f32[N,7], c:i64=3 -> s = Shape(x); g = Greater(s, c); y = Where(g, s, c)", "y=[?,7]", "", ""},
    {"x:f32[N,7], c:f32=2.0 -> s = Shape(x); f = Cast(s) {to=f32}; y = Div(f, c); z = Div(f, f)", "y=[N/2,3.5], z=[1,1]", "", "quotients of sizes"},
    {"x:f32[N,7], i:i64[1] -> s = Shape(x); y = Add(s, i)",          "y=none", "", "unknown stays unknown"},
    {"x:f32[N,7], i:i64[1], k:i64[2]=[0,2] -> s = Shape(x); c = Concat(i, i) {axis=0}; p = Mul(k, c)", "p=[0,?]", "", "0 times anything"},
    {"opset=6: x:f32[2,3], c:i64[1]=[2] -> s = Shape(x); y = Mul(s, c) {broadcast=1}", "y=[4,6]", "", "old broadcasting of one element"},
};
// clang-format on

TEST_CASE("shapes broadcast as each opset says") { check_cases(kBroadcasting); }
TEST_CASE("arithmetic costs one operation per output element and join") { check_cases(kArithmetic); }
TEST_CASE("comparisons and logic cost comparisons") { check_cases(kLogic); }
TEST_CASE("known elements are computed, also where they are formulas") { check_cases(kElementwiseFolds); }

}  // namespace
}  // namespace pagoda::test
