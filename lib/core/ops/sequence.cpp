// Sequences and optionals. The type of a sequence holds one shape for all members; a size in which members differ is
// a fresh symbol. In addition, the members of short sequences are tracked one by one, as long as positions are known;
// of equal parts of a tensor, whose number may be a formula, the first and the last. Runtimes pass members by
// reference, so building and indexing move nothing; splitting a tensor into members and joining them do.
#include "ops/fold.h"
#include "ops/rule_parts.h"

namespace pagoda::inline core::ops {
namespace {

TensorType sequence_of(const TensorType& member) {
  TensorType type = member;
  type.container = Container::Sequence;
  return type;
}

void require_sequence(const OpContext& op, int i) {
  if (op.input(i).container != Container::Sequence) op.fail(cat("input ", i, " is not a sequence"));
}

// A shape that describes members of either shape; unknown where the ranks differ.
std::optional<Shape> joint_shape(OpContext& op, const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if (!a || !b || a->size() != b->size()) return std::nullopt;
  Shape joint = *a;
  for (std::size_t i = 0; i < joint.size(); ++i)
    if (joint[i] != (*b)[i]) joint[i] = op.fresh("member_dim", "members of a sequence differ in this size");
  return joint;
}

ElementType joint_element(const OpContext& op, ElementType a, ElementType b) {
  if (a != b && a != ElementType::Undefined && b != ElementType::Undefined)
    op.fail(cat("members are ", to_string(a), " and ", to_string(b)));
  return a != ElementType::Undefined ? a : b;
}

// --- SequenceConstruct, SequenceEmpty, SequenceInsert, SequenceErase, SequenceAt, SequenceLength ---

// A position among `count` members, negative ones counted from the end; empty where it is not known.
std::optional<std::ptrdiff_t> position(const OpContext& op, int input, std::size_t count) {
  const auto given = op.integers(input);
  if (!given || given->size() != 1) return std::nullopt;
  const std::int64_t at = given->front() < 0 ? given->front() + static_cast<std::int64_t>(count) : given->front();
  if (at < 0 || at > static_cast<std::int64_t>(count))
    op.fail(cat("position ", given->front(), " of a sequence of ", count));
  return at;
}

void infer_construct(OpContext& op) {
  TensorType type = sequence_of(op.input(0));
  std::vector<Shape> members;
  for (int i = 0; i < op.input_count(); ++i) {
    if (i > 0) {
      type.element = joint_element(op, type.element, op.element(i));
      type.shape = joint_shape(op, type.shape, op.input(i).shape);
    }
    if (op.input(i).shape) members.push_back(*op.input(i).shape);
  }
  op.set_output(0, std::move(type));
  if (members.size() == static_cast<std::size_t>(op.input_count())) op.set_members(0, std::move(members));
}

void infer_empty(OpContext& op) {
  op.set_output(0, {.element = element_attribute(op, "dtype", ElementType::Float32),
                    .shape = std::nullopt,
                    .container = Container::Sequence});
  op.set_members(0, {});
}

// Appends if no position is given.
void infer_insert(OpContext& op) {
  require_sequence(op, 0);
  TensorType type = op.input(0);
  const std::optional<Shape>& inserted = op.input(1).shape;
  const std::vector<Shape>* before = op.members(0);
  type.element = joint_element(op, type.element, op.element(1));
  type.shape = before != nullptr && before->empty() ? inserted : joint_shape(op, type.shape, inserted);
  op.set_output(0, std::move(type));
  if (before == nullptr || !inserted) return;
  const auto at = op.has_input(2) ? position(op, 2, before->size()) : static_cast<std::ptrdiff_t>(before->size());
  if (!at) return;
  std::vector<Shape> members = *before;
  members.insert(members.begin() + *at, *inserted);
  op.set_members(0, std::move(members));
}

// Removes the last member if no position is given.
void infer_erase(OpContext& op) {
  require_sequence(op, 0);
  op.set_output(0, op.input(0));
  const std::vector<Shape>* before = op.members(0);
  if (before == nullptr || before->empty()) return;
  const std::size_t last = before->size() - 1;
  const auto at = op.has_input(1) ? position(op, 1, last + 1) : static_cast<std::ptrdiff_t>(last);
  if (!at || static_cast<std::size_t>(*at) > last) return;
  std::vector<Shape> members = *before;
  members.erase(members.begin() + *at);
  op.set_members(0, std::move(members));
}

// The shape of member `at` of a sequence split into parts. Members from the end are known: the last, and those before
// it. Counted from the start, member i of ⌈w/p⌉ parts has min(p, w − i·p).
std::optional<Shape> part_at(const Parts& parts, std::int64_t at) {
  if (at < 0) return at == -1 ? parts.last : parts.each;
  Shape shape = parts.each;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (parts.each[axis] == parts.last[axis]) continue;
    const Dim &each = parts.each[axis], whole = each * (parts.count - 1) + parts.last[axis];
    if (parts.count != ceil_div(whole, each)) return std::nullopt;
    shape[axis] = min(each, whole - at * each);
  }
  return shape;
}

void infer_at(OpContext& op) {
  require_sequence(op, 0);
  TensorType type = op.input(0);
  type.container = Container::Tensor;
  if (const std::vector<Shape>* members = op.members(0); members != nullptr && !members->empty()) {
    const auto at = position(op, 1, members->size());
    if (at && static_cast<std::size_t>(*at) < members->size()) type.shape = (*members)[*at];
  } else if (const std::optional<Parts> parts = op.parts(0)) {
    const auto at = op.integers(1);
    if (auto shape = at && at->size() == 1 ? part_at(*parts, at->front()) : std::nullopt) type.shape = std::move(shape);
  }
  op.set_output(0, std::move(type));
}

void fold_length(OpContext& op) {
  if (const std::vector<Shape>* members = op.members(0)) return publish(op, {Dim(members->size())});
  if (const std::optional<Parts> parts = op.parts(0)) publish(op, {parts->count});
}

void infer_length(OpContext& op) {
  require_sequence(op, 0);
  op.set_output(0, ElementType::Int64, {});
}

// --- SplitToSequence, ConcatFromSequence ---

// The members when an axis of size `whole` is split into parts of `size`, the last possibly smaller; none if a size is
// not constant or there are too many members to track.
std::vector<Shape> equal_parts(const Shape& shape, std::size_t axis, const Dim& whole, const Dim& size) {
  constexpr std::int64_t kMost = 256;
  const auto length = whole.value64(), part = size.value64();
  if (!length || !part || *part < 1 || *length / *part >= kMost) return {};
  std::vector<Shape> members;
  for (std::int64_t at = 0; at < *length; at += *part) {
    members.push_back(shape);
    members.back()[axis] = std::min(*part, *length - at);
  }
  return members;
}

// Sets the members of a sequence that splits an axis in this way. Without `keeps_axis`, parts of size 1 lose the axis.
void set_equal_parts(OpContext& op, const Shape& shape, std::size_t axis, const Dim& whole, const Dim& size,
                     bool keeps_axis = true) {
  const auto without_axis = [&](Shape& member) {
    if (!keeps_axis) member.erase(member.begin() + axis);
  };
  if (std::vector<Shape> members = equal_parts(shape, axis, whole, size); !members.empty()) {
    std::for_each(members.begin(), members.end(), without_axis);
    return op.set_members(0, std::move(members));
  }
  const Dim count = ceil_div(whole, size);
  Parts parts{.count = count, .each = shape, .last = shape};
  parts.each[axis] = size;
  parts.last[axis] = whole - size * (count - 1);
  without_axis(parts.each);
  without_axis(parts.last);
  op.set_parts(0, std::move(parts));
}

// The members when the sizes of all are listed; empty if one is not known.
std::optional<std::vector<Shape>> listed_parts(OpContext& op, const Shape& shape, std::size_t axis, const Dim& whole) {
  const TensorValue* sizes = op.value(1);
  if (sizes == nullptr) return std::nullopt;
  std::vector<Shape> members;
  Dim sum;
  for (const Scalar& each : *sizes) {
    const std::optional<Dim> size = as_dim(each);
    if (!size) return std::nullopt;
    if (greater_equal(*size, 0) == false) op.fail("a part of size " + size->to_string());
    members.push_back(shape);
    members.back()[axis] = *size;
    sum += *size;
  }
  op.unify(whole, sum, "the sum of the parts");
  return members;
}

// The parts have the sizes listed in `split`, or all the one size it holds, the last possibly smaller. Without `split`
// they have size 1, and their axis is removed unless keepdims is set.
void infer_split_to_sequence(OpContext& op) {
  TensorType type = sequence_of(op.input(0));
  if (!type.shape) return op.set_output(0, std::move(type));
  const std::size_t axis = axis_of(op, 0);
  const Shape shape = *type.shape;
  const Dim& whole = shape[axis];
  Dim& part = (*type.shape)[axis];
  if (!op.has_input(1)) {
    const bool keeps_axis = op.flag("keepdims", true);
    part = 1;
    if (!keeps_axis) type.shape->erase(type.shape->begin() + axis);
    op.set_output(0, std::move(type));
    return set_equal_parts(op, shape, axis, whole, 1, keeps_axis);
  }
  if (op.has_shape(1) && op.rank(1) == 1) {
    if (auto members = listed_parts(op, shape, axis, whole); members && !members->empty()) {
      Dim largest = members->front()[axis];
      for (const Shape& member : *members) largest = max(largest, member[axis]);
      const bool is_one_size =
          std::all_of(members->begin(), members->end(), [&](const Shape& member) { return member[axis] == largest; });
      part = is_one_size ? largest : op.fresh("part", "members of a sequence differ in this size", largest);
      op.set_output(0, std::move(type));
      return op.set_members(0, *std::move(members));
    }
  } else if (const TensorValue* split = op.value(1); split != nullptr && split->size() == 1 && op.has_shape(1)) {
    if (const std::optional<Dim> size = as_dim(split->front())) {
      if (greater_equal(*size, 1) == false) op.fail("a part of size " + size->to_string());
      part = exact_div(whole, *size) ? *size
                                     : op.fresh("part", "members of a sequence differ in this size", min(*size, whole));
      op.set_output(0, std::move(type));
      return set_equal_parts(op, shape, axis, whole, *size);
    }
  }
  part = op.fresh("part", "members of a sequence differ in this size", whole);
  op.set_output(0, std::move(type));
}

void infer_concat_from_sequence(OpContext& op) {
  require_sequence(op, 0);
  const TensorType& members = op.input(0);
  set_element(op, 0, members.element);
  if (!members.shape) return;
  Shape shape = *members.shape;
  const bool stacks = op.flag("new_axis");
  const int rank = static_cast<int>(shape.size()) + (stacks ? 1 : 0);
  const int axis = normal_axis(op, op.required_integer("axis"), rank);
  Dim size;
  if (const std::vector<Shape>* each = op.members(0); each != nullptr && !each->empty()) {
    for (const Shape& member : *each) size += stacks ? Dim(1) : member[axis];
  } else if (const std::optional<Parts> parts = op.parts(0)) {
    const auto place = static_cast<std::size_t>(axis);
    size = stacks ? parts->count : parts->each[place] * (parts->count - 1) + parts->last[place];
  } else {
    size = op.fresh("concat_dim", "the length of a sequence decides");
  }
  if (stacks) {
    shape.insert(shape.begin() + axis, size);
  } else {
    shape[axis] = size;
  }
  op.set_output(0, members.element, std::move(shape));
}

// Every byte is read and written once; a sequence has as many bytes as the tensor on the other side.
OpCost cost_split_to_sequence(const OpContext& op) { return cost_moving(op.input_bytes(0), op.element(0)); }

OpCost cost_concat_from_sequence(const OpContext& op) { return cost_moving(op.output_bytes(0), op.output(0).element); }

// --- Optional, OptionalHasElement, OptionalGetElement ---

void infer_optional(OpContext& op) {
  TensorType type;
  if (op.has_input(0)) {
    type = op.input(0);
  } else if (const AttributeValue* stated = op.attribute_value("type")) {
    const auto* held = std::get_if<TensorType>(stated);
    if (held == nullptr) op.fail("attribute type is not a type");
    type = *held;
  } else {
    op.fail("neither an input nor a type is given");
  }
  type.container = type.container == Container::Sequence ? Container::OptionalSequence : Container::Optional;
  op.set_output(0, std::move(type));
}

// Since opset 18 a tensor or a sequence may be given where an optional is expected.
void infer_get_element(OpContext& op) {
  TensorType type = op.input(0);
  if (type.container == Container::Optional) type.container = Container::Tensor;
  if (type.container == Container::OptionalSequence) type.container = Container::Sequence;
  op.set_output(0, std::move(type));
}

void infer_has_element(OpContext& op) { op.set_output(0, ElementType::Bool, {}); }

void fold_has_element(OpContext& op) {
  if (!op.has_input(0)) return publish(op, {truth(false)});
  const Container container = op.input(0).container;
  if (container == Container::Tensor || container == Container::Sequence) publish(op, {truth(true)});
}

// clang-format off
constexpr OpRule kSequenceRules[] = {
    // op                   infer                       cost                       fold              cost in words
    {"ConcatFromSequence",  infer_concat_from_sequence, cost_concat_from_sequence, nullptr,          "no arithmetic; reads and writes all", kSequence},
    {"Optional",            infer_optional,             cost_view,                 nullptr,          "nothing: a reference", kSequence},
    {"OptionalGetElement",  infer_get_element,          cost_view,                 nullptr,          "nothing: a reference", kSequence},
    {"OptionalHasElement",  infer_has_element,          cost_view,                 fold_has_element, "nothing: known without the data", kSequence.with(Gradient::Index)},
    {"SequenceAt",          infer_at,                   cost_view,                 nullptr,          "nothing: a reference", kSequence},
    {"SequenceConstruct",   infer_construct,            cost_view,                 nullptr,          "nothing: references", kSequence},
    {"SequenceEmpty",       infer_empty,                cost_view,                 nullptr,          "nothing", kSequence.with(Gradient::NoInput)},
    {"SequenceErase",       infer_erase,                cost_view,                 nullptr,          "nothing: references", kSequence},
    {"SequenceInsert",      infer_insert,               cost_view,                 nullptr,          "nothing: references", kSequence},
    {"SequenceLength",      infer_length,               cost_view,                 fold_length,      "nothing: known without the data", kSequence.with(Gradient::Index)},
    {"SplitToSequence",     infer_split_to_sequence,    cost_split_to_sequence,    nullptr,          "no arithmetic; reads and writes all", kSequence},
};
// clang-format on
static_assert(well_formed(kSequenceRules));

}  // namespace

std::span<const OpRule> sequence_rules() { return kSequenceRules; }

}  // namespace pagoda::inline core::ops
