// Ops with graph attributes: If, Loop, Scan, SequenceMap. Their bodies are walked like any graph and their rows added
// to the report, multiplied by the trip count.
#include <algorithm>
#include <array>
#include <iterator>

#include "graph/dim_poly.h"
#include "infer/infer.h"
#include "ops/rule_parts.h"

namespace pagoda::inline core {
namespace {

constexpr Int kEndless = Int{1} << 40;  // trip counts from here on mean "until the condition ends it"

GraphId body_of(const Node& node, std::string_view attribute_name) {
  const Attribute* attribute = node.attribute(attribute_name);
  const GraphId* body = attribute == nullptr ? nullptr : std::get_if<GraphId>(&attribute->value);
  if (body == nullptr)
    throw RuleStop{RuleStop::Kind::Contradiction, "attribute " + std::string(attribute_name) + " holds no graph"};
  return *body;
}

Name inner_scope(const Name& scope, const Name& node, std::string_view part) {
  std::string result = scope.empty() ? std::string(node) : scope + "/" + node;
  if (!part.empty()) result.append("/").append(part);
  return result;
}

// The value of a single known integer or bool; null for anything else.
const Dim* known_integer(const ValueInfo* info) {
  const TensorValue* value = info == nullptr ? nullptr : info->value();
  return value == nullptr || value->size() != 1 ? nullptr : std::get_if<Dim>(&value->front());
}

std::optional<bool> known_bool(const ValueInfo* info) {
  const Dim* dim = known_integer(info);
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

// A value that changes from trip to trip: its type, without its known contents.
ValueInfo varying(ValueInfo info) {
  info.computed_value.reset();
  info.stored_value = nullptr;
  info.members.reset();
  info.more_like_first = 0;
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

// The first of the sequences among `inputs`, if the members of all are known in the same way; else null.
const ValueInfo* known_sequence(const std::vector<const ValueInfo*>& inputs) {
  const ValueInfo* first = nullptr;
  for (const ValueInfo* input : inputs) {
    if (input == nullptr || input->type.container != Container::Sequence) continue;
    if (first == nullptr) first = input;
    if (!input->members || input->members->size() != first->members->size() ||
        input->more_like_first != first->more_like_first)
      return nullptr;
  }
  return first;
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

ValueInfo Walker::join(const ValueInfo& a, const ValueInfo& b, const std::string& hint, const Name& node,
                       std::string_view cause) {
  ValueInfo joined = varying(a);
  joined.absent = false;
  if (a.constant && b.constant && a.value() != nullptr && b.value() != nullptr && *a.value() == *b.value()) joined = a;
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

namespace {

// Whether the condition, a formula of sizes that is 1 or 0, holds at all sizes but some, such as C != 1; false for one
// that holds at some only; empty for anything else.
std::optional<bool> is_usual(const Dim& truth) {
  const auto differs = [](const Dim& dim) {  // min(1, max(d, -d))
    const Dim::Atom* atom = dim.as_atom();
    if (atom == nullptr || atom->kind != Dim::AtomKind::Min) return false;
    const bool is_capped = atom->arguments[0] == Dim(1) || atom->arguments[1] == Dim(1);
    const Dim::Atom* distance = atom->arguments[atom->arguments[0] == Dim(1) ? 1 : 0].as_atom();
    return is_capped && distance != nullptr && distance->kind == Dim::AtomKind::Max &&
           distance->arguments[0] == -distance->arguments[1];
  };
  if (differs(truth)) return true;
  return differs(1 - truth) ? std::optional(false) : std::nullopt;
}

// `a` where `truth` is 1, `b` where it is 0.
Dim chosen_by(const Dim& truth, const Dim& a, const Dim& b) { return a == b ? a : b + truth * (a - b); }

}  // namespace

// Applies the equalities that hold in a branch before they are dropped.
void Walker::resolve(GraphResult& branch) const {
  for (ValueInfo& output : branch.outputs) resolve(output);
  for (NodeReport& row : branch.rows)
    for (Dim* count : {&row.cost.macs, &row.cost.arith, &row.cost.special, &row.cost.comparisons, &row.cost.bytes_read,
                       &row.cost.bytes_written})
      *count = session_.resolve(*count);
}

// Not by data or the number of a trip: the formulas of those grow long, and say nothing to the user.
bool Walker::is_of_inputs(const Dim& dim) const {
  const std::vector<std::string> names = dim.symbols();
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return session_.input_dims.contains(name) || (session_.fixed && session_.fixed->exported.contains(name));
  });
}

// Both branches of a condition on the inputs' sizes, each weighted with the formula of its truth: the totals hold at
// all sizes. The branches' work becomes one row.
void Walker::weigh_branches(Frame& frame, std::size_t node_index, OpContext::State& state, const Dim& truth,
                            GraphResult taken, GraphResult other) {
  const std::optional<bool> usual = is_usual(truth);
  for (std::size_t i = 0; i < state.outputs.size() && i < taken.outputs.size() && i < other.outputs.size(); ++i) {
    const ValueInfo &a = taken.outputs[i], &b = other.outputs[i];
    ValueInfo& output = state.outputs[i];
    output = varying(a);
    output.absent = false;
    output.host = a.host && b.host;
    if (output.type.element == ElementType::Undefined) output.type.element = b.type.element;
    state.output_set[i] = true;
    if (a.type.shape && b.type.shape && a.type.shape->size() == b.type.shape->size()) {
      for (std::size_t axis = 0; axis < a.type.shape->size(); ++axis)
        (*output.type.shape)[axis] = chosen_by(truth, (*a.type.shape)[axis], (*b.type.shape)[axis]);
    } else {
      output.type.shape.reset();
      if (usual && a.type.shape && b.type.shape) {
        output.type.shape = (*usual ? a : b).type.shape;
        session_.note(Severity::Info, state.display_name,
                      "the rank depends on sizes: formulas take the " + std::string(*usual ? "then" : "else") +
                          " branch, which all sizes but those of the condition choose");
      }
    }
    if (a.value() == nullptr || b.value() == nullptr || a.value()->size() != b.value()->size()) continue;
    TensorValue value;
    for (std::size_t k = 0; k < a.value()->size(); ++k) {
      const Dim* x = std::get_if<Dim>(&(*a.value())[k]);
      const Dim* y = std::get_if<Dim>(&(*b.value())[k]);
      Scalar& element = value.emplace_back();
      if (x != nullptr && y != nullptr) element = chosen_by(truth, *x, *y);
    }
    output.computed_value = std::move(value);
  }
  NodeReport row = row_of(frame, node_index, state);
  row.cost.mark = Mark::View;
  NodeReport both = aggregate(frame, node_index, state, taken.rows, truth);
  const NodeReport otherwise = aggregate(frame, node_index, state, other.rows, 1 - truth);
  both.cost += otherwise.cost;
  both.params += otherwise.params;
  both.param_bytes += otherwise.param_bytes;
  both.unmodelled_inside += otherwise.unmodelled_inside;
  if (both.cost.precision == ElementType::Undefined) both.cost.precision = otherwise.cost.precision;
  if (both.cost.bytes() == Dim(0) && flops(both.cost) == Dim(0)) both.cost.mark = Mark::Host;
  frame.rows.push_back(std::move(row));
  frame.rows.push_back(std::move(both));
}

void Walker::visit_if(Frame& frame, std::size_t node_index, OpContext::State& state) {
  const GraphId then_id = body_of(state.node, "then_branch");
  const GraphId else_id = body_of(state.node, "else_branch");
  const ValueInfo* condition = state.inputs.empty() ? nullptr : state.inputs[0];
  const std::optional<bool> chosen = known_bool(condition);
  const auto walk_branch = [&](bool taken) {
    return walk(taken ? then_id : else_id, {}, &frame.values,
                inner_scope(frame.scope, state.display_name, taken ? "then" : "else"));
  };
  GraphResult result;
  if (chosen) {
    result = walk_branch(*chosen);
  } else if (const Dim* truth = known_integer(condition); truth != nullptr && is_of_inputs(*truth)) {
    const Dim taken = *truth;  // the value may be resolved in the branches
    const auto walk_in_branch = [&](bool is_taken) {
      Session::Branch branch(session_);
      GraphResult of_branch = walk_branch(is_taken);
      resolve(of_branch);
      if (branch.has_equalities()) calls_.clear();  // their rows may hold sizes of this branch
      return of_branch;
    };
    GraphResult then_result = walk_in_branch(true);
    GraphResult else_result = walk_in_branch(false);
    return weigh_branches(frame, node_index, state, taken, std::move(then_result), std::move(else_result));
  } else {
    ++session_.undecided;
    result = walk_branch(true);
    GraphResult other = walk_branch(false);
    --session_.undecided;
    const Int then_flops = total_flops(result.rows);
    const Int else_flops = total_flops(other.rows);
    session_.note(Severity::Info, state.display_name,
                  "the condition is decided at run time; totals take the costlier branch: then " +
                      to_string(then_flops) + " FLOPs, else " + to_string(else_flops) + " FLOPs (free dims at 1)");
    for (std::size_t i = 0; i < result.outputs.size() && i < other.outputs.size(); ++i) {
      const Name& name = i < state.node.outputs.size() && state.node.outputs[i] != kAbsent
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

  // Trips: the first input, if the condition stays true; otherwise data-dependent.
  const ValueInfo* count = state.inputs.empty() ? nullptr : state.inputs[0];
  const ValueInfo* condition = state.inputs.size() < 2 ? nullptr : state.inputs[1];
  std::optional<Dim> limit;
  if (const Dim* dim = known_integer(count); dim != nullptr && dim->value().value_or(0) < kEndless) limit = *dim;

  const Opened opened = {session_.symbols.size(), session_.diagnostics.size()};
  std::vector<ValueInfo> inputs = {scalar_info(ElementType::Int64), scalar_info(ElementType::Bool)};
  // The index of the trip, so that x[i : i + 1] is known to have one element.
  const Dim trip = session_.fresh("trip_" + state.display_name, state.display_name, "number of the trip", limit);
  inputs[0].computed_value = TensorValue{trip};
  inputs[1].computed_value = TensorValue{Dim(1)};  // the body runs only while the condition holds
  for (std::size_t i = 0; i < carried; ++i) {
    const ValueInfo* given = state.inputs[i + 2];
    inputs.push_back(given == nullptr ? ValueInfo{} : varying(*given));
    // An empty sequence does not determine its members: the first trip does.
    if (given != nullptr && given->members && given->members->empty()) inputs.back().members = given->members;
  }

  // A size that changes from trip to trip becomes a symbol; walks repeat with it until no other size changes.
  const Name scope = inner_scope(frame.scope, state.display_name, "body");
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

  const bool starts = condition == nullptr || known_bool(condition) == true;
  const ValueId body_condition = body.outputs[0];
  const bool passes_condition = body_condition == body.inputs[1] && starts;
  const bool stays = starts && (passes_condition || known_bool(&result.outputs[0]) == true);
  const bool depends_on_trip = mentions(result, trip);
  const bool holds_sequence = std::any_of(result.outputs.begin(), result.outputs.end(), [](const ValueInfo& output) {
    return output.type.container == Container::Sequence;
  });
  if (starts && (depends_on_trip || holds_sequence || !stays || !varying_dims.empty()) &&
      replace_by_trips(frame, node_index, state, result, limit, opened))
    return;
  if (!depends_on_trip) session_.forget(trip);
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

// The results of a loop's trips.
struct Walker::Unrolled {
  std::vector<ValueInfo> carried;               // after the last trip
  std::vector<std::vector<ValueInfo>> scanned;  // by trip
  std::vector<std::vector<NodeReport>> rows;    // by trip
};

namespace {

// A value that a loop returns: keeps its type and value, but marks it as computed by the loop.
ValueInfo handed_on(ValueInfo info) {
  info.constant = info.host = false;
  info.tensor_graph = -1;
  return info;
}

}  // namespace

std::optional<Walker::Unrolled> Walker::unroll(const Frame& frame, const OpContext::State& state, GraphId body_id,
                                               const std::optional<Dim>& limit) {
  constexpr std::int64_t kMaxTrips = 64;
  if (unroll_budget_ == 0) return std::nullopt;
  if (limit && limit->value().value_or(kMaxTrips + 1) > kMaxTrips) return std::nullopt;
  Unrolled result;
  std::vector<ValueInfo> inputs = {scalar_info(ElementType::Int64), scalar_info(ElementType::Bool)};
  inputs[1].computed_value = TensorValue{Dim(1)};
  for (std::size_t i = 2; i < state.inputs.size(); ++i)
    inputs.push_back(state.inputs[i] == nullptr ? ValueInfo{} : handed_on(*state.inputs[i]));
  const Name scope = inner_scope(frame.scope, state.display_name, "body");
  bool goes_on = true;
  for (std::int64_t trip = 0; goes_on && (!limit || Dim(trip) != *limit); ++trip) {
    if (trip == kMaxTrips) return std::nullopt;
    inputs[0].computed_value = TensorValue{Dim(trip)};
    const std::size_t walked_before = walked_nodes_;
    GraphResult once = walk(body_id, inputs, &frame.values, scope);
    const std::size_t walked = walked_nodes_ - walked_before;
    const std::optional<bool> condition = known_bool(&once.outputs[0]);
    const bool is_affordable = walked <= unroll_budget_;
    unroll_budget_ -= std::min(walked, unroll_budget_);
    if (!condition || !is_affordable) return std::nullopt;
    goes_on = *condition;
    for (std::size_t i = 2; i < inputs.size(); ++i) inputs[i] = handed_on(std::move(once.outputs[i - 1]));
    once.outputs.erase(once.outputs.begin(), once.outputs.begin() + static_cast<std::ptrdiff_t>(inputs.size()) - 1);
    result.scanned.push_back(std::move(once.outputs));
    result.rows.push_back(std::move(once.rows));
  }
  if (result.rows.empty()) return std::nullopt;
  result.carried.assign(std::make_move_iterator(inputs.begin() + 2), std::make_move_iterator(inputs.end()));
  return result;
}

bool Walker::replace_by_trips(Frame& frame, std::size_t node_index, OpContext::State& state, const GraphResult& once,
                              const std::optional<Dim>& limit, const Opened& opened) {
  const std::size_t symbols_before = session_.symbols.size();
  std::vector<Diagnostic> notes = session_.take_notes(opened.notes);
  std::optional<Unrolled> trips = unroll(frame, state, body_of(state.node, "body"), limit);
  const std::size_t opened_once = symbols_before - opened.symbols;
  if (!trips || session_.symbols.size() - symbols_before > opened_once) {
    (void)session_.take_notes(opened.notes);
    for (Diagnostic& note : notes)
      session_.note(note.severity, std::move(note.node), std::move(note.message), note.cause);
    session_.symbols.resize(symbols_before, {});
    return false;
  }
  const auto first = session_.symbols.begin() + static_cast<std::ptrdiff_t>(opened.symbols);
  session_.symbols.erase(first, first + static_cast<std::ptrdiff_t>(opened_once));
  // The weights were counted in the first walk: move their counts to the first trip.
  for (std::size_t i = 0; i < std::min(once.rows.size(), trips->rows.front().size()); ++i) {
    NodeReport& row = trips->rows.front()[i];
    if (row.graph != once.rows[i].graph || row.node != once.rows[i].node) break;
    row.params += once.rows[i].params;
    row.param_bytes += once.rows[i].param_bytes;
  }
  const std::size_t carried = trips->carried.size();
  const Dim count = trips->rows.size();
  for (std::size_t i = 0; i < state.outputs.size(); ++i) {
    ValueInfo info;
    if (i < carried) {
      info = std::move(trips->carried[i]);
    } else if (i - carried < trips->scanned.front().size()) {
      info = varying(trips->scanned.front()[i - carried]);
      for (const std::vector<ValueInfo>& scanned : trips->scanned)
        if (scanned[i - carried].type != info.type)
          info = join(info, scanned[i - carried], state.display_name, state.display_name, "trips give different sizes");
      if (info.type.shape) info.type.shape->insert(info.type.shape->begin(), count);
    }
    state.outputs[i] = std::move(info);
    state.output_set[i] = true;
  }
  NodeReport row = row_of(frame, node_index, state);
  row.cost.mark = Mark::View;
  frame.rows.push_back(std::move(row));
  std::vector<NodeReport> rows;
  for (std::vector<NodeReport>& trip : trips->rows)
    rows.insert(rows.end(), std::make_move_iterator(trip.begin()), std::make_move_iterator(trip.end()));
  splice(frame, node_index, state, std::move(rows), 1);
  return true;
}

void Walker::visit_scan(Frame& frame, std::size_t node_index, OpContext::State& state) {
  const GraphId body_id = body_of(state.node, "body");
  const Graph& body = session_.model.graphs[static_cast<std::size_t>(body_id)];
  const Attribute* count_attribute = state.node.attribute("num_scan_inputs");
  const auto* scan_count = count_attribute == nullptr ? nullptr : std::get_if<std::int64_t>(&count_attribute->value);
  // Opset 8 has the sequence lengths as first input, batch axis 0 and sequence axis 1.
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
  if (map_members(frame, node_index, state)) return;
  const GraphId body_id = body_of(state.node, "body");
  std::vector<ValueInfo> inputs;
  for (const ValueInfo* input : state.inputs) {
    ValueInfo info = input == nullptr ? ValueInfo{} : varying(*input);
    if (info.type.container == Container::Sequence) info.type.container = Container::Tensor;
    inputs.push_back(std::move(info));
  }
  const ValueInfo* known = known_sequence(state.inputs);
  const Dim trips =
      known != nullptr
          ? Dim(known->members->size()) + known->more_like_first
          : session_.fresh("length_" + state.display_name, state.display_name, "length of a sequence", std::nullopt);
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

// For known members: walks the body once per distinct shape.
bool Walker::map_members(Frame& frame, std::size_t node_index, OpContext::State& state) {
  constexpr std::size_t kMaxKinds = 64;
  const ValueInfo* known = known_sequence(state.inputs);
  const std::size_t count = known == nullptr ? 0 : known->members->size();
  std::vector<std::size_t> firsts, kind_of(count);  // first member of each kind; kind of each member
  for (std::size_t m = 0; m < count; ++m) {
    const auto kind = std::find_if(firsts.begin(), firsts.end(), [&](std::size_t first) {
      return std::all_of(state.inputs.begin(), state.inputs.end(), [&](const ValueInfo* input) {
        return input == nullptr || !input->members || (*input->members)[m] == (*input->members)[first];
      });
    });
    kind_of[m] = static_cast<std::size_t>(kind - firsts.begin());
    if (kind == firsts.end()) firsts.push_back(m);
  }
  if (count == 0 || firsts.size() > kMaxKinds) return false;

  const GraphId body_id = body_of(state.node, "body");
  const Name scope = inner_scope(frame.scope, state.display_name, "body");
  std::vector<GraphResult> results;
  for (const std::size_t first : firsts) {
    std::vector<ValueInfo> inputs;
    for (const ValueInfo* input : state.inputs) {
      inputs.push_back(input == nullptr ? ValueInfo{} : varying(*input));
      if (input == nullptr || !input->members) continue;
      inputs.back().type.container = Container::Tensor;
      inputs.back().type.shape = (*input->members)[first];
    }
    results.push_back(walk(body_id, inputs, &frame.values, scope));
  }
  for (std::size_t i = 0; i < state.outputs.size() && i < results.front().outputs.size(); ++i) {
    ValueInfo info = varying(results.front().outputs[i]);
    for (const GraphResult& other : results)
      if (other.outputs[i].type != info.type)
        info = join(info, other.outputs[i], "member", state.display_name, "members of a sequence differ in this size");
    info.type.container = Container::Sequence;
    if (std::all_of(results.begin(), results.end(),
                    [&](const GraphResult& result) { return result.outputs[i].type.shape.has_value(); })) {
      info.members.emplace();
      for (const std::size_t kind : kind_of) info.members->push_back(*results[kind].outputs[i].type.shape);
      info.more_like_first = known->more_like_first;
    }
    state.outputs[i] = std::move(info);
    state.output_set[i] = true;
  }
  NodeReport row = row_of(frame, node_index, state);
  row.cost.mark = Mark::View;
  frame.rows.push_back(std::move(row));
  for (std::size_t kind = 0; kind < results.size(); ++kind) {
    const Dim listed = std::count(kind_of.begin(), kind_of.end(), kind);
    splice(frame, node_index, state, std::move(results[kind].rows),
           kind == kind_of.front() ? listed + known->more_like_first : listed);
  }
  return true;
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
    const Graph& body = session_.model.graphs[static_cast<std::size_t>(body_id)];
    const GraphResult result =
        walk(body_id, std::span(&scores, 1), &frame.values, inner_scope(frame.scope, state.display_name, modifier));
    NodeReport& row = frame.rows.back();
    std::set<ValueId> read;
    for (const NodeReport& inner : result.rows) {
      row.cost.macs += inner.cost.macs;
      row.cost.arith += inner.cost.arith;
      row.cost.special += inner.cost.special;
      row.cost.comparisons += inner.cost.comparisons;
      row.params += inner.params;
      row.param_bytes += inner.param_bytes;
      row.unmodelled_inside += inner.unmodelled_inside + (inner.cost.mark == Mark::Unmodelled ? 1 : 0);
      if (inner.graph != body_id) continue;
      const ValueIds& inputs = body.nodes[static_cast<std::size_t>(inner.node)].inputs;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i] == kAbsent || !inner.cost.reads_whole(static_cast<int>(i))) continue;
        const Value& value = body.values[static_cast<std::size_t>(inputs[i])];
        if ((value.initializer < 0 && value.outer == kAbsent) || !read.insert(inputs[i]).second) continue;
        const TensorType& type = result.values[static_cast<std::size_t>(inputs[i])].type;
        if (type.shape) row.cost.read(PartMoved::kAttributes, byte_size(element_count(*type.shape), type.element));
      }
    }
  }
}

}  // namespace pagoda::inline core
