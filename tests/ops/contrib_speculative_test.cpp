// com.microsoft operators of speculative decoding: replayed states, a verifying Mamba step, merged selections, commits.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kReplay[] = {
    // graph, types, cost, why
    {"s:f32[1000], c:f32[1000], d:f32[1000], m:i64=[0,0,0,2,6,3,4,2] -> y = com.microsoft.ConvStateReplay(s, c, d, m)", "y:f32[1000]", "arith=0 read=48+96 written=144", "12 histories of 3: one position stays, two come from the capture"},
    {"s:f16[1000], c:f16[1000], d:f16[1000], m:i64=[0,0,0,1,6,3,8,5] -> y = com.microsoft.ConvStateReplay(s, c, d, m)", "y:f16[1000]", "read=36 written=36", "five kept tokens fill the history"},
    {"s:f32[9], c:f32[9], d:f32[9], m:i64=[0,0] -> y = com.microsoft.ConvStateReplay(s, c, d, m)", "error: metadata has 2 entries", "", "eight are needed"},
    {"s:f32[1000], c:f32[1000], d:f32[1000], m:i64=[0,0,0,0,0,4,8,16,2,4,3] -> y = com.microsoft.GatedDeltaNetStateReplay(s, c, d, m)", "y:f32[1000]", "macs=1536 arith=1536 read=2048+816 written=2048", "a state of 4·8·16, three tokens"},
};

constexpr OpCase kVerify[] = {
    {"p:bf16[3,66], h:bf16[4,48,3], s:f32[4,2,16,8], w:bf16[48,4], b:bf16[48], t:f32[2], a:f32[2], d:f32[2], n:f32[16], r:i32[1] -> y, i, o = com.microsoft.Mamba2Verify(p, h, s, w, b, t, a, d, n, r) {heads=2, n_groups=1, head_dim=8, d_state=16}",
     "y:bf16[3,16], i:bf16[4,48,3], o:f32[4,2,16,8]", "macs=576+1536+48 arith=144+768+96+144+24+48+198 special=144+18+48+3 comparisons=6 read=396+288+1024+384+96+24+64+4 written=96+864+3072 precision=float32", "48 channels, 256 elements of state, three of four slots written"},
    {"p:bf16[R,66], h:bf16[1,48,3], s:f32[1,2,16,8], w:bf16[48,4], b:bf16[48], t:f32[2], a:f32[2], d:f32[2], n:f32[16], r:i32[1] -> y, i, o, x, z = com.microsoft.Mamba2Verify(p, h, s, w, b, t, a, d, n, r) {heads=2, n_groups=1}", "y:bf16[R,16], x:bf16[R,48], z:f32[R,16]", "macs=720*R", "intermediates as outputs"},
    {"p:bf16[3,65], h:bf16[4,48,3], s:f32[4,2,16,8], w:bf16[48,4], b:bf16[48], t:f32[2], a:f32[2], d:f32[2], n:f32[16], r:i32[1] -> y, i, o = com.microsoft.Mamba2Verify(p, h, s, w, b, t, a, d, n, r) {heads=2, n_groups=1}", "error: width of the projection", "", "65 is not 66"},
    {"b:i32[6,8], c:i32[6], r:i32[4], s:i32[4], e:i32[4] -> i, n, t = com.microsoft.PackedSparseAttentionIndexerMerge(b, c, r, s, e) {max_output_entries=16, policy_mode='append_range'}", "i:i32[4,16], n:i32[4], t:i32[4]", "arith=64 comparisons=64 read=128+24+48", "four queries, four of six rows"},
    {"n:i64[2,8], d:i64[2,8], s:i32[1], c:i64[32], x:i64[4], p:i64[32], q:i64[2] -> h, u, v = com.microsoft.SpeculativePrefixCommit(n, d, s, c, x, p, q)", "h:i32[2], u:i64[32], v:i64[4]", "arith=14 comparisons=14", "seven drafted tokens a sequence"},
    {"n:i64[8], d:i64[8], s:i32[1], c:i64[16], x:i64[2], p:i64[16], q:i64[2] -> h, u, v = com.microsoft.SpeculativePrefixCommit(n, d, s, c, x, p, q) {head_rows=2}", "error: head_rows is 2", "", "3 to 8"},
};
// clang-format on

}  // namespace

TEST_CASE("replays of captured states") { check_cases(kReplay); }

TEST_CASE("steps of speculative decoding") { check_cases(kVerify); }

}  // namespace pagoda::test
