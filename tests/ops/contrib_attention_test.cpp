// com.microsoft attention with fused projections or over projected heads: shapes with and without caches, closed forms
// of prefill and decode, and visible pairs against a loop over all pairs.
#include <doctest/doctest.h>

#include <algorithm>

#include "ops/attention_work.h"
#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kContribAttentionCases[] = {
    // graph, types, cost, why
    // Two heads of 8 over inputs of 12. Projection: 12·48 macs and 48 biases per token. Per pair: 16 macs, 5 and exp.
    {"x:f32[B,S,12], w:f32[12,48], b:f32[48] -> y = com.microsoft.Attention(x, w, b) {num_heads=2}",
     "y:f32[B,S,16]", "macs=576*B*S+32*B*S*S arith=48*B*S+10*B*S*S special=2*B*S*S comparisons=2*B*S*S read=48*B*S+2496 written=64*B*S",
     "prefill, every pair"},
    {"x:f32[B,S,12], w:f32[12,48], b:f32[48] -> y = com.microsoft.Attention(x, w, b) {num_heads=2, unidirectional=1}",
     "y:f32[B,S,16]", "macs=576*B*S+16*B*S*S+16*B*S arith=48*B*S+5*B*S*S+5*B*S special=B*S*S+B*S", "prefill, the triangle with its diagonal"},
    {"x:f32[B,1,12], w:f32[12,48], b:f32[48], p:f32[2,B,2,P,8] -> y, c = com.microsoft.Attention(x, w, b, , p) {num_heads=2, unidirectional=1}",
     "y:f32[B,1,16], c:f32[2,B,2,P+1,8]", "macs=576*B+32*B*P+32*B arith=48*B+10*B*P+10*B read=48*B+2496+128*B*P written=64*B+128*B",
     "decode: the past is read, one token written"},
    {"x:f32[B,S,12], w:f32[12,48], p:f32[2,B,2,P,8] -> y, c = com.microsoft.Attention(x, w, , , p) {num_heads=2, unidirectional=1}",
     "c:f32[2,B,2,P+S,8]", "macs=576*B*S+32*B*S*P+16*B*S*S+16*B*S arith=10*B*S*P+5*B*S*S+5*B*S", "a chunk after a past: all of it, and the triangle"},
    {"x:f16[B,1,12], w:f16[12,48], b:f16[48], p:f16[2,B,2,64,8], n:i32=9 -> y, c = com.microsoft.Attention(x, w, b, , p, , n) {num_heads=2, past_present_share_buffer=1}",
     "y:f16[B,1,16], c:f16[2,B,2,64,8]", "macs=896*B read=24*B+1248+576*B+4 written=32*B+64*B precision=float16", "one buffer: 9 rows are read, 1 is written"},
    {"x:f32[B,1,12], w:f32[12,48], b:f32[48], p:f32[2,B,2,64,8], n:i32[1] -> y, c = com.microsoft.Attention(x, w, b, , p, , n) {num_heads=2, past_present_share_buffer=1}",
     "c:f32[2,B,2,64,8]", "macs=576*B+2048*B read=48*B+2496+8064*B+4 written=64*B+128*B", "a past length that is data: the whole buffer counts"},
    {"x:f32[2,5,12], w:f32[12,40], b:f32[40] -> y, p = com.microsoft.Attention(x, w, b) {num_heads=2, qkv_hidden_sizes=[16,16,8]}", "p:f32[2,2,2,5,4]", "", "the present has the size of V's heads"},
    {"x:f32[2,5,12], w:f32[12,40], b:f32[40], c:f32[2,2,2,3,4] -> y, p = com.microsoft.Attention(x, w, b, , c) {num_heads=2, qkv_hidden_sizes=[16,16,8]}", "error: with a past", "", "ONNX Runtime refuses it"},
    {"x:f32[2,5,12], w:f32[12,40], b:f32[40] -> y = com.microsoft.Attention(x, w, b) {num_heads=2, qkv_hidden_sizes=[16,16,8]}",
     "y:f32[2,5,8]", "macs=4800+1200", "V is narrower: 8 and 4 products a pair"},
    {"x:f32[2,5,12], w:f32[12,48], m:i32[2,5], a:f32[1,2,5,5] -> y = com.microsoft.Attention(x, w, , m, , a) {num_heads=2}",
     "y:f32[2,5,16]", "arith=700", "a mask and a bias to add: 7 a pair, no projection bias"},
    {"x:f32[2,5,12], w:f32[12,48], m:i32[2] -> y = com.microsoft.Attention(x, w, , m) {num_heads=2}", "y:f32[2,5,16]", "arith=500", "lengths add nothing"},
    {"x:f32[B,S,12], w:f32[12,48] -> y = com.microsoft.Attention(x, w) {num_heads=2, do_rotary=1}",
     "y:f32[B,S,16]", "arith=96*B*S+4*S+10*B*S*S special=8*S+2*B*S*S", "Q and K rotate; angles once per position"},
    {"x:f32[2,5,12], w:f32[12,47] -> y = com.microsoft.Attention(x, w) {num_heads=2}", "error: 47 does not divide by 3", "", "three parts"},
    {"x:f32[2,5,12], w:f32[13,48] -> y = com.microsoft.Attention(x, w) {num_heads=2}", "error: input size", "", "12 is not 13"},
    {"x:f32[2,5,12], w:f32[12,48], p:f32[2,2,3,7,8] -> y = com.microsoft.Attention(x, w, , , p) {num_heads=2}", "error: heads of the past", "", "3 is not 2"},
    {"x:f32[2,5,12], w:f32[12,48] -> y = com.microsoft.Attention(x, w)", "error: num_heads", "", "no heads"},
    {"x:f32[B,1,12], w:f32[12,48], b:f32[48], p:f32[2,B,2,64,8], n:i32[1]=[9] -> y, c = com.microsoft.DecoderMaskedSelfAttention(x, w, b, , p, , n) {num_heads=2, past_present_share_buffer=1}",
     "y:f32[B,1,16], c:f32[2,B,2,64,8]", "macs=896*B", "as Attention"},
    {"x:f32[1,12], w:f32[12,48], b:f32[48], p:f32[2,1,2,64,8], n:i32 -> y, c = com.microsoft.DecoderMaskedSelfAttention(x, w, b, , p, , n) {num_heads=2}", "error: rank 2", "", "rank 3"},
};

