// Finds attention written as separate operators: product of queries and keys → scale, mask → softmax → product with the
// values. One kernel can run all of it: keys and values stream past each block of queries, and scores stay on the chip.
#include <algorithm>

#include "graph/index.h"
#include "memory/fusion.h"

namespace pagoda::inline core {
namespace {

bool is_product(const OpFacts* op) {
  return op != nullptr && op->kind == OpKind::Product &&
         (op->form == ProductForm::Matrices || op->form == ProductForm::Einsum);
}

// The labels of an Einsum's operand; empty for an operand that the equation lacks.
std::string_view einsum_term(std::string_view equation, std::size_t operand) {
  std::string_view terms = equation.substr(0, equation.find("->"));
  for (std::size_t i = 0; i < operand; ++i) {
    const std::size_t comma = terms.find(',');
    if (comma == std::string_view::npos) return {};
    terms.remove_prefix(comma + 1);
  }
  return terms.substr(0, terms.find(','));
}

class Matcher {
 public:
  explicit Matcher(FusionGraph& graph) : graph_(graph) {}

  // A single attention operator: kernels for grouped heads read each key head as often as queries need it.
  void match_operator(std::int32_t attention) {
    if (graph_.group_of(attention) >= 0 || !graph_.reads(attention).whole) return;
    members_ = {attention};
    last_ = attention;
    for (const ValueId operand : ValueIds(graph_.node(attention).inputs)) {
      const std::int32_t from = free_producer(operand);
      if (from >= 0 && graph_.op(from)->kind == OpKind::Expand && is_private(operand)) members_.push_back(from);
    }
    if (members_.size() > 1 && is_enclosed()) graph_.add_closed(GroupKind::Attention, members_, Fusion::Attention);
  }

  void match(std::int32_t softmax) {
    const ValueId input = graph_.node(softmax).inputs[0];
    const Shape* shape = graph_.shape(input);
    if (!is_free(softmax) || shape == nullptr || shape->size() < 2) return;
    const auto rank = static_cast<std::int64_t>(shape->size());
    const std::int64_t axis = graph_.node(softmax).integer("axis", graph_.opset() < 13 ? 1 : -1);
    if (axis != -1 && axis != rank - 1) return;
    members_ = {softmax};
    elements_ = *graph_.elements(input);
    keys_ = shape->back();
    queries_keys_ = values_ = -1;
    if (!trace_scores(input, 0) || !trace_probabilities(graph_.output(softmax))) return;
    last_ = values_;
    take_masks();
    for (const std::int32_t product : {queries_keys_, values_})
      for (const ValueId operand : ValueIds(graph_.node(product).inputs)) take_operand(operand);
    take_result_layout();
    if (is_enclosed()) graph_.add_closed(GroupKind::Attention, members_, Fusion::Attention);
  }

 private:
  bool is_free(std::int32_t id) {
    return graph_.op(id) != nullptr && graph_.group_of(id) < 0 && graph_.reads(id).whole;
  }
  bool is_member(std::int32_t id) const { return std::find(members_.begin(), members_.end(), id) != members_.end(); }
  // The kernel that computes the value, if it can join; else -1.
  std::int32_t free_producer(ValueId value) {
    const std::int32_t from = graph_.producer(value);
    return from >= 0 && !is_member(from) && is_free(from) ? from : -1;
  }
  bool has_scores(ValueId value) {
    const Dim* count = graph_.elements(value);
    return count != nullptr && *count == elements_;
  }
  bool ends_in_keys(ValueId value) const {
    const Shape* shape = graph_.shape(value);
    return shape != nullptr && !shape->empty() && shape->back() == keys_;
  }

  // Traces back from the softmax through element-wise operators to the product that computes the scores.
  bool trace_scores(ValueId value, int depth) {
    const std::int32_t from = free_producer(value);
    if (depth > kMaxDepth || from < 0 || !has_scores(value)) return false;
    if (is_product(graph_.op(from))) {
      if (!ends_in_keys(graph_.output(from))) return false;
      queries_keys_ = from;
      members_.push_back(from);
      return true;
    }
    if (graph_.op(from)->kind != OpKind::Pointwise) return false;
    for (const Access& read : graph_.reads(from).accesses)
      if (has_scores(read.value) && trace_scores(read.value, depth + 1)) {
        members_.push_back(from);
        return true;
      }
    return false;
  }

  // A mask or bias that only these scores use is computed in the same kernel.
  void take_masks() {
    std::vector<ValueId> pending;
    for (const std::int32_t member : members_)
      if (member != queries_keys_ && member != values_)
        for (const ValueId input : graph_.node(member).inputs) pending.push_back(input);
    while (!pending.empty()) {
      const ValueId value = pending.back();
      pending.pop_back();
      const std::int32_t from = free_producer(value);
      if (from < 0 || !is_private(value)) continue;
      if (graph_.op(from)->kind != OpKind::Pointwise && graph_.op(from)->kind != OpKind::Expand) continue;
      members_.push_back(from);
      for (const ValueId input : graph_.node(from).inputs) pending.push_back(input);
    }
  }

