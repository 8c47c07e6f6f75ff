// If, Loop, and calls of local functions. The bodies of operators with graph attributes are walked like any graph and
// their rows added to the report, multiplied by the trip count; for Scan, SequenceMap and FlexAttention see scan.cpp.
#include <algorithm>
#include <array>
#include <iterator>

#include "graph/dim_poly.h"
#include "infer/infer.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core {

GraphId body_of(const Node& node, std::string_view attribute_name) {
  const Attribute* attribute = node.attribute(attribute_name);
  if (const GraphId* body = attribute == nullptr ? nullptr : std::get_if<GraphId>(&attribute->value)) return *body;
  throw RuleStop{RuleStop::Kind::Contradiction, cat("attribute ", attribute_name, " holds no graph")};
}

GraphResult Walker::walk_body(const Frame& frame, const OpContext::State& state, GraphId body,
                              std::span<const ValueInfo> inputs, std::string_view part) {
  const std::string around = frame.scope.empty() ? "" : frame.scope + "/";
  return walk(body, inputs, &frame.values, cat(around, state.display_name, "/", part));
}

void Walker::finish(Frame& frame, OpContext::State& state, std::span<ValueInfo> outputs, std::vector<NodeReport> rows,
                    const Dim& times) {
  for (std::size_t i = 0; i < state.outputs.size() && i < outputs.size(); ++i)
    set_output(state, i, std::move(outputs[i]));
  add_own_row(frame, state);
  splice(frame, state, std::move(rows), times);
}

ValueInfo varying(ValueInfo info) {
  info.computed_value.reset();
  info.stored_value = nullptr;
  info.members.reset();
  info.repeats_of_first = 0;
  info.constant = info.host = false;
  info.tensor_graph = -1;
  return info;
}

namespace {

constexpr Int kEndless = Int{1} << 40;  // trip counts from here on mean "until the condition ends it"

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

// Whether a size or a count of the walked body depends on the symbol.
bool mentions(const GraphResult& result, const Dim& symbol) {
  const std::string name = symbol.to_string();
  const auto in_dim = [&](const Dim& dim) { return !dim.is_constant() && std::ranges::count(dim.symbols(), name) > 0; };
  const auto in_type = [&](const TensorType& type) { return type.shape && std::ranges::any_of(*type.shape, in_dim); };
  const auto in_row = [&](const NodeReport& row) {
    return std::ranges::any_of(row.outputs, in_type, &OutputInfo::type) ||
           std::ranges::any_of(kCostCounts, [&](auto count) { return in_dim(row.cost.*count); });
  };
  return std::ranges::any_of(result.outputs, in_type, &ValueInfo::type) || std::ranges::any_of(result.rows, in_row);
}

}  // namespace

Walker::StructureVisit Walker::structure_visit(const Node& node) {
  static constexpr std::pair<std::string_view, StructureVisit> kVisits[] = {
      {"If", &Walker::visit_if},
      {"Loop", &Walker::visit_loop},
      {"Scan", &Walker::visit_scan},
      {"SequenceMap", &Walker::visit_sequence_map}};
  if (!plain_domain(node.domain).empty()) return nullptr;
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
      (*joined.type.shape)[i] =
          session_.fresh(cat(hint, "_dim", i), node, std::string(cause), max((*a.type.shape)[i], (*b.type.shape)[i]));
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

// Whether the inputs' sizes decide it. Formulas of data or of a trip's number grow long, and say nothing to the user.
bool is_of_inputs(const Dim& dim, const Session& session) {
  const std::vector<std::string> names = dim.symbols();
  return std::ranges::all_of(names, [&](const std::string& name) {
    return session.input_dims.contains(name) || (session.fixed && session.fixed->exported.contains(name));
  });
}

}  // namespace

// Both branches of a condition on the inputs' sizes, each weighted with the formula of its truth: the totals hold at
// all sizes. The branches' work becomes one row.
void Walker::weigh_branches(Frame& frame, OpContext::State& state, const Dim& truth, GraphResult taken,
                            GraphResult other) {
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
                      cat("the rank depends on sizes: formulas take the ", *usual ? "then" : "else",
                          " branch, which all sizes but those of the condition choose"));
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
  NodeReport both = aggregate(frame, state, taken.rows, truth);
  add_row(both, aggregate(frame, state, other.rows, 1 - truth));
  if (both.cost.bytes() == Dim(0) && flops(both.cost) == Dim(0)) both.cost.mark = Mark::Host;
  add_own_row(frame, state);
  frame.rows.push_back(std::move(both));
}

