// The runtime's transpose optimiser: it moves Transposes towards one another, where they cancel or merge.
// It walks over the nodes in order and pushes a Transpose of an input through the node, to its outputs, if that costs
// less. Cost is the number of dims that are not 1 of the tensors to transpose. Stored tensors cost nothing: they are
// transposed at once.
// Source: onnxruntime/core/optimizer/transpose_optimization, release 1.31.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "place/axes.h"
#include "place/loaded.h"
#include "place/passages.h"

namespace pagoda::inline core {
namespace {

constexpr std::int64_t kFirstOpset = 7;    // of those that the runtime moves Transposes in
constexpr std::size_t kRankOfUnknown = 5;  // the runtime's guess (EstimateValueRank)

TensorType transposed(TensorType type, const Axes& perm) {
  if (!type.shape || type.shape->size() != perm.size()) return type;
  Shape sizes;
  for (const std::int64_t axis : perm) sizes.push_back((*type.shape)[static_cast<std::size_t>(axis)]);
  type.shape = std::move(sizes);
  return type;
}

// [0,2,3,1]
Axes channels_last(std::size_t rank) {
  Axes perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  if (rank > 2) std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
  return perm;
}

TensorType unsqueezed(TensorType type, const Axes& axes) {
  if (!type.shape) return type;
  Shape sizes;
  std::size_t next = 0;
  for (std::size_t i = 0; i < type.shape->size() + axes.size(); ++i)
    sizes.push_back(std::ranges::find(axes, static_cast<std::int64_t>(i)) != axes.end() ? Dim(1)
                                                                                        : (*type.shape)[next++]);
  type.shape = std::move(sizes);
  return type;
}

}  // namespace

class LoadedGraph::Transposer {
 public:
  explicit Transposer(LoadedGraph& graph) : graph_(graph), opset_(graph.model_.opset("")) {}

  // Nodes work with channels last, between Transposes, which then move outwards.
  // Source: onnxruntime/core/optimizer/layout_transformation/layout_transformation.cc.
  void change_layout(const std::vector<std::int32_t>& nodes) {
    for (const std::int32_t id : nodes) {
      const bool is_whole = !node(id).inputs.empty() && !node(id).outputs.empty() && node(id).outputs[0] != kAbsent;
      const std::optional<std::size_t> rank = is_whole ? rank_of(node(id).inputs[0]) : std::nullopt;
      if (!rank || *rank < 3) continue;
      const Axes last = channels_last(*rank);
      transpose_input(id, 0, last);
      transpose_output(id, 0, inverse(last));
      node(id).is_remade = true;
    }
    is_changing_layout_ = true;
    run();
  }

  bool run() {
    if (opset_ < kFirstOpset) return false;
    const std::vector<std::int32_t> order = graph_.order();
    find_leading(order);
    bool has_changed = false, has_dequantized = false;
    for (const std::int32_t id : order) {
      if (node(id).is_gone) continue;
      has_dequantized = has_dequantized || node(id).op == "DequantizeLinear";
      const std::vector<ValueId> inputs = node(id).inputs;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const std::int32_t transpose = graph_.writer(inputs[i]);
        if (transpose < 0 || !push(transpose, id, i)) continue;
        has_changed = true;
        break;
      }
    }
    return (has_dequantized && mend_quantised()) || has_changed;
  }

 private:
  // A Transpose before a node.
  struct Push {
    std::int32_t transpose, node;
    Axes perm, inverse;
    std::vector<std::size_t> inputs;  // those that it passes through
  };

  LoadedNode& node(std::int32_t id) { return graph_.node(id); }
  const LoadedNode& node(std::int32_t id) const { return graph_.nodes_[at(id)]; }
  static std::size_t at(std::int64_t place) { return static_cast<std::size_t>(place); }
  const LoadedNode* writer(ValueId value) const {
    const std::int32_t id = graph_.writer(value);
    return id < 0 ? nullptr : &node(id);
  }
  static bool is_op(const LoadedNode* node, std::string_view op) { return node != nullptr && node->op == op; }
  std::optional<std::size_t> rank_of(ValueId value) const {
    const Shape* sizes = graph_.shape(value);
    return sizes == nullptr ? std::nullopt : std::optional(sizes->size());
  }

  // Where the file states none, the runtime leaves the Transpose alone.
  std::optional<Axes> perm_of(const LoadedNode* node) const {
    if (node == nullptr || node->op != "Transpose" || !is_plain(*node)) return std::nullopt;
    Axes perm = node->axes;
    if (perm.empty()) {
      const Axes* stated = node->like == nullptr ? nullptr : node->like->integers("perm");
      if (stated == nullptr) return std::nullopt;
      perm = *stated;
    }
    if (std::ranges::any_of(perm, [](std::int64_t axis) { return axis < 0; }) || !normalise(perm, perm.size()))
      return std::nullopt;
    return perm;
  }

