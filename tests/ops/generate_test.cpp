// Tensors generated from attributes, shapes and random numbers.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kConstant[] = {
    // graph, types, cost, why
    {"-> y = Constant() {value=f32[2]=[0.5,2]}", "y:f32[2]=[0.5,2]", "mark=folded read=0 written=0", "a tensor"},
    {"-> y = Constant() {value_int=7}", "y:i64[]=7", "", "an integer"},
    {"-> y = Constant() {value_ints=[7,8]}", "y:i64[2]=[7,8]", "", "a list"},
    {"-> y = Constant() {value_ints=[]}", "y:i64[0]", "", "an empty list"},
    {"-> y = Constant() {value_float=0.5}", "y:f32[]=0.5", "", "a real"},
    {"-> y = Constant() {value_floats=[0.5,1.5]}", "y:f32[2]=[0.5,1.5]", "", ""},
    {"-> y = Constant() {value_string='a'}", "y:str[]", "", "a string"},
    {"-> y = Constant() {value_strings=['a','b']}", "y:str[2]", "", ""},
    {"-> y = Constant()", "error: no attribute gives the value", "", ""},
};

constexpr OpCase kFilled[] = {
    {"x:f32[N,3] -> s = Shape(x); y = ConstantOfShape(s)", "y:f32[N,3]", "arith=0 read=0 written=12*N", "zeros of float32"},
    {"x:f32[N,3] -> s = Shape(x); y = ConstantOfShape(s) {value=i64[1]=[1]}", "y:i64[N,3]", "written=24*N precision=int64", ""},
    {"s:i64=[2,2] -> y = ConstantOfShape(s) {value=i64[1]=[-1]}", "y:i64[2,2]=[-1,-1,-1,-1]", "mark=folded", "a known value"},
    {"s:i64[0]=[] -> y = ConstantOfShape(s)", "y:f32[]=0", "", "no sizes: a scalar"},
    {"s:i64[2] -> y = ConstantOfShape(s)", "y:f32[?,?]", "", "sizes from data"},
    {"s:i64=[-2] -> y = ConstantOfShape(s)", "error: a size of -2", "", ""},
    {"x:f32[N,M] -> y = EyeLike(x)", "y:f32[N,M]", "arith=0 read=0 written=4*N*M", "the input is only a shape"},
    {"x:f32[N,M] -> y = EyeLike(x) {dtype=bool}", "y:bool[N,M]", "written=N*M", ""},
    {"x:f32[N] -> y = EyeLike(x)", "error: rank 1", "", "matrices"},
};

constexpr OpCase kRange[] = {
    {"a:i64=2, b:i64=9, d:i64=3 -> y = Range(a, b, d)", "y:i64[3]=[2,5,8]", "mark=folded", ""},
    {"a:i64=5, b:i64=-1, d:i64=-2 -> y = Range(a, b, d)", "y:i64[3]=[5,3,1]", "", "backward"},
    {"a:i64=5, b:i64=2, d:i64=1 -> y = Range(a, b, d)", "y:i64[0]", "", "nothing between"},
    {"a:f32=1.0, b:f32=2.0, d:f32=0.3 -> y = Range(a, b, d)", "y:f32[4]", "", "real steps"},
    {"x:f32[N,S], a:i64=0, d:i64=1, i:i64=1 -> s = Shape(x); b = Gather(s, i); y = Range(a, b, d)", "y:i64[S]", "arith=2*S read=0 written=8*S", "positions of a sequence"},
    {"x:f32[N,S], k:f32[N,P], d:i64=1, i:i64=1 -> s = Shape(x); b = Gather(s, i); p = Shape(k); a = Gather(p, i); e = Add(a, b); y = Range(a, e, d)", "y:i64[S]", "", "the past cancels"},
    {"x:f32[N,2], i:i64=0, d:i64=1 -> s = Shape(x); a = Gather(s, i); e = Add(a, d); y = Range(a, e, d)", "y:i64[1]=[N]", "", "one position"},
    {"x:f32[N], z:f32=0.0, d:f32=1.0, i:i64=0 -> s = Shape(x); b = Gather(s, i); f = Cast(b) {to=f32}; y = Range(z, f, d)", "y:f32[N]", "", "as reals"},
    {"a:i64=0, b:i64[], d:i64=1 -> y = Range(a, b, d)", "y:i64[?]", "", "a bound from data"},
    {"a:i64=0, b:i64=3, d:i64=0 -> y = Range(a, b, d)", "error: a step of 0", "", ""},
};

constexpr OpCase kRandom[] = {
    {"-> y = RandomNormal() {shape=[2,3]}", "y:f32[2,3]", "special=12 arith=12 read=0 written=24 mark=compute", "Box-Muller, scale and shift"},
    {"-> y = RandomNormal() {shape=[2,3], dtype=f16}", "y:f16[2,3]", "written=12", ""},
    {"-> y = RandomNormal()", "error: attribute shape is missing", "", ""},
    {"-> y = RandomUniform() {shape=[2,3]}", "y:f32[2,3]", "special=0 arith=12", ""},
    {"-> y = RandomUniform() {shape=[-2,3]}", "error: a size of -2", "", ""},
    {"x:f16[N,3] -> y = RandomNormalLike(x)", "y:f16[N,3]", "special=6*N arith=6*N read=0 written=6*N", "the input is only a type"},
    {"x:f16[N,3] -> y = RandomUniformLike(x) {dtype=f32}", "y:f32[N,3]", "arith=6*N", ""},
    {"x:i64[N,3] -> y = RandomUniformLike(x) {dtype=77}", "error: not a known element type", "", ""},
    {"x:i64[N,3] -> y = RandomNormalLike(x) {dtype=77}", "error: not a known element type", "", ""},
    {"x:f32[N,3] -> y = Bernoulli(x)", "y:f32[N,3]", "arith=3*N comparisons=3*N read=12*N", ""},
    {"x:f32[N,3] -> y = Bernoulli(x) {dtype=bool}", "y:bool[N,3]", "written=3*N", ""},
    {"x:f32[N,3] -> y = Bernoulli(x) {dtype=77}", "error: not a known element type", "", ""},
    {"x:f32[N,10] -> y = Multinomial(x) {sample_size=4}", "y:i32[N,4]", "special=10*N arith=50*N comparisons=40*N", "exponentials, sums, searches"},
    {"x:f32[10] -> y = Multinomial(x)", "error: rank 1", "", ""},
};
// clang-format on

TEST_CASE("a constant has the type and value of its attribute") { check_cases(kConstant); }
TEST_CASE("filled tensors are written and nothing is read") { check_cases(kFilled); }
TEST_CASE("a range has the length that its bounds give") { check_cases(kRange); }
TEST_CASE("random tensors cost what shapes the numbers") { check_cases(kRandom); }

}  // namespace
}  // namespace pagoda::test
