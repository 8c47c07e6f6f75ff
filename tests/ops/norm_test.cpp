// Normalizations and softmax: types and work of every row, in every form of its opsets.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kBatch[] = {
    // graph, types, cost, why
    {"x:f32[N,8,4,4], s:f32[8], b:f32[8], m:f32[8], v:f32[8] -> y = BatchNormalization(x, s, b, m, v)",
     "y:f32[N,8,4,4]", "arith=256*N+32 special=8 comparisons=0 read=512*N+128 written=512*N", "mul and add per element, 4 and an rsqrt per channel"},
    {"x:f16[2,8,4], s:f16[8], b:f16[8], m:f32[8], v:f32[8] -> y, rm, rv = BatchNormalization(x, s, b, m, v) {training_mode=1}",
     "y:f16[2,8,4], rm:f32[8], rv:f32[8]", "arith=480 special=8 precision=float16", "6 per element; per channel 4, 2 divisions, 6 for the running statistics"},
    {"opset=9: x:f32[1,2,3,3], s:f32[2], b:f32[2], m:f32[2], v:f32[2] -> y, om, ov, sm, sv = BatchNormalization(x, s, b, m, v)",
     "y:f32[1,2,3,3], om:f32[2], ov:f32[2], sm:f32[2], sv:f32[2]", "arith=132 special=2", "five outputs in training before opset 14"},
    {"opset=7: x:f32[N,2,3], s:f32[2,3], b:f32[2,3], m:f32[2,3], v:f32[2,3] -> y = BatchNormalization(x, s, b, m, v) {spatial=0}",
     "y:f32[N,2,3]", "arith=12*N+24 special=6", "statistics per feature"},
    {"opset=6: x:f32[4,2], s:f32[2], b:f32[2], m:f32[2], v:f32[2] -> y = BatchNormalization(x, s, b, m, v) {is_test=1}", "y:f32[4,2]", "arith=24", "rank 2"},
    {"x:f32[4], s:f32[1], b:f32[1], m:f32[1], v:f32[1] -> y = BatchNormalization(x, s, b, m, v)", "y:f32[4]", "arith=12 special=1", "rank 1 has one channel"},
    {"x:f32[4,2] -> y = BatchNormalization(x)", "error: input 1", "", "scale is missing"},
};

constexpr OpCase kRows[] = {
    {"x:f32[B,S,768], s:f32[768], b:f32[768] -> y = LayerNormalization(x, s, b)",
     "y:f32[B,S,768]", "arith=5379*B*S special=B*S comparisons=0 read=3072*B*S+6144 written=3072*B*S", "7 per element; 2 divisions, ε and an rsqrt per row"},
    {"opset=16 : x:f16[2,4], s:f32[4] -> y = LayerNormalization(x, s)", "y:f32[2,4]", "", "ONNX Runtime's own: the type of the scale"},
    {"opset=17 : x:f16[2,4], s:f32[4] -> y = LayerNormalization(x, s)", "y:f16[2,4]", "", "ONNX's: the type of the data"},
    {"x:f16[2,3,4], s:f16[3,4] -> y, m, i = LayerNormalization(x, s) {axis=1}",
     "y:f16[2,3,4], m:f32[2,1,1], i:f32[2,1,1]", "arith=150 special=2 written=64 precision=float32", "no bias; statistics in float32"},
    {"x:f16[2,3,4], s:f16[4], b:f16[4] -> y, , i = LayerNormalization(x, s, b) {stash_type=10, axis=-1}", "y:f16[2,3,4], i:f16[2,3,1]", "precision=float16", "another type for the statistics"},
    {"x:f32[2,3], s:f32[3] -> y, m = LayerNormalization(x, s) {axis=2}", "error: axis 2", "", "outside the rank"},
    {"x:f32[2,3], s:f32[3] -> y, m = LayerNormalization(x, s) {stash_type=7}", "error: stash_type", "", "an integer type"},
    {"opset=23: x:f32[B,S,64], s:f32[64] -> y = RMSNormalization(x, s)", "y:f32[B,S,64]", "arith=258*B*S special=B*S", "4 per element; a division, ε and an rsqrt per row"},
    {"opset=23: x:f16[2,3,4], s:f32[3,4] -> y = RMSNormalization(x, s) {axis=1}", "y:f32[2,3,4]", "arith=100 special=2 precision=float32", "the scale's type"},
    {"opset=23: x:f16[2,3,4], s:f32[4] -> y = RMSNormalization(x, s) {axis=-4}", "y:f32[2,3,4]", "mark=unmodelled", "axis outside the rank"},
    {"opset=23: x:f16[2,3,4], s:f32[4] -> y = RMSNormalization(x, s) {axis=-4}", "error: axis -4", "", "the same, told"},
    {"x:f16[B,S,64], s:f16[64] -> y, i = SimplifiedLayerNormalization(x, s) {axis=-1, epsilon=0.000001, stash_type=1}",
     "y:f16[B,S,64], i:f32[B,S,1]", "arith=258*B*S special=B*S", "RMSNormalization by its former name, with the statistic"},
    {"x:f16[2,64] -> y = SimplifiedLayerNormalization(x)", "error: input 1", "", "the scale is missing"},
    {"x:f32[2,3,4] -> y = LpNormalization(x)", "y:f32[2,3,4]", "arith=72 special=6", "square, add, divide; a root per row"},
    {"x:f32[N,3,4] -> y = LpNormalization(x) {p=1, axis=1}", "y:f32[N,3,4]", "arith=36*N special=0 comparisons=12*N", "absolute values"},
    {"x:f32[2,3] -> y = LpNormalization(x) {axis=2}", "y:f32[2,3]", "mark=unmodelled", "axis outside the rank"},
    {"x:f32[2,3] -> y = LpNormalization(x) {axis=2}", "error: axis 2", "", "the same, told"},
};

