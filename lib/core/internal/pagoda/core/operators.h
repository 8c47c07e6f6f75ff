// The operators that have a rule, and the operators of current ONNX and ONNX Runtime.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/op_facts.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

struct OperatorInfo {
  std::string domain;  // "ai.onnx" for the default
  std::string name;
  std::string versions;  // opset versions that define or change it, ascending, separated by blanks
  bool folds = false;    // also computes values of small outputs from known inputs
  std::string work;      // the cost formula in words
  // Inputs, outputs and their types in the newest version that states them, by ONNX's names: ? marks an optional one, *
  // any number of them. "X W B?: T -> Y: T; T = float16-64 bfloat16"; empty if a version never stated any.
  std::string types;
};

// Sorted by domain and name.
std::vector<OperatorInfo> operators();

// An operator's facts besides its mathematics; all Unknown where it has no rule. "" and "ai.onnx" are the same domain.
OpFacts operator_facts(std::string_view domain, std::string_view name);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
