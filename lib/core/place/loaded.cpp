// The graph that a provider is asked about: its nodes and links, the runtime's order, and what became of the file's
// nodes.
#include "place/loaded.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

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
      analysis_(analysis),
      constant_(graph_.values.size(), false),
      output_(graph_.values.size(), false),
      unranked_(graph_.values.size(), false),
      vague_(graph_.values.size(), false),
      writer_(graph_.values.size(), -1),
      readers_(graph_.values.size()) {
  for (std::size_t i = 0; i < graph_.values.size(); ++i) {
    const auto value = static_cast<ValueId>(i);
    constant_[i] =
        is_stored(value) || (graph_.is_stored(value) && model.ir_version > 0 && model.ir_version < kOverridable);
  }
  for (const ValueId output : graph_.outputs)
    if (output != kAbsent) output_[at(output)] = true;
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    const Node& from = graph_.nodes[n];
    LoadedNode& node = nodes_.emplace_back();
    node.file = static_cast<std::int32_t>(n);
    node.like = &from;
    node.op = from.op_type;
    node.domain = plain_domain(from.domain);
    node.inputs.assign(from.inputs.begin(), from.inputs.end());
    node.outputs.assign(from.outputs.begin(), from.outputs.end());
    const std::vector<GraphId> bodies = from.bodies();
    node.has_bodies = !bodies.empty();
    for (const GraphId body : bodies) find_captured(body, node.captured);
    const bool is_stored = node.op == "Constant" && is_plain(node);
    node.is_gone = is_stored;
    if (!is_stored) link(node.file);
    if (!is_stored) continue;
    const Tensor* tensor = from.constant();
    for (const ValueId output : node.outputs) {
      if (output == kAbsent) continue;
      constant_[at(output)] = true;
      if (tensor == nullptr) continue;
      tensors_.emplace(output, tensor);
      if (tensor->value) constants_.emplace(output, &*tensor->value);
    }
  }
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

bool LoadedGraph::is_fixed(ValueId value) const {
  const Shape* sizes = shape(value);
  return sizes != nullptr && !vague_[at(value)] &&
         std::ranges::all_of(*sizes, [](const Dim& size) { return size.is_constant(); });
}

std::optional<std::size_t> LoadedGraph::wide_rank(ValueId value) const {
  const Shape* sizes = shape(value);
  if (sizes == nullptr) return std::nullopt;
  const auto ones = vague_[at(value)] ? 0 : std::ranges::count(*sizes, Dim(1));
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

void LoadedGraph::expand(const Provider& provider) {
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    LoadedNode& each = nodes_[n];
    if (each.is_gone || !is_defined_by_others(each)) continue;
    const auto found = provider.operators.find(each.op);
    if (found != provider.operators.end() && !found->second.kernels.empty()) continue;
    if (each.op != "CastLike") {
      each.is_expanded = true;
      continue;
    }
    LoadedNode cast = made_node("Cast", {each.inputs[0]}, each.outputs);
    remove(static_cast<std::int32_t>(n));
    add_node(std::move(cast));
  }
  split_dequantised();
}

const TensorValue* LoadedGraph::known(ValueId value) const {
  if (value == kAbsent) return nullptr;
  if (!is_made(value)) {
    const std::int32_t stored = graph_.value(value).initializer;
    const auto& held = stored < 0 ? analysis_.values[at(value)] : graph_.initializers[at(stored)].value;
    if (held) return &*held;
  }
  const auto written = constants_.find(value);
  return written == constants_.end() ? nullptr : written->second;
}

std::string LoadedGraph::left_out(ValueId value) const {
  constexpr std::int64_t kShared = 8;  // a skeleton compares no larger ones
  if (value == kAbsent || is_made(value) || !is_constant(value)) return "";
  const std::int32_t stored = graph_.value(value).initializer;
  const auto written = tensors_.find(value);
  const Tensor* tensor = stored >= 0                 ? &graph_.initializers[at(stored)]
                         : written == tensors_.end() ? nullptr
                                                     : written->second;
  if (tensor == nullptr || tensor->value || !tensor->extent.location.empty() || tensor->extent.offset == 0 ||
      !tensor->type.shape || element_count(*tensor->type.shape).value64().value_or(kShared + 1) > kShared)
    return "";
  return cat("@", to_string(tensor->type), ":", tensor->extent.offset);
}

