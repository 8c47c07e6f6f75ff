// OpContext: the interface through which a rule sees its node.
#include "pagoda/core/rule.h"

#include <algorithm>
#include <unordered_set>

#include "ops/context.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core {
namespace {

std::string names(const Shape& shape) {
  const std::string text = to_string(TensorType{.element = ElementType::Undefined, .shape = shape});
  return text.substr(text.find('['));
}

// Input i; null where it is absent.
const ValueInfo* info_of(const OpContext::State& state, int i) {
  const auto at = static_cast<std::size_t>(i);
  return i >= 0 && at < state.inputs.size() ? state.inputs[at] : nullptr;
}

template <typename T, typename Result>
Result typed_attribute(const OpContext& op, std::string_view name, Result otherwise) {
  const AttributeValue* value = op.attribute_value(name);
  if (value == nullptr) return otherwise;
  const T* typed = std::get_if<T>(value);
  if (typed == nullptr) op.fail(cat("attribute ", name, " has the wrong type"));
  return *typed;
}

constexpr std::uint32_t kAllPlaces = ~std::uint32_t{0};

OpCost write_outputs(const OpContext& op) {
  OpCost cost;
  for (int i = 0; i < op.output_count(); ++i) cost.bytes_written += op.output_bytes(i);
  cost.whole_outputs = kAllPlaces;
  if (op.has_input(0)) cost.precision = op.element(0);
  return cost;
}

}  // namespace

const Node& OpContext::node() const { return state_.node; }
std::int64_t OpContext::opset() const { return state_.opset; }

void OpContext::fail(std::string message) const { throw RuleStop{RuleStop::Kind::Contradiction, std::move(message)}; }
void OpContext::unknown(std::string message) const { throw RuleStop{RuleStop::Kind::Unknown, std::move(message)}; }

// --- inputs ---

int OpContext::input_count() const { return static_cast<int>(state_.inputs.size()); }

bool OpContext::has_input(int i) const { return info_of(state_, i) != nullptr; }

const TensorType& OpContext::input(int i) const {
  const ValueInfo* info = info_of(state_, i);
  if (info == nullptr) fail(cat("input ", i, " is missing"));
  return info->type;
}

bool OpContext::has_shape(int i) const { return has_input(i) && input(i).shape.has_value(); }

const Shape& OpContext::shape(int i) const {
  const TensorType& type = input(i);
  if (!type.shape) throw RuleStop{RuleStop::Kind::UnknownInput, cat("the rank of input ", i, " is not known")};
  return *type.shape;
}

const TensorValue* OpContext::value(int i) const {
  const ValueInfo* info = info_of(state_, i);
  if (info == nullptr) return nullptr;
  if (ValueReads* reads = state_.session.reads; reads != nullptr && !reads->folds)
    reads->inputs.emplace(reads->node.first, reads->node.second, i);
  const TensorValue* known = info->value();
  if (known == nullptr && !info->unread.empty())
    unknown(cat("the value of input ", i, " could not be read: ", info->unread));
  return known;
}

std::optional<std::vector<std::int64_t>> OpContext::integers(int i) const {
  const TensorValue* known = value(i);
  if (known == nullptr) return std::nullopt;
  std::vector<std::int64_t> result;
  result.reserve(known->size());
  for (const Scalar& scalar : *known) {
    const Dim* dim = std::get_if<Dim>(&scalar);
    const auto integer = dim != nullptr ? dim->value64() : std::nullopt;
    if (!integer) return std::nullopt;
    result.push_back(*integer);
  }
  return result;
}

bool OpContext::is_constant(int i) const { return has_input(i) && info_of(state_, i)->constant; }
bool OpContext::same_value(int i, int j) const { return has_input(i) && info_of(state_, i) == info_of(state_, j); }

const std::vector<Shape>* OpContext::members(int i) const {
  const ValueInfo* info = info_of(state_, i);
  return info != nullptr && info->members && info->repeats_of_first == Dim(0) ? &*info->members : nullptr;
}

std::optional<Parts> OpContext::parts(int i) const {
  const ValueInfo* info = info_of(state_, i);
  if (info == nullptr || !info->members || info->members->size() != 2 || info->repeats_of_first == Dim(0)) return {};
  return Parts{.count = info->repeats_of_first + 2, .each = info->members->front(), .last = info->members->back()};
}

// --- attributes ---

const AttributeValue* OpContext::attribute_value(std::string_view name) const {
  const Attribute* attribute = state_.node.attribute(name);
  return attribute == nullptr ? nullptr : &attribute->value;
}

bool OpContext::has_attribute(std::string_view name) const { return attribute_value(name) != nullptr; }

