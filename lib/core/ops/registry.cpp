// Lists every family of operators. A new operator is a row in its family's table; a new family is a line here.
#include <array>
#include <unordered_map>
#include <utility>

#include "ops/families.h"

namespace pagoda::inline core::ops {

std::span<const Family> families() {
  static const std::array kFamilies = {
      Family{"", attention_rules()},
      Family{"", conv_rules()},
      Family{"", einsum_rules()},
      Family{"", elementwise_rules()},
      Family{"", gather_rules()},
      Family{"", generate_rules()},
      Family{"", layout_rules()},
      Family{"", loss_rules()},
      Family{"", matmul_rules()},
      Family{"", norm_rules()},
      Family{"", pool_rules()},
      Family{"", quantize_rules()},
      Family{"", recurrent_rules()},
      Family{"", reduce_rules()},
      Family{"", reshape_rules()},
      Family{"", resize_rules()},
      Family{"", sequence_rules()},
      Family{"", signal_rules()},
      Family{"", slice_rules()},
      Family{"", unary_rules()},
      Family{"", text_rules()},
      Family{"", vision_rules()},
      Family{"", withdrawn_rules()},
      Family{"ai.onnx.preview", preview_rules()},
      Family{"ai.onnx.ml", ml_rules()},
      Family{"ai.onnx.preview.training", training_rules()},
      Family{"ai.onnx.training", training_rules()},
      Family{"com.microsoft", contrib_attention_rules()},
      Family{"com.microsoft", contrib_cache_attention_rules()},
      Family{"com.microsoft", contrib_conv_rules()},
      Family{"com.microsoft", contrib_elementwise_rules()},
      Family{"com.microsoft", contrib_generation_rules()},
      Family{"com.microsoft", contrib_matmul_rules()},
      Family{"com.microsoft", contrib_misc_rules()},
      Family{"com.microsoft", contrib_moe_rules()},
      Family{"com.microsoft", contrib_norm_rules()},
      Family{"com.microsoft", contrib_packed_attention_rules()},
      Family{"com.microsoft", contrib_qlinear_rules()},
      Family{"com.microsoft", contrib_quantize_rules()},
      Family{"com.microsoft", contrib_speculative_rules()},
      Family{"com.microsoft", contrib_state_rules()},
      Family{"com.microsoft.nchwc", nchwc_rules()},
      Family{"com.ms.internal.nhwc", internal_nhwc_rules()},
      Family{"org.pytorch.aten", aten_rules()},
      Family{"trt", tensorrt_rules()},
  };
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

}  // namespace pagoda::inline core::ops
