// The walk over one graph, and the driver's work around a rule: constants, host arithmetic, declared types, failures.
#include "infer/infer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "graph/dim_poly.h"
#include "ops/fixed_sizes.h"
#include "ops/op_rule.h"
#include "pagoda/base/cat.h"
#include "pagoda/core/model.h"

namespace pagoda::inline core {
namespace {

constexpr std::int64_t kMaxHostElements = 64;  // a longer vector is a tensor, not shape arithmetic

// Whether a part of a rule ended because too little is known.
template <typename Part>
bool gives_up(const Part& part) {
  try {
    part();
    return false;
  } catch (const RuleStop&) {
    return true;
  } catch (const TooComplex&) {
    return true;
  }
}

// An Error of a rule, with the name of its node.
class NodeError : public Error {
 public:
  using Error::Error;
};

}  // namespace

const Walker::Operator& Walker::operator_of(const Node& node) {
  return operators_.of(node, call_.function, [&] {
    Operator found;
    find_rule(node, found);
    found.function = session_.model.function(node.domain, node.op_type, node.overload);
    found.structure = structure_visit(node);
    const auto imported =
        call_.function == nullptr ? std::nullopt : imported_opset(call_.function->opsets, node.domain);
    found.opset = imported ? *imported : session_.model.opset(node.domain);
    return found;
  });
}

void Walker::find_rule(const Node& node, Operator& found) const {
  const auto is_of = [&](std::string_view domain, std::string_view op_type) {
    return op_type == node.op_type && plain_domain(domain) == plain_domain(node.domain);
  };
  for (std::size_t i = 0; i < custom_rules_.size(); ++i)
    if (const CustomOperator& custom = stated_[i]; is_of(custom.domain, custom.op_type)) {
      found.rule = &custom_rules_[i];
      found.custom = &custom;
      return;
    }
  for (const ExtraRule& extra : options_.extra_rules)
    if (is_of(extra.domain, extra.rule.name)) {
      found.rule = &extra.rule;
      return;
    }
  found.rule = ops::find_rule(plain_domain(node.domain), node.op_type);
}

void Walker::store(GraphId graph, ValueId id, ValueInfo& info) const {
  if (storage_.floats == ElementType::Undefined || !is_replaced(info.type.element)) return;
  info.type.element = storage_.floats;
  const std::vector<bool>& operands = operands_[index(graph)];
  const bool is_operand = !operands.empty() && id != kAbsent && operands[index(id)];
  info.stored = is_operand ? storage_.operands : ElementType::Undefined;
}

ValueInfo Walker::stored_value(GraphId graph, ValueId id) const {
  const std::int32_t place = session_.model.graph(graph).value(id).initializer;
  const Tensor& tensor = session_.model.graph(graph).initializer(place);
  ValueInfo info;
  info.type = tensor.type;
  if (tensor.value) info.stored_value = &*tensor.value;
  info.unread = tensor.unread;
  info.constant = true;
  info.tensor_graph = graph;
  info.tensor = place;
  store(graph, id, info);
  return info;
}

void Walker::store_outputs(const Frame& frame, OpContext::State& state) const {
  if (storage_.floats == ElementType::Undefined) return;
  for (std::size_t i = 0; i < state.outputs.size(); ++i) store(frame.id, state.node.outputs[i], state.outputs[i]);
}

// Rules infer types and count bytes in them: for the cost, narrowed tensors have their stored type, in a copy of the
// node's state that a rule which throws leaves behind. Only products compute in it.
OpCost Walker::cost_of(const OpRule& rule, OpContext::State& state) const {
  const auto counted = [&](OpContext::State& of) {
    OpContext op(of);
    return of.custom != nullptr ? ops::cost_custom(*of.custom, op) : rule.cost(op);
  };
  if (storage_.operands == ElementType::Undefined) return counted(state);
  OpContext::State stored = state;
  std::vector<ValueInfo> narrowed;
  narrowed.reserve(stored.inputs.size());
  for (const ValueInfo*& input : stored.inputs)
    if (input != nullptr && input->stored != ElementType::Undefined) {
      narrowed.push_back(*input);
      narrowed.back().type = stored_type(*input);
      input = &narrowed.back();
    }
  for (ValueInfo& output : stored.outputs) output.type = stored_type(output);
  OpCost cost = counted(stored);
  const bool is_product = multiplies_first_two(state.facts.form) || state.facts.kind == OpKind::Attention;
  // What the file states in that format stays so.
  if (!is_product && cost.precision == storage_.operands && counted(state).precision != storage_.operands)
    cost.precision = storage_.floats;
  return cost;
}

GraphResult Walker::walk(GraphId id, std::span<const ValueInfo> inputs, const std::vector<ValueInfo>* outer,
                         const Name& scope) {
  if (depth_ >= kMaxBodyDepth)
    throw RuleStop{RuleStop::Kind::Unknown, cat("bodies are nested more than ", kMaxBodyDepth, " deep")};
  const Scoped<int> deeper(depth_, depth_ + 1);
  const Graph& graph = session_.model.graph(id);
  if (session_.reads != nullptr) session_.reads->walked[index(id)] = true;
  Frame frame{.id = id, .graph = graph, .scope = scope, .values = std::vector<ValueInfo>(graph.values.size())};
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    if (value.initializer >= 0) {
      frame.values[i] = stored_value(id, static_cast<ValueId>(i));
    } else if (value.outer != kAbsent && outer != nullptr) {
      frame.values[i] = (*outer)[index(value.outer)];
    }
  }
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    ValueInfo& info = frame.values[index(graph.inputs[i])];
    if (i < inputs.size())
      info = inputs[i];
    else
      info.absent = true;
    store(id, graph.inputs[i], info);
  }
  if (depth_ == 1) frame.rows.reserve(graph.nodes.size());
  walked_nodes_ += graph.nodes.size() + 1;
  // A loop walks its body several times, and so does each nested loop.
  if (depth_ > 1 && walked_nodes_ > walk_limit_)
    throw RuleStop{RuleStop::Kind::Unknown,
                   cat("bodies within bodies take more than ", walk_limit_, " visits of nodes")};
  for (; frame.node < graph.nodes.size(); ++frame.node) visit(frame);

  GraphResult result;
  result.outputs.reserve(graph.outputs.size());
  for (const ValueId output : graph.outputs)
    result.outputs.push_back(output == kAbsent ? ValueInfo{} : frame.values[index(output)]);
  result.values = std::move(frame.values);
  result.rows = std::move(frame.rows);
  return result;
}

