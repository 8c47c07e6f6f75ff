// com.microsoft attention over sequences packed without padding.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kContribPackedAttentionCases[] = {
    // graph, types, cost, why
    {"x:f16[8,12], w:f16[12,48], b:f16[48], o:i32[3,4], c:i32[4]=[0,1,4,8] -> y = com.microsoft.PackedAttention(x, w, b, o, c) {num_heads=2}", "y:f16[8,16]", "macs=4608+832 arith=384+260 special=52", "1 + 9 + 16 pairs a head"},
    {"x:f16[B*S,12], w:f16[12,48], b:f16[48], o:i32[B,S], c:i32[B+1] -> y = com.microsoft.PackedAttention(x, w, b, o, c) {num_heads=2}", "y:f16[B*S,16]", "macs=576*B*S+32*B*S*S", "no padding at all"},
    {"x:f16[T,12], w:f16[12,48], b:f16[48], o:i32[1,S], c:i32[2], a:f16[1,2,S,S] -> y = com.microsoft.PackedAttention(x, w, b, o, c, a) {num_heads=2}", "y:f16[T,16]", "macs=576*T+32*T*T arith=48*T+12*T*T", "one sequence, a bias of positions"},
    {"x:f16[T,12], w:f16[12,48], b:f16[48], o:i32[B,S], c:i32[B+1] -> y = com.microsoft.PackedAttention(x, w, b, o, c) {num_heads=2}", "y:f16[T,16]", "mark=unmodelled", "lengths that are data"},
    {"x:f16[8,12], w:f16[12,40], b:f16[40], o:i32[3,4], c:i32[4]=[0,1,4,8] -> y = com.microsoft.PackedAttention(x, w, b, o, c) {num_heads=2, qkv_hidden_sizes=[16,16,8]}", "y:f16[8,8]", "macs=3840+624", "V is narrower"},
    {"x:f16[8,12], w:f16[12,48], b:f16[48], o:i32[3,4], c:i32[4]=[0,5,4,8] -> y = com.microsoft.PackedAttention(x, w, b, o, c) {num_heads=2}", "error: cumulative lengths fall", "", "5 before 4"},
    {"x:f16[8,11], w:f16[12,48], b:f16[48], o:i32[3,4], c:i32[4] -> y = com.microsoft.PackedAttention(x, w, b, o, c) {num_heads=2}", "error: input size", "", "11 is not 12"},
    {"q:f16[8,16], k:f16[8,16], v:f16[8,24], b:f16[56], o:i32[3,4], c:i32[4]=[0,1,4,8] -> y = com.microsoft.PackedMultiHeadAttention(q, k, v, b, o, c) {num_heads=2}", "y:f16[8,24]", "macs=1040 arith=448+260", "biases and wider values"},
    {"q:f16[T,2,3,8], o:i32[1,S], c:i32[2] -> y = com.microsoft.PackedMultiHeadAttention(q, , , , o, c) {num_heads=2}", "y:f16[T,16]", "macs=32*T*T", "packed Q, K and V"},
    {"q:f16[2,3,8], o:i32[1,5], c:i32[2] -> y = com.microsoft.PackedMultiHeadAttention(q, , , , o, c) {num_heads=2}", "error: rank 3", "", "rank 2 or 4"},
    {"x:f16[3,4,16], n:i32[3]=[1,3,4] -> y, o, c, m = com.microsoft.RemovePadding(x, n)", "y:f16[8,16], o:i32[3,4], c:i32[4], m:i32[1]", "arith=0 read=12+256 written=256+48+16+4", "eight tokens are no padding"},
    {"x:f16[B,S,16], n:i32[B] -> y, o, c, m = com.microsoft.RemovePadding(x, n)", "y:f16[?,16], o:i32[B,S], c:i32[B+1]", "", "how many is data"},
    {"x:f16[3,16], n:i32[3] -> y, o, c, m = com.microsoft.RemovePadding(x, n)", "error: rank 2", "", "a batch of sequences"},
    {"x:f16[T,16], o:i32[B,S] -> y = com.microsoft.RestorePadding(x, o)", "y:f16[B,S,16]", "arith=0 read=32*T+4*B*S written=32*B*S", "all rows are written"},
    {"x:f16[T,16], o:i32[S] -> y = com.microsoft.RestorePadding(x, o)", "error: rank 1", "", "a batch of sequences"},
};
// clang-format on

}  // namespace

TEST_CASE("com.microsoft packed attention") { check_cases(kContribPackedAttentionCases); }

}  // namespace pagoda::test
