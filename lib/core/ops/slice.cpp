// Taking tensors apart along an axis and putting them together: Slice, Split, Concat.
#include <map>
#include <string>

#include "ops/fixed_sizes.h"
#include "ops/fold.h"
#include "ops/rule_parts.h"

namespace pagoda::inline core::ops {
namespace {

// --- Slice ---

// Exporters write "to the end" as the largest integer of 32 or 64 bits.
const Dim kEverything = (std::int64_t{1} << 31) - 1;

// `length`, but not below 0. A symbolic `size`, an axis worth slicing, is assumed to be at least 1: size − 1 stays.
Dim non_negative(const Dim& length, const Dim& size) {
  return !size.is_constant() && length == size - 1 ? length : max(length, 0);
}

// True if a bound counts from the front. If its sign depends on whether sizes are 0, they are assumed not to be:
// x[: n − 1] counts from the front, x[−n :] from the end.
std::optional<bool> from_front(const Dim& bound) {
  if (const auto known = greater_equal(bound, 0)) return known;
  std::map<std::string, Dim, std::less<>> at_least_one;
  for (const std::string& name : bound.symbols()) at_least_one.emplace(name, Dim::symbol(name) + 1);
  return greater_equal(bound.substitute(at_least_one), 0);
}

// The elements kept along one axis: the first, their number, and the step between them.
struct Kept {
  Dim first, length;
  std::int64_t step = 1;
};

// Forward from `start` up to `end`; negative bounds count from the end, and bounds outside the axis are clamped to it
// (ONNX Operators.md, Slice). Empty where the sign of a bound is not known.
std::optional<Kept> forward(const Dim& size, const Dim& start, const Dim& end, std::int64_t step) {
  const auto start_from_front = from_front(start);
  const auto end_from_front = from_front(end);
  if (!start_from_front || !end_from_front) return std::nullopt;
  const bool to_the_end = greater_equal(end, kEverything) == true || greater_equal(end, size) == true;
  if (greater_equal(start, kEverything) == true || greater_equal(-end, kEverything) == true) return Kept{0, 0, step};
  Dim first = start;
  if (!*start_from_front)
    first = greater_equal(-start, kEverything) == true ? Dim(0) : non_negative(size + start, size);
  Dim last = size;  // one past the end
  if (!*end_from_front) {
    last = size + end;
  } else if (!to_the_end) {
    const bool decided = greater_equal(size, end).has_value();
    // Bounds that are both computed from sizes, x[past:past + seq], are assumed to lie within the axis.
    const bool within = !decided && !start.is_constant() && !end.is_constant();
    last = within || (end == Dim(1) && !size.is_constant()) ? end : min(end, size);
  }
  const bool tail = !*start_from_front && to_the_end;  // x[-k:]: k elements if there are as many
  Dim length = non_negative(last - first, size);
  if (tail) length = start == Dim(-1) && !size.is_constant() ? Dim(1) : min(size, -start);
  return Kept{first, step == 1 ? length : ceil_div(length, step), step};
}

// Backward from `start`, clamped to [0, size − 1], down to but excluding `end`, clamped to [−1, size − 1]. As in
// onnxruntime, the largest integer means "to the end" in this direction too.
std::optional<Kept> backward(const Dim& size, const Dim& start, const Dim& end, std::int64_t step) {
  const auto start_from_front = from_front(start);
  const auto end_from_front = from_front(end);
  if (!start_from_front || !end_from_front) return std::nullopt;
  Dim first = size - 1;
  if (greater_equal(-start, kEverything) == true) {
    first = min(size - 1, 0);
  } else if (greater_equal(start, kEverything) != true && start != Dim(-1)) {
    first = *start_from_front ? min(start, size - 1) : max(size + start, 0);
  }
  Dim last = -1;  // one before the end
  if (greater_equal(end, kEverything) != true && greater_equal(-end, kEverything) != true)
    last = *end_from_front ? min(end, size - 1) : max(size + end, -1);
  return Kept{first, ceil_div(max(first - last, 0), -step), step};
}

// Bounds of every axis, from attributes (before opset 10) or inputs. An axis that is not listed has no bounds.
struct Bounds {
  std::vector<std::optional<std::size_t>> place;  // by axis: position in the lists
  TensorValue starts, ends, steps;
};

TensorValue bounds_input(const OpContext& op, int i, std::size_t count, const Scalar& otherwise) {
  if (!op.has_input(i)) return TensorValue(count, otherwise);
  const TensorValue* value = op.value(i);
  if (value != nullptr && value->size() != count)
    op.fail(cat("input ", i, " has ", value->size(), " entries, expected ", count));
  return value != nullptr ? *value : TensorValue(count);
}

// Empty if the axes or their number are unknown.
std::optional<Bounds> slice_bounds(const OpContext& op) {
  Bounds bounds;
  const int rank = op.rank(0);
  if (op.opset() < 10 && op.node().op_type == "Slice") {
    const auto starts = op.integer_list("starts");
    const auto ends = op.integer_list("ends");
    if (!starts || !ends || starts->size() != ends->size())
      op.fail("attributes starts and ends should be lists of one length");
    bounds.starts.assign(starts->begin(), starts->end());
    bounds.ends.assign(ends->begin(), ends->end());
    bounds.steps.assign(starts->size(), Dim(1));
  } else {
    std::optional<std::int64_t> count;
    for (int i = 1; i < op.input_count() && !count; ++i)
      if (op.has_shape(i) && op.rank(i) == 1) count = op.shape(i)[0].value64();
    if (!count) return std::nullopt;
    if (*count < 0 || *count > rank) op.fail(cat(*count, " bounds for a tensor of rank ", rank));
    const auto entries = static_cast<std::size_t>(*count);
    bounds.starts = bounds_input(op, 1, entries, Scalar());
    bounds.ends = bounds_input(op, 2, entries, Scalar());
    bounds.steps = bounds_input(op, 4, entries, Dim(1));
  }
  std::vector<std::int64_t> axes;
  if (const auto listed = op.integer_list_or_input("axes", 3)) {
    axes = *listed;
  } else if (op.has_input(3)) {
    return std::nullopt;
  } else {
    for (std::size_t i = 0; i < bounds.starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (axes.size() != bounds.starts.size()) op.fail("axes and starts differ in length");
  bounds.place.resize(static_cast<std::size_t>(rank));
  const std::vector<int> normal = normal_axes(op, axes, rank);
  for (std::size_t i = 0; i < normal.size(); ++i) bounds.place[normal[i]] = i;
  return bounds;
}

// Adapts a bound that the file states for a different axis size: it keeps its distance from the nearer end.
// torch.export writes x[: −3] as x[: 109] for an axis of 112. Empty for a bound in the middle third, which may be a
// part of the axis.
std::optional<Dim> followed_bound(const OpContext& op, const Dim& size, const Dim& bound) {
  const FixedSizes& fixed = *op.fixed_sizes();
  const Dim exported = fixed.as_exported(size);
  if (!bound.is_constant() || !exported.is_constant() || exported == Dim(1) || !changes(fixed, size)) return bound;
  if (greater_equal(bound, exported) == true) return kEverything;
  if (greater_equal(0, bound) == true || greater_equal(exported - 1, 3 * bound) == true) return bound;
  if (greater_equal(2 * exported, 3 * bound) == true) return std::nullopt;
  return bound - exported;
}

// Empty where the bounds of the axis are not known.
std::optional<Kept> kept_of(const OpContext& op, const Dim& size, const Bounds& bounds, std::size_t place) {
  auto from = as_dim(bounds.starts[place]);
  auto to = as_dim(bounds.ends[place]);
  const auto distance = as_dim(bounds.steps[place]);
  if (!from || !to || !distance || !distance->value64()) return std::nullopt;
  const std::int64_t by = *distance->value64();
  if (by == 0) op.fail("a step of 0");
  if (by < -kFoldLimit * kFoldLimit || by > kFoldLimit * kFoldLimit) return std::nullopt;
  if (size == Dim(0)) return Kept{0, 0, by};
  if (const FixedSizes* fixed = op.fixed_sizes(); fixed != nullptr && fixed->hold_other(size)) {
    const auto start_there = followed_bound(op, size, *from);
    const auto end_there = followed_bound(op, size, *to);
    if (!start_there || !end_there) {  // what the part meets decides its size
      const auto part = by == 1 ? forward(fixed->as_exported(size), *from, *to, by) : std::nullopt;
      const auto length = part ? part->length.value64() : std::nullopt;
      if (!length || *length < 1)
        op.unknown("it cuts an axis of size " + fixed->as_exported(size).to_string() + " in its middle");
      return Kept{part->first, op.pending_size(*length), by};
    }
    from = start_there;
    to = end_there;
  }
  return by > 0 ? forward(size, *from, *to, by) : backward(size, *from, *to, by);
}

Shape sliced_shape(OpContext& op) {
  Shape shape = op.shape(0);
  const auto bounds = slice_bounds(op);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (bounds && !bounds->place[axis]) continue;
    const auto kept = bounds ? kept_of(op, shape[axis], *bounds, *bounds->place[axis]) : std::nullopt;
    shape[axis] = kept ? kept->length : op.fresh("sliced_dim", "slice bounds are computed from data", shape[axis]);
  }
  return shape;
}

void fold_slice(OpContext& op) {
  const auto input = known_input(op, 0);
  const auto output = small_output(op, 0);
  const auto bounds = input ? slice_bounds(op) : std::nullopt;
  if (!output || !bounds) return;
  const std::size_t rank = input->shape.size();
  Extents first(rank, 0), step(rank, 1);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (!bounds->place[axis]) continue;
    const auto kept = kept_of(op, input->shape[axis], *bounds, *bounds->place[axis]);
    if (!kept || !kept->first.value64()) return;
    first[axis] = *kept->first.value64();
    step[axis] = kept->step;
  }
  const Extents from = strides_of(input->shape);
  fold_axes(op, [&](std::size_t axis, std::int64_t at) { return (first[axis] + at * step[axis]) * from[axis]; });
}

// --- Split ---

// The sizes of the parts: listed in attribute or input `split`, else equal; since opset 18 the last may be smaller.
Shape split_sizes(OpContext& op, const Dim& whole) {
  const auto count = static_cast<std::size_t>(op.output_count());
  const auto listed = op.integer_list("split");
  if (!listed && op.has_input(1)) {
    const TensorValue* value = op.value(1);
    if (value != nullptr && value->size() != count) op.fail(cat(value->size(), " split sizes for ", count, " outputs"));
    Shape sizes;
    Dim rest = whole;
    std::size_t unknown = count;
    for (std::size_t i = 0; i < count; ++i) {
      const auto size = value != nullptr ? as_dim((*value)[i]) : std::nullopt;
      sizes.push_back(size ? *size : Dim(0));
      if (size) rest -= *size;
      // The first unknown part is what the others leave; any further one is a fresh symbol.
      if (!size && unknown == count) {
        unknown = i;
      } else if (!size) {
        sizes[i] = op.fresh("split_size", "split sizes are computed from data", whole);
        rest -= sizes[i];
      }
    }
    if (unknown != count) sizes[unknown] = rest;
    return sizes;
  }
  if (listed) {
    if (listed->size() != count) op.fail(cat(listed->size(), " split sizes for ", count, " outputs"));
    return {listed->begin(), listed->end()};
  }
  const std::int64_t parts = op.attribute("num_outputs", static_cast<std::int64_t>(count));
  if (parts != static_cast<std::int64_t>(count)) op.fail(cat("num_outputs is ", parts, " for ", count, " outputs"));
  const auto equal_part = exact_div(whole, parts);
  if (!equal_part && op.opset() < 18 && whole.is_constant())
    op.fail(cat(whole.to_string(), " does not split into ", parts, " equal parts"));
  if (equal_part || op.opset() < 18) return Shape(count, equal_part ? *equal_part : floor_div(whole, parts));
  Shape sizes(count, ceil_div(whole, parts));
  sizes.back() = whole - (parts - 1) * sizes.front();
  return sizes;
}

// The parts of an axis that follows the input: either each has the size of an earlier tensor, or all but one are 1.
Shape followed_parts(const OpContext& op, const Dim& whole, const Shape& sizes) {
  Shape parts;
  Dim rest = whole;
  std::optional<std::size_t> open;
  bool are_seen = true;
  for (const Dim& size : sizes) {
    const std::vector<Dim> seen = op.seen_sizes(size.value64().value_or(0));
    are_seen = are_seen && seen.size() == 1;
    if (are_seen) parts.push_back(seen.front());
  }
  if (are_seen) {
    Dim sum = 0;
    for (const Dim& part : parts) sum += part;
    if (sum == whole) return parts;
  }
  parts = sizes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != Dim(1) && open)
      op.unknown("it splits an axis of size " + op.fixed_sizes()->as_exported(whole).to_string() +
                 " into parts of fixed sizes");
    if (sizes[i] != Dim(1))
      open = i;
    else
      rest -= 1;
  }
  if (open) parts[*open] = rest;
  return parts;
}

