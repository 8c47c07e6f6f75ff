// Attention and related operators: shapes with and without caches, and visible pairs against a loop over all pairs.
#include <doctest/doctest.h>

#include <string>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kAttentionCases[] = {
    // graph, types, cost, why
    {"opset=23: q:f32[B,8,S,64], k:f32[B,8,S,64], v:f32[B,8,S,32] -> y = Attention(q, k, v)",
     "y:f32[B,8,S,32]", "macs=768*B*S*S arith=40*B*S*S special=8*B*S*S comparisons=8*B*S*S read=5120*B*S written=1024*B*S", "head size + value size macs; scale and softmax, per pair"},
    {"opset=23: q:f16[2,5,24], k:f16[2,7,8], v:f16[2,7,16] -> y = Attention(q, k, v) {q_num_heads=6, kv_num_heads=2}",
     "y:f16[2,5,48]", "macs=5040 precision=float16", "packed heads, grouped queries: 2·6·5·7·(4 + 8)"},
    {"opset=23: q:f32[B,8,S,64], k:f32[B,8,S,64], v:f32[B,8,S,64] -> y = Attention(q, k, v) {is_causal=1}",
     "y:f32[B,8,S,64]", "macs=512*B*S*S+512*B*S", "the triangle with its diagonal"},
    {"opset=23: q:f32[B,8,S,64], k:f32[B,2,S,64], v:f32[B,2,S,64], pk:f32[B,2,P,64], pv:f32[B,2,P,64] -> y, ok, ov = Attention(q, k, v, , pk, pv) {is_causal=1}",
     "y:f32[B,8,S,64], ok:f32[B,2,P+S,64], ov:f32[B,2,P+S,64]", "macs=1024*B*S*P+512*B*S*S+512*B*S", "all of the past and the triangle"},
    {"opset=23: q:f32[1,8,1,64], k:f32[1,8,1,64], v:f32[1,8,1,64], m:f32[1,T], pk:f32[1,8,P,64], pv:f32[1,8,P,64] -> y, ok, ov = Attention(q, k, v, m, pk, pv)",
     "y:f32[1,8,1,64], ok:f32[1,8,P+1,64]", "macs=1024*P+1024 arith=48*P+48", "decoding, with a mask to add"},
    {"opset=23: q:f16[B,8,1,64], k:f16[B,2,1,64], v:f16[B,2,1,64], pk:f16[B,2,P,64], pv:f16[B,2,P,64] -> y, ok, ov = Attention(q, k, v, , pk, pv) {is_causal=1}",
     "ok:f16[B,2,P+1,64]", "read=1024*B+512*B+512*B*P written=1024*B+512*B", "the past is read, one row of each written"},
    {"opset=25: q:f16[B,8,1,64], k:f16[B,2,1,64], v:f16[B,2,1,64], pk:f16[B,2,64,64], pv:f16[B,2,64,64] -> y, ok, ov = Attention(q, k, v, , pk, pv) {is_causal=1, left_window_size=15}",
     "ok:f16[B,2,65,64]", "macs=16384*B read=1024*B+512*B+7680*B written=1024*B+512*B", "a left window of 15 past keys"},
    {"opset=23: q:f32[1,2,4,8], k:f32[1,2,6,8], v:f32[1,2,6,8], m:bool[4,6] -> y = Attention(q, k, v, m) {softcap=20.0}",
     "y:f32[1,2,4,8]", "macs=768 arith=384 special=96 comparisons=96", "a selection and a capped score: 8 and 2 per pair"},
    {"opset=23: q:f32[1,2,4,8], k:f32[1,2,6,8], v:f32[1,2,6,8] -> y, , , s = Attention(q, k, v) {is_causal=1}",
     "y:f32[1,2,4,8], s:f32[1,2,4,6]", "macs=544 arith=128 written=256+192", "raw scores are wanted for hidden pairs too"},
    {"opset=23: q:f32[1,2,4,8], k:f32[1,2,6,8], v:f32[1,2,6,8] -> y, , , s = Attention(q, k, v) {is_causal=1, qk_matmul_output_mode=3}",
     "s:f32[1,2,4,6]", "macs=320 arith=100", "probabilities of hidden pairs are 0"},
    {"opset=24: q:f32[2,2,3,8], k:f32[2,2,9,8], v:f32[2,2,9,8], n:i64[2]=[4,9] -> y = Attention(q, k, v, , , , n)", "y:f32[2,2,3,8]", "macs=1248", "39 pairs: 3·4 + 3·9"},
    {"opset=24: q:f32[2,2,3,8], k:f32[2,2,9,8], v:f32[2,2,9,8], n:i64[2]=[4,9] -> y = Attention(q, k, v, , , , n) {is_causal=1}", "y:f32[2,2,3,8]", "macs=1056 read=384+1664+16 written=384", "33 pairs: 2 + 3 + 4 and 7 + 8 + 9; 13 rows are valid"},
    {"opset=25: q:f32[2,2,3,8], k:f32[2,2,9,8], v:f32[2,2,9,8], n:i64[2]=[4,9] -> y = Attention(q, k, v, , , , n) {is_causal=1, left_window_size=1}", "y:f32[2,2,3,8]", "macs=384 read=384+1024+16", "two keys a query; of the 9 rows the last 4 are seen"},
    {"opset=24: q:f32[1,2,5,8], k:f32[1,2,9,8], v:f32[1,2,9,8], n:i64[1]=[3] -> y = Attention(q, k, v, , , , n) {is_causal=1}", "y:f32[1,2,5,8]", "macs=192", "two queries before the first key see none: 0 + 0 + 1 + 2 + 3"},
    {"opset=24: q:f32[2,2,3,8], k:f32[2,2,9,8], v:f32[2,2,9,8], n:i64[2] -> y = Attention(q, k, v, , , , n) {is_causal=1}", "y:f32[2,2,3,8]", "macs=1536", "lengths that are data: a full cache, 48 pairs"},
    {"opset=25: q:f32[1,1,4,8], k:f32[1,1,6,8], v:f32[1,1,6,8] -> y = Attention(q, k, v) {left_window_size=2, right_window_size=1}", "y:f32[1,1,4,8]", "macs=208", "the example of the specification: 2 + 3 + 4 + 4"},
    {"opset=25: q:f32[1,1,4,8], k:f32[1,1,6,8], v:f32[1,1,6,8] -> y = Attention(q, k, v) {left_window_size=2, right_window_size=1, is_causal=1}", "y:f32[1,1,4,8]", "macs=144", "causal cuts the right side: 1 + 2 + 3 + 3"},
    {"opset=23: q:f32[1,2,4,8], k:f32[1,2,6,7], v:f32[1,2,6,8] -> y = Attention(q, k, v)", "error: head size", "", "7 is not 8"},
    {"opset=23: q:f32[1,3,4,8], k:f32[1,2,6,8], v:f32[1,2,6,8] -> y = Attention(q, k, v)", "error: 3 query heads", "", "2 heads cannot be shared by 3"},
    {"opset=23: q:f32[1,4,16], k:f32[1,6,16], v:f32[1,6,16] -> y = Attention(q, k, v)", "error: q_num_heads", "", "packed heads need their number"},
    {"opset=23: q:f32[1,4,15], k:f32[1,6,16], v:f32[1,6,16] -> y = Attention(q, k, v) {q_num_heads=2, kv_num_heads=2}", "error: hidden size of 15", "", "not divisible"},
    {"opset=23: q:f32[4,16], k:f32[6,16], v:f32[6,16] -> y = Attention(q, k, v)", "error: ranks 2", "", "rank 3 or 4"},
};

