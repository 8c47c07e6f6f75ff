// The graph that a provider is asked about: its nodes and links, the runtime's order, and what became of the file's
// nodes.
#include "place/loaded.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "graph/index.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"

namespace pagoda::inline core {
namespace {

// Since this version of the format, an input of the model overrides a stored tensor of its name.
constexpr std::int64_t kOverridable = 4;

}  // namespace

std::optional<std::vector<std::string>> texts_of(const TensorValue& value) {
  std::vector<std::string> texts;
  for (const Scalar& each : value) {
    if (const auto* real = std::get_if<double>(&each))
      texts.push_back(base::shortest(*real));
    else if (const auto whole = integer_of(each))
      texts.push_back(std::to_string(*whole));
    else
      return std::nullopt;
  }
  return texts;
}

std::optional<std::vector<std::string>> texts_of(const Attribute& attribute) {
  std::vector<std::string> texts;
  if (const auto* whole = std::get_if<std::int64_t>(&attribute.value))
    texts.push_back(std::to_string(*whole));
  else if (const auto* real = std::get_if<double>(&attribute.value))
    texts.push_back(base::shortest(*real));
  else if (const auto* text = std::get_if<std::string>(&attribute.value))
    texts.push_back(*text);
  else if (const auto* words = std::get_if<std::vector<std::string>>(&attribute.value))
    texts = *words;
  else if (const auto* wholes = std::get_if<std::vector<std::int64_t>>(&attribute.value))
    for (const std::int64_t each : *wholes) texts.push_back(std::to_string(each));
  else if (const auto* reals = std::get_if<std::vector<double>>(&attribute.value))
    for (const double each : *reals) texts.push_back(base::shortest(each));
  else if (const auto* tensor = std::get_if<Tensor>(&attribute.value); tensor != nullptr && tensor->value)
    return texts_of(*tensor->value);
  else
    return std::nullopt;
  return texts;
}

LoadedGraph::LoadedGraph(const Model& model, const Analysis& analysis)
    : model_(model),
      graph_(model.main()),
      values_(graph_.values.size()),
      producers_(producers_of(graph_)) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const auto value = static_cast<ValueId>(i);
    LoadedValue& each = values_[i];
    each.original = value;
    each.type = &analysis.types[i];
    each.is_constant =
        is_stored(value) || (graph_.is_stored(value) && model.ir_version > 0 && model.ir_version < kOverridable);
    const Tensor* tensor = tensor_of(value);
    if (tensor != nullptr) each.known = tensor->value.get();
    if (!graph_.is_stored(value) && analysis.values[i]) each.known = analysis.values[i].get();
  }
  for (const ValueId output : graph_.outputs)
    if (output != kAbsent) values_[at(output)].is_output = true;
  nodes_.reserve(graph_.nodes.size());
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    const Node& from = graph_.nodes[n];
    LoadedNode& node = nodes_.emplace_back();
    node.file = static_cast<std::int32_t>(n);
    node.like = &from;
    node.op = from.op_type;
    node.domain = plain_domain(from.domain);
    node.is_gone = node.op == "Constant" && is_plain(node);
    if (node.is_gone) {
      for (const ValueId output : from.outputs)
        if (output != kAbsent) values_[at(output)].is_constant = true;
      continue;
    }
    node.inputs.assign(from.inputs.begin(), from.inputs.end());
    node.outputs.assign(from.outputs.begin(), from.outputs.end());
    const std::vector<GraphId> bodies = from.bodies();
    node.has_bodies = !bodies.empty();
    for (const GraphId body : bodies) find_captured(body, node.captured);
    link(node.file);
  }
}

const Tensor* LoadedGraph::tensor_of(ValueId value) const {
  if (value == kAbsent || is_made(value)) return nullptr;
  if (graph_.is_stored(value)) return &graph_.initializer(graph_.value(value).initializer);
  const std::int32_t producer = producers_[at(value)];
  return producer < 0 ? nullptr : graph_.node(producer).constant();
}

// The values of the main graph that the body and its own bodies read.
void LoadedGraph::find_captured(GraphId body, std::vector<ValueId>& values) const {
  for (const Value& value : model_.graph(body).values)
    if (ValueId outer = value.outer; outer != kAbsent) {
      for (GraphId up = model_.graph(body).parent; up > 0 && outer != kAbsent; up = model_.graph(up).parent)
        outer = model_.graph(up).value(outer).outer;
      if (outer != kAbsent) values.push_back(outer);
    }
  for (const Node& node : model_.graph(body).nodes)
    for (const GraphId inner : node.bodies()) find_captured(inner, values);
}

