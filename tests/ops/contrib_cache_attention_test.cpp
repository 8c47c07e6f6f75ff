// com.microsoft attention over caches: GroupQueryAttention in every form that exporters write, block-sparse and paged
// attention, attention over selected keys.
#include <doctest/doctest.h>

#include <string>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
// Four query heads share two key heads of 16. A pair costs 32 macs.
constexpr OpCase kContribCacheAttentionGroup[] = {
    // graph, types, cost, why
    {"q:f16[B,S,64], k:f16[B,S,32], v:f16[B,S,32], n:i32[B], x:f32[S,1] -> s = Shape(x) {end=1}; t = Cast(s) {to=6}; y, pk, pv = com.microsoft.GroupQueryAttention(q, k, v, , , n, t) {num_heads=4, kv_num_heads=2}",
     "y:f16[B,S,64], pk:f16[B,2,S,16], pv:f16[B,2,S,16]",
     "macs=64*B*S*S+64*B*S arith=10*B*S*S+10*B*S special=2*B*S*S+2*B*S read=256*B*S+4*B written=128*B*S+128*B*S precision=float16",
     "prefill: the triangle, 4·S·(S + 1)/2 pairs; the cache is written"},
    {"q:f16[B,1,64], k:f16[B,1,32], v:f16[B,1,32], a:f16[B,2,P,16], b:f16[B,2,P,16], n:i32[B], m:i64[B,P+1] -> s = Shape(m) {start=1}; t = Cast(s) {to=6}; y, pk, pv = com.microsoft.GroupQueryAttention(q, k, v, a, b, n, t) {num_heads=4, kv_num_heads=2}",
     "y:f16[B,1,64], pk:f16[B,2,P+1,16], pv:f16[B,2,P+1,16]",
     "macs=128*B*P+128*B arith=20*B*P+20*B read=256*B+4*B+128*B*P written=128*B+128*B", "decode: the cache is read and grows by one"},
    {"q:f16[B,1,64], k:f16[B,1,32], v:f16[B,1,32], a:f16[B,2,4096,16], b:f16[B,2,4096,16], n:i32[B], t:i32=10 -> y, pk, pv = com.microsoft.GroupQueryAttention(q, k, v, a, b, n, t) {num_heads=4, kv_num_heads=2}",
     "pk:f16[B,2,4096,16]", "macs=1280*B read=256*B+4*B+1152*B written=128*B+128*B", "decode in a buffer of 4096: 9 rows read, 1 written"},
    {"q:f16[1,S,64], k:f16[1,S,32], v:f16[1,S,32], a:f16[1,2,P,16], b:f16[1,2,P,16], n:i32[1], m:i64[1,T] -> s = Shape(m) {start=1}; t = Cast(s) {to=6}; y, pk, pv = com.microsoft.GroupQueryAttention(q, k, v, a, b, n, t) {num_heads=4, kv_num_heads=2}",
     "pk:f16[1,2,max(P,T),16]", "macs=128*S*T-64*S*S+64*S", "a chunk of S after T − S: S·(2T − S + 1)/2 pairs a head"},
    {"q:f16[B,S,128], n:i32[B], t:i32, a:f16[B,2,0,16], b:f16[B,2,0,16], c:f16[64,8], d:f16[64,8] -> y, pk, pv = com.microsoft.GroupQueryAttention(q, , , a, b, n, t, c, d) {num_heads=4, kv_num_heads=2, do_rotary=1}",
     "y:f16[B,S,64], pk:f16[B,2,?,16]", "", "packed Q, K and V; a total length that is data"},
    {"q:f16[2,5,128], n:i32[2]=[4,4], t:i32=5, c:f16[64,8], d:f16[64,8] -> y, pk, pv = com.microsoft.GroupQueryAttention(q, , , , , n, t, c, d) {num_heads=4, kv_num_heads=2, do_rotary=1}",
     "y:f16[2,5,64], pk:f16[2,2,5,16]", "macs=3840 arith=2880+600 special=120 read=2560+8+320", "10 tokens, 6 heads of 16 rotate at 3; 10 rows of the tables"},
    {"q:f16[2,1,64], k:f16[2,1,32], v:f16[2,1,32], a:f16[2,2,9,16], b:f16[2,2,9,16], n:i32[2]=[4,9], t:i32=10 -> y = com.microsoft.GroupQueryAttention(q, k, v, a, b, n, t) {num_heads=4, kv_num_heads=2}",
     "y:f16[2,1,64]", "macs=1920", "known lengths: 5 and 10 keys"},
    {"q:f16[1,6,64], k:f16[1,6,32], v:f16[1,6,32], n:i32[1], t:i32=6 -> y = com.microsoft.GroupQueryAttention(q, k, v, , , n, t) {num_heads=4, kv_num_heads=2, local_window_size=3}",
     "y:f16[1,6,64]", "macs=1920", "a window of 3, the query's own key included: 1 + 2 + 3·4 pairs"},
    {"q:f16[1,1,64], k:f16[1,1,32], v:f16[1,1,32], a:f16[1,2,4096,16], b:f16[1,2,4096,16], n:i32[1], t:i32=100 -> y, pk, pv = com.microsoft.GroupQueryAttention(q, k, v, a, b, n, t) {num_heads=4, kv_num_heads=2, local_window_size=8}",
     "pk:f16[1,2,4096,16]", "macs=1024 read=256+4+896 written=128+128", "decode in a window: 7 rows are read"},
    {"q:f16[1,1,64], k:f16[1,1,32], v:f16[1,1,32], a:f16[1,2,8,16], b:f16[1,2,8,16], n:i32[1], t:i32=100 -> y, pk, pv = com.microsoft.GroupQueryAttention(q, k, v, a, b, n, t) {num_heads=4, kv_num_heads=2, local_window_size=8, sliding_window_cache=1}",
     "pk:f16[1,2,8,16]", "macs=1024 read=256+4+896 written=128+128", "a full window of 8: the 7 rows before are read, 1 is written"},
    {"q:f16[B,1,64], k:f16[B,1,32], v:f16[B,1,32], a:f16[B,2,8,16], b:f16[B,2,8,16], n:i32[B], m:i64[B,P+1] -> s = Shape(m) {start=1}; t = Cast(s) {to=6}; y, pk, pv = com.microsoft.GroupQueryAttention(q, k, v, a, b, n, t) {num_heads=4, kv_num_heads=2, local_window_size=8, sliding_window_cache=1}",
     "pk:f16[B,2,8,16]", "macs=128*B*min(P+1,8) read=256*B+4*B+128*B*min(P,7) written=128*B+128*B", "a window that is not full yet: no more than what came before is read"},
    {"q:f16[1,3,64], k:f16[1,3,32], v:f16[1,3,32], a:f16[1,2,8,16], b:f16[1,2,8,16], n:i32[1], t:i32=5 -> y, pk, pv = com.microsoft.GroupQueryAttention(q, k, v, a, b, n, t) {num_heads=4, kv_num_heads=2, local_window_size=8, sliding_window_cache=1}",
     "pk:f16[1,2,8,16]", "macs=1536 read=768+4+256 written=384+384", "3 tokens after 2, none of which leaves: 3 + 4 + 5 pairs"},
    {"q:f16[1,12,64], k:f16[1,12,32], v:f16[1,12,32], a:f16[1,2,8,16], b:f16[1,2,8,16], n:i32[1], t:i32=12 -> y, pk, pv = com.microsoft.GroupQueryAttention(q, k, v, a, b, n, t) {num_heads=4, kv_num_heads=2, local_window_size=8, sliding_window_cache=1}",
     "pk:f16[1,2,8,16]", "macs=8704 read=3072+4 written=1536+1024", "a prompt of 12: nothing is read, the last 8 rows stay"},
    {"q:f16[1,1,64], k:f16[1,1,32], v:f16[1,1,32], a:f16[1,2,8,16], b:f16[1,2,8,16], n:i32[1], t:i32 -> y, pk, pv = com.microsoft.GroupQueryAttention(q, k, v, a, b, n, t) {num_heads=4, kv_num_heads=2, local_window_size=8, sliding_window_cache=1}",
     "pk:f16[1,2,8,16]", "macs=1024 read=256+4+896 written=128+128", "a total that is data: the window is full"},
    {"q:f16[1,1,64], k:f16[1,1,32], v:f16[1,1,32], a:f16[1,2,12,16], b:f16[1,2,12,16], n:i32[1], t:i32=100 -> y, pk, pv = com.microsoft.GroupQueryAttention(q, k, v, a, b, n, t) {num_heads=4, kv_num_heads=2, local_window_size=8, sliding_window_cache=1}",
     "pk:f16[1,2,12,16]", "macs=1024 read=256+4+896 written=128+128", "rows beyond the window are not seen"},
    {"q:f16[1,1,64], k:f16[1,1,32], v:f16[1,1,32], a:i8[1,2,9,16], b:i8[1,2,9,16], n:i32[1], t:i32=10, ks:f32[1], vs:f32[1] -> y, pk, pv = com.microsoft.GroupQueryAttention(q, k, v, a, b, n, t, , , , , , ks, vs) {num_heads=4, kv_num_heads=2, k_quant_type='PER_TENSOR', v_quant_type='PER_TENSOR', kv_cache_bit_width=8}",
     "pk:i8[1,2,10,16]", "macs=1280 arith=576+256+200 comparisons=192+40 read=256+4+576+8 written=128+64", "an int8 cache: a mul per old element, 4 per new one"},
    {"q:f16[1,1,64], k:f16[1,1,32], v:f16[1,1,32], a:u8[1,2,9,8], b:u8[1,2,9,8], n:i32[1], t:i32=10, ks:f32[1], vs:f32[1] -> y, pk, pv = com.microsoft.GroupQueryAttention(q, k, v, a, b, n, t, , , , , , ks, vs) {num_heads=4, kv_num_heads=2, k_quant_type='PER_TENSOR', v_quant_type='PER_TENSOR', kv_cache_bit_width=4}",
     "pk:u8[1,2,10,8]", "arith=576+256+200 written=128+32", "4-bit elements, two to a byte"},
    {"q:f32[1,2,64], k:f32[1,2,32], v:f32[1,2,32], n:i32[1], t:i32=2, g:f32[1,4,2,2], h:f32[4], w:f32[16] -> y, , , z = com.microsoft.GroupQueryAttention(q, k, v, , , n, t, , , , g, h, , , w, w) {num_heads=4, kv_num_heads=2, softcap=30.0, qk_output=1}",
     "y:f32[1,2,64], z:f32[1,4,2,2]", "macs=448 arith=768+24+48+24+48+12 special=12+16+12+8 comparisons=12+8",
     "head norms 4 and 2, 16 raw scores, softcap, bias, softmax, a sink per row"},
    {"q:f32[1,2,64], k:f32[1,2,32], v:f32[1,2,32], n:i32[1], t:i32=2 -> y = com.microsoft.GroupQueryAttention(q, k, v, , , n, t) {num_heads=4, kv_num_heads=2, causal=0}", "y:f32[1,2,64]", "macs=512", "bidirectional"},
    {"q:f32[1,2,64], k:f32[1,2,32], v:f32[1,2,32], n:i32[1], t:i32=2 -> y = com.microsoft.GroupQueryAttention(q, k, v, , , n, t) {num_heads=4, kv_num_heads=3}", "error: 4 query heads", "", "not shared evenly"},
    {"q:f32[1,2,64], k:f32[1,2,48], v:f32[1,2,32], n:i32[1], t:i32=2 -> y = com.microsoft.GroupQueryAttention(q, k, v, , , n, t) {num_heads=4, kv_num_heads=2}", "error: hidden size of the key", "", "48 is not 32"},
    {"q:f32[1,3,64], k:f32[1,3,32], v:f32[1,3,32], n:i32[1], t:i32=2 -> y = com.microsoft.GroupQueryAttention(q, k, v, , , n, t) {num_heads=4, kv_num_heads=2}", "error: below the 3 queries", "", "more queries than keys in all"},
    {"q:f32[1,2,63], n:i32[1], t:i32=2 -> y = com.microsoft.GroupQueryAttention(q, , , , , n, t) {num_heads=4, kv_num_heads=2}", "error: 63 does not divide by 8", "", "no whole heads"},
};

