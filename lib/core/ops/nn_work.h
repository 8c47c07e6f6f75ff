// Counts shared by the neural-network families: sampling a tensor between its elements, p-norms, softmax.
// All are per element, location or axis as named; integer index arithmetic costs nothing.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "ops/rule_parts.h"

namespace pagoda::inline core::ops {

// Softmax per element: compare with the running maximum, subtract it, exp, add to the sum, divide.
inline Work softmax_work() { return {.arith = 4, .special = 1, .comparisons = 1}; }

// --- p-norms: (Σ |x|^p)^(1/p) ---

// The order p, an integer attribute since opset 2 and a real one before.
inline double norm_order(const OpContext& op) {
  const AttributeValue* p = op.attribute_value("p");
  if (p == nullptr) return 2;
  if (const auto* integer = std::get_if<std::int64_t>(p)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(p)) return *real;
  op.fail("attribute p is not a number");
}

// |x|^p of one element: p = 1 the absolute value; p = 2 a square; else absolute value and pow.
inline Work norm_power_work(double p) {
  if (p == 1) return {.arith = 1, .comparisons = 1};
  if (p == 2) return {.arith = 1};
  return {.arith = 1, .special = 1, .comparisons = 1};
}

// The p-th root of one sum: nothing for p = 1, else one sqrt or pow.
inline Work norm_root_work(double p) { return {.special = p == 1 ? 0 : 1}; }

// --- interpolation over n axes ---

enum class Interpolation : std::uint8_t { Nearest, Linear, Cubic };

inline Interpolation interpolation(const OpContext& op, std::string_view otherwise) {
  const std::string_view mode = op.attribute("mode", otherwise);
  if (mode == "nearest") return Interpolation::Nearest;
  if (mode == "linear" || mode == "bilinear") return Interpolation::Linear;
  if (mode == "cubic" || mode == "bicubic") return Interpolation::Cubic;
  op.fail(cat("mode is '", mode, "', expected nearest, linear or cubic"));
}

// Elements read along one axis for one sample.
inline int taps(Interpolation mode) { return std::array{1, 2, 4}[static_cast<std::size_t>(mode)]; }

// Weights of one coordinate along one axis. Nearest: 1 rounding. Linear: floor, fraction f, 1 − f. Cubic: floor,
// fraction, the 3 other distances, and Keys' polynomials by Horner's rule, 5 operations for each of the two inner
// taps and 6 for each of the two outer ones: 2 + 3 + 10 + 12.
inline Work axis_weights_work(Interpolation mode) {
  return {.arith = std::array{1, 3, 27}[static_cast<std::size_t>(mode)], .comparisons = 1};
}

// taps^axes: elements read for one sample.
inline Dim sample_taps(Interpolation mode, int axes) {
  Dim count = 1;
  for (int i = 0; i < axes; ++i) count *= taps(mode);
  return count;
}

// Products of the axes' weights, shared by all channels of one location: Σ_{j = 2…axes} taps^j multiplications.
inline Work weight_products_work(Interpolation mode, int axes) {
  Dim products = 0;
  if (mode != Interpolation::Nearest)
    for (int i = 2; i <= axes; ++i) products += sample_taps(mode, i);
  return {.arith = products};
}

// One sampled value: a multiplication per tap, and their sum.
inline Work sample_work(Interpolation mode, int axes) {
  if (mode == Interpolation::Nearest || axes == 0) return {};
  return {.arith = 2 * sample_taps(mode, axes) - 1};
}

// Sampling at places whose coordinates are affine in their positions. Per position along an axis: its coordinate (mul,
// add) and weights; per place the products of weights, which all channels share; per sample the weighted sum of taps.
inline Work resampling_work(Interpolation mode, int axes, const Dim& positions, const Dim& places, const Dim& samples) {
  return (Work{.arith = 2} + axis_weights_work(mode)) * positions + weight_products_work(mode, axes) * places +
         sample_work(mode, axes) * samples;
}

// GridSample. Per location and axis: scale to pixels (mul, add), fold into the image (border: 2 comparisons;
// reflection: sub, div, floor, mul, sub, add), weights. Reads the whole grid and the taps, at most the whole input.
inline OpCost grid_sample_cost(const OpContext& op, const Dim& locations) {
  const Interpolation mode = interpolation(op, op.opset() >= 20 ? "linear" : "bilinear");
  const int axes = op.rank(0) - 2;
  const std::string_view padding = op.attribute("padding_mode", "zeros");
  Work folding;
  if (padding == "border") folding = {.arith = 2, .comparisons = 2};
  if (padding == "reflection") folding = {.arith = 6, .comparisons = 1};
  const Dim taps_read = min(op.elements(0), op.output_elements(0) * sample_taps(mode, axes));
  return cost_reading(op, {1}, byte_size(taps_read, op.element(0))) + folding * (locations * axes) +
         resampling_work(mode, axes, locations * axes, locations, op.output_elements(0));
}

// --- work per element ---

// Divide, round, add the zero point if there is one, clamp at both ends.
inline Work quantize_work(bool has_zero_point = true) { return {.arith = has_zero_point ? 5 : 4, .comparisons = 3}; }
// (x − zero point)·scale.
inline Work dequantize_work() { return {.arith = 2}; }
// The subtraction of a zero point, if there is one, from every element of an operand.
inline Work zero_point_work(const OpContext& op, int operand, int zero_point) {
  return {.arith = op.has_input(zero_point) ? op.elements(operand) : Dim(0)};
}
// Quantising with a range found at run time. Per element: min, max, then as quantize_work(). Per tensor: extend the
// range to 0 (2 comparisons), scale (sub, div), zero point (div, sub, 2 clamps, round).
inline Work dynamic_quantize_work(const Dim& elements, const Dim& tensors) {
  return {.arith = 7 * elements + 9 * tensors, .comparisons = 5 * elements + 5 * tensors};
}
// Inputs: A, scale, zero point, B, scale, zero point, scale and zero point of Y, bias. Zero points are subtracted from
// both operands. The combined scale takes a multiplication and a division per element of B's scale. Outputs are scaled,
// rounded, shifted by the zero point and clamped at both ends.
OpCost qlinear_cost(const OpContext& op, const Dim& macs);
// To symmetric integers: multiply by the combined scale, round, clamp at both ends.
inline Work requantize_work() { return {.arith = 4, .comparisons = 3}; }
// x·sigmoid(x).
inline Work silu_work() { return {.arith = 1, .special = 1}; }
// 0.5·x·(1 + erf(x/√2)): 3 multiplications, 1 addition.
inline Work gelu_work() { return {.arith = 4, .special = 1}; }
// 0.5·x·(1 + tanh(x·(a + b·x²))): 5 multiplications, 2 additions.
inline Work fast_gelu_work() { return {.arith = 7, .special = 1}; }
// Mean and variance: per element an addition, a subtraction, a square, an addition; per statistic two divisions.
inline Work moments_work(const Dim& elements, const Dim& statistics) {
  return {.arith = 4 * elements + 2 * statistics};
}
// 1/√(v + ε): an addition and an rsqrt.
inline Work inverse_root_work(const Dim& statistics) { return {.arith = statistics, .special = statistics}; }
// Moments per statistic, then y = a·x + b per element with a = scale·rsqrt(variance + ε), b = bias − a·mean for each
// image and channel, `coefficients` in all.
inline Work channel_norm_work(const Dim& elements, const Dim& statistics, const Dim& coefficients) {
  return moments_work(elements, statistics) + inverse_root_work(statistics) +
         Work{.arith = 2 * elements + 3 * coefficients};
}
// Per element moments (4) and normalise; per row two divisions, ε, rsqrt.
inline Work layer_norm_work(const Dim& elements, const Dim& rows) {
  return moments_work(elements, rows) + inverse_root_work(rows) + Work{.arith = elements};
}
// Per element square, add, normalise; per row a division, ε, rsqrt.
inline Work rms_norm_work(const Dim& elements, const Dim& rows) {
  return inverse_root_work(rows) + Work{.arith = 3 * elements + rows};
}
inline Work scaled_rms_norm_work(const Dim& elements, const Dim& rows) {
  return rms_norm_work(elements, rows) + Work{.arith = elements};
}

// G·sigmoid(α·G)·(L + β) with the attributes activation_alpha and activation_beta; clamped, G above and L at both ends.
Work swiglu_work(const OpContext& op, bool is_clamped);
// One evaluation of an activation.
struct Activation {
  std::string_view name;
  int arith, special, comparisons;
  bool is_recurrent;  // an activation of ai.onnx's LSTM, GRU and RNN

  Work work() const { return {arith, special, comparisons}; }
};
// The activation of this name in any case of letters; null if ONNX Runtime has none.
const Activation* find_activation(std::string_view name);
// One evaluation of the activation `name`, as fused into Conv, Gemm or MatMul. Ends the rule for a name that
// ONNX Runtime does not have.
Work activation_work(const OpContext& op, std::string_view name);
// The same for the attribute `activation`, on every element of output 0.
Work fused_activation_work(const OpContext& op);

}  // namespace pagoda::inline core::ops
