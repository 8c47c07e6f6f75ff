// Scan, SequenceMap, and the graphs by which FlexAttention modifies scores.
#include <algorithm>

#include "infer/infer.h"
#include "ops/rule_parts.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core {
namespace {

// The shapes of a sequence's members, if they are known. An optional sequence is one value.
const std::vector<Shape>* members_of(const ValueInfo* input) {
  return input != nullptr && input->type.container == Container::Sequence && input->members ? &*input->members
                                                                                            : nullptr;
}

// The first of the sequences among `inputs`, if the members of all are known in the same way; else null.
const ValueInfo* known_sequence(const std::vector<const ValueInfo*>& inputs) {
  const ValueInfo* first = nullptr;
  for (const ValueInfo* input : inputs) {
    if (input == nullptr || input->type.container != Container::Sequence) continue;
    if (first == nullptr) first = input;
    if (!input->members || input->members->size() != first->members->size() ||
        input->repeats_of_first != first->repeats_of_first)
      return nullptr;
  }
  return first;
}

std::vector<std::int64_t> integers_or(const Node& node, std::string_view name, std::size_t size) {
  const std::vector<std::int64_t>* list = node.integers(name);
  std::vector<std::int64_t> result = list == nullptr ? std::vector<std::int64_t>{} : *list;
  result.resize(size, 0);
  return result;
}

std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    throw RuleStop{RuleStop::Kind::Contradiction, cat("scan axis ", axis, " is outside the tensor")};
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

}  // namespace

void Walker::visit_scan(Frame& frame, OpContext::State& state) {
  const GraphId body_id = body_of(state.node, "body");
  const Graph& body = session_.model.graph(body_id);
  const std::int64_t scan_count = state.node.integer("num_scan_inputs", 0);
  // Opset 8 has the sequence lengths as first input, batch axis 0 and sequence axis 1.
  const std::size_t skipped = state.opset < 9 ? 1 : 0;
  const std::size_t given = state.inputs.size() < skipped ? 0 : state.inputs.size() - skipped;
  if (scan_count < 1 || static_cast<std::size_t>(scan_count) > given || body.inputs.size() != given)
    throw RuleStop{RuleStop::Kind::Contradiction, "num_scan_inputs does not fit the inputs"};
  const auto scanned = static_cast<std::size_t>(scan_count);
  const std::size_t states = given - scanned;
  const auto axes = integers_or(state.node, "scan_input_axes", scanned);

  std::vector<ValueInfo> inputs;
  std::optional<Dim> trips, batch;
  for (std::size_t i = 0; i < given; ++i) {
    const ValueInfo* source = state.inputs[i + skipped];
    ValueInfo info = source == nullptr ? ValueInfo{} : varying(*source);
    if (skipped == 1 && info.type.shape && !info.type.shape->empty()) {
      batch = info.type.shape->front();
      info.type.shape->erase(info.type.shape->begin());
    }
    if (i >= states && info.type.shape) {
      if (info.type.shape->empty())
        throw RuleStop{RuleStop::Kind::Contradiction, cat("scanned input ", i, " has no axis to scan")};
      const std::size_t axis = skipped == 1 ? 0 : axis_of(axes[i - states], info.type.shape->size());
      const Dim length = (*info.type.shape)[axis];
      trips = trips ? session_.unify(*trips, length, state.display_name).value_or(*trips) : length;
      info.type.shape->erase(info.type.shape->begin() + static_cast<std::ptrdiff_t>(axis));
    }
    inputs.push_back(std::move(info));
  }
  if (!trips) trips = session_.fresh("trips_" + state.display_name, state.display_name, "trip count", std::nullopt);
  GraphResult result = walk_body(frame, state, body_id, inputs);

  const std::size_t scan_outputs = result.outputs.size() < states ? 0 : result.outputs.size() - states;
  const auto output_axes = integers_or(state.node, "scan_output_axes", scan_outputs);
  for (std::size_t i = 0; i < state.outputs.size() && i < result.outputs.size(); ++i) {
    ValueInfo& info = result.outputs[i] = varying(std::move(result.outputs[i]));
    if (info.type.shape) {
      Shape& shape = *info.type.shape;
      if (i >= states) {
        const std::size_t axis = skipped == 1 ? 0 : axis_of(output_axes[i - states], shape.size() + 1);
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), *trips);
      }
      if (batch) shape.insert(shape.begin(), *batch);
    }
  }
  finish(frame, state, result.outputs, std::move(result.rows), batch ? *trips * *batch : *trips);
}

