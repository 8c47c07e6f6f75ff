// Matrix products of shapes: what MatMul, Gemm, and their fused and quantised forms share.
#pragma once

#include "ops/nn_work.h"

namespace pagoda::inline core::ops {

// numpy.matmul of two shapes: batch axes broadcast; with a vector operand, the product has no row (column) axis.
struct Product {
  Shape batch;
  Dim rows = 1, inner, columns = 1;
  bool has_rows = true, has_columns = true;

  Shape output() const;
};

Product product_of(OpContext& op, const Shape& left, const Shape& right);

// Output elements × products per element.
Dim product_macs(const OpContext& op, const Shape& left, const Shape& right);

// The product of inputs 0 and B: its shape, for shaped(), and its work.
template <int B>
Shape product_shape(OpContext& op) {
  return product_of(op, op.shape(0), op.shape(B)).output();
}
inline Work product_work(const OpContext& op, int b) { return {.macs = product_macs(op, op.shape(0), op.shape(b))}; }

// Gemm: matrices with transA and transB; C broadcasts to the product.
struct GemmSizes {
  Dim rows, inner_a, inner_b, columns;

  Dim inner() const { return inner_b.is_constant() ? inner_b : inner_a; }
};
GemmSizes gemm_sizes(const OpContext& op, int a, int b);
void infer_gemm_output(OpContext& op, int a, int b, int c, ElementType element);
// Of α·A′·B′ + β·C, inputs 0, 1 and 2. A scale other than 1 takes one multiplication per scaled element; β = 0 omits C.
OpCost gemm_cost(const OpContext& op, double default_beta);

}  // namespace pagoda::inline core::ops
