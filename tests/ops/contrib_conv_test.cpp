// com.microsoft convolutions and pools, and the rows of com.ms.internal.nhwc (channels last) and com.microsoft.nchwc
// (channels padded to blocks): shapes in both layouts, and the same work as the ai.onnx operators that they replace.
#include <doctest/doctest.h>

#include <string>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kContribConvCases[] = {
    // graph, types, cost, why
    {"x:f32[N,3,8,8], w:f32[4,3,3,3], b:f32[4] -> y = com.microsoft.FusedConv(x, w, b) {activation='Relu', strides=[2,2]}", "y:f32[N,4,3,3]", "macs=972*N arith=72*N comparisons=36*N read=768*N+432+16 written=144*N", "27 macs, bias and Relu for 36 elements"},
    {"x:f32[2,3,8,8], w:f32[4,3,3,3], b:f32[4], z:f32[2,4,6,6] -> y = com.microsoft.FusedConv(x, w, b, z) {activation='LeakyRelu', activation_params=[0.1]}", "y:f32[2,4,6,6]", "macs=7776 arith=1152 comparisons=288", "bias, sum, 2 for LeakyRelu"},
    {"x:f32[2,3,8,8], w:f32[4,2,3,3] -> y = com.microsoft.FusedConv(x, w)", "error: input channels", "", "3 is not 2"},
    {"x:f32[2,3,8,8], w:f32[4,3,3,3] -> y = com.microsoft.FusedConv(x, w) {activation='Wavelet'}", "error: 'Wavelet'", "", "no known activation"},
    {"x:f32[N,8,W,3], w:f32[4,3,3,3], b:f32[4] -> y = com.microsoft.NhwcConv(x, w, b)", "y:f32[N,6,W-2,4]", "macs=648*N*W-1296*N arith=24*N*W-48*N", "channels last"},
    {"x:f16[2,8,8,4], w:f16[6,2,3,3] -> y = com.microsoft.NhwcConv(x, w) {group=2, auto_pad='SAME_UPPER', strides=[2,2]}", "y:f16[2,4,4,6]", "macs=3456 arith=0", "two groups, padded"},
    {"x:f32[2,8,8,4], w:f32[4,3,3,3] -> y = com.microsoft.NhwcConv(x, w)", "error: input channels", "", "4 is not 3"},
    {"x:f32[N,8,8,4], w:f32[6,3,3,4], b:f32[6] -> y = com.microsoft.NhwcConv(x, w, b) {kernel_shape=[3,3], pads=[1,1,1,1]}", "y:f32[N,8,8,6]", "macs=13824*N arith=384*N", "the weight's channels last, as saved files have it"},
    {"x:f16[2,8,8,4], w:f16[6,3,3,2] -> y = com.microsoft.NhwcConv(x, w) {group=2}", "y:f16[2,6,6,6]", "macs=7776", "channels last in groups"},
    {"x:f32[2,8,8,3], w:f32[6,3,5,3] -> y = com.microsoft.NhwcConv(x, w) {kernel_shape=[3,5]}", "y:f32[2,6,4,6]", "macs=12960", "kernel_shape decides where channels do not"},
    {"x:f32[2,8,8,320], w:f32[4,1,1,320] -> y = com.microsoft.NhwcConv(x, w)", "y:f32[2,8,8,4]", "macs=163840", "a projection"},
    {"x:f16[N,8,8,3], w:f16[4,3,3,3], b:f16[4], z:f16[N,6,6,4] -> y = com.microsoft.NhwcFusedConv(x, w, b, z) {activation='Relu'}", "y:f16[N,6,6,4]", "macs=3888*N arith=432*N comparisons=144*N", "bias, sum, Relu"},
    {"x:f16[8,8,3], w:f16[4,3,3,3] -> y = com.microsoft.NhwcFusedConv(x, w)", "error: input 1 has rank 4", "", "one spatial axis, a kernel of two"},
    {"x:f32[N,3,8,8], w:f32[3,4,3,3], p:i64[4]=[1,1,1,1], b:f32[4] -> y = com.microsoft.ConvTransposeWithDynamicPads(x, w, p, b) {strides=[2,2], output_padding=[1,1]}", "y:f32[N,4,16,16]", "macs=6912*N arith=1024*N", "pads that are known"},
    {"x:f32[N,3,8,8], w:f32[3,4,3,3], p:i64[4] -> y = com.microsoft.ConvTransposeWithDynamicPads(x, w, p) {strides=[2,2]}", "y:f32[N,4,?,?]", "macs=6912*N", "pads that are data: the work is the same"},
    {"x:f32[N,3,8,8], w:f32[3,4,3,3], p:i64[2]=[1,1] -> y = com.microsoft.ConvTransposeWithDynamicPads(x, w, p)", "error: there are 2 pads", "", "two axes"},
};

