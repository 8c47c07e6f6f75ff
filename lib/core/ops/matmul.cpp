// Matrix products and determinants.
#include <span>

#include "ops/families.h"
#include "ops/rule_parts.h"
#include "ops/shape_math.h"

namespace pagoda::inline core::ops {
namespace {

// --- numpy.matmul ---

// The shapes of a product of inputs a and b: batch axes broadcast, rows × inner · inner × columns. With a vector
// operand, the product has no row (column) axis.
struct Product {
  Shape batch;
  Dim rows = 1, inner, columns = 1;
  bool has_rows = true, has_columns = true;

  Shape output() const {
    Shape shape = batch;
    if (has_rows) shape.push_back(rows);
    if (has_columns) shape.push_back(columns);
    return shape;
  }
};

Product product_of(OpContext& op, int a, int b) {
  const Shape& left = op.shape(a);
  const Shape& right = op.shape(b);
  if (left.empty() || right.empty()) op.fail("an operand is a scalar");
  Product product;
  product.has_rows = left.size() > 1;
  product.has_columns = right.size() > 1;
  product.inner = op.unify(left.back(), product.has_columns ? right[right.size() - 2] : right.back(), "inner dims");
  if (product.has_rows) product.rows = left[left.size() - 2];
  if (product.has_columns) product.columns = right.back();
  const auto batch = [](const Shape& shape) { return Shape(shape.begin(), shape.end() - (shape.size() > 1 ? 2 : 1)); };
  product.batch = op.broadcast(batch(left), batch(right));
  return product;
}

void infer_product(OpContext& op, int a, int b, ElementType element) {
  if (!op.has_shape(a) || !op.has_shape(b)) {
    static_cast<void>(op.input(a)), static_cast<void>(op.input(b));
    return op.set_output(0, {.element = element, .shape = std::nullopt});
  }
  op.set_output(0, element, product_of(op, a, b).output());
}

void infer_matmul(OpContext& op) { infer_product(op, 0, 1, op.element(0)); }
void infer_matmul_integer(OpContext& op) { infer_product(op, 0, 1, ElementType::Int32); }
void infer_qlinear_matmul(OpContext& op) { infer_product(op, 0, 3, op.element(7)); }

// Every output element is the sum of `inner` products.
Dim macs(const OpContext& op, int a, int b) {
  const Dim& left = op.shape(a).back();
  const Shape& right = op.shape(b);
  const Dim& other = right.size() > 1 ? right[right.size() - 2] : right.back();
  // If only one side is a constant, inference found both to be equal to it.
  return op.output_elements(0) * (other.is_constant() ? other : left);
}

OpCost cost_matmul(const OpContext& op) {
  OpCost cost = op.streamed();
  cost.macs = macs(op, 0, 1);
  return cost;
}

// (A − a_zero_point)·(B − b_zero_point): one subtraction per element of each operand that has a zero point.
OpCost cost_matmul_integer(const OpContext& op) {
  OpCost cost = op.streamed();
  cost.macs = macs(op, 0, 1);
  if (op.has_input(2)) cost.arith += op.elements(0);
  if (op.has_input(3)) cost.arith += op.elements(1);
  cost.precision = ElementType::Int8;
  return cost;
}

// As MatMulInteger, then per output element: multiply by a_scale·b_scale/y_scale, round, add the zero point, clamp at
// both ends. The combined scale is a multiplication and a division per element of b_scale.
OpCost cost_qlinear_matmul(const OpContext& op) {
  OpCost cost = op.streamed();
  const Dim outputs = op.output_elements(0);
  cost.macs = macs(op, 0, 3);
  cost.arith = op.elements(0) + op.elements(3) + 2 * op.elements(4) + 5 * outputs;
  cost.comparisons = 3 * outputs;
  cost.precision = ElementType::Int8;
  return cost;
}

// --- Gemm: α·A′·B′ + β·C with matrices that may be given transposed ---

struct Gemm {
  Dim rows, inner_a, inner_b, columns;
};

Gemm gemm_of(const OpContext& op) {
  if (op.rank(0) != 2 || op.rank(1) != 2)
    op.fail("A and B have ranks " + std::to_string(op.rank(0)) + " and " + std::to_string(op.rank(1)) + ", expected 2");
  const bool trans_a = op.attribute("transA", std::int64_t{0}) != 0;
  const bool trans_b = op.attribute("transB", std::int64_t{0}) != 0;
  const Shape& a = op.shape(0);
  const Shape& b = op.shape(1);
  return {a[trans_a ? 1 : 0], a[trans_a ? 0 : 1], b[trans_b ? 1 : 0], b[trans_b ? 0 : 1]};
}

void infer_gemm(OpContext& op) {
  static_cast<void>(op.input(1));
  if (op.opset() < 11) static_cast<void>(op.input(2));
  if (!op.has_shape(0) || !op.has_shape(1)) return op.set_output(0, {.element = op.element(0), .shape = std::nullopt});
  const Gemm gemm = gemm_of(op);
  op.unify(gemm.inner_a, gemm.inner_b, "inner dims");
  Shape output = {gemm.rows, gemm.columns};
  if (op.has_shape(2)) {
    const Shape& bias = op.shape(2);
    if (bias.size() > 2) op.fail("C has rank " + std::to_string(bias.size()) + ", expected 2 at most");
    for (std::size_t i = 0; i < bias.size(); ++i)
      if (bias[i] != Dim(1)) {
        Dim& dim = output[output.size() - bias.size() + i];
        dim = op.unify(dim, bias[i], "dims of C and the product");
      }
  }
  op.set_output(0, op.element(0), std::move(output));
}

// A scale other than 1 takes one multiplication per scaled element; β = 0 omits C.
OpCost cost_gemm(const OpContext& op) {
  const double beta = op.attribute("beta", 1.0);
  const bool has_bias = op.has_input(2) && beta != 0;
  OpCost cost = has_bias ? op.streamed() : op.streamed({0, 1});
  const Gemm gemm = gemm_of(op);
  const Dim outputs = op.output_elements(0);
  cost.macs = outputs * (gemm.inner_b.is_constant() ? gemm.inner_b : gemm.inner_a);
  if (op.attribute("alpha", 1.0) != 1.0) cost.arith += outputs;
  if (has_bias) cost.arith += outputs;
  if (has_bias && beta != 1.0) cost.arith += op.elements(2);
  return cost;
}

// --- Det ---

void infer_det(OpContext& op) {
  if (!op.has_shape(0)) return op.set_output(0, {.element = op.element(0), .shape = std::nullopt});
  Shape shape = op.shape(0);
  if (shape.size() < 2) op.fail("the input has rank " + std::to_string(shape.size()) + ", expected 2 or more");
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
constexpr OpRule kRules[] = {
    // op               infer                 cost                 fold     cost in words
    {"Det",             infer_det,            cost_det,            nullptr, "LU with pivoting: n(n−1)/2 comparisons and div, n(n−1)(2n−1)/6 mul and sub, n − 1 mul per matrix", kOther.with(Gradient::Unmodelled)},
    {"Gemm",            infer_gemm,           cost_gemm,           nullptr, "K macs, 1 bias add / output element; 1 mul per element scaled by alpha or beta ≠ 1", kMatrixProduct.reads({WeightUse::Weight, WeightUse::Weight, WeightUse::Additive})},
    {"MatMul",          infer_matmul,         cost_matmul,         nullptr, "K macs / output element", kMatrixProducts.reads({WeightUse::Weight, WeightUse::Weight})},
    {"MatMulInteger",   infer_matmul_integer, cost_matmul_integer, nullptr, "K macs / output element; 1 sub per operand element with a zero point", kMatrixProducts.with(ProductForm::Integers).with(Gradient::Integers).reads({{}, {}, WeightUse::ZeroPoint, WeightUse::ZeroPoint})},
    {"QLinearMatMul",   infer_qlinear_matmul, cost_qlinear_matmul, nullptr, "as MatMulInteger; scale, round, zero point, 2 clamps / output element", kMatrixProducts.with(ProductForm::Integers).with(Gradient::Integers).reads({{}, WeightUse::QuantScale, WeightUse::ZeroPoint, {}, WeightUse::QuantScale, WeightUse::ZeroPoint, WeightUse::QuantScale, WeightUse::ZeroPoint})},
};
// clang-format on
static_assert(well_formed(kRules));

}  // namespace

std::span<const OpRule> matmul_rules() { return kRules; }

}  // namespace pagoda::inline core::ops