// Blocks of 16; the second row of blocks sees only its own block.
constexpr OpCase kSparse[] = {
    {"q:f16[2,20,64], k:f16[2,20,32], v:f16[2,20,32], a:f16[2,2,64,16], b:f16[2,2,64,16], r:i32[1,5]=[0,1,2,5,9], c:i32[1,9]=[0,1,0,1,2,0,1,2,3], t:i32=20, n:i32[2] -> y, pk, pv = com.microsoft.SparseAttention(q, k, v, a, b, r, c, t, n) {num_heads=4, kv_num_heads=2, sparse_block_size=16}",
     "y:f16[2,20,64], pk:f16[2,2,64,16], pv:f16[2,2,64,16]", "macs=37376 special=1168 written=5120+5120", "136 pairs in the first block and 10 in the second, 8 heads"},
    {"q:f16[1,1,64], k:f16[1,1,32], v:f16[1,1,32], a:f16[1,2,64,16], b:f16[1,2,64,16], r:i32[2,3]=[0,1,2,0,1,3], c:i32[2,3]=[0,1,-1,0,0,1], t:i32=20, n:i32[1] -> y, pk, pv = com.microsoft.SparseAttention(q, k, v, a, b, r, c, t, n) {num_heads=4, kv_num_heads=2, sparse_block_size=16}",
     "y:f16[1,1,64]", "macs=1536 read=256+24+24+4+2432", "decode: 4 keys for two heads, 20 for the others"},
    {"q:f16[B,S,64], k:f16[B,S,32], v:f16[B,S,32], a:f16[B,2,64,16], b:f16[B,2,64,16], r:i32[1,5], c:i32[1,9], t:i32, n:i32[B] -> y, pk, pv = com.microsoft.SparseAttention(q, k, v, a, b, r, c, t, n) {num_heads=4, kv_num_heads=2, sparse_block_size=16}",
     "y:f16[B,S,64], pk:f16[B,2,64,16]", "mark=unmodelled", "symbolic lengths over blocks"},
    {"q:f16[1,40,64], k:f16[1,40,32], v:f16[1,40,32], a:f16[1,2,64,16], b:f16[1,2,64,16], r:i32[1,3]=[0,1,2], c:i32[1,2]=[0,1], t:i32=40, n:i32[1] -> y, pk, pv = com.microsoft.SparseAttention(q, k, v, a, b, r, c, t, n) {num_heads=4, kv_num_heads=2, sparse_block_size=16}",
     "error: outside the block mask", "", "position 32 has no row of blocks"},
};