void infer_split(OpContext& op) {
  for (int i = 0; i < op.output_count(); ++i) set_element(op, i, op.element(0));
  if (!op.has_shape(0) || op.output_count() == 0) return;
  const std::size_t axis = axis_of(op, 0);
  Shape shape = op.shape(0);
  const Dim whole = shape[axis];
  Shape sizes = split_sizes(op, whole);
  Dim sum = 0;
  for (const Dim& size : sizes) {
    if (size.value64().value_or(0) < 0) op.fail("a part of the split has size " + size.to_string());
    sum += size;
  }
  const FixedSizes* fixed = op.fixed_sizes();
  if (fixed == nullptr && equal(sum, whole) == false)
    op.fail("split sizes add up to " + sum.to_string() + ", the axis has " + whole.to_string());
  if (fixed != nullptr && fixed->hold_batch(whole) && sum.is_constant())
    op.unknown("the batch axis is split into parts of fixed sizes: the model works at batch " + sum.to_string() +
               " only");
  if (fixed != nullptr && changes(*fixed, whole) && sum.is_constant()) sizes = followed_parts(op, whole, sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    shape[axis] = sizes[i];
    op.set_output(static_cast<int>(i), op.element(0), shape);
  }
}

void fold_split(OpContext& op) {
  const auto input = known_input(op, 0);
  if (!input) return;
  const std::size_t axis = axis_of(op, 0);
  const std::int64_t inner = strides_of(input->shape)[axis];
  std::int64_t before = 0;
  for (int i = 0; i < op.output_count(); ++i) {
    const auto output = small_output(op, i);
    if (!output) return;
    const std::int64_t part = (*output)[axis] * inner;
    const std::int64_t line = input->shape[axis] * inner;
    fold_moved(
        op, [&](std::int64_t index) { return index / part * line + before + index % part; }, i);
    before += part;
  }
}