constexpr OpCase kContribConvQuantized[] = {
    {"x:u8[N,3,8,8], w:u8[4,3,3,3], b:i32[4], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearConv(x, s, z, w, s, z, s, z, b) {pads=[1,1,1,1]}", "y:u8[N,4,8,8]", "macs=6912*N arith=1728*N+110 comparisons=768*N precision=int8", "zero points, a scale, bias and 5 per element"},
    {"x:u8[N,8,8,4], w:i8[6,2,3,3], s:f32=0.1, t:f32[6], z:u8=1, v:i8[6] -> y = com.microsoft.QLinearConv(x, s, z, w, t, v, s, z) {channels_last=1, group=2, strides=[2,2]}", "y:u8[N,3,3,6]", "macs=972*N arith=256*N+108+12+270*N", "channels last, scales per channel"},
    {"x:u8[2,3,8,8], w:u8[4,4,3,3], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearConv(x, s, z, w, s, z, s, z)", "error: input channels", "", "3 is not 4"},
    {"x:u8[N,3,8,8], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearAveragePool(x, s, z, s, z) {kernel_shape=[3,3], strides=[2,2], ceil_mode=1}", "y:u8[N,3,4,4]", "arith=1056*N comparisons=144*N precision=int8", "2 per element; 9 and 5 per mean"},
    {"x:u8[2,8,8,3], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearAveragePool(x, s, z, s, z) {kernel_shape=[3,3], channels_last=1, pads=[1,1,1,1]}", "y:u8[2,8,8,3]", "", "channels last"},
    {"x:u8[2,8,8,3], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearAveragePool(x, s, z, s, z)", "error: kernel_shape is missing", "", "no window"},
    {"x:u8[N,3,8,8], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearGlobalAveragePool(x, s, z, s, z)", "y:u8[N,3,1,1]", "arith=591*N", "3 per element, 5 per mean"},
    {"x:u8[N,8,8,3], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearGlobalAveragePool(x, s, z, s, z) {channels_last=1}", "y:u8[N,1,1,3]", "arith=591*N", "channels last"},
    {"x:u8[2,3], s:f32=0.1, z:u8=1 -> y = com.microsoft.QLinearGlobalAveragePool(x, s, z, s, z)", "error: rank 2", "", "no image"},
    {"x:u8[N,8,8,3] -> y = com.microsoft.NhwcMaxPool(x) {kernel_shape=[3,3], strides=[2,2]}", "y:u8[N,3,3,3]", "arith=216*N comparisons=216*N", "8 comparisons an element"},
    {"x:u8[8,3] -> y = com.microsoft.NhwcMaxPool(x) {kernel_shape=[3,3]}", "error: rank 2", "", "no image"},
    {"x:f32[N,3,8,8], m:i32[N,3,8,8] -> y = com.microsoft.MaxpoolWithMask(x, m) {kernel_shape=[3,3], strides=[2,2]}", "y:f32[N,3,3,3]", "arith=459*N comparisons=459*N read=1536*N", "8 comparisons and 9 selections"},
    {"x:f32[N,3,8,8], m:i32[N,3,8,8] -> y = com.microsoft.MaxpoolWithMask(x, m) {kernel_shape=[3]}", "error: kernel_shape has 1", "", "two axes"},
};

