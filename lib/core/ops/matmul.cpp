// Matrix products and determinants.
#include "ops/product.h"

namespace pagoda::inline core::ops {

Shape Product::output() const {
  Shape shape = batch;
  if (has_rows) shape.push_back(rows);
  if (has_columns) shape.push_back(columns);
  return shape;
}

Product product_of(OpContext& op, const Shape& left, const Shape& right) {
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

Dim product_macs(const OpContext& op, const Shape& left, const Shape& right) {
  const Dim& other = right.size() > 1 ? right[right.size() - 2] : right.back();
  // If only one side is a constant, inference found both to be equal to it.
  return op.output_elements(0) * (other.is_constant() ? other : left.back());
}

GemmSizes gemm_sizes(const OpContext& op, int a, int b) {
  if (op.rank(a) != 2 || op.rank(b) != 2)
    op.fail(cat("A and B have ranks ", op.rank(a), " and ", op.rank(b), ", expected 2"));
  const bool trans_a = op.flag("transA");
  const bool trans_b = op.flag("transB");
  const Shape& left = op.shape(a);
  const Shape& right = op.shape(b);
  return {left[trans_a ? 1 : 0], left[trans_a ? 0 : 1], right[trans_b ? 1 : 0], right[trans_b ? 0 : 1]};
}

void infer_gemm_output(OpContext& op, int a, int b, int c, ElementType element) {
  op.set_output(0, {.element = element, .shape = std::nullopt});
  const GemmSizes sizes = gemm_sizes(op, a, b);
  op.unify(sizes.inner_a, sizes.inner_b, "inner dims");
  Shape output = {sizes.rows, sizes.columns};
  if (op.has_shape(c)) {
    const Shape& bias = op.shape(c);
    if (bias.size() > 2) op.fail(cat("C has rank ", bias.size(), ", expected 2 at most"));
    for (std::size_t i = 0; i < bias.size(); ++i) {
      Dim& dim = output[output.size() - bias.size() + i];
      if (bias[i] != Dim(1)) dim = op.unify(dim, bias[i], "dims of C and the product");
    }
  }
  op.set_output(0, element, std::move(output));
}

OpCost gemm_cost(const OpContext& op, double default_beta) {
  const double beta = op.attribute("beta", default_beta);
  const bool has_bias = op.has_input(2) && beta != 0;
  std::vector<int> read;
  for (int i = 0; i < op.input_count(); ++i)
    if (i != 2 || has_bias) read.push_back(i);
  OpCost cost = op.streamed(read);
  const Dim outputs = op.output_elements(0);
  cost.macs = outputs * gemm_sizes(op, 0, 1).inner();
  if (op.attribute("alpha", 1.0) != 1.0) cost.arith += outputs;
  if (has_bias) cost.arith += outputs;
  if (has_bias && beta != 1.0) cost.arith += op.elements(2);
  return cost;
}

namespace {

OpCost cost_matmul(const OpContext& op) { return op.streamed() + product_work(op, 1); }

// (A − a_zero_point)·(B − b_zero_point): one subtraction per element of each operand that has a zero point.
OpCost cost_matmul_integer(const OpContext& op) {
  return int8_cost(op) + product_work(op, 1) + zero_point_work(op, 0, 2) + zero_point_work(op, 1, 3);
}

OpCost cost_qlinear_matmul(const OpContext& op) { return qlinear_cost(op, product_work(op, 3).macs); }

// --- Gemm: α·A′·B′ + β·C with matrices that may be given transposed ---

void infer_gemm(OpContext& op) {
  static_cast<void>(op.input(1));
  if (op.opset() < 11) static_cast<void>(op.input(2));
  infer_gemm_output(op, 0, 1, 2, op.element(0));
}

OpCost cost_gemm(const OpContext& op) { return gemm_cost(op, 1.0); }

// --- Det ---

Shape det_shape(OpContext& op) {
  Shape shape = op.shape(0);
  if (shape.size() < 2) op.fail(cat("the input has rank ", shape.size(), ", expected 2 or more"));
  op.unify(shape[shape.size() - 2], shape.back(), "rows and columns");
  shape.resize(shape.size() - 2);
  return shape;
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
    // op             infer                        cost                 fold     cost in words
    {"Det",           shaped<det_shape>,           cost_det,            nullptr, "LU with pivoting: n(n−1)/2 comparisons and div, n(n−1)(2n−1)/6 mul and sub, n − 1 mul per matrix", kOther.with(Gradient::Unmodelled)},
    {"Gemm",          infer_gemm,                  cost_gemm,           nullptr, "K macs, 1 bias add / output element; 1 mul per element scaled by alpha or beta ≠ 1", kMatrixProduct.reads({WeightUse::Weight, WeightUse::Weight, WeightUse::Additive})},
    {"MatMul",        shaped<product_shape<1>>,    cost_matmul,         nullptr, "K macs / output element", kMatrixProducts.reads({WeightUse::Weight, WeightUse::Weight})},
    {"MatMulInteger", shaped_as<product_shape<1>, ElementType::Int32>, cost_matmul_integer, nullptr, "K macs / output element; 1 sub per operand element with a zero point", kMatrixProducts.with(ProductForm::Integers).with(Gradient::Integers).reads({{}, {}, WeightUse::ZeroPoint, WeightUse::ZeroPoint})},
    {"QLinearMatMul", shaped<product_shape<3>, 7>, cost_qlinear_matmul, nullptr, "as MatMulInteger; scale, round, zero point, 2 clamps / output element", kMatrixProducts.with(ProductForm::Integers).with(Gradient::Integers).reads({{}, WeightUse::QuantScale, WeightUse::ZeroPoint, {}, WeightUse::QuantScale, WeightUse::ZeroPoint, WeightUse::QuantScale, WeightUse::ZeroPoint})},
};
// clang-format on
static_assert(well_formed(kMatmulRules));

}  // namespace

std::span<const OpRule> matmul_rules() { return kMatmulRules; }

}  // namespace pagoda::inline core::ops
