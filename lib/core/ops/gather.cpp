// Picking and placing elements by index, and choosing them by value. Gathers read what they pick and no more than
// the whole table; operators whose output size depends on the data give a fresh symbol with an upper bound.
#include <cmath>
#include <numeric>
#include <set>

#include "ops/fixed_sizes.h"
#include "ops/fold.h"
#include "ops/nn_work.h"

namespace pagoda::inline core::ops {
namespace {

// An element of an index tensor, counted from the front of an axis of `size`; empty if it is unknown or out of range.
std::optional<std::int64_t> index_in(const Scalar& scalar, std::int64_t size) {
  const auto dim = as_dim(scalar);
  const auto index = dim ? dim->value64() : std::nullopt;
  if (!index || *index < -size || *index >= size) return std::nullopt;
  return *index < 0 ? *index + size : *index;
}

// --- Gather, GatherElements, GatherND ---

// The most picks that can differ: no more than there are places. A single pick is always one.
Dim distinct(const Dim& picks, const Dim& places) { return picks == Dim(1) ? picks : min(picks, places); }

// Reads `elements` elements of the data, and the indices.
OpCost cost_of_picks(const OpContext& op, const Dim& elements) {
  return cost_reading(op, {1}, byte_size(elements, op.element(0)));
}

OpCost cost_gather(const OpContext& op) {
  const std::size_t axis = axis_of(op, 0);
  const auto begin = op.output_shape(0).begin() + axis;
  const Dim picks = distinct(element_count(Shape(begin, begin + op.rank(1))), op.shape(0)[axis]);
  return cost_of_picks(op, picks * lines_along(op.shape(0), axis));
}

OpCost cost_gather_elements(const OpContext& op) {
  return cost_of_picks(op, distinct(op.output_elements(0), op.elements(0)));
}

// The shape of the indices, where a fixed export may store indices that list all elements of the axis: torch.export
// writes as_strided and flips so. They pick the whole axis, whatever its size, like a Reshape of it to their shape.
Shape picked_shape(OpContext& op, std::size_t axis) {
  Shape shape = op.shape(1);
  const FixedSizes* fixed = op.fixed_sizes();
  const Dim& size = op.shape(0)[axis];
  if (fixed == nullptr || !fixed->hold(size) || shape.empty()) return shape;
  const bool is_batch = !fixed->hold_other(size);
  if (is_batch && op.rank(0) != 1) return shape;
  const Dim exported = fixed->as_exported(size);
  if (exported == Dim(1) || element_count(shape) != exported) {
    if (changes(*fixed, size) && element_count(shape) != Dim(1) && op.is_constant(1))
      op.unknown("its indices are fixed, for an axis of size " + exported.to_string());
    return shape;
  }
  TensorValue target(shape.begin(), shape.end());
  std::optional<std::size_t> open;
  follow_target(op, {size}, target, open);
  for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = std::get<Dim>(target[i]);
  return shape;
}

Shape gathered_shape(OpContext& op) {
  static_cast<void>(op.input(1));
  const Shape& data = op.shape(0);
  const std::size_t axis = axis_of(op, 0);
  Shape shape(data.begin(), data.begin() + axis);
  const Shape picked = picked_shape(op, axis);
  shape.insert(shape.end(), picked.begin(), picked.end());
  shape.insert(shape.end(), data.begin() + axis + 1, data.end());
  return shape;
}

void fold_gather(OpContext& op) {
  const auto data = known_input(op, 0);
  const auto indices = small_input(op, 1);
  const auto output = small_output(op, 0);
  if (!data || !indices || !output) return;
  const std::size_t axis = axis_of(op, 0);
  const std::int64_t inner = strides_of(data->shape)[axis];
  const std::int64_t size = data->shape[axis];
  publish_each(op, count_of(*output), [&](std::int64_t i) {
    const std::int64_t line = i / (inner * indices->count);
    const auto index = index_in((*indices)[i / inner % indices->count], size);
    return index ? (*data)[(line * size + *index) * inner + i % inner] : Scalar();
  });
}

void infer_gather_elements(OpContext& op) {
  if (op.has_shape(0)) {
    axis_of(op, 0);
    if (op.has_shape(1) && op.rank(0) != op.rank(1)) op.fail("data and indices have different ranks");
  }
  op.set_output(0, {.element = op.element(0), .shape = op.input(1).shape});
}

// The place in `data` that element i of the indices picks along an axis; empty if it is unknown or out of range.
std::optional<std::int64_t> place_of(const SmallTensor& data, const SmallTensor& indices, std::size_t axis,
                                     std::int64_t i) {
  const auto index = index_in(indices[i], data.shape[axis]);
  const Extents to = strides_of(data.shape), from = strides_of(indices.shape);
  std::int64_t place = index.value_or(0) * to[axis];
  for (std::size_t k = 0; k < to.size(); ++k)
    if (k != axis) place += i / from[k] % indices.shape[k] * to[k];
  return index && place < data.count ? std::optional(place) : std::nullopt;
}

void fold_gather_elements(OpContext& op) {
  const auto data = known_input(op, 0);
  const auto indices = known_input(op, 1);
  if (!data || !indices) return;
  publish_each(op, indices->count, [&, axis = axis_of(op, 0)](std::int64_t i) {
    const auto place = place_of(*data, *indices, axis, i);
    return place ? (*data)[*place] : Scalar();
  });
}

// indices [batch…, places…, k] pick from data [batch…, k axes, rest…]: output [batch…, places…, rest…].
std::size_t index_length(const OpContext& op, std::size_t batch_dims) {
  if (op.rank(0) < 1 || op.rank(1) < 1) op.fail("data and indices should have rank 1 or more");
  const auto length = op.shape(1).back().value64();
  if (!length) op.unknown("the length of an index tuple is not known");
  if (*length < 0 || static_cast<std::size_t>(*length) + batch_dims > op.shape(0).size())
    op.fail(cat("index tuples of ", *length, " for data of rank ", op.rank(0)));
  return static_cast<std::size_t>(*length);
}

Shape gathered_runs_shape(OpContext& op) {
  static_cast<void>(op.input(1));
  const Shape& data = op.shape(0);
  const std::int64_t stated = op.attribute("batch_dims", 0);
  const Shape& indices = op.shape(1);
  if (stated < 0 || stated >= std::min(op.rank(0), op.rank(1))) op.fail(cat("batch_dims is ", stated));
  const auto batch_dims = static_cast<std::size_t>(stated);
  const std::size_t length = index_length(op, batch_dims);
  Shape shape(indices.begin(), indices.end() - 1);
  for (std::size_t i = 0; i < batch_dims; ++i) shape[i] = op.unify(data[i], indices[i], "batch dims");
  shape.insert(shape.end(), data.begin() + (batch_dims + length), data.end());
  return shape;
}

OpCost cost_gather_nd(const OpContext& op) {
  const auto batch_dims = static_cast<std::size_t>(op.attribute("batch_dims", 0));
  const std::size_t length = index_length(op, batch_dims);
  const Shape& data = op.shape(0);
  const Shape& indices = op.shape(1);
  Dim picks = 1, places = 1, elements = 1;
  for (std::size_t i = batch_dims; i + 1 < indices.size(); ++i) picks *= indices[i];
  for (std::size_t i = 0; i < data.size(); ++i)
    (i >= batch_dims && i < batch_dims + length ? places : elements) *= data[i];
  return cost_of_picks(op, elements * distinct(picks, places));
}

// The position that an index tuple points to: the first element of a run of data; empty if it is unknown.
std::optional<std::int64_t> run_start(const SmallTensor& data, const SmallTensor& indices, std::int64_t tuple,
                                      std::int64_t length) {
  const Extents strides = strides_of(data.shape);
  std::int64_t start = 0;
  for (std::int64_t k = 0; k < length; ++k) {
    const auto axis = static_cast<std::size_t>(k);
    const auto index = index_in(indices[tuple * length + k], data.shape[axis]);
    if (!index) return std::nullopt;
    start += *index * strides[axis];
  }
  return start;
}

void fold_gather_nd(OpContext& op) {
  const auto data = known_input(op, 0);
  const auto indices = known_input(op, 1);
  if (!data || !indices || op.attribute("batch_dims", 0) != 0) return;
  const std::int64_t length = indices->shape.back();
  const std::int64_t run = count_of(std::span(data->shape).subspan(static_cast<std::size_t>(length)));
  TensorValue value;
  for (std::int64_t tuple = 0; length > 0 && tuple < indices->count / length; ++tuple) {
    const auto start = run_start(*data, *indices, tuple, length);
    for (std::int64_t i = 0; i < run; ++i) value.push_back(start ? (*data)[*start + i] : Scalar());
  }
  publish(op, std::move(value));
}

// --- Scatter, ScatterElements, ScatterND ---

// Copies the data and places the updates; a reduction combines each update with the existing element.
OpCost cost_scatter(const OpContext& op) {
  const std::string_view reduction = op.attribute("reduction", "none");
  const bool compares = reduction == "min" || reduction == "max";
  if (reduction == "none") return op.streamed();
  if (reduction != "add" && reduction != "mul" && !compares) op.fail(cat("reduction is '", reduction, "'"));
  return op.streamed() + (compares ? compared(op.elements(2)) : Work{.arith = op.elements(2)});
}

void infer_scatter_elements(OpContext& op) {
  if (op.has_shape(0)) {
    axis_of(op, 0);
    for (const int i : {1, 2})
      if (op.has_shape(i) && op.rank(i) != op.rank(0)) op.fail(cat("input ", i, " differs from the data in rank"));
  }
  if (op.has_shape(1) && op.has_shape(2) && op.rank(1) == op.rank(2))
    unify_axes(op, op.shape(1), op.shape(2), "dims of indices and updates");
  op.set_output(0, op.input(0));
}

void infer_scatter_nd(OpContext& op) {
  if (op.has_shape(1) && op.rank(1) == 0) op.fail("indices should have rank 1 or more");
  if (op.has_shape(0) && op.has_shape(1) && op.has_shape(2) && op.shape(1).back().is_constant()) {
    const std::size_t length = index_length(op, 0);
    Shape expected(op.shape(1).begin(), op.shape(1).end() - 1);
    expected.insert(expected.end(), op.shape(0).begin() + length, op.shape(0).end());
    if (expected.size() != op.shape(2).size())
      op.fail(cat("updates have rank ", op.rank(2), ", expected ", expected.size()));
    unify_axes(op, expected, op.shape(2), "dims of indices and updates");
  }
  op.set_output(0, op.input(0));
}

bool overwrites(const OpContext& op) { return op.attribute("reduction", "none") == "none"; }

// The elements of a small tensor, unknown ones included.
TensorValue elements_of(const SmallTensor& tensor) {
  return tensor.known != nullptr ? *tensor.known : TensorValue(static_cast<std::size_t>(tensor.count));
}

void fold_scatter_elements(OpContext& op) {
  const auto data = small_input(op, 0);
  const auto indices = known_input(op, 1);
  const auto updates = small_input(op, 2);
  if (!data || !indices || !updates || !overwrites(op) || indices->shape != updates->shape) return;
  const std::size_t axis = axis_of(op, 0);
  TensorValue value = elements_of(*data);
  for (std::int64_t i = 0; i < indices->count; ++i) {
    const auto place = place_of(*data, *indices, axis, i);
    if (!place) return;
    value[*place] = (*updates)[i];
  }
  publish(op, std::move(value));
}

void fold_scatter_nd(OpContext& op) {
  const auto data = small_input(op, 0);
  const auto indices = known_input(op, 1);
  const auto updates = small_input(op, 2);
  if (!data || !indices || !updates || !overwrites(op)) return;
  const std::int64_t length = indices->shape.back();
  const std::int64_t run = count_of(std::span(data->shape).subspan(static_cast<std::size_t>(length)));
  TensorValue value = elements_of(*data);
  for (std::int64_t tuple = 0; length > 0 && tuple < indices->count / length; ++tuple) {
    const auto start = run_start(*data, *indices, tuple, length);
    if (!start || (tuple + 1) * run > updates->count) return;
    for (std::int64_t i = 0; i < run; ++i) value[*start + i] = (*updates)[tuple * run + i];
  }
  publish(op, std::move(value));
}

// --- OneHot ---

Shape one_hot_shape(OpContext& op) {
  Shape shape = op.shape(0);
  const TensorValue* value = op.value(1);
  std::optional<Dim> depth;
  if (value != nullptr && value->size() == 1) depth = as_dim(convert((*value)[0], op.element(1), ElementType::Int64));
  if (depth && depth->is_constant() && *depth->value() < 0) op.fail("a depth of " + depth->to_string());
  const int axis = normal_axis(op, op.attribute("axis", -1), op.rank(0) + 1);
  shape.insert(shape.begin() + axis, depth ? *depth : op.fresh("depth", "the depth of OneHot is computed from data"));
  return shape;
}

OpCost cost_one_hot(const OpContext& op) { return in_precision(op.output(0).element, op.streamed({0, 2})); }

// Exporters compute the repeats of Tile in this way: OneHot(axis, rank, [1, n]).
void fold_one_hot(OpContext& op) {
  const auto indices = known_input(op, 0);
  const auto values = known_input(op, 2);
  const auto output = small_output(op, 0);
  if (!indices || !values || !output || values->count != 2) return;
  const int axis = normal_axis(op, op.attribute("axis", -1), op.rank(0) + 1);
  const std::int64_t depth = (*output)[axis];
  const std::int64_t inner = strides_of(*output)[axis];
  publish_each(op, count_of(*output), [&](std::int64_t i) {
    const Scalar& index = (*indices)[i / (inner * depth) * inner + i % inner];
    const auto hot = as_dim(convert(index, op.element(0), ElementType::Int64));
    if (!hot || !hot->is_constant()) return Scalar();
    const Dim class_index = *hot->value() < 0 ? *hot + Dim(depth) : *hot;  // from the end; out of range: no hot one
    return (*values)[class_index == Dim(i / inner % depth) ? 1 : 0];
  });
}

// --- TopK ---

void infer_top_k(OpContext& op) {
  set_element(op, 0, op.element(0));
  set_element(op, 1, ElementType::Int64);
  if (!op.has_shape(0)) return;
  Shape shape = op.shape(0);
  Dim& along = shape[axis_of(op, -1)];
  std::optional<Dim> k;
  if (op.opset() < 10) {
    k = Dim(op.required_integer("k"));
  } else {
    static_cast<void>(op.input(1));
    k = scalar_value(op, 1);
  }
  if (k && (greater_equal(*k, 0) == false || greater_equal(along, *k) == false))
    op.fail("k is " + k->to_string() + " of " + along.to_string() + " elements");
  along = k ? *k : op.fresh("k", "k of TopK is computed from data", along);
  op.set_output(0, op.element(0), shape);
  op.set_output(1, ElementType::Int64, std::move(shape));
}

void fold_top_k(OpContext& op) {
  const auto input = known_input(op, 0);
  const auto output = small_output(op, 0);
  if (!input || !output) return;
  const std::size_t axis = axis_of(op, -1);
  const bool largest = op.flag("largest", true);
  const std::int64_t inner = strides_of(input->shape)[axis];
  const std::int64_t size = input->shape[axis];
  const std::int64_t k = (*output)[axis];
  std::vector<double> keys;
  for (std::int64_t i = 0; i < input->count; ++i) {
    const auto key = as_real((*input)[i]);
    if (!key) return;
    keys.push_back(largest ? -*key : *key);
  }
  TensorValue values(static_cast<std::size_t>(count_of(*output))), places = values;
  for (std::int64_t line = 0; size > 0 && line < input->count / size; ++line) {
    const std::int64_t start = line / inner * size * inner + line % inner;
    std::vector<std::int64_t> order(static_cast<std::size_t>(size));
    std::iota(order.begin(), order.end(), 0);
    // Equal elements keep their order: the lower index comes first.
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return keys[start + a * inner] < keys[start + b * inner]; });
    for (std::int64_t i = 0; i < k; ++i) {
      const auto at = static_cast<std::size_t>(line / inner * k * inner + line % inner + i * inner);
      const std::int64_t place = order[i];
      values[at] = (*input)[start + place * inner];
      places[at] = Dim(place);
    }
  }
  publish(op, std::move(values));
  publish(op, std::move(places), 1);
}

