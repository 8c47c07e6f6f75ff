// Forms the groups in one pass over the graph. Each kernel tries to join the groups that produced its operands, under
// the conditions of Fusion in traffic.h. The rules see only the graph and equalities of sizes.
#include "memory/fusion.h"

#include <algorithm>

#include "graph/index.h"

namespace pagoda::inline core {
namespace {

bool equals(const Dim* a, const Dim& b) { return a != nullptr && *a == b; }

std::optional<RowShape> split_before(const Shape& shape, std::size_t axis) {
  const auto middle = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  return RowShape{element_count(Shape(shape.begin(), middle)), element_count(Shape(middle, shape.end()))};
}

// The axes of a reduction, from the attribute or the second input; nullopt if unknown.
std::optional<std::vector<std::int64_t>> reduction_axes(const FusionGraph& graph, const Node& node) {
  if (const Attribute* attribute = node.attribute("axes"))
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute->value)) return *list;
  if (node.inputs.size() < 2 || node.inputs[1] == kAbsent) return std::vector<std::int64_t>{};
  const auto& value = graph.analysis().values[index(node.inputs[1])];
  if (!value) return std::nullopt;
  std::vector<std::int64_t> axes;
  for (const Scalar& scalar : *value) {
    const Dim* dim = std::get_if<Dim>(&scalar);
    const auto axis = dim == nullptr ? std::nullopt : dim->value64();
    if (!axis) return std::nullopt;
    axes.push_back(*axis);
  }
  return axes;
}

std::optional<RowShape> reduction_rows(const FusionGraph& graph, const Node& node, const Shape& shape) {
  auto axes = reduction_axes(graph, node);
  if (!axes) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (axes->empty()) {
    if (node.integer("noop_with_empty_axes", 0) != 0) return std::nullopt;
    return split_before(shape, 0);
  }
  for (std::int64_t& axis : *axes) axis += axis < 0 ? rank : 0;
  std::sort(axes->begin(), axes->end());
  for (std::size_t i = 0; i < axes->size(); ++i)
    if ((*axes)[i] != rank - static_cast<std::int64_t>(axes->size() - i)) return std::nullopt;
  return split_before(shape, index(static_cast<std::int32_t>(axes->front())));
}

std::optional<RowShape> norm_rows(const Node& node, RowAxes axes, const Shape& shape, std::int64_t opset) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (rank < 1) return std::nullopt;
  const auto from = [&](std::int64_t axis) -> std::optional<RowShape> {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return std::nullopt;
    return split_before(shape, static_cast<std::size_t>(axis));
  };
  switch (axes) {
    case RowAxes::Other:
      return std::nullopt;
    case RowAxes::Last:
      return from(-1);
    case RowAxes::FromAxis:
      return from(node.integer("axis", -1));
    case RowAxes::Softmax: {
      if (opset < 13) return from(node.integer("axis", 1));  // flattened from this axis on
      const std::int64_t axis = node.integer("axis", -1);
      return axis == -1 || axis == rank - 1 ? from(-1) : std::nullopt;
    }
    case RowAxes::Channel:
      return rank < 3 ? std::nullopt : from(2);
    case RowAxes::ChannelGroup: {
      const bool is_contrib = node.domain == "com.microsoft";
      const std::int64_t groups = node.integer(is_contrib ? "groups" : "num_groups", 0);
      if (rank < 3 || groups < 1) return std::nullopt;
      const bool is_last = is_contrib && node.integer("channels_last", 1) != 0;
      const auto channels = exact_div(is_last ? shape.back() : shape[1], Dim(groups));
      if (!channels) return std::nullopt;
      const Shape others = is_last ? Shape(shape.begin() + 1, shape.end() - 1) : Shape(shape.begin() + 2, shape.end());
      return RowShape{shape[0] * groups, *channels * element_count(others)};
    }
  }
  return std::nullopt;
}

