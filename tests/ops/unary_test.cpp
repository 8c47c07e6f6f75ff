// Unary element-wise operators: types, work and folded values of every row.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kOneSpecial[] = {
    // graph, types, cost, why
    {"x:f32[N,3] -> y = Acos(x)",    "y:f32[N,3]", "special=3*N arith=0 read=12*N written=12*N", "1 / element"},
    {"x:f32[N,3] -> y = Acosh(x)",   "y:f32[N,3]", "special=3*N arith=0", ""},
    {"x:f16[N,3] -> y = Asin(x)",    "y:f16[N,3]", "special=3*N arith=0 read=6*N precision=float16", "the input's type"},
    {"x:f32[N,3] -> y = Asinh(x)",   "y:f32[N,3]", "special=3*N arith=0", ""},
    {"x:f32[N,3] -> y = Atan(x)",    "y:f32[N,3]", "special=3*N arith=0", ""},
    {"x:f32[N,3] -> y = Atanh(x)",   "y:f32[N,3]", "special=3*N arith=0", ""},
    {"x:f32[N,3] -> y = Cos(x)",     "y:f32[N,3]", "special=3*N arith=0", ""},
    {"x:f32[N,3] -> y = Cosh(x)",    "y:f32[N,3]", "special=3*N arith=0", ""},
    {"x:f32[N,3] -> y = Erf(x)",     "y:f32[N,3]", "special=3*N arith=0", ""},
    {"x:f32[N,3] -> y = Exp(x)",     "y:f32[N,3]", "special=3*N arith=0", ""},
    {"x:f32[N,3] -> y = Log(x)",     "y:f32[N,3]", "special=3*N arith=0", ""},
    {"x:f32[N,3] -> y = Sigmoid(x)", "y:f32[N,3]", "special=3*N arith=0", ""},
    {"x:f32[N,3] -> y = Sin(x)",     "y:f32[N,3]", "special=3*N arith=0", ""},
    {"x:f32[N,3] -> y = Sinh(x)",    "y:f32[N,3]", "special=3*N arith=0", ""},
    {"x:f32[N,3] -> y = Sqrt(x)",    "y:f32[N,3]", "special=3*N arith=0", ""},
    {"x:f32[N,3] -> y = Tan(x)",     "y:f32[N,3]", "special=3*N arith=0", ""},
    {"x:f32[] -> y = Tanh(x)",       "y:f32[]",    "special=1 arith=0 read=4 written=4", "a scalar is one element"},
    {"x:f32 -> y = Tanh(x)",         "y:f32",      "mark=unmodelled", "no rank, no count"},
    {"-> y = Tanh()",                "error: input 0 is missing", "", "mandatory"},
};

