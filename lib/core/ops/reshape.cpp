// Operators that give the same bytes a new shape or name, and those that return a shape.
#include <iterator>
#include <utility>

#include "ops/fixed_sizes.h"
#include "ops/fold.h"
#include "ops/rule_parts.h"

namespace pagoda::inline core::ops {
namespace {

// --- Reshape ---

// The target sizes as given: unknown elements, −1 to solve for, 0 for a copied size. Empty if their number is unknown.
std::optional<TensorValue> reshape_target(const OpContext& op) {
  if (op.opset() < 5) {
    const auto listed = op.integer_list("shape");
    if (!listed) op.fail("attribute shape is missing");
    return TensorValue(listed->begin(), listed->end());
  }
  static_cast<void>(op.input(1));
  if (const TensorValue* value = op.value(1)) return *value;
  const auto length = entry_count(op, 1);
  return length ? std::optional(TensorValue(*length)) : std::nullopt;
}

void infer_reshape(OpContext& op) {
  set_element(op, 0, op.element(0));
  std::optional<TensorValue> target = reshape_target(op);
  if (!target) return;
  const bool known_input_shape = op.has_shape(0);
  const FixedSizes* fixed = known_input_shape ? op.fixed_sizes() : nullptr;
  const Shape input = known_input_shape ? op.shape(0) : Shape{};
  const bool zero_copies = !op.flag("allowzero");
  std::optional<std::size_t> open;   // the size to solve for
  std::vector<std::size_t> unknown;  // sizes computed from data
  for (std::size_t i = 0; i < target->size(); ++i) {
    Scalar& entry = (*target)[i];
    const Dim* size = std::get_if<Dim>(&entry);
    if (size == nullptr) {
      unknown.push_back(i);
    } else if (*size == Dim(-1)) {
      if (open) op.fail("two target sizes are -1");
      open = i;
    } else if (size->is_constant() && *size->value() < 0) {
      op.fail("a target size of " + size->to_string());
    } else if (*size == Dim(0) && zero_copies && known_input_shape) {
      if (i >= input.size()) op.fail(cat("target size ", i, " is 0, the input has rank ", input.size()));
      entry = input[i];
    } else if (*size == Dim(0) && zero_copies) {
      unknown.push_back(i);
      entry = Scalar();
    }
  }
  if (!open && unknown.size() == 1 && known_input_shape) {
    open = unknown.front();
    unknown.clear();
  }
  if (fixed != nullptr && unknown.empty()) follow_target(op, input, *target, open);

  for (const std::size_t i : unknown) (*target)[i] = op.fresh("reshaped_dim", "a target size is computed from data");
  Shape shape, others;
  for (std::size_t i = 0; i < target->size(); ++i) {
    shape.push_back(i == open ? Dim(1) : std::get<Dim>((*target)[i]));
    if (i != open) others.push_back(shape.back());
  }
  if (open) {
    shape[*open] =
        known_input_shape ? solved_size(op, input, others) : op.fresh("reshaped_dim", "the input's rank is not known");
  } else if (known_input_shape) {
    require_same_count(op, input, shape);
  }
  if (fixed != nullptr) {
    if (fixed->hold_other(element_count(input))) op.unify(element_count(input), element_count(shape), "elements");
    note_merges(op, input, shape);
  }
  op.set_output(0, op.element(0), std::move(shape));
}

// --- Flatten, Squeeze, Unsqueeze ---

void infer_flatten(OpContext& op) {
  if (!op.has_shape(0)) {
    const Dim rows = op.fresh("rows", "a tensor of unknown rank is flattened");
    return op.set_output(0, op.element(0), {rows, op.fresh("columns", "a tensor of unknown rank is flattened")});
  }
  const Shape& shape = op.shape(0);
  const int rank = op.rank(0);
  const std::int64_t stated = op.attribute("axis", 1);
  const int axis = stated == rank ? rank : normal_axis(op, stated, rank);
  const auto middle = shape.begin() + axis;
  const Shape flat = {element_count(Shape(shape.begin(), middle)), element_count(Shape(middle, shape.end()))};
  if (op.fixed_sizes() != nullptr) note_merges(op, shape, flat);
  op.set_output(0, op.element(0), flat);
}

// Axes are an attribute, or an input since opset 13.
bool states_axes(const OpContext& op) { return op.has_attribute("axes") || op.has_input(1); }

// The number of axes that input 1 lists, if known.
std::optional<std::int64_t> axis_count(const OpContext& op) {
  if (!op.has_shape(1)) return std::nullopt;
  return op.rank(1) == 0 ? std::optional<std::int64_t>(1) : op.shape(1)[0].value64();
}

void infer_squeeze(OpContext& op) {
  if (!op.has_shape(0)) return set_element(op, 0, op.element(0));
  const Shape& shape = op.shape(0);
  const auto axes = op.integer_list_or_input("axes", 1);
  Shape result;
  if (!states_axes(op) || (axes && axes->empty())) {
    std::copy_if(shape.begin(), shape.end(), std::back_inserter(result), [](const Dim& dim) { return dim != Dim(1); });
    for (const Dim& dim : result) {
      if (dim.is_constant()) continue;
      op.require(Requirement::Kind::Squeezed, dim, 2);
      op.note(cat("no axes are given: the axis of ", dim.to_string(), " stays, although one of size 1 goes"));
    }
    return op.set_output(0, op.element(0), std::move(result));
  }
  if (!axes) {
    const auto count = axis_count(op);
    if (!count || *count < 0 || *count > op.rank(0)) return set_element(op, 0, op.element(0));
    for (std::size_t i = *count; i < shape.size(); ++i)
      result.push_back(op.fresh("squeezed_dim", "the axes to squeeze are computed from data"));
    return op.set_output(0, op.element(0), std::move(result));
  }
  std::vector<bool> removed(shape.size(), false);
  for (const int axis : normal_axes(op, *axes, op.rank(0))) {
    const Dim& dim = shape[axis];
    const FixedSizes* fixed = op.fixed_sizes();
    if (fixed != nullptr && fixed->hold_batch(dim))
      op.unknown("the batch axis is squeezed away: the model works at batch 1 only");
    if (fixed != nullptr && changes(*fixed, dim)) op.unknown("an axis of size 1 at export is squeezed away");
    op.unify(dim, 1, cat("the size of squeezed axis ", axis, " and 1"));
    removed[axis] = true;
  }
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (!removed[i]) result.push_back(shape[i]);
  op.set_output(0, op.element(0), std::move(result));
}

void infer_unsqueeze(OpContext& op) {
  if (!states_axes(op)) op.fail("no axes are given");
  if (!op.has_shape(0)) return set_element(op, 0, op.element(0));
  const Shape& shape = op.shape(0);
  const auto axes = op.integer_list_or_input("axes", 1);
  if (!axes) {
    const auto count = axis_count(op);
    if (!count || *count < 0 || *count > kFoldLimit) return set_element(op, 0, op.element(0));
    Shape result;
    for (std::size_t i = 0; i < shape.size() + static_cast<std::size_t>(*count); ++i)
      result.push_back(op.fresh("unsqueezed_dim", "the axes to insert are computed from data"));
    return op.set_output(0, op.element(0), std::move(result));
  }
  const std::size_t rank = shape.size() + axes->size();
  std::vector<bool> inserted(rank, false);
  for (const int axis : normal_axes(op, *axes, static_cast<int>(rank))) inserted[axis] = true;
  Shape result;
  auto next = shape.begin();
  for (std::size_t i = 0; i < rank; ++i) result.push_back(inserted[i] ? Dim(1) : *next++);
  op.set_output(0, op.element(0), std::move(result));
}

// --- Shape, Size ---

// The axes [first, last) that Shape reports: attributes start and end, since opset 15, clamped to the rank.
std::pair<std::size_t, std::size_t> reported_axes(const OpContext& op) {
  const std::int64_t rank = op.rank(0);
  const auto clamped = [&](std::int64_t axis) {
    return std::clamp(axis < 0 ? axis + rank : axis, std::int64_t{0}, rank);
  };
  const std::int64_t first = clamped(op.attribute("start", 0));
  const std::int64_t last = clamped(op.attribute("end", rank));
  return {first, std::max(first, last)};
}

void infer_shape(OpContext& op) {
  static_cast<void>(op.input(0));
  if (!op.has_shape(0))
    return op.set_output(0, ElementType::Int64, {op.fresh("rank", "the shape of a tensor of unknown rank")});
  const auto [first, last] = reported_axes(op);
  op.set_output(0, ElementType::Int64, {Dim(last - first)});
}

void fold_shape(OpContext& op) {
  if (!op.has_shape(0)) return;
  const auto [first, last] = reported_axes(op);
  TensorValue value;
  for (std::size_t i = first; i < last; ++i) value.push_back(op.shape(0)[i]);
  publish(op, std::move(value));
}

void infer_size(OpContext& op) {
  static_cast<void>(op.input(0));
  op.set_output(0, ElementType::Int64, {});
}

void fold_size(OpContext& op) {
  if (op.has_shape(0)) publish(op, {op.elements(0)});
}

// --- Dropout ---

// True if elements are dropped: opset 1 and 6 unless is_test is set, from 12 on where training_mode is set.
bool drops(const OpContext& op) {
  if (op.opset() < 7) return !op.flag("is_test");
  const auto training = op.has_input(2) ? op.integers(2) : std::nullopt;
  return training && training->size() == 1 && training->front() != 0;
}

void infer_dropout(OpContext& op) {
  op.set_output(0, op.input(0));
  set_shape_of_first(op, op.opset() < 10 ? op.element(0) : ElementType::Bool, 1);
}

// In inference a view; if the mask is an output, it is written. In training, per element: compare a random number with
// the ratio, scale, select.
OpCost cost_dropout(const OpContext& op) {
  if (drops(op)) return op.streamed({0}) + Work{.arith = 3, .comparisons = 2} * op.elements(0);
  if (!op.has_output(1)) return cost_view(op);
  OpCost cost = op.streamed({});
  op.write_only(cost, 0, 0);
  return cost;
}

void fold_dropout(OpContext& op) {
  if (!drops(op)) fold_same(op);
}

// clang-format off
constexpr OpRule kReshapeRules[] = {
    // op           infer            cost          fold          cost in words
    {"Dropout",     infer_dropout,   cost_dropout, fold_dropout, "nothing in inference: a view; in training 1 comparison, 1 mul, 1 selection / element", kPointwise.with(Numbers::Same)},
    {"Flatten",     infer_flatten,   cost_view,    fold_same,    "nothing: a view", kView},
    {"Identity",    infer_same,      cost_view,    fold_same,    "nothing: a view", kView.with(Numbers::Same).with(BatchAxis::Same)},
    {"Reshape",     infer_reshape,   cost_view,    fold_same,    "nothing: a view", kView},
    {"Shape",       infer_shape,     cost_host,    fold_shape,   "nothing: known without the data", kGenerated.with(Placement::AsksShape).with(Gradient::Index)},
    {"Size",        infer_size,      cost_host,    fold_size,    "nothing: known without the data", kGenerated.with(Placement::AsksShape).with(Gradient::Index)},
    {"Squeeze",     infer_squeeze,   cost_view,    fold_same,    "nothing: a view", kView},
    {"Unsqueeze",   infer_unsqueeze, cost_view,    fold_same,    "nothing: a view", kView},
};
// clang-format on
static_assert(well_formed(kReshapeRules));

}  // namespace

std::span<const OpRule> reshape_rules() { return kReshapeRules; }

}  // namespace pagoda::inline core::ops
