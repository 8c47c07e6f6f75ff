// Domain "trt", as NVIDIA's Model Optimizer 0.47 writes it for TensorRT: types, scales of blocks, and work.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kTensorrtCases[] = {
    // graph, types, cost, why
    {"x:f16[N,4], s:f16[], z:f8e4m3[1] -> y = trt.QuantizeLinear(x, s, z)", "y:f8e4m3[N,4]", "arith=20*N comparisons=12*N precision=float16", "as ai.onnx"},
    {"x:f32[6,4], s:f32[] -> y = trt.QuantizeLinear(x, s) {output_dtype=99}", "error: output_dtype", "", "no such type"},
    {"x:i4[256,N], s:f16[2,N] -> y = trt.DequantizeLinear(x, s) {axis=0, block_size=128}", "y:f16[256,N]", "arith=256*N read=132*N precision=float16", "blocks of int4"},
    {"x:f8e4m3[N,4], s:f32[2,2,2] -> y = trt.DequantizeLinear(x, s)", "error: rank 3", "", "a scale is one, a list, or of the input's rank"},
    {"x:f32[N,4], s:f32[] -> y = trt.TRT_FP8QuantizeLinear(x, s)", "y:f8e4m3[N,4]", "arith=16*N comparisons=12*N read=16*N+4 written=4*N precision=float32", "e4m3 without a zero point"},
    {" -> y = trt.TRT_FP8QuantizeLinear()", "error: input 0", "", "an input is mandatory"},
    {"x:f8e4m3[N,4], s:f16[] -> y = trt.TRT_FP8DequantizeLinear(x, s)", "y:f16[N,4]", "arith=4*N read=4*N+2 written=8*N precision=float16", "the scale's type"},
    {"x:f8e4m3[N,4], s:f16[2,2,2] -> y = trt.TRT_FP8DequantizeLinear(x, s)", "error: rank 3", "", "a scale is one, a list, or of the input's rank"},
    {"x:f16[256,N], s:f16[2,N] -> y = trt.TRT_INT4QuantizeLinear(x, s) {axis=0, block_size=128}", "y:i4[256,N]", "arith=1024*N written=128*N", "half a byte each"},
    {" -> y = trt.TRT_INT4QuantizeLinear()", "error: input 0", "", "an input is mandatory"},
    {"x:i4[256,N], s:bf16[2,N] -> y = trt.TRT_INT4DequantizeLinear(x, s) {axis=0, block_size=128}", "y:bf16[256,N]", "arith=256*N read=132*N precision=bfloat16", "the scale's type"},
    {"x:i4[N,4], s:f16[2,2,2] -> y = trt.TRT_INT4DequantizeLinear(x, s)", "error: rank 3", "", "a scale is one, a list, or of the input's rank"},
    {"x:f16[N,64], s:f32[] -> y, b = trt.TRT_FP4DynamicQuantize(x, s) {axis=-1, block_size=16, scale_type=17}", "y:f4[N,64], b:f8e4m3[N,4]", "arith=408*N comparisons=332*N read=128*N+4 written=36*N precision=float16", "blocks of 16 with a scale in e4m3 each"},
    {"x:f16[N,40], s:f32[] -> y, b = trt.TRT_FP4DynamicQuantize(x, s)", "y:f4[N,40], b:f8e4m3[N,3]", "arith=258*N", "the last block is not full"},
    {"x:f16[N,64], s:f32[] -> y, b = trt.TRT_FP4DynamicQuantize(x, s) {block_size=0}", "error: block_size is 0", "", "no block"},
    {"x:f32[256,N] -> y = trt.TRT_FP4QDQ(x) {block_size=16}", "y:f32[256,N]", "arith=1792*N+1536*ceil_div(N,16) read=1024*N written=1024*N", "there and back"},
    {" -> y = trt.TRT_FP4QDQ()", "error: input 0", "", "an input is mandatory"},
    {"x:f16[N,64] -> y, b = trt.TRT_MXFP8DynamicQuantize(x) {axis=-1, block_size=32, output_dtype=17}", "y:f8e4m3[N,64], b:f8e8m0[N,2]", "arith=388*N special=4*N comparisons=322*N written=66*N precision=float16", "blocks of 32 with a power of two each"},
    {"x:f16[64,N] -> y, b = trt.TRT_MXFP8DynamicQuantize(x) {axis=0}", "y:f8e4m3[64,N], b:f8e8m0[2,N]", "special=4*N", "along another axis"},
    {"x:f16[N,64] -> y, b = trt.TRT_MXFP8DynamicQuantize(x) {axis=2}", "error: axis 2", "", "outside the rank"},
    {"x:f16[N,64], b:u8[N,2] -> y = trt.TRT_MXFP8QuantizeLinear(x, b)", "y:f8e4m3[N,64]", "arith=256*N written=64*N", "with the scales of the file"},
    {" -> y = trt.TRT_MXFP8QuantizeLinear()", "error: input 0", "", "an input is mandatory"},
    {"x:f8e4m3[N,64], b:u8[N,2] -> y = trt.TRT_MXFP8DequantizeLinear(x, b) {axis=-1, block_size=32, output_dtype=f16}", "y:f16[N,64]", "arith=64*N read=66*N written=128*N precision=float16", "a stated type"},
    {"x:f8e4m3[N,64], b:u8[N,2] -> y = trt.TRT_MXFP8DequantizeLinear(x, b)", "y:f32[N,64]", "precision=float32", "none stated"},
    {"x:f8e4m3[N,64], b:u8[N,2] -> y = trt.TRT_MXFP8DequantizeLinear(x, b) {output_dtype=i8}", "error: output_dtype is 3", "", "not a float"},
};
// clang-format on

}  // namespace

TEST_CASE("TensorRT's own conversions to 8 and 4 bits") { check_cases(kTensorrtCases); }

}  // namespace pagoda::test