  bool is_private(ValueId value) const {
    const Storage* storage = graph_.storage_at(value);
    return storage != nullptr && storage->is_private([&](std::int32_t reader) { return is_member(reader); });
  }

  // Traces forward from the softmax through element-wise operators (a dropout's scale, a guard against NaN) to the
  // product that sums over the keys.
  bool trace_probabilities(ValueId value) {
    for (int depth = 0; depth <= kMaxDepth; ++depth) {
      const Storage* storage = graph_.storage_at(value);
      if (storage == nullptr || storage->readers.empty()) return false;
      const std::int32_t last = storage->readers.back();
      if (storage->readers.size() == 1 && is_free(last) && is_product(graph_.op(last))) {
        if (!sums_over_keys(last, graph_.storage(value))) return false;
        values_ = last;
        members_.push_back(last);
        return true;
      }
      for (const std::int32_t reader : storage->readers) {
        const bool is_pointwise = is_free(reader) && graph_.op(reader)->kind == OpKind::Pointwise;
        if (!is_pointwise || is_member(reader) || !has_scores(graph_.output(reader))) return false;
        members_.push_back(reader);
      }
      value = graph_.output(last);
    }
    return false;
  }

  bool sums_over_keys(std::int32_t product, std::int32_t probabilities) {
    const Node& node = graph_.node(product);
    for (std::size_t i = 0; i < node.inputs.size() && i < 2; ++i) {
      if (graph_.storage(node.inputs[i]) != probabilities || !ends_in_keys(node.inputs[i])) continue;
      if (node.op_type != "Einsum") return i == 0 && node.integer("transA", 0) == 0;
      const std::string_view equation = node.text("equation");
      std::string_view term = einsum_term(equation, i);
      while (!term.empty() && term.back() == ' ') term.remove_suffix(1);
      const std::size_t arrow = equation.find("->");  // without one, the output is implicit
      return !term.empty() && term.back() != '.' && arrow != std::string_view::npos && arrow + 2 < equation.size() &&
             equation.find(term.back(), arrow + 2) == std::string_view::npos;
    }
    return false;
  }

  // An operand's layout and scale are part of reading it: transposes, heads repeated by Expand, a factor.
  void take_operand(ValueId value) {
    for (int depth = 0; depth <= kMaxDepth; ++depth) {
      const std::int32_t from = free_producer(value);
      if (from < 0 || !is_private(value)) return;
      const OpFacts& op = *graph_.op(from);
      ValueId source = graph_.node(from).inputs[0];
      if (op.kind == OpKind::Pointwise) {
        if (op.epilogue != Epilogue::Multiply) return;
        const Dim* size = graph_.elements(graph_.output(from));
        source = kAbsent;
        for (const Access& read : graph_.reads(from).accesses) {
          const Dim* count = graph_.elements(read.value);
          if (count == nullptr || size == nullptr) return;
          if (*count == *size && source == kAbsent)
            source = read.value;
          else if (*count != Dim(1))
            return;
        }
        if (source == kAbsent) return;
      } else if (op.kind != OpKind::Transpose && op.kind != OpKind::Expand) {
        return;
      }
      members_.push_back(from);
      value = source;
    }
  }

  // The result is written directly in its reader's axis order.
  void take_result_layout() {
    const std::int32_t reader = graph_.only_reader(graph_.output(values_));
    if (reader < 0 || !is_free(reader) || graph_.op(reader)->kind != OpKind::Transpose) return;
    members_.push_back(reader);
    last_ = reader;
  }

  // Only the result is read outside the kernel.
  bool is_enclosed() const {
    const Schedule& schedule = graph_.schedule();
    return std::all_of(members_.begin(), members_.end(), [&](std::int32_t member) {
      const Ids& writes = schedule.steps[index(member)].writes;
      return member == last_ || std::all_of(writes.begin(), writes.end(), [&](std::int32_t written) {
               return schedule.storages[index(written)].is_private([&](std::int32_t node) { return is_member(node); });
             });
    });
  }

  static constexpr int kMaxDepth = 8;

  FusionGraph& graph_;
  std::vector<std::int32_t> members_;
  Dim elements_, keys_;  // of the scores; of their last axis
  std::int32_t queries_keys_ = -1, values_ = -1, last_ = -1;
};

}  // namespace

void fuse_attention(FusionGraph& graph) {
  Matcher matcher(graph);
  const auto& nodes = graph.schedule().graph->nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].op_type == "Softmax" && !nodes[i].inputs.empty()) matcher.match(static_cast<std::int32_t>(i));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    if (graph.is_attention(id)) matcher.match_operator(id);
  }
}

}  // namespace pagoda::inline core
