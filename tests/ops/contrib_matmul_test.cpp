// com.microsoft matrix products: transpositions, fused activations, weights packed to a few bits; Inverse against an
// elimination that counts its operations.
#include <doctest/doctest.h>

#include <string>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kFused[] = {
    // graph, types, cost, why
    {"a:f32[3,S,5], b:f32[5,6] -> y = com.microsoft.FusedMatMul(a, b) {alpha=0.5}", "y:f32[3,S,6]", "macs=90*S arith=18*S comparisons=0 read=60*S+120 written=72*S", "a product with alpha per element"},
    {"a:f32[3,5,4], b:f32[3,6,5] -> y = com.microsoft.FusedMatMul(a, b) {transA=1, transB=1}", "y:f32[3,4,6]", "macs=360 arith=0", "both transposed"},
    {"a:f32[4,3,5], b:f32[3,5,6] -> y = com.microsoft.FusedMatMul(a, b) {transBatchA=1}", "y:f32[3,4,6]", "macs=360", "rows lead the batch"},
    {"a:f32[5,3,4], b:f32[5,3,6] -> y = com.microsoft.FusedMatMul(a, b) {transA=1, transBatchA=1, transBatchB=1}", "y:f32[3,4,6]", "macs=360", "both kinds of transposition"},
    {"a:f32[4,2,3,5], b:f32[2,3,5,6] -> y = com.microsoft.FusedMatMul(a, b) {transBatchA=1}", "y:f32[2,3,4,6]", "macs=720", "two batch axes"},
    {"a:f32[5], b:f32[5,6] -> y = com.microsoft.FusedMatMul(a, b) {transA=1}", "y:f32[6]", "macs=30", "a vector has nothing to transpose"},
    {"a:f32[3,4], b:f32[5,6] -> y = com.microsoft.FusedMatMul(a, b)", "error: inner dims", "", "4 is not 5"},
    {"a:f32, b:f32[5,6] -> y = com.microsoft.FusedMatMul(a, b)", "y:f32", "mark=unmodelled", "a rank that is not known"},
    {"a:f32[3,5,S], b:f32[5,6] -> y = com.microsoft.TransposeMatMul(a, b) {transA=1}", "y:f32[3,S,6]", "macs=90*S", "as FusedMatMul"},
    {"a:f32[3,4], b:f32[5,6] -> y = com.microsoft.TransposeMatMul(a, b)", "error: inner dims", "", "4 is not 5"},
    {"a:f32[S,5], b:f32[5,6] -> y = com.microsoft.FusedMatMulActivation(a, b) {activation='Relu'}", "y:f32[S,6]", "macs=30*S arith=6*S comparisons=6*S", "a comparison per element"},
    {"a:f32[S,5], b:f32[5,6] -> y = com.microsoft.FusedMatMulActivation(a, b) {activation='Softmax', activation_axis=1, alpha=2.0}", "y:f32[S,6]", "macs=30*S arith=30*S special=6*S comparisons=6*S", "alpha and a softmax"},
    {"a:f32[3,5], b:f32[5,6] -> y = com.microsoft.FusedMatMulActivation(a, b) {activation='Wavelet'}", "error: 'Wavelet'", "", "no known activation"},
    {"a:f32[M,4], b:f32[4,5], c:f32[5] -> y = com.microsoft.FusedGemm(a, b, c) {activation='Relu'}", "y:f32[M,5]", "macs=20*M arith=10*M comparisons=5*M read=16*M+100 written=20*M", "bias and Relu"},
    {"a:f32[4,3], b:f32[5,4] -> y = com.microsoft.FusedGemm(a, b) {activation='LeakyRelu', activation_alpha=0.1, transA=1, transB=1}", "y:f32[3,5]", "macs=60 arith=30 comparisons=15", "no bias"},
    {"a:f32[3,4], b:f32[4,5], c:f32[1,5] -> y = com.microsoft.FusedGemm(a, b, c) {activation='Sigmoid', alpha=0.5, beta=2.0}", "y:f32[3,5]", "macs=60 arith=35 special=15", "alpha per element, beta per element of C"},
    {"a:f32[3,4], b:f32[4,5], c:f32[6] -> y = com.microsoft.FusedGemm(a, b, c)", "error: dims of C", "", "6 is not 5"},
    {"x:f16[B,S,4], w:f16[4,5], b:f16[5] -> y = com.microsoft.GemmFastGelu(x, w, b)", "y:f16[B,S,5]", "macs=20*B*S arith=40*B*S special=5*B*S", "bias, 5 mul, 2 add, tanh"},
    {"x:f16[2,4], w:f16[3,5] -> y = com.microsoft.GemmFastGelu(x, w)", "error: inner dims", "", "4 is not 3"},
    {"a:f8e4m3[M,32], b:f8e4m3[16,32], s:f32[1], t:f32[1], u:f32[1] -> y = com.microsoft.GemmFloat8(a, b, , s, t, u) {transB=1, dtype=10, activation='RELU'}",
     "y:f16[M,16]", "macs=512*M arith=48*M comparisons=16*M read=32*M+512+12 written=32*M precision=float8e4m3fn", "two scalings and Relu"},
    {"a:f16[3,32], b:f16[32,16], c:f16[16] -> y = com.microsoft.GemmFloat8(a, b, c)", "y:f32[3,16]", "macs=1536 arith=0 read=192+1024", "beta is 0 by default: C is not read"},
    {"a:f16[3,32], b:f16[32,16], c:f16[16] -> y = com.microsoft.GemmFloat8(a, b, c) {beta=1.0, dtype=99}", "error: dtype is 99", "", "no such type"},
    {"a:f32[3,4], b:f32[4,5] -> y = com.microsoft.SparseToDenseMatMul(a, b)", "y:f32[3,5]", "mark=unmodelled", "stored elements are data"},
    {"a:f32[3,4], b:f32[5,5] -> y = com.microsoft.SparseToDenseMatMul(a, b)", "error: inner dims", "", "4 is not 5"},
};