  std::int64_t integer(std::int32_t id, std::string_view name, std::int64_t otherwise) const {
    return node(id).like == nullptr ? otherwise : node(id).like->integer(name, otherwise);
  }
  void set_axes(std::int32_t id, Axes axes) {
    node(id).axes = std::move(axes);
    node(id).key.clear();
  }
  std::int64_t axis_of(std::int32_t id, std::int64_t otherwise) const {
    return node(id).axes.empty() ? integer(id, "axis", otherwise) : node(id).axes.front();
  }
  // Of an attribute, or of a stored tensor.
  std::optional<Axes> axes_of(std::int32_t id, bool is_input, std::size_t input) const {
    const LoadedNode& each = node(id);
    if (!each.axes.empty()) return each.axes;
    if (!is_input) {
      const Axes* stated = each.like == nullptr ? nullptr : each.like->integers("axes");
      return stated == nullptr ? std::nullopt : std::optional(*stated);
    }
    const TensorValue* held = input < each.inputs.size() ? graph_.known(each.inputs[input]) : nullptr;
    if (held == nullptr || !graph_.is_constant(each.inputs[input])) return std::nullopt;
    Axes axes;
    for (const Scalar& scalar : *held) {
      const auto axis = integer_of(scalar);
      if (!axis) return std::nullopt;
      axes.push_back(*axis);
    }
    return axes;
  }

  // --- readers ---

  // Only nodes of this graph read the value: no body reads it, and it is not an output of the model.
  bool is_local(ValueId value) const {
    return !graph_.values_[at(value)].is_output && std::ranges::none_of(graph_.readers(value), [&](std::int32_t id) {
      return std::ranges::find(node(id).captured, value) != node(id).captured.end();
    });
  }
  bool is_unread(ValueId value) const { return !graph_.values_[at(value)].is_output && graph_.readers(value).empty(); }
  void remove_if_unread(std::int32_t id) {
    if (is_unread(node(id).outputs.front())) graph_.remove(id);
  }
  void replace_input(std::int32_t id, ValueId from, ValueId to) {
    for (std::size_t i = 0; i < node(id).inputs.size(); ++i)
      if (node(id).inputs[i] == from) graph_.set_input(id, i, to);
  }
  void replace_inputs(ValueId from, ValueId to) {
    const std::vector<std::int32_t> all = graph_.readers(from);
    for (const std::int32_t id : all) replace_input(id, from, to);
  }
  std::int32_t add(std::string_view op, std::vector<ValueId> inputs, ValueId original, TensorType type, Axes axes) {
    const std::int32_t id = graph_.add_node(made_node(op, std::move(inputs)), original, std::move(type));
    node(id).axes = std::move(axes);
    return id;
  }
  ValueId result(std::int32_t id) const { return node(id).outputs.front(); }
  // The output's reader becomes `next`, and `id` writes a new value of this type.
  ValueId move_output(std::int32_t id, std::size_t i, std::int32_t next, TensorType type) {
    const ValueId old = node(id).outputs[i];
    const ValueId made = graph_.add_value(old, std::move(type));
    node(id).outputs[i] = made;
    node(next).outputs.front() = old;
    graph_.link(id);
    graph_.link(next);
    return made;
  }

  // --- cost ---