void LoadedGraph::link(std::int32_t id) {
  order_.clear();
  const LoadedNode& each = node(id);
  for (const ValueId output : each.outputs)
    if (output != kAbsent) writer_[at(output)] = id;
  for (const std::vector<ValueId>* values : {&each.inputs, &each.captured})
    for (const ValueId value : *values) {
      if (value == kAbsent) continue;
      std::vector<std::int32_t>& list = readers_[at(value)];
      const auto place = std::ranges::lower_bound(list, id);
      if (place == list.end() || *place != id) list.insert(place, id);
    }
}

ValueId LoadedGraph::add_value(ValueId original, TensorType type, bool is_constant) {
  const auto value = static_cast<ValueId>(constant_.size());
  constant_.push_back(is_constant);
  output_.push_back(false);
  unranked_.push_back(unranked_[at(original)]);
  vague_.push_back(vague_[at(original)]);
  writer_.push_back(-1);
  readers_.emplace_back();
  originals_.push_back(this->original(original));
  retyped_.emplace(value, std::move(type));
  return value;
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
                               [&](ValueId value) { return value != kAbsent && !readers_[at(value)].empty(); });
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
  if (value == kAbsent || output_[at(value)]) return -1;
  const std::vector<std::int32_t>& found = readers(value);
  if (found.size() != 1) return -1;
  const LoadedNode& reader = node(found.front());
  const bool is_once = std::ranges::count(reader.inputs, value) == 1 && reader.captured.empty();
  return is_once ? found.front() : -1;
}

bool LoadedGraph::produces_output(const LoadedNode& each) const {
  return std::ranges::any_of(each.outputs, [&](ValueId value) { return value != kAbsent && output_[at(value)]; });
}

void LoadedGraph::replace(ValueId from, ValueId to) {
  order_.clear();
  const std::vector<std::int32_t> all = std::exchange(readers_[at(from)], {});
  for (const std::int32_t id : all) {
    for (std::vector<ValueId>* values : {&node(id).inputs, &node(id).captured}) std::ranges::replace(*values, from, to);
    link(id);
  }
}

void LoadedGraph::set_input(std::int32_t id, std::size_t i, ValueId value) {
  order_.clear();
  const ValueId old = std::exchange(node(id).inputs[i], value);
  const auto reads = [&](const std::vector<ValueId>& values) { return std::ranges::find(values, old) != values.end(); };
  if (old != kAbsent && !reads(node(id).inputs) && !reads(node(id).captured)) std::erase(readers_[at(old)], id);
  link(id);
}

void LoadedGraph::remove(std::int32_t id) {
  order_.clear();
  node(id).is_gone = true;
  for (const ValueId output : node(id).outputs)
    if (output != kAbsent && writer_[at(output)] == id) writer_[at(output)] = -1;
  for (const std::vector<ValueId>* values : {&node(id).inputs, &node(id).captured})
    for (const ValueId value : *values)
      if (value != kAbsent) std::erase(readers_[at(value)], id);
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
  remove(into);
  remove(next);
  node(into).is_gone = false;
  node(into).outputs = node(next).outputs;
  link(into);
}

std::vector<bool> LoadedGraph::computed() const {
  std::vector<bool> known = constant_;
  const auto is_known = [&](ValueId value) { return value == kAbsent || known[at(value)]; };
  for (const std::int32_t id : order())
    if (std::ranges::all_of(node(id).inputs, is_known) && std::ranges::all_of(node(id).captured, is_known))
      for (const ValueId output : node(id).outputs)
        if (output != kAbsent) known[at(output)] = true;
  return known;
}