// Whether `operand` has one element per row of `output`: equal in the leading axes, 1 in the axes of a row.
bool is_per_row(const Shape& operand, const Shape& output, const Dim& row) {
  Dim trailing = 1;
  std::size_t axis = output.size();
  while (axis > 0 && trailing != row) trailing *= output[--axis];
  if (trailing != row || operand.size() > output.size()) return false;
  const std::size_t offset = output.size() - operand.size();
  for (std::size_t i = 0; i < output.size(); ++i) {
    const Dim size = i < offset ? Dim(1) : operand[i - offset];
    if (size != (i < axis ? output[i] : Dim(1))) return false;
  }
  return true;
}

// --- the pass ---

class Fuser {
 public:
  explicit Fuser(FusionGraph& graph) : graph_(graph) {}

  void run() {
    const auto count = static_cast<std::int32_t>(graph_.schedule().steps.size());
    for (std::int32_t id = 0; id < count; ++id) {
      if (!graph_.schedule().is_kernel(index(id)) || graph_.group_of(id) >= 0) continue;
      const OpFacts* op = graph_.op(id);
      if (op == nullptr || !graph_.reads(id).whole) {
        if (graph_.only_moves(id) && join_split(id)) continue;
        graph_.add_group(graph_.is_attention(id) ? GroupKind::Attention : GroupKind::Other, id);
        if (op == nullptr) absorb_prologues(id, op);
        continue;
      }
      visit(id, *op);
      absorb_prologues(id, op);
    }
  }

 private:
  void visit(std::int32_t id, const OpFacts& op) {
    if (op.kind == OpKind::Pointwise) return visit_pointwise(id, op);
    if (op.kind == OpKind::Reduction || op.kind == OpKind::Norm) return visit_row_op(id, op);
    if (op.kind == OpKind::Quantize) return visit_quantize(id);
    if (op.kind == OpKind::Transpose && join_reordered(id)) return;
    const std::int32_t group = graph_.add_group(group_kind(op), id);
    if (op.kind != OpKind::Product) return;
    if (const Dim* elements = graph_.elements(graph_.output(id))) graph_.group(group).elements = *elements;
  }

  static GroupKind group_kind(const OpFacts& op) {
    if (op.kind == OpKind::Product) return GroupKind::Contraction;
    return op.kind == OpKind::Dequantize ? GroupKind::Dequantize : GroupKind::Other;
  }

  // A result that is only read in a different axis order is written in that order.
  bool join_reordered(std::int32_t id) {
    const ValueId input = graph_.node(id).inputs[0];
    const std::int32_t into = graph_.maker(input);
    if (into < 0 || graph_.only_reader(input) < 0) return false;
    const GroupKind kind = graph_.group(into).kind;
    if (kind == GroupKind::Other || kind == GroupKind::Dequantize) return false;
    if (!graph_.join(into, id, Fusion::Layout)) return false;
    if (kind == GroupKind::RowWise) graph_.group(into).kind = GroupKind::Other;  // rows are no longer contiguous
    return true;
  }

  // A Split of a product's result joins it if nothing else reads the result: one half gates the other.
  bool join_split(std::int32_t id) {
    const Node& node = graph_.node(id);
    const std::int32_t into = graph_.maker(node.inputs[0]);
    if (node.op_type != "Split" || into < 0 || graph_.only_reader(node.inputs[0]) < 0) return false;
    const Dim* part = graph_.elements(graph_.output(id));
    if (graph_.group(into).kind != GroupKind::Contraction || part == nullptr) return false;
    for (const ValueId output : ValueIds(node.outputs))
      if (!equals(graph_.elements(output), *part)) return false;
    if (!graph_.join(into, id, Fusion::Layout)) return false;
    graph_.group(into).elements = *part;
    return true;
  }

  // The groups that produced a node's operands: first those whose tensor has no other reader, then the latest.
  std::vector<std::int32_t> producing_groups(std::int32_t id) {
    std::vector<std::pair<bool, std::int32_t>> candidates;  // is shared, − producer
    for (const Access& read : graph_.reads(id).accesses)
      if (graph_.maker(read.value) >= 0)
        candidates.emplace_back(graph_.storage_at(read.value)->readers.size() > 1, -graph_.producer(read.value));
    std::sort(candidates.begin(), candidates.end());
    std::vector<std::int32_t> groups;
    for (const auto& [is_shared, producer] : candidates) {
      const std::int32_t group = graph_.group_of(-producer);
      if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
    }
    return groups;
  }