constexpr OpCase kContribAttentionQuantized[] = {
    {"x:u8[B,S,12], w:i8[12,48]=const, b:f32[48]=const, xs:f32=0.1, ws:f32=0.1, xz:u8=3, wz:i8=0 -> y = com.microsoft.QAttention(x, w, b, xs, ws, , xz, wz) {num_heads=2}",
     "y:f32[B,S,16]", "macs=576*B*S+32*B*S*S arith=48*B*S+12*B*S+576+1+48*B*S+10*B*S*S special=2*B*S*S precision=int8", "zero points off both operands, a scale per element"},
    {"x:u8[B,1,12], w:i8[12,48], b:f32[48], xs:f32=0.1, ws:f32[48], p:f32[2,B,2,P,8] -> y, c = com.microsoft.QAttention(x, w, b, xs, ws, , , , p) {num_heads=2, unidirectional=1}",
     "y:f32[B,1,16], c:f32[2,B,2,P+1,8]", "macs=576*B+32*B*P+32*B arith=48*B+48+48*B+10*B*P+10*B", "decode, no zero points, a scale per column"},
    {"x:u8[2,5,12], w:i8[10,48], b:f32[48], xs:f32=0.1, ws:f32=0.1 -> y = com.microsoft.QAttention(x, w, b, xs, ws) {num_heads=2}", "error: input size", "", "12 is not 10"},
    {"x:i8[B,S,12], s:f32[], q:i8[12,16], k:i8[12,16], v:i8[12,16], b:f32[16], c:f32[16], d:f32[16] -> y = com.microsoft.QOrderedAttention(x, s, s, s, s, q, k, v, s, s, s, b, c, d, s, s, s) {num_heads=2}",
     "y:i8[B,S,16]", "macs=576*B*S+32*B*S*S arith=304*B*S+26*B*S*S comparisons=192*B*S+14*B*S*S precision=int8", "4 more for each product, score and probability"},
    {"x:i8[2,5,12], s:f32[], q:i8[11,16], v:i8[12,16], b:f32[16] -> y = com.microsoft.QOrderedAttention(x, s, s, s, s, q, v, v, s, s, s, b, b, b, s, s, s) {num_heads=2}", "error: input size", "", "12 is not 11"},
};