constexpr OpCase kContribMatmulPacked[] = {
    {"a:f16[B,S,64], w:u8[32,2,16]=const, s:f16[32,2]=const -> y = com.microsoft.MatMulNBits(a, w, s) {K=64, N=32, bits=4, block_size=32}",
     "y:f16[B,S,32]", "macs=2048*B*S arith=4096 comparisons=0 read=128*B*S+1024+128 written=64*B*S param_bytes=1024+128 precision=float16", "half a byte a weight; the default zero point comes off"},
    {"a:f16[1,64], w:u8[32,2,16]=const, s:f16[64]=const, z:u8[32]=const, b:f16[32]=const -> y = com.microsoft.MatMulNBits(a, w, s, z, , b) {K=64, N=32, bits=4, block_size=32}",
     "y:f16[1,32]", "macs=2048 arith=4128 read=128+1024+128+32+64", "packed zero points and a bias"},
    {"a:f32[S,40], w:u8[32,2,32], s:f32[32,2] -> y = com.microsoft.MatMulNBits(a, w, s) {K=40, N=32, bits=8, block_size=32}", "y:f32[S,32]", "macs=1280*S arith=2560", "the second block is not full"},
    {"a:f16[1,64], w:u8[32,2,16], s:f16[32,2] -> y = com.microsoft.MatMulNBits(a, w, s) {K=64, N=32, bits=8, block_size=32}", "error: B holds 1024 bytes, expected 2048", "", "8 bits a weight"},
    {"a:f16[1,60], w:u8[32,2,16], s:f16[32,2] -> y = com.microsoft.MatMulNBits(a, w, s) {K=64, N=32, bits=4, block_size=32}", "error: inner dims", "", "60 is not 64"},
    {"a:f16[B,S,64], g:u8[32,2,16], s:f16[32,2], u:u8[32,2,16] -> y = com.microsoft.MatMulNBitsMlp(a, , , g, s, , u, s) {K=64, N=32, block_size=32, activation='silu'}",
     "y:f16[B,S,32]", "macs=4096*B*S arith=8192+64*B*S special=32*B*S", "gate and up"},
    {"a:f16[B,S,64], k:f16[B,S,64], n:f16[64], g:u8[32,2,16], s:f16[32,2], u:u8[32,2,16], b:f16[32] -> y, r = com.microsoft.MatMulNBitsMlp(a, k, n, g, s, b, u, s, b) {K=64, N=32, block_size=32, activation='silu'}",
     "y:f16[B,S,32], r:f16[B,S,64]", "macs=4096*B*S arith=8192+128*B*S+320*B*S+2*B*S special=33*B*S", "residual, RMS norm (5 per element), biases"},
    {"a:f16[2,60], g:u8[32,2,16], s:f16[32,2] -> y = com.microsoft.MatMulNBitsMlp(a, , , g, s, , g, s) {K=64, N=32, block_size=32, activation='silu'}", "error: inner dims", "", "60 is not 64"},
    {"a:f16[B,S,64], n:f16[64], q:u8[32,2,16], s:f16[32,2], k:u8[16,2,16], t:f16[16,2] -> y, z, w = com.microsoft.MatMulNBitsQkv(a, , n, q, s, , k, t, , k, t) {K=64, Nq=32, Nkv=16, block_size=32}",
     "y:f16[B,S,32], z:f16[B,S,16], w:f16[B,S,16]", "macs=4096*B*S arith=8192+258*B*S special=B*S", "RMS norm and three projections"},
    {"a:f16[2,64], r:f16[2,64], n:f16[64], q:u8[32,2,16], s:f16[32,2], b:f16[32], k:u8[16,2,16], t:f16[16,2], c:f16[16] -> y, z, w, o = com.microsoft.MatMulNBitsQkv(a, r, n, q, s, b, k, t, c, k, t, c) {K=64, Nq=32, Nkv=16, block_size=32}",
     "y:f16[2,32], z:f16[2,16], w:f16[2,16], o:f16[2,64]", "macs=8192 arith=8192+128+516+128 special=2", "a residual, and biases"},
    {"a:f16[2,60], n:f16[64], q:u8[32,2,16], s:f16[32,2] -> y, z, w = com.microsoft.MatMulNBitsQkv(a, , n, q, s, , q, s, , q, s) {K=64, Nq=32, Nkv=32, block_size=32}", "error: inner dims", "", "60 is not 64"},
    {"a:f32[S,64], b:u8[1024], m:f32[128] -> y = com.microsoft.MatMulBnb4(a, b, m) {K=64, N=32, block_size=16, quant_type=1}", "y:f32[S,32]", "macs=2048*S arith=2048 read=256*S+1024+512", "a table value times its block's scale"},
    {"a:f32[S,32], b:u8[1024], m:f32[128] -> y = com.microsoft.MatMulBnb4(a, b, m) {K=64, N=32, block_size=16, quant_type=0, transB=0}", "y:f32[S,64]", "macs=2048*S", "the other way"},
    {"a:f32[S,64], b:u8[1000], m:f32[128] -> y = com.microsoft.MatMulBnb4(a, b, m) {K=64, N=32, block_size=16, quant_type=1}", "error: B holds 1000 bytes", "", "1024 are needed"},
    {"x:f16[B,64], w:u8[32,36]=const -> y = com.microsoft.MatMulPacked(x, w) {packed_type=8, N=32, K=64, activation_type='silu'}", "y:f16[B,32]", "macs=2048*B arith=2048+32*B special=32*B read=128*B+1152 params=2048 param_bytes=1152", "a scale per weight, SiLU"},
    {"x:f16[2,64], w:u8[32,36], s:f32[] -> y = com.microsoft.MatMulPacked(x, w, s) {packed_type=8, N=32, K=64}", "y:f16[2,32]", "arith=2048+64", "a global scale per output"},
    {"x:f16[2,63], w:u8[32,36] -> y = com.microsoft.MatMulPacked(x, w) {packed_type=8, N=32, K=64}", "error: inner dims", "", "63 is not 64"},
    {"x:f16[B,64], w:u8[32,4,8], s:f16[32,4], a:u8[8,4,8], t:f16[8,4], b:u8[32,1,8], u:f16[32,1] -> y = com.microsoft.MatMulNBitsQLoRA(x, w, s, a, t, b, u) {N=32, K=64, bits=4, block_size=16, lora_bits=4, lora_block_size=16}", "y:f16[B,32]", "macs=2816*B arith=5632+32*B", "rank 8: 64·32 + 64·8 + 8·32 weights, added"},
    {"x:f16[2,64], w:u8[32,4,8], s:f16[32,4], a:u8[0,4,8], t:f16[8,4], b:u8[32,0,8], u:f16[32,1] -> y = com.microsoft.MatMulNBitsQLoRA(x, w, s, a, t, b, u) {N=32, K=64}", "y:f16[2,32]", "macs=4096 arith=4096", "an empty adapter"},
    {"x:f16[B,64], w:f16[64,40] -> r, y = com.microsoft.RouterGateUpProj(x, w) {router_size=8, activation='swiglu'}", "r:f16[B,8], y:f16[B,16]", "macs=2560*B arith=32*B special=16*B", "one product, SwiGLU of 16"},
    {"x:f16[B,64], w:f16[64,40] -> r, y = com.microsoft.RouterGateUpProj(x, w) {router_size=7}", "error: 33 does not divide by 2", "", "no equal halves"},
    {"a:f32[S,64], b:u8[1280], n:i64[2]=[64,32] -> y = com.microsoft.MatMulFpQ4(a, b, n)", "y:f32[S,32]", "macs=2048*S arith=4096 read=256*S+1280", "a blob whose shape is a value"},
    {"a:f32[S,64], b:u8[1280], n:i64[2] -> y = com.microsoft.MatMulFpQ4(a, b, n)", "y:f32[S,?]", "", "a shape that is data"},
    {"a:f32[2,64], b:u8[1280], n:i64[2]=[60,32] -> y = com.microsoft.MatMulFpQ4(a, b, n)", "error: inner dims", "", "64 is not 60"},
    {"a:bf16[S,64], b:u8[32,32], w:u8[32,4], g:f32[], c:bf16[32] -> y = com.microsoft.MatMulBlockQuantizedFp4Weight(a, b, w, g, , c)", "y:bf16[S,32]", "macs=2048*S arith=2048+128+32*S read=128*S+1024+128+4+64", "two weights a byte; block scales meet the global one"},
    {"a:bf16[2,60], b:u8[32,32], w:u8[32,4], g:f32[] -> y = com.microsoft.MatMulBlockQuantizedFp4Weight(a, b, w, g)", "error: inner dims", "", "60 is not 64"},
    {"a:f16[S,64], b:f8e4m3[32,64], w:f32[32,1] -> y = com.microsoft.MatMulBlockQuantizedFp8Weight(a, b, w)", "y:f16[S,32]", "macs=2048*S arith=2048 precision=float16", "weights alone in 8 bits"},
    {"a:f16[S,64], b:f8e4m3[32,64], w:f32[32,1], s:f32[], c:f16[32] -> y = com.microsoft.MatMulBlockQuantizedFp8Weight(a, b, w, s, c)", "y:f16[S,32]", "macs=2048*S arith=2048+128*S+32*S precision=float8e4m3fn", "activations as well"},
    {"a:f16[2,60], b:f8e4m3[32,64], w:f32[32,1] -> y = com.microsoft.MatMulBlockQuantizedFp8Weight(a, b, w)", "error: inner dims", "", "60 is not 64"},
    {"x:f32[B,4,4] -> y = com.microsoft.Inverse(x)", "y:f32[B,4,4]", "arith=106*B comparisons=6*B", "4·25 and 6 comparisons"},
    {"x:f32[N,N] -> y = com.microsoft.Inverse(x)", "y:f32[N,N]", "", "symbolic"},
    {"x:f32[3,4] -> y = com.microsoft.Inverse(x)", "error: rows and columns", "", "not square"},
};
// clang-format on