void LoadedGraph::find_reads(const Node& node, std::vector<ValueId>& values) const {
  values.assign(node.inputs.begin(), node.inputs.end());
  for (const GraphId body : node.bodies()) find_captured(body, values);
}

bool LoadedGraph::is_fixed(ValueId value) const {
  const Shape* sizes = shape(value);
  return sizes != nullptr && !is_vague(value) &&
         std::ranges::all_of(*sizes, [](const Dim& size) { return size.is_constant(); });
}

std::optional<std::size_t> LoadedGraph::wide_rank(ValueId value) const {
  const Shape* sizes = shape(value);
  if (sizes == nullptr) return std::nullopt;
  const auto ones = is_vague(value) ? 0 : std::ranges::count(*sizes, Dim(1));
  return sizes->size() - static_cast<std::size_t>(ones);
}

bool is_defined_by_others(const LoadedNode& node) {
  constexpr std::string_view kDefined[] = {"Bernoulli",
                                           "CastLike",
                                           "CenterCropPad",
                                           "GroupNormalization",
                                           "HardSwish",
                                           "Mish",
                                           "NegativeLogLikelihoodLoss",
                                           "SequenceMap",
                                           "SoftmaxCrossEntropyLoss",
                                           "Swish"};
  return is_plain(node) && std::ranges::find(kDefined, node.op) != std::end(kDefined);
}

void LoadedGraph::expand(const Provider& provider, PlacementForm form) {
  const bool is_asked_first = form == PlacementForm::Plain && provider.compiles_parts;
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    LoadedNode& each = nodes_[n];
    if (each.is_gone || !is_defined_by_others(each)) continue;
    const std::optional<ProviderOperator> known = provider.operators(each.op);
    if (known && !known->kernels.empty()) continue;
    if (is_asked_first || each.op != "CastLike") {
      each.is_expanded = !is_asked_first;
      continue;
    }
    LoadedNode cast = made_node("Cast", {each.inputs[0]}, each.outputs);
    remove(static_cast<std::int32_t>(n));
    add_node(std::move(cast));
  }
  split_dequantised();
}

std::string LoadedGraph::left_out(ValueId value) const {
  constexpr std::int64_t kShared = 8;  // a skeleton compares no larger ones
  const Tensor* tensor = is_constant(value) ? tensor_of(value) : nullptr;
  if (tensor == nullptr || tensor->value || !tensor->extent.location.empty() || tensor->extent.offset == 0 ||
      !tensor->type.shape || element_count(*tensor->type.shape).value64().value_or(kShared + 1) > kShared)
    return "";
  return cat("@", to_string(tensor->type), ":", tensor->extent.offset);
}

void LoadedGraph::link(std::int32_t id) {
  order_.clear();
  const LoadedNode& each = node(id);
  for (const ValueId output : each.outputs)
    if (output != kAbsent) values_[at(output)].writer = id;
  for (const std::vector<ValueId>* values : {&each.inputs, &each.captured})
    for (const ValueId value : *values) {
      if (value == kAbsent) continue;
      std::vector<std::int32_t>& list = values_[at(value)].readers;
      const auto place = std::ranges::lower_bound(list, id);
      if (place == list.end() || *place != id) list.insert(place, id);
    }
}

ValueId LoadedGraph::add_value(ValueId original, TensorType type, bool is_constant) {
  const auto value = static_cast<ValueId>(values_.size());
  LoadedValue& made = values_.emplace_back();
  const LoadedValue& from = values_[at(original)];
  made.original = from.original;
  made.is_constant = is_constant;
  made.vague = from.vague;
  made.is_unranked = from.is_unranked;
  retype(value, std::move(type));
  return value;
}

void LoadedGraph::retype(ValueId value, TensorType type) {
  values_[at(value)].type = &made_types_.emplace_back(std::move(type));
}

std::int32_t LoadedGraph::add_node(LoadedNode node) {
  nodes_.push_back(std::move(node));
  const auto id = static_cast<std::int32_t>(nodes_.size()) - 1;
  link(id);
  return id;
}

std::int32_t LoadedGraph::add_node(LoadedNode node, ValueId original, TensorType type) {
  node.outputs = {add_value(original, std::move(type))};
  return add_node(std::move(node));
}

