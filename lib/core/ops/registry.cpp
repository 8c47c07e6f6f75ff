// Lists every family of operators, finds rows and describes them. A new operator is a row in its family's table; a new
// family is a line here.
#include <algorithm>
#include <initializer_list>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/op_rule.h"
#include "pagoda/base/csv_reader.h"
#include "pagoda/base/embedded_file.h"
#include "pagoda/core/operators.h"

namespace pagoda::inline core {
namespace ops {

std::span<const base::EmbeddedFile> operator_files();  // data/ops.csv

std::span<const Family> families() {
  static const std::vector<Family> kFamilies = [] {
    std::vector<Family> all;
    const auto add = [&](std::string_view domain, std::initializer_list<std::span<const OpRule>> tables) {
      for (const std::span<const OpRule> rules : tables) all.push_back({domain, rules});
    };
    add("",
        {attention_rules(), conv_rules(),    einsum_rules(),   elementwise_rules(), gather_rules(),   generate_rules(),
         layout_rules(),    matmul_rules(),  norm_rules(),     pool_rules(),        quantize_rules(), recurrent_rules(),
         reduce_rules(),    reshape_rules(), resize_rules(),   sequence_rules(),    signal_rules(),   slice_rules(),
         unary_rules(),     text_rules(),    withdrawn_rules()});
    add("ai.onnx.preview", {preview_rules()});
    add("ai.onnx.ml", {ml_rules()});
    add("ai.onnx.preview.training", {training_rules()});
    add("ai.onnx.training", {training_rules()});
    add("com.microsoft",
        {contrib_attention_rules(), contrib_cache_attention_rules(), contrib_conv_rules(), contrib_elementwise_rules(),
         contrib_generation_rules(), contrib_matmul_rules(), contrib_misc_rules(), contrib_moe_rules(),
         contrib_norm_rules(), contrib_qlinear_rules(), contrib_recurrent_rules(), contrib_state_rules()});
    add("com.microsoft.nchwc", {nchwc_rules()});
    add("com.ms.internal.nhwc", {internal_nhwc_rules()});
    for (const std::string_view domain : {"qonnx.custom_op.general", "finn.custom_op.general", "onnx.brevitas"})
      add(domain, {qonnx_rules()});
    add("org.pytorch.aten", {aten_rules()});
    add("trt", {tensorrt_rules()});
    return all;
  }();
  return kFamilies;
}

const OpRule* find_rule(std::string_view domain, std::string_view op_type) {
  using Place = std::pair<std::string_view, const OpRule*>;  // domain, row
  static const auto kByName = [] {
    std::unordered_multimap<std::string_view, Place> places;
    for (const Family& family : families())
      for (const OpRule& rule : family.rules) places.emplace(rule.name, Place(family.domain, &rule));
    return places;
  }();
  const auto [first, last] = kByName.equal_range(op_type);
  for (auto at = first; at != last; ++at)
    if (at->second.first == domain) return at->second.second;
  return nullptr;
}

OpFacts facts_of(const Node& node) {
  const OpRule* rule = find_rule(plain_domain(node.domain), node.op_type);
  return rule == nullptr ? OpFacts{} : facts_of(*rule, node);
}

// Outputs beyond the first, or attribute training_mode since opset 14, request training.
OpFacts facts_of(const OpRule& rule, const Node& node) {
  OpFacts facts = rule.facts;
  if (facts.epilogue == Epilogue::BatchNorm && (node.outputs.size() > 1 || node.integer("training_mode", 0) != 0))
    facts.kind = OpKind::Training;
  return facts;
}

}  // namespace ops

namespace {

// Operators with subgraphs, which the walk handles itself.
constexpr std::pair<std::string_view, std::string_view> kStructures[] = {
    {"If",
     "the branch of a known condition; under a condition on sizes of inputs each branch times the formula of its "
     "truth; else the costlier one, and both are reported"},
    {"Loop", "the body summed over its trips, whose number is a symbol where the data decide it"},
    {"Scan", "the body times the length of the sequence"},
    {"SequenceMap", "the body times the length of the sequence"},
};

struct Definition {
  std::string versions, types;
};

// By domain and name.
std::map<std::pair<std::string, std::string>, Definition> definitions() {
  const std::string_view text = ops::operator_files().front().text;
  base::CsvReader reader(text.substr(text.find('\n') + 1), "data/ops.csv");  // its first line is a comment
  std::map<std::pair<std::string, std::string>, Definition> result;
  std::vector<std::string> cells;
  while (reader.next(cells)) result[{cells[0], cells[1]}] = {cells[2], cells[5]};
  return result;
}

}  // namespace

std::vector<OperatorInfo> operators() {
  const auto defined = definitions();
  std::vector<OperatorInfo> result;
  const auto add = [&](std::string_view domain, std::string_view name, bool folds, std::string_view work) {
    const std::string spelled(domain.empty() ? "ai.onnx" : domain);
    const auto found = defined.find({spelled, std::string(name)});
    const Definition definition = found == defined.end() ? Definition() : found->second;
    result.push_back({spelled, std::string(name), definition.versions, folds, std::string(work), definition.types});
  };
  for (const ops::Family& family : ops::families())
    for (const OpRule& rule : family.rules) add(family.domain, rule.name, rule.fold != nullptr, rule.work);
  for (const auto& [name, work] : kStructures) add("", name, false, work);
  std::sort(result.begin(), result.end(), [](const OperatorInfo& a, const OperatorInfo& b) {
    return std::tie(a.domain, a.name) < std::tie(b.domain, b.name);
  });
  return result;
}

OpFacts operator_facts(std::string_view domain, std::string_view name) {
  const OpRule* rule = ops::find_rule(plain_domain(domain), name);
  return rule == nullptr ? OpFacts{} : rule->facts;
}

}  // namespace pagoda::inline core