struct Counted {
  Int arith = 0, comparisons = 0;
};

// Gauss–Jordan in place: the pivot becomes its reciprocal, its row and column are scaled, the rest is updated.
Counted count_inverse(int n) {
  Counted counted;
  for (int pivot = 0; pivot < n; ++pivot) {
    for (int row = pivot + 1; row < n; ++row) ++counted.comparisons;
    ++counted.arith;  // reciprocal
    for (int column = 0; column < n; ++column) counted.arith += column != pivot ? 1 : 0;
    for (int row = 0; row < n; ++row) {
      if (row == pivot) continue;
      for (int column = 0; column < n; ++column) counted.arith += column != pivot ? 2 : 0;
      ++counted.arith;  // the column's entry
    }
  }
  counted.arith += counted.comparisons;
  return counted;
}

}  // namespace

TEST_CASE("com.microsoft fused matrix products") { check_cases(kFused); }
TEST_CASE("com.microsoft products with packed weights, and Inverse") { check_cases(kContribMatmulPacked); }

TEST_CASE("Inverse costs what an elimination that counts does") {
  for (int n = 1; n <= 6; ++n) {
    const Counted counted = count_inverse(n);
    const std::string size = std::to_string(n);
    const std::string text = "x:f32[" + size + "," + size + "] -> y = com.microsoft.Inverse(x)";
    const OpCost cost = analyze(graph(text)).totals.cost;
    CAPTURE(n);
    CHECK(cost.arith == Dim(counted.arith));
    CHECK(cost.comparisons == Dim(counted.comparisons));
  }
}

}  // namespace pagoda::test