// --- Concat ---

// The axis is mandatory since opset 4.
std::int64_t concat_axis(const OpContext& op) {
  return op.opset() < 4 ? op.attribute("axis", 1) : op.required_integer("axis");
}

void infer_concat(OpContext& op) {
  ElementType element = op.element(0);
  int with_shape = -1;
  bool all_known = true;
  for (int i = 0; i < op.input_count(); ++i) {
    if (element == ElementType::Undefined) element = op.element(i);
    if (op.element(i) != element && op.element(i) != ElementType::Undefined)
      op.fail("inputs have different element types");
    if (op.has_shape(i) && with_shape < 0) with_shape = i;
    all_known = all_known && op.has_shape(i);
  }
  set_element(op, 0, element);
  if (with_shape < 0) return;
  Shape shape = op.shape(with_shape);
  const int rank = static_cast<int>(shape.size());
  const auto axis = static_cast<std::size_t>(normal_axis(op, concat_axis(op), rank));
  for (int i = with_shape + 1; i < op.input_count(); ++i) {
    if (!op.has_shape(i)) continue;
    if (op.rank(i) != rank) op.fail(cat("inputs have ranks ", rank, " and ", op.rank(i)));
    for (std::size_t k = 0; k < shape.size(); ++k) {
      if (k == axis) {
        shape[k] += op.shape(i)[k];
      } else {
        shape[k] = op.unify(shape[k], op.shape(i)[k], "dims of the inputs along axis " + std::to_string(k));
      }
    }
  }
  if (!all_known) shape[axis] = op.fresh("concat_dim", "an input of unknown rank is concatenated");
  op.set_output(0, element, std::move(shape));
}

