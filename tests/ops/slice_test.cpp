// Slice, Split, Concat: bounds of every sign and opset, also symbolic and unknown; traffic; folded values.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kSlice[] = {
    // graph, types, cost, why
    {"x:f32[10,20], s:i64=[2,0], e:i64=[8,5] -> y = Slice(x, s, e)", "y:f32[6,5]", "arith=0 read=120 written=120", "reads what it keeps"},
    {"x:f32[10], s:i64=[-3], e:i64=[9223372036854775807] -> y = Slice(x, s, e)", "y:f32[3]", "", "the last three"},
    {"x:f32[10], s:i64=[8], e:i64=[3] -> y = Slice(x, s, e)", "y:f32[0]", "", "nothing between"},
    {"x:f32[10], s:i64=[20], e:i64=[30] -> y = Slice(x, s, e)", "y:f32[0]", "", "beyond the end"},
    {"x:f32[10], s:i64=[-20], e:i64=[-8] -> y = Slice(x, s, e)", "y:f32[2]", "", "before the front"},
    {"x:f32[4,10], s:i64=[0], e:i64=[10], a:i64=[1], t:i64=[3] -> y = Slice(x, s, e, a, t)", "y:f32[4,4]", "", "every third"},
    {"x:f32[4,10], s:i64=[-1], e:i64=[-9223372036854775808], a:i64=[-1], t:i64=[-1] -> y = Slice(x, s, e, a, t)", "y:f32[4,10]", "", "reversed"},
    {"x:f32[4,S], s:i64=[2147483647], e:i64=[9223372036854775807], a:i64=[1], t:i64=[-1] -> y = Slice(x, s, e, a, t)", "y:f32[4,S]", "", "the largest integer is every end"},
    {"x:f32[4,S], s:i64=[9223372036854775807], e:i64=[9223372036854775807], a:i64=[1] -> y = Slice(x, s, e, a)", "y:f32[4,0]", "", "nothing begins there"},
    {"x:f32[10], s:i64=[7], e:i64=[2], a:i64=[0], t:i64=[-2] -> y = Slice(x, s, e, a, t)", "y:f32[3]", "", "7, 5, 3"},
    {"x:f32[10], s:i64=[2], e:i64=[7], a:i64=[0], t:i64=[-2] -> y = Slice(x, s, e, a, t)", "y:f32[0]", "", "the wrong way"},
    {"opset=9: x:f32[4,10] -> y = Slice(x) {starts=[2], ends=[-1], axes=[1]}", "y:f32[4,7]", "", "bounds were attributes"},
    {"opset=9: x:f32[4,10] -> y = Slice(x) {starts=[2]}", "error: starts and ends", "", "both are mandatory"},
    {"x:f32[N,S,8], s:i64=[0], e:i64=[9223372036854775807], a:i64=[1] -> y = Slice(x, s, e, a)", "y:f32[N,S,8]", "", "all of it"},
    {"x:f32[N,S], s:i64=[1], e:i64=[2147483647], a:i64=[1] -> y = Slice(x, s, e, a)", "y:f32[N,S-1]", "read=4*N*S-4*N", "all but the first"},
    {"x:f32[N,S], s:i64=[0], e:i64=[-1], a:i64=[1] -> y = Slice(x, s, e, a)", "y:f32[N,S-1]", "", "all but the last"},
    {"x:f32[N,S], s:i64=[0], e:i64=[1], a:i64=[1] -> y = Slice(x, s, e, a)", "y:f32[N,1]", "", "the first"},
    {"x:f32[N,S], s:i64=[-1], e:i64=[9223372036854775807], a:i64=[1] -> y = Slice(x, s, e, a)", "y:f32[N,1]", "", "the last"},
    {"x:f32[N,S], s:i64=[-4], e:i64=[9223372036854775807], a:i64=[1] -> y = Slice(x, s, e, a)", "y:f32[N,min(4,S)]", "", "the last four, if there are"},
    {"x:f32[N,S], s:i64=[0], e:i64=[5], a:i64=[1] -> y = Slice(x, s, e, a)", "y:f32[N,min(5,S)]", "", "the first five, if there are"},
    {"x:f32[N,S], s:i64=[3], e:i64=[9223372036854775807], a:i64=[1] -> y = Slice(x, s, e, a)", "y:f32[N,max(0,S-3)]", "", "from the fourth on"},
    {"x:f32[N,S+8], s:i64=[3], e:i64=[9223372036854775807], a:i64=[1] -> y = Slice(x, s, e, a)", "y:f32[N,S+5]", "", "long enough"},
    {"x:f32[N,S], s:i64=[0], e:i64=[9223372036854775807], a:i64=[1], t:i64=[2] -> y = Slice(x, s, e, a, t)", "y:f32[N,floor_div(S+1,2)]", "", "every second"},
    {"x:f32[N,S], s:i64=[-1], e:i64=[-9223372036854775807], a:i64=[1], t:i64=[-1] -> y = Slice(x, s, e, a, t)", "y:f32[N,S]", "", "reversed"},
    {"p:f32[1,512,8], x:f32[N,S], a:i64=[1] -> n = Shape(x) {start=1, end=2}; z:i64[1] = Constant() {value_ints=[0]}; y = Slice(p, z, n, a)", "y:f32[1,min(512,S),8]", "", "position embeddings up to the length"},
    {"m:f32[B,P+S], x:f32[B,S], e:i64=[2147483647], a:i64=[1] -> n = Shape(x) {start=1}; b = Neg(n); y = Slice(m, b, e, a)", "y:f32[B,S]", "", "the last S of a mask"},
    {"p:f32[2048,8], k:f32[B,P], x:f32[B,S], a:i64=[0] -> p0 = Shape(k) {start=1}; n = Shape(x) {start=1}; e = Add(p0, n); y = Slice(p, p0, e, a)", "y:f32[S,8]", "", "the new rows of a rotary table"},
    {"x:f32[N,S], s:i64[1], e:i64=[5], a:i64=[1] -> y = Slice(x, s, e, a)", "y:f32[N,?]", "", "a bound from data"},
    {"x:f32[N,S], s:i64=[0], e:i64=[5], a:i64[1] -> y = Slice(x, s, e, a)", "y:f32[?,?]", "", "an axis from data"},
    {"x:f32, s:i64=[0], e:i64=[5] -> y = Slice(x, s, e)", "y:f32", "", "unknown rank"},
    {"x:f32[10], s:i64=[0], e:i64=[5], a:i64=[0], t:i64=[0] -> y = Slice(x, s, e, a, t)", "error: a step of 0", "", ""},
    {"x:f32[10], s:i64=[0], e:i64=[5], a:i64=[1] -> y = Slice(x, s, e, a)", "error: axis 1", "", "beyond the rank"},
    {"x:f32[10], s:i64=[0], e:i64=[5,6] -> y = Slice(x, s, e)", "error: has 2 entries, expected 1", "", ""},
};

