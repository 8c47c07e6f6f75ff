// An operator's row states all facts besides its mathematics. Framework-specific tables and the backward rules refer to
// rows: these tests name each operator that one of them forgot.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "ops/op_rule.h"
#include "pagoda/core/analyze.h"
#include "pagoda/core/operators.h"
#include "pagoda/core/traffic.h"
#include "predict/pytorch.h"
#include "support/text_graph.h"
#include "train/backward_rule.h"

namespace pagoda::test {
namespace {

std::string full_name(const ops::Family& family, const OpRule& rule) {
  return (family.domain.empty() ? "" : std::string(family.domain) + ".") + std::string(rule.name);
}

// The names of the operators for which `is_wrong` is true.
template <typename IsWrong>
std::string operators_where(const IsWrong& is_wrong) {
  std::string names;
  for (const ops::Family& family : ops::families())
    for (const OpRule& rule : family.rules)
      if (is_wrong(family, rule)) names += full_name(family, rule) + " ";
  return names;
}

bool has_backward_row(std::string_view domain, std::string_view name) {
  const auto lists = [&](std::span<const train_rules::BackwardRule> rules) {
    return std::any_of(rules.begin(), rules.end(), [&](const auto& rule) { return rule.name == name; });
  };
  return domain.empty() ? lists(train_rules::default_rules())
                        : domain == "com.microsoft" && lists(train_rules::microsoft_rules());
}

}  // namespace

TEST_CASE("every operator has one row") {
  std::set<std::string> names;
  const std::string twice = operators_where(
      [&](const ops::Family& family, const OpRule& rule) { return !names.insert(full_name(family, rule)).second; });
  CHECK_MESSAGE(twice.empty(), twice);
}

TEST_CASE("every row says of what kind the operator is, how it carries the batch, and whether it has a gradient") {
  const std::string silent =
      operators_where([](const ops::Family&, const OpRule& rule) { return !ops::is_complete(rule.facts); });
  CHECK_MESSAGE(silent.empty(), silent);
}

TEST_CASE("facts of one row fit each other") {
  const std::string contradictory = operators_where([](const ops::Family&, const OpRule& rule) {
    const OpFacts& facts = rule.facts;
    const bool is_product = facts.kind == OpKind::Product, is_pointwise = facts.kind == OpKind::Pointwise;
    return (facts.form != ProductForm::Other && !is_product) ||
           (facts.epilogue != Epilogue::Activation && !is_pointwise) ||
           (facts.rows != RowAxes::Other && facts.kind != OpKind::Norm) ||
           (is_pointwise && facts.batch != BatchAxis::Same) ||
           (facts.kind == OpKind::Transpose && facts.batch != BatchAxis::Permuted);
  });
  CHECK_MESSAGE(contradictory.empty(), contradictory);
}

TEST_CASE("an operator has a backward rule where its row says so, and nowhere else") {
  const std::string different = operators_where([](const ops::Family& family, const OpRule& rule) {
    return (rule.facts.gradient == Gradient::Rule) != has_backward_row(family.domain, rule.name);
  });
  CHECK_MESSAGE(different.empty(), different);
  for (const train_rules::BackwardRule& rule : train_rules::default_rules())
    CHECK_MESSAGE(ops::find_rule("", rule.name) != nullptr, rule.name);
  for (const train_rules::BackwardRule& rule : train_rules::microsoft_rules())
    CHECK_MESSAGE(ops::find_rule("com.microsoft", rule.name) != nullptr, rule.name);
}

TEST_CASE("tables of PyTorch name operators that exist, of the kind that they are about, and each once") {
  const auto kind_of = [](std::string_view name) {
    const OpKind kind = operator_facts("", name).kind;
    return kind == OpKind::Unknown ? operator_facts("com.microsoft", name).kind : kind;
  };
  std::set<std::string_view> seen;
  for (const pytorch::AutocastOp& row : pytorch::kAutocast) {
    CHECK_MESSAGE(kind_of(row.op) == OpKind::Pointwise, row.op);
    CHECK_MESSAGE(seen.insert(row.op).second, row.op);
  }
  for (const std::string_view op : pytorch::lowered_operators()) {
    CHECK_MESSAGE(kind_of(op) != OpKind::Unknown, op);
    CHECK_MESSAGE(seen.insert(op).second, op);
  }
  for (const std::string_view op : pytorch::kInActivation) CHECK_MESSAGE(kind_of(op) == OpKind::Pointwise, op);
  for (const std::string_view op : pytorch::kBends)
    CHECK_MESSAGE(std::find(std::begin(pytorch::kInActivation), std::end(pytorch::kInActivation), op) !=
                      std::end(pytorch::kInActivation),
                  op);
}

TEST_CASE("every operator that PyTorch runs without a kernel, or by one that depends on strides, is lowered by name") {
  const auto lowered = pytorch::lowered_operators();
  const std::string forgotten = operators_where([&](const ops::Family& family, const OpRule& rule) {
    const OpKind kind = rule.facts.kind;
    const bool follows_strides = rule.facts.numbers == Numbers::Rearranged &&
                                 (kind == OpKind::View || kind == OpKind::Transpose || kind == OpKind::Expand);
    return family.domain.empty() && follows_strides &&
           std::find(lowered.begin(), lowered.end(), rule.name) == lowered.end();
  });
  CHECK_MESSAGE(forgotten.empty(), forgotten);
}

TEST_CASE("a user's rule that states no facts is never fused, one that does is") {
  const auto infer = [](OpContext& op) { op.set_output(0, op.input(0)); };
  const auto cost = [](const OpContext& op) { return op.streamed(); };
  const Model model = graph("x:f32[N,64], w:f32[64,64] -> a = MatMul(x, w); y = mine.Swish(a)");
  const auto groups = [&](const OpFacts& facts) {
    const Analysis analysis =
        analyze(model, {.extra_rules = {{"mine", {"Swish", infer, cost, nullptr, "a test's", facts}}}});
    return traffic(model, analysis, {.model = TrafficModel::Fused}).groups.size();
  };
  CHECK(groups({}) == 2);
  CHECK(groups(ops::kPointwise) == 1);
}

TEST_CASE("functions that the element-wise table forgot run in the epilogue of a product, too") {
  for (const char* op : {"Acos", "Asinh", "Atan", "Cosh", "Sinh", "Tan"}) {
    CAPTURE(op);
    const Model model = graph("x:f32[N,64], w:f32[64,64] -> a = MatMul(x, w); y = " + std::string(op) + "(a)");
    CHECK(traffic(model, analyze(model), {.model = TrafficModel::Fused}).groups.size() == 1);
  }
}

}  // namespace pagoda::test