// Walks the body once per distinct shape of the members if these are known, else once for all members.
void Walker::visit_sequence_map(Frame& frame, OpContext::State& state) {
  constexpr std::size_t kMaxKinds = 64;
  const GraphId body_id = body_of(state.node, "body");
  const ValueInfo* known = known_sequence(state.inputs);
  const std::size_t count = known == nullptr ? 0 : known->members->size();
  std::vector<std::size_t> firsts, kind_of(count);  // first member of each kind; kind of each member
  for (std::size_t m = 0; m < count; ++m) {
    const auto kind = std::find_if(firsts.begin(), firsts.end(), [&](std::size_t first) {
      return std::all_of(state.inputs.begin(), state.inputs.end(), [&](const ValueInfo* input) {
        const auto* members = members_of(input);
        return members == nullptr || (*members)[m] == (*members)[first];
      });
    });
    kind_of[m] = static_cast<std::size_t>(kind - firsts.begin());
    if (kind == firsts.end()) firsts.push_back(m);
  }
  const bool is_by_kind = count > 0 && firsts.size() <= kMaxKinds;
  if (!is_by_kind) firsts = {0};
  std::vector<Dim> trips(firsts.size(), Dim(count));  // of each kind
  for (std::size_t kind = 0; is_by_kind && kind < firsts.size(); ++kind)
    trips[kind] = std::count(kind_of.begin(), kind_of.end(), kind);
  if (known != nullptr)
    trips.front() += known->repeats_of_first;
  else
    trips.front() =
        session_.fresh("length_" + state.display_name, state.display_name, "length of a sequence", std::nullopt);

  std::vector<GraphResult> results;
  for (const std::size_t first : firsts) {
    std::vector<ValueInfo> inputs;
    for (const ValueInfo* input : state.inputs) {
      inputs.push_back(input == nullptr ? ValueInfo{} : varying(*input));
      TensorType& type = inputs.back().type;
      const auto* members = members_of(input);
      if (type.container == Container::Sequence) type.container = Container::Tensor;
      if (is_by_kind && members != nullptr) type.shape = (*members)[first];
    }
    results.push_back(walk_body(frame, state, body_id, inputs));
  }
  for (std::size_t i = 0; i < state.outputs.size() && i < results.front().outputs.size(); ++i) {
    ValueInfo info = varying(results.front().outputs[i]);
    for (const GraphResult& other : results)
      if (other.outputs[i].type != info.type)
        info = join(info, other.outputs[i], "member", state.display_name, "members of a sequence differ in this size");
    info.type.container = Container::Sequence;
    const auto has_shape = [&](const GraphResult& result) { return result.outputs[i].type.shape.has_value(); };
    if (is_by_kind && std::ranges::all_of(results, has_shape)) {
      info.members.emplace();
      for (const std::size_t kind : kind_of) info.members->push_back(*results[kind].outputs[i].type.shape);
      info.repeats_of_first = known->repeats_of_first;
    }
    set_output(state, i, std::move(info));
  }
  add_own_row(frame, state);
  for (std::size_t kind = 0; kind < results.size(); ++kind)
    splice(frame, state, std::move(results[kind].rows), trips[kind]);
}

// FlexAttention's graphs modify scores [batch, heads, queries, keys] on the chip: their work counts, but of their
// tensors only those passed in from outside (onnx Operators.md, FlexAttention).
void Walker::add_modifiers(Frame& frame, OpContext::State& state) {
  if (state.node.op_type != "FlexAttention" || state.node.domain != "ai.onnx.preview") return;
  const OpContext op(state);
  constexpr int kQuery = 0, kKey = 1;
  for (const std::string_view modifier : {"score_mod", "prob_mod"}) {
    if (frame.rows.back().cost.mark != Mark::Compute || !op.has_attribute(modifier)) continue;
    const ElementType otherwise =
        op.element(kQuery) == ElementType::Float64 ? ElementType::Float64 : ElementType::Float32;
    ValueInfo scores;
    scores.type = {.element = ops::element_attribute(op, "softmax_precision", otherwise),
                   .shape = Shape{op.shape(kQuery)[0], op.shape(kQuery)[1], op.shape(kQuery)[2], op.shape(kKey)[2]}};
    const GraphId body_id = body_of(state.node, modifier);
    const Graph& body = session_.model.graph(body_id);
    const GraphResult result = walk_body(frame, state, body_id, std::span(&scores, 1), modifier);
    NodeReport& row = frame.rows.back();
    std::set<ValueId> read;
    for (const NodeReport& inner : result.rows) {
      const OpCost& work = inner.cost;
      row.cost += ops::Work{work.arith, work.special, work.comparisons, work.macs};
      row.params += inner.params;
      row.param_bytes += inner.param_bytes;
      row.unmodelled_inside += inner.unmodelled_inside + (inner.cost.mark == Mark::Unmodelled ? 1 : 0);
      if (inner.graph != body_id) continue;
      const ValueIds& inputs = body.node(inner.node).inputs;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i] == kAbsent || !inner.cost.reads_whole(static_cast<int>(i))) continue;
        const Value& value = body.value(inputs[i]);
        if ((value.initializer < 0 && value.outer == kAbsent) || !read.insert(inputs[i]).second) continue;
        const TensorType& type = result.values[index(inputs[i])].type;
        if (type.shape) row.cost.read(PartMoved::kAttributes, byte_size(element_count(*type.shape), type.element));
      }
    }
  }
}

}  // namespace pagoda::inline core
