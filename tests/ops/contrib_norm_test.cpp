// com.microsoft normalizations with residuals, embeddings, gates and activations.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kSkip[] = {
    // graph, types, cost, why
    {"x:f32[B,S,768], k:f32[B,S,768], g:f32[768], b:f32[768], c:f32[768] -> y, , , s = com.microsoft.SkipLayerNormalization(x, k, g, b, c)",
     "y:f32[B,S,768], s:f32[B,S,768]", "macs=0 arith=6912*B*S+3*B*S special=B*S comparisons=0 read=6144*B*S+9216 written=6144*B*S", "residual, bias, moments 4, normalise, gamma, beta: 9"},
    {"x:f16[2,5,8], k:f16[5,8], g:f16[8] -> y, m, v = com.microsoft.SkipLayerNormalization(x, k, g)", "y:f16[2,5,8], m:f32[2,5,1], v:f32[2,5,1]", "arith=590 special=10", "7 per element; statistics in float32"},
    {"x:f32[2,5,8], k:f32[2,5,8], g:f32[7] -> y = com.microsoft.SkipLayerNormalization(x, k, g)", "error: hidden size and gamma", "", "8 is not 7"},
    {"x:f16[B,S,64], k:f16[B,S,64], g:f16[64] -> y, , , s = com.microsoft.SkipSimplifiedLayerNormalization(x, k, g)", "y:f16[B,S,64], s:f16[B,S,64]", "arith=320*B*S+2*B*S special=B*S", "residual, square, add, normalise, gamma: 5"},
    {"x:f32[T,8], k:f32[T,8], g:f32[8], b:f32[8] -> y = com.microsoft.SkipSimplifiedLayerNormalization(x, k, g, b)", "y:f32[T,8]", "arith=50*T", "packed tokens, a bias"},
    {"x:f32[2,5,8], k:f32[2,5,7], g:f32[8] -> y = com.microsoft.SkipSimplifiedLayerNormalization(x, k, g)", "error: hidden size of input and skip", "", "8 is not 7"},
};

constexpr OpCase kEmbed[] = {
    {"i:i32[B,S], s:i32[B,S], w:f32[1000,8], p:f32[16,8], t:f32[2,8], g:f32[8], b:f32[8], m:i32[B,S] -> y, n, e = com.microsoft.EmbedLayerNormalization(i, s, w, p, t, g, b, m)",
     "y:f32[B,S,8], n:i32[B], e:f32[B,S,8]", "arith=75*B*S special=B*S written=64*B*S+4*B", "two sums and 7 per element"},
    {"i:i32[2,5], w:f16[1000,8], p:f16[16,8], g:f16[8], b:f16[8] -> y = com.microsoft.EmbedLayerNormalization(i, , w, p, , g, b)", "y:f16[2,5,8]", "arith=640+30 read=40+160+80+32 precision=float16", "no segments; five rows of positions serve both sequences"},
    {"i:i32[2,5], w:f16[1000,8], p:f16[16,8], g:f16[8], b:f16[8], q:i32[2,5] -> y = com.microsoft.EmbedLayerNormalization(i, , w, p, , g, b, , q)", "y:f16[2,5,8]", "read=40+160+160+32+40", "positions of every token"},
    {"i:i32[2,5], w:f16[1000,8], p:f16[16,7], g:f16[8], b:f16[8] -> y = com.microsoft.EmbedLayerNormalization(i, , w, p, , g, b)", "error: hidden sizes of the tables", "", "7 is not 8"},
    {"i:i32[B,S], w:u8[1000,8], p:u8[16,8], g:u8[8], b:u8[8], s:f32=0.1, z:u8=1 -> y, n = com.microsoft.QEmbedLayerNormalization(i, , w, p, , g, b, , s, s, , s, s, z, z, , z, z)",
     "y:f32[B,S,8], n:i32[B]", "arith=99*B*S+32 special=B*S", "rows and parameters are dequantised"},
    {"i:i32[5], w:u8[1000,8], p:u8[16,8], g:u8[8], b:u8[8], s:f32=0.1, z:u8=1 -> y, n = com.microsoft.QEmbedLayerNormalization(i, , w, p, , g, b, , s, s, , s, s, z, z, , z, z)", "error: rank 1", "", "sequences of a batch"},
};

