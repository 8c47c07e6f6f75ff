// com.microsoft text generation: shapes of searches, which contain whole decoders, and the checks around them.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kSearch[] = {
    // graph, types, cost, why
    {"i:i32[B,S], l:i32[1]=[20], m:i32[1]=[1], n:i32[1]=[4], r:i32[1]=[2] -> y, s, z = com.microsoft.BeamSearch(i, l, m, n, r) {eos_token_id=1, pad_token_id=0, vocab_size=100}",
     "y:i32[B,2,20], s:f32[B,2], z:f32[20-S,B,4,100]", "mark=unmodelled", "sizes that are values"},
    {"i:i32[B,S], l:i32[1], m:i32[1], n:i32[1], r:i32[1], p:f16[1] -> y, s = com.microsoft.BeamSearch(i, l, m, n, r, p) {eos_token_id=1, pad_token_id=0}", "y:i32[B,?,?], s:f16[B,?]", "", "sizes that are data"},
    {"i:i32[2,5], l:i32[1]=[-1], m:i32[1], n:i32[1], r:i32[1] -> y = com.microsoft.BeamSearch(i, l, m, n, r) {eos_token_id=1, pad_token_id=0}", "error: max_length is -1", "", "a negative length"},
    {"i:i32[B,S], l:i32[1]=[20] -> y = com.microsoft.GreedySearch(i, l) {eos_token_id=1, pad_token_id=0}", "y:i32[B,20]", "mark=unmodelled", "one sequence each"},
    {"i:i32[2,5], l:i32[1]=[-1] -> y = com.microsoft.GreedySearch(i, l) {eos_token_id=1, pad_token_id=0}", "error: max_length is -1", "", "a negative length"},
    {"i:i32[B,S], l:i32[1]=[20] -> y, f = com.microsoft.Sampling(i, l) {eos_token_id=1, pad_token_id=0, vocab_size=100}", "y:i32[B,20], f:f32[B,100]", "mark=unmodelled", "and the filtered scores"},
    {"i:i32, l:i32[1]=[20] -> y = com.microsoft.Sampling(i, l) {eos_token_id=1, pad_token_id=0}", "error: rank of input 0", "", "a rank that is not known"},
    {"i:f32[B,80,3000], l:i32[1]=[448], m:i32[1], n:i32[1]=[5], r:i32[1]=[1], h:i32[6,2] -> y, s, , q, p = com.microsoft.WhisperBeamSearch(i, l, m, n, r, , , , , , , , h) {eos_token_id=1, pad_token_id=0}",
     "y:i32[B,1,448], s:f32[B,1], q:f32[B,1,6,?,?], p:f32[B]", "mark=unmodelled", "kept heads of cross attention"},
    {"i:f32[B,80,3000], l:i32[1]=[448], m:i32[1], n:i32[1], r:i32[1]=[-1] -> y = com.microsoft.WhisperBeamSearch(i, l, m, n, r) {eos_token_id=1, pad_token_id=0}", "error: num_return_sequences is -1", "", "a negative count"},
    {"i:i64[B,10], s:f32[B,100] -> y = com.microsoft.NGramRepeatBlock(i, s) {ngram_size=3}", "y:f32[B,100]", "arith=16*B comparisons=16*B read=480*B written=400*B", "8 n-grams of 2 comparisons"},
    {"i:i64[2,10], s:f32[2,100] -> y = com.microsoft.NGramRepeatBlock(i, s)", "error: ngram_size", "", "how long"},
    {"a:i64[10], b:i64[C], n:i64[], p:i64[P] -> t, m = com.microsoft.BifurcationDetector(a, b, n, p)", "t:i64[?], m:i64[]", "mark=unmodelled", "how many tokens are accepted"},
    {"a:i64[10], b:i64[C], n:i64[] -> t, m = com.microsoft.BifurcationDetector(a, b, n)", "t:i64[C]", "", "nothing to merge"},
    {"a:i64[10], b:i64[1,4], n:i64[] -> t, m = com.microsoft.BifurcationDetector(a, b, n)", "error: rank 2", "", "one sequence"},
};
// clang-format on

}  // namespace

TEST_CASE("com.microsoft text generation") { check_cases(kSearch); }

}  // namespace pagoda::test