  // Whether `accept` is true for every operand that the group produces.
  template <typename Accept>
  bool all_from(std::int32_t group, std::int32_t id, const Accept& accept) {
    const std::vector<Access>& accesses = graph_.reads(id).accesses;
    return std::all_of(accesses.begin(), accesses.end(),
                       [&](const Access& read) { return graph_.maker(read.value) != group || accept(read.value); });
  }

  bool has(ValueId value, const Dim& elements) { return equals(graph_.elements(value), elements); }
  bool all_have(std::int32_t group, std::int32_t id, const Dim& elements) {
    return all_from(group, id, [&](ValueId value) { return has(value, elements); });
  }

  // --- element-wise operators ---

  void visit_pointwise(std::int32_t id, const OpFacts& op) {
    const Dim* elements = graph_.elements(graph_.output(id));
    if (elements == nullptr) {
      graph_.add_group(GroupKind::Other, id);
      return;
    }
    if (join_dequantised(id)) return;
    std::int32_t joined = -1;
    for (const std::int32_t group : producing_groups(id)) {
      const auto why = reason_to_join(group, id, op, *elements);
      if (!why || !graph_.join(group, id, *why)) continue;
      joined = group;
      break;
    }
    if (joined < 0) joined = join_requantised(id, op, *elements);
    if (joined < 0) {
      joined = graph_.add_group(GroupKind::Pointwise, id);
      graph_.group(joined).elements = *elements;
    }
    if (graph_.group(joined).elements != *elements) return;  // one element per row: no full-size operand to merge
    for (const std::int32_t other : producing_groups(id))
      if (other != joined) merge_elementwise(joined, other, id, *elements);
  }

  // A Cast of dequantised numbers that nothing else reads belongs to their conversion: the group stays an operand's.
  bool join_dequantised(std::int32_t id) {
    const Node& node = graph_.node(id);
    if (node.op_type != "Cast" && node.op_type != "CastLike") return false;
    const std::int32_t group = graph_.maker(node.inputs[0]);
    return group >= 0 && graph_.group(group).kind == GroupKind::Dequantize &&
           graph_.only_reader(node.inputs[0]) == id && graph_.join(group, id, Fusion::Elementwise);
  }

  // The group that quantised an operand, if only this node dequantises it, so the rounding stays in registers; else -1.
  std::int32_t join_requantised(std::int32_t id, const OpFacts& op, const Dim& elements) {
    for (const Access& read : graph_.reads(id).accesses) {
      const std::int32_t from = graph_.producer(read.value);
      const OpFacts* made_by = from < 0 ? nullptr : graph_.op(from);
      if (made_by == nullptr || made_by->kind != OpKind::Dequantize || graph_.group_of(from) < 0) continue;
      if (graph_.group(graph_.group_of(from)).nodes.size() > 1 || !has(read.value, elements) ||
          graph_.only_reader(read.value) != id)
        continue;
      const std::int32_t candidate = graph_.maker(graph_.node(from).inputs[0]);
      if (candidate < 0) continue;
      const Group& group = graph_.group(candidate);
      const bool is_product = group.kind == GroupKind::Contraction;
      if ((!is_product && group.kind != GroupKind::Pointwise) || group.elements != elements) continue;
      const Fusion why = is_product ? epilogue(candidate, id, op, elements, from) : Fusion::Elementwise;
      const FusionGraph::Member added[] = {{from, Fusion::Dequantize}, {id, why}};
      if (graph_.add(candidate, added)) return candidate;
    }
    return -1;
  }

