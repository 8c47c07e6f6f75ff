// One operator = one row: its name and three pure functions. A family of operators is one file with one sorted
// table of rows; registry.cpp lists the families.
//
//   constexpr OpRule kRules[] = {
//       // op          infer            cost             fold      cost in words
//       {"Identity",   infer_identity,  cost_view,       fold_identity, "nothing: a view"},
//       {"Relu",       infer_unary,     cost_compare,    nullptr,  "1 comparison per element"},
//   };
//   static_assert(well_formed(kRules));
//
// "Costs nothing" is said (cost_view); "not modelled" is the absence of a row.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "pagoda/core/cost.h"
#include "pagoda/core/rule.h"

namespace pagoda::inline core::ops {

// The rows of one domain in one file.
struct Family {
  std::string_view domain;  // "" for ai.onnx
  std::span<const OpRule> rules;
};

// Under -fsanitize=undefined gcc does not compare the address of a template's instance with null while compiling;
// only an address of something is of that kind.
template <typename Function>
consteval bool is_set(Function* function) {
  return !__builtin_constant_p(function == nullptr) || function != nullptr;
}

// Sorted by name, no duplicates, nothing missing.
template <std::size_t N>
consteval bool well_formed(const OpRule (&rules)[N]) {
  for (std::size_t i = 0; i < N; ++i) {
    if (rules[i].name.empty() || !is_set(rules[i].infer) || !is_set(rules[i].cost) || rules[i].work.empty())
      return false;
    if (i > 0 && !(rules[i - 1].name < rules[i].name)) return false;
  }
  return true;
}

// All families, in registry.cpp.
std::span<const Family> families();

// The built-in rule of an op, or null.
const OpRule* find_rule(std::string_view domain, std::string_view op_type);

}  // namespace pagoda::inline core::ops
