// The work of one device of a group: the rows of the whole model, with the sizes of the device's parts.
#include <algorithm>

#include "graph/index.h"
#include "memory/schedule.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/base/error.h"
#include "pagoda/core/parallel.h"
#include "parallel/split.h"

namespace pagoda::inline core {

std::string_view to_string(CollectiveKind kind) {
  constexpr base::EnumNames<CollectiveKind::Send> kNames("all_reduce", "all_gather", "all_to_all", "send");
  return kNames[kind];
}

namespace {

// Exact if the parts are equal; otherwise the mean over the devices, rounded down.
Dim scaled(const Dim& count, const Fraction& of) {
  if (of.part == of.whole) return count;
  const Dim product = count * of.part;
  if (auto exact = exact_div(product, of.whole)) return std::move(*exact);
  return floor_div(product, of.whole);
}

Dim bytes_or_zero(const TensorType& type) { return bytes_of(type).value_or(Dim(0)); }

// True if the node is a mixture of experts: its inputs have one entry per expert.
bool is_mixture(const Node& node) { return node.op_type == "MoE" || node.op_type == "QMoE"; }

class Sharer {
 public:
  Sharer(const Model& model, const Analysis& whole, const ParallelOptions& options)
      : model_(model), graph_(model.main()), whole_(whole), options_(options) {
    share_.analysis = whole;
  }

  Share share() {
    if (options_.tensor > 1) split_ = find_split(model_, whole_, options_.tensor);
    if (options_.expert > 1 || options_.tensor > 1) split_mixtures();
    for (const auto& [value, part] : split_.parts) share_.analysis.types[index(value)].shape = part.shape;
    for (std::size_t row = 0; row < whole_.nodes.size(); ++row)
      if (whole_.nodes[row].graph == 0) share_row(row);
    sum_up();
    share_.columns = static_cast<std::int64_t>(split_.columns.size());
    share_.rows = static_cast<std::int64_t>(split_.rows.size());
    share_.whole = static_cast<std::int64_t>(split_.whole.size());
    share_.whole_reason = split_.whole_reason;
    return std::move(share_);
  }

 private:
  const TensorType& type(ValueId value) const { return whole_.types[index(value)]; }

  // Bytes of the value that other devices hold.
  Dim bytes_elsewhere(ValueId value) const {
    return bytes_or_zero(type(value)) - bytes_or_zero(share_.analysis.types[index(value)]);
  }

  // Splits experts by their inner size over the devices of a tensor group, and distributes them over expert groups.
  void split_mixtures() {
    bool found = false;
    for (const NodeReport& row : whole_.nodes) {
      if (row.graph != 0 || !is_mixture(graph_.node(row.node))) continue;
      found = true;
      const Node& node = graph_.node(row.node);
      const std::optional<Int> experts = experts_of(node);
      if (!experts)
        throw Error(cat(display_name(graph_, node),
                        ": the sizes of its experts are not known; expected a stored tensor [experts, …]"));
      const auto& hidden = type(node.input(0)).shape->back();
      if (*experts % options_.expert != 0)
        throw Error(cat(base::field("expert_parallel", options_.expert), ": does not divide the ", to_string(*experts),
                        " experts of ", display_name(graph_, node)));
      for (std::size_t place = 2; place < node.inputs.size(); ++place) split_experts(node, place, hidden, *experts);
      mixtures_.insert(row.node);
      split_.whole.erase(row.node);
    }
    if (!found && options_.expert > 1)
      throw Error(base::field("expert_parallel", options_.expert) +
                  ": the model has no mixture of experts in one operator (com.microsoft MoE or QMoE)");
  }

  // Nullopt if a shape is not known.
  std::optional<Int> experts_of(const Node& node) const {
    const auto& tokens = type(node.input(0)).shape;
    const auto& first = type(node.input(2)).shape;
    return tokens && !tokens->empty() && first && !first->empty() ? first->front().value() : std::nullopt;
  }

  void split_experts(const Node& node, std::size_t place, const Dim& hidden, Int experts) {
    const ValueId value = node.input(place);
    if (value == kAbsent || !graph_.is_stored(value) || !type(value).shape) return;
    const Shape& shape = *type(value).shape;
    if (shape.size() < 2 || shape[0] != Dim(experts)) return;
    Part part{.shape = shape};
    part.shape[0] = experts / options_.expert;
    const bool is_second = node.op_type == "MoE" ? place == 4 : place == 5 || place == 6 || place == 12;
    if (options_.tensor > 1 && shape.size() == 3) {
      // The inner axis is the one whose size is not the hidden size; if sizes do not decide, files store
      // [experts, outputs, inputs].
      const bool first_is_hidden = shape[1] == hidden, last_is_hidden = shape[2] == hidden;
      const std::size_t axis = (first_is_hidden == last_is_hidden ? is_second : first_is_hidden) ? 2 : 1;
      const auto inner = exact_div(shape[axis], options_.tensor);
      if (!inner)
        throw Error(base::field("tensor_parallel", options_.tensor) + ": does not divide the " +
                    shape[axis].to_string() + " inner channels of the experts of " + display_name(graph_, node));
      part.shape[axis] = *inner;
    }
    split_.parts[value] = part;
  }

  Fraction of(ValueId value) const {
    const auto found = value == kAbsent ? split_.parts.end() : split_.parts.find(value);
    return found == split_.parts.end() ? Fraction{} : fraction(found->second.shape, *type(value).shape);
  }

