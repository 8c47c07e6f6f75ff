// ai.onnx.preview.training: optimisers that update several tensors at once.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kTraining[] = {
    // graph, types, cost, why
    {"r:f32[], t:i64[], x:f32[N,4], g:f32[N,4], h:f32[N,4] -> y, z = ai.onnx.preview.training.Adagrad(r, t, x, g, h)", "y:f32[N,4], z:f32[N,4]", "arith=24*N special=4*N read=12+48*N written=32*N precision=float32", "6 and a root per element"},
    {"r:f32[], t:i64[], x:f32[3], w:f32[5], g:f32[3], f:f32[5], h:f32[3], i:f32[5] -> y, v, z, k = ai.onnx.preview.training.Adagrad(r, t, x, w, g, f, h, i) {norm_coefficient=0.1, decay_factor=0.1}", "y:f32[3], v:f32[5], z:f32[3], k:f32[5]", "arith=67 special=8", "two tensors; weight decay 2, rate decay 3 once"},
    {"r:f32[], t:i64[], x:f32[3], g:f32[4], h:f32[3] -> y, z = ai.onnx.preview.training.Adagrad(r, t, x, g, h)", "error: dims of a tensor and its gradient", "", "3 is not 4"},
    {"r:f32[], t:i64[], x:f32[N,4], g:f32[N,4], v:f32[N,4], h:f32[N,4] -> y, u, z = ai.onnx.preview.training.Adam(r, t, x, g, v, h)", "y:f32[N,4], u:f32[N,4], z:f32[N,4]", "arith=44*N+4 special=4*N+3 read=12+64*N written=48*N", "11 and a root per element, the rate once"},
    {"r:f64[], t:i64[], x:f64[3], g:f64[3], v:f64[3], h:f64[3] -> y, u, z = ai.onnx.preview.training.Adam(r, t, x, g, v, h) {norm_coefficient=0.1, norm_coefficient_post=0.1}", "y:f64[3]", "arith=46 special=6", "decay before and after"},
    {"r:f32[], t:i64[], x:f32[3], g:f32[3], v:f32[3] -> y, u, z = ai.onnx.preview.training.Adam(r, t, x, g, v)", "error: expected a multiple of 4", "", "a state is missing"},
    {"r:f32[], t:i64[], x:f32[N], g:f32[N], v:f32[N] -> y, u = ai.onnx.preview.training.Momentum(r, t, x, g, v) {mode='standard', norm_coefficient=0.0, alpha=0.9, beta=1.0}", "y:f32[N], u:f32[N]", "arith=5*N special=0", "5 per element"},
    {"r:f32[], t:i64[], x:f32[3], g:f32[3], v:f32[3] -> y, u = ai.onnx.preview.training.Momentum(r, t, x, g, v) {mode='nesterov', norm_coefficient=0.1, alpha=0.9, beta=1.0}", "y:f32[3], u:f32[3]", "arith=27", "7 and weight decay"},
    {"r:f32[], t:i64[], x:f32[3], g:f32[3], v:f32[3] -> y, u = ai.onnx.preview.training.Momentum(r, t, x, g, v) {mode='abc'}", "error: mode is 'abc'", "", "no such mode"},
    {"x:f32[N,4], w:f32[4,5] -> a, b = ai.onnx.preview.training.Gradient(x, w) {xs=['x','w'], y='loss'}", "a:f32[N,4], b:f32[4,5]", "mark=unmodelled", "gradients have the shapes of what they are of"},
    {"x:f32[N,4] -> a = ai.onnx.preview.training.Gradient(x) {xs=['x'], y='loss'}", "error: up to 'loss'", "", "the work is in the graph"},
    {"r:f32[], t:i64[], x:f32[N], g:f32[N], v:f32[N] -> y, u = ai.onnx.training.Momentum(r, t, x, g, v)", "y:f32[N], u:f32[N]", "arith=5*N", "the older domain"},
};
// clang-format on

}  // namespace

TEST_CASE("ai.onnx.preview.training") { check_cases(kTraining); }

}  // namespace pagoda::test
