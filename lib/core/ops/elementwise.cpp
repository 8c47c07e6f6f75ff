// Operators on several tensors, element by element with broadcasting: arithmetic, comparisons, logic, selection.
#include "ops/fold.h"
#include "ops/nn_work.h"

namespace pagoda::inline core::ops {
namespace {

// --- types ---

// The common element type of inputs first … last; ends the rule where two disagree.
ElementType common_element(const OpContext& op, int first, int last) {
  ElementType common = ElementType::Undefined;
  for (int i = first; i <= last; ++i) {
    const ElementType element = op.element(i);
    if (common == ElementType::Undefined) common = element;
    if (element != ElementType::Undefined && element != common)
      op.fail(cat("operands are ", to_string(common), " and ", to_string(element)));
  }
  return common;
}

// Before opset 7 the second operand is aligned with the first from `axis` on, by default at the end, and only when
// attribute broadcast is set (ONNX Changelog.md, Add-6).
std::optional<Shape> aligned_shape(OpContext& op) {
  if (!op.has_shape(0)) return std::nullopt;
  Shape shape = op.shape(0);
  if (!op.has_shape(1)) return shape;
  const Shape& second = op.shape(1);
  const bool stretched = op.flag("broadcast");
  if (second.size() > shape.size() || (!stretched && second.size() != shape.size()))
    op.fail(cat("B has rank ", second.size(), " and A ", shape.size()));
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto free_axes = rank - static_cast<std::int64_t>(second.size());
  std::int64_t axis = stretched ? op.attribute("axis", free_axes) : 0;
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > free_axes) op.fail(cat("axis is ", axis));
  for (std::size_t i = 0; i < second.size(); ++i) {
    Dim& dim = shape[static_cast<std::size_t>(axis) + i];
    if (!stretched || second[i] != Dim(1)) dim = op.unify(dim, second[i], "dims of A and B");
  }
  return shape;
}

// The shape of all inputs broadcast together; unknown if the rank of one is.
std::optional<Shape> broadcast_shape(OpContext& op) {
  for (int i = 0; i < op.input_count(); ++i)
    if (!op.has_shape(i)) return std::nullopt;
  Shape shape = op.shape(0);
  for (int i = 1; i < op.input_count(); ++i)
    if (op.shape(i) != shape) shape = op.broadcast(shape, op.shape(i));
  return shape;
}

void require_inputs(const OpContext& op, int count) {
  for (int i = 0; i < std::max(count, op.input_count()); ++i) static_cast<void>(op.input(i));
}

void infer_binary_as(OpContext& op, ElementType element) {
  require_inputs(op, 2);
  op.set_output(0, {.element = element, .shape = op.opset() < 7 ? aligned_shape(op) : broadcast_shape(op)});
}

void infer_binary(OpContext& op) { infer_binary_as(op, common_element(op, 0, 1)); }

// The result has the type of the first operand; the second may have a different one (an exponent, a shift).
void infer_first(OpContext& op) { infer_binary_as(op, op.element(0)); }

void infer_comparison(OpContext& op) {
  common_element(op, 0, 1);
  infer_binary_as(op, ElementType::Bool);
}

void infer_variadic(OpContext& op) {
  require_inputs(op, 1);
  op.set_output(0, {.element = common_element(op, 0, op.input_count() - 1), .shape = broadcast_shape(op)});
}

void infer_where(OpContext& op) {
  require_inputs(op, 3);
  op.set_output(0, {.element = common_element(op, 1, 2), .shape = broadcast_shape(op)});
}

// The slope is broadcast to x and never widens it; before opset 7 it has one entry per channel or one in all.
void infer_prelu(OpContext& op) {
  require_inputs(op, 2);
  if (op.opset() >= 7 && op.has_shape(0) && op.has_shape(1)) {
    const Shape joint = op.broadcast(op.shape(0), op.shape(1));
    if (joint.size() > op.shape(0).size()) op.fail("the slope has more axes than the data");
    for (std::size_t i = 0; i < joint.size(); ++i)
      if (equal(joint[i], op.shape(0)[i]) == false) op.fail("the slope does not broadcast to the data");
  }
  op.set_output(0, op.input(0));
}

// --- work ---

// n − 1 operations join n operands.
template <int Divisions>
OpCost cost_joined(const OpContext& op) {
  return op.streamed() + Work{.arith = op.input_count() - 1 + Divisions} * op.output_elements(0);
}

OpCost cost_extreme(const OpContext& op) {
  return op.streamed() + compared(op.input_count() - 1) * op.output_elements(0);
}

// One pow; for a known constant exponent, x² is a product and √x a square root.
OpCost cost_pow(const OpContext& op) {
  const bool is_single = op.has_shape(1) && op.elements(1) == Dim(1);
  if (const auto exponent = is_single ? known_input(op, 1) : std::nullopt)
    if (as_real((*exponent)[0]) == 2.0) return cost_each<1>(op);
  return cost_each<0, 1>(op);
}

OpCost cost_where(const OpContext& op) { return in_precision(op.output(0).element, cost_each<1, 0, 1>(op)); }

// --- values ---

void fold_mod(OpContext& op) { fold_broadcast(op, op.flag("fmod") ? remainder : modulo); }

void fold_mean(OpContext& op) {
  fold_broadcast(op, add);
  const TensorValue* sums = op.output_value(0);
  if (sums == nullptr) return OpContext::State::of(op).outputs[0].banded.reset();
  TensorValue value = *sums;
  for (Scalar& element : value) element = divide(element, real(op.input_count(), op.element(0)), op.element(0));
  publish(op, std::move(value));
}

void fold_where(OpContext& op) {
  const auto shape = small_output(op, 0);
  const auto condition = small_input(op, 0);
  const auto a = small_input(op, 1);
  const auto b = small_input(op, 2);
  if (!shape)
    return fold_banded(op,
                       [](std::span<const Scalar> elements) { return select(elements[0], elements[1], elements[2]); });
  if (!condition || !a || !b || (a->known == nullptr && b->known == nullptr)) return;
  const BroadcastIndex of_condition(*shape, condition->shape), of_a(*shape, a->shape), of_b(*shape, b->shape);
  publish_each(op, count_of(*shape),
               [&](std::int64_t i) { return select((*condition)[of_condition(i)], (*a)[of_a(i)], (*b)[of_b(i)]); });
}

constexpr auto kCostCompare = cost_each<1, 0, 1>;

// clang-format off
constexpr OpRule kElementwiseRules[] = {
    // op              infer             cost                fold                         cost in words
    {"Add",            infer_binary,     cost_each<1>,       fold_each<add>,              "1 add / output element", kAddition.reads({WeightUse::Additive, WeightUse::Additive})},
    {"And",            infer_comparison, kCostCompare,       fold_each<logical_and>,      "1 logical operation / output element", kTruth},
    {"BitShift",       infer_first,      kCostCompare,       nullptr,                     "1 bit operation / output element", kBitwise},
    {"BitwiseAnd",     infer_binary,     kCostCompare,       nullptr,                     "1 bit operation / output element", kBitwise},
    {"BitwiseOr",      infer_binary,     kCostCompare,       nullptr,                     "1 bit operation / output element", kBitwise},
    {"BitwiseXor",     infer_binary,     kCostCompare,       nullptr,                     "1 bit operation / output element", kBitwise},
    {"Div",            infer_binary,     cost_each<1>,       fold_each<divide>,           "1 div / output element", kMultiplication.reads({WeightUse::Factor, WeightUse::Positive})},
    {"Equal",          infer_comparison, kCostCompare,       fold_each<equals>,           "1 comparison / output element", kTruth},
    {"Greater",        infer_comparison, kCostCompare,       fold_each<greater>,          "1 comparison / output element", kTruth},
    {"GreaterOrEqual", infer_comparison, kCostCompare,       fold_each<greater_or_equal>, "1 comparison / output element", kTruth},
    {"Less",           infer_comparison, kCostCompare,       fold_each<less>,             "1 comparison / output element", kTruth},
    {"LessOrEqual",    infer_comparison, kCostCompare,       fold_each<less_or_equal>,    "1 comparison / output element", kTruth},
    {"Max",            infer_variadic,   cost_extreme,       fold_each<maximum>,          "n − 1 comparisons of n operands / output element", kPointwise},
    {"Mean",           infer_variadic,   cost_joined<1>,     fold_mean,                   "n − 1 add, 1 div of n operands / output element", kPointwise},
    {"Min",            infer_variadic,   cost_extreme,       fold_each<minimum>,          "n − 1 comparisons of n operands / output element", kPointwise},
    {"Mod",            infer_binary,     cost_each<1>,       fold_mod,                    "1 remainder / output element", kPointwise},
    {"Mul",            infer_binary,     cost_each<1>,       fold_each<multiply>,         "1 mul / output element", kMultiplication.reads({WeightUse::Factor, WeightUse::Factor})},
    {"Or",             infer_comparison, kCostCompare,       fold_each<logical_or>,       "1 logical operation / output element", kTruth},
    {"PRelu",          infer_prelu,      cost_each<2, 0, 1>, nullptr,                     "1 comparison, 1 mul / element", kPointwise.reads({{}, WeightUse::Factor})},
    {"Pow",            infer_first,      cost_pow,           fold_each<power>,            "1 pow / output element; 1 mul where the exponent is 2, 1 sqrt where it is 0.5", kPointwise.reads({WeightUse::Positive})},
    {"Sub",            infer_binary,     cost_each<1>,       fold_each<subtract>,         "1 sub / output element", kAddition.reads({WeightUse::Additive, WeightUse::Additive})},
    {"Sum",            infer_variadic,   cost_joined<0>,     fold_each<add>,              "n − 1 add of n operands / output element", kAddition},
    {"Where",          infer_where,      cost_where,         fold_where,                  "1 selection / output element", kPointwise},
    {"Xor",            infer_comparison, kCostCompare,       fold_each<logical_xor>,      "1 logical operation / output element", kTruth},
};
// clang-format on
static_assert(well_formed(kElementwiseRules));

}  // namespace

std::span<const OpRule> elementwise_rules() { return kElementwiseRules; }

}  // namespace pagoda::inline core::ops
