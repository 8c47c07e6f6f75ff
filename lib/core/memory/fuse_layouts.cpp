// Layout changes that need no separate kernel, because a kernel reads its operands or writes its result in the required
// order; and products that share an operand, which run as one product with concatenated weights.
#include <algorithm>

#include "graph/index.h"
#include "memory/fusion.h"

namespace pagoda::inline core {
namespace {

// Whether the node is in a group that only moves elements, and possibly dequantises them.
bool is_layout(FusionGraph& graph, std::int32_t id) {
  if (!graph.only_moves(id) || graph.appended(id) >= 0) return false;
  const Group& group = graph.group(graph.group_of(id));
  return std::all_of(group.nodes.begin(), group.nodes.end(), [&](std::int32_t member) {
    const OpFacts* op = graph.op(member);
    return graph.appended(member) < 0 &&
           (graph.only_moves(member) || (op != nullptr && op->kind == OpKind::Dequantize));
  });
}

// Whether the group's kernels can read operands in any layout.
bool takes_layouts(FusionGraph& graph, std::int32_t group) {
  const std::vector<std::int32_t>& nodes = graph.group(group).nodes;
  return std::all_of(nodes.begin(), nodes.end(), [&](std::int32_t member) {
    return graph.appended(member) < 0 &&
           (graph.op(member) != nullptr || graph.is_attention(member) || graph.only_moves(member) ||
            graph.node(member).op_type == "ScatterND");  // an assignment to a slice, as exporters write it
  });
}

// Whether all groups seen so far, besides `own`, are one, which becomes `found`.
bool is_only(std::int32_t group, std::int32_t own, std::int32_t& found) {
  if (group != own && found < 0) found = group;
  return group == own || (group >= 0 && group == found);
}

void join_reader(FusionGraph& graph, std::int32_t id) {
  const std::int32_t own = graph.group_of(id);
  std::int32_t reader = -1;
  for (const std::int32_t member : graph.group(own).nodes)
    for (const std::int32_t written : graph.schedule().steps[index(member)].writes) {
      const Storage& made = graph.schedule().storages[index(written)];
      if (made.is_output) return;
      for (const std::int32_t node : made.readers)
        if (!is_only(graph.group_of(node), own, reader)) return;
    }
  if (reader >= 0 && takes_layouts(graph, reader)) graph.merge(reader, own, Fusion::Layout);
}

void join_maker(FusionGraph& graph, std::int32_t id) {
  const std::int32_t own = graph.group_of(id);
  std::int32_t maker = -1;
  for (const std::int32_t member : graph.group(own).nodes)
    for (const Access& read : graph.reads(member).accesses) {
      const Storage* storage = graph.storage_at(read.value);
      if (storage != nullptr && storage->place != StoragePlace::Device) continue;
      if (!is_only(graph.maker(read.value), own, maker)) return;
    }
  if (maker >= 0 && takes_layouts(graph, maker)) graph.merge(maker, own, Fusion::Layout);
}

// Merges a group of element-wise operators, formed as a whole, into the product that only it reads, if both have as
// many elements.
void join_product(FusionGraph& graph, std::int32_t id) {
  const std::int32_t own = graph.group_of(id);
  if (graph.group(own).kind != GroupKind::Pointwise) return;
  for (const Access& read : std::vector<Access>(graph.reads(id).accesses)) {
    const std::int32_t maker = graph.maker(read.value);
    if (maker < 0 || maker == own || graph.group(maker).kind != GroupKind::Contraction) continue;
    const bool is_private =
        graph.storage_at(read.value)->is_private([&](auto reader) { return graph.group_of(reader) == own; });
    if (is_private && graph.group(maker).elements == graph.group(own).elements &&
        graph.merge(maker, own, Fusion::Rotation))
      return;
  }
}

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

void fuse_layouts(FusionGraph& graph) {
  const auto count = static_cast<std::int32_t>(graph.schedule().steps.size());
  for (std::int32_t id = count; id-- > 0;)
    if (is_layout(graph, id)) join_reader(graph, id);
  for (std::int32_t id = 0; id < count; ++id)
    if (is_layout(graph, id)) join_maker(graph, id);
  for (std::int32_t id = 0; id < count; ++id)
    if (graph.op(id) != nullptr && graph.op(id)->kind == OpKind::Pointwise) join_product(graph, id);
}

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