const std::vector<std::int32_t>& LoadedGraph::order() const {
  if (!order_.empty()) return order_;
  std::vector<std::int32_t>& order = order_;
  std::vector<std::pair<std::int32_t, bool>> stack;  // a node, and whether what it reads was entered
  std::vector<bool> is_entered(nodes_.size(), false);
  std::vector<std::int32_t> before;
  const auto is_read = [&](const LoadedNode& each) {
    return std::ranges::any_of(each.outputs,
                               [&](ValueId value) { return value != kAbsent && !values_[at(value)].readers.empty(); });
  };
  for (std::size_t n = 0; n < nodes_.size(); ++n)
    if (!nodes_[n].is_gone && !is_read(nodes_[n])) stack.emplace_back(static_cast<std::int32_t>(n), false);
  while (!stack.empty()) {
    const auto [id, is_done] = stack.back();
    stack.pop_back();
    if (is_done) order.push_back(id);
    if (is_done || is_entered[at(id)]) continue;
    is_entered[at(id)] = true;
    stack.emplace_back(id, true);
    before.clear();
    for (const std::vector<ValueId>* values : {&node(id).inputs, &node(id).captured})
      for (const ValueId value : *values)
        if (writer(value) >= 0) before.push_back(writer(value));
    std::ranges::sort(before);
    for (const std::int32_t each : before)
      if (!is_entered[at(each)]) stack.emplace_back(each, false);
  }
  return order;
}

std::int32_t LoadedGraph::only_reader(ValueId value) const {
  if (value == kAbsent || values_[at(value)].is_output) return -1;
  const std::vector<std::int32_t>& found = readers(value);
  if (found.size() != 1) return -1;
  const LoadedNode& reader = node(found.front());
  const bool is_once = std::ranges::count(reader.inputs, value) == 1 && reader.captured.empty();
  return is_once ? found.front() : -1;
}

bool LoadedGraph::produces_output(const LoadedNode& each) const {
  return std::ranges::any_of(each.outputs, [&](ValueId value) { return value != kAbsent && values_[at(value)].is_output; });
}

void LoadedGraph::replace(ValueId from, ValueId to) {
  order_.clear();
  const std::vector<std::int32_t> all = std::exchange(values_[at(from)].readers, {});
  for (const std::int32_t id : all) {
    for (std::vector<ValueId>* values : {&node(id).inputs, &node(id).captured}) std::ranges::replace(*values, from, to);
    link(id);
  }
}

void LoadedGraph::set_input(std::int32_t id, std::size_t i, ValueId value) {
  order_.clear();
  const ValueId old = std::exchange(node(id).inputs[i], value);
  const auto reads = [&](const std::vector<ValueId>& values) { return std::ranges::find(values, old) != values.end(); };
  if (old != kAbsent && !reads(node(id).inputs) && !reads(node(id).captured)) std::erase(values_[at(old)].readers, id);
  link(id);
}

void LoadedGraph::remove(std::int32_t id) {
  order_.clear();
  node(id).is_gone = true;
  for (const ValueId output : node(id).outputs)
    if (output != kAbsent && values_[at(output)].writer == id) values_[at(output)].writer = -1;
  for (const std::vector<ValueId>* values : {&node(id).inputs, &node(id).captured})
    for (const ValueId value : *values)
      if (value != kAbsent) std::erase(values_[at(value)].readers, id);
}

void LoadedGraph::remove_unread(std::int32_t id) {
  const LoadedNode& each = node(id);
  const auto is_read = [&](ValueId value) { return value != kAbsent && !readers(value).empty(); };
  if (each.is_gone || produces_output(each) || std::ranges::any_of(each.outputs, is_read)) return;
  const std::vector<ValueId> inputs = each.inputs;
  remove(id);
  for (const ValueId input : inputs)
    if (writer(input) >= 0) remove_unread(writer(input));
}

bool LoadedGraph::bypass(std::int32_t id, ValueId kept) {
  if (kept == kAbsent || produces_output(node(id))) return false;
  // The runtime takes only a lone input of the model past a node.
  const auto inputs = std::ranges::count_if(node(id).inputs, [](ValueId value) { return value != kAbsent; });
  if (writer(kept) < 0 && !is_constant(kept) && inputs > 1) return false;
  replace(node(id).outputs.front(), kept);
  remove(id);
  return true;
}