constexpr OpCase kNhwc[] = {
    {"com.ms.internal.nhwc=11 : x:f32[N,8,8,3], w:f32[4,3,3,3], b:f32[4] -> y = com.ms.internal.nhwc.Conv(x, w, b) {activation='Relu'}", "y:f32[N,6,6,4]", "macs=3888*N arith=288*N", "bias and Relu"},
    {"com.ms.internal.nhwc=11 : x:f32[2,8,8,3], w:f32[4,4,5,5] -> y = com.ms.internal.nhwc.Conv(x, w)", "error: input channels", "", "3 is not 4"},
    {"com.ms.internal.nhwc=11 : x:f32[N,8,8,3], w:f32[3,4,3,3], b:f32[4] -> y = com.ms.internal.nhwc.ConvTranspose(x, w, b) {strides=[2,2], pads=[1,1,1,1], output_padding=[1,1]}", "y:f32[N,16,16,4]", "macs=6912*N arith=1024*N", "channels last"},
    {"com.ms.internal.nhwc=11 : x:f32[N,8,8,3], w:f32[3,4,3,3] -> y = com.ms.internal.nhwc.ConvTranspose(x, w) {strides=[2,2], output_shape=[15,16]}", "y:f32[N,15,16,4]", "macs=6912*N", "a stated size"},
    {"com.ms.internal.nhwc=11 : x:f32[N,8,8,3], w:f32[4,4,3,3] -> y = com.ms.internal.nhwc.ConvTranspose(x, w)", "error: input channels", "", "3 is not 4"},
    {"com.ms.internal.nhwc=10 : x:u8[N,8,8,4], w:u8[6,2,3,3], s:f32=0.1, z:u8=1 -> y = com.ms.internal.nhwc.QLinearConv(x, s, z, w, s, z, s, z) {group=2}", "y:u8[N,6,6,6]", "macs=3888*N precision=int8", "always channels last"},
    {"com.ms.internal.nhwc=10 : x:u8[2,8,8,4], w:u8[6,3,3,3], s:f32=0.1, z:u8=1 -> y = com.ms.internal.nhwc.QLinearConv(x, s, z, w, s, z, s, z)", "error: input channels", "", "4 is not 3"},
    {"x:u8[N,8,8,3], w:u8[3,4,3,3], s:f32=0.1, z:u8=1, b:i32[4] -> y = com.ms.internal.nhwc.QLinearConvTranspose(x, s, z, w, s, z, s, z, b) {strides=[2,2], pads=[1,1,1,1]}", "y:u8[N,15,15,4]", "macs=6912*N arith=192*N+108+2+5400*N", "bias and 5 per element"},
    {"x:u8[2,8,8,3], w:u8[3,4,3], s:f32=0.1, z:u8=1 -> y = com.ms.internal.nhwc.QLinearConvTranspose(x, s, z, w, s, z, s, z)", "error: input 3 has rank 3", "", "two axes"},
    {"com.ms.internal.nhwc=19 : x:f32[N,8,8,3] -> y = com.ms.internal.nhwc.AveragePool(x) {kernel_shape=[2,2], strides=[2,2], activation='Relu'}", "y:f32[N,4,4,3]", "arith=240*N comparisons=48*N", "4 and Relu per element"},
    {"com.ms.internal.nhwc=19 : x:f32[8,3] -> y = com.ms.internal.nhwc.AveragePool(x) {kernel_shape=[2,2]}", "error: rank 2", "", "no image"},
    {"com.ms.internal.nhwc=12 : x:f32[N,8,8,3] -> y, i = com.ms.internal.nhwc.MaxPool(x) {kernel_shape=[2,2], strides=[2,2]}", "y:f32[N,4,4,3], i:i64[N,4,4,3]", "arith=144*N comparisons=144*N", "places as well"},
    {"com.ms.internal.nhwc=12 : x:f32[2,8,8,3] -> y = com.ms.internal.nhwc.MaxPool(x) {kernel_shape=[9,2]}", "error: the window spans 9", "", "too large"},
    {"com.ms.internal.nhwc=18 : x:f32[N,8,8,3] -> y = com.ms.internal.nhwc.LpPool(x) {kernel_shape=[2,2], strides=[2,2], p=2}", "y:f32[N,4,4,3]", "arith=336*N special=48*N", "4 squares, 3 adds, a root"},
    {"com.ms.internal.nhwc=18 : x:f32[8,3] -> y = com.ms.internal.nhwc.LpPool(x) {kernel_shape=[2,2]}", "error: rank 2", "", "no image"},
    {"x:u8[N,8,8,3], s:f32=0.1, z:u8=1 -> y = com.ms.internal.nhwc.QLinearAveragePool(x, s, z, s, z) {kernel_shape=[2,2], strides=[2,2]}", "y:u8[N,4,4,3]", "arith=816*N", "2·192 + 9·48"},
    {"x:u8[8,3], s:f32=0.1, z:u8=1 -> y = com.ms.internal.nhwc.QLinearAveragePool(x, s, z, s, z) {kernel_shape=[2,2]}", "error: rank 2", "", "no image"},
    {"x:f32[N,8,8,3] -> y = com.ms.internal.nhwc.GlobalAveragePool(x)", "y:f32[N,1,1,3]", "arith=192*N", "as many as elements"},
    {"x:f32[N,8,8,3] -> y = com.ms.internal.nhwc.GlobalMaxPool(x)", "y:f32[N,1,1,3]", "arith=189*N comparisons=189*N", "63 per channel"},
    {"com.ms.internal.nhwc=2 : x:f32[N,8,8,3] -> y = com.ms.internal.nhwc.GlobalLpPool(x)", "y:f32[N,1,1,3]", "arith=381*N special=3*N", "a square and an add per element"},
    {"x:f32[8,3] -> y = com.ms.internal.nhwc.GlobalAveragePool(x)", "error: rank 2", "", "no image"},
    {"x:f32[8,3] -> y = com.ms.internal.nhwc.GlobalMaxPool(x)", "error: rank 2", "", "no image"},
    {"x:f32[8,3] -> y = com.ms.internal.nhwc.GlobalLpPool(x)", "error: rank 2", "", "no image"},
    {"com.ms.internal.nhwc=11 : x:f32[N,4,4,3], i:i64[N,4,4,3] -> y = com.ms.internal.nhwc.MaxUnpool(x, i) {kernel_shape=[2,2], strides=[2,2]}", "y:f32[N,8,8,3]", "arith=0 read=576*N written=768*N", "values and places"},
    {"com.ms.internal.nhwc=11 : x:f32[2,4,4,3], i:i64[2,4,4,3], o:i64[4]=[2,9,9,3] -> y = com.ms.internal.nhwc.MaxUnpool(x, i, o) {kernel_shape=[2,2], strides=[2,2]}", "y:f32[2,9,9,3]", "", "a stated shape"},
    {"com.ms.internal.nhwc=11 : x:f32[2,4,4,3], i:i64[2,4,4,3], o:i64[2]=[9,9] -> y = com.ms.internal.nhwc.MaxUnpool(x, i, o) {kernel_shape=[2,2]}", "error: output_shape has 2", "", "all axes are stated"},
};

