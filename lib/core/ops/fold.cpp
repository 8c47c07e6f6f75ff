// Folding of small tensors.
#include "ops/fold.h"

#include <algorithm>

#include "ops/context.h"
#include "ops/shape_math.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core::ops {

const Scalar& SmallTensor::operator[](std::int64_t index) const {
  // Attributes and values of a damaged file may name elements that no tensor has.
  if (index < 0 || index >= count) throw RuleStop{RuleStop::Kind::Contradiction, cat("element ", index, " of ", count)};
  static const Scalar kUnknown;
  return known == nullptr ? kUnknown : (*known)[index];
}

namespace {

std::optional<Extents> extents(const std::optional<Shape>& shape) {
  if (!shape) return std::nullopt;
  Extents result;
  std::int64_t count = 1;
  for (const Dim& dim : *shape) {
    const auto size = dim.value64();
    if (!size || *size < 0 || *size > kFoldLimit || count * *size > kFoldLimit) return std::nullopt;
    count *= *size;
    result.push_back(*size);
  }
  return result;
}

}  // namespace

std::int64_t count_of(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

std::optional<SmallTensor> small_input(const OpContext& op, int i) {
  if (!op.has_input(i) || op.input(i).container != Container::Tensor) return std::nullopt;
  auto shape = extents(op.input(i).shape);
  if (!shape) return std::nullopt;
  SmallTensor tensor{.known = op.value(i), .shape = *std::move(shape)};
  tensor.count = count_of(tensor.shape);
  if (tensor.known != nullptr && static_cast<std::int64_t>(tensor.known->size()) != tensor.count) return std::nullopt;
  return tensor;
}

std::optional<SmallTensor> known_input(const OpContext& op, int i) {
  if (!op.has_input(i) || op.value(i) == nullptr) return std::nullopt;
  return small_input(op, i);
}

std::optional<Extents> small_output(const OpContext& op, int i) {
  return op.has_output(i) ? extents(op.output(i).shape) : std::nullopt;
}

Extents strides_of(std::span<const std::int64_t> shape) {
  Extents strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

BroadcastIndex::BroadcastIndex(std::span<const std::int64_t> to, std::span<const std::int64_t> from)
    : is_same_(std::equal(to.begin(), to.end(), from.begin(), from.end())) {
  if (is_same_) return;
  const Extents to_strides = strides_of(to);
  const Extents from_strides = strides_of(from);
  const std::size_t offset = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1) axes_.push_back({to[offset + i], to_strides[offset + i], from_strides[i]});
}

std::int64_t BroadcastIndex::operator()(std::int64_t index) const {
  if (is_same_) return index;
  std::int64_t result = 0;
  for (const Axis& axis : axes_) result += index / axis.to_stride % axis.size * axis.from_stride;
  return result;
}

void publish(OpContext& op, TensorValue value, int output) {
  if (std::none_of(value.begin(), value.end(), is_known) && !value.empty()) return;
  const auto shape = small_output(op, output);
  if (shape && count_of(*shape) == static_cast<std::int64_t>(value.size())) op.set_value(output, std::move(value));
}

void publish_banded(OpContext& op, Banded banded) {
  OpContext::State& state = OpContext::State::of(op);
  const bool is_known_somewhere = is_known(banded.inside) || is_known(banded.outside);
  if (!state.outputs.empty() && !state.outputs[0].value() && is_known_somewhere)
    state.outputs[0].banded = std::move(banded);
}

namespace {

bool is_limited(const Banded& banded) { return banded.least || banded.most; }

// Whether a tensor of limited values keeps its rows and columns where it is broadcast to the other shape.
bool has_same_matrices(const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if (!a || !b || a->size() < 2 || b->size() < 2) return false;
  return std::equal(a->end() - 2, a->end(), b->end() - 2);
}

}  // namespace

void fold_banded(OpContext& op, const std::function<Scalar(std::span<const Scalar>)>& f) {
  const OpContext::State& state = OpContext::State::of(op);
  if (state.outputs.empty()) return;
  const Banded* band = nullptr;
  std::vector<Scalar> inside, outside;
  for (const ValueInfo* input : state.inputs) {
    if (input == nullptr) return;
    if (const Banded* banded = input->banded.get()) {
      const bool is_second = band != nullptr && is_limited(*band);
      if (is_limited(*banded)) {
        if (is_second && (band->least != banded->least || band->most != banded->most)) return;
        if (!has_same_matrices(input->type.shape, state.outputs[0].type.shape)) return;
      }
      if (!is_second) band = banded;
      inside.push_back(banded->inside);
      outside.push_back(banded->outside);
    } else if (input->value() != nullptr && input->value()->size() == 1) {
      inside.push_back(input->value()->front());
      outside.push_back(input->value()->front());
    } else {
      return;
    }
  }
  if (band != nullptr) publish_banded(op, {f(inside), f(outside), band->least, band->most});
}

namespace {

// 1 + 2 + … + n, and 0 for n below 0.
Dim triangle(const Dim& n) {
  if (greater_equal(0, n) == true) return 0;
  const Dim rows = greater_equal(n, -1) == true ? n : max(n, 0);
  return floor_div(rows * rows + rows, 2);
}

// The places of a matrix with column − row ≥ k. For k ≥ 0 row r has columns − k − r of them, as long as that is above
// 0: a triangle, without the one below the last row. For k < 0 the others form such a triangle of columns.
std::optional<Dim> places_from(const Dim& k, const Dim& rows, const Dim& columns) {
  if (greater_equal(k, 0) == true) return triangle(columns - k) - triangle(columns - k - rows);
  if (greater_equal(0, k) != true) return std::nullopt;
  const auto others = places_from(1 - k, columns, rows);
  return others ? std::optional(rows * columns - *others) : std::nullopt;
}

// The places with least ≤ column − row ≤ most.
std::optional<Dim> places_in(const Banded& band, const Dim& rows, const Dim& columns) {
  if (!band.least) return band.most ? places_from(-*band.most, columns, rows) : std::optional(rows * columns);
  const auto from = places_from(*band.least, rows, columns);
  if (!band.most) return from;
  const auto behind = places_from(*band.most + 1, rows, columns);
  const bool is_band = greater_equal(*band.most + 1, *band.least) == true;
  return from && behind && is_band ? std::optional(*from - *behind) : std::nullopt;
}

}  // namespace

std::optional<Dim> count_nonzero(const Banded& banded, const Shape& shape) {
  const auto inside = is_true(banded.inside), outside = is_true(banded.outside);
  if (!inside || !outside) return std::nullopt;
  const Dim all = element_count(shape);
  if (*inside == *outside) return *inside ? all : Dim(0);
  if (shape.size() < 2) return std::nullopt;
  const Dim &rows = shape[shape.size() - 2], &columns = shape.back();
  Dim matrices = 1;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) matrices *= shape[i];
  const auto places = places_in(banded, rows, columns);
  if (!places) return std::nullopt;
  return matrices * (*inside ? *places : rows * columns - *places);
}

