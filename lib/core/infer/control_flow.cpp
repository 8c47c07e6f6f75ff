// Ops that hold graphs: If, Loop, Scan, SequenceMap. Their bodies are walked like any graph and their rows joined to
// the report, multiplied by the trip count.
#include <algorithm>
#include <array>

#include "infer/infer.h"

namespace pagoda::inline core {
namespace {

constexpr Int kEndless = Int{1} << 40;  // a trip count from here on is "until the condition ends it"

GraphId body_of(const Node& node, std::string_view attribute_name) {
  const Attribute* attribute = node.attribute(attribute_name);
  const GraphId* body = attribute == nullptr ? nullptr : std::get_if<GraphId>(&attribute->value);
  if (body == nullptr)
    throw RuleStop{RuleStop::Kind::Contradiction, "attribute " + std::string(attribute_name) + " holds no graph"};
  return *body;
}

std::string inner_scope(const std::string& scope, const std::string& node, std::string_view part) {
  std::string result = scope.empty() ? node : scope + "/" + node;
  if (!part.empty()) result.append("/").append(part);
  return result;
}

std::optional<bool> known_bool(const ValueInfo* info) {
  if (info == nullptr || !info->value || info->value->size() != 1) return std::nullopt;
  const Dim* dim = std::get_if<Dim>(&info->value->front());
  if (dim == nullptr || !dim->is_constant()) return std::nullopt;
  return *dim != Dim(0);
}

Int total_flops(const std::vector<NodeReport>& rows) {
  Int sum = 0;
  for (const NodeReport& row : rows) sum += flops(row.cost).evaluate({});
  return sum;
}

ValueInfo scalar_info(ElementType element) {
  ValueInfo info;
  info.type = {.element = element, .shape = Shape{}};
  return info;
}

// A value that changes from trip to trip: its type without what is known of its content.
ValueInfo varying(ValueInfo info) {
  info.value.reset();
  info.members.reset();
  info.constant = info.host = false;
  info.tensor_graph = -1;
  return info;
}

// Whether a size or a count of the walked body depends on the symbol.
bool mentions(const GraphResult& result, const Dim& symbol) {
  const std::string name = symbol.to_string();
  const auto in_dim = [&](const Dim& dim) {
    if (dim.is_constant()) return false;
    const auto names = dim.symbols();
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto in_type = [&](const TensorType& type) {
    return type.shape && std::any_of(type.shape->begin(), type.shape->end(), in_dim);
  };
  const auto in_row = [&](const NodeReport& row) {
    const OpCost& cost = row.cost;
    return std::any_of(row.outputs.begin(), row.outputs.end(), [&](const OutputInfo& o) { return in_type(o.type); }) ||
           in_dim(cost.macs) || in_dim(cost.arith) || in_dim(cost.special) || in_dim(cost.comparisons) ||
           in_dim(cost.bytes_read) || in_dim(cost.bytes_written);
  };
  return std::any_of(result.outputs.begin(), result.outputs.end(),
                     [&](const ValueInfo& v) { return in_type(v.type); }) ||
         std::any_of(result.rows.begin(), result.rows.end(), in_row);
}

std::vector<std::int64_t> integers_or(const Node& node, std::string_view name, std::size_t size) {
  const Attribute* attribute = node.attribute(name);
  const auto* list = attribute == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(&attribute->value);
  std::vector<std::int64_t> result = list == nullptr ? std::vector<std::int64_t>{} : *list;
  result.resize(size, 0);
  return result;
}

std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    throw RuleStop{RuleStop::Kind::Contradiction, "scan axis " + std::to_string(axis) + " is outside the tensor"};
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

}  // namespace

Walker::StructureVisit Walker::structure_visit(const Node& node) {
  static constexpr std::array<std::pair<std::string_view, StructureVisit>, 4> kVisits = {
      std::pair{std::string_view("If"), &Walker::visit_if}, std::pair{std::string_view("Loop"), &Walker::visit_loop},
      std::pair{std::string_view("Scan"), &Walker::visit_scan},
      std::pair{std::string_view("SequenceMap"), &Walker::visit_sequence_map}};
  if (!node.domain.empty() && node.domain != "ai.onnx") return nullptr;
  for (const auto& [name, visit] : kVisits)
    if (node.op_type == name) return visit;
  return nullptr;
}

ValueInfo Walker::join(const ValueInfo& a, const ValueInfo& b, const std::string& hint, const std::string& node,
                       std::string_view cause) {
  ValueInfo joined = varying(a);
  joined.absent = false;
  if (a.constant && b.constant && a.value && a.value == b.value) joined = a;
  if (joined.type.element == ElementType::Undefined) joined.type.element = b.type.element;
  if (!a.type.shape || !b.type.shape || a.type.shape->size() != b.type.shape->size()) {
    joined.type.shape.reset();
    return joined;
  }
  for (std::size_t i = 0; i < a.type.shape->size(); ++i)
    if ((*a.type.shape)[i] != (*b.type.shape)[i])
      (*joined.type.shape)[i] = session_.fresh(hint + "_dim" + std::to_string(i), node, std::string(cause),
                                               max((*a.type.shape)[i], (*b.type.shape)[i]));
  return joined;
}

void Walker::visit_if(Frame& frame, std::size_t node_index, OpContext::State& state) {
  const GraphId then_id = body_of(state.node, "then_branch");
  const GraphId else_id = body_of(state.node, "else_branch");
  const std::optional<bool> chosen = known_bool(state.inputs.empty() ? nullptr : state.inputs[0]);
  const auto walk_branch = [&](bool taken) {
    return walk(taken ? then_id : else_id, {}, &frame.values,
                inner_scope(frame.scope, state.display_name, taken ? "then" : "else"));
  };
  GraphResult result;
  if (chosen) {
    result = walk_branch(*chosen);
  } else {
    result = walk_branch(true);
    GraphResult other = walk_branch(false);
    const Int then_flops = total_flops(result.rows);
    const Int else_flops = total_flops(other.rows);
    session_.note(Severity::Info, state.display_name,
                  "the condition is decided at run time; totals take the costlier branch: then " +
                      to_string(then_flops) + " FLOPs, else " + to_string(else_flops) + " FLOPs (free dims at 1)");
    for (std::size_t i = 0; i < result.outputs.size() && i < other.outputs.size(); ++i) {
      const std::string& name = i < state.node.outputs.size() && state.node.outputs[i] != kAbsent
                                    ? frame.graph.values[static_cast<std::size_t>(state.node.outputs[i])].name
                                    : state.display_name;
      result.outputs[i] = join(result.outputs[i], other.outputs[i], name, state.display_name,
                               "the branches of If give different sizes");
    }
    if (else_flops > then_flops) result.rows = std::move(other.rows);
  }
  for (std::size_t i = 0; i < state.outputs.size() && i < result.outputs.size(); ++i) {
    state.outputs[i] = std::move(result.outputs[i]);
    state.output_set[i] = true;
  }
  NodeReport row = row_of(frame, node_index, state);
  row.cost.mark = Mark::View;
  frame.rows.push_back(std::move(row));
  splice(frame, node_index, state, std::move(result.rows), 1);
}

void Walker::visit_loop(Frame& frame, std::size_t node_index, OpContext::State& state) {
  const GraphId body_id = body_of(state.node, "body");
  const Graph& body = session_.model.graphs[static_cast<std::size_t>(body_id)];
  const std::size_t carried = state.inputs.size() < 2 ? 0 : state.inputs.size() - 2;
  if (body.inputs.size() != carried + 2 || body.outputs.size() < carried + 1)
    throw RuleStop{RuleStop::Kind::Contradiction, "the body's inputs and outputs do not fit the loop's"};

  // Trips: the first input, when the condition stays true; otherwise the data decide.
  const ValueInfo* count = state.inputs.empty() ? nullptr : state.inputs[0];
  const ValueInfo* condition = state.inputs.size() < 2 ? nullptr : state.inputs[1];
  std::optional<Dim> limit;
  if (count != nullptr && count->value && count->value->size() == 1)
    if (const Dim* dim = std::get_if<Dim>(&count->value->front());
        dim != nullptr && dim->value().value_or(0) < kEndless)
      limit = *dim;

  std::vector<ValueInfo> inputs = {scalar_info(ElementType::Int64), scalar_info(ElementType::Bool)};
  // The number of the trip, so that x[i : i + 1] is known to hold one element.
  const Dim trip = session_.fresh("trip_" + state.display_name, state.display_name, "number of the trip", limit);
  inputs[0].value = TensorValue{trip};
  inputs[1].value = TensorValue{Dim(1)};  // the body runs only while the condition holds
  for (std::size_t i = 0; i < carried; ++i) {
    const ValueInfo* given = state.inputs[i + 2];
    inputs.push_back(given == nullptr ? ValueInfo{} : varying(*given));
    // An empty sequence says nothing of its members: the first trip decides what they are.
    if (given != nullptr && given->members && given->members->empty()) inputs.back().members = given->members;
  }

  // A size that changes from trip to trip becomes a symbol; the next walk uses it and must find nothing else changing.
  const std::string scope = inner_scope(frame.scope, state.display_name, "body");
  std::set<std::string> varying_dims;
  GraphResult result;
  for (bool stable = false; !stable;) {
    result = walk(body_id, inputs, &frame.values, scope);
    stable = true;
    for (std::size_t i = 0; i < carried; ++i) {
      std::optional<Shape>& before = inputs[i + 2].type.shape;
      const std::optional<Shape>& after = result.outputs[i + 1].type.shape;
      if (inputs[i + 2].members) {
        inputs[i + 2].members.reset();
        before = after;
        stable = false;
        continue;
      }
      if (!before) continue;
      if (!after || after->size() != before->size()) {
        before.reset();
        stable = false;
        continue;
      }
      for (std::size_t axis = 0; axis < before->size(); ++axis) {
        Dim& dim = (*before)[axis];
        if (dim == (*after)[axis] || varying_dims.contains(dim.to_string())) continue;
        dim = session_.fresh(state.display_name + "_carried" + std::to_string(i) + "_dim" + std::to_string(axis),
                             state.display_name, "a size that changes from trip to trip", std::nullopt);
        varying_dims.insert(dim.to_string());
        stable = false;
      }
    }
  }

  if (!mentions(result, trip)) session_.forget(trip);
  const bool starts = condition == nullptr || known_bool(condition) == true;
  const ValueId body_condition = body.outputs[0];
  const bool passes_condition = body_condition == body.inputs[1] && starts;
  const bool stays = starts && (passes_condition || known_bool(&result.outputs[0]) == true);
  Dim trips;
  if (known_bool(condition) == false)
    trips = 0;
  else if (limit && stays)
    trips = *limit;
  else
    trips = session_.fresh("trips_" + state.display_name, state.display_name, "trip count", limit);

  for (std::size_t i = 0; i < state.outputs.size() && i + 1 < result.outputs.size(); ++i) {
    ValueInfo info = varying(result.outputs[i + 1]);
    if (i >= carried && info.type.shape) info.type.shape->insert(info.type.shape->begin(), trips);
    state.outputs[i] = std::move(info);
    state.output_set[i] = true;
  }
  NodeReport row = row_of(frame, node_index, state);
  row.cost.mark = Mark::View;
  frame.rows.push_back(std::move(row));
  splice(frame, node_index, state, std::move(result.rows), trips);
}

void Walker::visit_scan(Frame& frame, std::size_t node_index, OpContext::State& state) {
  const GraphId body_id = body_of(state.node, "body");
  const Graph& body = session_.model.graphs[static_cast<std::size_t>(body_id)];
  const Attribute* count_attribute = state.node.attribute("num_scan_inputs");
  const auto* scan_count = count_attribute == nullptr ? nullptr : std::get_if<std::int64_t>(&count_attribute->value);
  // Opset 8 has the sequence lengths first, a batch axis 0 and the sequence axis 1.
  const std::size_t skipped = state.opset < 9 ? 1 : 0;
  const std::size_t given = state.inputs.size() < skipped ? 0 : state.inputs.size() - skipped;
  if (scan_count == nullptr || *scan_count < 1 || static_cast<std::size_t>(*scan_count) > given ||
      body.inputs.size() != given)
    throw RuleStop{RuleStop::Kind::Contradiction, "num_scan_inputs does not fit the inputs"};
  const auto scanned = static_cast<std::size_t>(*scan_count);
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
      const std::size_t axis = skipped == 1 ? 0 : axis_of(axes[i - states], info.type.shape->size());
      const Dim length = (*info.type.shape)[axis];
      trips = trips ? session_.unify(*trips, length, state.display_name).value_or(*trips) : length;
      info.type.shape->erase(info.type.shape->begin() + static_cast<std::ptrdiff_t>(axis));
    }
    inputs.push_back(std::move(info));
  }
  if (!trips) trips = session_.fresh("trips_" + state.display_name, state.display_name, "trip count", std::nullopt);
  GraphResult result = walk(body_id, inputs, &frame.values, inner_scope(frame.scope, state.display_name, "body"));