namespace {

// The node with attribute references replaced by the call's attributes; drops references that the call does not set.
Node resolved(const Node& node, const std::vector<Attribute>& call_attributes) {
  Node result = node;
  std::erase_if(result.attributes, [&](Attribute& attribute) {
    if (attribute.reference.empty()) return false;
    const auto given = std::ranges::find(call_attributes, attribute.reference, &Attribute::name);
    if (given == call_attributes.end()) return true;
    attribute.value = given->value;
    attribute.reference.clear();
    return false;
  });
  return result;
}

bool has_references(const Node& node) {
  return std::ranges::any_of(node.attributes, [](const Attribute& attribute) { return !attribute.reference.empty(); });
}

}  // namespace

// Applies the equalities found since the value was created.
void Walker::resolve(ValueInfo& info) const {
  if (session_.equalities().empty()) return;
  if (info.type.shape)
    for (Dim& dim : *info.type.shape) dim = session_.resolve(dim);
  if (info.computed_value)
    for (Scalar& scalar : *info.computed_value)
      if (Dim* dim = std::get_if<Dim>(&scalar)) *dim = session_.resolve(*dim);
  if (info.banded) {
    for (std::optional<Dim>* limit : {&info.banded->least, &info.banded->most})
      if (*limit) *limit = session_.resolve(**limit);
    for (Scalar* element : {&info.banded->inside, &info.banded->outside})
      if (Dim* dim = std::get_if<Dim>(element)) *dim = session_.resolve(*dim);
  }
  if (!info.members) return;
  for (Shape& member : *info.members)
    for (Dim& dim : member) dim = session_.resolve(dim);
  info.repeats_of_first = session_.resolve(info.repeats_of_first);
}