void Walker::visit_if(Frame& frame, OpContext::State& state) {
  const GraphId then_id = body_of(state.node, "then_branch");
  const GraphId else_id = body_of(state.node, "else_branch");
  const ValueInfo* condition = state.inputs.empty() ? nullptr : state.inputs[0];
  const std::optional<bool> chosen = known_bool(condition);
  const auto walk_branch = [&](bool taken) {
    return walk_body(frame, state, taken ? then_id : else_id, {}, taken ? "then" : "else");
  };
  GraphResult result;
  if (chosen) {
    result = walk_branch(*chosen);
  } else if (const Dim* truth = known_integer(condition); truth != nullptr && is_of_inputs(*truth, session_)) {
    const Dim taken = *truth;  // the value may be resolved in the branches
    const auto walk_in_branch = [&](bool is_taken) {
      Session::Branch branch(session_);
      GraphResult of_branch = walk_branch(is_taken);
      // Applies the equalities that hold in the branch before they are dropped.
      for (ValueInfo& output : of_branch.outputs) resolve(output);
      for (NodeReport& row : of_branch.rows)
        for (const auto count : kCostCounts) row.cost.*count = session_.resolve(row.cost.*count);
      if (branch.has_equalities()) calls_.clear();  // their rows may hold sizes of this branch
      return of_branch;
    };
    GraphResult then_result = walk_in_branch(true);
    GraphResult else_result = walk_in_branch(false);
    return weigh_branches(frame, state, taken, std::move(then_result), std::move(else_result));
  } else {
    const Scoped<int> undecided(session_.undecided, session_.undecided + 1);
    result = walk_branch(true);
    GraphResult other = walk_branch(false);
    const Int then_flops = total_flops(result.rows);
    const Int else_flops = total_flops(other.rows);
    session_.note(Severity::Info, state.display_name,
                  cat("the condition is decided at run time; totals take the costlier branch: then ",
                      to_string(then_flops), " FLOPs, else ", to_string(else_flops), " FLOPs (free dims at 1)"));
    for (std::size_t i = 0; i < result.outputs.size() && i < other.outputs.size(); ++i) {
      const Name& name = i < state.node.outputs.size() && state.node.outputs[i] != kAbsent
                             ? frame.graph.value(state.node.outputs[i]).name
                             : state.display_name;
      result.outputs[i] = join(result.outputs[i], other.outputs[i], name, state.display_name,
                               "the branches of If give different sizes");
    }
    if (else_flops > then_flops) result.rows = std::move(other.rows);
  }
  finish(frame, state, result.outputs, std::move(result.rows), 1);
}