// A comparison per element, the least that any selection needs; ordering the selected elements is not counted.
OpCost cost_select(const OpContext& op) { return op.streamed({0}) + compared(op.elements(0)); }

// --- data-dependent sizes: NonZero, Compress, Unique ---

// The number of elements that are not 0; empty if one is unknown.
std::optional<std::int64_t> count_true(const SmallTensor& tensor) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < tensor.count; ++i) {
    const auto is_set = is_true(tensor[i]);
    if (!is_set) return std::nullopt;
    count += *is_set ? 1 : 0;
  }
  return count;
}

// One row per axis, one column per element that is not 0.
void infer_non_zero(OpContext& op) {
  static_cast<void>(op.input(0));
  const auto input = known_input(op, 0);
  const auto known = input ? count_true(*input) : std::nullopt;
  std::optional<Dim> most;
  if (op.has_shape(0)) most = op.elements(0);
  const ValueInfo* large = OpContext::State::of(op).inputs[0];
  const auto counted = known                                ? std::optional(Dim(*known))
                       : large->banded && large->type.shape ? count_nonzero(*large->banded, *large->type.shape)
                                                            : std::nullopt;
  const Dim count = counted ? *counted : op.fresh("nonzero", "the number of elements that are not 0", most);
  const Dim rows = op.has_shape(0) ? Dim(op.rank(0)) : op.fresh("rank", "the rank of the input is not known");
  op.set_output(0, ElementType::Int64, {rows, count});
}