void Walker::visit(Frame& frame) {
  const Node& as_written = frame.graph.nodes[frame.node];
  std::optional<Node> resolved_node;
  if (call_.function != nullptr && has_references(as_written)) resolved_node = resolved(as_written, *call_.attributes);
  const Node& node = resolved_node ? *resolved_node : as_written;

  // A copy: the walk of a body may put another operator in its place.
  const Operator op = operator_of(node);
  OpContext::State state{.session = session_,
                         .node = node,
                         .display_name = display_name(frame.graph, as_written),
                         .opset = op.opset,
                         .inputs = std::move(spare_.inputs),
                         .outputs = std::move(spare_.outputs),
                         .output_set = std::move(spare_.output_set)};
  state.inputs.clear();
  state.outputs.clear();
  state.outputs.resize(node.outputs.size());
  state.output_set.assign(node.outputs.size(), false);
  for (const ValueId input : node.inputs) {
    if (session_.fixed && input != kAbsent) resolve(frame.values[index(input)]);
    const ValueInfo* info = input == kAbsent ? nullptr : &frame.values[index(input)];
    state.inputs.push_back(info == nullptr || info->absent ? nullptr : info);
  }

  const std::size_t first_symbol = session_.symbols.size(), first_row = frame.rows.size();
  state.custom = op.custom;
  if (op.rule != nullptr && op.function == nullptr && op.structure == nullptr)
    state.facts = ops::facts_of(*op.rule, node);
  std::string problem;
  Cause cause = Cause::Unmodelled;
  try {
    if (op.function != nullptr)
      visit_call(frame, *op.function, state);
    else if (op.structure != nullptr)
      (this->*op.structure)(frame, state);
    else if (op.rule != nullptr)
      visit_rule(frame, *op.rule, state);
    else
      problem = "no rule for " + (node.domain.empty() ? "" : node.domain + ".") + node.op_type;
  } catch (const RuleStop& stop) {
    if (stop.kind == RuleStop::Kind::Contradiction) cause = Cause::Contradiction;
    problem = stop.message.empty() ? "not enough is known" : stop.message;
    if (stop.kind == RuleStop::Kind::UnknownInput) cause = Cause::UnknownInput;
    if (stop.kind == RuleStop::Kind::Contradiction && contradiction_.empty())
      contradiction_ = cat(state.display_name, ": ", problem);
  } catch (const TooComplex& too_complex) {
    problem = too_complex.what();
  } catch (const NodeError&) {
    throw;
  } catch (const Error& error) {
    throw NodeError(state.display_name + ": " + error.what());
  }
  if (!problem.empty() && op.structure != nullptr && session_.symbols.size() > first_symbol)
    session_.symbols.resize(first_symbol, {});  // of an unfinished walk
  adopt_declared(frame, state, first_symbol);
  store_outputs(frame, state);
  if (!problem.empty()) unmodelled(frame, first_row, state, problem, cause);
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i] != kAbsent) frame.values[index(node.outputs[i])] = std::move(state.outputs[i]);
  spare_ = {std::move(state.inputs), std::move(state.outputs), std::move(state.output_set)};
}

