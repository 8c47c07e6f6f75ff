// Matching of nodes across two models.
#include "pagoda/core/compare.h"

#include <doctest/doctest.h>

#include "support/text_graph.h"

using namespace pagoda;

namespace {

// "Conv=Conv:name Relu->: +Add:" – before=after:match for each pair.
std::string pairs(const char* before_text, const char* after_text) {
  const Model before = test::graph(before_text), after = test::graph(after_text);
  const Analysis a = analyze(before), b = analyze(after);
  const auto op = [](const Model& model, const Analysis& analysis, std::int32_t row) {
    const NodeReport& report = analysis.nodes[static_cast<std::size_t>(row)];
    return model.graphs[static_cast<std::size_t>(report.graph)].nodes[static_cast<std::size_t>(report.node)].op_type;
  };
  std::string text;
  for (const NodePair& pair : compare(before, a, after, b).nodes) {
    text += text.empty() ? "" : " ";
    if (pair.before < 0)
      text += "+" + op(after, b, pair.after);
    else if (pair.after < 0)
      text += "-" + op(before, a, pair.before);
    else
      text += op(before, a, pair.before) + "=" + op(after, b, pair.after) + ":" + std::string(to_string(pair.match));
  }
  return text;
}

}  // namespace

TEST_CASE("nodes are matched by name, output, structure and operator, in that order") {
  struct Row {
    const char* before;
    const char* after;
    const char* pairs;
  };
  constexpr Row kRows[] = {
      {"x:f32[4] -> y = Relu(x) @ a", "x:f32[4] -> z = Relu(x) @ a", "Relu=Relu:name"},
      {"x:f32[4] -> y = Relu(x) @ a", "x:f32[4] -> y = Tanh(x) @ b", "Relu=Tanh:output"},
      {"x:f32[4] -> y = Relu(x) @ a", "x:f32[4] -> z = Relu(x) @ b", "Relu=Relu:structure"},
      {"x:f32[4] -> y = Relu(x) @ a", "x:f32[8] -> z = Relu(x) @ b", "Relu=Relu:operator"},
      {"x:f32[4] -> y = Relu(x) @ a", "x:f32[4] -> z = Tanh(x) @ b", "+Tanh -Relu"},
      {"x:f32[4] -> h = Relu(x) @ a; y = Tanh(h) @ b", "x:f32[4] -> y = Tanh(x) @ b", "Tanh=Tanh:name -Relu"},
      {"x:f32[4] -> y = Relu(x) @ a", "x:f32[4] -> h = Exp(x) @ n; y = Relu(h) @ a", "+Exp Relu=Relu:name"},
      // A product keeps its MACs when it changes its name and operator.
      {"x:f32[4,8], w:f32[8,2]=const -> y = MatMul(x, w) @ a", "x:f32[4,8], w:f32[8,2]=const -> z = Gemm(x, w) @ b",
       "MatMul=Gemm:structure"},
      // Two of a kind pair in order.
      {"x:f32[4] -> h = Relu(x) @ a; y = Relu(h) @ b", "x:f32[4] -> g = Relu(x) @ c; z = Relu(g) @ d",
       "Relu=Relu:structure Relu=Relu:structure"},
      // Views and what is folded take no part.
      {"x:f32[4] -> y = Identity(x) @ a", "x:f32[4] -> z = Relu(x) @ b", "+Relu"},
      {"x:f32[4] -> y = my.domain.Secret(x) @ a", "x:f32[4] -> y = my.domain.Secret(x) @ a", "Secret=Secret:name"},
  };
  for (const Row& row : kRows) CHECK_MESSAGE(pairs(row.before, row.after) == row.pairs, row.before, " | ", row.after);
}

TEST_CASE("counts of a comparison") {
  const Model before = test::graph("x:f32[4] -> h = Relu(x) @ a; y = Tanh(h) @ b");
  const Model after = test::graph("x:f32[4] -> h = Relu(x) @ a; g = Exp(h) @ c; y = Sqrt(g) @ d");
  const Comparison result = compare(before, analyze(before), after, analyze(after));
  CHECK(result.matched == 2);  // Relu by name, Tanh and Sqrt by their output
  CHECK(result.added == 1);
  CHECK(result.removed == 0);
}