void fold_non_zero(OpContext& op) {
  const auto input = known_input(op, 0);
  const auto output = small_output(op, 0);
  if (!input || !output || input->shape.empty()) return;
  const Extents strides = strides_of(input->shape);
  TensorValue value;
  for (std::size_t axis = 0; axis < strides.size(); ++axis)
    for (std::int64_t i = 0; i < input->count; ++i)
      if (is_true((*input)[i]) == true) value.push_back(Dim(i / strides[axis] % input->shape[axis]));
  publish(op, std::move(value));
}

void infer_compress(OpContext& op) {
  const auto condition = known_input(op, 1);
  const auto known = condition ? count_true(*condition) : std::nullopt;
  const bool flat = !op.has_attribute("axis");
  if (!op.has_shape(0) && !flat) return set_element(op, 0, op.element(0));
  std::optional<Dim> most;
  if (op.has_shape(0)) most = flat ? op.elements(0) : op.shape(0)[axis_of(op, 0)];
  const Dim count = known ? Dim(*known) : op.fresh("compressed", "the number of true conditions", most);
  if (flat) return op.set_output(0, op.element(0), {count});
  Shape shape = op.shape(0);
  shape[axis_of(op, 0)] = count;
  op.set_output(0, op.element(0), std::move(shape));
}

