// If, and calls of local functions. The bodies of operators with graph attributes are walked like any graph and their
// rows added to the report; for Loop see loop.cpp, for Scan, SequenceMap and FlexAttention scan.cpp.
#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "graph/dim_poly.h"
#include "infer/each_dim.h"
#include "infer/infer.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"

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
  info.banded.reset();
  info.constant = info.host = false;
  info.tensor_graph = -1;
  return info;
}

const Dim* known_integer(const ValueInfo* info) {
  const TensorValue* value = info == nullptr ? nullptr : info->value();
  return value == nullptr || value->size() != 1 ? nullptr : std::get_if<Dim>(&value->front());
}

std::optional<bool> known_bool(const ValueInfo* info) {
  const Dim* dim = known_integer(info);
  if (dim == nullptr || !dim->is_constant()) return std::nullopt;
  return *dim != Dim(0);
}

bool is_scalar(const TensorType& type) {
  return type.container == Container::Tensor && type.shape &&
         (type.shape->empty() || (type.shape->size() == 1 && type.shape->front() == Dim(1)));
}

void Walker::keep_weights(const std::vector<NodeReport>& from, std::vector<NodeReport>& to) {
  for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i) {
    if (to[i].graph != from[i].graph || to[i].node != from[i].node) break;
    to[i].params += from[i].params;
    to[i].param_bytes += from[i].param_bytes;
  }
}