constexpr OpCase kNhwcOther[] = {
    {"com.ms.internal.nhwc=15 : x:f32[N,8,8,3], s:f32[3], b:f32[3], m:f32[3], v:f32[3] -> y = com.ms.internal.nhwc.BatchNormalization(x, s, b, m, v) {activation='Relu'}", "y:f32[N,8,8,3]", "arith=576*N+12 special=3", "as ai.onnx and Relu"},
    {"com.ms.internal.nhwc=15 : x:f32, s:f32[3], b:f32[3], m:f32[3], v:f32[3] -> y = com.ms.internal.nhwc.BatchNormalization(x, s, b, m, v)", "error: rank", "", "a rank that is not known"},
    {"com.ms.internal.nhwc=6 : x:f32[N,8,8,3], s:f32[3], b:f32[3] -> y = com.ms.internal.nhwc.InstanceNormalization(x, s, b)", "y:f32[N,8,8,3]", "arith=1152*N+18*N special=3*N", "6 per element; 6 and a root per image and channel"},
    {"com.ms.internal.nhwc=6 : x:f32[8,3], s:f32[3], b:f32[3] -> y = com.ms.internal.nhwc.InstanceNormalization(x, s, b)", "error: rank 2", "", "no image"},
    {"com.ms.internal.nhwc=13 : x:f32[N,8,8,3] -> y = com.ms.internal.nhwc.LRN(x) {size=3}", "y:f32[N,8,8,3]", "arith=1152*N special=192*N", "6 and pow per element"},
    {"com.ms.internal.nhwc=13 : x:f32[2,8,8,3] -> y = com.ms.internal.nhwc.LRN(x)", "error: size", "", "no window"},
    {"com.ms.internal.nhwc=13 : x:f32[N,4,4,8] -> y = com.ms.internal.nhwc.DepthToSpace(x) {blocksize=2}", "y:f32[N,8,8,2]", "arith=0 read=512*N", "depth becomes area"},
    {"com.ms.internal.nhwc=13 : x:f32[2,4,4,6] -> y = com.ms.internal.nhwc.DepthToSpace(x) {blocksize=2}", "error: 6 does not divide by 4", "", "no whole blocks"},
    {"com.ms.internal.nhwc=13 : x:f32[N,8,8,2] -> y = com.ms.internal.nhwc.SpaceToDepth(x) {blocksize=2}", "y:f32[N,4,4,8]", "arith=0", "area becomes depth"},
    {"com.ms.internal.nhwc=13 : x:f32[2,7,8,2] -> y = com.ms.internal.nhwc.SpaceToDepth(x) {blocksize=2}", "error: 7 does not divide by 2", "", "no whole blocks"},
    {"com.ms.internal.nhwc=20 : x:f32[N,4,5,3], g:f32[N,6,7,2] -> y = com.ms.internal.nhwc.GridSample(x, g)", "y:f32[N,6,7,3]", "read=336*N+240*N", "a grid over channels that come last"},
    {"com.ms.internal.nhwc=20 : x:f32[2,4,5,3], g:f32[2,6,7,3] -> y = com.ms.internal.nhwc.GridSample(x, g)", "error: coordinates per location", "", "3 is not 2"},
    {"com.ms.internal.nhwc=19 : x:f32[N,4,4,3], s:f32[4]=[1.0,2.0,2.0,1.0] -> y = com.ms.internal.nhwc.Resize(x, , s)", "y:f32[N,8,8,3]", "read=192*N written=768*N", "scales in the order of the axes"},
    {"com.ms.internal.nhwc=19 : x:f32[2,4,4,3], s:f32[3]=[1.0,2.0,2.0] -> y = com.ms.internal.nhwc.Resize(x, , s)", "error: 3 scales for 4 axes", "", "a scale is missing"},
};

