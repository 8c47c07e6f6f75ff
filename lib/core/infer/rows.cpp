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

namespace {

// Stored tensors of any other type are weights, however narrow.
constexpr std::pair<ElementType, std::string_view> kNoWeights[] = {
    {ElementType::Undefined, "it may be any of these"},
    {ElementType::Bool, "masks"},
    {ElementType::String, "vocabularies"},
    {ElementType::Int32, "shapes, axes and indices; those who read quantised biases know them (packed_weights())"},
    {ElementType::Int64, "shapes, axes and indices"},
    {ElementType::Uint32, "bit patterns, such as seeds"},
    {ElementType::Uint64, "bit patterns"},
};

}  // namespace

// A weight is a stored tensor of elements that hold weights: an initializer of any size, or a Constant node too large
// to be a literal; also an int32 bias of a quantised product. Each weight is counted at its first use. Where several
// weights share a byte, as in MatMulNBits, params counts the weights and param_bytes the bytes.
bool is_parameter(const TensorType& type, bool in_node) {
  const bool is_weight = std::ranges::none_of(kNoWeights, [&](const auto& none) { return none.first == type.element; });
  return is_weight && type.shape && !(in_node && is_literal(*type.shape));
}

bool is_literal(const Shape& shape) { return element_count(shape).value().value_or(0) <= Int{kInlineFloatElements}; }

void Walker::count_parameters(NodeReport& row, const OpContext::State& state) {
  for (const ValueInfo* input : state.inputs)
    if (input != nullptr) count_parameter(row, *input);
}

void Walker::count_parameter(NodeReport& row, const ValueInfo& input) {
  if (input.tensor_graph < 0) return;
  const auto packed = packed_.find({input.tensor_graph, input.tensor});
  if (packed == packed_.end() && !is_parameter(input.type, input.tensor < 0)) return;
  counted_tensors_.resize(session_.model.graphs.size());
  std::vector<bool>& counted = counted_tensors_[index(input.tensor_graph)];
  // Initializers at even places, Constant nodes at odd ones.
  const std::size_t place = input.tensor >= 0 ? 2 * index(input.tensor) : 2 * index(~input.tensor) + 1;
  if (place >= counted.size()) counted.resize(std::max(place + 1, 2 * counted.size()), false);
  if (counted[place]) return;
  counted[place] = true;
  const Dim elements = element_count(*input.type.shape), bytes = byte_size(elements, stored_element(input));
  const Dim& weights = packed == packed_.end() ? elements : packed->second;
  row.params += weights;
  row.param_bytes += bytes;
  params_ += weights;
  param_bytes_ += bytes;
}

namespace {

// The initializer behind a value, which an enclosing graph may store; no value if there is none.
std::pair<GraphId, ValueId> initializer_behind(const Model& model, GraphId id, ValueId value) {
  while (id >= 0 && value != kAbsent && !model.graph(id).is_stored(value)) {
    value = model.graph(id).value(value).outer;
    id = model.graph(id).parent;
  }
  return {id, id < 0 ? kAbsent : value};
}

}  // namespace

// What bodies compute that no walk enters is not known; what they store is.
void Walker::count_bodies(NodeReport& row, const Node& node, int depth) {
  std::vector<GraphId> bodies = node.bodies();
  if (const Function* function = session_.model.function(node.domain, node.op_type, node.overload))
    bodies.push_back(function->body);
  for (const GraphId id : bodies) {
    if (depth == kMaxBodyDepth || !counted_bodies_.insert(id).second) continue;
    const Graph& graph = session_.model.graph(id);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& inner = graph.nodes[i];
      if (const Tensor* tensor = inner.constant(); tensor != nullptr && inner.output(0) != kAbsent) {
        ValueInfo info;
        info.type = tensor->type;
        info.tensor_graph = id;
        info.tensor = tensor_in_node(i);
        store(id, inner.output(0), info);
        count_parameter(row, info);
      }
      for (const ValueId input : inner.inputs)
        if (const auto [owner, value] = initializer_behind(session_.model, id, input); value != kAbsent)
          count_parameter(row, stored_value(owner, value));
      count_bodies(row, inner, depth + 1);
    }
  }
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
  count_bodies(row, state.node);
  const char* const what = cause == Cause::Contradiction ? "cannot run at these sizes: " : "not modelled: ";
  session_.note(Severity::Warning, state.display_name, what + problem, cause);
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
  row.runs = 0;
  for (const NodeReport& inner : rows) {
    add_row(row, inner);
    if (inner.cost.mark == Mark::Compute) row.runs += inner.runs * times;
  }
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
    if (times != Dim(1)) {
      row.cost = row.cost.scaled(times);
      row.runs *= times;
    }
    frame.rows.push_back(std::move(row));
  }
}

}  // namespace pagoda::inline core