constexpr OpCase kHeads[] = {
    {"q:f32[B,S,16], k:f32[B,L,16], v:f32[B,L,24] -> y = com.microsoft.MultiHeadAttention(q, k, v) {num_heads=2}",
     "y:f32[B,S,24]", "macs=40*B*S*L arith=10*B*S*L special=2*B*S*L read=64*B*S+64*B*L+96*B*L written=96*B*S", "cross attention: 8 and 12 products a pair"},
    {"q:f32[B,S,16], k:f32[B,S,16], v:f32[B,S,16] -> y = com.microsoft.MultiHeadAttention(q, k, v) {num_heads=2, unidirectional=1}",
     "y:f32[B,S,16]", "macs=16*B*S*S+16*B*S arith=5*B*S*S+5*B*S", "prefill: the triangle"},
    {"q:f32[B,1,16], k:f32[B,1,16], v:f32[B,1,16], a:f32[B,2,P,8], b:f32[B,2,P,8] -> y, c, d = com.microsoft.MultiHeadAttention(q, k, v, , , , a, b) {num_heads=2, unidirectional=1}",
     "y:f32[B,1,16], c:f32[B,2,P+1,8], d:f32[B,2,P+1,8]", "macs=32*B*P+32*B read=192*B+128*B*P written=64*B+128*B", "decode: the caches grow by one"},
    {"q:f32[B,S,16], k:f32[B,S,16], v:f32[B,S,16], a:f32[B,2,P,8], b:f32[B,2,P,8] -> y, c, d = com.microsoft.MultiHeadAttention(q, k, v, , , , a, b) {num_heads=2, unidirectional=1}",
     "c:f32[B,2,P+S,8]", "macs=32*B*S*P+16*B*S*S+16*B*S", "a chunk after a past"},
    {"q:f32[B,1,16], k:f32[B,1,16], v:f32[B,1,16], a:f32[B,2,64,8], b:f32[B,2,64,8], n:i32=9 -> y, c, d = com.microsoft.MultiHeadAttention(q, k, v, , , , a, b, n) {num_heads=2}",
     "c:f32[B,2,64,8], d:f32[B,2,64,8]", "macs=320*B read=192*B+1152*B+4 written=64*B+128*B", "a past length means one buffer"},
    {"x:f32[B,S,2,3,8] -> y = com.microsoft.MultiHeadAttention(x) {num_heads=2}", "y:f32[B,S,16]", "macs=32*B*S*S read=192*B*S", "packed Q, K and V"},
    {"q:f32[2,5,16], k:f32[2,7,2,2,8] -> y = com.microsoft.MultiHeadAttention(q, k) {num_heads=2}", "y:f32[2,5,16]", "macs=2240", "packed K and V"},
    {"q:f32[2,5,16], k:f32[2,2,7,8], v:f32[2,2,7,8], b:f32[48] -> y = com.microsoft.MultiHeadAttention(q, k, v, b) {num_heads=2}",
     "y:f32[2,5,16]", "macs=2240 arith=160+700", "K and V from a cache have their bias already"},
    {"q:f32[2,5,16], k:f32[2,7,16], v:f32[2,7,16], b:f32[48], m:i32[2,7], a:f32[1,1,5,7] -> y, , , s = com.microsoft.MultiHeadAttention(q, k, v, b, m, a) {num_heads=2}",
     "y:f32[2,5,16], s:f32[2,2,5,7]", "arith=160+448+980", "biases, a mask, a bias of positions; the probabilities come out"},
    {"q:f32[1,5,16], k:f32[1,3,16], v:f32[1,3,16] -> y = com.microsoft.MultiHeadAttention(q, k, v) {num_heads=2, unidirectional=1}", "y:f32[1,5,16]", "macs=384", "fewer keys than queries: 1 + 2 + 3·3 pairs"},
    {"q:f32[2,5,16], k:f32[2,7,15], v:f32[2,7,16] -> y = com.microsoft.MultiHeadAttention(q, k, v) {num_heads=2}", "error: hidden size of query and key", "", "15 is not 16"},
    {"q:f32[2,5,15], k:f32[2,7,15], v:f32[2,7,16] -> y = com.microsoft.MultiHeadAttention(q, k, v) {num_heads=2}", "error: 15 does not divide by 2", "", "no whole heads"},
    {"q:f32[2,5,2,3,8], k:f32[2,7,16] -> y = com.microsoft.MultiHeadAttention(q, k, k) {num_heads=2}", "error: rank 5", "", "packed, and yet a key"},
    {"q:f32[B,1,16], k:f32[B,1,16], v:f32[B,1,16], a:f32[B,2,64,8], b:f32[B,2,64,8], n:i32[1]=[9], z:f32[48] -> y, c, d = com.microsoft.DecoderMaskedMultiHeadAttention(q, k, v, , , a, b, n, , , z) {num_heads=2, past_present_share_buffer=1}",
     "y:f32[B,1,16], c:f32[B,2,64,8]", "macs=320*B arith=48*B+100*B", "decode in one buffer, with biases"},
    {"q:f32[B,1,16], k:f32[B,2,L,8], v:f32[B,2,L,8] -> y, , , s = com.microsoft.DecoderMaskedMultiHeadAttention(q, k, v) {num_heads=2, output_qk=1}",
     "y:f32[B,1,16], s:f32[B,2,1,L]", "macs=32*B*L", "cross attention"},
    {"x:f32[B,1,48], a:f32[B,2,P,8], b:f32[B,2,P,8] -> y, c, d = com.microsoft.DecoderMaskedMultiHeadAttention(x, , , , , a, b) {num_heads=2}",
     "y:f32[B,1,16], c:f32[B,2,P+1,8]", "macs=32*B*P+32*B", "packed Q, K and V"},
    {"x:f32[2,1,47] -> y = com.microsoft.DecoderMaskedMultiHeadAttention(x) {num_heads=2}", "error: 47 does not divide by 6", "", "three parts of two heads"},
};

