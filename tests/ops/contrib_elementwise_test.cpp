// com.microsoft element-wise operators: biases, Gelus, dropout, complex products, rotary embeddings, gates.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kBiases[] = {
    // graph, types, cost, why
    {"x:f16[N,S,8], b:f16[8], k:f16[N,S,8] -> y = com.microsoft.BiasAdd(x, b, k)", "y:f16[N,S,8]", "arith=16*N*S read=32*N*S+16 written=16*N*S", "bias and residual"},
    {"x:f16[2,5,8], b:f16[7], k:f16[2,5,8] -> y = com.microsoft.BiasAdd(x, b, k)", "error: the last axis", "", "8 is not 7"},
    {"x:f32[N,8], b:f32[8] -> y = com.microsoft.BiasGelu(x, b)", "y:f32[N,8]", "arith=40*N special=8*N comparisons=0", "1 + 4 and erf"},
    {"x:f32[2,8], b:f32[7] -> y = com.microsoft.BiasGelu(x, b)", "error: the last axis", "", "8 is not 7"},
    {"x:f32[N,8] -> y = com.microsoft.Gelu(x)", "y:f32[N,8]", "arith=32*N special=8*N", "4 and erf"},
    {"y = com.microsoft.Gelu()", "error: input 0 is missing", "", "no input"},
    {"x:f32[N,8], b:f32[8] -> y = com.microsoft.FastGelu(x, b)", "y:f32[N,8]", "arith=64*N special=8*N", "1 + 7 and tanh"},
    {"x:f32[N,8] -> y = com.microsoft.FastGelu(x)", "y:f32[N,8]", "arith=56*N", "no bias"},
    {"x:f32[2,8], b:f32[7] -> y = com.microsoft.FastGelu(x, b)", "error: the last axis", "", "8 is not 7"},
    {"x:f32[N,8] -> y = com.microsoft.QuickGelu(x)", "y:f32[N,8]", "arith=16*N special=8*N", "alpha, product, sigmoid"},
    {"x:f32[N,8] -> y = com.microsoft.QuickGelu(x) {alpha=1.0}", "y:f32[N,8]", "arith=8*N special=8*N", "SiLU"},
    {"y = com.microsoft.QuickGelu()", "error: input 0 is missing", "", "no input"},
    {"x:f32[N,8], s:f32[] -> y = com.microsoft.ScaledSiLU(x, s)", "y:f32[N,8]", "arith=16*N special=8*N", "a scale"},
    {"x:f32[N,8] -> y = com.microsoft.ScaledSiLU(x)", "y:f32[N,8]", "arith=8*N", "none"},
    {"y = com.microsoft.ScaledSiLU()", "error: input 0 is missing", "", "no input"},
    {"x:f16[N,S,8], b:f16[8] -> y = com.microsoft.BiasSplitGelu(x, b)", "y:f16[N,S,4]", "arith=28*N*S special=4*N*S", "two biases, 4, a product"},
    {"x:f16[N,S,7], b:f16[7] -> y = com.microsoft.BiasSplitGelu(x, b)", "error: 7 does not divide by 2", "", "no halves"},
    {"x:f32[N,8], b:f32[1,8] -> y = com.microsoft.BiasSoftmax(x, b) {is_inner_broadcast=0}", "y:f32[N,8]", "arith=40*N special=8*N comparisons=8*N", "1 + 4 and exp"},
    {"b:f32[1,8] -> y = com.microsoft.BiasSoftmax(, b) {is_inner_broadcast=0}", "error: input 0 is missing", "", "no input"},
    {"x:f32[N,8], y:f32[N,8], g:f32[N,1] -> z = com.microsoft.GatedAdd(x, y, g)", "z:f32[N,8]", "arith=16*N read=68*N", "a product and a sum"},
    {"y:f32[N,8], g:f32[N,1] -> z = com.microsoft.GatedAdd(, y, g)", "error: input 0 is missing", "", "no input"},
    {"x:f32[N,8] -> y = com.microsoft.SampleOp(x)", "y:f32[N,8]", "arith=0 read=32*N written=32*N", "a copy"},
    {"y = com.microsoft.SampleOp()", "error: input 0 is missing", "", "no input"},
    {"x:f32[N,8], y:f16[3] -> z = com.microsoft.IsAllFinite(x, y)", "z:bool[]", "arith=16*N+5 comparisons=16*N+5 written=1", "a test per element and their conjunction"},
    {"x:f32[N,8], y:f16 -> z = com.microsoft.IsAllFinite(x, y)", "error: rank of input 1", "", "a rank that is not known"},
};