std::int64_t OpContext::attribute(std::string_view name, std::int64_t otherwise) const {
  return typed_attribute<std::int64_t>(*this, name, otherwise);
}
double OpContext::attribute(std::string_view name, double otherwise) const {
  return typed_attribute<double>(*this, name, otherwise);
}
std::string_view OpContext::attribute(std::string_view name, std::string_view otherwise) const {
  return typed_attribute<std::string>(*this, name, otherwise);
}

std::int64_t OpContext::required_integer(std::string_view name) const {
  if (!has_attribute(name)) fail(cat("attribute ", name, " is missing"));
  return attribute(name, std::int64_t{0});
}

std::optional<std::vector<std::int64_t>> OpContext::integer_list(std::string_view name) const {
  const AttributeValue* value = attribute_value(name);
  if (value == nullptr) return std::nullopt;
  constexpr std::size_t kMost = std::size_t{1} << 20;  // far more than axes, sizes or parts
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(value)) {
    if (list->size() > kMost)
      fail(cat("attribute ", name, " has ", list->size(), " entries, expected at most ", kMost));
    return *list;
  }
  // An empty list carries no member type.
  if (std::holds_alternative<std::monostate>(*value)) return std::vector<std::int64_t>{};
  fail(cat("attribute ", name, " is not a list of integers"));
}

std::optional<std::vector<std::int64_t>> OpContext::integer_list_or_input(std::string_view name, int i) const {
  if (has_attribute(name)) return integer_list(name);
  return has_input(i) ? integers(i) : std::nullopt;
}

// --- outputs ---

int OpContext::output_count() const { return static_cast<int>(state_.node.outputs.size()); }

bool OpContext::has_output(int i) const { return i >= 0 && i < output_count() && state_.node.outputs[i] != kAbsent; }

void OpContext::set_output(int i, TensorType type) {
  if (!has_output(i)) return;
  state_.outputs[i].type = std::move(type);
  state_.output_set[i] = true;
}

void OpContext::set_output(int i, ElementType element, Shape shape) {
  if (has_output(i)) set_output(i, TensorType{.element = element, .shape = std::move(shape)});
}

const TensorType& OpContext::output(int i) const {
  if (!has_output(i)) fail(cat("output ", i, " is missing"));
  return state_.outputs[static_cast<std::size_t>(i)].type;
}

const Shape& OpContext::output_shape(int i) const {
  const TensorType& type = output(i);
  if (!type.shape) {
    for (int in = 0; in < input_count(); ++in)
      if (has_input(in) && input(in).container == Container::Tensor) static_cast<void>(shape(in));  // ends the rule
    unknown(cat("the rank of output ", i, " is not known"));
  }
  return *type.shape;
}

void OpContext::set_members(int i, std::vector<Shape> members) {
  constexpr std::size_t kMost = 256;
  if (has_output(i) && members.size() <= kMost) state_.outputs[i].members = std::move(members);
}

void OpContext::set_parts(int i, Parts parts) {
  if (!has_output(i)) return;
  ValueInfo& info = state_.outputs[i];
  info.members = std::vector<Shape>{std::move(parts.each), std::move(parts.last)};
  info.repeats_of_first = parts.count - 2;
}

void OpContext::set_value(int i, TensorValue value) {
  if (has_output(i)) state_.outputs[i].computed_value = std::move(value);
}

const TensorValue* OpContext::output_value(int i) const { return has_output(i) ? state_.outputs[i].value() : nullptr; }

// --- symbols ---

Dim OpContext::fresh(std::string_view hint, std::string_view cause, std::optional<Dim> upper) const {
  return state_.session.fresh(hint, state_.display_name, std::string(cause), std::move(upper));
}

Dim OpContext::unify(const Dim& a, const Dim& b, std::string_view what) {
  std::optional<Dim> unified = state_.session.unify(a, b, state_.display_name);
  if (!unified) fail(cat(what, ": ", a.to_string(), " and ", b.to_string(), " should be equal"));
  return *std::move(unified);
}

void OpContext::require(Requirement::Kind kind, const Dim& size, const Dim& other) const {
  if (size == other || (kind >= Requirement::Kind::Window && greater_equal(size, other) == true)) return;
  if (kind < Requirement::Kind::Window) return state_.session.require(kind, size, other, state_.display_name);
  std::map<std::string, Dim, std::less<>> one_more;  // s + 1 with s ≥ 0
  for (const std::string& name : size.symbols()) one_more.emplace(name, Dim::symbol(name) + 1);
  for (const std::string& name : other.symbols()) one_more.emplace(name, Dim::symbol(name) + 1);
  if (greater_equal(size.substitute(one_more), other.substitute(one_more)) != true)
    state_.session.require(kind, size, other, state_.display_name);
}

