// Mathematics of shapes shared by the rules: axes, broadcasting of lists, convolution windows, slices.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/dim.h"
#include "pagoda/core/graph.h"
#include "pagoda/core/rule.h"

namespace pagoda::inline core::ops {

// `axis` counted from the front; ends the rule when it is outside [-rank, rank).
int normal_axis(const OpContext& op, std::int64_t axis, int rank);
// Each axis counted from the front; ends the rule if one is out of range or listed twice.
std::vector<int> normal_axes(const OpContext& op, std::span<const std::int64_t> axes, int rank);

// The axis that an integer attribute of the node names, of input 0.
std::size_t axis_of(const OpContext& op, std::int64_t otherwise, std::string_view attribute = "axis");

// The number of lines along `axis`: the product of all other sizes.
Dim lines_along(const Shape& shape, std::size_t axis);

// The number of rows of input 0 when the axes from the attribute `axis` on form a row: the product of the sizes before.
Dim rows_from(const OpContext& op, std::int64_t default_axis);

// The shape after a reduction of the axes in `reduced`, which stay with size 1 if `keep` is set.
Shape without(const Shape& shape, const std::vector<bool>& reduced, bool keep);

// The geometry of a sliding window over the spatial axes.
struct Window {
  Shape kernel;
  std::vector<std::int64_t> strides, dilations;
  std::vector<std::int64_t> pads;  // begins then ends, as ONNX lists them
};

// kernel_shape or the weight's spatial dims, strides, dilations, pads with their defaults; ends the rule when the
// lists' lengths differ from `spatial_rank`.
Window window_attributes(const OpContext& op, int spatial_rank, const Shape* weight_kernel);

// Output size of a convolution or pool along each spatial axis, with auto_pad and ceil_mode:
// ⌊(in + pad − dilation·(kernel−1) − 1) / stride⌋ + 1 (ONNX Operators.md, Conv and MaxPool).
Shape window_output(const OpContext& op, const Shape& spatial, const Window& window, bool ceil_mode);

// "the window spans 3 but the padded input has 1"
std::string window_exceeds(const Dim& padded, const Dim& extent);

// Unifies two shapes of one rank axis by axis.
Shape unify_axes(OpContext& op, const Shape& a, const Shape& b, std::string_view what);

// The number of entries of a list input; empty if it is unknown, or more than a tensor that is folded has.
std::optional<std::size_t> entry_count(const OpContext& op, int i);

// An element of a known value as an integer; empty if it is unknown or not an integer.
std::optional<Dim> as_dim(const Scalar& scalar);
std::optional<double> as_real(const Scalar& scalar);

// The value as a shape: every unknown element becomes a fresh symbol named after `hint`.
Shape shape_from_value(OpContext& op, const TensorValue& value, std::string_view hint);

// ⌈log2 n⌉ of n ≥ 1, exact up to 2³²: for a symbolic n the number of powers 2^k below it, Σ min(1, ⌊(n − 1) / 2^k⌋).
Dim ceil_log2(const Dim& n);

}  // namespace pagoda::inline core::ops
