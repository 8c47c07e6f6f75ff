// Reductions: axes of every opset, work against loops that count it, folded values.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kReduceShapes[] = {
    // graph, types, cost, why
    {"x:f32[N,3,H] -> y = ReduceMean(x) {axes=[1,2]}", "y:f32[N,1,1]", "", "an unlisted opset-18 attribute still counts"},
    {"x:f32[N,3,H], a:i64=[1,2] -> y = ReduceMean(x, a)", "y:f32[N,1,1]", "arith=3*N*H", "n − m additions, m divisions"},
    {"x:f32[N,3,H], a:i64=[-1] -> y = ReduceMean(x, a) {keepdims=0}", "y:f32[N,3]", "", "from the back"},
    {"opset=17: x:f32[N,3,H] -> y = ReduceMean(x) {axes=[2], keepdims=0}", "y:f32[N,3]", "", "axes were an attribute"},
    {"x:f32[N,3,H] -> y = ReduceSum(x)", "y:f32[1,1,1]", "arith=3*N*H-1", "all axes"},
    {"x:f32[N,3,H] -> y = ReduceSum(x) {noop_with_empty_axes=1}", "y:f32[N,3,H]", "arith=0", "or none"},
    {"x:f32[N,3], a:i64[0]=const -> y = ReduceSum(x, a) {keepdims=0}", "y:f32[]", "", "an empty list is none"},
    {"x:f32[N,3], a:i64[1] -> y = ReduceSum(x, a)", "y:f32[?,?]", "", "computed axes"},
    {"x:f32[N,3], a:i64[1] -> y = ReduceSum(x, a) {keepdims=0}", "y:f32[?]", "", "one goes"},
    {"x:f32[N,3], a:i64[K] -> y = ReduceSum(x, a) {keepdims=0}", "error: axes to reduce are not known", "", "how many go is not known"},
    {"x:f32[N,3], a:i64=[2] -> y = ReduceSum(x, a)", "error: axis 2", "", "beyond the rank"},
    {"x:f32 -> y = ReduceSum(x)", "y:f32", "", "unknown rank"},
    {"x:f32[] -> y = ReduceSum(x)", "y:f32[]", "arith=0", "a scalar"},
    {"x:f32[0,4], a:i64=[0] -> y = ReduceSum(x, a)", "y:f32[1,4]", "arith=0", "nothing to add"},
    {"x:f32[N,3,H] -> y = ArgMax(x) {axis=-1}", "y:i64[N,3,1]", "arith=3*N*H-3*N comparisons=3*N*H-3*N read=12*N*H written=24*N", ""},
    {"x:f32[N,3,H] -> y = ArgMin(x) {axis=1, keepdims=0}", "y:i64[N,H]", "comparisons=2*N*H", ""},
    {"x:f32[N,3] -> y = ArgMax(x) {axis=2}", "error: axis 2", "", "beyond the rank"},
    {"x:f32[N,3] -> y = ArgMin(x) {axis=2}", "error: axis 2", "", "beyond the rank"},
    {"x:f32[N,3], a:i64=1 -> y = CumSum(x, a)", "y:f32[N,3]", "arith=2*N read=12*N", "2 of 3"},
    {"x:f32[N], a:i64[] -> y = CumSum(x, a)", "y:f32[N]", "arith=N-1", "one axis only"},
    {"x:f32[N,3], a:i64[] -> y = CumSum(x, a)", "y:f32[N,3]", "mark=compute arith=3*N-min(3,N)", "at most: along the axis with the fewest lines"},
    {"x:f32[2,3,4], a:i64[] -> y = CumSum(x, a)", "y:f32[2,3,4]", "arith=24-6", "lines of 4"},
    {"x:f32[2,0,4], a:i64[] -> y = CumSum(x, a)", "y:f32[2,0,4]", "arith=0", "nothing to join"},
    {"x:f32[N,3], a:i64=5 -> y = CumSum(x, a)", "error: axis 5", "", "beyond the rank"},
    {"opset=26: x:f32[N,3], a:i64=0 -> y = CumProd(x, a)", "y:f32[N,3]", "arith=3*N-3", ""},
    {"opset=26: x:f32[N,3], a:i64=5 -> y = CumProd(x, a)", "error: axis 5", "", "beyond the rank"},
};

