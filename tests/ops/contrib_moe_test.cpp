// com.microsoft mixtures of experts: only the work of the chosen experts, and the weights that can be read.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
// Router: 5 and exp per score, 2 of them comparisons. Sum of k = 2 outputs: 3 per hidden element.
constexpr OpCase kMoe[] = {
    // graph, types, cost, why
    {"x:f16[T,16], r:f16[T,8], u:f16[8,32,16], d:f16[8,16,32] -> y = com.microsoft.MoE(x, r, u, , d) {k=2, activation_type='relu'}",
     "y:f16[T,16]", "macs=2048*T arith=40*T+64*T+48*T special=8*T comparisons=16*T+64*T precision=float16", "2·(512 + 512) macs a token"},
    {"x:f16[1,16], r:f16[1,8], u:f16[8,32,16], b:f16[8,32], d:f16[8,16,32], c:f16[8,16] -> y = com.microsoft.MoE(x, r, u, b, d, c) {k=2, activation_type='gelu', normalize_routing_weights=1}",
     "y:f16[1,16]", "macs=2048 arith=40+3+448+48+64+32 special=8+64 read=32+16+2048+128+2048+64", "decode: two experts of eight are read; biases, tanh Gelu 7"},
    {"x:f16[B,S,16], r:f16[B*S,8], u:f16[8,64,16], d:f16[8,16,32] -> y = com.microsoft.MoE(x, r, u, , d) {k=2, activation_type='swiglu', swiglu_fusion=1, swiglu_limit=7.0, activation_alpha=1.702, activation_beta=1.0}",
     "y:f16[B,S,16]", "macs=3072*B*S arith=40*B*S+448*B*S+48*B*S special=8*B*S+64*B*S comparisons=16*B*S+192*B*S", "gate and value in one projection; 7 for SwiGLU with all its parts"},
    {"x:f16[4,16], r:f16[4,8], u:f16[8,32,16], d:f16[8,16,32], v:f16[8,32,16], w:f16[8,32] -> y = com.microsoft.MoE(x, r, u, , d, , v, w) {k=2, activation_type='silu'}",
     "y:f16[4,16]", "macs=12288 arith=160+512+192+256 special=32+256 read=128+64+8192+8192+8192+512", "three projections; eight runs touch all eight experts at most"},
    {"x:f16[4,16], r:f16[4,8], u:f16[8,32,16], d:f16[8,16,32] -> y = com.microsoft.MoE(x, r, u, , d) {k=2, use_sparse_mixer=1}", "y:f16[4,16]", "arith=640+256+192 special=64", "ten per score and choice"},
    {"x:f16[4,16], r:f16[4,8], u:f16[7,32,16], d:f16[8,16,32] -> y = com.microsoft.MoE(x, r, u, , d) {k=2}", "error: experts of router and weights", "", "8 is not 7"},
    {"x:f16[4,16], r:f16[4,8], u:f16[8,32,16], d:f16[8,16,32] -> y = com.microsoft.MoE(x, r, u, , d) {k=2, activation_type='abc'}", "error: 'abc'", "", "no known activation"},
    {"x:f16[16], r:f16[4,8], u:f16[8,32,16], d:f16[8,16,32] -> y = com.microsoft.MoE(x, r, u, , d) {k=2}", "error: rank 1", "", "tokens and width"},
    // Weights at half a byte, scales per column.
    {"x:f16[1,32], r:f16[1,8], u:u8[8,64,16], s:f16[8,64], d:u8[8,32,32], t:f16[8,32] -> y = com.microsoft.QMoE(x, r, u, s, , d, t) {k=2}",
     "y:f16[1,32]", "macs=8192 arith=40+128+96+16384 read=64+16+2048+256+2048+128", "sub and mul per weight of two experts"},
    {"x:f16[T,32], r:f16[T,8], u:u8[8,64,32], s:f16[8,64,2], d:u8[8,32,16], t:f16[8,32,2], z:u8[8,64,2], w:u8[8,32,1], q:f16[T,8] -> y = com.microsoft.QMoE(x, r, u, s, , d, t, , , , , z, w, , q) {k=2, activation_type='swiglu', swiglu_fusion=2, block_size=16, fc1_expert_weight_bits=8}",
     "y:f16[T,32]", "macs=6144*T", "8 bits and 4 bits, blocks, zero points, weights apart from probabilities"},
    {"x:f16[1,32], r:f16[1,8], u:f8e4m3[8,64,32], g:f32[8], d:f8e4m3[8,32,64] -> y = com.microsoft.QMoE(x, r, u, , , d, , , , , , , , , , g, g) {k=2, quant_type='fp8'}", "y:f16[1,32]", "macs=8192 arith=40+128+96+8192", "a byte a weight, scaled"},
    {"x:f16[1,32], r:f16[1,8], u:u8[8,64,16], d:u8[8,32,32] -> y = com.microsoft.QMoE(x, r, u, , , d) {k=2, expert_weight_bits=3}", "error: is 3", "", "2, 4 or 8"},
    // Rows of packed bytes; every expert is touched by at most one run.
    {"x:f16[4,32], r:f32[4,8], g:u8[8,64,18], u:u8[8,64,18], d:u8[8,32,36] -> y = com.microsoft.MoEPacked(x, r, g, u, d) {k=2, gate_type=8, up_type=8, down_type=8}",
     "y:f16[4,32]", "macs=49152 arith=49152+160+1024+384 special=32+512 comparisons=64 read=256+128+9216+9216+9216", "a scale per weight; softmax, SwiGLU, weighted sum"},
    {"x:f16[1,32], r:f32[1,8], g:u8[8,64,18], d:u8[8,32,36], m:f32[1,8] -> y = com.microsoft.MoEPacked(x, r, g, , d, m) {k=2, gate_type=16, down_type=16, activation_type='relu2', normalize_routing_weights=1, routed_scaling_factor=2.5}",
     "y:f16[1,32]", "macs=8192 arith=8192+8+3+2+256+96 special=0 read=64+32+32+2304+2304", "scores as given, two of eight experts, max and square"},
    {"x:f16[1,32], r:f32[1,8], g:u8[7,64,18], d:u8[8,32,36] -> y = com.microsoft.MoEPacked(x, r, g, , d) {k=2, gate_type=16, down_type=16}", "error: experts of router and weights", "", "7 is not 8"},
    {"l:f32[B,16], e:f32[16] -> p = com.microsoft.MoEGroupRouter(l, e) {top_k=4, n_group=4, topk_group=2, group_topk=2}", "p:f32[B,16]", "macs=0 arith=48*B+8*B+4*B special=16*B+4*B comparisons=32*B+4*B+4*B", "sigmoid, bias; best of four groups, best four"},
    {"l:f16[5,64], e:f32[16], w:f16[16,64] -> , s, m = com.microsoft.MoEGroupRouter(l, e, w) {top_k=4}", "s:f32[5,16], m:f32[5,16]", "macs=5120 arith=80 special=80", "scores of all, after a projection"},
    {"l:f16[5,64], e:f32[16], w:f16[16,63] -> , s, m = com.microsoft.MoEGroupRouter(l, e, w) {top_k=4}", "error: widths of activations and projection", "", "63 is not 64"},
};
// clang-format on

}  // namespace

TEST_CASE("com.microsoft MoE and QMoE") { check_cases(kMoe); }

}  // namespace pagoda::test