constexpr OpCase kPaged[] = {
    {"q:f16[T,64], k:f16[T,32], v:f16[T,32], a:f16[100,16,2,16], b:f16[100,16,2,16], c:i32[3], p:i32[2], t:i32[2,8] -> y, pk, pv = com.microsoft.PagedAttention(q, k, v, a, b, c, p, t) {num_heads=4, kv_num_heads=2}",
     "y:f16[T,64], pk:f16[100,16,2,16], pv:f16[100,16,2,16]", "mark=compute", "lengths that are data"},
    {"q:f16[B,64], k:f16[B,32], v:f16[B,32], a:f16[N,16,2,16], b:f16[N,16,2,16], c:i32[B+1], p:i32[B], t:i32[B,8] -> y, pk, pv = com.microsoft.PagedAttention(q, k, v, a, b, c, p, t) {num_heads=4, kv_num_heads=2}",
     "y:f16[B,64]", "macs=14464*B read=256*B+4*B+4+4*B+32*B+14336*B written=128*B+128*B", "decode of B sequences of 8 pages of 16: at least 113 keys"},
    {"q:f16[B,64], k:f16[B,32], v:f16[B,32], a:f16[N,16,2,16], b:f16[N,16,2,16], c:i32[B+1], p:i32[B], t:i32[B,8] -> y, pk, pv = com.microsoft.PagedAttention(q, k, v, a, b, c, p, t) {num_heads=4, kv_num_heads=2, local_window_size=32}",
     "y:f16[B,64]", "macs=4096*B read=256*B+4*B+4+4*B+32*B+3968*B", "in a window of 32: 31 past rows"},
    {"q:f16[6,64], k:f16[6,32], v:f16[6,32], a:f16[100,16,2,16], b:f16[100,16,2,16], c:i32[3]=[0,1,6], p:i32[2]=[9,0], t:i32[2,8] -> y, pk, pv = com.microsoft.PagedAttention(q, k, v, a, b, c, p, t) {num_heads=4, kv_num_heads=2}",
     "y:f16[6,64]", "macs=3200 read=1536+12+8+64+1152 written=768+768", "a decode of 10 keys and a prefill of 5: 25 pairs a head"},
    {"q:f16[6,128], a:f16[100,16,2,16], b:f16[100,16,2,16], c:i32[3]=[0,1,6], p:i32[2]=[9,0], t:i32[2,8], e:f16[64,8] -> y = com.microsoft.PagedAttention(q, , , a, b, c, p, t, e, e) {num_heads=4, kv_num_heads=2, do_rotary=1, local_window_size=3}",
     "y:f16[6,64]", "macs=1920 arith=1728+300", "packed, rotated, in a window: 3 + 12 pairs"},
    {"q:f16[1,64], k:f16[1,16], a:f16[100,16,1,16], c:i32[2]=[0,1], p:i32[1]=[9], t:i32[1,8] -> y = com.microsoft.PagedAttention(q, k, , a, , c, p, t) {num_heads=4, kv_num_heads=1, kv_cache_layout='LATENT', v_head_size=8, scale=0.1}",
     "y:f16[1,32]", "macs=960 written=64+32", "latent: one cache of 16, values are 8 wide"},
    {"q:f16[6,64], k:f16[6,32], v:f16[6,32], a:f16[100,16,2,16], b:f16[100,16,2,16], c:i32[3]=[0,7,6], p:i32[2]=[9,0], t:i32[2,8] -> y = com.microsoft.PagedAttention(q, k, v, a, b, c, p, t) {num_heads=4, kv_num_heads=2}", "error: negative length", "", "offsets fall"},
    {"q:f16[T,64], k:f16[T,32], v:f16[T,32], a:f16[100,16,2,16], b:f16[100,16,2,16], c:i32[3], p:i32[2], t:i32[2,8], s:i32[T,9], n:i32[T] -> y, pk, pv = com.microsoft.SparsePagedAttention(q, k, v, a, b, c, p, t, , s, n) {num_heads=4, kv_num_heads=2}",
     "y:f16[T,64], pk:f16[100,16,2,16]", "mark=unmodelled", "selected keys are data"},
    {"q:f16[T,63], k:f16[T,32], v:f16[T,32], a:f16[100,16,2,16], c:i32[3], p:i32[2], t:i32[2,8], s:i32[T,9], n:i32[T] -> y = com.microsoft.SparsePagedAttention(q, k, v, a, a, c, p, t, , s, n) {num_heads=4, kv_num_heads=2}", "error: 63 does not divide by 4", "", "no whole heads"},
    {"q:f16[B,S,64], k:f16[B,S,32], v:f16[B,S,32], a:f16[B,2,P,16], b:f16[B,2,P,16], s:i32[B*S,9], c:i32[B*S], n:i32[B], t:i32=100 -> y, pk, pv = com.microsoft.DynamicSparseAttention(q, k, v, a, b, , , s, c, n, t) {num_heads=4, kv_num_heads=2}",
     "y:f16[B,S,64], pk:f16[B,2,max(P,100),16]", "mark=unmodelled", "selected keys are data"},
    {"q:f16[B,64], k:f16[B,32], v:f16[B,32], s:i32[B,9], c:i32[B], n:i32[B], t:i32=100 -> y = com.microsoft.DynamicSparseAttention(q, k, v, , , , , s, c, n, t) {num_heads=4, kv_num_heads=2}", "error: rank 2", "", "rank 3"},
};