  const std::size_t scan_outputs = result.outputs.size() < states ? 0 : result.outputs.size() - states;
  const auto output_axes = integers_or(state.node, "scan_output_axes", scan_outputs);
  for (std::size_t i = 0; i < state.outputs.size() && i < result.outputs.size(); ++i) {
    ValueInfo info = varying(result.outputs[i]);
    if (info.type.shape) {
      Shape& shape = *info.type.shape;
      if (i >= states) {
        const std::size_t axis = skipped == 1 ? 0 : axis_of(output_axes[i - states], shape.size() + 1);
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), *trips);
      }
      if (batch) shape.insert(shape.begin(), *batch);
    }
    state.outputs[i] = std::move(info);
    state.output_set[i] = true;
  }
  NodeReport row = row_of(frame, node_index, state);
  row.cost.mark = Mark::View;
  frame.rows.push_back(std::move(row));
  splice(frame, node_index, state, std::move(result.rows), batch ? *trips * *batch : *trips);
}

void Walker::visit_sequence_map(Frame& frame, std::size_t node_index, OpContext::State& state) {
  const GraphId body_id = body_of(state.node, "body");
  std::vector<ValueInfo> inputs;
  for (const ValueInfo* input : state.inputs) {
    ValueInfo info = input == nullptr ? ValueInfo{} : varying(*input);
    if (info.type.container == Container::Sequence) info.type.container = Container::Tensor;
    inputs.push_back(std::move(info));
  }
  const Dim trips =
      session_.fresh("length_" + state.display_name, state.display_name, "length of a sequence", std::nullopt);
  GraphResult result = walk(body_id, inputs, &frame.values, inner_scope(frame.scope, state.display_name, "body"));
  for (std::size_t i = 0; i < state.outputs.size() && i < result.outputs.size(); ++i) {
    state.outputs[i] = varying(result.outputs[i]);
    state.outputs[i].type.container = Container::Sequence;
    state.output_set[i] = true;
  }
  NodeReport row = row_of(frame, node_index, state);
  row.cost.mark = Mark::View;
  frame.rows.push_back(std::move(row));
  splice(frame, node_index, state, std::move(result.rows), trips);
}

}  // namespace pagoda::inline core
