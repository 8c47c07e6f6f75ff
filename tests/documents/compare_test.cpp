// Matching of nodes across two models.
#include "pagoda/estimate/compare.h"

#include <doctest/doctest.h>

#include "pagoda/base/text.h"
#include "pagoda/estimate/make_estimate.h"
#include "support/text_graph.h"

namespace pagoda::estimate {

using namespace documents;

namespace {

EstimateDocument estimate(const char* graph, TrafficModel traffic = TrafficModel::Unfused) {
  return make_estimate(test::graph(graph), {.traffic = traffic});
}

// "Conv=Conv:name Relu->: +Add:" – before=after:match for each pair.
std::string pairs(const char* before_text, const char* after_text) {
  const EstimateDocument before = estimate(before_text), after = estimate(after_text);
  const auto op = [](const EstimateDocument& of, std::int32_t row) {
    return of.nodes[static_cast<std::size_t>(row)].op_type;
  };
  return base::joined(compare(before, after).nodes, " ", [&](const RowPair& pair) {
    if (pair.before < 0) return "+" + op(after, pair.after);
    if (pair.after < 0) return "-" + op(before, pair.before);
    return op(before, pair.before) + "=" + op(after, pair.after) + ":" + std::string(to_string(pair.match));
  });
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
      {"x:f32[4], w:f32[99] -> y = Relu(x) @ a; v = Exp(w) @ e",
       "x:f32[8], w:f32[99] -> z = Relu(x) @ b; v = Exp(w) @ e", "Relu=Relu:operator Exp=Exp:name"},
      {"x:f32[4] -> y = Relu(x) @ a", "x:f32[4] -> z = Tanh(x) @ b", "+Tanh -Relu"},
      // Less than half of the work matches: an operator alone, or a numbered name, is chance.
      {"x:f32[4] -> y = Relu(x) @ a", "x:f32[8] -> z = Relu(x) @ b", "+Relu -Relu"},
      {"x:f32[4,8], w:f32[8,2]=const -> y = MatMul(x, w) @ MatMul_0",
       "x:f32[4,16], w:f32[16,5]=const -> z = MatMul(x, w) @ MatMul_0", "+MatMul -MatMul"},
      // At another batch the weights are the same.
      {"x:f32[4,8], w:f32[8,2]=const -> y = MatMul(x, w) @ MatMul_0",
       "x:f32[9,8], w:f32[8,2]=const -> y = MatMul(x, w) @ MatMul_0", "MatMul=MatMul:name"},
      {"x:f32[4] -> h = Relu(x) @ a; y = Tanh(h) @ b", "x:f32[4] -> y = Tanh(x) @ b", "Tanh=Tanh:name -Relu"},
      {"x:f32[4] -> y = Relu(x) @ a", "x:f32[4] -> h = Exp(x) @ n; y = Relu(h) @ a", "+Exp Relu=Relu:name"},
      // A product keeps its MACs when its name and operator change.
      {"x:f32[4,8], w:f32[8,2]=const -> y = MatMul(x, w) @ a", "x:f32[4,8], w:f32[8,2]=const -> z = Gemm(x, w) @ b",
       "MatMul=Gemm:structure"},
      // Two nodes of the same kind are paired in order.
      {"x:f32[4] -> h = Relu(x) @ a; y = Relu(h) @ b", "x:f32[4] -> g = Relu(x) @ c; z = Relu(g) @ d",
       "Relu=Relu:structure Relu=Relu:structure"},
      // Views and folded nodes are not compared.
      {"x:f32[4] -> y = Identity(x) @ a", "x:f32[4] -> z = Relu(x) @ b", "+Relu"},
      {"x:f32[4] -> y = my.domain.Secret(x) @ a", "x:f32[4] -> y = my.domain.Secret(x) @ a", "Secret=Secret:name"},
  };
  for (const Row& row : kRows) CHECK_MESSAGE(pairs(row.before, row.after) == row.pairs, row.before, " | ", row.after);
}

TEST_CASE("a block holds what was fused into a node, and what was put around it") {
  struct Row {
    const char* before;
    const char* after;
    const char* blocks;  // operators before=after
  };
  constexpr const char* kThree =
      "x:f32[4,8], r:f32[4,8], b:f32[8]=const, g:f32[8]=const -> s = Add(x, b) @ bias; t = Add(s, r) @ residual; y = "
      "LayerNormalization(t, g) @ norm";
  constexpr Row kRows[] = {
      {kThree,
       "x:f32[4,8], r:f32[4,8], b:f32[8]=const, g:f32[8]=const -> y = com.microsoft.SkipLayerNormalization(x, r, g, , "
       "b) "
       "@ skip",
       "Add+Add+LayerNormalization=SkipLayerNormalization"},
      {"x:f32[4,8], w:f32[8,8]=const -> y = MatMul(x, w) @ a",
       "x:f32[4,8], w:f32[8,8]=const -> h = Neg(x) @ n; y = MatMul(h, w) @ a", "MatMul=Neg+MatMul"},
      // A block takes no contraction that the other side lacks.
      {"x:f32[4,8], w:f32[8,8]=const -> h = MatMul(x, w) @ a; y = Softmax(h) @ s", "x:f32[4,8] -> y = Softmax(x) @ s",
       "=Softmax MatMul= Softmax="},
      // What only stores a value in another type belongs to the value, whoever reads it.
      {"x:f32[64] -> h = Tanh(x) @ h; y = Exp(h) @ a; z = Sqrt(h) @ b",
       "x:f32[64], k:f32[]=const -> h = Tanh(x) @ h; q = QuantizeLinear(h, k) @ q; d = DequantizeLinear(q, k) @ d; y = "
       "Exp(d) @ a; z = Sqrt(d) @ b",
       "Tanh=Tanh+QuantizeLinear+DequantizeLinear Exp=Exp Sqrt=Sqrt"},
      // A result that two blocks read belongs to neither.
      {"x:f32[64] -> h = Exp(x) @ h; y = Tanh(h) @ a; z = Sqrt(h) @ b", "x:f32[64] -> y = Tanh(x) @ a; z = Sqrt(x) @ b",
       "Tanh=Tanh Sqrt=Sqrt Exp="},
  };
  for (const Row& row : kRows) {
    const EstimateDocument before = estimate(row.before), after = estimate(row.after);
    const auto operators = [](const EstimateDocument& of, const std::vector<std::int32_t>& rows) {
      return base::joined(rows, "+", [&](std::int32_t at) { return of.nodes[static_cast<std::size_t>(at)].op_type; });
    };
    const std::string blocks = base::joined(compare(before, after).blocks, " ", [&](const Block& block) {
      return operators(before, block.before) + "=" + operators(after, block.after);
    });
    CHECK_MESSAGE(blocks == row.blocks, row.before, " | ", row.after);
  }
}

TEST_CASE("counts of a comparison") {
  const Comparison result = compare(estimate("x:f32[4] -> h = Relu(x) @ a; y = Tanh(h) @ b"),
                                    estimate("x:f32[4] -> h = Relu(x) @ a; g = Exp(h) @ c; y = Sqrt(g) @ d"));
  CHECK(result.matched == 2);  // Relu by name, Tanh and Sqrt by their output
  CHECK(result.added == 1);
  CHECK(result.removed == 0);
}

TEST_CASE("kernels are matched by the work that they share") {
  // Two products, each with a successor. In the second model the activations differ, and the products
  // have other names but the same places.
  const EstimateDocument before = estimate(
                             "x:f32[4,8], w:f32[8,8]=const, v:f32[8,2]=const -> p = MatMul(x, w) @ a; h = Relu(p) @ b; "
                             "q = MatMul(h, v) @ c; y = Relu(q) @ d",
                             TrafficModel::Fused),
                         after = estimate(
                             "x:f32[4,8], w:f32[8,8]=const, v:f32[8,2]=const -> p = MatMul(x, w) @ e; h = Tanh(p) @ b; "
                             "q = MatMul(h, v) @ f; y = Softmax(q) @ g",
                             TrafficModel::Fused);
  REQUIRE(before.traffic->groups.size() == 2);
  REQUIRE(after.traffic->groups.size() >= 2);
  const Comparison result = compare(before, after);
  const auto product_of = [](const EstimateDocument& of, std::int32_t group) {
    return of.traffic->groups[static_cast<std::size_t>(group)].counts.macs;
  };
  std::size_t matched = 0;
  for (const RowPair& pair : result.groups)
    if (pair.before >= 0 && pair.after >= 0) {
      ++matched;
      CHECK(product_of(before, pair.before) == product_of(after, pair.after));
    }
  CHECK(matched == 2);
  CHECK(result.groups.size() == after.traffic->groups.size());
  CHECK(compare(estimate("x:f32[4] -> y = Relu(x)"), after).groups.empty());
}

}  // namespace pagoda::estimate