void fold_concat(OpContext& op) {
  if (!small_output(op, 0)) return;
  const auto axis = static_cast<std::size_t>(normal_axis(op, concat_axis(op), op.rank(0)));
  std::vector<SmallTensor> inputs;
  for (int i = 0; i < op.input_count(); ++i) {
    auto input = small_input(op, i);
    if (!input) return;
    inputs.push_back(*std::move(input));
  }
  std::int64_t lines = 1;  // blocks to which each input contributes one run of elements
  for (std::size_t i = 0; i < axis; ++i) lines *= inputs[0].shape[i];
  TensorValue value;
  for (std::int64_t line = 0; line < lines; ++line)
    for (const SmallTensor& input : inputs) {
      const std::int64_t run = input.count / lines;
      for (std::int64_t k = 0; k < run; ++k) value.push_back(input[line * run + k]);
    }
  publish(op, std::move(value));
}

// clang-format off
constexpr OpRule kSliceRules[] = {
    // op            infer                 cost             fold         cost in words
    {"Concat",       infer_concat,         cost_move,       fold_concat, "no arithmetic; reads and writes all", kLayout.with(Numbers::Rearranged).tokens_along(0)},
    {"DynamicSlice", shaped<sliced_shape>, cost_picked,     fold_slice,  "as Slice", kLayout.with(Gradient::Unmodelled)},
    {"Slice",        shaped<sliced_shape>, cost_picked,     fold_slice,  "no arithmetic; reads what it keeps", kLayout.with(Numbers::Rearranged).with(BatchAxis::Same)},
    {"Split",        infer_split,          cost_move_first, fold_split,  "no arithmetic; reads and writes all", kLayout.with(BatchAxis::Same)},
};
// clang-format on
static_assert(well_formed(kSliceRules));

}  // namespace

std::span<const OpRule> slice_rules() { return kSliceRules; }

}  // namespace pagoda::inline core::ops