constexpr OpCase kContribNormGroup[] = {
    {"x:f16[N,8,8,32], g:f32[32], b:f32[32] -> y = com.microsoft.GroupNorm(x, g, b) {groups=4, activation=1}", "y:f16[N,8,8,32]", "arith=14336*N+108*N special=2048*N+4*N", "7 with SiLU per element; 3 per group, 3 per channel"},
    {"x:f16[2,32,8,8], g:f32[32], b:f32[32] -> y = com.microsoft.GroupNorm(x, g, b) {groups=4, activation=0, channels_last=0}", "y:f16[2,32,8,8]", "arith=24576+216 special=8", "channels first, no activation"},
    {"x:f16[2,8,8,30], g:f32[30], b:f32[30] -> y = com.microsoft.GroupNorm(x, g, b) {groups=4, activation=0}", "error: 30 channels", "", "no whole groups"},
    {"x:f16[N,8,8,32], g:f32[32], b:f32[32], k:f16[N,32], c:f16[32] -> y, s = com.microsoft.SkipGroupNorm(x, g, b, k, c) {groups=4, activation=0}", "y:f16[N,8,8,32], s:f16[N,8,8,32]", "arith=16384*N+108*N", "sum and bias besides"},
    {"x:f16[2,8,8,32], g:f32[30], b:f32[32], k:f16[2,32] -> y = com.microsoft.SkipGroupNorm(x, g, b, k) {groups=4, activation=0}", "error: channels and gamma", "", "30 is not 32"},
    {"x:f16[B,3,16], s:f32[3,16] -> y = com.microsoft.BranchwiseRMSNorm(x, s)", "y:f16[B,3,16]", "arith=192*B+6*B special=3*B precision=float32", "4 per element, 2 and a root per branch"},
    {"x:f16[2,48] -> y = com.microsoft.BranchwiseRMSNorm(x) {num_branches=3}", "y:f16[2,48]", "arith=288+12 special=6", "flattened, no scale"},
    {"x:f16 -> y = com.microsoft.BranchwiseRMSNorm(x)", "error: rank of input 0 is not known", "", "a rank that is not known"},
    {"x:f16[B,T,48], s:f16[16], z:f16[B,T,48] -> y = com.microsoft.GatedRMSNorm(x, s, z)", "y:f16[B,T,48]", "arith=288*B*T+6*B*T special=48*B*T+3*B*T precision=float32", "RMS norm 3, scale, SiLU 1, product; three heads"},
    {"x:f16[2,48], s:f16[48], z:f16[2,48] -> y = com.microsoft.GatedRMSNorm(x, s, z) {activation='sigmoid'}", "y:f16[2,48]", "arith=480+4 special=98", "a sigmoid gate"},
    {"x:f16[2,48], s:f16[15], z:f16[2,48] -> y = com.microsoft.GatedRMSNorm(x, s, z)", "error: 48 does not divide by 15", "", "no whole heads"},
    {"x:bf16[1,5,4,96], s:f32[64], p:i64[1,5], c:f32[128,16], n:f32[128,16] -> y, z = com.microsoft.RMSNormRotary(x, s, p, c, n) {rotary_embedding_dim=32, input_width=64, input_start=32}", "y:bf16[1,5,256], z:f32[1,5,4,64]", "arith=5120+40+1920 special=20 read=2560+256+40+640 precision=float32", "64 of 96 are normalised, 32 rotate; five rows of the tables"},
    {"x:f16[2,5,4,64], s:f32[64], p:i64[1], c:f32[128,32], n:f32[128,32] -> y = com.microsoft.RMSNormRotary(x, s, p, c, n) {rotary_embedding_dim=64, output_fp16=1, flatten_batch=1}", "y:f16[1,10,256]", "arith=10240+80+7680", "the batch joins the sequence"},
    {"x:f16[5,4,64], s:f32[64], p:i64[1], c:f32[128,32], n:f32[128,32] -> y = com.microsoft.RMSNormRotary(x, s, p, c, n) {rotary_embedding_dim=64}", "error: rank 3", "", "batch, sequence, heads, width"},
};
// clang-format on

}  // namespace

TEST_CASE("com.microsoft norms of a residual sum") { check_cases(kSkip); }
TEST_CASE("com.microsoft embeddings with layer norm") { check_cases(kEmbed); }
TEST_CASE("com.microsoft group and RMS norms") { check_cases(kContribNormGroup); }

}  // namespace pagoda::test
