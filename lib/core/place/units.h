// What a provider judges as one: a node, or a node with the DequantizeLinear nodes before it and the QuantizeLinear
// nodes behind it, which then computes in integers.
// Source: onnxruntime/core/optimizer/qdq_transformer/selectors_actions/qdq_selectors.cc (1.32) and the selectors of
// onnxruntime-qnn 2.7; compared with the answers of both.
#pragma once

#include <cstdint>
#include <vector>

#include "pagoda/core/placement.h"
#include "place/loaded.h"

namespace pagoda::inline core {

struct NodeUnit {
  struct Operand {
    ValueId value = kAbsent;  // of a quantised operand: the tensor of integers
    bool is_quantised = false;
  };
  std::int32_t node = -1;
  std::vector<std::int32_t> before;  // DequantizeLinear
  std::vector<std::int32_t> behind;  // QuantizeLinear, and an activation that its range makes needless
  std::vector<Operand> inputs, outputs;
};

class NodeUnits {
 public:
  NodeUnits(const LoadedGraph& loaded, const std::vector<ProviderUnit>& kinds);

  const LoadedGraph& loaded() const { return loaded_; }
  const std::vector<NodeUnit>& all() const { return units_; }
  // The unit of a node. The runtime copies a DequantizeLinear for each of its readers; the first one keeps it.
  std::size_t of(std::int32_t node) const { return of_[static_cast<std::size_t>(node)].front(); }
  // The nodes that write or read the value, where those of a unit stand for its nodes before and behind.
  std::int32_t writer(ValueId value) const;
  std::vector<std::int32_t> readers(ValueId value) const;
  // Nodes are judged after their readers.
  void leave_on_cpu(std::int32_t node) { left_[static_cast<std::size_t>(node)] = true; }
  bool is_on_cpu(std::int32_t node) const { return left_[static_cast<std::size_t>(node)]; }

 private:
  bool find(std::int32_t id, const ProviderUnit& kind, NodeUnit& unit) const;
  std::int32_t needless_activation(std::int32_t id) const;
  bool has_same_scale(const LoadedNode& a, const LoadedNode& b) const;
  void add(NodeUnit unit);

  const LoadedGraph& loaded_;
  std::vector<NodeUnit> units_;
  std::vector<std::vector<std::size_t>> of_;  // by node
  std::vector<bool> left_;                    // by node
};

}  // namespace pagoda::inline core