// The number of different slices along `axis` (without one: elements); empty if an element is unknown or NaN.
std::optional<std::int64_t> count_different(const SmallTensor& tensor, std::optional<std::size_t> axis) {
  const std::int64_t slices = axis ? tensor.shape[*axis] : tensor.count;
  const std::int64_t inner = axis ? strides_of(tensor.shape)[*axis] : 1;
  std::set<std::vector<double>> different;
  for (std::int64_t slice = 0; slice < slices; ++slice) {
    std::vector<double> members;
    for (std::int64_t i = 0; i < tensor.count; ++i) {
      if (i / inner % slices != slice) continue;
      const auto member = as_real(tensor[i]);
      if (!member || std::isnan(*member)) return std::nullopt;
      members.push_back(*member);
    }
    different.insert(std::move(members));
  }
  return static_cast<std::int64_t>(different.size());
}

// Outputs: Y, the first position of each in X, the position in Y of every input element, and the counts.
void infer_unique(OpContext& op) {
  set_element(op, 0, op.element(0));
  std::optional<Dim> searched;
  std::optional<std::size_t> axis;
  if (op.has_shape(0)) {
    if (op.has_attribute("axis")) axis = axis_of(op, 0);
    searched = axis ? op.shape(0)[*axis] : op.elements(0);
  }
  const auto input = known_input(op, 0);
  const auto known = input ? count_different(*input, axis) : std::nullopt;
  const Dim count = known ? Dim(*known) : op.fresh("unique", "the number of different elements", searched);
  if (axis) {
    Shape shape = op.shape(0);
    shape[*axis] = count;
    op.set_output(0, op.element(0), std::move(shape));
  } else if (!op.has_attribute("axis")) {
    op.set_output(0, op.element(0), {count});
  }
  op.set_output(1, ElementType::Int64, {count});
  op.set_output(2, ElementType::Int64, {searched ? *searched : op.fresh("elements", "the input's rank is not known")});
  op.set_output(3, ElementType::Int64, {count});
}