void Walker::visit_loop(Frame& frame, OpContext::State& state) {
  const GraphId body_id = body_of(state.node, "body");
  const Graph& body = session_.model.graph(body_id);
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
  std::set<std::string> varying_dims;
  GraphResult result;
  for (bool stable = false; !stable;) {
    result = walk_body(frame, state, body_id, inputs);
    stable = true;
    for (std::size_t i = 0; i < carried; ++i) {
      std::optional<Shape>& before = inputs[i + 2].type.shape;
      const std::optional<Shape>& after = result.outputs[i + 1].type.shape;
      if (!before && !inputs[i + 2].members) continue;
      if (inputs[i + 2].members || !after || after->size() != before->size()) {
        before = inputs[i + 2].members ? after : std::nullopt;
        inputs[i + 2].members.reset();
        stable = false;
        continue;
      }
      for (std::size_t axis = 0; axis < before->size(); ++axis) {
        Dim& dim = (*before)[axis];
        if (dim == (*after)[axis] || varying_dims.contains(dim.to_string())) continue;
        dim = session_.fresh(cat(state.display_name, "_carried", i, "_dim", axis), state.display_name,
                             "a size that changes from trip to trip", std::nullopt);
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
  const bool holds_sequence = std::ranges::any_of(
      result.outputs, [](const ValueInfo& output) { return output.type.container == Container::Sequence; });
  if (starts && (depends_on_trip || holds_sequence || !stays || !varying_dims.empty()) &&
      replace_by_trips(frame, state, result, limit, opened))
    return;
  if (!depends_on_trip) session_.forget(trip);
  const Dim trips = known_bool(condition) == false ? Dim(0)
                    : limit && stays
                        ? *limit
                        : session_.fresh("trips_" + state.display_name, state.display_name, "trip count", limit);
  const std::span<ValueInfo> outputs = std::span(result.outputs).subspan(1);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    ValueInfo& info = outputs[i] = varying(std::move(outputs[i]));
    if (i >= carried && info.type.shape) info.type.shape->insert(info.type.shape->begin(), trips);
  }
  finish(frame, state, outputs, std::move(result.rows), trips);
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
  bool goes_on = true;
  for (std::int64_t trip = 0; goes_on && (!limit || Dim(trip) != *limit); ++trip) {
    if (trip == kMaxTrips) return std::nullopt;
    inputs[0].computed_value = TensorValue{Dim(trip)};
    const std::size_t walked_before = walked_nodes_;
    GraphResult once = walk_body(frame, state, body_id, inputs);
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

bool Walker::replace_by_trips(Frame& frame, OpContext::State& state, const GraphResult& once,
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
    set_output(state, i, std::move(info));
  }
  add_own_row(frame, state);
  std::vector<NodeReport> rows;
  for (std::vector<NodeReport>& trip : trips->rows)
    rows.insert(rows.end(), std::make_move_iterator(trip.begin()), std::make_move_iterator(trip.end()));
  splice(frame, state, std::move(rows), 1);
  return true;
}

// A local function is walked once per distinct signature of its inputs and attributes.
void Walker::visit_call(Frame& frame, const Function& function, OpContext::State& state) {
  for (const Call* call = &call_; call != nullptr; call = call->outer)
    if (call->function == &function)
      throw RuleStop{RuleStop::Kind::Unknown, "local function " + function.name + " calls itself, which ONNX forbids"};
  std::string signature = std::to_string(function.body);
  std::vector<ValueInfo> inputs;
  for (const ValueInfo* input : state.inputs) {
    inputs.push_back(input == nullptr ? ValueInfo{} : *input);
    ValueInfo& info = inputs.back();
    info.absent = input == nullptr;
    signature += '|';
    if (info.absent) continue;
    signature += to_string(stored_type(info)) + (info.constant ? "c" : "") + (info.host ? "h" : "");
    if (info.tensor_graph >= 0) signature += cat("t", info.tensor_graph, ",", info.tensor);
    if (info.dequantized_from != ElementType::Undefined) signature += cat("d", to_string(info.dequantized_from));
    if (info.members) {
      signature += "m" + info.repeats_of_first.to_string();
      for (const Shape& member : *info.members)
        signature += to_string(TensorType{.element = ElementType::Undefined, .shape = member});
    }
    if (info.value() == nullptr) continue;
    for (const Scalar& scalar : *info.value()) {
      signature += ';';
      if (const Dim* dim = std::get_if<Dim>(&scalar)) signature += dim->to_string();
      if (const double* real = std::get_if<double>(&scalar)) signature += "r" + std::to_string(*real);
      if (const Ratio* ratio = std::get_if<Ratio>(&scalar))
        signature += cat(ratio->numerator.to_string(), "/", ratio->denominator);
    }
  }
  std::vector<Attribute> attributes = state.node.attributes;
  for (const Attribute& otherwise : function.defaults)
    if (state.node.attribute(otherwise.name) == nullptr) attributes.push_back(otherwise);
  // Attributes determine what the body does, so each call with attributes has its own signature.
  if (!attributes.empty()) signature += cat("@", frame.id, ",", frame.node, frame.scope);

  auto found = calls_.find(signature);
  if (found == calls_.end()) {
    const Name scope = frame.scope + (frame.scope.empty() ? "" : "/") + function.name;
    GraphResult body = [&] {
      const Call outer = call_;
      const Scoped<Call> inside(call_, {&function, &attributes, &outer});
      return walk(function.body, inputs, nullptr, scope);
    }();
    body.values.clear();
    found = calls_.emplace(std::move(signature), std::move(body)).first;
    splice(frame, state, found->second.rows, 1);
    for (NodeReport& row : found->second.rows) row.params = row.param_bytes = 0;  // counted with the first call
  } else {
    splice(frame, state, found->second.rows, 1);
  }
  const GraphResult& body = found->second;
  for (std::size_t i = 0; i < state.outputs.size() && i < body.outputs.size(); ++i)
    set_output(state, i, body.outputs[i]);
}

}  // namespace pagoda::inline core