constexpr OpCase kNchwc[] = {
    {"x:f32[N,16,8,8], w:f32[32,16,3,3], b:f32[32], s:f32[N,32,6,6] -> y = com.microsoft.nchwc.Conv(x, w, b, s) {activation='Relu'}", "y:f32[N,32,6,6]", "macs=165888*N arith=3456*N comparisons=1152*N", "bias, sum, Relu"},
    {"x:f32[N,3,8,8], w:f32[16,3,3,3] -> y = com.microsoft.nchwc.Conv(x, w) {strides=[2,2], pads=[1,1,1,1]}", "y:f32[N,16,4,4]", "macs=6912*N arith=0", "the first layer reads plain channels"},
    {"x:f32[N,3,8,8], w:f32[16,3,3] -> y = com.microsoft.nchwc.Conv(x, w)", "error: input 1 has rank 3", "", "two axes"},
    {"x:f32[N,16,8,8] -> y = com.microsoft.nchwc.AveragePool(x) {kernel_shape=[2,2], strides=[2,2]}", "y:f32[N,16,4,4]", "arith=1024*N", "4 per element"},
    {"x:f32[N,16] -> y = com.microsoft.nchwc.AveragePool(x) {kernel_shape=[2,2]}", "error: rank 2", "", "no image"},
    {"x:f32[N,16,8,8] -> y = com.microsoft.nchwc.MaxPool(x) {kernel_shape=[2,2], strides=[2,2]}", "y:f32[N,16,4,4]", "arith=768*N", "3 per element"},
    {"x:f32[N,16] -> y = com.microsoft.nchwc.MaxPool(x) {kernel_shape=[2,2]}", "error: rank 2", "", "no image"},
    {"x:f32[N,16,8,8] -> y = com.microsoft.nchwc.GlobalAveragePool(x)", "y:f32[N,16,1,1]", "arith=1024*N", "as many as elements"},
    {"x:f32[N,16] -> y = com.microsoft.nchwc.GlobalAveragePool(x)", "error: rank 2", "", "no image"},
    {"x:f32[N,16,8,8] -> y = com.microsoft.nchwc.GlobalMaxPool(x)", "y:f32[N,16,1,1]", "arith=1008*N", "63 per channel"},
    {"x:f32[N,16] -> y = com.microsoft.nchwc.GlobalMaxPool(x)", "error: rank 2", "", "no image"},
    {"x:f32[N,32,8,8] -> y = com.microsoft.nchwc.ReorderInput(x)", "y:f32[N,32,8,8]", "arith=0 read=8192*N written=8192*N", "whole blocks of any machine"},
    {"x:f32[N,8,8,32] -> y = com.microsoft.nchwc.ReorderInput(x) {channels_last=1}", "y:f32[N,32,8,8]", "", "from channels last"},
    {"x:f32[N,24,8,8] -> y = com.microsoft.nchwc.ReorderInput(x)", "y:f32[N,?,8,8]", "", "24 or 32, as the machine has it"},
    {"x:f32[N,24,8,8], w:f32[16,32,1,1] -> r = com.microsoft.nchwc.ReorderInput(x); y = com.microsoft.nchwc.Conv(r, w)", "r:f32[N,32,8,8], y:f32[N,16,8,8]", "", "the weights behind it tell"},
    {"x:f32[N,20,8,8], w:f32[24,1,3,3] -> r = com.microsoft.nchwc.ReorderInput(x); y = com.microsoft.nchwc.Conv(r, w) {group=24}", "r:f32[N,24,8,8], y:f32[N,24,6,6]", "", "channel by channel"},
    {"x:f32[N,24,8,8] -> y:f32[N,32,8,8] = com.microsoft.nchwc.ReorderInput(x)", "y:f32[N,32,8,8]", "written=8192*N", "the file tells"},
    {"x:f32[N,24] -> y = com.microsoft.nchwc.ReorderInput(x)", "error: rank 2", "", "no image"},
    {"x:f32[N,32,8,8] -> y = com.microsoft.nchwc.ReorderOutput(x) {channels=24}", "y:f32[N,24,8,8]", "read=8192*N written=6144*N", "padding goes"},
    {"x:f32[N,32,8,8] -> y = com.microsoft.nchwc.ReorderOutput(x) {channels=24, channels_last=1}", "y:f32[N,8,8,24]", "", "to channels last"},
    {"x:f32[N,32,8,8] -> y = com.microsoft.nchwc.ReorderOutput(x)", "error: channels is missing", "", "how many are real"},
    {"x:f32[N,16,8,8] -> y = com.microsoft.nchwc.Upsample(x) {scales=[1,1,2,2]}", "y:f32[N,16,16,16]", "arith=96 comparisons=32 written=16384*N", "nearest: coordinates alone"},
    {"x:f32[N,16,8,8] -> y = com.microsoft.nchwc.Upsample(x) {scales=[1,1,2,2], mode='linear'}", "y:f32[N,16,16,16]", "arith=160+28672*N", "7 per element"},
    {"x:f32[N,16,8,8] -> y = com.microsoft.nchwc.Upsample(x) {scales=[2,2]}", "error: a factor for every axis", "", "two are missing"},
};
// clang-format on

}  // namespace

