// Quantization: element types of every opset, and work per element.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kQuantizeCases[] = {
    // graph, types, cost, why
    {"x:f32[N,4], s:f32[], z:i8[] -> y = QuantizeLinear(x, s, z)", "y:i8[N,4]", "arith=20*N comparisons=12*N read=16*N+5 written=4*N precision=float32", "divide, round, zero point, clamp twice"},
    {"x:f16[N,4], s:f16[] -> y = QuantizeLinear(x, s)", "y:u8[N,4]", "arith=16*N precision=float16", "uint8 without zero point"},
    {"opset=21: x:f32[6,4], s:f32[3,4] -> y = QuantizeLinear(x, s) {output_dtype=i4, block_size=2, axis=0}", "y:i4[6,4]", "written=12", "blocks; half a byte each"},
    {"opset=23: x:f16[6,4], s:f32[] -> y = QuantizeLinear(x, s) {output_dtype=f8e4m3, precision=f16}", "y:f8e4m3[6,4]", "precision=float16", "a stated precision"},
    {"opset=10: x:f32[6,4], s:f32[], z:u8[]=0 -> y = QuantizeLinear(x, s, z)", "y:u8[6,4]", "arith=120", "opset 10"},
    {"x:f32[2,3,4], s:f32[2,3] -> y = QuantizeLinear(x, s)", "error: rank 2", "", "a scale is one, a list, or of the input's rank"},
    {"x:f32[2,3], s:f32[3] -> y = QuantizeLinear(x, s) {axis=2}", "error: axis 2", "", "outside the rank"},
    {"x:f32[2,3], s:f32[] -> y = QuantizeLinear(x, s) {output_dtype=99}", "error: output_dtype", "", "no such type"},
    {"x:i8[N,4], s:f32[4], z:i8[4] -> y = DequantizeLinear(x, s, z)", "y:f32[N,4]", "arith=8*N comparisons=0 read=4*N+20 written=16*N precision=float32", "subtract, multiply"},
    {"x:i4[8,4], s:bf16[] -> y = DequantizeLinear(x, s)", "y:bf16[8,4]", "arith=32 read=18 precision=bfloat16", "the scale's type since opset 19"},
    {"opset=23: x:i4[8,4], s:f32[] -> y = DequantizeLinear(x, s) {output_dtype=f16}", "y:f16[8,4]", "precision=float16", "a stated type"},
    {"opset=13: x:i32[8,C], s:f32[C] -> y = DequantizeLinear(x, s)", "y:f32[8,C]", "arith=8*C", "int32 has no zero point"},
    {"x:i8[2,3,4], s:f32[2,3] -> y = DequantizeLinear(x, s)", "error: rank 2", "", "a scale is one, a list, or of the input's rank"},
    {"x:f32[N,8] -> y, s, z = DynamicQuantizeLinear(x)", "y:u8[N,8], s:f32[], z:u8[]", "arith=56*N+9 comparisons=40*N+5 read=32*N written=8*N+5", "the range, then quantization"},
    {"x:f32[3] -> y, s, z = DynamicQuantizeLinear(x)", "y:u8[3]", "arith=30", "static"},
    {" -> y, s, z = DynamicQuantizeLinear()", "error: input 0", "", "an input is mandatory"},
};
// clang-format on

}  // namespace

TEST_CASE("quantization and its inverse") { check_cases(kQuantizeCases); }

}  // namespace pagoda::test