constexpr OpCase kDropout[] = {
    {"x:f32[N,8], b:f32[8], r:f32[N,8] -> y, m = com.microsoft.BiasDropout(x, b, r)", "y:f32[N,8], m:bool[N,8]", "arith=16*N written=40*N", "inference: bias and residual"},
    {"x:f32[N,8], b:f32[8], p:f32=0.5, t:bool=true -> y = com.microsoft.BiasDropout(x, b, , p, t)", "y:f32[N,8]", "arith=32*N comparisons=16*N", "training: 3 more"},
    {"b:f32[8] -> y = com.microsoft.BiasDropout(, b)", "error: input 0 is missing", "", "no input"},
    {"x:f32[N,8], b:f32[8], r:f32[N,8] -> y, m = com.microsoft.BitmaskBiasDropout(x, b, r)", "y:f32[N,8], m:u32[(8*N+31)//32]", "arith=16*N", "a bit per element"},
    {"b:f32[8] -> y = com.microsoft.BitmaskBiasDropout(, b)", "error: input 0 is missing", "", "no input"},
    {"x:f32[3,33], p:f32=0.5, t:bool=true -> y, m = com.microsoft.BitmaskDropout(x, p, t)", "y:f32[3,33], m:u32[4]", "arith=297 comparisons=198", "99 bits"},
    {"x:f32[N,32] -> y, m = com.microsoft.BitmaskDropout(x)", "y:f32[N,32], m:u32[N]", "arith=0", "symbolic, in inference a copy"},
    {"y = com.microsoft.BitmaskDropout()", "error: input 0 is missing", "", "no input"},
};

constexpr OpCase kRotary[] = {
    {"a:f32[N,4,2], b:f32[4,2] -> y = com.microsoft.ComplexMul(a, b)", "y:f32[N,4,2]", "arith=24*N", "6 per complex number"},
    {"a:f32[4,2], b:f32[4,3] -> y = com.microsoft.ComplexMul(a, b)", "error: parts of a complex number", "", "3 parts"},
    {"a:f32[N,4,2], b:f32[N,4,2] -> y = com.microsoft.ComplexMulConj(a, b)", "y:f32[N,4,2]", "arith=24*N", "as ComplexMul"},
    {"a:f32[4,2], b:f32[3,2] -> y = com.microsoft.ComplexMulConj(a, b)", "error: do not broadcast", "", "4 is not 3"},
    {"x:f16[B,S,64], p:i64[B,S], c:f16[128,8], s:f16[128,8] -> y = com.microsoft.RotaryEmbedding(x, p, c, s)", "y:f16[B,S,64]", "arith=192*B*S special=0 written=128*B*S", "3 per element"},
    {"x:f16[2,4,5,16], p:i64[1], c:f16[128,8], s:f16[128,8] -> y = com.microsoft.RotaryEmbedding(x, p, c, s)", "y:f16[2,4,5,16]", "arith=1920 read=1280+8+160+160", "heads apart; ten tokens pick at most ten rows"},
    {"x:f16[2,5,64], p:i64[2,5], c:f16[128,4], s:f16[128,4] -> y = com.microsoft.RotaryEmbedding(x, p, c, s) {num_heads=4, rotary_embedding_dim=8}", "y:f16[2,5,64]", "arith=960", "half of every head rotates"},
    {"x:f16[5,64], p:i64[5], c:f16[128,4], s:f16[128,4] -> y = com.microsoft.RotaryEmbedding(x, p, c, s)", "error: rank 2", "", "rank 3 or 4"},
    {"x:f16[B,S,64], p:i64[3,B,S], c:f16[128,8], s:f16[128,8] -> y = com.microsoft.MRotaryEmbedding(x, p, c, s) {num_heads=4, mrope_section=[4,2,2]}", "y:f16[B,S,64]", "arith=192*B*S", "three streams of positions, one rotation"},
    {"x:f16[2,5,64], p:i64[3,2,5], c:f16[128,8], s:f16[128,8] -> y = com.microsoft.MRotaryEmbedding(x, p, c, s) {num_heads=4}", "error: mrope_section", "", "sections are needed"},
    {"e:f32[B,S,16], q:f16[B,4,S,16], k:f16[B,2,S,16] -> y, z = com.microsoft.GemmaRotaryEmbedding(e, q, q, k, k)", "y:f16[B,4,S,16], z:f16[B,2,S,16]", "arith=288*B*S special=32*B*S precision=float16", "3 per element, sin and cos per angle"},
    {"e:f32[B,S,16], q:f16[B,4,S,16] -> y, z = com.microsoft.GemmaRotaryEmbedding(e, q, q)", "error: input 3 is missing", "", "no keys"},
};