  // The part of the row's work that one device does.
  Fraction work_of(const NodeReport& row, const Node& node) const {
    if (split_.columns.contains(row.node) || split_.rows.contains(row.node)) return of(node.input(1));
    if (mixtures_.contains(row.node)) return {1, options_.tensor};  // tokens are distributed over the expert groups
    for (const ValueId output : node.outputs)
      if (const Fraction part = of(output); part.part != part.whole) return part;
    return {};
  }

  void share_row(std::size_t place) {
    NodeReport& row = share_.analysis.nodes[place];
    const Node& node = graph_.node(row.node);
    const Fraction work = work_of(row, node);
    OpCost& cost = row.cost;
    for (Dim OpCost::*count : {&OpCost::macs, &OpCost::arith, &OpCost::special, &OpCost::comparisons})
      cost.*count = scaled(cost.*count, work);
    const bool picks = split_.looked_up.contains(row.node);  // all picked rows may be on this device
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId value = node.inputs[i];
      if (value == kAbsent || !split_.parts.contains(value)) continue;
      const auto place_of_value = node.inputs.begin() + i;
      const bool repeats = std::find(node.inputs.begin(), place_of_value, value) != place_of_value;
      if (cost.reads_whole(static_cast<int>(i)) && !repeats) cost.bytes_read -= bytes_elsewhere(value);
      if (!picks) scale_parts(cost, false, static_cast<int>(i), of(value));
      if (graph_.is_stored(value) && seen_.insert(value).second) take_weights(row, value);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId value = node.outputs[i];
      if (value == kAbsent || !split_.parts.contains(value)) continue;
      if (cost.writes_whole(static_cast<int>(i))) cost.bytes_written -= bytes_elsewhere(value);
      scale_parts(cost, true, static_cast<int>(i), of(value));
    }
    for (std::size_t i = 0; i < std::min(row.outputs.size(), node.outputs.size()); ++i)
      if (node.outputs[i] != kAbsent) row.outputs[i].type.shape = share_.analysis.types[index(node.outputs[i])].shape;
    add_collectives(place, row, node);
    if (split_.whole.contains(row.node)) share_.whole_param_bytes += row.param_bytes;
  }

  static void scale_parts(OpCost& cost, bool is_output, int place, const Fraction& of) {
    for (PartMoved& part : cost.parts) {
      if (part.is_output != is_output || part.place != place) continue;
      Dim less = scaled(part.bytes, of);
      (is_output ? cost.bytes_written : cost.bytes_read) -= part.bytes - less;
      part.bytes = std::move(less);
    }
  }

  // Reduces the row's parameters to this device's part. The row is the first to use the weight, unless it counts none
  // of its parameters.
  void take_weights(NodeReport& row, ValueId value) {
    const auto all = row.param_bytes.value(), fewer = bytes_elsewhere(value).value(), elements = row.params.value();
    if (!all || !fewer || !elements || *all < *fewer || *all == 0) return;
    row.param_bytes = *all - *fewer;
    row.params = *elements * (*all - *fewer) / *all;  // by bytes, since packed elements have no width of their own
  }

  void add_collectives(std::size_t place, const NodeReport& row, const Node& node) {
    const auto at = static_cast<std::int32_t>(place);
    if (node.outputs.empty() || node.outputs.front() == kAbsent) return;
    const Dim bytes = bytes_or_zero(type(node.outputs.front()));
    const auto add = [&](CollectiveKind kind, const Dim& sent, std::int64_t devices) {
      share_.collectives.push_back({kind, at, sent, devices});
    };
    const bool is_mixture_row = mixtures_.contains(row.node);
    if (split_.rows.contains(row.node) || split_.looked_up.contains(row.node) ||
        (is_mixture_row && options_.tensor > 1))
      add(CollectiveKind::AllReduce, bytes, options_.tensor);
    if (split_.gathered.contains(row.node)) add(CollectiveKind::AllGather, bytes, options_.tensor);
    // Each token goes to its k experts, and their results come back.
    for (int way = 0; way < 2 && is_mixture_row && options_.expert > 1; ++way)
      add(CollectiveKind::AllToAll, bytes * std::max<std::int64_t>(node.integer("k", 1), 1), options_.expert);
  }

  // Sums up the rows, and updates the totals that depend on the new sizes.
  void sum_up() {
    Analysis& analysis = share_.analysis;
    Totals& totals = analysis.totals;
    totals.cost = {};
    for (std::size_t i = 0; i < analysis.nodes.size(); ++i) {
      NodeReport& row = analysis.nodes[i];
      totals.cost += row.cost;
      totals.params -= whole_.nodes[i].params - row.params;
      totals.param_bytes -= whole_.nodes[i].param_bytes - row.param_bytes;
    }
    for (auto* list : {&analysis.inputs, &analysis.outputs}) {
      const auto& ids = list == &analysis.inputs ? graph_.inputs : graph_.outputs;
      std::size_t i = 0;
      for (const ValueId id : ids)
        if (id != kAbsent && i < list->size()) (*list)[i++].type.shape = analysis.types[index(id)].shape;
    }
    count_memory(model_, analysis);
  }

  const Model& model_;
  const Graph& graph_;
  const Analysis& whole_;
  ParallelOptions options_;
  Split split_;
  std::set<std::int32_t> mixtures_;
  std::set<ValueId> seen_;
  Share share_;
};

}  // namespace

Share share_of_device(const Model& model, const Analysis& analysis, const ParallelOptions& options) {
  return Sharer(model, analysis, options).share();
}

}  // namespace pagoda::inline core