// clang-format off
constexpr OpRule kGatherRules[] = {
    // op               infer                        cost                  fold                   cost in words
    {"Compress",        infer_compress,              cost_picked_by,       nullptr,               "no arithmetic; reads the conditions and what they keep", kGathering},
    {"Gather",          shaped<gathered_shape>,      cost_gather,          fold_gather,           "no arithmetic; reads the indices and what they pick, at most all", kGathering.with(BatchAxis::Indexed).reads({WeightUse::Embedding})},
    {"GatherElements",  infer_gather_elements,       cost_gather_elements, fold_gather_elements,  "no arithmetic; reads the indices and what they pick, at most all", kGathering},
    {"GatherND",        shaped<gathered_runs_shape>, cost_gather_nd,       fold_gather_nd,        "no arithmetic; reads the indices and what they pick, at most all", kGathering},
    {"NonZero",         infer_non_zero,              cost_select,          fold_non_zero,         "1 comparison / input element", kSearch.with(Placement::Materialises)},
    {"OneHot",          shaped<one_hot_shape, 2>,    cost_one_hot,         fold_one_hot,          "no arithmetic; writes the output", kGathering},
    {"Scatter",         infer_scatter_elements,      cost_scatter,         fold_scatter_elements, "no arithmetic; copies the data, places the updates", kGathering},
    {"ScatterElements", infer_scatter_elements,      cost_scatter,         fold_scatter_elements, "copies the data, places the updates; with a reduction 1 operation / update", kGathering},
    {"ScatterND",       infer_scatter_nd,            cost_scatter,         fold_scatter_nd,       "copies the data, places the updates; with a reduction 1 operation / update", kGathering},
    {"TopK",            infer_top_k,                 cost_select,          fold_top_k,            "1 comparison / input element: a selection; ordering the winners is not counted", kSearch.with(Gradient::Rule)},
    {"Unique",          infer_unique,                cost_select,          nullptr,               "1 comparison / input element: a hash or a merge; ordering is not counted", kSearch},
};
// clang-format on
static_assert(well_formed(kGatherRules));

}  // namespace

std::span<const OpRule> gather_rules() { return kGatherRules; }

}  // namespace pagoda::inline core::ops
