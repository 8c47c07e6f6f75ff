// Lowers a graph to the kernels that eager PyTorch launches under autocast. Follows each tensor's width and strides.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "pagoda/core/predict.h"
#include "predict/strides.h"

namespace pagoda {

// A tensor on the device. Floats are Float32 or Float16 as autocast leaves them, whatever the file says.
struct Tile {
  bool known = false;
  bool is_constant = false;  // a weight, or computed from weights alone
  ElementType type = ElementType::Float32;
  Sizes sizes;
  Strides strides;

  double elements() const { return element_count(sizes); }
  double bytes() const { return elements() * bits(type) / 8; }
  bool is_half() const { return type == ElementType::Float16; }
};

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

}  // namespace pagoda