namespace {

// Whether units for numbers of type `wide` multiply those of type `narrow` unrounded. Signed and unsigned integers of
// the same width share units, and so do both kinds of 8-bit floats; 4-bit integers have at most the four significant
// bits of e4m3.
bool multiplies_exactly(ElementType wide, ElementType narrow) {
  if (is_integer(wide) == is_integer(narrow)) return bits(wide) >= bits(narrow);
  return wide == ElementType::Float8e4m3fn && bits(narrow) <= 4;
}

// A Cast of dequantised numbers to another float leaves the choice of the product's units to the engine.
bool casts_to_float(const OpContext::State& state) {
  const Node& node = state.node;
  return (node.op_type == "Cast" || node.op_type == "CastLike") && plain_domain(node.domain).empty() &&
         !state.outputs.empty() && is_float(state.outputs[0].type.element);
}

// The narrow type from which the node's first output (a layout, a DequantizeLinear) or its operands (a product) are
// dequantised: the wider of both operands, such as e4m3 for activations in it and weights in int4.
ElementType dequantized_from(const OpContext::State& state) {
  const auto& inputs = state.inputs;
  if (inputs.empty() || inputs[0] == nullptr) return ElementType::Undefined;
  const OpKind kind = state.facts.kind;
  if (kind == OpKind::Dequantize) return inputs[0]->type.element;
  if (kind == OpKind::View || kind == OpKind::Transpose || casts_to_float(state)) return inputs[0]->dequantized_from;
  if (!multiplies_first_two(state.facts.form) || inputs.size() < 2 || inputs[1] == nullptr)
    return ElementType::Undefined;
  const ElementType a = inputs[0]->dequantized_from, b = inputs[1]->dequantized_from;
  if (a == ElementType::Undefined || b == ElementType::Undefined) return ElementType::Undefined;
  if (multiplies_exactly(b, a)) return b;
  return multiplies_exactly(a, b) ? a : ElementType::Undefined;
}

// Weights of a product keep their stored size: where an input has the batch and no output does, the assumed batch is
// contracted with weights, such as the channels of a single image. Weights that are an input of the graph must not take
// the batch for their output channels.
void check_batch(const OpContext::State& state) {
  const auto& fixed = state.session.fixed;
  if (!fixed || state.facts.kind != OpKind::Product || state.inputs.size() < 2 || state.inputs[0] == nullptr ||
      state.inputs[1] == nullptr)
    return;
  // Of convolutions: results of matrices have two axes, or their rows say that the batch comes first.
  const auto batch_axes_of = [&](const ValueInfo& info) -> std::ptrdiff_t {
    const std::optional<Shape>& shape = info.type.shape;
    if (!shape) return 0;
    return std::ranges::count_if(*shape, [&](const Dim& d) { return fixed->hold_batch(d); });
  };
  const auto holds_twice = [&](const ValueInfo& output) {
    return output.type.shape && output.type.shape->size() > 2 && batch_axes_of(output) > 1;
  };
  if (state.facts.batch != BatchAxis::First && std::ranges::any_of(state.outputs, holds_twice))
    throw RuleStop{RuleStop::Kind::Unknown, "its weights are an input, whose first axis is taken for the batch, too"};
  if (state.inputs[0]->constant == state.inputs[1]->constant) return;
  const ValueInfo& data = *state.inputs[state.inputs[0]->constant ? 1 : 0];
  const auto holds = [&](const ValueInfo& info) { return batch_axes_of(info) > 0; };
  if (holds(data) && std::ranges::none_of(state.outputs, holds))
    throw RuleStop{RuleStop::Kind::Unknown,
                   "its weights multiply the axis taken for the batch: there is no batch axis"};
}

// Whether the operator takes its inputs' elements one by one, without arithmetic: a stored input follows the others.
bool is_joined_by_element(const Node& node) {
  return (node.op_type == "Concat" || node.op_type == "Expand") && plain_domain(node.domain).empty();
}

// Whether the operator multiplies or normalises by stored tensors, whose sizes cannot change.
bool has_weights(const OpContext::State& state) {
  if (state.facts.kind != OpKind::Product && state.facts.kind != OpKind::Norm && state.facts.kind != OpKind::Recurrent)
    return false;
  return std::ranges::any_of(state.inputs, [](const ValueInfo* input) {
    return input != nullptr && input->constant && input->type.shape && !input->type.shape->empty();
  });
}

// Scales and shifts of a norm have the size of its normalised axes.
void expect_rows_kept(const OpContext::State& state, Session& session) {
  const FixedSizes& fixed = *session.fixed;
  if (state.facts.rows != RowAxes::FromAxis && state.facts.rows != RowAxes::Last) return;
  const auto& data = state.inputs[0]->type.shape;
  for (const ValueInfo* input : state.inputs) {
    if (input == nullptr || !input->constant || !data || !input->type.shape) continue;
    const Shape& scale = *input->type.shape;
    for (std::size_t i = 1; i <= std::min(scale.size(), data->size()); ++i)
      if (const Dim& size = (*data)[data->size() - i]; scale[scale.size() - i] != Dim(1) &&
                                                       !session.keep(size, state.display_name) &&
                                                       ops::changes(fixed, session.resolve(size)))
        throw RuleStop{RuleStop::Kind::Unknown,
                       cat("its weights fix a size at ", fixed.as_exported(size).to_string(),
                           ", the sizes asked for make it ", fixed.as_asked(size).to_string())};
  }
}

}  // namespace