constexpr OpCase kChannels[] = {
    {"x:f32[N,4,5,5], s:f32[4], b:f32[4] -> y = InstanceNormalization(x, s, b)", "y:f32[N,4,5,5]", "arith=624*N special=4*N", "6 per element; 6 and an rsqrt per image and channel"},
    {"opset=1: x:f32[1,4,5], s:f32[4], b:f32[4] -> y = InstanceNormalization(x, s, b)", "y:f32[1,4,5]", "arith=144 special=4", "1-D"},
    {"x:f32[4], s:f32[4], b:f32[4] -> y = InstanceNormalization(x, s, b)", "error: rank 1", "mark=unmodelled", "no channels"},
    {"x:f16[N,32,8,8], s:f16[32], b:f16[32] -> y = GroupNormalization(x, s, b) {num_groups=4}",
     "y:f16[N,32,8,8]", "arith=12396*N special=4*N precision=float32", "6 per element, 3 per group, 3 per image and channel"},
    {"opset=18: x:f32[2,32,8,8], s:f32[4], b:f32[4] -> y = GroupNormalization(x, s, b) {num_groups=4}", "y:f32[2,32,8,8]", "arith=24624 special=8", "scales per group"},
    {"x:f32[1,30,8,8], s:f32[30], b:f32[30] -> y = GroupNormalization(x, s, b) {num_groups=4}", "error: 30 channels", "", "not divisible"},
    {"x:f32[1,30,8,8], s:f32[30], b:f32[30] -> y = GroupNormalization(x, s, b)", "error: num_groups", "", "mandatory"},
    {"x:f32[N,3,4,4] -> y = MeanVarianceNormalization(x)", "y:f32[N,3,4,4]", "arith=240*N+9 special=3", "5 per element; 2 divisions, ε and a root per channel"},
    {"opset=9: x:f32[2,3,4] -> y = MeanVarianceNormalization(x) {axes=[-1]}", "y:f32[2,3,4]", "arith=138 special=6", "other axes"},
    {"x:f32[2,3,4] -> y = MeanVarianceNormalization(x)", "error: axis 3", "", "the default axes want rank 4"},
    {"x:f32[N,6,4,4] -> y = LRN(x) {size=5, alpha=0.0001}", "y:f32[N,6,4,4]", "arith=768*N special=96*N", "square, 4 additions, scale, bias, pow, divide"},
    {"opset=1: x:f32[1,6,4,4] -> y = LRN(x) {size=3}", "y:f32[1,6,4,4]", "arith=576 special=96", "another size"},
    {"x:f32[1,6,4,4] -> y = LRN(x)", "y:f32[1,6,4,4]", "mark=unmodelled", "size is mandatory"},
    {"x:f32[1,6,4,4] -> y = LRN(x)", "error: size", "", "the same, told"},
};

constexpr OpCase kSoftmax[] = {
    {"x:f32[B,12,S,S] -> y = Softmax(x)", "y:f32[B,12,S,S]", "arith=48*B*S*S special=12*B*S*S comparisons=12*B*S*S read=48*B*S*S", "4 and an exp per element"},
    {"opset=11: x:f32[2,3,4] -> y = Softmax(x)", "y:f32[2,3,4]", "arith=96 special=24", "axis 1 unless stated"},
    {"x:f32 -> y = Softmax(x)", "y:f32", "mark=unmodelled", "unknown rank"},
    {"x:f32[2,3] -> y = Softmax(x) {axis=2}", "error: axis 2", "", "outside the rank"},
    {"opset=12: x:f32[3] -> y = Softmax(x)", "error: axis 1", "", "the default axis wants rank 2"},
    {"x:f32[N,3,4] -> y = LogSoftmax(x)", "y:f32[N,3,4]", "arith=48*N special=15*N", "and a log per row of 4"},
    {"opset=12: x:f32[N,3,4] -> y = LogSoftmax(x)", "y:f32[N,3,4]", "arith=48*N special=13*N", "rows of 12 before opset 13"},
    {"x:f32[2,3] -> y = LogSoftmax(x) {axis=-3}", "error: axis -3", "", "outside the rank"},
    {"x:f32[N,3,4] -> y = Hardmax(x)", "y:f32[N,3,4]", "arith=12*N comparisons=12*N special=0", "a comparison per element"},
    {"opset=1: x:f32[2,3,4] -> y = Hardmax(x) {axis=2}", "y:f32[2,3,4]", "arith=24", "an early opset"},
    {"x:f32[2,3] -> y = Hardmax(x) {axis=5}", "error: axis 5", "", "outside the rank"},
};
// clang-format on

}  // namespace

TEST_CASE("batch normalization folds to a multiplication and an addition") { check_cases(kBatch); }
TEST_CASE("normalizations of rows") { check_cases(kRows); }
TEST_CASE("normalizations of images and channels") { check_cases(kChannels); }
TEST_CASE("softmax and its kin") { check_cases(kSoftmax); }

}  // namespace pagoda::test
