// Mathematics of shapes shared by the rules.
#include "ops/shape_math.h"

#include <algorithm>

#include "ops/fixed_sizes.h"
#include "ops/fold.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core::ops {

int normal_axis(const OpContext& op, std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) op.fail(cat("axis ", axis, " is outside a tensor of rank ", rank));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<int> normal_axes(const OpContext& op, std::span<const std::int64_t> axes, int rank) {
  std::vector<int> result;
  result.reserve(axes.size());
  for (const std::int64_t axis : axes) {
    const int normal = normal_axis(op, axis, rank);
    if (std::find(result.begin(), result.end(), normal) != result.end()) op.fail(cat("axis ", axis, " is named twice"));
    result.push_back(normal);
  }
  return result;
}

std::size_t axis_of(const OpContext& op, std::int64_t otherwise, std::string_view attribute) {
  return normal_axis(op, op.attribute(attribute, otherwise), op.rank(0));
}

Dim lines_along(const Shape& shape, std::size_t axis) {
  Dim lines = 1;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (i != axis) lines *= shape[i];
  return lines;
}

Dim rows_from(const OpContext& op, std::int64_t default_axis) {
  const auto begin = op.shape(0).begin();
  return element_count(Shape(begin, begin + axis_of(op, default_axis)));
}

Shape without(const Shape& shape, const std::vector<bool>& reduced, bool keep) {
  Shape result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!reduced[i]) result.push_back(shape[i]);
    if (reduced[i] && keep) result.push_back(1);
  }
  return result;
}

namespace {

std::vector<std::int64_t> list_attribute(const OpContext& op, std::string_view name, std::size_t size,
                                         std::int64_t otherwise, std::int64_t least) {
  std::vector<std::int64_t> list = op.integer_list(name).value_or(std::vector<std::int64_t>(size, otherwise));
  if (list.size() != size) op.fail(cat("attribute ", name, " has ", list.size(), " entries, expected ", size));
  for (const std::int64_t entry : list)
    if (entry < least || entry > (std::int64_t{1} << 40)) op.fail(cat("attribute ", name, " holds ", entry));
  return list;
}

}  // namespace

Window window_attributes(const OpContext& op, int spatial_rank, const Shape* weight_kernel) {
  const std::size_t rank = spatial_rank;
  Window window;
  if (weight_kernel != nullptr) window.kernel = *weight_kernel;
  if (op.has_attribute("kernel_shape")) {
    const auto stated = list_attribute(op, "kernel_shape", rank, 1, 1);
    for (std::size_t i = 0; i < rank && weight_kernel != nullptr; ++i)
      if (window.kernel[i].is_constant() && window.kernel[i] != Dim(stated[i]))
        op.fail(cat("kernel_shape ", stated[i], " differs from the weight's ", window.kernel[i].to_string()));
    window.kernel.assign(stated.begin(), stated.end());
  } else if (weight_kernel == nullptr) {
    op.fail("attribute kernel_shape is missing");
  }
  window.strides = list_attribute(op, "strides", rank, 1, 1);
  window.dilations = list_attribute(op, "dilations", rank, 1, 1);
  // Negative pads crop; they are legal.
  window.pads = list_attribute(op, "pads", 2 * rank, 0, -(std::int64_t{1} << 40));
  return window;
}

namespace {

// Frameworks that pad an image to ⌈size / stride⌉ strides export the padding of one size, which may be uneven. It is
// valid only for sizes that leave the same remainder.
void expect_even_padding(const OpContext& op, const Dim& size, const Dim& begin, const Dim& end, std::int64_t stride) {
  const FixedSizes* fixed = op.fixed_sizes();
  if (fixed == nullptr || begin == end || stride == 1 || !changes(*fixed, size)) return;
  const auto exported = fixed->as_exported(size).value64();
  const auto asked = fixed->as_asked(size).value64();
  if (!exported || !asked || (*asked - *exported) % stride != 0)
    op.unknown("its padding is uneven, made for an axis of size " + fixed->as_exported(size).to_string());
}

}  // namespace