constexpr OpCase kSplit[] = {
    {"x:f32[N,12] -> a, b, c = Split(x) {axis=1, num_outputs=3}", "a:f32[N,4], c:f32[N,4]", "arith=0 read=48*N written=48*N", "equal parts"},
    {"x:f32[N,7] -> a, b = Split(x) {axis=-1, num_outputs=2}", "a:f32[N,4], b:f32[N,3]", "", "a smaller last"},
    {"s:i64=[9,-7], x:i64=[1,2] -> a, b = Split(x, s) {axis=0}", "error: a part of the split has size -7", "", "no part is negative"},
    {"opset=13: x:f32[N,7] -> a, b = Split(x) {axis=1}", "error: 7 does not split", "", "equal parts only"},
    {"x:f32[N,8], s:i64=[1,7] -> a, b = Split(x, s) {axis=1}", "a:f32[N,1], b:f32[N,7]", "read=32*N", "listed sizes"},
    {"opset=11: x:f32[N,8] -> a, b = Split(x) {axis=1, split=[3,5]}", "a:f32[N,3], b:f32[N,5]", "", "an attribute before opset 13"},
    {"x:f32[4*N,8] -> a, b = Split(x) {num_outputs=2}", "a:f32[2*N,8], b:f32[2*N,8]", "", "symbolic"},
    {"x:f32[N,8] -> a, b = Split(x) {num_outputs=2}", "a:f32[floor_div(N+1,2),8], b:f32[N-floor_div(N+1,2),8]", "", "rounded up, and the rest"},
    {"x:f32[N,8], s:i64[2] -> a, b = Split(x, s) {axis=1}", "a:f32[N,?], b:f32[N,?]", "", "sizes from data"},
    {"x:f32[N,8], s:i64=[1,6] -> a, b = Split(x, s) {axis=1}", "error: split sizes add up to 7", "", "the axis has 8"},
    {"x:f32[N,8], s:i64=[1,6,1] -> a, b = Split(x, s) {axis=1}", "error: 3 split sizes for 2 outputs", "", ""},
    {"x:f32[N,8] -> a, b = Split(x) {axis=1, num_outputs=4}", "error: num_outputs is 4", "", ""},
    {"x:f32[N,8] -> a, b = Split(x) {axis=2}", "error: axis 2", "", "beyond the rank"},
};

