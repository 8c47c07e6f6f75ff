// Layout changes that need no separate kernel, because a kernel reads its operands or writes its result in the required
// order; and products that share an operand, which run as one product with concatenated weights.
#include <algorithm>

#include "graph/index.h"
#include "memory/fusion.h"

namespace pagoda::inline core {
namespace {

class LayoutFuser {
 public:
  LayoutFuser(FusionGraph& graph, std::span<const std::int32_t> appended) : graph_(graph), appended_(appended) {}

  void run() {
    const auto count = static_cast<std::int32_t>(graph_.schedule().steps.size());
    for (std::int32_t id = count; id-- > 0;)
      if (is_layout(id)) join_reader(id);
    for (std::int32_t id = 0; id < count; ++id)
      if (is_layout(id)) join_maker(id);
    for (std::int32_t id = 0; id < count; ++id)
      if (graph_.op(id) != nullptr && graph_.op(id)->kind == OpKind::Pointwise) join_product(id);
  }

 private:
  // Whether the node is in a group that only moves elements, and possibly dequantises them.
  bool is_layout(std::int32_t id) {
    if (!graph_.only_moves(id) || appended_[index(id)] >= 0) return false;
    const Group& group = graph_.group(graph_.group_of(id));
    return std::all_of(group.nodes.begin(), group.nodes.end(), [&](std::int32_t member) {
      const OpFacts* op = graph_.op(member);
      return appended_[index(member)] < 0 &&
             (graph_.only_moves(member) || (op != nullptr && op->kind == OpKind::Dequantize));
    });
  }

  // Whether the group's kernels can read operands in any layout.
  bool takes_layouts(std::int32_t group) {
    const std::vector<std::int32_t>& nodes = graph_.group(group).nodes;
    return std::all_of(nodes.begin(), nodes.end(), [&](std::int32_t member) {
      return appended_[index(member)] < 0 &&
             (graph_.op(member) != nullptr || graph_.is_attention(member) || graph_.only_moves(member) ||
              graph_.node(member).op_type == "ScatterND");  // an assignment to a slice, as exporters write it
    });
  }

  // Whether all groups seen so far, besides `own`, are one, which becomes `found`.
  static bool is_only(std::int32_t group, std::int32_t own, std::int32_t& found) {
    if (group != own && found < 0) found = group;
    return group == own || (group >= 0 && group == found);
  }

  void join_reader(std::int32_t id) {
    const std::int32_t own = graph_.group_of(id);
    std::int32_t reader = -1;
    for (const std::int32_t member : graph_.group(own).nodes)
      for (const std::int32_t written : graph_.schedule().steps[index(member)].writes) {
        const Storage& made = graph_.schedule().storages[index(written)];
        if (made.is_output) return;
        for (const std::int32_t node : made.readers)
          if (!is_only(graph_.group_of(node), own, reader)) return;
      }
    if (reader >= 0 && takes_layouts(reader)) graph_.merge(reader, own, Fusion::Layout);
  }

  void join_maker(std::int32_t id) {
    const std::int32_t own = graph_.group_of(id);
    std::int32_t maker = -1;
    for (const std::int32_t member : graph_.group(own).nodes)
      for (const Access& read : graph_.reads(member).accesses) {
        const Storage* storage = graph_.storage_at(read.value);
        if (storage != nullptr && storage->place != StoragePlace::Device) continue;
        if (!is_only(graph_.maker(read.value), own, maker)) return;
      }
    if (maker >= 0 && takes_layouts(maker)) graph_.merge(maker, own, Fusion::Layout);
  }

  // Merges a group of element-wise operators, formed as a whole, into the product that only it reads, if both have as
  // many elements.
  void join_product(std::int32_t id) {
    const std::int32_t own = graph_.group_of(id);
    if (graph_.group(own).kind != GroupKind::Pointwise) return;
    for (const Access& read : std::vector<Access>(graph_.reads(id).accesses)) {
      const std::int32_t maker = graph_.maker(read.value);
      if (maker < 0 || maker == own || graph_.group(maker).kind != GroupKind::Contraction) continue;
      const bool is_private =
          graph_.storage_at(read.value)->is_private([&](auto reader) { return graph_.group_of(reader) == own; });
      if (is_private && graph_.group(maker).elements == graph_.group(own).elements &&
          graph_.merge(maker, own, Fusion::Rotation))
        return;
    }
  }

  FusionGraph& graph_;
  std::span<const std::int32_t> appended_;  // by node
};

// The tensor that a product multiplies by a constant weight; -1 if there is none, or for a convolution.
std::int32_t multiplied(FusionGraph& graph, std::int32_t id) {
  const OpFacts* op = graph.op(id);
  if (op == nullptr || op->kind != OpKind::Product || !graph.reads(id).whole) return -1;
  if (op->form != ProductForm::Matrix && op->form != ProductForm::Matrices) return -1;
  const Node& node = graph.node(id);
  const Storage* weight = graph.storage_at(node.inputs[1]);
  const Storage* operand = graph.storage_at(node.inputs[0]);
  const bool is_weighted = weight != nullptr && (weight->place == StoragePlace::Constant || weight->is_of_weights);
  return is_weighted && operand != nullptr && operand->place == StoragePlace::Device ? graph.storage(node.inputs[0])
                                                                                     : -1;
}

}  // namespace

void fuse_layouts(FusionGraph& graph, std::span<const std::int32_t> appended) { LayoutFuser(graph, appended).run(); }

void fuse_shared_operands(FusionGraph& graph) {
  const auto count = static_cast<std::int32_t>(graph.schedule().steps.size());
  for (std::int32_t id = 0; id < count; ++id) {
    const std::int32_t operand = multiplied(graph, id);
    if (operand < 0) continue;
    for (const std::int32_t other : graph.schedule().storages[index(operand)].readers)
      if (other > id && multiplied(graph, other) == operand && graph.group_of(other) != graph.group_of(id))
        graph.merge(graph.group_of(id), graph.group_of(other), Fusion::SharedOperand);
  }
}

}  // namespace pagoda::inline core