std::string window_exceeds(const Dim& padded, const Dim& extent) {
  return cat("the window spans ", extent.to_string(), " but the padded input has ", padded.to_string());
}

Shape window_output(const OpContext& op, const Shape& spatial, const Window& window, bool ceil_mode) {
  const std::string_view auto_pad = op.attribute("auto_pad", "NOTSET");
  Shape result;
  result.reserve(spatial.size());
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    const Dim stride = window.strides[i];
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      result.push_back(ceil_div(spatial[i], stride));
      continue;
    }
    const bool padded = auto_pad == "NOTSET" || auto_pad.empty();
    if (!padded && auto_pad != "VALID") op.fail(cat("auto_pad is '", auto_pad, "'"));
    const Dim begin = padded ? window.pads[i] : 0;
    const Dim end = padded ? window.pads[i + spatial.size()] : 0;
    expect_even_padding(op, spatial[i], begin, end, window.strides[i]);
    const Dim extent = Dim(window.dilations[i]) * (window.kernel[i] - 1) + 1;
    const Dim available = spatial[i] + begin + end;
    const Dim room = available - extent;
    Dim size = (ceil_mode ? ceil_div(room, stride) : floor_div(room, stride)) + 1;
    // A window that would start in the end padding is dropped (ONNX Operators.md, MaxPool).
    // (size − 1)·stride < room + stride, so none does where the window is at least as long as end + stride.
    if (ceil_mode && greater_equal(extent, end + stride) != true)
      size = min(size, floor_div(spatial[i] + begin - 1, stride) + 1);
    if (size.is_constant() && *size.value() < 1) op.fail(window_exceeds(available, extent));
    op.require(Requirement::Kind::Window, available, ceil_mode ? extent - stride + 1 : extent);
    result.push_back(std::move(size));
  }
  return result;
}

std::optional<Dim> as_dim(const Scalar& scalar) {
  if (const Dim* dim = std::get_if<Dim>(&scalar)) return *dim;
  return std::nullopt;
}

std::optional<double> as_real(const Scalar& scalar) {
  if (const double* real = std::get_if<double>(&scalar)) return *real;
  if (const Dim* dim = std::get_if<Dim>(&scalar))
    if (const auto integer = dim->value64()) return static_cast<double>(*integer);
  if (const Ratio* ratio = std::get_if<Ratio>(&scalar))
    if (const auto integer = ratio->numerator.value64())
      return static_cast<double>(*integer) / static_cast<double>(ratio->denominator);
  return std::nullopt;
}

Shape shape_from_value(OpContext& op, const TensorValue& value, std::string_view hint) {
  Shape shape;
  shape.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    std::optional<Dim> dim = as_dim(value[i]);
    if (dim && dim->is_constant() && *dim->value() < 0) op.fail("a size of " + dim->to_string());
    shape.push_back(dim ? *std::move(dim)
                        : op.fresh(std::string(hint) + "_" + std::to_string(i), "a size computed from data"));
  }
  return shape;
}

Shape unify_axes(OpContext& op, const Shape& a, const Shape& b, std::string_view what) {
  Shape shape = a;
  for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = op.unify(a[i], b[i], what);
  return shape;
}

std::optional<std::size_t> entry_count(const OpContext& op, int i) {
  const auto count = op.has_shape(i) && op.rank(i) == 1 ? op.shape(i)[0].value64() : std::nullopt;
  return count && *count >= 0 && *count <= kFoldLimit ? std::optional<std::size_t>(*count) : std::nullopt;
}

Dim ceil_log2(const Dim& n) {
  if (const auto value = n.value()) {
    int stages = 0;
    while (stages < 62 && (Int{1} << stages) < *value) ++stages;
    return stages;
  }
  constexpr int kBits = 32;
  Dim stages = 0;
  for (int k = 0; k < kBits; ++k) stages += min(1, floor_div(n - 1, std::int64_t{1} << k));
  return stages;
}

}  // namespace pagoda::inline core::ops
