// Matrix products and determinants.

#include "ops/families.h"
#include "ops/product.h"
#include "ops/rule_parts.h"
#include "ops/shape_math.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core::ops {
namespace {

// --- numpy.matmul ---

void infer_product(OpContext& op, int a, int b, ElementType element) {
  if (!op.has_shape(a) || !op.has_shape(b)) {
    static_cast<void>(op.input(a)), static_cast<void>(op.input(b));
    return set_element(op, 0, element);
  }
  op.set_output(0, element, product_of(op, op.shape(a), op.shape(b)).output());
}

void infer_matmul(OpContext& op) { infer_product(op, 0, 1, op.element(0)); }
void infer_matmul_integer(OpContext& op) { infer_product(op, 0, 1, ElementType::Int32); }
void infer_qlinear_matmul(OpContext& op) { infer_product(op, 0, 3, op.element(7)); }

// Every output element is the sum of `inner` products.
Dim macs(const OpContext& op, int a, int b) { return product_macs(op, op.shape(a), op.shape(b)); }

OpCost cost_matmul(const OpContext& op) { return with_macs(macs(op, 0, 1), op.streamed()); }

// (A − a_zero_point)·(B − b_zero_point): one subtraction per element of each operand that has a zero point.
OpCost cost_matmul_integer(const OpContext& op) {
  OpCost cost = in_precision(ElementType::Int8, cost_matmul(op));
  if (op.has_input(2)) cost.arith += op.elements(0);
  if (op.has_input(3)) cost.arith += op.elements(1);
  return cost;
}

// As MatMulInteger, then per output element: multiply by a_scale·b_scale/y_scale, round, add the zero point, clamp at
// both ends. The combined scale is a multiplication and a division per element of b_scale.
OpCost cost_qlinear_matmul(const OpContext& op) {
  const Dim outputs = op.output_elements(0);
  return with_macs(macs(op, 0, 3), in_precision(ElementType::Int8, op.streamed())) +
         Work{.arith = op.elements(0) + op.elements(3) + 2 * op.elements(4) + 5 * outputs, .comparisons = 3 * outputs};
}

// --- Gemm: α·A′·B′ + β·C with matrices that may be given transposed ---

void infer_gemm(OpContext& op) {
  static_cast<void>(op.input(1));
  if (op.opset() < 11) static_cast<void>(op.input(2));
  infer_gemm_output(op, 0, 1, 2, op.element(0));
}

OpCost cost_gemm(const OpContext& op) { return gemm_cost(op, 1.0); }

// --- Det ---

void infer_det(OpContext& op) {
  if (!op.has_shape(0)) return set_unknown_rank(op);
  Shape shape = op.shape(0);
  if (shape.size() < 2) op.fail(cat("the input has rank ", shape.size(), ", expected 2 or more"));
  op.unify(shape[shape.size() - 2], shape.back(), "rows and columns");
  shape.resize(shape.size() - 2);
  op.set_output(0, op.element(0), std::move(shape));
}

// LU decomposition with partial pivoting of an n × n matrix: for k = 1 … n − 1 there are n − k comparisons for the
// pivot, n − k divisions, (n − k)² multiplications and subtractions; then n − 1 multiplications of the diagonal.
OpCost cost_det(const OpContext& op) {
  OpCost cost = op.streamed();
  const Dim n = op.shape(0).back();
  const Dim matrices = op.output_elements(0);
  const Dim pivots = floor_div(n * (n - 1), 2);                 // Σ (n − k)
  const Dim updates = floor_div(n * (n - 1) * (2 * n - 1), 6);  // Σ (n − k)²
  if (n != Dim(0)) cost.arith = matrices * (2 * pivots + 2 * updates + n - 1);
  cost.comparisons = matrices * pivots;
  return cost;
}

// clang-format off
constexpr OpRule kMatmulRules[] = {
    // op               infer                 cost                 fold     cost in words
    {"Det",             infer_det,            cost_det,            nullptr, "LU with pivoting: n(n−1)/2 comparisons and div, n(n−1)(2n−1)/6 mul and sub, n − 1 mul per matrix", kOther.with(Gradient::Unmodelled)},
    {"Gemm",            infer_gemm,           cost_gemm,           nullptr, "K macs, 1 bias add / output element; 1 mul per element scaled by alpha or beta ≠ 1", kMatrixProduct.reads({WeightUse::Weight, WeightUse::Weight, WeightUse::Additive})},
    {"MatMul",          infer_matmul,         cost_matmul,         nullptr, "K macs / output element", kMatrixProducts.reads({WeightUse::Weight, WeightUse::Weight})},
    {"MatMulInteger",   infer_matmul_integer, cost_matmul_integer, nullptr, "K macs / output element; 1 sub per operand element with a zero point", kMatrixProducts.with(ProductForm::Integers).with(Gradient::Integers).reads({{}, {}, WeightUse::ZeroPoint, WeightUse::ZeroPoint})},
    {"QLinearMatMul",   infer_qlinear_matmul, cost_qlinear_matmul, nullptr, "as MatMulInteger; scale, round, zero point, 2 clamps / output element", kMatrixProducts.with(ProductForm::Integers).with(Gradient::Integers).reads({{}, WeightUse::QuantScale, WeightUse::ZeroPoint, {}, WeightUse::QuantScale, WeightUse::ZeroPoint, WeightUse::QuantScale, WeightUse::ZeroPoint})},
};
// clang-format on
static_assert(well_formed(kMatmulRules));

}  // namespace

std::span<const OpRule> matmul_rules() { return kMatmulRules; }

}  // namespace pagoda::inline core::ops
