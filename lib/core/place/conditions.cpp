#include "place/conditions.h"

#include <algorithm>
#include <cctype>

#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"

namespace pagoda::inline core {
namespace {

using Part = ProviderCondition::Part;
using Answer = std::optional<bool>;  // empty: not known

bool is_same_text(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

bool contains(const std::vector<std::string>& values, std::string_view text) {
  return std::ranges::find(values, text) != values.end();
}

double number_of(const std::string& text) {
  double number = 0;
  base::read_number(text.data(), text.data() + text.size(), number);
  return number;
}

// Tests of a list of elements: an attribute's, or a stored tensor's.
Answer ask_elements(const Part& part, const std::vector<std::string>& texts) {
  const std::size_t half = texts.size() / 2;
  switch (part.test) {
    case PlacementTest::In:
      return std::ranges::all_of(texts, [&](const std::string& text) { return contains(part.values, text); });
    case PlacementTest::Repeated:
      for (std::size_t i = 0; i < texts.size(); ++i)
        if (!is_same_text(texts[i], part.values[i % part.values.size()])) return false;
      return true;
    case PlacementTest::Even:
      return std::equal(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(half),
                        texts.begin() + static_cast<std::ptrdiff_t>(half));
    case PlacementTest::Above:
      return std::ranges::any_of(
          texts, [&](const std::string& text) { return number_of(text) > number_of(part.values.front()); });
    case PlacementTest::Below:
      return std::ranges::any_of(
          texts, [&](const std::string& text) { return number_of(text) < number_of(part.values.front()); });
    default:
      return std::nullopt;
  }
}

Answer ask_attribute(const Part& part, const NodeUnit& unit, const LoadedGraph& loaded) {
  const LoadedNode& node = loaded.nodes()[static_cast<std::size_t>(unit.node)];
  const Attribute* attribute = node.like == nullptr ? nullptr : node.like->attribute(part.attribute);
  if (part.test == PlacementTest::Present) return attribute != nullptr;
  if (attribute == nullptr && !part.otherwise) return std::nullopt;
  const std::vector<std::string> texts =
      attribute != nullptr ? texts_of(*attribute).value_or(std::vector<std::string>()) : std::vector{*part.otherwise};
  if (part.test != PlacementTest::LastAxis) return ask_elements(part, texts);
  const Shape* shape = unit.inputs.empty() ? nullptr : loaded.shape(unit.inputs.front().value);
  if (shape == nullptr) return std::nullopt;
  return texts.size() == 1 && (texts[0] == "-1" || texts[0] == std::to_string(shape->size() - 1));
}

// "float32", "seq(float32)", "optional(float32)"; empty: not known, or another container.
std::string name_of(const TensorType& type) {
  if (type.element == ElementType::Undefined) return "";
  switch (type.container) {
    case Container::Tensor:
      return std::string(to_string(type.element));
    case Container::Sequence:
      return cat("seq(", to_string(type.element), ")");
    case Container::Optional:
      return cat("optional(", to_string(type.element), ")");
    default:
      return "";
  }
}

bool has_zero(const Shape* shape) { return shape != nullptr && std::ranges::find(*shape, Dim(0)) != shape->end(); }

// Whether the runtime knows that a dim is zero. It goes by shapes that the file states, and does not follow sizes that
// nodes compute, such as those of a Split; the zero of an operand is then not known to its readers either.
bool is_empty(ValueId value, const LoadedGraph& loaded) {
  while (has_zero(loaded.shape(value))) {
    if (loaded.declared(value) != nullptr) return has_zero(loaded.declared(value));
    if (loaded.writer(value) < 0) return true;
    const std::vector<ValueId>& inputs = loaded.nodes()[static_cast<std::size_t>(loaded.writer(value))].inputs;
    const auto is_size = [&](ValueId input) {
      return input != kAbsent && !loaded.is_constant(input) && loaded.type(input).element == ElementType::Int64;
    };
    if (std::ranges::any_of(inputs, is_size)) return false;
    const auto from = std::ranges::find_if(inputs, [&](ValueId input) { return has_zero(loaded.shape(input)); });
    if (from == inputs.end()) return true;
    value = *from;
  }
  return false;
}

Answer ask_operand(const Part& part, NodeUnit::Operand operand, const NodeUnits& units) {
  const LoadedGraph& loaded = units.loaded();
  const ValueId value = operand.value;
  if (part.test == PlacementTest::Present) return value != kAbsent;
  if (value == kAbsent) return std::nullopt;
  const TensorType& type = loaded.type(value);
  const Shape* shape = loaded.shape(value);
  const auto is_listed = [&](std::int32_t id) {
    return contains(part.values, qualified_name(loaded.nodes()[static_cast<std::size_t>(id)]));
  };
  switch (part.test) {
    case PlacementTest::Constant:
      return loaded.is_constant(value);
    case PlacementTest::TypeIn:
      if (type.element == ElementType::Undefined) return std::nullopt;
      return contains(part.values, cat(operand.is_quantised ? "quantised " : "", name_of(type)));
    case PlacementTest::RankIn:
      if (shape == nullptr) return std::nullopt;
      return contains(part.values, std::to_string(shape->size()));
    case PlacementTest::DimIn:
      if (shape == nullptr) return std::nullopt;
      return std::ranges::any_of(*shape, [&](const Dim& dim) {
        const auto size = dim.value64();
        return size && contains(part.values, std::to_string(*size));
      });
    case PlacementTest::CountAbove: {
      const auto count = shape == nullptr ? std::nullopt : element_count(*shape).value();
      if (!count) return std::nullopt;
      return static_cast<double>(*count) > number_of(part.values.front());
    }
    case PlacementTest::Free:
      return !loaded.is_fixed(value);
    case PlacementTest::Empty:
      return is_empty(value, loaded);
    case PlacementTest::Named:
      return contains(part.values, loaded.name(value));
    case PlacementTest::WrittenBy:
      return units.writer(value) >= 0 && is_listed(units.writer(value));
    case PlacementTest::ReadBy:
      return std::ranges::any_of(units.readers(value), is_listed);
    case PlacementTest::OnlyReadBy:
      return !loaded.is_output(value) && std::ranges::all_of(units.readers(value), is_listed);
    case PlacementTest::ReadOnCpu:
      return std::ranges::any_of(units.readers(value),
                                 [&](std::int32_t id) { return is_listed(id) && units.is_on_cpu(id); });
    case PlacementTest::GraphInput:
      return loaded.writer(value) < 0 && !loaded.is_constant(value);
    case PlacementTest::GraphOutput:
      return loaded.is_output(value);
    default: {
      const TensorValue* held = loaded.is_constant(value) ? loaded.known(value) : nullptr;
      // A skeleton leaves out only numbers for which no provider asks.
      if (held == nullptr && part.test == PlacementTest::In && !loaded.left_out(value).empty()) return false;
      const auto texts = held == nullptr ? std::nullopt : texts_of(*held);
      return texts ? ask_elements(part, *texts) : std::nullopt;
    }
  }
}

bool holds(const Part& part, const NodeUnit& unit, const NodeUnits& units) {
  const auto is_met = [&](Answer answer) { return answer && *answer != part.is_negated; };
  const LoadedGraph& loaded = units.loaded();
  const auto is_met_by_one = [&](const std::vector<NodeUnit::Operand>& operands) {
    return std::ranges::any_of(operands, [&](const NodeUnit::Operand& each) {
      return !(part.skips_stored && loaded.is_constant(each.value)) && is_met(ask_operand(part, each, units));
    });
  };
  const auto operand = [&](const std::vector<NodeUnit::Operand>& operands) {
    const auto i = static_cast<std::size_t>(part.operand);
    return i < operands.size() ? operands[i] : NodeUnit::Operand{};
  };
  const auto captured = [&] {
    std::vector<NodeUnit::Operand> operands;
    for (const ValueId value : loaded.nodes()[static_cast<std::size_t>(unit.node)].captured)
      operands.push_back({.value = value});
    return operands;
  };
  switch (part.subject) {
    case PlacementSubject::Attribute:
      return is_met(ask_attribute(part, unit, units.loaded()));
    case PlacementSubject::Input:
      return is_met(ask_operand(part, operand(unit.inputs), units));
    case PlacementSubject::Output:
      return is_met(ask_operand(part, operand(unit.outputs), units));
    case PlacementSubject::AnyInput:
      return is_met_by_one(unit.inputs) || is_met_by_one(captured());
    case PlacementSubject::AnyOutput:
      return is_met_by_one(unit.outputs);
    case PlacementSubject::AnyOperand:
      return is_met_by_one(unit.inputs) || is_met_by_one(captured()) || is_met_by_one(unit.outputs);
  }
  return false;
}

}  // namespace

std::string qualified_name(const LoadedNode& node) {
  return node.domain.empty() ? std::string(node.op) : cat(node.domain, ".", node.op);
}

bool holds(const ProviderCondition& condition, std::string_view name, const NodeUnit& unit, const NodeUnits& units) {
  const bool is_of_all = contains(condition.operators, "*");
  if (is_of_all ? contains(condition.except, name) : !contains(condition.operators, name)) return false;
  return std::ranges::all_of(condition.when, [&](const Part& part) { return holds(part, unit, units); });
}

}  // namespace pagoda::inline core