void fold_same(OpContext& op) {
  if (const auto input = known_input(op, 0)) return publish(op, *input->known);
  const OpContext::State& state = OpContext::State::of(op);
  const ValueInfo* input = state.inputs.empty() ? nullptr : state.inputs[0];
  if (input == nullptr || !input->banded || state.outputs.empty()) return;
  if (!is_limited(*input->banded) || input->type.shape == state.outputs[0].type.shape)
    publish_banded(op, *input->banded);
}

void fold_moved(OpContext& op, const std::function<std::int64_t(std::int64_t)>& source, int output) {
  const auto input = known_input(op, 0);
  const auto shape = small_output(op, output);
  if (input && shape)
    publish_each(
        op, count_of(*shape), [&](std::int64_t i) { return (*input)[source(i)]; }, output);
}

void fold_axes(OpContext& op, const std::function<std::int64_t(std::size_t, std::int64_t)>& offset) {
  const auto shape = small_output(op, 0);
  if (!shape) return;
  const Extents strides = strides_of(*shape);
  fold_moved(op, [&](std::int64_t index) {
    std::int64_t source = 0;
    for (std::size_t axis = 0; axis < strides.size(); ++axis)
      source += offset(axis, index / strides[axis] % (*shape)[axis]);
    return source;
  });
}

void fold_broadcast(OpContext& op, BinaryFold f) {
  bool any_known = false;
  for (int i = 0; i < op.input_count(); ++i) any_known = any_known || op.value(i) != nullptr;
  const auto shape = any_known ? small_output(op, 0) : std::nullopt;
  if (!shape)
    return fold_banded(op, [&](std::span<const Scalar> elements) {
      Scalar element = elements[0];
      for (std::size_t k = 1; k < elements.size(); ++k) element = f(element, elements[k], op.element(0));
      return element;
    });
  struct Input {
    SmallTensor tensor;
    BroadcastIndex index;
    const Scalar& operator[](std::int64_t i) const { return tensor[index(i)]; }
  };
  base::SmallVector<Input, 2> inputs;
  for (int i = 0; i < op.input_count(); ++i) {
    auto input = small_input(op, i);
    if (!input || input->shape.size() > shape->size()) return;
    // Before opset 7 the second operand could be aligned at other axes than the last.
    if (op.opset() < 7 && input->shape != *shape && input->count != 1) return;
    const BroadcastIndex index(*shape, input->shape);
    inputs.push_back({*std::move(input), index});
  }
  publish_each(op, count_of(*shape), [&, type = op.element(0)](std::int64_t i) {
    Scalar element = inputs[0][i];
    for (std::size_t k = 1; k < inputs.size(); ++k) element = f(element, inputs[k][i], type);
    return element;
  });
}

}  // namespace pagoda::inline core::ops
