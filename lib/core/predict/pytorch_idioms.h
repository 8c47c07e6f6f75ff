// The calls of the framework that exporters write as several nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "pagoda/core/analysis.h"

namespace pagoda::inline core {

// The framework call that one or more nodes of the main graph stand for.
enum class Call : std::uint8_t { Own, Part, Linear, Activation, LayerNorm, GroupNorm, Variance, Attention };

struct Idiom {
  Call call = Call::Own;
  ValueIds operands = {};  // of the call
  ValueId result = kAbsent;
  ValueId mask = kAbsent;                   // Attention
  std::vector<std::int32_t> products = {};  // Attention, Linear: the nodes with the multiply-accumulates
};

// By node of the main graph: each call at its last node, Part at its other nodes, Own at all remaining nodes.
std::vector<Idiom> find_idioms(const Model& model, const Analysis& analysis);

}  // namespace pagoda::inline core
