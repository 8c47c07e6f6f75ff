// Sequences and optionals: types of members; references cost nothing, copies do.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kSequences[] = {
    // graph, types, cost, why
    {"a:f32[N,3], b:f32[N,3] -> s = SequenceConstruct(a, b)", "s:seq(f32[N,3])", "mark=view read=0 written=0", "members of one shape"},
    {"a:f32[2,3], b:f32[4,3] -> s = SequenceConstruct(a, b)", "s:seq(f32[?,3])", "", "a size in which they differ"},
    {"a:f32[2,3], b:f32[4] -> s = SequenceConstruct(a, b)", "s:seq(f32)", "", "of different rank"},
    {"a:f32[2], b:i64[2] -> s = SequenceConstruct(a, b)", "error: members are float32 and int64", "", ""},
    {"-> s = SequenceEmpty()", "s:seq(f32)", "mark=folded", "float32 by default"},
    {"-> s = SequenceEmpty() {dtype=i64}", "s:seq(i64)", "", ""},
    {"-> s = SequenceEmpty() {dtype=77}", "error: not a known element type", "", ""},
    {"s:seq(f32[N,3]), a:f32[N,3] -> t = SequenceInsert(s, a)", "t:seq(f32[N,3])", "mark=view", ""},
    {"a:f32[N,3], b:f32[N,3] -> t = SequenceInsert(a, b)", "error: input 0 is not a sequence", "", ""},
    {"s:seq(f32[N,3]), i:i64[] -> t = SequenceErase(s, i)", "t:seq(f32[N,3])", "mark=view", ""},
    {"a:f32[N,3], i:i64[] -> t = SequenceErase(a, i)", "error: input 0 is not a sequence", "", ""},
    {"s:seq(f32[N,3]), i:i64[] -> y = SequenceAt(s, i)", "y:f32[N,3]", "mark=view", ""},
    {"a:f32[N,3], i:i64[] -> y = SequenceAt(a, i)", "error: input 0 is not a sequence", "", ""},
    {"s:seq(f32[N,3]) -> y = SequenceLength(s)", "y:i64[]", "mark=view", ""},
    {"a:f32[N,3] -> y = SequenceLength(a)", "error: input 0 is not a sequence", "", ""},
    {"x:f32[N,6] -> s = SplitToSequence(x)", "s:seq(f32[1,6])", "arith=0 read=24*N written=24*N", "one by one"},
    {"x:f32[N,6] -> s = SplitToSequence(x) {axis=1, keepdims=0}", "s:seq(f32[N])", "", "the axis goes"},
    {"x:f32[N,6], p:i64=3 -> s = SplitToSequence(x, p) {axis=1}", "s:seq(f32[N,3])", "", "equal parts"},
    {"x:f32[N,6], p:i64=4 -> s = SplitToSequence(x, p) {axis=1}", "s:seq(f32[N,?])", "", "a smaller last"},
    {"x:f32[N,6], p:i64=[3,3] -> s = SplitToSequence(x, p) {axis=1}", "s:seq(f32[N,3])", "", "listed, all the same"},
    {"x:f32[N,6], p:i64=[2,4] -> s = SplitToSequence(x, p) {axis=1}", "s:seq(f32[N,?])", "", "listed, different"},
    {"x:f32[N,6], p:i64=4 -> s = SplitToSequence(x, p); n = SequenceLength(s); y = ConcatFromSequence(s) {axis=0}", "n:i64[]=ceil_div(N,4), y:f32[N,6]", "", "a free axis: the number of parts is a formula, and joined they are whole"},
    {"x:f32[N,6], p:i64=4, i:i64=-1 -> s = SplitToSequence(x, p); y = SequenceAt(s, i)", "y:f32[N-4*(ceil_div(N,4)-1),6]", "", "the last part of a free axis"},
    {"x:f32[N,6], p:i64=4, i:i64=-2 -> s = SplitToSequence(x, p); y = SequenceAt(s, i)", "y:f32[4,6]", "", "one before it is whole"},
    {"x:f32[N,6], p:i64=4, i:i64=2 -> s = SplitToSequence(x, p); y = SequenceAt(s, i)", "y:f32[min(4,N-8),6]", "", "the third"},
    {"x:f32[4*N,6], p:i64=4, i:i64=0 -> s = SplitToSequence(x, p); y = SequenceAt(s, i); n = SequenceLength(s)", "y:f32[4,6], n:i64[]=N", "", "parts that divide the axis"},
    {"x:f32[N,6] -> s = SplitToSequence(x) {keepdims=0}; y = ConcatFromSequence(s) {axis=1, new_axis=1}; n = SequenceLength(s)", "y:f32[6,N], n:i64[]=N", "", "one by one, stacked along another axis"},
    {"x:f32[1000,6], p:i64=3 -> s = SplitToSequence(x, p); n = SequenceLength(s); y = ConcatFromSequence(s) {axis=0}", "n:i64[]=334, y:f32[1000,6]", "", "more parts than are listed"},
    {"x:f32[N,6], p:i64=[3,4] -> s = SplitToSequence(x, p); y = ConcatFromSequence(s) {axis=0}", "y:f32[7,6]", "", "their sum is the axis"},
    {"x:f32[8,6], p:i64=[3,4] -> s = SplitToSequence(x, p)", "error: the sum of the parts", "", "7 is not 8"},
    {"x:f32[N,6], p:i64=-1 -> s = SplitToSequence(x, p) {axis=1}", "error: a part of size -1", "", ""},
    {"x:f32[N,6] -> s = SplitToSequence(x) {axis=2}", "error: axis 2", "", "beyond the rank"},
    {"s:seq(f32[N,3]) -> y = ConcatFromSequence(s) {axis=0}", "y:f32[?,3]", "", "its length is not known"},
    {"s:seq(f32[N,3]) -> y = ConcatFromSequence(s) {axis=-1, new_axis=1}", "y:f32[N,3,?]", "", "stacked"},
    {"a:f32[N,3], b:f32[2,3] -> s = SequenceConstruct(a, b); y = ConcatFromSequence(s) {axis=0}", "y:f32[N+2,3]", "arith=0 read=12*N+24 written=12*N+24", "known members are joined"},
    {"x:f32[10,4], p:i64=4, i:i64=-1 -> s = SplitToSequence(x, p); y = SequenceAt(s, i); z = ConcatFromSequence(s) {axis=0}; n = SequenceLength(s)", "y:f32[2,4], z:f32[10,4], n:i64[]=3", "", "parts of one size are followed, the smaller last one, too"},
    {"x:f32[3,4] -> s = SplitToSequence(x) {keepdims=0}; z = ConcatFromSequence(s) {axis=0, new_axis=1}", "z:f32[3,4]", "", "one by one"},
    {"a:f32[N,3] -> y = ConcatFromSequence(a) {axis=0}", "error: input 0 is not a sequence", "", ""},
    {"s:seq(f32[N,3]) -> y = ConcatFromSequence(s)", "error: attribute axis is missing", "", "mandatory"},
};