constexpr OpCase kAround[] = {
    {"opset=23: x:f32[B,12,S,64], c:f32[B,S,32], s:f32[B,S,32] -> y = RotaryEmbedding(x, c, s)", "y:f32[B,12,S,64]", "arith=2304*B*S special=0 read=3072*B*S+256*B*S", "3 per element"},
    {"opset=23: x:f32[2,5,48], c:f32[100,4], s:f32[100,4], p:i64[2,5] -> y = RotaryEmbedding(x, c, s, p) {num_heads=3, rotary_embedding_dim=8}",
     "y:f32[2,5,48]", "arith=720 read=1920+80+160+160", "8 of 16 rotate; only picked rows are read"},
    {"opset=23: x:f32[2,5,48], c:f32[100,4], s:f32[100,4], p:i64[2,5] -> y = RotaryEmbedding(x, c, s, p)", "y:f32[2,5,48]", "mark=unmodelled", "packed heads need their number"},
    {"opset=23: x:f32[5,48], c:f32[100,4], s:f32[100,4] -> y = RotaryEmbedding(x, c, s)", "error: rank 2", "", "rank 3 or 4"},
    {"opset=24: c:f32[B,8,M,64], u:f32[B,8,S,64], i:i64[B] -> y = TensorScatter(c, u, i)", "y:f32[B,8,M,64]", "arith=0 read=2048*B*S+8*B written=2048*B*S", "in place: the update moves"},
    {"opset=24: c:f32[2,10,4], u:f32[2,3,4] -> y = TensorScatter(c, u) {axis=1, mode='circular'}", "y:f32[2,10,4]", "read=96 written=96", "no indices"},
    {"opset=24: c:f32[2,10,4], u:f32[2,3,5] -> y = TensorScatter(c, u) {axis=1}", "error: past_cache and update", "", "5 is not 4"},
    // 6 tokens; 2 key heads, 4 query heads, state 3·5.
    {"opset=27: q:f32[2,3,12], k:f32[2,3,6], v:f32[2,3,10] -> y, s = LinearAttention(q, k, v) {q_num_heads=4, kv_num_heads=2, update_rule='linear'}",
     "y:f32[2,3,20], s:f32[2,2,3,5]", "macs=540 arith=120 special=0", "k⊗v per key head, qᵀS and a scale per query head"},
    {"opset=27: q:f32[2,3,12], k:f32[2,3,6], v:f32[2,3,10], p:f32[2,2,3,5], g:f32[2,3,2] -> y, s = LinearAttention(q, k, v, p, g) {q_num_heads=4, kv_num_heads=2, update_rule='gated'}",
     "y:f32[2,3,20], s:f32[2,2,3,5]", "macs=540 arith=300 special=12", "the state decays"},
    {"opset=27: q:f16[B,T,12], k:f16[B,T,6], v:f16[B,T,10], p:f32[B,2,3,5], b:f16[B,T,2] -> y, s = LinearAttention(q, k, v, p, , b) {q_num_heads=4, kv_num_heads=2, update_rule='delta'}",
     "y:f16[B,T,20], s:f32[B,2,3,5]", "macs=120*B*T arith=40*B*T", "the delta rule reads the state first; the state keeps its type"},
    {"opset=27: q:f32[2,3,12], k:f32[2,3,6], v:f32[2,3,10], g:f32[2,3,6], b:f32[2,3,2] -> y, s = LinearAttention(q, k, v, , g, b) {q_num_heads=4, kv_num_heads=2}",
     "y:f32[2,3,20], s:f32[2,2,3,5]", "macs=720 arith=420 special=36", "gated delta, a decay per key element"},
    {"opset=27: q:f32[2,3,12], k:f32[2,3,7], v:f32[2,3,10] -> y, s = LinearAttention(q, k, v) {q_num_heads=4, kv_num_heads=2}", "error: head size", "", "7 is not 6"},
    {"opset=27: q:f32[2,3,12], k:f32[2,3,6], v:f32[2,3,10] -> y, s = LinearAttention(q, k, v)", "error: q_num_heads", "", "mandatory"},
};