// query [S, B, 16], key [T, B, 16]; flags static_kv, use_past, has_layer_state, has_key_padding_mask.
constexpr OpCase kDecoder[] = {
    {"q:f32[S,B,16], k:f32[T,B,16], w:f32[16,16], u:f32[16,32], b:f32[48], f:bool=false -> y, c, d = com.microsoft.DecoderAttention(q, k, w, u, b, , , , f, f, f, f) {num_heads=2}",
     "y:f32[S,B,16], c:f32[B,2,S,8], d:f32[B,2,S,8]", "macs=768*S*B+32*B*S*S arith=48*S*B+10*B*S*S read=64*S*B+3264+1", "self attention: the key is not read"},
    {"q:f32[S,B,16], k:f32[T,B,16], w:f32[16,16], u:f32[16,32], b:f32[48], m:bool[B,T], f:bool=false, t:bool=true -> y, c, d = com.microsoft.DecoderAttention(q, k, w, u, b, m, , , t, f, f, t) {num_heads=2}",
     "c:f32[B,2,T,8]", "macs=256*S*B+512*T*B+32*B*S*T arith=16*S*B+32*T*B+12*B*S*T", "cross attention, the first time, with a padding mask"},
    {"q:f32[1,B,16], k:f32[T,B,16], w:f32[16,16], u:f32[16,32], b:f32[48], kc:f32[B,2,T,8], vc:f32[B,2,T,8], f:bool=false, t:bool=true -> y, c, d = com.microsoft.DecoderAttention(q, k, w, u, b, , kc, vc, t, t, t, f) {num_heads=2}",
     "c:f32[B,2,T,8]", "macs=256*B+32*B*T read=64*B+1024+192+128*B*T+2", "cross attention from the cache: only Q is projected"},
    {"q:f32[1,B,16], w:f32[16,16], u:f32[16,32], b:f32[48], kc:f32[B,2,P,8], vc:f32[B,2,P,8], f:bool=false, t:bool=true -> y, c, d = com.microsoft.DecoderAttention(q, q, w, u, b, , kc, vc, f, t, t, f) {num_heads=2}",
     "c:f32[B,2,P+1,8]", "macs=768*B+32*B*P+32*B", "decode: the cache grows by one"},
    {"q:f32[S,B,16], k:f32[T,B,16], w:f32[16,16], u:f32[16,32], b:f32[48], f:bool -> y = com.microsoft.DecoderAttention(q, k, w, u, b, , , , f, f, f, f) {num_heads=2}", "y:f32[S,B,16]", "mark=unmodelled", "flags that are data"},
    {"q:f32[S,B,15], k:f32[T,B,15], w:f32[15,15], u:f32[15,30], b:f32[45], f:bool=false -> y = com.microsoft.DecoderAttention(q, k, w, u, b, , , , f, f, f, f) {num_heads=2}", "error: 15 does not divide by 2", "", "no whole heads"},
};

