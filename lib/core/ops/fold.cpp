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

void fold_same(OpContext& op) {
  if (const auto input = known_input(op, 0)) publish(op, *input->known);
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
  if (!shape) return;
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