constexpr OpCase kActivations[] = {
    {"x:f32[10] -> y = Relu(x)",            "y:f32[10]", "arith=10 comparisons=10 special=0", "1 comparison"},
    {"x:f32[10] -> y = LeakyRelu(x) {alpha=0.1}", "y:f32[10]", "arith=20 comparisons=10", "comparison, product"},
    {"x:f32[10] -> y = ThresholdedRelu(x)", "y:f32[10]", "arith=10 comparisons=10", "1 comparison"},
    {"x:f32[10] -> y = Elu(x)",             "y:f32[10]", "special=10 arith=20 comparisons=10", "exp, comparison, −1"},
    {"x:f32[10] -> y = Elu(x) {alpha=0.5}", "y:f32[10]", "special=10 arith=30 comparisons=10", "and a product"},
    {"x:f32[10] -> y = Celu(x)",            "y:f32[10]", "special=10 arith=20 comparisons=10", "as Elu"},
    {"x:f32[10] -> y = Celu(x) {alpha=2.0}", "y:f32[10]", "special=10 arith=40 comparisons=10", "and x / alpha, · alpha"},
    {"x:f32[10] -> y = Selu(x)",            "y:f32[10]", "special=10 arith=40 comparisons=10", ""},
    {"x:f32[10] -> y = Gelu(x)",            "y:f32[10]", "special=10 arith=40 comparisons=0", "1 erf, 3 mul, 1 add"},
    {"x:f32[10] -> y = Gelu(x) {approximate='tanh'}", "y:f32[10]", "special=10 arith=80", "1 tanh, 6 mul, 2 add"},
    {"x:f32[10] -> y = Gelu(x) {approximate='fast'}", "error: approximate is 'fast'", "", "no such form"},
    {"opset=24: x:f32[10] -> y = Swish(x)", "y:f32[10]", "special=10 arith=10", "sigmoid, product"},
    {"opset=24: x:f32[10] -> y = Swish(x) {alpha=1.5}", "y:f32[10]", "special=10 arith=20", "and · alpha"},
    {"opset=28: a:f32[N,4], b:f32[N,4] -> y = SwiGLU(a, b)", "y:f32[N,4]", "special=4*N arith=8*N read=32*N", "swish · b"},
    {"opset=28: a:f32[N,4], b:f32[N,4] -> y = SwiGLU(a, b) {alpha=2.0}", "y:f32[N,4]", "special=4*N arith=12*N", "and · alpha"},
    {"opset=28: a:f32[2,4], b:f32[1,4] -> y = SwiGLU(a, b)", "error: dims of A and B", "", "nothing broadcasts"},
    {"x:f32[10] -> y = Mish(x)",            "y:f32[10]", "special=30 arith=20", "exp, log, tanh; 1 +, x ·"},
    {"x:f32[10] -> y = HardSigmoid(x)",     "y:f32[10]", "arith=40 comparisons=20 special=0", "mul, add, min, max"},
    {"x:f32[10] -> y = HardSwish(x)",       "y:f32[10]", "arith=50 comparisons=20 special=0", "and x ·"},
    {"x:f32[10] -> y = Softplus(x)",        "y:f32[10]", "special=20 arith=10", "log(1 + exp(x))"},
    {"x:f32[10] -> y = Softsign(x)",        "y:f32[10]", "arith=30 comparisons=10", "x / (1 + |x|)"},
    {"x:f32[10] -> y = Shrink(x)",          "y:f32[10]", "arith=30 comparisons=20", "two tests, one shift"},
    {"x:f32[10] -> y = Clip(x)",            "y:f32[10]", "arith=0", "no bound"},
    {"x:f32[10], lo:f32=0.0 -> y = Clip(x, lo)", "y:f32[10]", "arith=10 comparisons=10", "a lower bound"},
    {"x:f32[10], hi:f32=6.0 -> y = Clip(x, , hi)", "y:f32[10]", "arith=10", "an upper bound"},
    {"x:f32[10], lo:f32=0.0, hi:f32=6.0 -> y = Clip(x, lo, hi)", "y:f32[10]", "arith=20 comparisons=20", "both"},
    {"opset=6: x:f32[10] -> y = Clip(x) {min=0.0, max=6.0}", "y:f32[10]", "arith=20 comparisons=20", "bounds were attributes"},
    {"opset=6: x:f32[10] -> y = Clip(x) {max=6.0}", "y:f32[10]", "arith=10", "one attribute"},
};

constexpr OpCase kRounding[] = {
    {"x:f32[10] -> y = Abs(x)",        "y:f32[10]", "arith=10 comparisons=10", "no floating-point operation"},
    {"x:f32[10] -> y = Neg(x)",        "y:f32[10]", "arith=10 comparisons=0", ""},
    {"x:f32[10] -> y = Ceil(x)",       "y:f32[10]", "arith=10 comparisons=10", ""},
    {"x:f32[10] -> y = Floor(x)",      "y:f32[10]", "arith=10 comparisons=10", ""},
    {"x:f32[10] -> y = Round(x)",      "y:f32[10]", "arith=10 comparisons=10", ""},
    {"x:f32[10] -> y = Sign(x)",       "y:f32[10]", "arith=20 comparisons=20", "(x > 0) − (x < 0)"},
    {"x:f32[10] -> y = Reciprocal(x)", "y:f32[10]", "arith=10 comparisons=0", "1 / x"},
    {"x:bool[10] -> y = Not(x)",       "y:bool[10]", "arith=10 comparisons=10 read=10 written=10", ""},
    {"x:u8[10] -> y = BitwiseNot(x)",  "y:u8[10]", "arith=10 comparisons=10 read=10", ""},
    {"x:f32[N,2] -> y = IsNaN(x)",     "y:bool[N,2]", "arith=2*N comparisons=2*N read=8*N written=2*N", "bools are bytes"},
    {"x:f32[N,2] -> y = IsInf(x)",     "y:bool[N,2]", "arith=2*N comparisons=2*N", ""},
};