// Stored tensors with the size of a changed input, such as position embeddings, follow it where they meet it element by
// element. A computed tensor gets its size from earlier nodes: nothing known there follows the input.
void Walker::yield_stored(Frame& frame, const OpContext::State& state) {
  const FixedSizes& fixed = *session_.fixed;
  if (session_.has_weights && state.facts.kind == OpKind::Norm) expect_rows_kept(state, session_);
  const auto yielded = std::ranges::find_if(
      session_.yielded, [&](const Session::Yielded& each) { return fixed.hold_other(session_.resolve(each.formula)); });
  if (yielded == session_.yielded.end()) return;
  const auto refuse = [&](std::string_view what) {
    throw RuleStop{RuleStop::Kind::Unknown,
                   cat(what, " ", yielded->constant.to_string(), ", the sizes asked for make it ",
                       fixed.as_asked(yielded->formula).to_string())};
  };
  if (session_.has_weights) refuse("its weights fix a size at");
  if (state.facts.kind != OpKind::Pointwise && !is_joined_by_element(state.node)) {
    const bool are_kept = std::ranges::all_of(session_.yielded, [&](const auto& each) {
      return !fixed.hold_other(session_.resolve(each.formula)) || session_.keep(each.formula, state.display_name);
    });
    if (!are_kept) refuse("the file fixes a size at");
    return;
  }
  const auto& output = state.outputs.at(0).type.shape;
  if (!output) return;
  for (std::size_t i = 0; i < state.inputs.size(); ++i) {
    const ValueInfo* input = state.inputs[i];
    if (input == nullptr || !input->type.shape || input->type.shape->size() > output->size()) continue;
    const std::size_t offset = output->size() - input->type.shape->size();
    for (std::size_t axis = 0; axis < input->type.shape->size(); ++axis) {
      const Dim& size = (*input->type.shape)[axis];
      const Dim& formula = (*output)[offset + axis];
      if (!size.is_constant() || size == Dim(1) || !fixed.hold_other(formula) || fixed.as_exported(formula) != size)
        continue;
      // The sizes of a computed input are followed: a number there is one.
      if (!input->constant && session_.keep(formula, state.display_name)) continue;
      if (!input->constant) refuse("an input has a size of");
      (*frame.values[index(state.node.inputs[i])].type.shape)[axis] = formula;
      if (input->tensor_graph < 0)
        session_.note(Severity::Info, state.display_name,
                      "a table made at load follows the size; the stored tensors that it is made of count as the file "
                      "has them");
    }
  }
}

namespace {

// Tensors of an unknown type have no width: their traffic would count as 0 bytes.
void expect_known_elements(const OpContext::State& state, const OpCost& cost) {
  if (cost.mark != Mark::Compute) return;
  const auto expect = [](const TensorType& type, const char* what) {
    if (type.element == ElementType::Undefined && type.container == Container::Tensor)
      throw RuleStop{RuleStop::Kind::UnknownInput, cat("the element type of ", what, " is not known")};
  };
  for (const ValueInfo* input : state.inputs)
    if (input != nullptr) expect(input->type, "an input");
  for (std::size_t i = 0; i < state.outputs.size(); ++i)
    if (state.node.outputs[i] != kAbsent) expect(state.outputs[i].type, "an output");
}

}  // namespace

void Walker::visit_rule(Frame& frame, const OpRule& rule, OpContext::State& state) {
  OpContext op(state);
  if (session_.reads != nullptr) session_.reads->node = {frame.id, frame.node};
  if (session_.fixed) {
    session_.yielded.clear();
    session_.has_weights = has_weights(state);
  }
  if (state.custom != nullptr)
    ops::infer_custom(*state.custom, op);
  else
    rule.infer(op);
  if (session_.fixed) {
    yield_stored(frame, state);
    for (const ValueInfo& output : state.outputs)
      if (output.type.shape) session_.see(*output.type.shape);
  }
  store_outputs(frame, state);
  const ElementType narrow = dequantized_from(state);
  if (session_.reads != nullptr) session_.reads->folds = true;
  const bool folds = rule.fold != nullptr && !gives_up([&] { rule.fold(op); });
  if (session_.reads != nullptr) session_.reads->folds = false;
  if (rule.fold != nullptr && !folds)
    for (ValueInfo& output : state.outputs) {  // their types are still known
      output.computed_value.reset();
      output.banded.reset();
    }
  mark_placement(rule, state);
  if (state.node.op_type == "Constant" && state.outputs.size() == 1) {
    state.outputs[0].tensor_graph = frame.id;
    state.outputs[0].tensor = tensor_in_node(frame.node);
    if (const Tensor* tensor = state.node.constant()) state.outputs[0].unread = tensor->unread;
  }
  NodeReport row = row_of(frame, state);
  if (!state.outputs.empty() && state.outputs[0].constant) {
    row.cost.mark = Mark::Folded;
    // Counted once per node and scope. Nodes without inputs only create tensors, which is part of loading. A value of
    // unknown work is stored all the same.
    if (!state.inputs.empty() && counted_at_load_.emplace(frame.id, frame.node, frame.scope).second)
      (void)gives_up([&] { at_load_ += cost_of(rule, state); });
  } else if (!state.outputs.empty() && state.outputs[0].host) {
    row.cost.mark = Mark::Host;
  } else {
    row.cost = cost_of(rule, state);
    expect_known_elements(state, row.cost);
    if (row.cost.macs != Dim(0)) row.dequantized_from = narrow;
    check_batch(state);
  }
  if (!state.outputs.empty() && state.facts.kind != OpKind::Product) state.outputs[0].dequantized_from = narrow;
  count_parameters(row, state);
  frame.rows.push_back(std::move(row));
  add_modifiers(frame, state);
}