  std::optional<Fusion> reason_to_join(std::int32_t id, std::int32_t node, const OpFacts& op, const Dim& elements) {
    const Group& group = graph_.group(id);
    switch (group.kind) {
      case GroupKind::Pointwise:
        if (group.elements != elements || !all_have(id, node, elements)) return std::nullopt;
        return Fusion::Elementwise;
      case GroupKind::Contraction:
        if (group.elements != elements || !all_have(id, node, elements) || belongs_to_norm(id, node))
          return std::nullopt;
        return epilogue(id, node, op, elements);
      case GroupKind::RowWise: {
        if (elements == group.shape.rows && elements != group.elements)
          return all_have(id, node, elements) ? std::optional(Fusion::Normalisation) : std::nullopt;
        if (group.elements != elements) return std::nullopt;
        const Shape& output = *graph_.shape(graph_.output(node));
        bool uses_statistic = false;
        const bool is_legal = all_from(id, node, [&](ValueId value) {
          if (has(value, elements)) return true;
          uses_statistic = true;
          return has(value, group.shape.rows) && is_per_row(*graph_.shape(value), output, group.shape.row);
        });
        if (!is_legal) return std::nullopt;
        return uses_statistic ? Fusion::Normalisation : Fusion::Elementwise;
      }
      case GroupKind::Attention:
      case GroupKind::Dequantize:
      case GroupKind::Other:
        break;
    }
    return std::nullopt;
  }

  // `also_inside`: a node outside the group that joins with this one.
  Fusion epilogue(std::int32_t group, std::int32_t node, const OpFacts& op, const Dim& elements,
                  std::int32_t also_inside = -1) {
    bool has_other_tensor = false;  // of full size, produced elsewhere
    bool has_vector = false, has_scalar = false;
    for (const Access& read : graph_.reads(node).accesses) {
      const Storage* storage = graph_.storage_at(read.value);
      const std::int32_t from = graph_.producer(read.value);
      if (from >= 0 && (graph_.group_of(from) == group || from == also_inside)) continue;
      const Dim* count = graph_.elements(read.value);
      if (storage != nullptr && storage->place == StoragePlace::Device && equals(count, elements))
        has_other_tensor = true;
      else
        (equals(count, 1) ? has_scalar : has_vector) = true;
    }
    switch (op.epilogue) {
      case Epilogue::BatchNorm:
        return Fusion::BatchNorm;
      case Epilogue::Add:
        return has_other_tensor ? Fusion::Residual : has_vector ? Fusion::Bias : Fusion::Activation;
      case Epilogue::Multiply:
        return has_other_tensor || !(has_vector || has_scalar) ? Fusion::Activation : Fusion::Scale;
      case Epilogue::Activation:
        break;
    }
    return Fusion::Activation;
  }

  // Whether an element-wise operator on a product's output begins a norm: within three steps a reduction or norm of
  // rows reads it, while the product's output also has other readers and must be written anyway.
  bool belongs_to_norm(std::int32_t group, std::int32_t node) {
    std::vector<std::int32_t> chain = {node};
    bool meets_norm = false;
    std::size_t begin = 0;
    for (int hop = 0; hop < 3 && !meets_norm; ++hop) {
      const std::size_t end = chain.size();
      for (std::size_t i = begin; i < end && chain.size() < 16; ++i) {
        const Storage* made = graph_.storage_at(graph_.output(chain[i]));
        if (made == nullptr) continue;
        for (const std::int32_t reader : made->readers) {
          const OpFacts* op = graph_.op(reader);
          if (op == nullptr) continue;
          const bool is_row_op = op->kind == OpKind::Reduction || op->kind == OpKind::Norm;
          meets_norm = meets_norm || (is_row_op && rows_of(reader, *op));
          if (op->kind == OpKind::Pointwise) chain.push_back(reader);
        }
      }
      begin = end;
    }
    if (!meets_norm) return false;
    for (const Access& read : graph_.reads(node).accesses) {
      if (graph_.maker(read.value) != group) continue;
      const bool is_private = graph_.storage_at(read.value)->is_private([&](std::int32_t reader) {
        return graph_.group_of(reader) == group || std::find(chain.begin(), chain.end(), reader) != chain.end();
      });
      if (!is_private) return true;
    }
    return false;
  }

