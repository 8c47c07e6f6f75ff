// Operators of ONNX's own domain that only ONNX Runtime still has: withdrawn experiments, plugins, copies.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kWithdrawnCases[] = {
    // graph, types, cost, why
    {"x:f32[N,4] -> y = Affine(x) {alpha=2.0, beta=1.0}", "y:f32[N,4]", "arith=8*N special=0 read=16*N written=16*N", "mul and add"},
    {"x:f32[N,4] -> y = ImageScaler(x) {scale=0.5, bias=[1.0,2.0]}", "y:f32[N,4]", "arith=8*N", "mul and add"},
    {"x:f32[N,4] -> y = ParametricSoftplus(x)", "y:f32[N,4]", "arith=12*N special=8*N", "2 mul, add; log and exp"},
    {"x:f32[N,4] -> y = Scale(x) {scale=2.0}", "y:f32[N,4]", "arith=4*N", "mul"},
    {"x:f32[N,4] -> y = ScaledTanh(x)", "y:f32[N,4]", "arith=8*N special=4*N", "2 mul; tanh"},
    {"x:f32[N,3,8,10] -> y = Crop(x) {border=[1,2,3,4]}", "y:f32[N,3,2,6]", "arith=0 read=144*N written=144*N", "left, top, right, bottom"},
    {"x:f32[N,3,8,10] -> y = Crop(x) {border=[1,2,0,0], scale=[4,5]}", "y:f32[N,3,4,5]", "read=240*N", "height and width from the corner"},
    {"x:f32[N,3,H,10] -> y = Crop(x) {border=[1,2,3,4]}", "y:f32[N,3,H-6,6]", "", "a free height"},
    {"x:f32[1,3,5,10] -> y = Crop(x) {border=[1,2,3,4]}", "error: nothing of 5 is left", "", "a border of 6 rows"},
    {"x:f32[1,3,5,10] -> y = Crop(x) {border=[1,2]}", "error: border should hold 4", "", ""},
    {"x:f32[1,3,5,10] -> y = Crop(x) {border=[1,2,3,4], scale=[1]}", "error: scale should hold", "", ""},
    {"opset=1: x:f32[N,6], s:i64[1]=[1], e:i64[1]=[5], a:i64[1]=[1] -> y = DynamicSlice(x, s, e, a)", "y:f32[N,4]", "read=16*N written=16*N", "bounds are inputs before opset 10 already"},
    {"s:i64[2]=[2,3] -> y = GivenTensorFill(s) {input_as_shape=1, extra_shape=[4], values=[1.0]}", "y:f32[2,3,4]", "mark=folded", "the value is the shape"},
    {"x:f32[N,3] -> y = GivenTensorFill(x) {values=[1.0]}", "y:f32[N,3]", "arith=0 read=0 written=12*N", "the shape of the input"},
    {" -> y = GivenTensorFill() {shape=[2,3], values=[1.0]}", "y:f32[2,3]", "", "the attribute"},
    {"s:i64[2] -> y = GivenTensorFill(s) {input_as_shape=1, values=[1.0]}", "error: the shape to fill is data", "", ""},
    {"h:f32[1,B,8], g:f32[1,B,24], l:i32[B], t:i32[1] -> y = GRUUnit(h, g, l, t)", "y:f32[1,B,8]", "arith=32*B special=16*B read=32*B+96*B+4*B", "z·h' + (1 − z)·tanh(n)"},
    {"x:f32[N,4] -> y = MemcpyFromHost(x)", "y:f32[N,4]", "arith=0 read=16*N written=16*N", "a copy"},
    {"x:f32[N,4] -> y = MemcpyToHost(x)", "y:f32[N,4]", "read=16*N written=16*N", "a copy"},
    {"c:f32[B,S,S], p:f32[B,S,K], q:f32[B,S,K] -> y = DisentangledAttention_TRT(c, p, q) {factor=0.1, span=512}", "y:f32[B,S,S]", "arith=3*B*S*S written=4*B*S*S", "two picks by relative position"},
    {"b:f32[B,100,4], s:f32[B,100,80] -> n, d, c, k = EfficientNMS_TRT(b, s) {score_threshold=0.1, plugin_version='1', max_output_boxes=20, score_activation=0, box_coding=0, iou_threshold=0.5, background_class=-1}",
     "n:i32[B,1], d:f32[B,20,4], c:f32[B,20], k:i32[B,20]", "mark=unmodelled", "sizes are fixed, the work is not known"},
    {"b:f32[N,10,4], f:f32[N,256,64,64], g:f32[N,256,32,32], h:f32[N,256,16,16], i:f32[N,256,8,8] -> y = PyramidROIAlign_TRT(b, f, g, h, i) {plugin_version='1', pooled_size=7}",
     "y:f32[N,10,256,7,7]", "arith=878080*N+700*N+1960*N comparisons=140*N written=501760*N",
     "7 per sample; 14 coordinates of 5 and 49 products of 4 a box"},
    {"b:f32[1,10,4], f:f32[1,256,2,2], g:f32[1,256,1,1] -> y = MultilevelCropAndResize_TRT(b, f, g) {plugin_version='1', pooled_size=7, image_size=[3,64,64]}",
     "y:f32[1,10,256,7,7]", "read=160+5120", "maps are read once at most"},
    {"b:f32[1,10,4], f:f32[1,256,2,2] -> y = PyramidROIAlign_TRT(b, f) {plugin_version='1', pooled_size=0}", "error: pooled_size", "", ""},
};
// clang-format on

}  // namespace

TEST_CASE("operators beside ONNX in its own domain") { check_cases(kWithdrawnCases); }

}  // namespace pagoda::test