constexpr OpCase kPositions[] = {
    {"t:f32[32,8], m:i64=5, n:i64=7 -> y = com.microsoft.RelativePositionBias(t, m, n) {max_distance=128}",
     "y:f32[1,8,5,7]", "macs=0 arith=44 special=11 comparisons=22 read=1024 written=1120", "11 distances"},
    {"t:f16[32,8], x:f32[S,2] -> n = Shape(x) {end=1}; y = com.microsoft.RelativePositionBias(t, n, n) {max_distance=128}", "y:f16[1,8,S,S]", "arith=8*S-4 written=16*S*S", "lengths from a shape"},
    {"t:f32[32], n:i64=5 -> y = com.microsoft.RelativePositionBias(t, n, n) {max_distance=128}", "error: rank 1", "", "buckets and heads"},
    {"q:f32[B,S,16], c:f32[16], r:f32[1,2,S,S], w:f32[8,6], b:f32[6], a:f32[1,2,1,1] -> y = com.microsoft.GatedRelativePositionBias(q, c, r, w, b, a) {num_heads=2}",
     "y:f32[B,2,S,S]", "macs=96*B*S arith=44*B*S+2*B*S*S special=4*B*S", "16 + 2·(6 + 4 + 4) a token"},
    {"q:f32[T,16], c:f32[16], r:f32[1,2,5,5], w:f32[8,6], b:f32[6], a:f32[1,2,1,1], o:i32[3,5] -> y = com.microsoft.GatedRelativePositionBias(q, c, r, w, b, a, o) {num_heads=2}",
     "y:f32[3,2,5,5]", "macs=96*T arith=44*T+150", "packed tokens"},
    {"q:f32[T,16], c:f32[16], r:f32[1,2,5,5], w:f32[8,6], b:f32[6], a:f32[1,2,1,1] -> y = com.microsoft.GatedRelativePositionBias(q, c, r, w, b, a) {num_heads=2}", "error: token_offset", "", "packed tokens of unknown places"},
    {"x:f32[B,S,16], w:f32[16,48], b:f32[48], m:f32[B,S], g:i32[B,S] -> y = com.microsoft.LongformerAttention(x, w, b, m, w, b, g) {num_heads=2, window=4}", "y:f32[B,S,16]", "mark=unmodelled", "global tokens are data"},
    {"x:f32[B,16], w:f32[16,48], b:f32[48], m:f32[B,5], g:i32[B,5] -> y = com.microsoft.LongformerAttention(x, w, b, m, w, b, g) {num_heads=2, window=4}", "error: rank 2", "", "rank 3"},
    {"x:i8[B,S,16], s:f32[], w:i8[16,48], b:f32[48], m:f16[B,S], g:i32[B,S] -> y = com.microsoft.QOrderedLongformerAttention(x, s, w, s, b, s, s, m, w, s, b, s, g, s) {num_heads=2, window=4}", "y:i8[B,S,16]", "mark=unmodelled", "global tokens are data"},
    {"x:i8[B,S,16], s:f32[], w:i8[16,48], b:f32[48], m:f16[B,S], g:i32[B,S] -> y = com.microsoft.QOrderedLongformerAttention(x, s, w, s, b, s, s, m, w, s, b, s, g, s) {num_heads=2, window=0}", "error: window is 0", "", "no window"},
};
// clang-format on

}  // namespace