constexpr OpCase kConcat[] = {
    {"a:f32[N,3], b:f32[N,5] -> y = Concat(a, b) {axis=1}", "y:f32[N,8]", "arith=0 read=32*N written=32*N", ""},
    {"a:f32[N,P,8], b:f32[N,S,8] -> y = Concat(a, b) {axis=-2}", "y:f32[N,P+S,8]", "", "a cache grows"},
    {"a:f32[N,3], b:f32[5,4] -> y = Concat(a, b) {axis=1}", "y:f32[5,7]", "", "N has to be 5"},
    {"opset=1: a:f32[N,3], b:f32[N,5] -> y = Concat(a, b)", "y:f32[N,8]", "", "the default axis was 1"},
    {"a:f32[N,3], b:f32[N,5] -> y = Concat(a, b)", "error: attribute axis is missing", "", "mandatory since opset 4"},
    {"a:f32[2,3], b:f32[4,3] -> y = Concat(a, b) {axis=1}", "error: dims of the inputs along axis 0", "", "2 is not 4"},
    {"a:f32[2,3], b:f32[2] -> y = Concat(a, b) {axis=0}", "error: inputs have ranks 2 and 1", "", ""},
    {"a:f32[2,3], b:i64[2,3] -> y = Concat(a, b) {axis=0}", "error: different element types", "", ""},
    {"a:f32[2,3], b:f32[2,3] -> y = Concat(a, b) {axis=2}", "error: axis 2", "", "beyond the rank"},
    {"a:f32[2,3], b:f32 -> y = Concat(a, b) {axis=1}", "y:f32[2,?]", "", "one of unknown rank"},
};

constexpr OpCase kSliceFolds[] = {
    {"x:f32[N,3,4,5], s:i64=[1], e:i64=[3] -> h = Shape(x); y = Slice(h, s, e)", "y=[3,4]", "mark=host", ""},
    {"x:f32[N,3,4,5], s:i64=[-1], e:i64=[-9223372036854775808], a:i64=[0], t:i64=[-1] -> h = Shape(x); y = Slice(h, s, e, a, t)", "y=[5,4,3,N]", "", "reversed"},
    {"x:f32[N,3,4,5], p:i64=[1,3] -> h = Shape(x); y, z = Split(h, p)", "y=[N], z=[3,4,5]", "", ""},
    {"c:i64[2,3]=[1,2,3,4,5,6] -> y, z, w = Split(c) {axis=1, num_outputs=3}", "y=[1,4], z=[2,5], w=[3,6]", "", "columns"},
    {"x:f32[N,3], m:i64=[-1], u:i64[1] -> h = Shape(x); y = Concat(h, m, u) {axis=0}", "y=[N,3,-1,?]", "", "an unknown element stays unknown"},
    {"a:i64[2,1]=[1,2], b:i64[2,2]=[3,4,5,6] -> y = Concat(a, b) {axis=1}", "y=[1,3,4,2,5,6]", "", "lines interleave"},
    {"c:i64[2,3]=[1,2,3,4,5,6], s:i64=[1], e:i64=[3], a:i64=[1] -> y = Slice(c, s, e, a)", "y=[2,3,5,6]", "", "columns"},
};
// clang-format on

TEST_CASE("Slice keeps what numpy keeps, in formulas where sizes are free") { check_cases(kSlice); }
TEST_CASE("Split lists, divides or solves for its parts") { check_cases(kSplit); }
TEST_CASE("Concat adds sizes along its axis and unites the others") { check_cases(kConcat); }
TEST_CASE("known elements survive slicing, splitting and joining") { check_cases(kSliceFolds); }

// Number of elements that indexing from `start` by `step` visits before `end`, with bounds clamped as ONNX specifies:
// to [0, size] forward, to [0, size − 1] and [−1, size − 1] backward.
std::int64_t counted_length(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step) {
  const auto moved = [&](std::int64_t bound, std::int64_t least, std::int64_t most) {
    return std::max(least, std::min(bound < 0 ? bound + size : bound, most));
  };
  const std::int64_t first = step > 0 ? moved(start, 0, size) : moved(start, 0, size - 1);
  const std::int64_t last = step > 0 ? moved(end, 0, size) : moved(end, -1, size - 1);
  std::int64_t count = 0;
  for (std::int64_t i = first; step > 0 ? i < last : i > last; i += step) ++count;
  return count;
}

TEST_CASE("a slice has the length that indexing counts, for all bounds and steps, fixed or bound later") {
  constexpr std::int64_t kSize = 5;
  for (std::int64_t start = -7; start <= 7; ++start)
    for (std::int64_t end = -7; end <= 7; ++end)
      for (const std::int64_t step : {-3, -2, -1, 1, 2, 3}) {
        const std::string bounds = ", s:i64=[" + std::to_string(start) + "], e:i64=[" + std::to_string(end) +
                                   "], a:i64=[0], t:i64=[" + std::to_string(step) + "] -> y = Slice(x, s, e, a, t)";
        INFO(bounds);
        const Dim expected = counted_length(kSize, start, end, step);
        const Analysis fixed = analyze(graph("x:f32[5]" + bounds));
        REQUIRE(fixed.outputs.at(0).type.shape);
        CHECK(fixed.outputs[0].type.shape.value()[0] == expected);
        const Analysis free = analyze(graph("x:f32[S]" + bounds));
        REQUIRE(free.outputs.at(0).type.shape);
        CHECK(free.outputs[0].type.shape.value()[0].bind({{"S", kSize}}) == expected);
      }
}

}  // namespace
}  // namespace pagoda::test