Dim OpContext::broadcast(const Dim& a, const Dim& b) {
  if (a == b) return a;
  const bool a_is_one = a == Dim(1);
  const bool b_is_one = b == Dim(1);
  if (a_is_one || b_is_one) return a_is_one ? b : a;
  // A constant above 1 decides: the other is that constant or 1.
  if (a.is_constant() != b.is_constant() && !state_.session.fixed) {
    state_.session.one_or(a.is_constant() ? b : a, a.is_constant() ? a : b, state_.display_name);
    return a.is_constant() ? a : b;
  }
  std::optional<Dim> unified = state_.session.unify(a, b, state_.display_name, Requirement::Kind::Broadcast);
  if (!unified) fail(cat("dims ", a.to_string(), " and ", b.to_string(), " do not broadcast"));
  return *std::move(unified);
}

Shape OpContext::broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const std::size_t offset = longer.size() - shorter.size();
  for (std::size_t k = 0; k < shorter.size(); ++k) {
    // With fixed sizes, start at the last axis: window sizes must be decided before the number of windows is replaced.
    const std::size_t i = state_.session.fixed ? shorter.size() - 1 - k : k;
    try {
      result[offset + i] = broadcast(longer[offset + i], shorter[i]);
    } catch (const RuleStop& stop) {
      if (stop.kind == RuleStop::Kind::Contradiction)
        fail(cat("shapes ", names(a), " and ", names(b), " do not broadcast"));
      throw;
    }
  }
  return result;
}

const FixedSizes* OpContext::fixed_sizes() const { return state_.session.fixed ? &*state_.session.fixed : nullptr; }

std::vector<Dim> OpContext::seen_sizes(std::int64_t exported) const {
  return state_.session.seen(exported, std::nullopt);
}

std::vector<Dim> OpContext::seen_sizes(std::int64_t exported, std::size_t rank, std::size_t axis) const {
  return state_.session.seen(exported, std::pair(rank, axis));
}

Dim OpContext::pending_size(std::int64_t exported) const {
  return state_.session.pending_size(exported, state_.display_name);
}

std::pair<Dim, Dim> OpContext::pending_parts(const Dim& whole, std::int64_t outer, std::int64_t inner) const {
  return state_.session.pending_parts(whole, outer, inner, state_.display_name);
}

void OpContext::note(std::string message) {
  state_.session.note(Severity::Info, state_.display_name, std::move(message));
}

// --- cost helpers ---

Dim OpContext::elements(int i) const { return element_count(shape(i)); }
Dim OpContext::output_elements(int i) const { return element_count(output_shape(i)); }

Dim OpContext::input_bytes(int i) const { return has_input(i) ? byte_size(elements(i), element(i)) : Dim(0); }
Dim OpContext::output_bytes(int i) const {
  return has_output(i) ? byte_size(output_elements(i), output(i).element) : Dim(0);
}

OpCost OpContext::streamed() const {
  OpCost cost = write_outputs(*this);
  constexpr int kFew = 8;  // up to this many, each input is compared with all before it
  std::unordered_set<const ValueInfo*> many;
  for (int i = 0; i < input_count(); ++i) {
    bool seen = input_count() > kFew && has_input(i) && !many.insert(info_of(state_, i)).second;
    for (int j = 0; j < i && input_count() <= kFew; ++j) seen = seen || same_value(i, j);
    if (!seen) cost.bytes_read += input_bytes(i);
  }
  cost.whole_inputs = kAllPlaces;
  return cost;
}

OpCost OpContext::streamed(std::span<const int> inputs_read) const {
  OpCost cost = write_outputs(*this);
  for (auto i = inputs_read.begin(); i != inputs_read.end(); ++i) {
    if (!has_input(*i)) continue;
    const bool seen = std::any_of(inputs_read.begin(), i, [&](int earlier) { return same_value(earlier, *i); });
    if (!seen) cost.bytes_read += input_bytes(*i);
    cost.whole_inputs |= std::uint32_t{1} << OpCost::place_bit(*i);
  }
  return cost;
}

OpCost OpContext::streamed(std::initializer_list<int> inputs_read) const {
  return streamed(std::span(inputs_read.begin(), inputs_read.size()));
}

void OpContext::read_only(OpCost& cost, int input, const Dim& bytes) const {
  if (!has_input(input)) return;
  cost.bytes_read -= input_bytes(input);
  for (int i = 0; i < input_count(); ++i)
    if (same_value(i, input)) cost.whole_inputs &= ~(std::uint32_t{1} << OpCost::place_bit(i));
  cost.read(input, bytes);
}

void OpContext::write_only(OpCost& cost, int output, const Dim& bytes) const {
  if (!has_output(output)) return;
  cost.bytes_written -= output_bytes(output);
  cost.whole_outputs &= ~(std::uint32_t{1} << OpCost::place_bit(output));
  cost.write(output, bytes);
}

}  // namespace pagoda::inline core