void LoadedGraph::fuse(std::int32_t into, std::int32_t next) {
  const std::vector<std::int32_t> files = files_of({next});
  node(into).made_of.insert(node(into).made_of.end(), files.begin(), files.end());
  remove(into);
  remove(next);
  node(into).is_gone = false;
  node(into).outputs = node(next).outputs;
  link(into);
}

std::vector<bool> LoadedGraph::computed() const {
  std::vector<bool> known;
  for (const LoadedValue& each : values_) known.push_back(each.is_constant);
  const auto is_known = [&](ValueId value) { return value == kAbsent || known[at(value)]; };
  for (const std::int32_t id : order())
    if (std::ranges::all_of(node(id).inputs, is_known) && std::ranges::all_of(node(id).captured, is_known))
      for (const ValueId output : node(id).outputs)
        if (output != kAbsent) known[at(output)] = true;
  return known;
}

std::vector<bool> LoadedGraph::constant_in_file() const {
  std::vector<bool> is_constant(graph_.nodes.size());
  std::vector<ValueId> reads;
  const auto is_known = [&](ValueId value) {
    return value == kAbsent || (producers_[at(value)] >= 0 ? is_constant[at(producers_[at(value)])] : is_stored(value));
  };
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (is_random(graph_.nodes[n].op_type)) continue;
    find_reads(graph_.nodes[n], reads);
    is_constant[n] = std::ranges::all_of(reads, is_known);
  }
  return is_constant;
}

std::vector<bool> LoadedGraph::covered(const std::vector<ValueId>& copied) const {
  std::vector<bool> is_present(values_.size(), false), is_covered(graph_.nodes.size(), false);
  std::vector<std::int32_t> last_walk(graph_.nodes.size(), 0);  // that came to the node
  std::int32_t walks = 0;
  std::vector<std::int32_t> todo;
  std::vector<ValueId> reads;
  for (const LoadedNode& each : nodes_)
    if (!each.is_gone)
      for (const ValueId output : each.outputs)
        if (output != kAbsent) is_present[at(output)] = true;
  const auto walk = [&](const std::vector<ValueId>& outputs, const std::vector<ValueId>& inputs) {
    ++walks;
    const auto add = [&](ValueId value) {
      const std::int32_t producer = value == kAbsent || is_made(value) ? -1 : producers_[at(value)];
      if (producer >= 0 && std::exchange(last_walk[at(producer)], walks) != walks) todo.push_back(producer);
    };
    for (const ValueId output : outputs) add(output);
    while (!todo.empty()) {
      const std::int32_t id = todo.back();
      todo.pop_back();
      is_covered[at(id)] = true;
      find_reads(graph_.node(id), reads);
      for (const ValueId value : reads)
        if (value != kAbsent && !is_present[at(value)] && std::ranges::find(inputs, value) == inputs.end()) add(value);
    }
  };
  for (const LoadedNode& each : nodes_)
    if (!each.is_gone)  // a CastLike runs as Cast, without its second operand
      walk(each.outputs, each.op == "CastLike" && !each.inputs.empty() ? std::vector{each.inputs[0]} : each.inputs);
  for (const ValueId value : copied) walk({value}, {});
  return is_covered;
}

std::vector<ValueId> LoadedGraph::cast_halves() const {
  const auto is_half = [&](ValueId value) {
    return value != kAbsent && is_float(type(value).element) && bits(type(value).element) == 16;
  };
  // There is a Cast behind halves that the CPU cannot compute, and behind one node between such.
  const auto lacks = [&](std::int32_t id) { return id >= 0 && !runs_halves_on_cpu(node(id).op); };
  const auto is_between = [&](const LoadedNode& each) {
    return std::ranges::all_of(each.inputs, [&](ValueId value) { return !is_half(value) || lacks(writer(value)); }) &&
           std::ranges::all_of(each.outputs, [&](ValueId value) {
             return !is_half(value) || (!values_[at(value)].is_output && std::ranges::all_of(readers(value), lacks));
           });
  };
  std::vector<ValueId> cast;
  for (const LoadedNode& each : nodes_)
    if (!each.is_gone && (!runs_halves_on_cpu(each.op) || is_between(each)))
      std::ranges::copy_if(each.outputs, std::back_inserter(cast), is_half);
  return cast;
}

}  // namespace pagoda::inline core