constexpr OpCase kOptionals[] = {
    {"x:f32[N,3] -> o = Optional(x)", "o:optional(f32[N,3])", "mark=view read=0", ""},
    {"s:seq(f32[N]) -> o = Optional(s)", "o:optional(seq(f32[N]))", "", "of a sequence"},
    {"-> o = Optional() {type=f32[2]}", "o:optional(f32[2])", "", "empty, of a stated type"},
    {"-> o = Optional()", "error: neither an input nor a type", "", ""},
    {"o:optional(f32[N,3]) -> y = OptionalGetElement(o)", "y:f32[N,3]", "mark=view", ""},
    {"o:optional(seq(f32[N])) -> y = OptionalGetElement(o)", "y:seq(f32[N])", "", ""},
    {"x:f32[N] -> y = OptionalGetElement(x)", "y:f32[N]", "", "a tensor is its own element"},
    {"-> y = OptionalGetElement()", "error: input 0 is missing", "", ""},
    {"o:optional(f32[N,3]) -> y = OptionalHasElement(o)", "y:bool[]", "mark=view", "the data decide"},
    {"x:f32[N] -> y = OptionalHasElement(x)", "y:bool[]=true", "", "a tensor is there"},
    {"-> y = OptionalHasElement()", "y:bool[]=false", "", "nothing is there"},
};
// clang-format on

TEST_CASE("a sequence has the type that describes all members") { check_cases(kSequences); }
TEST_CASE("an optional wraps and unwraps its type") { check_cases(kOptionals); }

}  // namespace
}  // namespace pagoda::test
