#include "place/units.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "ops/shape_math.h"
#include "place/conditions.h"

namespace pagoda::inline core {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

// The number of a stored tensor of one element.
std::optional<double> number_of(const LoadedGraph& loaded, ValueId value) {
  const TensorValue* held = loaded.is_constant(value) ? loaded.known(value) : nullptr;
  if (held == nullptr || held->size() != 1) return std::nullopt;
  return ops::as_real(held->front());
}

ValueId input_of(const LoadedNode& node, std::size_t i) { return i < node.inputs.size() ? node.inputs[i] : kAbsent; }

}  // namespace

NodeUnits::NodeUnits(const LoadedGraph& loaded, const std::vector<ProviderUnit>& kinds)
    : loaded_(loaded), of_(loaded.nodes().size()), left_(loaded.nodes().size(), false) {
  const std::vector<LoadedNode>& nodes = loaded_.nodes();
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].is_gone || kinds.empty()) continue;
    const auto id = static_cast<std::int32_t>(n);
    const std::string name = qualified_name(nodes[n]);
    NodeUnit unit;
    for (const ProviderUnit& kind : kinds)
      if (std::ranges::find(kind.operators, name) != kind.operators.end() && find(id, kind, unit)) {
        add(std::move(unit));
        break;
      }
  }
  // A node with its own unit, or a DequantizeLinear whose first reader has one, is judged there.
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const auto id = static_cast<std::int32_t>(n);
    if (nodes[n].is_gone) continue;
    if (!of_[n].empty()) {
      if (!dequantises(nodes[n])) continue;
      const ValueId result = nodes[n].outputs.front();
      const std::int32_t first = loaded_.readers(result).front();
      if (!loaded_.is_output(result) && std::ranges::find(of_[at(first)], of_[n].front()) != of_[at(first)].end())
        continue;
      of_[n].clear();
    }
    NodeUnit alone{.node = id, .before = {}, .behind = {}, .inputs = {}, .outputs = {}};
    for (const ValueId value : nodes[n].inputs) alone.inputs.push_back({value, false});
    for (const ValueId value : nodes[n].outputs) alone.outputs.push_back({value, false});
    add(std::move(alone));
  }
}

void NodeUnits::add(NodeUnit unit) {
  of_[at(unit.node)].push_back(units_.size());
  for (const std::vector<std::int32_t>* nodes : {&unit.before, &unit.behind})
    for (const std::int32_t each : *nodes) of_[at(each)].push_back(units_.size());
  units_.push_back(std::move(unit));
}

// The Relu or Clip that alone reads the node, unless the QuantizeLinear behind it can hold values that it cuts off.
std::int32_t NodeUnits::needless_activation(std::int32_t id) const {
  const LoadedNode& node = loaded_.nodes()[at(id)];
  if (node.outputs.size() != 1 || loaded_.readers(node.outputs.front()).size() != 1) return -1;
  const std::int32_t next = loaded_.readers(node.outputs.front()).front();
  const LoadedNode& activation = loaded_.nodes()[at(next)];
  const bool is_clip = activation.op == "Clip";
  if ((!is_clip && activation.op != "Relu") || activation.outputs.size() != 1) return -1;
  const ValueId result = activation.outputs.front();
  if (loaded_.is_output(result) || loaded_.readers(result).size() != 1) return -1;
  const LoadedNode& reader = loaded_.nodes()[at(loaded_.readers(result).front())];
  if (!quantises(reader)) return next;
  const auto scale = number_of(loaded_, input_of(reader, 1));
  const auto zero = input_of(reader, 2) == kAbsent ? std::optional<double>(0) : number_of(loaded_, input_of(reader, 2));
  const ElementType type = loaded_.type(reader.outputs.front()).element;
  const bool is_signed = type == ElementType::Int8 || type == ElementType::Int16 || type == ElementType::Int4;
  const double count = std::exp2(bits(type)), least = is_signed ? -count / 2 : 0;
  double from = 0, to = std::numeric_limits<double>::max();
  if (is_clip) {
    from = number_of(loaded_, input_of(activation, 1)).value_or(-to);
    to = number_of(loaded_, input_of(activation, 2)).value_or(to);
  }
  // A skeleton keeps a zero point at the end of the range.
  const bool is_inside = zero ? *zero > least : !loaded_.left_out(input_of(reader, 2)).empty();
  if (!scale || !zero) return is_inside && from >= 0 ? -1 : next;
  return *scale * (least - *zero) < from || *scale * (least + count - 1 - *zero) > to ? -1 : next;
}