  // Merges the group of another full-size operand of `node`, which is in `joined`.
  void merge_elementwise(std::int32_t joined, std::int32_t other, std::int32_t node, const Dim& elements) {
    Group& a = graph_.group(joined);
    Group& b = graph_.group(other);
    if (b.elements != elements || !all_have(other, node, elements)) return;
    const auto either = [&](GroupKind x, GroupKind y) {
      return (a.kind == x && b.kind == y) || (a.kind == y && b.kind == x);
    };
    GroupKind kind = a.kind;
    RowShape shape = a.shape;
    if (either(GroupKind::Pointwise, GroupKind::Contraction)) {
      if (b.kind == GroupKind::Contraction && belongs_to_norm(other, node)) return;
      kind = GroupKind::Contraction;
    } else if (either(GroupKind::Pointwise, GroupKind::RowWise)) {
      kind = GroupKind::RowWise;
      if (b.kind == GroupKind::RowWise) shape = b.shape;
    } else if (!(a.kind == GroupKind::Pointwise && b.kind == GroupKind::Pointwise) &&
               !(a.kind == GroupKind::RowWise && b.kind == GroupKind::RowWise && a.shape == b.shape)) {
      return;
    }
    if (!graph_.merge(joined, other, Fusion::Elementwise)) return;
    a.kind = kind;
    a.shape = std::move(shape);
  }

  // --- reductions and norms ---

  std::optional<RowShape> rows_of(std::int32_t id, const OpFacts& op) const {
    const Node& node = graph_.node(id);
    const Shape* shape = node.inputs.empty() ? nullptr : graph_.shape(node.inputs[0]);
    if (shape == nullptr) return std::nullopt;
    return op.kind == OpKind::Reduction ? reduction_rows(graph_, node, *shape)
                                        : norm_rows(node, op.rows, *shape, graph_.opset());
  }

  void visit_row_op(std::int32_t id, const OpFacts& op) {
    const auto rows = rows_of(id, op);
    if (!rows) {
      graph_.add_group(GroupKind::Other, id);
      return;
    }
    const Dim elements = *graph_.elements(graph_.node(id).inputs[0]);
    const bool is_softmax = op.rows == RowAxes::Softmax;
    for (const std::int32_t candidate : producing_groups(id)) {
      Group& group = graph_.group(candidate);
      const bool fits =
          group.kind == GroupKind::Pointwise || (group.kind == GroupKind::RowWise && group.shape == *rows);
      if (!fits || group.elements != elements || !all_have(candidate, id, elements)) continue;
      if (!graph_.join(candidate, id, is_softmax ? Fusion::Softmax : Fusion::Normalisation)) continue;
      group.kind = GroupKind::RowWise;
      group.shape = *rows;
      return;
    }
    Group& group = graph_.group(graph_.add_group(GroupKind::RowWise, id));
    group.elements = elements;
    group.shape = *rows;
  }

  // --- quantisation and operands ---

  void visit_quantize(std::int32_t id) {
    const std::int32_t into = graph_.maker(graph_.node(id).input(0));
    if (into >= 0 && graph_.group(into).kind != GroupKind::Dequantize && graph_.join(into, id, Fusion::Quantize))
      return;
    graph_.add_group(GroupKind::Other, id);
  }

  // Absorbs dequantised operands that only this node reads.
  void absorb_prologues(std::int32_t id, const OpFacts* op) {
    const NodeReads& reads = graph_.reads(id);
    if (!reads.whole || (op != nullptr && op->kind == OpKind::Dequantize)) return;
    for (const Access& read : reads.accesses) {
      const std::int32_t from = graph_.maker(read.value);
      if (from < 0 || from == graph_.group_of(id)) continue;
      if (graph_.group(from).kind == GroupKind::Dequantize && graph_.only_reader(read.value) == id)
        graph_.merge(graph_.group_of(id), from, Fusion::Dequantize);
    }
  }

  FusionGraph& graph_;
};

}  // namespace

void fuse_in_order(FusionGraph& graph) { Fuser(graph).run(); }

}  // namespace pagoda::inline core