// Decides whether the node is evaluated before the first run (constant) or on the host (shape arithmetic). Neither may
// depend on whether a free dim was bound, so that formulas and bound numbers agree.
void Walker::mark_placement(const OpRule& rule, OpContext::State& state) const {
  if (state.facts.placement == Placement::NeverFolded) return;
  const bool asks_shape = state.facts.placement == Placement::AsksShape;
  bool constant = true;
  bool host = asks_shape;
  bool host_or_constant = true;
  for (const ValueInfo* input : state.inputs) {
    if (input == nullptr) continue;
    constant = constant && input->constant;
    host = host || input->host;
    host_or_constant = host_or_constant && (input->host || input->constant);
  }
  // The shape of a host vector is its length, which does not depend on any size.
  if (asks_shape) {
    constant = host_or_constant;
    host_or_constant = true;
  }
  host =
      !constant && host && host_or_constant && rule.fold != nullptr && state.facts.placement != Placement::Materialises;
  for (const ValueInfo& output : state.outputs) {
    const TensorType& type = output.type;
    const bool is_short =
        type.shape && type.shape->size() <= 1 &&
        (type.shape->empty() || type.shape->front().value().value_or(kMaxHostElements + 1) <= kMaxHostElements);
    host = host && is_short && (is_integer(type.element) || type.element == ElementType::Bool);
  }
  for (ValueInfo& output : state.outputs) {
    output.constant = constant;
    output.host = host;
  }
}

// Uses the file's declared type where inference found nothing, or only a fresh symbol.
void Walker::adopt_declared(const Frame& frame, OpContext::State& state, std::size_t first_symbol) {
  const bool sizes_hold = !session_.fixed;
  for (std::size_t i = 0; i < state.outputs.size(); ++i) {
    const ValueId id = state.node.outputs[i];
    if (id == kAbsent) continue;
    const TensorType& declared = frame.graph.value(id).declared;
    TensorType& type = state.outputs[i].type;
    if (type.element == ElementType::Undefined) type.element = declared.element;
    if (!state.output_set[i]) {
      type.container = declared.container;
      type.key = declared.key;
    }
    if (!sizes_hold || !declared.shape) continue;
    if (!type.shape) {
      // Only sizes that mean the same here: numbers, and dims that the inputs name.
      Shape shape;
      for (const Dim& dim : *declared.shape) {
        const auto is_unknown = [&](const std::string& name) { return !session_.input_dims.contains(name); };
        shape.push_back(any_symbol(dim, is_unknown) ? session_.fresh(dim.to_string(), state.display_name,
                                                                     "a size that only the file declares", std::nullopt)
                                                    : dim.bind(options_.dims));
      }
      type.shape = std::move(shape);
      continue;
    }
    if (declared.shape->size() != type.shape->size() || first_symbol == session_.symbols.size()) continue;
    for (std::size_t axis = 0; axis < type.shape->size(); ++axis) {
      Dim& dim = (*type.shape)[axis];
      const Dim& stated = (*declared.shape)[axis];
      if (!stated.is_constant() || !dim.is_symbol()) continue;
      const std::string name = dim.to_string();
      for (std::size_t s = first_symbol; s < session_.symbols.size(); ++s)
        if (session_.symbols[s].name == name) {
          (void)session_.unify(dim, stated, state.display_name);
          dim = stated;
        }
    }
  }
}

}  // namespace pagoda::inline core