constexpr OpCase kGates[] = {
    {"a:f16[B,T,4], d:f32[4], s:f32[4], b:f16[B,T,4] -> y, z = com.microsoft.LinearAttentionGate(a, d, s, b)", "y:f16[B,T,4], z:f16[B,T,4]", "arith=12*B*T special=12*B*T precision=float32", "softplus and sigmoid"},
    {"a:f16[B,T,4], d:f32[4], s:f32[4] -> y = com.microsoft.LinearAttentionGate(a, d, s)", "y:f16[B,T,4]", "special=8*B*T", "the decay alone"},
    {"a:f16[B,T,4], d:f32[3], s:f32[4] -> y = com.microsoft.LinearAttentionGate(a, d, s)", "error: the last axis", "", "4 is not 3"},
    {"k:f16[B,S,2,8], q:f16[B,S,2,8], v:f16[B,S,8], n:f16[2,8], m:f16[2,8] -> y = com.microsoft.EngramGate(k, q, v, n, m)", "y:f16[B,S,2,8]", "macs=16*B*S arith=128*B*S+8*B*S+10*B*S+16*B*S special=4*B*S+4*B*S comparisons=6*B*S", "two norms (4, 2 a gate), a dot, 5 a gate, a product"},
    {"k:f16[1,3,2,8], q:f16[1,3,2,8], v:f16[1,3,8], n:f16[2,8], m:f16[2,8], c:f16[2,8] -> y, z = com.microsoft.EngramGate(k, q, v, n, m, c)", "z:f16[1,3,2,8]", "macs=48 arith=690 special=30", "and a norm of the result"},
    {"k:f16[B,S,8], q:f16[B,S,8], v:f16[B,S,8], n:f16[8], m:f16[8] -> y = com.microsoft.EngramGate(k, q, v, n, m)", "error: rank 3", "", "branches are an axis"},
    {"x:f16[B,4,8], g:f16[B,4] -> y = com.microsoft.HyperConnectionPreMix(x, g)", "y:f16[B,8]", "macs=32*B arith=0", "four products per feature"},
    {"x:f16[2,32], g:f16[2,4] -> y = com.microsoft.HyperConnectionPreMix(x, g) {num_branches=4, reduction_scale=0.5}", "y:f16[2,8]", "macs=64 arith=16", "flattened, scaled"},
    {"x:f16[2,30], g:f16[2,4] -> y = com.microsoft.HyperConnectionPreMix(x, g) {num_branches=4}", "error: 30 does not divide by 4", "", "no whole branches"},
    {"x:f16[B,4,8], o:f16[B,8], p:f16[B,4], m:f16[B,4,4] -> y = com.microsoft.HyperConnectionPostMix(x, o, p, m)", "y:f16[B,4,8]", "macs=128*B arith=64*B", "four products per element, then the branch"},
    {"x:f16[2,32], o:f16[2,8], p:f16[2,4] -> y = com.microsoft.HyperConnectionPostMix(x, o, p) {num_branches=4}", "y:f16[2,32]", "macs=0 arith=128", "streams stay apart"},
    {"x:f16, o:f16[2,8], p:f16[2,4] -> y = com.microsoft.HyperConnectionPostMix(x, o, p)", "error: rank of input 0 is not known", "", "a rank that is not known"},
    {"x:f16[B,32], n:f16[32], d:f16[32,3], u:f16[3,32], j:f16[32,4], o:f16[B,8], p:f16[B,4] -> y, g, s = com.microsoft.HyperConnectionLowRankMix(x, n, d, u, j, o, p) {num_branches=4}", "y:f16[B,8], g:f16[B,4], s:f16[B,32]", "macs=320*B+32*B arith=64*B+136*B+3*B special=4*B+3*B+36*B", "previous block 2, norm 4 and 2 a branch, SiLU of the rank"},
    {"x:f16[1,32], n:f16[32], d:f16[32,3], u:f16[3,32], j:f16[32,4] -> y, g = com.microsoft.HyperConnectionLowRankMix(x, n, d, u, j) {num_branches=4, silu_alpha=1.5, reduction_scale=0.5, gate_div=2.0, gate_mul=2.0}", "y:f16[1,8], g:f16[1,4]", "macs=352 arith=136+6+8+8", "four scales"},
    {"x:f16[1,32], n:f16[32], d:f16[31,3], u:f16[3,32], j:f16[32,4] -> y, g = com.microsoft.HyperConnectionLowRankMix(x, n, d, u, j) {num_branches=4}", "error: rows of the down projection", "", "31 is not 32"},
    {"a:f16[B,64], b:f16[B,64] -> y = com.microsoft.SwiGLU(a, b)", "y:f16[B,64]", "arith=128*B special=64*B precision=float32", "gate and up"},
    {"a:f16[2,64] -> y = com.microsoft.SwiGLU(a) {limit=7.0, activation_alpha=1.702, activation_beta=1.0}", "y:f16[2,32]", "arith=448 special=64 comparisons=192", "both halves in one; clamps 3, α, β"},
    {"a:f16[2,63] -> y = com.microsoft.SwiGLU(a)", "error: 63 does not divide by 2", "", "no halves"},
};
// clang-format on

}  // namespace

TEST_CASE("com.microsoft biases, Gelus and tests") { check_cases(kBiases); }
TEST_CASE("com.microsoft dropout") { check_cases(kDropout); }
TEST_CASE("com.microsoft complex products and rotary embeddings") { check_cases(kRotary); }
TEST_CASE("com.microsoft gates") { check_cases(kGates); }

}  // namespace pagoda::test
