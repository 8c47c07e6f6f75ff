// Normalizations, softmax, and the losses of classification. Sums and maxima count one operation per element; means,
// roots and reciprocals count once per statistic. Values that are constant per statistic are combined before they are
// applied to the elements.
#include "ops/nn_work.h"

namespace pagoda::inline core::ops {
namespace {

// The type in which statistics are computed (attribute stash_type): float32 unless stated.
ElementType stash_type(const OpContext& op) {
  const std::int64_t type = op.attribute("stash_type", 1);
  if (type != 1 && type != 10 && type != 11 && type != 16) op.fail(cat("stash_type is ", type));
  return static_cast<ElementType>(type);
}

// --- batch normalization ---

void infer_batch_norm(OpContext& op) {
  op.set_output(0, op.input(0));
  for (int i = 1; i < op.output_count(); ++i)  // mean, variance, saved mean, saved variance
    op.set_output(i, op.input(i % 2 == 1 ? 3 : 4));
}

// y = a·x + b with a = scale·rsqrt(variance + ε) and b = bias − a·mean per channel (per feature where spatial = 0).
// Training adds the moments, and 2 multiplications and an addition for each running statistic. Outputs beyond the first
// exist only in training; since opset 14 an attribute states the mode.
OpCost cost_batch_norm(const OpContext& op) {
  const Dim elements = op.elements(0), channels = op.elements(1);
  OpCost cost = op.streamed() + Work{.arith = 2 * elements + 3 * channels} + inverse_root_work(channels);
  const bool is_training = op.opset() >= 14 ? op.flag("training_mode") : op.output_count() > 1;
  if (is_training) cost += moments_work(elements, channels) + Work{.arith = 6 * channels};
  return cost;
}

// --- statistics over trailing axes ---

// Of each row, in the type in which they are computed.
void set_statistics(OpContext& op, std::initializer_list<int> outputs) {
  if (std::none_of(outputs.begin(), outputs.end(), [&](int i) { return op.has_output(i); })) return;
  for (const int i : outputs) set_element(op, i, stash_type(op));
  Shape shape = op.shape(0);
  std::fill(shape.begin() + axis_of(op, -1), shape.end(), Dim(1));
  for (const int i : outputs) op.set_output(i, stash_type(op), shape);
}

// Before opset 17 LayerNormalization is ONNX Runtime's own, whose result has the type of the scale.
void infer_layer_norm(OpContext& op) {
  const bool is_own = plain_domain(op.node().domain).empty() && op.opset() < 17;
  set_shape_of_first(op, is_own && op.has_input(1) ? op.element(1) : op.element(0));
  set_statistics(op, {1, 2});
}

// Moments; then per element normalise, scale, and shift where there is a bias.
OpCost cost_layer_norm(const OpContext& op) {
  const Dim elements = op.elements(0), rows = rows_from(op, -1);
  return in_precision(stash_type(op), op.streamed()) + layer_norm_work(elements, rows) +
         Work{.arith = (op.has_input(2) ? 2 : 1) * elements};
}

void infer_rms_norm(OpContext& op) {
  set_shape_of_first(op, op.element(1));
  set_statistics(op, {1});
}

OpCost cost_rms_norm(const OpContext& op) {
  return in_precision(stash_type(op), op.streamed()) + scaled_rms_norm_work(op.elements(0), rows_from(op, -1));
}

// --- statistics per image and group of channels ---

Dim image_channels(const OpContext& op) {
  if (op.rank(0) < 2) op.fail(cat("input 0 has rank ", op.rank(0), ", expected 2 or more"));
  return op.shape(0)[0] * op.shape(0)[1];
}

OpCost cost_instance_norm(const OpContext& op) {
  return op.streamed() + channel_norm_work(op.elements(0), image_channels(op), image_channels(op));
}

void infer_group_norm(OpContext& op) {
  const std::int64_t groups = positive_attribute(op, "num_groups");
  if (op.has_shape(0) && op.rank(0) >= 2)
    if (const auto channels = op.shape(0)[1].value64(); channels && *channels % groups != 0)
      op.fail(cat(*channels, " channels do not divide into ", groups, " groups"));
  op.set_output(0, op.input(0));
}

// Scale and bias are per channel since opset 21, per group before.
OpCost cost_group_norm(const OpContext& op) {
  const Dim channels = image_channels(op), statistics = op.shape(0)[0] * positive_attribute(op, "num_groups");
  OpCost cost = op.streamed() + channel_norm_work(op.elements(0), statistics, op.opset() >= 21 ? channels : statistics);
  if (op.opset() >= 21) cost.precision = stash_type(op);
  return cost;
}

// --- others ---

std::vector<int> statistics_axes(const OpContext& op) {
  return normal_axes(op, op.integer_list("axes").value_or(std::vector<std::int64_t>{0, 2, 3}), op.rank(0));
}

void infer_mean_variance(OpContext& op) {
  if (op.has_shape(0)) static_cast<void>(statistics_axes(op));
  op.set_output(0, op.input(0));
}

// (x − mean) / (√variance + ε): moments; per statistic a root and ε; per element a division.
OpCost cost_mean_variance(const OpContext& op) {
  const std::vector<int> axes = statistics_axes(op);
  Dim statistics = 1;
  for (int i = 0; i < op.rank(0); ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) statistics *= op.shape(0)[i];
  return op.streamed() + moments_work(op.elements(0), statistics) + inverse_root_work(statistics) +
         Work{.arith = op.elements(0)};
}

// x / (bias + α/size · Σ x²)^β per element: square, size − 1 additions, scale, bias, pow, divide; edge windows in full.
OpCost cost_lrn(const OpContext& op) {
  return op.streamed() + Work{.arith = positive_attribute(op, "size") + 3, .special = 1} * op.elements(0);
}

// x / ‖x‖p along one axis: |x|^p, an addition and a division per element, a root per row.
OpCost cost_lp_norm(const OpContext& op) {
  const double p = norm_order(op);
  return op.streamed() + (norm_power_work(p) + Work{.arith = 2}) * op.elements(0) +
         norm_root_work(p) * lines_along(op.shape(0), axis_of(op, -1));
}

// --- softmax ---

void infer_softmax(OpContext& op) {
  if (op.has_shape(0)) static_cast<void>(axis_of(op, op.opset() < 13 ? 1 : -1));
  op.set_output(0, op.input(0));
}

OpCost cost_softmax(const OpContext& op) { return op.streamed() + softmax_work() * op.elements(0); }

// (x − max) − log Σ exp: the division of softmax becomes a subtraction, and a log per row. Since opset 13 a row lies
// along one axis; before, all axes from `axis` on are one row.
OpCost cost_log_softmax(const OpContext& op) {
  return cost_softmax(op) +
         Work{.special = op.opset() < 13 ? rows_from(op, 1) : lines_along(op.shape(0), axis_of(op, -1))};
}

// --- losses: scores [N, C, d…], labels [N, d…]: a loss per label, then possibly their sum or mean ---

void infer_loss(OpContext& op) {
  const std::string_view reduction = op.attribute("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean") op.fail(cat("reduction is '", reduction, "'"));
  set_element(op, 0, op.element(0));
  op.set_output(1, op.input(0));  // SoftmaxCrossEntropyLoss: the log-probabilities
  if (op.has_shape(0) && op.has_shape(1)) {
    const Shape& scores = op.shape(0);
    const Shape& labels = op.shape(1);
    if (scores.size() < 2 || labels.size() + 1 != scores.size())
      op.fail(cat("scores have rank ", scores.size(), ", labels ", labels.size()));
    for (std::size_t i = 0; i < labels.size(); ++i)
      op.unify(scores[i == 0 ? 0 : i + 1], labels[i], "scores and labels");
    if (op.has_shape(2) && op.rank(2) == 1) op.unify(scores[1], op.shape(2)[0], "classes and weights");
  }
  op.set_output(0, op.element(0), reduction == "none" ? op.shape(1) : Shape{});
}

// Per label: a comparison with ignore_index if it is stated, a negation, a multiplication by the class weight, if any.
// The sum takes an addition per label; the mean also takes a division and, with class weights, the sum of the weights.
Work loss_work(const OpContext& op) {
  const Dim labels = op.elements(1);
  const std::string_view reduction = op.attribute("reduction", "mean");
  const bool weighted = op.has_input(2);
  const bool ignores = op.has_attribute("ignore_index");
  Work work = Work{.arith = (ignores ? 2 : 1) + (weighted ? 1 : 0), .comparisons = ignores ? 1 : 0} * labels;
  if (reduction != "none") work.arith += labels;
  if (reduction == "mean") work.arith += (weighted ? labels : Dim(0)) + 1;
  return work;
}

// Only the weights that labels pick are read, at most all.
Dim weight_bytes(const OpContext& op) {
  return op.has_input(2) ? byte_size(min(op.elements(2), op.elements(1)), op.element(2)) : Dim(0);
}

// Reads one log-probability per label.
OpCost cost_nll_loss(const OpContext& op) {
  OpCost cost = cost_reading(op, {1}, byte_size(op.elements(1), op.element(0)));
  cost.read(2, weight_bytes(op));
  return std::move(cost) + loss_work(op);
}

// Log-softmax over the classes, which has the work of softmax and a log per label, then the loss.
OpCost cost_softmax_cross_entropy(const OpContext& op) {
  OpCost cost = op.streamed({0, 1});
  cost.read(2, weight_bytes(op));
  return std::move(cost) + softmax_work() * op.elements(0) + Work{.special = op.elements(1)} + loss_work(op);
}

// clang-format off
constexpr OpRule kNormRules[] = {
    // op                            infer                cost                        fold     cost in words
    {"BatchNormalization",           infer_batch_norm,    cost_batch_norm,            nullptr, "1 mul, 1 add per element; ε, rsqrt, 2 mul, 1 sub per channel; training: moments (4), running statistics (6)", kPointwise.with(Epilogue::BatchNorm).reads({{}, WeightUse::Factor, WeightUse::Additive, WeightUse::Additive, WeightUse::Positive})},
    {"GroupNormalization",           infer_group_norm,    cost_group_norm,            nullptr, "moments 4, mul, add per element; 2 div, ε, rsqrt per group; 3 per image and channel", kNorm.with(RowAxes::ChannelGroup).reads({{}, WeightUse::Factor, WeightUse::Additive})},
    {"Hardmax",                      infer_softmax,       cost_compared,              nullptr, "1 comparison per element", kNorm.with(Gradient::Constant)},
    {"InstanceNormalization",        infer_same,          cost_instance_norm,         nullptr, "moments 4, mul, add per element; 2 div, ε, rsqrt, 3 per image and channel", kNorm.with(RowAxes::Channel).reads({{}, WeightUse::Factor, WeightUse::Additive})},
    {"LRN",                          infer_same,          cost_lrn,                   nullptr, "square, size − 1 adds, scale, bias, pow, div per element", kNorm},
    {"LayerNormalization",           infer_layer_norm,    cost_layer_norm,            nullptr, "moments 4, normalise, scale, bias per element; 2 div, ε, rsqrt per row", kNorm.with(RowAxes::FromAxis).reads({{}, WeightUse::Factor, WeightUse::Additive})},
    {"LogSoftmax",                   infer_softmax,       cost_log_softmax,           nullptr, "compare, 2 sub, exp, add per element; log per row", kNorm.with(RowAxes::Softmax)},
    {"LpNormalization",              infer_same,          cost_lp_norm,               nullptr, "|x|^p, add, div per element; root per row", kNorm},
    {"MeanVarianceNormalization",    infer_mean_variance, cost_mean_variance,         nullptr, "moments 4, div per element; 2 div, ε, sqrt per statistic", kNorm},
    {"NegativeLogLikelihoodLoss",    infer_loss,          cost_nll_loss,              nullptr, "per label neg, weight mul, ignore comparison, add; mean: div, weights' sum", kOther},
    {"RMSNormalization",             infer_rms_norm,      cost_rms_norm,              nullptr, "square, add, normalise, scale per element; div, ε, rsqrt per row", kNorm.with(RowAxes::FromAxis).reads({{}, WeightUse::Factor})},
    {"SimplifiedLayerNormalization", infer_rms_norm,      cost_rms_norm,              nullptr, "as RMSNormalization", kNorm.with(RowAxes::FromAxis).reads({{}, WeightUse::Factor})},
    {"Softmax",                      infer_softmax,       cost_softmax,               nullptr, "compare, sub, exp, add, div per element", kNorm.with(RowAxes::Softmax)},
    {"SoftmaxCrossEntropyLoss",      infer_loss,          cost_softmax_cross_entropy, nullptr, "log-softmax (4 and exp per score, log per label), then as NegativeLogLikelihoodLoss", kOther},
};
// clang-format on
static_assert(well_formed(kNormRules));

}  // namespace

std::span<const OpRule> norm_rules() { return kNormRules; }

}  // namespace pagoda::inline core::ops