constexpr OpCase kIndexer[] = {
    {"q:f16[B,S,32], k:f16[B,S,16], w:f16[16], c:f16[64,4], p:f16[B,P,16] -> i, n = com.microsoft.SparseAttentionIndexer(q, k, w, w, c, c, , p) {policy_mode='qsa', compress_ratio=4, token_budget=64}",
     "i:i32[B,S,67], n:f16[B,P+S,16]", "mark=unmodelled", "a list of tokens; the cache grows by the new ones"},
    {"q:f16[1,5,32], k:f16[1,5,32], w:f16[16], c:f16[64,4], p:f16[1,9,16], g:f16[1,5,32], b:f16[4,32], h:f16[1,5,2], o:i64[1,5], u:f16[2,1,6,32] -> i, n, m = com.microsoft.SparseAttentionIndexer(q, k, w, w, c, c, , p, g, b, h, o, , u) {policy_mode='csa', compress_ratio=4, index_topk=8}",
     "i:i32[1,5,8], n:f16[1,10,16], m:f16[2,1,7,32]", "", "6 waiting and 5 new: one new entry, a window and 3 wait"},
    {"q:f16[1,1,32], k:f16[1,1,32], w:f16[16], c:f16[64,4], p:f16[1,64,16], g:f16[1,1,32], b:f16[4,32], h:f16[1,1,2], o:i64[1,1], l:i32[1], u:f16[2,1,0,32] -> i, n, m = com.microsoft.SparseAttentionIndexer(q, k, w, w, c, c, , p, g, b, h, o, l, u) {policy_mode='csa', compress_ratio=4, index_topk=8}",
     "n:f16[1,64,16], m:f16[2,1,1,32]", "", "a cache of fixed capacity; a first token waits"},
    {"q:f16[1,1,32], k:f16[1,1,32], w:f16[16], c:f16[64,4], p:f16[1,64,16] -> i, n = com.microsoft.SparseAttentionIndexer(q, k, w, w, c, c, , p) {policy_mode='abc', compress_ratio=4}", "error: policy_mode", "", "no such policy"},
    {"q:f16[T,32], k:f16[T,16], w:f16[16], c:f16[64,4], s:i32[3], l:i32[2], p:f16[2,128,16], u:f16[2,7,16], n:i32[2,2], z:i32[2] -> i, m, ps, pb, , pn, d = com.microsoft.PackedSparseAttentionIndexer(q, k, w, w, c, c, s, l, , , , , p, u, , n, z) {policy_mode='qsa', compress_ratio=4, token_budget=64, state_capacity=128, state_update_capacity=2}",
     "i:i32[T,67], m:i32[T], ps:f16[2,128,16], pb:f16[2,7,16], pn:i32[2,2], d:f16[2,2,16]", "mark=unmodelled", "packed sequences, fixed states"},
    {"q:f16[1,5,32], k:f16[5,16], w:f16[16], c:f16[64,4], s:i32[3], l:i32[2], p:f16[2,128,16], u:f16[2,7,16], n:i32[2,2] -> i, m = com.microsoft.PackedSparseAttentionIndexer(q, k, w, w, c, c, s, l, , , , , p, u, , n) {policy_mode='qsa', compress_ratio=4, token_budget=64}", "error: rank 3", "", "tokens and width"},
};
// clang-format on

}  // namespace