  void find_leading(const std::vector<std::int32_t>& order) {
    leading_.clear();
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      const LoadedNode& each = node(*id);
      if (each.op == "Transpose" && is_plain(each)) {
        leading_.insert(each.inputs[0]);
      } else if (moves_outputs(passage_of(each, graph_.release_)) &&
                 std::ranges::any_of(each.outputs, [&](ValueId value) { return leading_.contains(value); })) {
        for (const std::size_t i : passed_inputs(each)) leading_.insert(each.inputs[i]);
      }
    }
  }

  std::vector<std::size_t> passed_inputs(const LoadedNode& each) const {
    const Passage passage = passage_of(each, graph_.release_);
    std::vector<std::size_t> inputs;
    for (std::size_t i = 0; i < each.inputs.size(); ++i) {
      const bool is_passed = passage == Passage::Concat                                   ? true
                             : passage == Passage::Broadcast && each.inputs[i] != kAbsent ? rank_of(each.inputs[i]) != 0
                             : passage == Passage::QLinearBinary                          ? i == 0 || i == 3
                             : passage == Passage::QLinearConcat                          ? i >= 2 && i % 3 == 2
                                                                                          : i == 0;
      if (is_passed) inputs.push_back(i);
    }
    return inputs;
  }

  int cost_of_rank(ValueId value) const { return static_cast<int>(graph_.wide_rank(value).value_or(kRankOfUnknown)); }

  // Negative where it removes a Transpose.
  int cost_of(ValueId value, const Axes& perm) const {
    const LoadedNode* before = writer(value);
    if (before == nullptr) return graph_.is_constant(value) ? 0 : cost_of_rank(value);
    if (is_op(before, "DequantizeLinear")) {
      if (looks_past(graph_.writer(value))) return 0;
      const LoadedNode* source = writer(before->inputs[0]);
      if (is_op(source, "Squeeze")) source = writer(source->inputs[0]);
      if (source != nullptr && (source->op == "Transpose" || !is_op(writer(before->inputs[0]), "Squeeze")))
        before = source;
    }
    const std::optional<Axes> other = perm_of(before);
    if (!other) return cost_of_rank(value);
    if (*other != perm) return 0;
    const ValueId moved = before->outputs.front();
    const bool can_go = is_local(moved) && std::ranges::all_of(graph_.readers(moved), [&](std::int32_t id) {
                          return passage_of(node(id), graph_.release_) != Passage::None;
                        });
    return can_go ? -cost_of_rank(value) : 0;
  }

  bool is_cheaper(const Push& each, Passage passage) const {
    if (passage == Passage::Transpose) return true;
    // Those of a layout move wherever they can, but not before each operand of a Concat.
    const Axes last = is_changing_layout_ ? channels_last(each.perm.size()) : Axes();
    if (is_changing_layout_ && passage != Passage::Concat && (each.perm == last || each.inverse == last)) return true;
    int cost = 0;
    for (const std::size_t i : each.inputs) cost += cost_of(node(each.node).inputs[i], each.perm);
    if (cost >= 0 || !moves_outputs(passage)) return cost < 0;
    int after = 0;
    for (const ValueId output : node(each.node).outputs) {
      if (leading_.contains(output)) return true;
      after = std::max(after, cost_of_rank(output));
    }
    return cost + after < 0;
  }

  // --- quantised tensors ---

  static constexpr std::int64_t kOneScale = -1, kUnknownAxis = -2;

  // The axis of the scales; kUnknownAxis for block-wise scales.
  std::int64_t quantised_axis(std::int32_t id) const {
    const Shape* scales = node(id).inputs.size() < 2 ? nullptr : graph_.shape(node(id).inputs[1]);
    if (scales == nullptr) return kUnknownAxis;
    if (scales->empty() || (scales->size() == 1 && (*scales)[0] == Dim(1))) return kOneScale;
    const std::optional<std::size_t> rank = rank_of(node(id).inputs[0]);
    Axes axis = {axis_of(id, 1)};
    if (!rank || !normalise(axis, *rank) || integer(id, "block_size", 0) != 0) return kUnknownAxis;
    return axis.front();
  }

  // A DequantizeLinear of a stored tensor for one reader: the stored tensor is moved in its place.
  bool looks_past(std::int32_t id) const {
    const LoadedNode& each = node(id);
    return each.op == "DequantizeLinear" && graph_.writer(each.inputs[0]) < 0 && graph_.is_constant(each.inputs[0]) &&
           quantised_axis(id) != kUnknownAxis && is_local(each.inputs[0]) &&
           graph_.only_reader(each.outputs.front()) >= 0;
  }

  void set_dequantised(std::int32_t id, ValueId source, std::int64_t axis) {
    graph_.set_input(id, 0, source);
    if (axis >= 0) set_axes(id, {axis});
    graph_.retype(result(id), {graph_.type(result(id)).element, graph_.type(source).shape});
  }

  // A QuantizeLinear and a DequantizeLinear like `model` behind `id`.
  void add_pair(std::int32_t id, std::int32_t model, std::int64_t axis) {
    std::vector<ValueId> inputs = node(model).inputs;
    const std::string_view domain = node(model).domain;
    const ValueId old = result(id);
    const TensorType type = graph_.type(old);
    const bool quantises = node(model).op == "QuantizeLinear";
    const ElementType element = graph_.type(quantises ? result(model) : inputs[0]).element;
    const Axes axes = axis >= 0 ? Axes{axis} : Axes{};
    inputs[0] = kAbsent;
    const std::int32_t first = add("QuantizeLinear", inputs, old, {element, type.shape}, axes);
    inputs[0] = result(first);
    const std::int32_t second = add("DequantizeLinear", inputs, old, type, axes);
    node(first).domain = node(second).domain = domain;
    graph_.set_input(first, 0, move_output(id, 0, second, type));
  }

  void add_pair_behind(std::int32_t dequantize, std::int32_t next, const Axes& moved) {
    const std::int64_t axis = quantised_axis(dequantize);
    if (axis != kUnknownAxis && graph_.only_reader(result(dequantize)) == next)
      add_pair(next, dequantize, axis < 0 ? axis : moved[at(axis)]);
  }

  // --- moving ---

  ValueId add_constant(ValueId like) { return graph_.add_value(like, graph_.type(like), true); }
  ValueId add_axes(ValueId like, std::size_t count) {
    return graph_.add_value(like, {ElementType::Int64, Shape{Dim(static_cast<std::int64_t>(count))}}, true);
  }

  // The stored tensor is moved; other readers get it back through `op`.
  void move_constant(ValueId value, std::string_view op, Axes back, TensorType type) {
    if (!graph_.readers(value).empty()) {
      const std::int32_t undo = add(op, {kAbsent}, value, graph_.type(value), std::move(back));
      replace_inputs(value, result(undo));
      graph_.set_input(undo, 0, value);
    }
    graph_.retype(value, std::move(type));
  }

  void transpose_input(std::int32_t id, std::size_t i, const Axes& perm) {
    const Axes back = inverse(perm);
    const ValueId input = node(id).inputs[i];
    if (input == kAbsent) return;
    const std::int32_t before = graph_.writer(input);
    const bool is_past = before >= 0 && looks_past(before);
    const ValueId stored = is_past ? node(before).inputs[0] : input;
    if ((is_past || before < 0) && graph_.is_constant(stored) && is_local(stored)) {
      const auto& sizes = graph_.type(stored).shape;
      if (sizes && element_count(*sizes) == Dim(1)) return;
      if (sizes && sizes->size() == 1 && (*sizes)[0] == Dim(static_cast<std::int64_t>(perm.size()))) {
        graph_.set_input(id, i, add_constant(input));
        return;
      }
      const std::int64_t axis = is_past ? quantised_axis(before) : kOneScale;
      graph_.set_input(is_past ? before : id, is_past ? 0 : i, kAbsent);
      move_constant(stored, "Transpose", back, transposed(graph_.type(stored), perm));
      if (is_past)
        set_dequantised(before, stored, axis < 0 ? axis : back[at(axis)]);
      else
        graph_.set_input(id, i, stored);
      return;
    }
    graph_.set_input(id, i, kAbsent);
    const bool is_dequantised = before >= 0 && node(before).op == "DequantizeLinear";
    const std::int64_t axis = is_dequantised ? quantised_axis(before) : kUnknownAxis;
    const bool is_behind = axis != kUnknownAxis;
    const std::int32_t source = is_behind ? graph_.writer(node(before).inputs[0]) : before;
    if (const std::optional<Axes> other = perm_of(source < 0 ? nullptr : &node(source));
        other && other->size() == perm.size() && (*other == back || !is_behind)) {
      const ValueId first = node(source).inputs[0];
      if (*other == back && is_behind) {
        set_dequantised(before, first, axis < 0 ? axis : back[at(axis)]);
        graph_.set_input(id, i, input);
      } else if (*other == back) {
        graph_.set_input(id, i, first);
      } else {
        const std::int32_t made =
            add("Transpose", {first}, input, transposed(graph_.type(input), perm), composed(*other, perm));
        graph_.set_input(id, i, result(made));
      }
      remove_if_unread(source);
      return;
    }
    for (const std::int32_t reader : graph_.readers(input))
      if (perm_of(&node(reader)) == perm) return graph_.set_input(id, i, result(reader));
    const std::int32_t made = add("Transpose", {input}, input, transposed(graph_.type(input), perm), perm);
    graph_.set_input(id, i, result(made));
    if (is_dequantised) add_pair_behind(before, made, back);
  }

  void unsqueeze_input(std::int32_t id, std::size_t i, const Axes& axes) {
    const ValueId input = node(id).inputs[i];
    const std::int32_t before = graph_.writer(input);
    const bool is_past = before >= 0 && looks_past(before);
    const ValueId stored = is_past ? node(before).inputs[0] : input;
    const auto shifted = [&](std::int64_t axis) {
      return axis < 0 ? axis : axis + static_cast<std::int64_t>(axes.size());  // the new ones come first
    };
    if ((is_past || before < 0) && graph_.is_constant(stored) && is_local(stored)) {
      const std::int64_t axis = is_past ? quantised_axis(before) : kOneScale;
      graph_.set_input(is_past ? before : id, is_past ? 0 : i, kAbsent);
      move_constant(stored, "Squeeze", axes, unsqueezed(graph_.type(stored), axes));
      if (is_past)
        set_dequantised(before, stored, shifted(axis));
      else
        graph_.set_input(id, i, stored);
      return;
    }
    graph_.set_input(id, i, kAbsent);
    const bool is_dequantised = before >= 0 && node(before).op == "DequantizeLinear";
    const std::int64_t axis = is_dequantised ? quantised_axis(before) : kUnknownAxis;
    const bool is_behind = axis != kUnknownAxis;
    const std::int32_t source = is_behind ? graph_.writer(node(before).inputs[0]) : before;
    if (source >= 0 && node(source).op == "Squeeze" && axes_of(source, opset_ >= 13, 1) == axes) {
      const ValueId first = node(source).inputs[0];
      if (is_behind) set_dequantised(before, first, shifted(axis));
      graph_.set_input(id, i, is_behind ? input : first);
      remove_if_unread(source);
      return;
    }
    const std::int32_t made = add("Unsqueeze", {input}, input, unsqueezed(graph_.type(input), axes), axes);
    const std::optional<Axes> perm = before < 0 ? std::nullopt : perm_of(&node(before));
    const ValueId last = perm ? pass_unsqueeze({before, made, *perm, inverse(*perm), {0}}, axes) : result(made);
    graph_.set_input(id, i, last);
    if (is_dequantised) {
      Axes places(rank_of(input).value_or(0));
      std::iota(places.begin(), places.end(), static_cast<std::int64_t>(axes.size()));
      add_pair_behind(before, made, places);
    }
  }

  void transpose_inputs(const Push& each) {
    for (const std::size_t i : each.inputs) transpose_input(each.node, i, each.inverse);
  }

  ValueId transpose_output(std::int32_t id, std::size_t i, const Axes& perm) {
    const ValueId old = node(id).outputs[i];
    const TensorType type = graph_.type(old);
    const std::int32_t made = add("Transpose", {kAbsent}, old, type, perm);
    graph_.set_input(made, 0, move_output(id, i, made, transposed(type, inverse(perm))));
    return old;
  }

  void transpose_outputs(std::int32_t id, const Axes& perm) {
    if (is_identity(perm)) return;
    for (std::size_t i = 0; i < node(id).outputs.size(); ++i)
      if (node(id).outputs[i] != kAbsent) transpose_output(id, i, perm);
  }

  bool push(std::int32_t transpose, std::int32_t id, std::size_t input) {
    const std::optional<Axes> perm = perm_of(&node(transpose));
    const Passage passage = passage_of(node(id), graph_.release_);
    const bool needs_second = passage == Passage::Gather || passage == Passage::Reshape || passage == Passage::Tile ||
                              passage == Passage::Quantize || (passage == Passage::Pad && opset_ >= 11);
    if (!perm || passage == Passage::None || (needs_second && node(id).inputs.size() < 2)) return false;
    const Push each{transpose, id, *perm, inverse(*perm), passed_inputs(node(id))};
    return std::ranges::find(each.inputs, input) != each.inputs.end() && is_cheaper(each, passage) &&
           pass(each, passage);
  }

  // False: it stays, and nothing has changed.
  bool pass(const Push& each, Passage passage) {
    const std::int32_t id = each.node;
    const std::size_t rank = each.perm.size();
    switch (passage) {
      case Passage::None:
        return false;
      case Passage::First:
        break;
      case Passage::Broadcast:
      case Passage::QLinearBinary:
        if (!unsqueeze_inputs(each)) return false;
        break;
      case Passage::Concat:
      case Passage::QLinearConcat:
      case Passage::Split:
      case Passage::Softmax:
      case Passage::ArgReduce: {
        if (passage == Passage::Softmax && opset_ < 13) {
          Axes border = {axis_of(id, 1)};
          if (!normalise(border, rank)) return false;
          for (std::size_t i = 0; i < rank; ++i)
            if ((i < at(border[0])) != (each.perm[i] < border[0])) return false;
          break;
        }
        Axes axis = {axis_of(id, passage == Passage::Softmax ? -1 : 0)};
        if (!normalise(axis, rank)) return false;
        set_axes(id, {each.perm[at(axis[0])]});
        if (passage == Passage::ArgReduce && integer(id, "keepdims", 1) == 0) return pass_reduced(each, node(id).axes);
        break;
      }
      case Passage::Gather: {
        Axes axis = {axis_of(id, 0)};
        const ValueId place = node(id).inputs[1];
        if (rank_of(place) != 0 || !graph_.is_constant(place) || !normalise(axis, rank)) return false;
        return pass_reduced(each, {each.perm[at(axis[0])]});
      }
      case Passage::ShapeOf:
        return pass_shape(each);
      case Passage::Pad:
      case Passage::Tile:
        if (passage == Passage::Pad && opset_ < 11) break;
        permute_input(id, 1, 2 * rank);
        break;
      case Passage::Reduce:
        return pass_reduction(each);
      case Passage::Squeeze: {
        std::optional<Axes> axes = axes_of(id, opset_ >= 13, 1);
        if (!axes || !normalise(*axes, rank)) return false;
        return pass_reduced(each, composed(each.perm, *axes));
      }
      case Passage::Unsqueeze: {
        std::optional<Axes> axes = axes_of(id, opset_ >= 13, 1);
        if (!axes || !normalise(*axes, rank + axes->size())) return false;
        pass_unsqueeze(each, *axes);
        return true;
      }
      case Passage::Slice:
        if (!move_slice(each)) return false;
        break;
      case Passage::Quantize: {
        if (is_plain(node(id)) && opset_ < 13) break;
        if (rank_of(node(id).inputs[1]) == 0) break;
        Axes axis = {axis_of(id, 1)};
        if (!normalise(axis, rank)) return false;
        set_axes(id, {each.perm[at(axis[0])]});
        break;
      }
      case Passage::Transpose: {
        const std::optional<Axes> perm = perm_of(&node(id));
        return perm && perm->size() == rank && merge(each, *perm);
      }
      case Passage::Reshape: {
        const std::optional<Axes> perm = perm_of_reshape(each);
        return perm ? merge(each, *perm) : graph_.release_ >= kSince1_28 && pass_split(each);
      }
    }
    transpose_inputs(each);
    transpose_outputs(id, each.perm);
    return true;
  }

  bool unsqueeze_inputs(const Push& each) {
    std::vector<std::size_t> missing;
    for (const std::size_t i : each.inputs) {
      const std::optional<std::size_t> rank = rank_of(node(each.node).inputs[i]);
      if (!rank || *rank > each.perm.size()) return false;
      missing.push_back(each.perm.size() - *rank);
    }
    for (std::size_t k = 0; k < missing.size(); ++k) {
      Axes axes(missing[k]);
      std::iota(axes.begin(), axes.end(), 0);
      if (!axes.empty()) unsqueeze_input(each.node, each.inputs[k], axes);
    }
    return true;
  }

  // A list of numbers by axis, which the push reorders: stored, or by a Gather.
  void permute_input(std::int32_t id, std::size_t i, std::size_t count) {
    const ValueId input = node(id).inputs[i];
    const Shape* sizes = graph_.shape(input);
    const bool is_list =
        sizes != nullptr && sizes->size() == 1 &&
        ((*sizes)[0] == Dim(static_cast<std::int64_t>(count)) || (*sizes)[0] == Dim(0) || node(id).op == "Tile");
    if (graph_.is_constant(input) && is_list) return graph_.set_input(id, i, add_constant(input));
    const std::int32_t gather = add("Gather", {input, add_axes(input, count)}, input, graph_.type(input), {});
    graph_.set_input(id, i, result(gather));
  }

  bool pass_shape(const Push& each) {
    const std::int32_t id = each.node;
    transpose_inputs(each);
    const ValueId old = result(id);
    const std::int32_t gather = add("Gather", {kAbsent, add_axes(old, each.perm.size())}, old, graph_.type(old), {});
    const Dim rank(static_cast<std::int64_t>(each.perm.size()));
    graph_.set_input(gather, 0, move_output(id, 0, gather, {ElementType::Int64, Shape{rank}}));
    return true;
  }

  bool pass_reduced(const Push& each, Axes axes) {
    Axes left = without(axes, each.perm);
    std::ranges::sort(axes);
    set_axes(each.node, std::move(axes));
    transpose_input(each.node, 0, each.inverse);
    transpose_outputs(each.node, left);
    return true;
  }

  bool pass_reduction(const Push& each) {
    const std::int32_t id = each.node;
    const bool keeps = integer(id, "keepdims", 1) != 0;
    const bool is_input = opset_ >= (node(id).op == "ReduceSum" ? 13 : 18);
    const auto& inputs = node(id).inputs;
    const bool is_absent = is_input && (inputs.size() < 2 || inputs[1] == kAbsent);
    std::optional<Axes> axes = is_absent ? Axes() : axes_of(id, is_input, 1);
    if (!axes && is_input) return false;
    if (!axes || (is_input && axes->empty())) {
      transpose_input(id, 0, each.inverse);
      if (keeps || (is_input && integer(id, "noop_with_empty_axes", 0) != 0)) transpose_outputs(id, each.perm);
      return true;
    }
    if (!normalise(*axes, each.perm.size())) return false;
    Axes moved = composed(each.perm, *axes);
    if (!keeps) return pass_reduced(each, std::move(moved));
    std::ranges::sort(moved);
    set_axes(id, std::move(moved));
    transpose_input(id, 0, each.inverse);
    transpose_outputs(id, each.perm);
    return true;
  }

  ValueId pass_unsqueeze(const Push& each, const Axes& axes) {
    transpose_input(each.node, 0, each.inverse);
    return transpose_output(each.node, 0, with(axes, each.perm));
  }

  bool move_slice(const Push& each) {
    const std::int32_t id = each.node;
    const bool is_input = opset_ >= 10;
    std::optional<Axes> axes = axes_of(id, is_input, 3);
    if (!axes) {
      const bool is_stated = is_input && node(id).inputs.size() > 3 && node(id).inputs[3] != kAbsent;
      if (is_stated) return false;
      const auto* starts = is_input || node(id).like == nullptr ? nullptr : node(id).like->integers("starts");
      const Shape* count = is_input ? graph_.shape(node(id).inputs[1]) : nullptr;
      const auto found = starts != nullptr ? std::optional(static_cast<std::int64_t>(starts->size()))
                         : count != nullptr && count->size() == 1 ? (*count)[0].value64()
                                                                  : std::nullopt;
      if (!found) return false;
      axes.emplace(at(*found));
      std::iota(axes->begin(), axes->end(), 0);
    }
    if (!normalise(*axes, each.perm.size())) return false;
    set_axes(id, composed(each.perm, *axes));
    return true;
  }

  // The Transpose and the node, which is one or is like one.
  bool merge(const Push& each, const Axes& perm) {
    const std::int32_t id = each.node;
    const ValueId source = node(each.transpose).inputs[0], last = result(id);
    const std::int32_t before = graph_.writer(source);
    if (perm != each.inverse) {
      const Axes both = composed(each.perm, perm);
      if (node(id).op == "Reshape") {
        graph_.remove(id);
        set_axes(graph_.add_node(made_node("Transpose", {source}, {last})), both);
      } else {
        graph_.set_input(id, 0, source);
        set_axes(id, both);
      }
      remove_if_unread(each.transpose);
      return true;
    }
    if (is_local(last)) {
      replace_inputs(last, source);
      graph_.remove(id);
    } else if (before >= 0 && is_local(source)) {  // the node before it writes the output instead
      graph_.remove(id);
      replace_inputs(source, last);
      std::ranges::replace(node(before).outputs, source, last);
      graph_.values_[at(source)].writer = -1;
      graph_.link(before);
    } else {
      graph_.remove(id);
      graph_.add_node(made_node("Identity", {source}, {last}));
    }
    remove_if_unread(each.transpose);
    return true;
  }

  // Of a Reshape that keeps the order of all dims but those of 1.
  std::optional<Axes> perm_of_reshape(const Push& each) const {
    const Shape* sizes = graph_.shape(node(each.node).inputs[0]);
    const Shape* target = graph_.shape(result(each.node));
    if (graph_.shape(node(each.transpose).inputs[0]) == nullptr || sizes == nullptr || target == nullptr ||
        node(each.node).inputs.size() < 2 || !graph_.is_constant(node(each.node).inputs[1]) ||
        sizes->size() != target->size() || !graph_.is_fixed(node(each.node).inputs[0]) ||
        !graph_.is_fixed(result(each.node)))
      return std::nullopt;
    std::vector<std::optional<Dim>> left(sizes->begin(), sizes->end());
    Axes perm;
    for (const Dim& wanted : *target) {
      std::size_t i = 0;
      for (; i < left.size() && left[i] != wanted; ++i)
        if (left[i] && *left[i] != Dim(1) && wanted != Dim(1)) return std::nullopt;
      if (i == left.size()) return std::nullopt;
      left[i].reset();
      perm.push_back(static_cast<std::int64_t>(i));
    }
    return perm;
  }

  // A Reshape that splits dims, and merges none.
  bool pass_split(const Push& each) {
    const std::int32_t id = each.node;
    const ValueId from = node(id).inputs[0], to = result(id);
    if (!graph_.is_fixed(from) || !graph_.is_fixed(to) || !graph_.is_constant(node(id).inputs[1])) return false;
    const Shape sizes = *graph_.shape(from), target = *graph_.shape(to);
    if (target.size() <= sizes.size()) return false;
    std::vector<std::size_t> counts;  // of dims that each is split into
    std::size_t next = 0;
    for (const Dim& size : sizes) {
      Dim product(1);
      const std::size_t first = next;
      do {
        if (next == target.size()) return false;
        product = product * target[next++];
      } while (product != size);
      counts.push_back(next - first);
    }
    if (next != target.size()) return false;
    Axes firsts(counts.size()), moved;  // by dim of the source
    std::int64_t place = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      firsts[i] = place;
      place += static_cast<std::int64_t>(counts[at(each.inverse[i])]);
    }
    for (std::size_t i = 0; i < counts.size(); ++i)
      for (std::size_t k = 0; k < counts[i]; ++k)
        moved.push_back(firsts[at(each.perm[i])] + static_cast<std::int64_t>(k));
    transpose_input(id, 0, each.inverse);
    graph_.set_input(id, 1, add_constant(node(id).inputs[1]));
    transpose_outputs(id, moved);
    return true;
  }

  // --- after the pushes ---

  bool mend_quantised() {
    bool has_changed = false;
    const std::vector<std::int32_t> order = graph_.order();
    for (const std::int32_t id : order) {
      if (node(id).is_gone) continue;
      if (node(id).op == "QuantizeLinear")
        has_changed |= remove_empty_pair(id);
      else if (node(id).op == "Transpose")
        has_changed |= complete_unit(id);
    }
    return has_changed;
  }

  bool is_same(ValueId a, ValueId b) const {
    if (a == b) return true;
    const TensorValue *x = graph_.known(a), *y = graph_.known(b);
    const auto is_zero = [](const TensorValue* value) {
      return value != nullptr && std::ranges::all_of(*value, [](const Scalar& each) { return integer_of(each) == 0; });
    };
    if (a == kAbsent || b == kAbsent) return is_zero(a == kAbsent ? y : x);
    if (const std::string place = graph_.left_out(a); !place.empty()) return place == graph_.left_out(b);
    return x != nullptr && y != nullptr && graph_.is_constant(a) && graph_.is_constant(b) && *x == *y;
  }

  // DequantizeLinear and then QuantizeLinear of the same scale.
  bool remove_empty_pair(std::int32_t id) {
    const LoadedNode each = node(id);
    const std::int32_t before = each.inputs.size() < 2 ? -1 : graph_.writer(each.inputs[0]);
    if (before < 0 || node(before).op != "DequantizeLinear" || node(before).inputs.size() < 2 ||
        node(before).domain != each.domain || graph_.only_reader(each.inputs[0]) != id)
      return false;
    const LoadedNode first = node(before);
    const auto input = [](const LoadedNode& node, std::size_t i) {
      return i < node.inputs.size() ? node.inputs[i] : kAbsent;
    };
    const ElementType element = graph_.type(first.inputs[0]).element;
    if (element == ElementType::Undefined || element != graph_.type(each.outputs[0]).element ||
        !is_same(first.inputs[1], each.inputs[1]) || !is_same(input(first, 2), input(each, 2)))
      return false;
    const ValueId last = each.outputs[0], source = first.inputs[0];
    if (is_local(last) && graph_.readers(last).size() == 1) {
      replace_inputs(last, source);
      graph_.remove(id);
      graph_.remove(before);
      return true;
    }
    const std::int32_t writer = graph_.writer(source);
    if (!graph_.readers(last).empty() || !graph_.values_[at(last)].is_output || writer < 0 ||
        graph_.only_reader(source) != before)
      return false;
    graph_.remove(id);
    graph_.remove(before);
    std::ranges::replace(node(writer).outputs, source, last);
    graph_.values_[at(source)].writer = -1;
    graph_.link(writer);
    return true;
  }

  // A Transpose with a DequantizeLinear before it gets a QuantizeLinear behind it, and the other way round.
  bool complete_unit(std::int32_t id) {
    const std::optional<Axes> perm = perm_of(&node(id));
    const ValueId input = node(id).inputs[0];
    const std::int32_t before = graph_.writer(input);
    if (before < 0 || !perm) return false;
    const std::vector<std::int32_t>& all = graph_.readers(result(id));
    const bool is_quantised = all.size() == 1 && node(all.front()).op == "QuantizeLinear";
    if (node(before).op == "DequantizeLinear") {
      const std::int64_t axis = quantised_axis(before);
      if (all.size() > 1 || is_quantised || axis == kUnknownAxis || graph_.only_reader(input) != id) return false;
      add_pair(id, before, axis < 0 ? axis : inverse(*perm)[at(axis)]);
      return true;
    }
    if (!is_quantised || graph_.only_reader(result(id)) < 0 || graph_.readers(input).size() != 1) return false;
    const std::int32_t quantize = all.front();
    const std::int64_t axis = quantised_axis(quantize);
    if (axis == kUnknownAxis || node(before).outputs.size() != 1) return false;
    add_pair(before, quantize, axis < 0 ? axis : (*perm)[at(axis)]);
    return true;
  }

  LoadedGraph& graph_;
  std::int64_t opset_;
  bool is_changing_layout_ = false;
  std::unordered_set<ValueId> leading_;  // through nodes that a Transpose can pass, to a Transpose
};

bool LoadedGraph::push_transposes() {
  split_dequantised();
  return Transposer(*this).run();
}

void LoadedGraph::change_layout(const std::vector<std::int32_t>& nodes) { Transposer(*this).change_layout(nodes); }

}  // namespace pagoda::inline core
