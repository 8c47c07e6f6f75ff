// Backward of normalisations, softmax and losses. Statistics are taken over rows of the n elements; x̂ is the
// normalised element, γ the scale. A gradient through statistics is dx = r·(g − mean(g) − x̂·mean(g·x̂)), g = dy·γ.
#include <algorithm>

#include "ops/shape_math.h"
#include "train/backward_rule.h"

namespace pagoda::inline core::train_rules {
namespace {

// What the cost of a norm's gradients depends on.
struct Norm {
  Dim rows;                 // statistics
  bool centred = true;      // with a mean
  int scale = 1, bias = 2;  // inputs; −1: none
  int data = 0;
  std::string_view kept = "mean and rstd";
  ElementType statistic_type = ElementType::Float32;
};

// Per element: x̂ 2 (1 without a mean), g 1 if there is a scale, sums of g (1, with a mean) and of g·x̂ (2), then
// x̂·c, the differences 2 (1), r. Per row a division for each mean. dγ = Σ dy·x̂: x̂, a product, a sum; dβ = Σ dy.
void norm(Backward& b, const Norm& norm) {
  const OpContext& op = b.op;
  const Dim elements = op.elements(norm.data);
  const int centre = norm.centred ? 2 : 1;
  const bool scaled = norm.scale >= 0 && op.has_input(norm.scale);
  const Read kept = b.keep(norm.kept, byte_size(centre * norm.rows, norm.statistic_type));
  const Read data{Source::Input, norm.data};
  std::vector<Read> reads = {data, kept};
  if (scaled) reads.push_back({Source::Input, norm.scale});
  Gradient& dx = b.add(norm.data, reads);
  dx.work.arith =
      elements * (centre + (scaled ? 1 : 0) + (norm.centred ? 1 : 0) + 2 + 1 + centre + 1) + centre * norm.rows;
  if (scaled && b.wants(norm.scale))
    b.add(norm.scale, {data, kept}).work.arith = (centre + 1) * elements + elements - op.elements(norm.scale);
  if (norm.bias >= 0 && op.has_input(norm.bias) && b.wants(norm.bias))
    b.add(norm.bias).work.arith = elements - op.elements(norm.bias);
}

Dim leading(const OpContext& op, std::int64_t default_axis) {
  const Shape& shape = op.shape(0);
  const int axis = ops::normal_axis(op, op.attribute("axis", default_axis), op.rank(0));
  return element_count(Shape(shape.begin(), shape.begin() + axis));
}

// x + skip (+ bias) → norm: inputs data, skip, scale …; the sum (output 3) is normalised. Its gradient goes to all
// addends, after adding a gradient that arrives at the sum itself.
void skip_norm(Backward& b, bool centred, int scale, int beta, int bias) {
  const OpContext& op = b.op;
  const Dim rows = leading(op, -1);
  const Dim elements = op.elements(0);
  const int centre = centred ? 2 : 1;
  const Read kept = b.keep(centred ? "mean and rstd" : "rstd", byte_size(centre * rows, ElementType::Float32));
  const Read sum = op.has_output(3) ? Read{Source::Output, 3} : b.keep("the sum", op.input_bytes(0));
  bool computed = false;
  for (const int i : {0, 1, bias}) {
    if (i < 0 || !op.has_input(i) || !b.wants(i)) continue;
    Gradient& gradient = b.add(i, {sum, kept, {Source::Input, scale}});
    gradient.work.arith = elements - op.elements(i);
    if (!computed) {
      gradient.work.arith += elements * (centre + 1 + (centred ? 1 : 0) + 2 + 1 + centre + 1) + centre * rows;
      if (b.has_gradient(3)) gradient.work.arith += elements;
    } else if (!b.is_parameter(i) && op.elements(i) == elements) {
      gradient.reads.clear();
      gradient.is_renamed = true;
    }
    computed = true;
  }
  if (b.wants(scale)) b.add(scale, {sum, kept}).work.arith = (centre + 1) * elements + elements - op.elements(scale);
  if (beta >= 0 && op.has_input(beta) && b.wants(beta)) b.add(beta).work.arith = elements - op.elements(beta);
}

}  // namespace

void layer_norm(Backward& b) { norm(b, {.rows = leading(b.op, -1)}); }
void rms_norm(Backward& b) { norm(b, {.rows = leading(b.op, -1), .centred = false, .bias = -1, .kept = "rstd"}); }
void skip_layer_norm(Backward& b) { skip_norm(b, true, 2, 3, 4); }
void skip_rms_norm(Backward& b) { skip_norm(b, false, 2, -1, 3); }

void instance_norm(Backward& b) { norm(b, {.rows = b.op.shape(0)[0] * b.op.shape(0)[1]}); }
void group_norm(Backward& b) { norm(b, {.rows = b.op.shape(0)[0] * b.op.required_integer("num_groups")}); }

void mean_variance_norm(Backward& b) {
  const OpContext& op = b.op;
  const auto stated = op.integer_list("axes").value_or(std::vector<std::int64_t>{0, 2, 3});
  const std::vector<int> axes = ops::normal_axes(op, stated, op.rank(0));
  Dim rows = 1;
  for (int i = 0; i < op.rank(0); ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) rows *= op.shape(0)[static_cast<std::size_t>(i)];
  norm(b, {.rows = rows, .scale = -1, .bias = -1});
}

// Statistics over the batch, per channel: dβ = Σ dy and dγ = Σ dy·x̂ (x̂ 2, product 1) are sums that dx needs too, so
// each is counted once: with its parameter, or with dx if that is frozen. In a second pass x̂ again (2) and
// dx = γ·r·(dy − dβ/n − x̂·dγ/n): 4 per element, γ·r and two divisions per channel.
void batch_norm(Backward& b) {
  const OpContext& op = b.op;
  const Dim elements = op.elements(0);
  const Dim channels = op.elements(1);
  const Dim scale_sum = 4 * elements - channels;
  const Dim bias_sum = elements - channels;
  const Read kept = b.keep("mean and rstd of the batch", byte_size(2 * channels, ElementType::Float32));
  Gradient& dx = b.add(0, {kX, kept, {Source::Input, 1}});
  dx.work.arith = 6 * elements + 3 * channels;
  if (!b.wants(1)) dx.work.arith += scale_sum;
  if (!b.wants(2)) dx.work.arith += bias_sum;
  if (b.wants(1)) b.add(1, {kX, kept}).work.arith = scale_sum;
  if (b.wants(2)) b.add(2).work.arith = bias_sum;
}

// x/‖x‖: (dy − c·Σ dy·y)/‖x‖ with c = y (p = 2) or sign(x) (p = 1): product, sum, product, difference, division.
void lp_norm(Backward& b) {
  const OpContext& op = b.op;
  const double p = ops::norm_order(op);
  if (p != 1 && p != 2) op.unknown("the gradient of a norm of that order is not counted");
  const int axis = ops::normal_axis(op, op.attribute("axis", std::int64_t{-1}), op.rank(0));
  Dim rows = 1;
  for (int i = 0; i < op.rank(0); ++i)
    if (i != axis) rows *= op.shape(0)[static_cast<std::size_t>(i)];
  const Read kept = b.keep("norms", byte_size(rows, op.element(0)));
  std::vector<Read> reads = {kY, kept};
  if (p == 1) reads.push_back(kX);
  b.add(0, reads, ops_each(p == 1 ? 6 : 5, 0, p == 1 ? 1 : 0) * op.elements(0));
}

// y = x·s^(−β), s = k + α/size·Σ x²: dy·s^(−β) (2 with the power) − c·x·Σ dy·y/s: dy·y/s 2, the window's sum size − 1,
// x·c 2, the difference 1.
void lrn(Backward& b) {
  const Read kept = b.keep("scales", b.op.input_bytes(0));
  const Dim size = b.op.required_integer("size");
  Gradient& dx = b.add(0, {kX, kY, kept});
  dx.work = {.arith = (size + 5) * b.op.elements(0), .special = b.op.elements(0), .comparisons = 0};
}

// y·(dy − Σ dy·y): product, sum, difference, product.
void softmax(Backward& b) { b.add(0, {kY}, ops_each(4) * b.op.elements(0)); }

// dy − exp(y)·Σ dy.
void log_softmax(Backward& b) { b.add(0, {kY}, ops_each(3, 1) * b.op.elements(0)); }

namespace {

bool has_mean(const OpContext& op) { return op.attribute("reduction", std::string_view("mean")) == "mean"; }

}  // namespace

// (exp(log p) − [label])·w·dy/count: exp and a product per score; per label a subtraction, the weight's product, the
// division of a mean.
void cross_entropy(Backward& b) {
  const OpContext& op = b.op;
  if (b.has_gradient(1)) op.unknown("gradients that arrive at its probabilities are not counted");
  const Read kept = op.has_output(1) ? Read{Source::Output, 1} : b.keep("log-probabilities", op.input_bytes(0));
  std::vector<Read> reads = {kept, {Source::Input, 1}};
  if (op.has_input(2)) reads.push_back({Source::Input, 2});
  const Dim labels = op.elements(1);
  Gradient& dx = b.add(0, reads, ops_each(1, 1) * op.elements(0));
  dx.work.arith += labels * (1 + (op.has_input(2) ? 1 : 0) + (has_mean(op) ? 1 : 0));
}

// −w·dy/count where the label is, 0 elsewhere.
void negative_log_likelihood(Backward& b) {
  const OpContext& op = b.op;
  std::vector<Read> reads = {{Source::Input, 1}};
  if (op.has_input(2)) reads.push_back({Source::Input, 2});
  b.add(0, reads).work.arith = op.elements(1) * (1 + (op.has_input(2) ? 1 : 0) + (has_mean(op) ? 1 : 0));
}

}  // namespace pagoda::inline core::train_rules