// Two nodes that quantise alike, or whose numbers are not in the file.
bool NodeUnits::has_same_scale(const LoadedNode& a, const LoadedNode& b) const {
  for (const std::size_t i : {1, 2}) {
    const ValueId x = input_of(a, i), y = input_of(b, i);
    if (x == y) continue;
    const auto first = x == kAbsent ? 0 : number_of(loaded_, x), second = y == kAbsent ? 0 : number_of(loaded_, y);
    if (first && second && *first != *second) return false;
    const std::string left = loaded_.left_out(x), right = loaded_.left_out(y);
    if ((!left.empty() || !right.empty()) && left != right) return false;
    if ((x != kAbsent && !loaded_.is_constant(x)) || (y != kAbsent && !loaded_.is_constant(y))) return false;
  }
  return true;
}

bool NodeUnits::find(std::int32_t id, const ProviderUnit& kind, NodeUnit& unit) const {
  const std::vector<LoadedNode>& nodes = loaded_.nodes();
  const LoadedNode& node = nodes[at(id)];
  unit = {.node = id, .before = {}, .behind = {}, .inputs = {}, .outputs = {}};
  for (const ValueId value : node.inputs) {
    const std::int32_t writer = loaded_.writer(value);
    const bool is_quantised = writer >= 0 && dequantises(nodes[at(writer)]);
    if (is_quantised) unit.before.push_back(writer);
    unit.inputs.push_back({is_quantised ? nodes[at(writer)].inputs.front() : value, is_quantised});
  }
  const std::size_t most = kind.most < 0 ? node.inputs.size() : at(kind.most);
  const std::size_t least = kind.least < 0 ? node.inputs.size() : at(kind.least);
  if (unit.before.empty() || unit.before.size() < least || unit.before.size() > most) return false;
  for (const std::int32_t i : kind.dequantised)
    if (at(i) >= unit.inputs.size() || !unit.inputs[at(i)].is_quantised) return false;

  const std::int32_t activation = needless_activation(id);
  if (activation >= 0 && !kind.takes_activation) return false;
  if (activation >= 0) unit.behind.push_back(activation);
  std::size_t readers = 0, quantised = 0;
  for (const ValueId value : nodes[at(activation >= 0 ? activation : id)].outputs) {
    NodeUnit::Operand operand{value, false};
    if (value == kAbsent) continue;
    for (const std::int32_t reader : loaded_.readers(value)) {
      ++readers;
      if (!quantises(nodes[at(reader)])) continue;
      ++quantised;
      unit.behind.push_back(reader);
      operand = {nodes[at(reader)].outputs.front(), true};
      if (kind.has_one_scale && !has_same_scale(nodes[at(unit.before.front())], nodes[at(reader)])) return false;
    }
    unit.outputs.push_back(operand);
  }
  if (quantised == 0) return kind.has_free_outputs;
  if (quantised != unit.outputs.size() || quantised != readers) return false;
  if (std::ranges::any_of(node.outputs, [&](ValueId value) { return value != kAbsent && loaded_.is_output(value); }))
    return false;
  const auto element = [&](const NodeUnit::Operand& operand) { return loaded_.type(operand.value).element; };
  for (std::size_t i = 0; i < unit.inputs.size(); ++i) {
    const bool is_typed =
        kind.typed.empty() || std::ranges::find(kind.typed, static_cast<std::int32_t>(i)) != kind.typed.end();
    if (is_typed && unit.inputs[i].is_quantised)
      for (const NodeUnit::Operand& output : unit.outputs)
        if (element(output) != element(unit.inputs[i])) return false;
  }
  return true;
}

std::int32_t NodeUnits::writer(ValueId value) const {
  const std::int32_t writer = loaded_.writer(value);
  return writer < 0 ? -1 : units_[of(writer)].node;
}

std::vector<std::int32_t> NodeUnits::readers(ValueId value) const {
  std::vector<std::int32_t> found;
  for (const std::int32_t reader : loaded_.readers(value))
    for (const std::size_t unit : of_[at(reader)]) found.push_back(units_[unit].node);
  return found;
}

}  // namespace pagoda::inline core
