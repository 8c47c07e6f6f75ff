// The rows produced by a walk: outputs, parameters, unmodelled nodes, and the rows of bodies within those of their
// graph.
#include <algorithm>
#include <utility>

#include "infer/infer.h"
#include "pagoda/core/model.h"

namespace pagoda::inline core {

NodeReport Walker::row_of(const Frame& frame, const OpContext::State& state) {
  NodeReport row;
  row.graph = frame.id;
  row.node = static_cast<std::int32_t>(frame.node);
  row.scope = frame.scope;
  row.facts = state.facts;
  row.outputs.reserve(state.outputs.size());
  for (std::size_t i = 0; i < state.outputs.size(); ++i) {
    const ValueId id = state.node.outputs[i];
    if (id != kAbsent) row.outputs.push_back({frame.graph.value(id).name, stored_type(state.outputs[i])});
  }
  return row;
}

// A weight is a stored tensor of floating-point or quantised elements: an initializer of any size, or a Constant node
// too large to be a literal; also an int32 bias of a quantised product. Index tables, bool masks and shapes are not
// weights. Each weight is counted at its first use. Where several weights share a byte, as in MatMulNBits, params
// counts the weights and param_bytes the bytes.
bool is_parameter(const TensorType& type, bool in_node) {
  const bool is_weight = is_float(type.element) || (is_integer(type.element) && bits(type.element) <= 8);
  return is_weight && type.shape &&
         !(in_node && element_count(*type.shape).value().value_or(0) <= Int{kInlineFloatElements});
}

void Walker::count_parameters(NodeReport& row, const OpContext::State& state) {
  counted_tensors_.resize(session_.model.graphs.size());
  for (const ValueInfo* input : state.inputs) {
    if (input == nullptr || input->tensor_graph < 0) continue;
    const auto packed = packed_.find({input->tensor_graph, input->tensor});
    if (packed == packed_.end() && !is_parameter(input->type, input->tensor < 0)) continue;
    std::vector<bool>& counted = counted_tensors_[index(input->tensor_graph)];
    // Initializers at even places, Constant nodes at odd ones.
    const std::size_t place = input->tensor >= 0 ? 2 * index(input->tensor) : 2 * index(~input->tensor) + 1;
    if (place >= counted.size()) counted.resize(std::max(place + 1, 2 * counted.size()), false);
    if (counted[place]) continue;
    counted[place] = true;
    const Dim elements = element_count(*input->type.shape);
    row.params += packed == packed_.end() ? elements : packed->second;
    row.param_bytes += byte_size(elements, stored_element(*input));
  }
  params_ += row.params;
  param_bytes_ += row.param_bytes;
}

void add_row(NodeReport& sum, const NodeReport& row) {
  sum.cost += row.cost;
  sum.params += row.params;
  sum.param_bytes += row.param_bytes;
  sum.unmodelled_inside += row.unmodelled_inside + (row.cost.mark == Mark::Unmodelled ? 1 : 0);
  if (sum.cost.precision == ElementType::Undefined) sum.cost.precision = row.cost.precision;
}

void Walker::add_own_row(Frame& frame, const OpContext::State& state) {
  frame.rows.push_back(row_of(frame, state));
  frame.rows.back().cost.mark = Mark::View;
}

void Walker::unmodelled(Frame& frame, std::size_t first_row, const OpContext::State& state, const std::string& problem,
                        Cause cause) {
  NodeReport row = row_of(frame, state);
  row.cost.mark = Mark::Unmodelled;
  count_parameters(row, state);
  session_.note(Severity::Warning, state.display_name, "not modelled: " + problem, cause);
  row.problem = problem;
  for (std::size_t i = first_row; i < frame.rows.size(); ++i) {
    row.params += frame.rows[i].params;
    row.param_bytes += frame.rows[i].param_bytes;
  }
  frame.rows.resize(first_row);
  frame.rows.push_back(std::move(row));
}

NodeReport Walker::aggregate(const Frame& frame, const OpContext::State& state, const std::vector<NodeReport>& rows,
                             const Dim& times) {
  NodeReport row = row_of(frame, state);
  for (const NodeReport& inner : rows) add_row(row, inner);
  // Functions that each call the previous one several times would leave 64 bits; sums over rows never do.
  row.unmodelled_inside = std::min(row.unmodelled_inside, std::int64_t{1} << 40);
  row.cost = row.cost.scaled(times);
  return row;
}

void Walker::splice(Frame& frame, const OpContext::State& state, std::vector<NodeReport> rows, const Dim& times) {
  // The main graph's own rows are unlimited, but repeated bodies are not: functions that each call the previous one
  // twice would double the rows with every function.
  constexpr std::size_t kMostInBody = 8192;
  const std::size_t most = depth_ == 1 ? options_.max_inlined_rows : std::min(options_.max_inlined_rows, kMostInBody);
  if (spliced_rows_ + rows.size() > most) {
    frame.rows.push_back(aggregate(frame, state, rows, times));
    return;
  }
  if (depth_ == 1) spliced_rows_ += rows.size();
  for (NodeReport& row : rows) {
    if (times != Dim(1)) row.cost = row.cost.scaled(times);
    frame.rows.push_back(std::move(row));
  }
}

}  // namespace pagoda::inline core