TEST_CASE("GroupQueryAttention") { check_cases(kContribCacheAttentionGroup); }
TEST_CASE("SparseAttention") { check_cases(kSparse); }
TEST_CASE("paged attention and attention over selected keys") { check_cases(kPaged); }
TEST_CASE("sparse attention indexers") { check_cases(kIndexer); }

TEST_CASE("a chunk of GroupQueryAttention bound to sizes is what those sizes give") {
  const std::string head =
      "q:f16[1,S,64], k:f16[1,S,32], v:f16[1,S,32], a:f16[1,2,P,16], b:f16[1,2,P,16], n:i32[1], m:i64[1,T] -> ";
  const std::string body =
      "s = Shape(m) {start=1}; t = Cast(s) {to=6}; y, pk, pv = com.microsoft.GroupQueryAttention(q, k, v, a, b, n, t) "
      "{num_heads=4, kv_num_heads=2}";
  const Model model = graph(head + body);
  const Analysis symbolic = analyze(model);
  const Bindings sizes[] = {{{"S", 1}, {"P", 9}, {"T", 10}},
                            {{"S", 1}, {"P", 64}, {"T", 10}},
                            {{"S", 5}, {"P", 0}, {"T", 5}},
                            {{"S", 4}, {"P", 6}, {"T", 10}}};
  for (const Bindings& bindings : sizes) {
    AnalyzeOptions options;
    options.dims = bindings;
    const OpCost bound = analyze(model, options).totals.cost;
    const OpCost late = symbolic.totals.cost.bind(bindings);
    CHECK(bound.macs == late.macs);
    CHECK(bound.arith == late.arith);
    CHECK(bound.bytes_read == late.bytes_read);
    CHECK(bound.bytes_written == late.bytes_written);
  }
}

}  // namespace pagoda::test