std::vector<bool> LoadedGraph::constant_in_file() const {
  std::vector<bool> known(graph_.values.size());
  for (std::size_t i = 0; i < known.size(); ++i) known[i] = is_stored(static_cast<ValueId>(i));
  const auto is_known = [&](ValueId value) { return value == kAbsent || known[at(value)]; };
  for (const Node& from : graph_.nodes) {
    std::vector<ValueId> reads(from.inputs.begin(), from.inputs.end());
    for (const GraphId body : from.bodies()) find_captured(body, reads);
    if (is_random(from.op_type) || !std::ranges::all_of(reads, is_known)) continue;
    for (const ValueId output : from.outputs)
      if (output != kAbsent) known[at(output)] = true;
  }
  return known;
}

std::vector<bool> LoadedGraph::covered(const std::vector<ValueId>& copied) const {
  std::vector<bool> is_present(constant_.size(), false), is_covered(graph_.nodes.size(), false);
  std::vector<std::int32_t> made(graph_.values.size(), -1);  // by the file's nodes
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
    for (const ValueId output : graph_.nodes[n].outputs)
      if (output != kAbsent) made[at(output)] = static_cast<std::int32_t>(n);
  for (const LoadedNode& each : nodes_)
    if (!each.is_gone)
      for (const ValueId output : each.outputs)
        if (output != kAbsent) is_present[at(output)] = true;
  const auto walk = [&](const std::vector<ValueId>& outputs, const std::vector<ValueId>& inputs) {
    std::set<std::int32_t> seen;
    std::vector<std::int32_t> todo;
    const auto add = [&](ValueId value) {
      if (value != kAbsent && !is_made(value) && made[at(value)] >= 0 && seen.insert(made[at(value)]).second)
        todo.push_back(made[at(value)]);
    };
    for (const ValueId output : outputs) add(output);
    while (!todo.empty()) {
      const std::int32_t id = todo.back();
      todo.pop_back();
      is_covered[at(id)] = true;
      const Node& from = graph_.node(id);
      std::vector<ValueId> reads(from.inputs.begin(), from.inputs.end());
      for (const GraphId body : from.bodies()) find_captured(body, reads);
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

std::vector<Fate> LoadedGraph::fates(const std::vector<bool>& is_covered_later) const {
  const auto is_half = [&](ValueId value) {
    return value != kAbsent && is_float(type(value).element) && bits(type(value).element) == 16;
  };
  // The runtime's graph for the CPU has a Cast behind halves that it cannot compute, and behind one node between such.
  const auto lacks = [&](std::int32_t id) { return id >= 0 && !runs_halves_on_cpu(node(id).op); };
  const auto is_between = [&](const LoadedNode& each) {
    return std::ranges::all_of(each.inputs, [&](ValueId value) { return !is_half(value) || lacks(writer(value)); }) &&
           std::ranges::all_of(each.outputs, [&](ValueId value) {
             return !is_half(value) || (!output_[at(value)] && std::ranges::all_of(readers(value), lacks));
           });
  };
  std::vector<ValueId> cast;
  for (const LoadedNode& each : nodes_)
    if (!each.is_gone && (!runs_halves_on_cpu(each.op) || is_between(each)))
      std::ranges::copy_if(each.outputs, std::back_inserter(cast), is_half);
  const std::vector<bool> computed = constant_in_file(), is_covered = covered(cast);
  std::vector<Fate> fates(graph_.nodes.size(), Fate::Folded);
  for (std::size_t n = 0; n < fates.size(); ++n) {
    const bool is_constant = std::ranges::all_of(
        graph_.nodes[n].outputs, [&](ValueId value) { return value == kAbsent || computed[at(value)]; });
    if (!is_constant && (is_covered[n] || (!is_covered_later.empty() && is_covered_later[n]))) fates[n] = Fate::Fused;
  }
  for (const LoadedNode& each : nodes_)
    if (!each.is_gone && each.file >= 0) fates[at(each.file)] = Fate::Kept;
  return fates;
}

}  // namespace pagoda::inline core
