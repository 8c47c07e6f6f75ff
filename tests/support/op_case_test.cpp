// The check of operator cases must fail when it should: all other operator tests rely on it.
#include "support/op_case.h"

#include <doctest/doctest.h>

namespace pagoda::test {
namespace {

constexpr const char* kRelu = "x:f32[N,3] -> y = Relu(x)";
constexpr const char* kShape = "x:f32[N,3] -> s = Shape(x); y = Relu(x)";

TEST_CASE("rows that are right have no differences") {
  constexpr OpCase kRows[] = {
      {kRelu, "y:f32[N,3]", "macs=0 arith=3*N special=0 comparisons=3*N read=12*N written=12*N", "all counters"},
      {kRelu, "y:float32[?,3]", "arith=N + 2*N  mark=compute precision=float32",
       "a size of any name, spaces in formulas"},
      {kRelu, "", "", "nothing asked"},
      {kShape, "s:i64[2]=[N,3], y:f32[N,3]", "", "types and values"},
      {"x:f32[N,3] -> s = Shape(x)", "s=[N,3]", "mark=host", "a value alone"},
      {"x:f32[3] -> y = Relu(x)", "y=none", "", "no value"},
      {"w:f32[4,2]=const, x:f32[N,4] -> y = MatMul(x, w)", "y:f32[N,2]", "params=8 param_bytes=32", "parameters"},
      {"x:f32[2] -> y = my.Unknown(x)", "error: Unknown", "mark=unmodelled", "a diagnostic and the mark"},
      {"a:f32[2,3], b:f32[4,5] -> y = MatMul(a, b)", "error: 3", "", "a contradiction"},
  };
  check_cases(kRows);
}

TEST_CASE("each kind of wrong row is noticed") {
  struct Row {
    OpCase wrong;
    const char* says;
  };
  constexpr Row kRows[] = {
      {{kRelu, "y:f32[N,4]", "", ""}, "expected f32[N,4]"},
      {{kRelu, "y:f16[N,3]", "", ""}, "got      float32[N,3]"},
      {{kRelu, "y:f32", "", ""}, "expected f32"},
      {{kRelu, "y:f32[N,?]", "", ""}, "type of y"},
      {{kRelu, "y:seq(f32[N,3])", "", ""}, "type of y"},
      {{kShape, "s=[N,4]", "", ""}, "got      [N,3]"},
      {{kShape, "s=[N]", "", ""}, "value of s"},
      {{kShape, "s=[?,3]", "", ""}, "value of s"},
      {{kShape, "s=none", "", ""}, "value of s"},
      {{kRelu, "y=[1]", "", ""}, "got      none"},
      {{kRelu, "y:f32[N,3]", "arith=3", ""}, "got      3*N"},
      {{kRelu, "", "special=1", ""}, "special"},
      {{kRelu, "", "mark=view", ""}, "got      compute"},
      {{kRelu, "", "precision=float16", ""}, "got      float32"},
      {{kRelu, "error: rank", "", ""}, "expected an error with: rank"},
      {{"x:f32[2] -> y = my.Unknown(x)", "error: other", "", ""}, "expected an error with: other"},
      {{kRelu, "z:f32[N,3]", "", ""}, "no value 'z'"},
      {{kRelu, "", "flop=1", ""}, "unknown key 'flop'"},
      {{kRelu, "", "arith=3 N", ""}, "'3 N' is not a formula"},
      {{"x:f32[N -> y", "", "", ""}, "is not a size"},
  };
  for (const Row& row : kRows) {
    const std::string found = differences(row.wrong);
    CHECK_MESSAGE(found.find(row.says) != std::string::npos, row.wrong.graph, " | ", row.wrong.types, " | ",
                  row.wrong.cost, "\n  got ", found, "\n  expected ", row.says);
  }
}

}  // namespace
}  // namespace pagoda::test
