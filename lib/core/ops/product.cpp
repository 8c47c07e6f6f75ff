#include "ops/product.h"
#include "pagoda/base/cat.h"

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
  const bool trans_a = op.attribute("transA", std::int64_t{0}) != 0;
  const bool trans_b = op.attribute("transB", std::int64_t{0}) != 0;
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

}  // namespace pagoda::inline core::ops