namespace {

// The work of the rows with free dims at 1, and whether some of it is unknown.
struct BranchWork {
  Int flops = 0;
  bool is_partial = false;
};

BranchWork work_of(const std::vector<NodeReport>& rows) {
  BranchWork work;
  for (const NodeReport& row : rows) {
    work.flops += flops(row.cost).evaluate({});
    work.is_partial = work.is_partial || row.cost.mark == Mark::Unmodelled || row.unmodelled_inside > 0;
  }
  return work;
}

std::string text_of(const BranchWork& work) { return cat(work.is_partial ? "≥ " : "", base::si(work.flops, "FLOP")); }

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
  return !any_symbol(dim, [&](const std::string& name) {
    return !session.input_dims.contains(name) && !(session.fixed && session.fixed->exported.contains(name));
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

namespace {

// The symbols from outside a branch, which dropped those that it determined, and then those that it made.
void keep_outer(std::vector<Symbol> outer, std::vector<Symbol>& symbols) {
  std::set<std::string_view> names;
  for (const Symbol& symbol : outer) names.insert(symbol.name);
  std::vector<Symbol> made;
  for (Symbol& symbol : symbols)
    if (!names.contains(symbol.name)) made.push_back(std::move(symbol));
  symbols = std::move(outer);
  std::ranges::move(made, std::back_inserter(symbols));
}

// Inputs of the main graph that hold one number or boolean and reach the condition: a value given for them may decide
// it.
std::string deciding_inputs(const Graph& graph, std::size_t node, ValueId condition) {
  std::set<ValueId> reached = {condition};
  for (std::size_t i = node; i-- > 0;) {
    const Node& before = graph.nodes[i];
    if (std::ranges::any_of(before.outputs, [&](ValueId output) { return reached.contains(output); }))
      reached.insert(before.inputs.begin(), before.inputs.end());
  }
  std::string fields;
  for (const ValueId input : graph.inputs) {
    const Value& value = graph.value(input);
    if (reached.contains(input) && is_scalar(value.declared))
      fields += cat(fields.empty() ? "; set " : ", ", base::field("inputs", value.name + "=VALUE"));
  }
  return fields;
}

}  // namespace

// Of branches that both may run, the totals have the formula of each if sizes decide, else the costlier one.
void Walker::visit_if(Frame& frame, OpContext::State& state) {
  const GraphId bodies[] = {body_of(state.node, "else_branch"), body_of(state.node, "then_branch")};
  static constexpr std::string_view kNames[] = {"else", "then"};
  const ValueInfo* condition = state.inputs.empty() ? nullptr : state.inputs[0];
  const auto walk_branch = [&](bool taken) { return walk_body(frame, state, bodies[taken], {}, kNames[taken]); };
  const auto finish_with = [&](GraphResult result) { finish(frame, state, result.outputs, std::move(result.rows), 1); };
  if (const std::optional<bool> known = known_bool(condition); known && session_.reads == nullptr)
    return finish_with(walk_branch(*known));
  const Session::IfPlace place = {frame.id, frame.node};
  if (const auto found = session_.taken_by_rank.find(place); found != session_.taken_by_rank.end()) {
    session_.note(Severity::Info, state.display_name,
                  cat("takes the ", kNames[found->second], " branch: operators behind it need its rank"),
                  Cause::OpenBranch);
    return finish_with(walk_branch(found->second));
  }

  std::optional<Dim> truth;
  if (const Dim* dim = known_integer(condition); dim != nullptr && is_of_inputs(*dim, session_)) truth = *dim;
  const std::size_t first_symbol = session_.symbols.size(), first_note = session_.diagnostics.size();
  struct Walked {
    GraphResult result;
    std::vector<Diagnostic> notes;
    std::string contradiction;  // why it cannot run
  };
  const auto walk_in_branch = [&](bool taken) {
    Session::Branch branch(session_);
    const Scoped<std::string> outside(contradiction_, "");
    Walked walked{.result = walk_branch(taken), .notes = {}, .contradiction = {}};
    // Applies the equalities that hold in the branch before they are dropped.
    for (ValueInfo& output : walked.result.outputs) resolve(output);
    for (NodeReport& row : walked.result.rows) {
      for (const auto count : kCostCounts) row.cost.*count = session_.resolve(row.cost.*count);
      for (OutputInfo& output : row.outputs) for_each_dim(output.type, [&](Dim& dim) { dim = session_.resolve(dim); });
    }
    if (branch.has_equalities()) calls_.clear();  // their rows may hold sizes of this branch
    walked.contradiction = contradiction_;
    walked.notes = session_.take_notes(first_note);
    return walked;
  };
  Walked walked[2];
  for (const bool is_then : {true, false}) {
    const std::vector<Symbol> outer = session_.symbols;
    walked[is_then] = walk_in_branch(is_then);
    keep_outer(outer, session_.symbols);
  }
  if (walked[0].contradiction.empty() != walked[1].contradiction.empty()) {
    const bool taken = walked[1].contradiction.empty();
    session_.symbols.resize(first_symbol, {});
    calls_.clear();  // their rows may hold symbols of the first walk
    session_.note(
        Severity::Info, state.display_name,
        cat("takes the ", kNames[taken], " branch, since the other cannot run: ", walked[!taken].contradiction),
        Cause::OpenBranch);
    GraphResult result = walk_branch(taken);
    keep_weights(walked[taken].result.rows, result.rows);
    return finish_with(std::move(result));
  }
  for (const bool is_then : {true, false})
    for (const Diagnostic& note : walked[is_then].notes)
      session_.note(note.severity, note.node, note.message, note.cause);
  GraphResult &then = walked[1].result, &otherwise = walked[0].result;
  for (std::size_t i = 0; i < then.outputs.size() && i < otherwise.outputs.size(); ++i) {
    const std::optional<Shape>&a = then.outputs[i].type.shape, &b = otherwise.outputs[i].type.shape;
    if (a && b && a->size() != b->size()) session_.open_ranks.insert(place);
  }
  if (truth) return weigh_branches(frame, state, *truth, std::move(then), std::move(otherwise));

  const BranchWork work[] = {work_of(otherwise.rows), work_of(then.rows)};
  const bool taken = work[1].flops >= work[0].flops;
  session_.note(
      Severity::Info, state.display_name,
      cat("the data decide its branch: then ", text_of(work[1]), ", else ", text_of(work[0]), "; totals take the ",
          kNames[taken], " branch",
          depth_ == 1 && condition != nullptr ? deciding_inputs(frame.graph, frame.node, state.node.input(0)) : ""),
      Cause::OpenBranch);
  for (std::size_t i = 0; i < then.outputs.size() && i < otherwise.outputs.size(); ++i) {
    const Name& name = i < state.node.outputs.size() && state.node.outputs[i] != kAbsent
                           ? frame.graph.value(state.node.outputs[i]).name
                           : state.display_name;
    then.outputs[i] = join(then.outputs[i], otherwise.outputs[i], name, state.display_name,
                           "the branches of If give different sizes");
  }
  std::vector<NodeReport> rows = std::move(walked[taken].result.rows);
  // Unknown work of the other branch may be more than all that is known: its rows stay, without what is known of them.
  for (NodeReport& row : walked[!taken].result.rows) {
    if (row.cost.mark != Mark::Unmodelled && row.unmodelled_inside == 0) continue;
    const Mark mark = row.cost.mark;
    row.cost = {};
    row.cost.mark = mark;
    rows.push_back(std::move(row));
  }
  finish(frame, state, then.outputs, std::move(rows), 1);
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
    info.banded.reset();  // not part of the signature
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
