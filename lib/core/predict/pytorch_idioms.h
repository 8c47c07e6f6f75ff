// The calls of the framework that exporters write as several nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "pagoda/core/analysis.h"

namespace pagoda::inline core {

// What nodes of the main graph stand for one call of the framework.
enum class Call : std::uint8_t { Own, Part, Linear, Activation, LayerNorm, GroupNorm, Variance, Attention };

struct Idiom {
  Call call = Call::Own;
  std::vector<ValueId> operands = {};  // of the call
  ValueId result = kAbsent;
  ValueId mask = kAbsent;                   // Attention
  std::vector<std::int32_t> products = {};  // Attention: the nodes that hold the multiply-accumulates
};

// By node of the main graph: the call that a node stands for, at its last node; Part for the others of the call.
std::vector<Idiom> find_idioms(const Model& model, const Analysis& analysis);

}  // namespace pagoda::inline core
