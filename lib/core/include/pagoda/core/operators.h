// The operators that have a rule, and what current ONNX and ONNX Runtime define.
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
  std::string versions;  // of the domain's opset that define or change it, ascending, separated by blanks
  bool folds = false;    // the values of small outputs, too, where those of the inputs are known
  std::string work;      // the cost formula in words
};

// Sorted by domain and name.
std::vector<OperatorInfo> operators();

// What an operator is beside its mathematics; Unknown in all where it has no rule. "" and "ai.onnx" are one domain.
OpFacts operator_facts(std::string_view domain, std::string_view name);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
