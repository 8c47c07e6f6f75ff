// Operators on one tensor whose output element depends on one input element: mathematics, rounding, activations.
// Counts follow the definition in ONNX Operators.md, written with as few operations as it allows; a branch counts as
// its comparison, and both sides are computed, as in vector code.
#include <iterator>

#include "ops/fold.h"
#include "ops/rule_parts.h"

namespace pagoda::inline core::ops {
namespace {

// Exact: 0.5·x·(1 + erf(x/√2)): 3 multiplications, 1 addition, 1 erf.
// tanh:  0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))): 6 multiplications, 2 additions, 1 tanh.
OpCost cost_gelu(const OpContext& op) {
  const std::string_view approximate = op.attribute("approximate", "none");
  if (approximate == "none") return cost_each<4, 1>(op);
  if (approximate == "tanh") return cost_each<8, 1>(op);
  op.fail(cat("approximate is '", approximate, "', expected none or tanh"));
}

// One special function and `Arith` operations, `Scaled` more where α is not 1.
template <int Arith, int Comparisons, int Scaled>
OpCost cost_with_alpha(const OpContext& op) {
  if (op.attribute("alpha", 1.0) == 1.0) return cost_each<Arith, 1, Comparisons>(op);
  return cost_each<Arith + Scaled, 1, Comparisons>(op);
}
constexpr auto kCostSwish = cost_with_alpha<1, 0, 1>;  // x·sigmoid(α·x)
constexpr auto kCostSwiglu = cost_with_alpha<2, 0, 1>;
constexpr auto kCostCelu = cost_with_alpha<2, 1, 2>;  // x > 0 ? x : α·(exp(x/α) − 1)
constexpr auto kCostElu = cost_with_alpha<2, 1, 1>;   // x > 0 ? x : α·(exp(x) − 1)

// Both operands have the same shape: nothing is broadcast.
void infer_swiglu(OpContext& op) {
  if (!op.has_shape(0) || !op.has_shape(1)) return op.set_output(0, op.has_shape(0) ? op.input(0) : op.input(1));
  if (op.rank(0) != op.rank(1)) op.fail("A and B differ in rank");
  op.set_output(0, op.element(0), unify_axes(op, op.shape(0), op.shape(1), "dims of A and B"));
}

// One comparison for each bound that is given: an attribute before opset 11, an input since.
OpCost cost_clip(const OpContext& op) {
  const bool lower = op.has_attribute("min") || op.has_input(1);
  const bool upper = op.has_attribute("max") || op.has_input(2);
  if (lower && upper) return cost_each<2, 0, 2>(op);
  return lower || upper ? cost_each<1, 0, 1>(op) : cost_each<0>(op);
}

void fold_clip(OpContext& op) {
  if (op.opset() < 11 || op.element(0) == ElementType::Bool) return;
  const auto input = known_input(op, 0);
  if (!input) return;
  const auto low = known_input(op, 1);
  const auto high = known_input(op, 2);
  if ((op.has_input(1) && !(low && low->count == 1)) || (op.has_input(2) && !(high && high->count == 1))) return;
  publish_each(op, input->count, [&](std::int64_t i) {
    const Scalar least = low ? maximum((*input)[i], (*low)[0], op.element(0)) : (*input)[i];
    return high ? minimum(least, (*high)[0], op.element(0)) : least;
  });
}

// max(0, min(1, α·x + β)); HardSwish multiplies by x.
constexpr auto kCostHardSigmoid = cost_each<4, 0, 2>;
constexpr auto kCostHardSwish = cost_each<5, 0, 2>;

// --- conversions ---

// Names of onnx.TensorProto.DataType, which Cast-1 takes, by number from 1 on.
constexpr std::string_view kDataTypeNames[] = {"FLOAT",  "UINT8",     "INT8",       "UINT16",  "INT16",  "INT32",
                                               "INT64",  "STRING",    "BOOL",       "FLOAT16", "DOUBLE", "UINT32",
                                               "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16"};

ElementType cast_target(const OpContext& op) {
  if (!op.has_attribute("to")) op.fail("attribute to is missing");
  const auto* name = attribute_if<std::string>(op, "to");
  if (name == nullptr) return element_attribute(op, "to", ElementType::Undefined);
  const auto found = std::find(std::begin(kDataTypeNames), std::end(kDataTypeNames), *name);
  if (found == std::end(kDataTypeNames)) op.fail(cat("attribute to is '", *name, "'"));
  return static_cast<ElementType>(found - std::begin(kDataTypeNames) + 1);
}

void infer_cast(OpContext& op) { set_shape_of_first(op, cast_target(op)); }

void infer_cast_like(OpContext& op) { set_shape_of_first(op, op.element(1)); }

// The bits are unchanged, so the width must be the same.
void infer_bit_cast(OpContext& op) {
  const ElementType to = cast_target(op);
  if (op.element(0) != ElementType::Undefined && bits(to) != bits(op.element(0)))
    op.fail(cat("a ", to_string(op.element(0)), " has no bits of ", to_string(to)));
  set_shape_of_first(op, to);
}

void fold_cast(OpContext& op) {
  const auto converted = [&](const Scalar& x) { return convert(x, op.element(0), op.output(0).element); };
  const auto input = known_input(op, 0);
  if (!input) return fold_banded(op, [&](std::span<const Scalar> elements) { return converted(elements[0]); });
  publish_each(op, input->count, [&](std::int64_t i) { return converted((*input)[i]); });
}

Scalar positive_part(const Scalar& x, ElementType type) {
  return maximum(x, std::holds_alternative<double>(x) ? Scalar(0.0) : Scalar(Dim(0)), type);
}

// clang-format off
constexpr OpRule kUnaryRules[] = {
    // op                infer            cost                fold                  cost in words
    {"Abs",              infer_same,      cost_each<1, 0, 1>, fold_unary<absolute>, "1 sign change / element", kPointwise},
    {"Acos",             infer_same,      cost_each<0, 1>,    nullptr,              "1 acos / element", kPointwise},
    {"Acosh",            infer_same,      cost_each<0, 1>,    nullptr,              "1 acosh / element", kPointwise},
    {"Asin",             infer_same,      cost_each<0, 1>,    nullptr,              "1 asin / element", kPointwise},
    {"Asinh",            infer_same,      cost_each<0, 1>,    nullptr,              "1 asinh / element", kPointwise},
    {"Atan",             infer_same,      cost_each<0, 1>,    nullptr,              "1 atan / element", kPointwise},
    {"Atanh",            infer_same,      cost_each<0, 1>,    nullptr,              "1 atanh / element", kPointwise},
    {"BitCast",          infer_bit_cast,  cost_view,          nullptr,              "nothing: the same bytes under another type", kView.with(Numbers::New).with(Gradient::Bits)},
    {"BitwiseNot",       infer_same,      cost_each<1, 0, 1>, nullptr,              "1 bit operation / element", kBitwise},
    {"Cast",             infer_cast,      cost_move,          fold_cast,            "no arithmetic; read and written at each width", kPointwise.with(Numbers::Same)},
    {"CastLike",         infer_cast_like, cost_move_first,    fold_cast,            "as Cast; the second input only names a type", kPointwise.with(Numbers::Same)},
    {"Ceil",             infer_same,      cost_each<1, 0, 1>, fold_unary<ceil>,     "1 rounding / element", kSteps},
    {"Celu",             infer_same,      kCostCelu,          nullptr,              "1 exp, 1 comparison, 1 sub, and for alpha ≠ 1 a div and a mul / element", kPointwise},
    {"Clip",             infer_same,      cost_clip,          fold_clip,            "1 comparison for each bound given / element", kPointwise},
    {"Cos",              infer_same,      cost_each<0, 1>,    nullptr,              "1 cos / element", kPointwise},
    {"Cosh",             infer_same,      cost_each<0, 1>,    nullptr,              "1 cosh / element", kPointwise},
    {"Elu",              infer_same,      kCostElu,           nullptr,              "1 exp, 1 comparison, 1 sub, and for alpha ≠ 1 a mul / element", kPointwise},
    {"Erf",              infer_same,      cost_each<0, 1>,    nullptr,              "1 erf / element", kPointwise},
    {"Exp",              infer_same,      cost_each<0, 1>,    nullptr,              "1 exp / element", kPointwise},
    {"Floor",            infer_same,      cost_each<1, 0, 1>, fold_unary<floor>,    "1 rounding / element", kSteps},
    {"Gelu",             infer_same,      cost_gelu,          nullptr,              "1 erf, 3 mul, 1 add / element; tanh form 1 tanh, 6 mul, 2 add", kPointwise},
    {"HardSigmoid",      infer_same,      kCostHardSigmoid,   nullptr,              "1 mul, 1 add, 2 comparisons / element", kPointwise},
    {"HardSwish",        infer_same,      kCostHardSwish,     nullptr,              "2 mul, 1 add, 2 comparisons / element", kPointwise},
    {"IsInf",            infer_shape_of_first<ElementType::Bool>,      cost_each<1, 0, 1>, nullptr,              "1 comparison / element", kTruth},
    {"IsNaN",            infer_shape_of_first<ElementType::Bool>,      cost_each<1, 0, 1>, nullptr,              "1 comparison / element", kTruth},
    {"LeakyRelu",        infer_same,      cost_each<2, 0, 1>, nullptr,              "1 comparison, 1 mul / element", kPointwise},
    {"Log",              infer_same,      cost_each<0, 1>,    nullptr,              "1 log / element", kPointwise.reads({WeightUse::Positive})},
    {"Mish",             infer_same,      cost_each<2, 3>,    nullptr,              "x·tanh(log(1 + exp(x))): 3 special, 1 add, 1 mul / element", kPointwise},
    {"Neg",              infer_same,      cost_each<1>,       fold_unary<negate>,   "1 negation / element", kPointwise},
    {"Not",              infer_same,      cost_each<1, 0, 1>, fold_unary<logical_not>, "1 logical operation / element", kTruth},
    {"Reciprocal",       infer_same,      cost_each<1>,       fold_unary<reciprocal>, "1 div / element", kPointwise.reads({WeightUse::Positive})},
    {"Relu",             infer_same,      cost_each<1, 0, 1>, fold_unary<positive_part>, "1 comparison / element", kPointwise},
    {"Round",            infer_same,      cost_each<1, 0, 1>, fold_unary<round>,    "1 rounding / element", kSteps},
    {"Selu",             infer_same,      cost_each<4, 1, 1>, nullptr,              "γ·(x > 0 ? x : α·exp(x) − α): 1 exp, 1 comparison, 2 mul, 1 sub / element", kPointwise},
    {"Shrink",           infer_same,      cost_each<3, 0, 2>, nullptr,              "2 comparisons, 1 add / element", kPointwise},
    {"Sigmoid",          infer_same,      cost_each<0, 1>,    nullptr,              "1 sigmoid / element", kPointwise},
    {"Sign",             infer_same,      cost_each<2, 0, 2>, fold_unary<sign>,     "2 comparisons / element", kSteps},
    {"Sin",              infer_same,      cost_each<0, 1>,    nullptr,              "1 sin / element", kPointwise},
    {"Sinh",             infer_same,      cost_each<0, 1>,    nullptr,              "1 sinh / element", kPointwise},
    {"Softplus",         infer_same,      cost_each<1, 2>,    nullptr,              "log(1 + exp(x)): 2 special, 1 add / element", kPointwise},
    {"Softsign",         infer_same,      cost_each<3, 0, 1>, nullptr,              "x / (1 + |x|): 1 sign change, 1 add, 1 div / element", kPointwise},
    {"Sqrt",             infer_same,      cost_each<0, 1>,    fold_unary<square_root>, "1 sqrt / element", kPointwise.reads({WeightUse::Positive})},
    {"SwiGLU",           infer_swiglu,    kCostSwiglu,        nullptr,              "1 sigmoid, 2 mul, and for alpha ≠ 1 another / element", kPointwise},
    {"Swish",            infer_same,      kCostSwish,         nullptr,              "1 sigmoid, 1 mul, and for alpha ≠ 1 another / element", kPointwise},
    {"Tan",              infer_same,      cost_each<0, 1>,    nullptr,              "1 tan / element", kPointwise},
    {"Tanh",             infer_same,      cost_each<0, 1>,    nullptr,              "1 tanh / element", kPointwise},
    {"ThresholdedRelu",  infer_same,      cost_each<1, 0, 1>, nullptr,              "1 comparison / element", kPointwise},
};
// clang-format on
static_assert(well_formed(kUnaryRules));

}  // namespace

std::span<const OpRule> unary_rules() { return kUnaryRules; }

}  // namespace pagoda::inline core::ops
