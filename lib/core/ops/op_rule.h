// One operator = one row: its name and three pure functions. A family of operators is one file with one sorted
// table of rows; registry.cpp lists the families.
//
//   constexpr OpRule kUnaryRules[] = {
//       // op          infer            cost             fold      cost in words, facts
//       {"Identity",   infer_identity,  cost_view,       fold_identity, "nothing: a view", kView},
//       {"Relu",       infer_unary,     cost_compare,    nullptr,  "1 comparison per element", kPointwise},
//   };
//   static_assert(well_formed(kUnaryRules));
//
// An operator that costs nothing has cost_view; an operator that is not modelled has no row.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "ops/facts.h"
#include "pagoda/core/cost.h"
#include "pagoda/core/rule.h"

namespace pagoda::inline core::ops {

// The rows of one domain in one file.
struct Family {
  std::string_view domain;  // "" for ai.onnx
  std::span<const OpRule> rules;
};

// Under -fsanitize=undefined, gcc does not compare the address of a template instance with null at compile time;
// a result that is not a constant therefore means a non-null address.
template <typename Function>
consteval bool is_set(Function* function) {
  return !__builtin_constant_p(function == nullptr) || function != nullptr;
}

// True if a row states the mandatory facts; the defaults of the others suit most operators.
constexpr bool is_complete(const OpFacts& facts) {
  return facts.kind != OpKind::Unknown && facts.batch != BatchAxis::Unknown && facts.gradient != Gradient::Unknown;
}

// Sorted by name, no duplicates, nothing missing.
template <std::size_t N>
consteval bool well_formed(const OpRule (&rules)[N]) {
  for (std::size_t i = 0; i < N; ++i) {
    if (rules[i].name.empty() || !is_set(rules[i].infer) || !is_set(rules[i].cost) || rules[i].work.empty() ||
        !is_complete(rules[i].facts))
      return false;
    if (i > 0 && !(rules[i - 1].name < rules[i].name)) return false;
  }
  return true;
}

// All families, in registry.cpp.
std::span<const Family> families();

// The tables of all families.
using Rules = std::span<const OpRule>();  // a function that returns a table

Rules aten_rules, attention_rules, contrib_attention_rules, contrib_cache_attention_rules, contrib_conv_rules,
    contrib_elementwise_rules, contrib_generation_rules, contrib_matmul_rules, contrib_misc_rules, contrib_moe_rules,
    contrib_norm_rules, contrib_qlinear_rules, contrib_recurrent_rules, contrib_state_rules, conv_rules, einsum_rules,
    elementwise_rules, gather_rules, generate_rules, internal_nhwc_rules, layout_rules, matmul_rules, ml_rules,
    nchwc_rules, norm_rules, pool_rules, preview_rules, qonnx_rules, quantize_rules, recurrent_rules, reduce_rules, reshape_rules,
    resize_rules, sequence_rules, signal_rules, slice_rules, tensorrt_rules, text_rules, training_rules, unary_rules,
    withdrawn_rules;

// The built-in rule of an op, or null.
const OpRule* find_rule(std::string_view domain, std::string_view op_type);

// The built-in facts of a node's operator; all Unknown if it has no rule.
OpFacts facts_of(const Node& node);
// The facts of a rule, adjusted to the node: BatchNormalization in training mode is not a pointwise operator.
OpFacts facts_of(const OpRule& rule, const Node& node);

}  // namespace pagoda::inline core::ops
