// Reductions along axes, positions of extremes, running sums and products.
// n input elements reduced to m outputs take n − m joins, plus any work per element or per result.
#include "ops/fold.h"
#include "ops/rule_parts.h"

namespace pagoda::inline core::ops {
namespace {

// --- axes ---

// By axis: true if it is reduced. Empty if the axes are unknown. Axes are an attribute, or an input since opset 18
// (ReduceSum: 13). If none are given, all are reduced, or none if noop_with_empty_axes is set.
std::optional<std::vector<bool>> reduced_axes(const OpContext& op) {
  const int rank = op.rank(0);
  std::vector<bool> reduced(static_cast<std::size_t>(rank), false);
  const bool from_input = !op.has_attribute("axes") && op.has_input(1);
  const auto axes = op.integer_list_or_input("axes", 1);
  const bool empty_input = from_input && op.has_shape(1) && op.shape(1).size() == 1 && op.shape(1)[0] == Dim(0);
  if (from_input && !axes && !empty_input) return std::nullopt;
  if (!axes || axes->empty()) {
    const bool keep_all = op.flag("noop_with_empty_axes");
    reduced.assign(reduced.size(), !keep_all);
    return reduced;
  }
  for (const std::int64_t axis : *axes) reduced[normal_axis(op, axis, rank)] = true;
  return reduced;
}

bool keeps_dims(const OpContext& op) { return op.flag("keepdims", true); }

// The shape for computed axes: each dim may stay or become 1; without keepdims, as many dims go as axes are listed.
Shape undetermined_shape(OpContext& op) {
  Shape shape = op.shape(0);
  if (!keeps_dims(op)) {
    const auto count = op.has_shape(1) && op.rank(1) == 1 ? op.shape(1)[0].value64() : std::nullopt;
    if (!count || *count < 0 || *count > op.rank(0)) op.unknown("the axes to reduce are not known");
    shape.resize(shape.size() - static_cast<std::size_t>(*count));
    for (Dim& dim : shape) dim = op.fresh("reduced_dim", "the axes to reduce are computed");
    return shape;
  }
  for (Dim& dim : shape)
    if (dim != Dim(1)) dim = op.fresh("reduced_dim", "the axes to reduce are computed", dim);
  return shape;
}

// Joins are n − m, but 0 where an axis that is reduced is empty.
Shape shape_without(const OpContext& op, const std::vector<bool>& reduced) {
  const Shape& shape = op.shape(0);
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (reduced[i] && !shape[i].is_constant()) op.require(Requirement::Kind::Reduced, shape[i], 1);
  return without(shape, reduced, keeps_dims(op));
}

Shape reduced_shape(OpContext& op) {
  const auto reduced = reduced_axes(op);
  return reduced ? shape_without(op, *reduced) : undetermined_shape(op);
}

Shape arg_shape(OpContext& op) {
  std::vector<bool> reduced(op.shape(0).size(), false);
  reduced[axis_of(op, 0)] = true;
  return shape_without(op, reduced);
}

constexpr auto kInferReduce = shaped<reduced_shape>;
constexpr auto kInferArg = shaped_as<arg_shape, ElementType::Int64>;

// The axis is an argument: a scalar or a list of one.
void infer_running(OpContext& op) {
  if (const auto axis = op.integers(1); axis && op.has_shape(0)) {
    if (axis->size() != 1) op.fail(cat("axis has ", axis->size(), " entries, expected 1"));
    normal_axis(op, axis->front(), op.rank(0));
  } else if (!axis && op.has_shape(0) && op.rank(0) != 1) {
    op.note("the axis is data: the work counts along the axis with the fewest lines, an upper bound");
  }
  op.set_output(0, op.input(0));
}

// --- work ---

// Per input element, per join and per result: operations of each kind.
struct Steps {
  int element_arith = 0, element_special = 0, element_comparisons = 0;
  int join_comparisons = 0;  // 1 where joining is a comparison
  int result_arith = 0, result_special = 0;
};

template <Steps S>
OpCost cost_reduce(const OpContext& op) {
  return op.streamed({0}) + Work{S.element_arith, S.element_special, S.element_comparisons} * op.elements(0) +
         Work{.arith = 1, .comparisons = S.join_comparisons} * joins(op) +
         Work{S.result_arith, S.result_special} * op.output_elements(0);
}

constexpr auto kCostSum = cost_reduce<Steps{}>;
constexpr auto kCostExtreme = cost_reduce<Steps{.join_comparisons = 1}>;
constexpr auto kCostMean = cost_reduce<Steps{.result_arith = 1}>;
constexpr auto kCostL1 = cost_reduce<Steps{.element_arith = 1, .element_comparisons = 1}>;
constexpr auto kCostL2 = cost_reduce<Steps{.element_arith = 1, .result_special = 1}>;
constexpr auto kCostSumSquare = cost_reduce<Steps{.element_arith = 1}>;
constexpr auto kCostLogSum = cost_reduce<Steps{.result_special = 1}>;
constexpr auto kCostLogSumExp = cost_reduce<Steps{.element_special = 1, .result_special = 1}>;

// L − 1 joins along each line of L elements: elements − lines. If the axis is data, the least number of lines counts.
OpCost cost_running(const OpContext& op) {
  OpCost cost = op.streamed({0});
  const Shape& shape = op.shape(0);
  if (op.elements(0) == Dim(0)) return cost;
  Dim lines;
  if (const auto axis = op.integers(1); shape.size() != 1 && axis) {
    lines = lines_along(shape, normal_axis(op, axis->front(), op.rank(0)));
  } else {
    lines = lines_along(shape, 0);
    for (std::size_t i = 1; i < shape.size(); ++i) lines = min(lines, lines_along(shape, i));
  }
  return std::move(cost) + Work{.arith = op.elements(0) - lines};
}

// --- values ---

// For every output element, the indices of the input elements that it joins, in order.
std::optional<std::vector<std::vector<std::int64_t>>> groups(const OpContext& op, const SmallTensor& input,
                                                             const std::vector<bool>& reduced) {
  const auto outputs = small_output(op, 0);
  if (!outputs) return std::nullopt;
  std::vector<std::vector<std::int64_t>> result(static_cast<std::size_t>(count_of(*outputs)));
  const Extents strides = strides_of(input.shape);
  for (std::int64_t i = 0; i < input.count; ++i) {
    std::int64_t group = 0;
    for (std::size_t axis = 0; axis < input.shape.size(); ++axis)
      if (!reduced[axis]) group = group * input.shape[axis] + i / strides[axis] % input.shape[axis];
    result[group].push_back(i);
  }
  return result;
}

template <BinaryFold Join, bool Averaged = false>
void fold_reduce(OpContext& op) {
  const auto input = known_input(op, 0);
  if (!input || input->count == 0) return;
  const auto reduced = reduced_axes(op);
  const auto members = reduced ? groups(op, *input, *reduced) : std::nullopt;
  if (!members) return;
  const ElementType type = op.element(0);
  TensorValue value;
  for (const std::vector<std::int64_t>& group : *members) {
    Scalar joined = (*input)[group.front()];
    for (std::size_t i = 1; i < group.size(); ++i) joined = Join(joined, (*input)[group[i]], type);
    if (Averaged) {
      const Scalar count = is_float(type) ? real(static_cast<double>(group.size()), type) : Scalar(Dim(group.size()));
      joined = divide(joined, count, type);
    }
    value.push_back(std::move(joined));
  }
  publish(op, std::move(value));
}

// The position of the greatest (least) element; known if the result of every comparison is.
template <BinaryFold Better>
void fold_arg(OpContext& op) {
  const auto input = known_input(op, 0);
  if (!input || input->count == 0) return;
  std::vector<bool> reduced(input->shape.size(), false);
  reduced[axis_of(op, 0)] = true;
  const auto members = groups(op, *input, reduced);
  if (!members) return;
  const bool last = op.flag("select_last_index");
  TensorValue value;
  for (const std::vector<std::int64_t>& group : *members) {
    std::optional<std::size_t> best = 0;
    for (std::size_t i = 1; best && i < group.size(); ++i) {
      const Scalar& challenger = (*input)[group[i]];
      const Scalar& holder = (*input)[group[*best]];
      // On a tie the first wins; with select_last_index, the last.
      const auto strictly_better =
          is_true(last ? Better(holder, challenger, op.element(0)) : Better(challenger, holder, op.element(0)));
      if (!strictly_better) {
        best.reset();
      } else if (*strictly_better != last) {
        best = i;
      }
    }
    value.push_back(best ? Scalar(Dim(*best)) : Scalar());
  }
  publish(op, std::move(value));
}

template <BinaryFold Join>
void fold_running(OpContext& op) {
  const auto input = known_input(op, 0);
  const auto axis = op.integers(1);
  if (!input || input->count == 0 || input->shape.empty() || !axis || axis->size() != 1) return;
  const auto along = normal_axis(op, axis->front(), op.rank(0));
  const std::int64_t stride = strides_of(input->shape)[along];
  const std::int64_t length = input->shape[along];
  const bool exclusive = op.flag("exclusive");
  const bool reverse = op.flag("reverse");
  const ElementType type = op.element(0);
  const int neutral = Join == multiply ? 1 : 0;
  TensorValue value(static_cast<std::size_t>(input->count));
  for (std::int64_t start = 0; start < input->count; ++start) {
    if (start / stride % length != 0) continue;
    Scalar running = is_float(type) ? real(neutral, type) : Scalar(Dim(neutral));
    for (std::int64_t k = 0; k < length; ++k) {
      const std::int64_t at = start + (reverse ? length - 1 - k : k) * stride;
      Scalar next = Join(running, (*input)[at], type);
      value[at] = exclusive ? running : next;
      running = std::move(next);
    }
  }
  publish(op, std::move(value));
}

// clang-format off
constexpr OpRule kReduceRules[] = {
    // op               infer          cost            fold                    cost in words
    {"ArgMax",          kInferArg,     kCostExtreme,   fold_arg<greater>,      "n − m comparisons for m results of n elements", kSearch},
    {"ArgMin",          kInferArg,     kCostExtreme,   fold_arg<less>,         "n − m comparisons", kSearch},
    {"CumProd",         infer_running, cost_running,   fold_running<multiply>, "L − 1 mul along each line of L elements; an upper bound where the axis is data", kSignal},
    {"CumSum",          infer_running, cost_running,   fold_running<add>,      "L − 1 add along each line of L elements; an upper bound where the axis is data", kSignal.with(Gradient::Rule)},
    {"ReduceL1",        kInferReduce,  kCostL1,        nullptr,                "n sign changes, n − m add", kReduction},
    {"ReduceL2",        kInferReduce,  kCostL2,        nullptr,                "n mul, n − m add, m sqrt", kReduction},
    {"ReduceLogSum",    kInferReduce,  kCostLogSum,    nullptr,                "n − m add, m log", kReduction},
    {"ReduceLogSumExp", kInferReduce,  kCostLogSumExp, nullptr,                "n exp, n − m add, m log", kReduction},
    {"ReduceMax",       kInferReduce,  kCostExtreme,   fold_reduce<maximum>,   "n − m comparisons", kReduction},
    {"ReduceMean",      kInferReduce,  kCostMean,      fold_reduce<add, true>, "n − m add, m div", kReduction},
    {"ReduceMin",       kInferReduce,  kCostExtreme,   fold_reduce<minimum>,   "n − m comparisons", kReduction},
    {"ReduceProd",      kInferReduce,  kCostSum,       fold_reduce<multiply>,  "n − m mul", kReduction},
    {"ReduceSum",       kInferReduce,  kCostSum,       fold_reduce<add>,       "n − m add", kReduction},
    {"ReduceSumSquare", kInferReduce,  kCostSumSquare, nullptr,                "n mul, n − m add", kReduction},
};
// clang-format on
static_assert(well_formed(kReduceRules));

}  // namespace

std::span<const OpRule> reduce_rules() { return kReduceRules; }

}  // namespace pagoda::inline core::ops
