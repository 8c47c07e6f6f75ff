// com.microsoft operators with a state: causal convolutions, linear attention against a recurrence that
// counts its operations, n-gram hashes.
#include <doctest/doctest.h>

#include <string>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kContribStateConv[] = {
    // graph, types, cost, why
    {"x:f32[B,6,S], w:f32[6,1,4], b:f32[6], p:f32[B,6,3] -> y, s = com.microsoft.CausalConvWithState(x, w, b, p) {activation='silu'}", "y:f32[B,6,S], s:f32[B,6,3]", "macs=24*B*S arith=12*B*S special=6*B*S read=24*B*S+96+24+72*B written=24*B*S+72*B", "four taps, bias, SiLU"},
    {"x:f32[2,5,2,3], w:f32[6,1,4] -> y, s = com.microsoft.CausalConvWithState(x, w) {channels_last=1, dilation=2}", "y:f32[2,5,2,3], s:f32[2,6,2,3]", "macs=240 arith=0", "channels last, taps two apart: a state of 6"},
    {"x:f32[2,6,5], w:f32[6,1,4], p:f32[3,2,6,3] -> y, s = com.microsoft.CausalConvWithState(x, w, , p) {state_window=3}", "s:f32[3,2,6,3]", "read=240+96+144 written=240+432", "three states come out, one is read"},
    {"x:f32[2,6,5,7], w:f32[6,1,3,4] -> y, s = com.microsoft.CausalConvWithState(x, w) {ndim=2}", "y:f32[2,6,5,7], s:f32[2,6,5,3]", "macs=5040", "two axes, the last is causal"},
    {"x:f32[2,5,5], w:f32[6,1,4] -> y, s = com.microsoft.CausalConvWithState(x, w)", "error: channels", "", "5 is not 6"},
    {"x:f32[2,6,5], w:f32[6,1,4] -> y, s = com.microsoft.CausalConvWithState(x, w) {state_window=9}", "error: state_window is 9", "", "at most 8"},
    {"x:f16[T,6], w:f16[6,1,4], c:i32[3], b:f16[6], p:f16[2,6,3], n:i32[2] -> y, s, u = com.microsoft.VarlenCausalConvWithState(x, w, c, b, p, n) {activation='swish', state_update_capacity=4}", "y:f16[T,6], s:f16[2,6,3], u:f16[2,4,6]", "macs=24*T arith=12*T special=6*T", "packed sequences"},
    {"x:f16[9,6], w:f16[6,1,4], c:i32[3], p:f16[2,6,2] -> y, s = com.microsoft.VarlenCausalConvWithState(x, w, c, , p)", "error: length of the state", "", "2 is not 3"},
};

constexpr OpCase kLinear[] = {
    {"q:f16[B,T,16], k:f16[B,T,16], v:f16[B,T,8], p:f32[B,2,8,4], d:f16[B,T,2], b:f16[B,T,2] -> y, s = com.microsoft.LinearAttention(q, k, v, p, d, b) {q_num_heads=2, kv_num_heads=2}",
     "y:f16[B,T,8], s:f32[B,2,8,4]", "macs=192*B*T arith=8*B*T+16*B*T+64*B*T special=2*B*T", "gated delta: 3·D·Dv macs a head; scale, delta, decay of the state"},
    {"q:f32[2,5,16], k:f32[2,5,32], v:f32[2,5,16] -> y, s = com.microsoft.LinearAttention(q, k, v) {q_num_heads=2, kv_num_heads=4, update_rule='linear'}", "y:f32[2,5,16], s:f32[2,4,8,4]", "macs=2560 arith=160 special=0", "more value heads than query heads"},
    {"q:f32[2,5,32], k:f32[2,5,16], v:f32[2,5,8] -> y, s = com.microsoft.LinearAttention(q, k, v) {q_num_heads=4, kv_num_heads=2, update_rule='linear', state_window=2}", "y:f32[2,5,16], s:f32[2,2,2,8,4]", "macs=1920", "grouped queries, two states"},
    {"q:f16[B,T,16], k:f16[B,T,16], v:f16[B,T,16], p:f16[B,4,8,4], d:f16[B,T,4], b:f16[B,T,4] -> y, s = com.microsoft.LinearAttention(q, k, v, p, d, b) {q_num_heads=2, kv_num_heads=4}",
     "y:f16[B,T,16], s:f16[B,4,8,4]", "macs=384*B*T", "four value heads share two heads of keys, as in Qwen3.5"},
    {"q:f32[2,5,16], k:f32[2,5,24], v:f32[2,5,16] -> y, s = com.microsoft.LinearAttention(q, k, v) {q_num_heads=2, kv_num_heads=4, update_rule='linear'}", "error: heads of the value and of the key", "", "three heads of keys for four of values"},
    {"q:f32[2,5,16], k:f32[2,5,15], v:f32[2,5,8] -> y, s = com.microsoft.LinearAttention(q, k, v) {q_num_heads=2, kv_num_heads=2, update_rule='linear'}", "error: hidden size of the key", "", "15 is not 16"},
    {"q:f32[2,5,16], k:f32[2,5,16], v:f32[2,5,8] -> y, s = com.microsoft.LinearAttention(q, k, v) {q_num_heads=2, kv_num_heads=2, update_rule='abc'}", "error: update_rule is 'abc'", "", "no such rule"},
    {"q:f16[T,2,8], k:f16[T,2,8], v:f16[T,4,4], c:i32[3], g:f32[T,4], b:f32[T,4], s:f32[2,4,4,8] -> y, z = com.microsoft.GatedDeltaNet(q, k, v, c, g, b, s)",
     "y:f16[T,4,4], z:f32[2,4,4,8]", "macs=384*T arith=16*T+32*T+128*T special=4*T", "packed tokens, four value heads share two key heads"},
    {"q:f16[B,S,2,8], k:f16[B,S,2,8], v:f16[B,S,4,4], g:f32[B,S,4], b:f32[B,S,4], s:f32[B,4,4,8], a:f32[4], d:f32[4], n:i32[B] -> y, z, u = com.microsoft.GatedDeltaNet(q, k, v, , g, b, s, a, d, n) {gate_activation='qwen', beta_activation='sigmoid', qk_l2_norm=1, state_update_capacity=2}",
     "y:f16[B,S,4,4], z:f32[B,4,4,8], u:f32[B,72]", "macs=384*B*S arith=176*B*S+12*B*S+96*B*S special=4*B*S+8*B*S+4+4*B*S+4*B*S", "fused decay, sigmoid, norms of 4 heads"},
    {"x:f16[T,48], s:f32[2,4,4,8] -> y, z = com.microsoft.GatedDeltaNet(x, , , , , , s) {update_rule='linear'}", "y:f16[T,4,4], z:f32[2,4,4,8]", "macs=256*T", "packed Q, K and V"},
    {"x:f16[T,48] -> y, z = com.microsoft.GatedDeltaNet(x)", "error: initial_state", "", "packed widths of unknown heads"},
};