TEST_CASE("a size that a later operator tells is not a symbol") {
  const char* text =
      "x:f32[N,24,8,8], w:f32[16,32,1,1] -> r = com.microsoft.nchwc.ReorderInput(x); y = com.microsoft.nchwc.Conv(r, "
      "w)";
  CHECK(analyze(graph(text)).symbols.empty());
}

TEST_CASE("com.microsoft convolutions") { check_cases(kContribConvCases); }
TEST_CASE("com.microsoft quantised convolutions and pools") { check_cases(kContribConvQuantized); }
TEST_CASE("com.ms.internal.nhwc convolutions and pools") { check_cases(kNhwc); }
TEST_CASE("com.ms.internal.nhwc norms and layouts") { check_cases(kNhwcOther); }
TEST_CASE("com.microsoft.nchwc") { check_cases(kNchwc); }

TEST_CASE("GridSample costs the same with channels last") {
  for (const std::string mode : {"linear", "nearest", "cubic"})
    for (const std::string padding : {"zeros", "border", "reflection"}) {
      const std::string attributes = ") {mode='" + mode + "', padding_mode='" + padding + "'}";
      const std::string first = "opset=20 : x:f32[2,3,4,5], g:f32[2,6,7,2] -> y = GridSample(x, g" + attributes;
      const std::string last =
          "com.ms.internal.nhwc=20 : x:f32[2,4,5,3], g:f32[2,6,7,2] -> y = com.ms.internal.nhwc.GridSample(x, g" +
          attributes;
      const OpCost a = analyze(graph(first)).totals.cost;
      const OpCost b = analyze(graph(last)).totals.cost;
      CAPTURE(attributes);
      CHECK(a.arith == b.arith);
      CHECK(a.comparisons == b.comparisons);
      CHECK(a.bytes() == b.bytes());
    }
}

}  // namespace pagoda::test
