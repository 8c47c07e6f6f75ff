// Classification losses in every reduction, with and without weights and log-probabilities.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kLossCases[] = {
    // graph, types, cost, why
    {"x:f32[N,5], t:i64[N] -> y = NegativeLogLikelihoodLoss(x, t) {reduction='none'}", "y:f32[N]", "arith=N special=0 read=12*N written=4*N", "one score per label is read"},
    {"x:f32[2,5,4], t:i64[2,4], w:f32[5] -> y = NegativeLogLikelihoodLoss(x, t, w)", "y:f32[]", "arith=33 read=32+64+20 written=4", "weighted mean: neg, mul, two sums and a division"},
    {"x:f32[2,5,4,4], t:i32[2,4,4] -> y = NegativeLogLikelihoodLoss(x, t) {reduction='sum', ignore_index=2}", "y:f32[]", "arith=96 comparisons=32", "ignored labels are compared"},
    {"x:f32[2,5], t:i64[3] -> y = NegativeLogLikelihoodLoss(x, t)", "error: scores and labels", "", "2 is not 3"},
    {"x:f32[2,5], t:i64[2] -> y = NegativeLogLikelihoodLoss(x, t) {reduction='max'}", "error: reduction", "", "no such reduction"},
    {"x:f32[N,C], t:i64[N] -> y = SoftmaxCrossEntropyLoss(x, t)", "y:f32[]", "arith=4*N*C+2*N+1 special=N*C+N comparisons=N*C read=4*N*C+8*N", "log-softmax and the mean"},
    {"x:f16[2,5,4], t:i64[2,4], w:f16[5] -> y, p = SoftmaxCrossEntropyLoss(x, t, w) {reduction='none'}", "y:f16[2,4], p:f16[2,5,4]", "arith=176 special=48 written=16+80 precision=float16", "with log-probabilities"},
    {"x:f32[2,5,4], t:i64[2,3] -> y = SoftmaxCrossEntropyLoss(x, t)", "error: scores and labels", "", "4 is not 3"},
    {"x:f32[2,5,4], t:i64[2] -> y = SoftmaxCrossEntropyLoss(x, t)", "error: labels 1", "", "a rank too few"},
    {"x:f32[2,5], t:i64[2], w:f32[4] -> y = SoftmaxCrossEntropyLoss(x, t, w)", "error: classes and weights", "", "a weight per class"},
};
// clang-format on

}  // namespace

TEST_CASE("classification losses") { check_cases(kLossCases); }

}  // namespace pagoda::test
