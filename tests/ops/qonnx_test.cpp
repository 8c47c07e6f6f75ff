// Quantisation to any number of bits, as QONNX writes it: types, work by the definitions, weights as stored.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kQonnxCases[] = {
    // graph, types, cost, why
    {"x:f32[N,4], s:f32[], z:f32[], b:f32[] -> y = qonnx.custom_op.general.Quant(x, s, z, b) {signed=1, narrow=0}", "y:f32[N,4]", "arith=28*N comparisons=12*N read=16*N+12 written=16*N precision=float32", "there and back: floats stay"},
    {"x:f32[N,4], s:f32[], z:f32[], b:f32[] -> y = onnx.brevitas.Quant(x, s, z, b)", "y:f32[N,4]", "arith=28*N", "the older domain"},
    {" -> y = qonnx.custom_op.general.Quant()", "error: input 0", "", "an input is mandatory"},
    {"x:f32[N,8], w:f32[8,8]=const, s:f32=0.5, z:f32=0.0, b:f32=4.0 -> q = qonnx.custom_op.general.Quant(w, s, z, b); y = MatMul(x, q)", "y:f32[N,8]", "macs=64*N arith=0 params=67 param_bytes=268", "4-bit weights are stored as float32, and quantised at load"},
    {"x:f32[2,3], s:f32[2,1], z:f32[], b:f32[] -> y = qonnx.custom_op.general.IntQuant(x, s, z, b)", "y:f32[2,3]", "arith=42 comparisons=18", "a scale per channel"},
    {"x:f32[N,4], s:f32[] -> y = qonnx.custom_op.general.BipolarQuant(x, s)", "y:f32[N,4]", "arith=8*N comparisons=4*N", "the sign, scaled"},
    {"x:f32[N,4], s:f32[], z:f32[], a:f32[], b:f32[] -> y = qonnx.custom_op.general.Trunc(x, s, z, a, b)", "y:f32[N,4]", "arith=28*N comparisons=8*N", "two roundings"},
    {"x:f32[N,4], s:f32[], z:f32[], a:f32[], t:f32[], b:f32[] -> y = qonnx.custom_op.general.Trunc(x, s, z, a, t, b)", "y:f32[N,4]", "arith=36*N comparisons=16*N", "version 2 clamps"},
    {"x:f32[N,4], s:f32[], e:f32[], m:f32[], b:f32[], t:f32[] -> y = qonnx.custom_op.general.FloatQuant(x, s, e, m, b, t)", "y:f32[N,4]", "arith=48*N special=8*N comparisons=20*N", "log2 and 2 to a power"},
    {"x:f32[N,6,5,5], t:f32[6,15]=const -> y = finn.custom_op.general.MultiThreshold(x, t) {out_dtype='UINT4'}", "y:f32[N,6,5,5]", "arith=4350*N comparisons=2250*N params=90", "15 thresholds: 15 comparisons and 14 additions"},
    {"x:f32[N,6], t:f32[1,3]=const -> y = qonnx.custom_op.general.MultiThreshold(x, t) {out_scale=0.5, out_bias=-1.5}", "y:f32[N,6]", "arith=42*N comparisons=18*N", "scale and bias"},
    {"x:f32[N,6], t:f32[3]=const -> y = qonnx.custom_op.general.MultiThreshold(x, t)", "error: rank", "", "channels by thresholds"},
};
// clang-format on

}  // namespace

TEST_CASE("QONNX's quantisers to any number of bits") { check_cases(kQonnxCases); }

}  // namespace pagoda::test
