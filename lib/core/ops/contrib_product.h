// Matrix products of shapes that may be transposed first, for the fused and quantised operators.
#pragma once

#include "ops/contrib_parts.h"

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

// The shape of input `i` as FusedMatMul multiplies it. transBatch moves axis 0 behind the batch axes,
// [m, b…, k] → [b…, m, k]; trans then swaps the last two axes. A vector is unchanged.
Shape transposed_operand(const OpContext& op, int i, std::string_view trans, std::string_view trans_batch);

// Gemm: matrices with transA and transB; C broadcasts to the product.
struct GemmSizes {
  Dim rows, inner_a, inner_b, columns;

  Dim inner() const { return inner_b.is_constant() ? inner_b : inner_a; }
};
GemmSizes gemm_sizes(const OpContext& op, int a, int b);
void infer_gemm_output(OpContext& op, int a, int b, int c, ElementType element);

}  // namespace pagoda::inline core::ops