constexpr OpCase kConversions[] = {
    {"x:f32[N,2] -> y = Cast(x) {to=f16}",       "y:f16[N,2]", "arith=0 read=8*N written=4*N", "moves bytes only"},
    {"x:f32[N,2] -> y = Cast(x) {to=i4}",        "y:i4[N,2]",  "written=N", "two to a byte"},
    {"x:f32 -> y = Cast(x) {to=bool}",           "y:bool",     "", "of unknown rank"},
    {"opset=1: x:f32[2] -> y = Cast(x) {to='DOUBLE'}", "y:f64[2]", "written=16", "the type was a name"},
    {"opset=1: x:f32[2] -> y = Cast(x) {to='REAL'}", "error: attribute to is 'REAL'", "", "no such name"},
    {"x:f32[2] -> y = Cast(x)",                  "error: attribute to is missing", "", "mandatory"},
    {"x:f32[2] -> y = Cast(x) {to=99}",          "error: not a known element type", "", "beyond the known types"},
    {"x:f32[2], t:f16[7] -> y = CastLike(x, t)", "y:f16[2]",   "read=8 written=4", "the second input is not read"},
    {"opset=26: x:f32[N,2] -> y = BitCast(x) {to=i32}", "y:i32[N,2]", "mark=view read=0 written=0", "the same bytes"},
    {"opset=26: x:f32[2] -> y = BitCast(x) {to=i64}", "error: has no bits of int64", "", "widths differ"},
};

constexpr OpCase kUnaryFolds[] = {
    {"x:f32[N,3] -> s = Shape(x); y = Neg(s)",   "y=[-N,-3]", "mark=host", "symbolic"},
    {"x:f32[N,3] -> s = Shape(x); n = Neg(s); y = Abs(n)", "y=[N,3]", "", "the sign of a size is known"},
    {"x:f32[N,3] -> s = Shape(x); y = Sign(s)",  "y=[?,1]", "", "a size may be 0"},
    {"x:f32[N,3] -> s = Shape(x); f = Cast(s) {to=f32}", "f=[N/1,3.0]", "", "a size as a real"},
    {"x:f32[N,3] -> s = Shape(x); b = Cast(s) {to=bool}", "b=[min(1, N),true]", "", "0 or not"},
    {"x:f32[N,3], k:f32=0.5 -> s = Shape(x); f = Cast(s) {to=f32}; h = Mul(f, k); d = Floor(h); y = Cast(d) {to=i64}",
     "h=[N/2,1.5], y=[floor_div(N,2),1]", "", "resize chains stay exact"},
    {"x:f32[N,3], k:f32=0.5 -> s = Shape(x); f = Cast(s) {to=f32}; h = Mul(f, k); d = Ceil(h); y = Cast(d) {to=i64}",
     "y=[floor_div(N+1,2),2]", "", "rounded up"},
    {"x:f32[N,3], k:f32=1.5 -> s = Shape(x); f = Cast(s) {to=f32}; h = Mul(f, k); y = Cast(h) {to=i64}",
     "y=[floor_div(3*N,2),4]", "", "a cast truncates"},
    {"x:f32[N,3], k:f32=0.7 -> s = Shape(x); f = Cast(s) {to=f32}; h = Mul(f, k); d = Floor(h); y = Cast(d) {to=i64}",
     "y=[?,2]", "", "0.7 is rounded in float32: the product is not exact"},
    {"x:f32[N,3], k:f32=3.0 -> s = Shape(x); f = Cast(s) {to=f32}; h = Div(f, k); r = Round(h); y = Cast(r) {to=i64}",
     "y=[floor_div(2*N+3,6),1]", "", "thirds have no halves"},
    {"c:f32[4]=[0.5,1.5,2.5,-0.5] -> y = Round(c)", "y=[0,2,2,0]", "mark=folded", "half to even"},
    {"c:f32[2]=[4,2] -> y = Sqrt(c); z = Reciprocal(c)", "z=[0.25,0.5]", "", ""},
    {"c:f32[3]=[-1.5,2.5,9] -> y = Cast(c) {to=i64}", "y=[-1,2,9]", "", "truncated"},
    {"c:i64[2]=[300,7] -> y = Cast(c) {to=u8}", "y=[?,7]", "", "what does not fit is not guessed"},
    {"x:f32[N], lo:i64=1, hi:i64=100 -> s = Shape(x); y = Clip(s, lo, hi)", "y=[min(100,max(1,N))]", "", "bounds on a size"},
    {"c:bool[2]=[true,false] -> y = Not(c)", "y=[false,true]", "", ""},
};
// clang-format on

TEST_CASE("mathematical functions cost one special evaluation an element") { check_cases(kOneSpecial); }
TEST_CASE("activations cost what their formula holds") { check_cases(kActivations); }
TEST_CASE("rounding, signs and tests cost comparisons") { check_cases(kRounding); }
TEST_CASE("conversions move bytes at their widths") { check_cases(kConversions); }
TEST_CASE("known elements are folded exactly or not at all") { check_cases(kUnaryFolds); }

}  // namespace
}  // namespace pagoda::test