constexpr OpCase kPreview[] = {
    {"q:f32[B,8,S,64], k:f32[B,2,T,64], v:f32[B,2,T,32] -> y = ai.onnx.preview.FlexAttention(q, k, v)", "y:f32[B,8,S,32]", "macs=768*B*S*T arith=40*B*S*T", "as Attention"},
    {"q:f32[1,2,3,4], k:f32[1,2,5,4], v:f32[1,2,5,4] -> y = ai.onnx.preview.FlexAttention(q, k, v) {score_mod=(s:f32[1,2,3,5] -> t = Relu(s))}", "y:f32[1,2,3,4]", "macs=240 arith=150+30 special=30 comparisons=30+30", "a modifier runs on every score"},
    {"q:f16[N,2,3,4], k:f16[N,2,5,4], v:f16[N,2,5,4], t:f32[5] -> y = ai.onnx.preview.FlexAttention(q, k, v) {prob_mod=(s:f32[?,?,?,?] -> u = Mul(s, t))}", "y:f16[N,2,3,4]", "arith=150*N+30*N read=208*N+20", "of a tensor outside the graph, too"},
    {"q:f32[3,8], k:f32[5,8], v:f32[5,8] -> y = ai.onnx.preview.FlexAttention(q, k, v)", "error: rank 2", "", "rank 4 alone"},
};
// clang-format on

// Multiply-accumulates of one head of size 1 + 1: two per visible pair, counted by examining every pair.
Int visible_macs(int queries, int keys, int offset, bool causal, int left, int right) {
  Int count = 0;
  for (int query = 0; query < queries; ++query)
    for (int key = 0; key < keys; ++key) {
      const int position = offset + query;
      if (causal && key > position) continue;
      if (left >= 0 && key < position - left) continue;
      if (right >= 0 && key > position + right) continue;
      count += 2;
    }
  return count;
}

}  // namespace

TEST_CASE("attention") { check_cases(kAttentionCases); }
TEST_CASE("around attention") { check_cases(kAround); }
TEST_CASE("flexible attention") { check_cases(kPreview); }

TEST_CASE("attention macs equal those of a loop over all pairs, bound before or after") {
  // One analysis with symbols serves all sizes of a variant.
  for (const bool causal : {false, true})
    for (const int left : {-1, 0, 2})
      for (const int right : {-1, 0, 1, 3}) {
        const auto text = [&](const std::string& queries, const std::string& keys, const std::string& past) {
          return "opset=25: q:f32[1,1," + queries + ",1], k:f32[1,1," + keys + ",1], v:f32[1,1," + keys +
                 ",1], pk:f32[1,1," + past + ",1], pv:f32[1,1," + past +
                 ",1] -> y, ok, ov = Attention(q, k, v, , pk, pv) {is_causal=" + (causal ? "1" : "0") +
                 ", left_window_size=" + std::to_string(left) + ", right_window_size=" + std::to_string(right) + "}";
        };
        const Dim symbolic = analyze(graph(text("Q", "K", "P"))).totals.cost.macs;
        for (const int queries : {1, 2, 5})
          for (const int keys : {1, 3, 5, 6})
            for (const int past : {0, 1, 4}) {
              const Int expected = visible_macs(queries, past + keys, past, causal, left, right);
              const std::string bound = text(std::to_string(queries), std::to_string(keys), std::to_string(past));
              CHECK_MESSAGE(analyze(graph(bound)).totals.cost.macs == Dim(expected), bound);
              CHECK_MESSAGE(symbolic.bind({{"Q", queries}, {"K", keys}, {"P", past}}) == Dim(expected), bound);
            }
      }
}

}  // namespace pagoda::test
