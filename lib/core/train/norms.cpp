// Backward of normalisations, softmax and losses. Statistics are taken over rows of the n elements; x̂ is the
// normalised element, γ the scale. A gradient through statistics is dx = r·(g − mean(g) − x̂·mean(g·x̂)), g = dy·γ.
#include <algorithm>

#include "ops/shape_math.h"
#include "train/backward_rule.h"

namespace pagoda::inline core::train_rules {
namespace {

// A norm over rows of input 0.
struct Norm {
  Dim rows;                 // statistics
  bool centred = true;      // with a mean
  int scale = 1, bias = 2;  // inputs; −1: none
  std::string_view kept = "mean and rstd";
};

// Of the data. Per element: x̂ 2 (1 without a mean), g 1 if there is a scale, sums of g (1, with a mean) and of g·x̂ (2),
// then x̂·c, the differences 2 (1), r. Per row a division for each mean.
Dim data_arith(const Dim& elements, const Dim& rows, bool centred, bool scaled) {
  return elements * ((centred ? 9 : 6) + (scaled ? 1 : 0)) + (centred ? 2 : 1) * rows;
}

// Of an input that is broadcast to the elements, if it is wanted: `each` per element, then the sum.
void add_sum(Backward& b, int input, const Dim& elements, int each, std::vector<Read> reads = {}) {
  if (input >= 0 && b.wants(input))
    b.add(input, std::move(reads), {.arith = (each + 1) * elements - b.op.elements(input)});
}

// dγ = Σ dy·x̂: x̂ (2, or 1), a product, a sum; dβ = Σ dy.
void norm(Backward& b, const Norm& norm) {
  const Dim elements = b.op.elements(0);
  const int centre = norm.centred ? 2 : 1;
  const bool scaled = norm.scale >= 0 && b.op.has_input(norm.scale);
  const Read kept = b.keep(norm.kept, byte_size(centre * norm.rows, ElementType::Float32));
  std::vector<Read> reads = {kX, kept};
  if (scaled) reads.push_back({Source::Input, norm.scale});
  b.add(0, std::move(reads), {.arith = data_arith(elements, norm.rows, norm.centred, scaled)});
  add_sum(b, norm.scale, elements, centre + 1, {kX, kept});
  add_sum(b, norm.bias, elements, 0);
}

// x + skip (+ bias) → norm: inputs data, skip, scale …; the sum (output 3) is normalised. Its gradient goes to all
// addends, after adding a gradient that arrives at the sum itself.
void skip_norm(Backward& b, bool centred, int scale, int beta, int bias) {
  const OpContext& op = b.op;
  const Dim rows = ops::rows_from(op, -1);
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
      gradient.work.arith += data_arith(elements, rows, centred, true);
      if (b.has_gradient(3)) gradient.work.arith += elements;
    } else if (!b.is_parameter(i) && op.elements(i) == elements) {
      gradient.reads.clear();
      gradient.is_renamed = true;
    }
    computed = true;
  }
  add_sum(b, scale, elements, centre + 1, {sum, kept});
  add_sum(b, beta, elements, 0);
}

// Per label a subtraction or sign, the weight's product, the division of a mean.
Work label_work(const OpContext& op) {
  const bool has_mean = op.attribute("reduction", std::string_view("mean")) == "mean";
  return Work{.arith = 1 + (op.has_input(2) ? 1 : 0) + (has_mean ? 1 : 0)} * op.elements(1);
}

}  // namespace

void layer_norm(Backward& b) { norm(b, {.rows = ops::rows_from(b.op, -1)}); }
void rms_norm(Backward& b) {
  norm(b, {.rows = ops::rows_from(b.op, -1), .centred = false, .bias = -1, .kept = "rstd"});
}
void skip_layer_norm(Backward& b) { skip_norm(b, true, 2, 3, 4); }
void skip_rms_norm(Backward& b) { skip_norm(b, false, 2, -1, 3); }

void instance_norm(Backward& b) { norm(b, {.rows = b.op.shape(0)[0] * b.op.shape(0)[1]}); }
void group_norm(Backward& b) { norm(b, {.rows = b.op.shape(0)[0] * b.op.required_integer("num_groups")}); }

void mean_variance_norm(Backward& b) {
  const OpContext& op = b.op;
  const auto list = op.integer_list("axes").value_or(std::vector<std::int64_t>{0, 2, 3});
  const std::vector<int> axes = ops::normal_axes(op, list, op.rank(0));
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
  b.add(0, {kX, kept, kB},
        {.arith = 6 * elements + 3 * channels + ops::when(!b.wants(1), scale_sum) + ops::when(!b.wants(2), bias_sum)});
  if (b.wants(1)) b.add(1, {kX, kept}).work.arith = scale_sum;
  if (b.wants(2)) b.add(2).work.arith = bias_sum;
}

// x/‖x‖: (dy − c·Σ dy·y)/‖x‖ with c = y (p = 2) or sign(x) (p = 1): product, sum, product, difference, division.
void lp_norm(Backward& b) {
  const OpContext& op = b.op;
  const double p = ops::norm_order(op);
  if (p != 1 && p != 2) op.unknown("the gradient of a norm of that order is not counted");
  const Dim rows = ops::lines_along(op.shape(0), ops::axis_of(op, -1));
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
  b.add(0, {kX, kY, kept}, Work{.arith = size + 5, .special = 1} * b.op.elements(0));
}

// (exp(log p) − [label])·w·dy/count: exp and a product per score.
void cross_entropy(Backward& b) {
  const OpContext& op = b.op;
  if (b.has_gradient(1)) op.unknown("gradients that arrive at its probabilities are not counted");
  const Read kept = op.has_output(1) ? Read{Source::Output, 1} : b.keep("log-probabilities", op.input_bytes(0));
  std::vector<Read> reads = {kept, kB};
  if (op.has_input(2)) reads.push_back({Source::Input, 2});
  b.add(0, std::move(reads), ops_each(1, 1) * op.elements(0) + label_work(op));
}

// −w·dy/count where the label is, 0 elsewhere.
void negative_log_likelihood(Backward& b) {
  std::vector<Read> reads = {kB};
  if (b.op.has_input(2)) reads.push_back({Source::Input, 2});
  b.add(0, std::move(reads), label_work(b.op));
}

}  // namespace pagoda::inline core::train_rules