constexpr OpCase kHashes[] = {
    {"i:i64[B,S], m:i64[3], v:i64[6] -> h, n = com.microsoft.NGramHashMapping(i, m, v) {max_ngram_size=3, n_head_per_ngram=3, pad_id=0}", "h:i64[B,S,6], n:i64[B,2]", "arith=11*B*S comparisons=2*B*S", "3 products, 2 xor, 6 remainders a token"},
    {"i:i32[2,5], m:i32[3], v:i32[6], o:i32[6] -> h, n = com.microsoft.NGramHashMapping(i, m, v, , o) {max_ngram_size=3, n_head_per_ngram=3, pad_id=0}", "h:i32[2,5,6]", "arith=170", "offsets"},
    {"i:i64[2,5], m:i64[3], v:i64[6] -> h = com.microsoft.NGramHashMapping(i, m, v) {max_ngram_size=1, n_head_per_ngram=3, pad_id=0}", "error: max_ngram_size is 1", "", "at least 2"},
    {"i:i64[T], m:i64[3], v:i64[6], c:i32[3], o:i64[6], g:i32[T], k:i32[2] -> h, n, z, u = com.microsoft.VarlenNGramHashMapping(i, m, v, c, , o, , g, , k) {max_ngram_size=3, n_head_per_ngram=3, pad_id=0, state_update_capacity=2}",
     "h:i64[T,6], n:i64[2,2], z:i32[2,2], u:i64[2,2,2]", "arith=17*T", "packed sequences"},
    {"i:i64[2,5], m:i64[3], v:i64[6], c:i32[3] -> h = com.microsoft.VarlenNGramHashMapping(i, m, v, c) {max_ngram_size=3, n_head_per_ngram=3, pad_id=0}", "error: rank 2", "", "tokens are an axis"},
};
// clang-format on

struct Counted {
  Int macs = 0, arith = 0, special = 0;
};

// The gated delta rule for one token of one head, state D × V: S ← e·S; r = v − Sᵀk; S ← S + k ⊗ (β·r); o = s·Sᵀq.
Counted count_token(int d, int v) {
  Counted counted;
  ++counted.special;       // exp of the decay
  counted.arith += d * v;  // S scaled
  counted.macs += d * v;   // Sᵀk
  counted.arith += 2 * v;  // difference, β
  counted.macs += d * v;   // outer product onto S
  counted.macs += d * v;   // Sᵀq
  counted.arith += v;      // scale
  return counted;
}

}  // namespace

TEST_CASE("com.microsoft causal convolutions") { check_cases(kContribStateConv); }
TEST_CASE("com.microsoft linear attention") { check_cases(kLinear); }
TEST_CASE("com.microsoft n-gram hashes") { check_cases(kHashes); }

TEST_CASE("LinearAttention costs what its recurrence does") {
  constexpr int kBatch = 2, kTokens = 3, kHeads = 2;
  for (const int d : {1, 4})
    for (const int v : {1, 5}) {
      const Counted token = count_token(d, v);
      const auto type = [](int width) {
        return ":f32[" + std::to_string(kBatch) + "," + std::to_string(kTokens) + "," + std::to_string(width) + "]";
      };
      const std::string text =
          "q" + type(kHeads * d) + ", k" + type(kHeads * d) + ", v" + type(kHeads * v) + ", g" + type(kHeads) + ", b" +
          type(kHeads) + " -> y, s = com.microsoft.LinearAttention(q, k, v, , g, b) {q_num_heads=2, kv_num_heads=2}";
      const OpCost cost = analyze(graph(text)).totals.cost;
      constexpr int kTimes = kBatch * kTokens * kHeads;
      CHECK(cost.macs == Dim(kTimes * token.macs));
      CHECK(cost.arith == Dim(kTimes * token.arith));
      CHECK(cost.special == Dim(kTimes * token.special));
    }
}

}  // namespace pagoda::test