constexpr OpCase kReduceWork[] = {
    {"x:f32[N,4], a:i64=[1] -> y = ReduceL1(x, a)",        "y:f32[N,1]", "arith=7*N comparisons=4*N special=0 read=16*N written=4*N", "|x|, 3 additions"},
    {"x:f32[N,4], a:i64=[1] -> y = ReduceL2(x, a)",        "y:f32[N,1]", "arith=7*N comparisons=0 special=N", "x², 3 additions, a root"},
    {"x:f32[N,4], a:i64=[1] -> y = ReduceLogSum(x, a)",    "y:f32[N,1]", "arith=3*N special=N", ""},
    {"x:f32[N,4], a:i64=[1] -> y = ReduceLogSumExp(x, a)", "y:f32[N,1]", "arith=3*N special=5*N", ""},
    {"x:f32[N,4], a:i64=[1] -> y = ReduceMax(x, a)",       "y:f32[N,1]", "arith=3*N comparisons=3*N", ""},
    {"x:f32[N,4], a:i64=[1] -> y = ReduceMin(x, a)",       "y:f32[N,1]", "arith=3*N comparisons=3*N", ""},
    {"x:f32[N,4], a:i64=[1] -> y = ReduceMean(x, a)",      "y:f32[N,1]", "arith=4*N comparisons=0", ""},
    {"x:f32[N,4], a:i64=[1] -> y = ReduceProd(x, a)",      "y:f32[N,1]", "arith=3*N", ""},
    {"x:f32[N,4], a:i64=[1] -> y = ReduceSum(x, a)",       "y:f32[N,1]", "arith=3*N", ""},
    {"x:f32[N,4], a:i64=[1] -> y = ReduceSumSquare(x, a)", "y:f32[N,1]", "arith=7*N special=0", ""},
    {"x:f32[N,4], a:i64=[7] -> y = ReduceL1(x, a)",        "error: axis 7", "", ""},
    {"x:f32[N,4], a:i64=[7] -> y = ReduceL2(x, a)",        "error: axis 7", "", ""},
    {"x:f32[N,4], a:i64=[7] -> y = ReduceLogSum(x, a)",    "error: axis 7", "", ""},
    {"x:f32[N,4], a:i64=[7] -> y = ReduceLogSumExp(x, a)", "error: axis 7", "", ""},
    {"x:f32[N,4], a:i64=[7] -> y = ReduceMax(x, a)",       "error: axis 7", "", ""},
    {"x:f32[N,4], a:i64=[7] -> y = ReduceMin(x, a)",       "error: axis 7", "", ""},
    {"x:f32[N,4], a:i64=[7] -> y = ReduceMean(x, a)",      "error: axis 7", "", ""},
    {"x:f32[N,4], a:i64=[7] -> y = ReduceProd(x, a)",      "error: axis 7", "", ""},
    {"x:f32[N,4], a:i64=[7] -> y = ReduceSumSquare(x, a)", "error: axis 7", "", ""},
};

constexpr OpCase kReduceFolds[] = {
    {"x:f32[N,3,4] -> s = Shape(x); y = ReduceProd(s) {keepdims=0}",  "y=12*N", "mark=host", "the number of elements"},
    {"x:f32[N,3,4] -> s = Shape(x); y = ReduceSum(s)",                "y=[N+7]", "", ""},
    {"x:f32[N,4] -> s = Shape(x); y = ReduceMax(s) {keepdims=0}",     "y=max(4,N)", "", ""},
    {"x:f32[N,3] -> s = Shape(x); y = ReduceMin(s) {keepdims=0}",     "y=min(3,N)", "", ""},
    {"c:f32[2,2]=[1,2,3,6], a:i64=[1] -> y = ReduceMean(c, a)",       "y=[1.5,4.5]", "mark=folded", ""},
    {"c:i64[2,3]=[1,2,3,4,5,6], a:i64=[0] -> y = ReduceSum(c, a) {keepdims=0}", "y=[5,7,9]", "", "columns"},
    {"c:i64[5]=[1,7,3,7,2] -> y = ArgMax(c); z = ArgMax(c) {select_last_index=1}; w = ArgMin(c)", "y=[1], z=[3], w=[0]", "", "ties go to the first, or the last"},
    {"x:f32[N,3,4] -> s = Shape(x); y = ArgMax(s)",                   "y=none", "", "depends on N"},
    {"x:f32[N,3,4], a:i64=0 -> s = Shape(x); y = CumSum(s, a); z = CumSum(s, a) {exclusive=1}; w = CumSum(s, a) {reverse=1}",
     "y=[N,N+3,N+7], z=[0,N,N+3], w=[N+7,7,4]", "", ""},
    {"opset=26: c:i64[4]=[1,2,3,4], a:i64=0 -> y = CumProd(c, a); z = CumProd(c, a) {exclusive=1, reverse=1}", "y=[1,2,6,24], z=[24,12,4,1]", "", ""},
};
// clang-format on

TEST_CASE("reductions drop or keep the axes that each opset says") { check_cases(kReduceShapes); }
TEST_CASE("each reduction costs its joins and what it does to elements and results") { check_cases(kReduceWork); }
TEST_CASE("reductions of known elements are folded") { check_cases(kReduceFolds); }

// Counts the joins of a loop that joins every element into its result: the first element only starts the result.
std::int64_t counted_joins(const std::vector<std::int64_t>& shape, std::uint32_t reduced) {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  std::vector<bool> started(static_cast<std::size_t>(elements), false);
  std::int64_t joins = 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    std::int64_t rest = i, group = 0, scale = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if ((reduced >> axis & 1) == 0) group += rest % shape[axis] * scale;
      rest /= shape[axis];
      scale *= shape[axis];
    }
    if (started[static_cast<std::size_t>(group)]) ++joins;
    started[static_cast<std::size_t>(group)] = true;
  }
  return joins;
}

TEST_CASE("a sum costs the additions that a loop counts, for every set of axes") {
  const std::vector<std::int64_t> shape = {2, 3, 1, 5};
  for (std::uint32_t reduced = 1; reduced < 16; ++reduced) {
    std::string axes;
    for (std::uint32_t axis = 0; axis < 4; ++axis)
      if ((reduced >> axis & 1) != 0) axes += (axes.empty() ? "" : ",") + std::to_string(axis);
    const std::string text = "x:f32[2,3,1,5], a:i64=[" + axes + "] -> y = ReduceSum(x, a)";
    INFO(text);
    CHECK(analyze(graph(text)).totals.cost.arith == Dim(counted_joins(shape, reduced)));
  }
}

}  // namespace
}  // namespace pagoda::test