TEST_CASE("com.microsoft attention with fused projections") { check_cases(kContribAttentionCases); }
TEST_CASE("com.microsoft quantised attention") { check_cases(kContribAttentionQuantized); }
TEST_CASE("com.microsoft attention over projected heads") { check_cases(kHeads); }
TEST_CASE("com.microsoft DecoderAttention") { check_cases(kDecoder); }
TEST_CASE("com.microsoft biases of positions and windows with global tokens") { check_cases(kPositions); }

TEST_CASE("causal pairs are those that a loop over all queries and keys finds") {
  for (const int window : {0, 1, 3, 20})
    for (int queries = 1; queries <= 6; ++queries)
      for (int keys = queries; keys <= 9; ++keys) {
        int pairs = 0;
        for (int query = keys - queries; query < keys; ++query)
          for (int key = 0; key <= query; ++key) pairs += window == 0 || key > query - window ? 1 : 0;
        CAPTURE(window);
        CAPTURE(queries);
        CAPTURE(keys);
        CHECK(ops::twice_causal_pairs(queries, keys, window) == Dim(2 * pairs));
        const Dim symbolic = ops::twice_causal_pairs(Dim::symbol("s"), Dim::symbol("t"), window);
        CHECK(symbolic.bind({{"s", queries}, {"t", keys}}) == Dim(2 * pairs));
      }
}

TEST_CASE("a cache is read as far as queries see, and the new rows are written") {
  const Dim past = Dim::symbol("past"), total = Dim::symbol("total");
  const ops::Cache cache{.past = past, .present = max(past, total), .total = total, .added = 1};
  CHECK(cache.written().bind({{"past", 9}, {"total", 10}}) == Dim(1));
  CHECK(cache.written().bind({{"past", 64}, {"total", 10}}) == Dim(1));
  CHECK(cache.read().bind({{"past", 9}, {"total", 10}}) == Dim(9));
  const ops::Cache windowed{.past = past, .present = max(past, total), .total = total, .added = 1, .window = 4};
  CHECK(windowed.read().bind({{"past", 9}, {"total", 10}}) == Dim(3));
  CHECK(windowed.read().bind({{"past", 64}, {"total", 3}}) == Dim(2));  // all rows in use
  const ops::Cache first{.past = 0, .present = total, .total = total, .added = total};
  CHECK(first.written() == total);
}

}  // namespace pagoda::test
