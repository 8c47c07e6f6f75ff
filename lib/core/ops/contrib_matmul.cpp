// com.microsoft: matrix products with scaling, transposition and activations fused in, with weights in 8-bit floating
// point or packed to a few bits, and in 8-bit integers.
#include "ops/product.h"

namespace pagoda::inline core::ops {
namespace {

// --- FusedMatMul, FusedMatMulActivation, TransposeMatMul ---

// The shape of input `i` as FusedMatMul multiplies it. transBatch moves axis 0 behind the batch axes,
// [m, b…, k] → [b…, m, k]; trans then swaps the last two axes. A vector is unchanged.
Shape transposed_operand(const OpContext& op, int i, std::string_view trans, std::string_view trans_batch) {
  Shape shape = op.shape(i);
  if (shape.size() < 2) return shape;
  if (op.attribute(trans_batch, 0) != 0) std::rotate(shape.begin(), shape.begin() + 1, shape.end() - 1);
  if (op.attribute(trans, 0) != 0) std::swap(shape[shape.size() - 2], shape.back());
  return shape;
}

Shape left_operand(const OpContext& op) { return transposed_operand(op, 0, "transA", "transBatchA"); }
Shape right_operand(const OpContext& op) { return transposed_operand(op, 1, "transB", "transBatchB"); }

Shape fused_matmul_shape(OpContext& op) { return product_of(op, left_operand(op), right_operand(op)).output(); }

OpCost cost_fused_matmul(const OpContext& op) {
  return op.streamed() + Work{.arith = when(op.attribute("alpha", 1.0) != 1.0, op.output_elements(0)),
                              .macs = product_macs(op, left_operand(op), right_operand(op))};
}

OpCost cost_matmul_activation(const OpContext& op) {
  const std::string_view activation = op.attribute("activation", "");
  const Work work = activation == "Softmax" ? softmax_work() : activation_work(op, activation);
  return cost_fused_matmul(op) + work * op.output_elements(0);
}

OpCost cost_sparse_matmul(const OpContext& op) {
  op.unknown("the number of stored elements of the sparse operand is data");
}

// --- Gemm with an activation, and in 8-bit floating point ---

void infer_fused_gemm(OpContext& op) { infer_gemm_output(op, 0, 1, 2, op.element(0)); }

OpCost cost_fused_gemm(const OpContext& op) { return gemm_cost(op, 1.0) + fused_activation_work(op); }

void infer_gemm_float8(OpContext& op) {
  const std::int64_t type = op.attribute("dtype", 1);
  if (type < 1 || type > static_cast<std::int64_t>(ElementType::Int2)) op.fail(cat("dtype is ", type));
  infer_gemm_output(op, 0, 1, 2, static_cast<ElementType>(type));
}

// The scales of both operands combine into one multiplication per output element; the output's scale takes another.
OpCost cost_gemm_float8(const OpContext& op) {
  const Dim outputs = op.output_elements(0);
  return gemm_cost(op, 0.0) +
         Work{.arith = when(op.has_input(3) || op.has_input(4), outputs) + when(op.has_input(5), outputs)} +
         fused_activation_work(op);
}

OpCost cost_gemm_fast_gelu(const OpContext& op) {
  return op.streamed() + product_work(op, 1) +
         (Work{.arith = op.has_input(2) ? 1 : 0} + fast_gelu_work()) * op.output_elements(0);
}

// --- weights packed to a few bits: [… K] × K × N ---

// The shape of A times B [inner, columns].
Shape multiplied(OpContext& op, const Dim& inner, const Dim& columns) {
  if (op.shape(0).empty()) op.fail("input 0 is a scalar");
  op.unify(dim_of(op, 0, -1), inner, "inner dims");
  return appended(leading(op.shape(0)), {columns});
}

// Ends the rule if B is known to hold another number of bytes.
void expect_bytes(const OpContext& op, const Dim& bytes) {
  if (op.has_shape(1) && equal(op.elements(1), bytes) == false)
    op.fail(cat("B holds ", op.elements(1).to_string(), " bytes, expected ", bytes.to_string()));
}

// The work of multiplying every row of A by `weights` weights, each of which first takes `decoding` operations.
Work decoded_product_work(const OpContext& op, const Dim& weights, int decoding) {
  return {.arith = decoding * weights, .macs = row_count(op.shape(0)) * weights};
}
constexpr int kScale = 1, kShiftAndScale = 2;  // the shift is the zero point, 2^(bits − 1) if none is given

Shape k_by_n_shape(OpContext& op) {
  const Dim inner = positive_attribute(op, "K");
  return multiplied(op, inner, positive_attribute(op, "N"));
}
Dim k_times_n(const OpContext& op) { return Dim(positive_attribute(op, "K")) * positive_attribute(op, "N"); }

// B is [N, blocks, bytes of a block], or the same bytes in another shape.
Shape nbits_shape(OpContext& op) {
  const Dim inner = positive_attribute(op, "K");
  const Dim columns = positive_attribute(op, "N");
  const std::int64_t block = positive_attribute(op, "block_size");
  const std::int64_t bits = op.attribute("bits", 4);
  if (bits < 1 || bits > 8) op.fail(cat("bits is ", bits));
  Shape shape = multiplied(op, inner, columns);
  expect_bytes(op, columns * ceil_div(inner, block) * (block * bits / 8));
  return shape;
}

OpCost cost_nbits(const OpContext& op) {
  return op.streamed() + Work{.arith = when(op.has_input(5), op.output_elements(0))} +
         decoded_product_work(op, k_times_n(op), kShiftAndScale);
}

// The norm that MatMulNBitsMlp and MatMulNBitsQkv may apply to A first: a residual, then RMS norm with its scale.
Work fused_norm_work(const OpContext& op) {
  const Dim elements = op.elements(0);
  const Work residual = {.arith = when(op.has_input(1), elements)};
  return op.has_input(2) ? residual + scaled_rms_norm_work(elements, row_count(op.shape(0))) : residual;
}

void infer_nbits_mlp(OpContext& op) {
  set_element(op, 0, op.element(0));
  op.set_output(0, op.element(0), k_by_n_shape(op));
  op.set_output(1, op.input(0));
}

// activation(A·gate)·(A·up).
OpCost cost_nbits_mlp(const OpContext& op) {
  const Dim outputs = op.output_elements(0);
  return op.streamed() + decoded_product_work(op, 2 * k_times_n(op), kShiftAndScale) + fused_norm_work(op) +
         fused_activation_work(op) +
         Work{.arith = outputs + when(op.has_input(5), outputs) + when(op.has_input(8), outputs)};
}

void infer_nbits_qkv(OpContext& op) {
  set_element(op, 0, op.element(0));
  const Dim inner = positive_attribute(op, "K");
  op.set_output(0, op.element(0), multiplied(op, inner, positive_attribute(op, "Nq")));
  for (const int output : {1, 2})
    op.set_output(output, op.element(0), multiplied(op, inner, positive_attribute(op, "Nkv")));
  op.set_output(3, op.input(0));
}

OpCost cost_nbits_qkv(const OpContext& op) {
  const Dim columns = Dim(positive_attribute(op, "Nq")) + 2 * Dim(positive_attribute(op, "Nkv"));
  OpCost cost = op.streamed() + fused_norm_work(op) +
                decoded_product_work(op, positive_attribute(op, "K") * columns, kShiftAndScale);
  for (const auto& [bias, output] : {std::pair{5, 0}, {8, 1}, {11, 2}})
    if (op.has_input(bias)) cost.arith += op.output_elements(output);
  return cost;
}

// --- 4-bit weights decoded by a table (FP4, NF4); absmax scales each block ---

Shape bnb4_shape(OpContext& op) {
  const bool trans = op.flag("transB", true);
  const Dim k = positive_attribute(op, "K");
  const Dim n = positive_attribute(op, "N");
  Shape shape = multiplied(op, trans ? k : n, trans ? n : k);
  expect_bytes(op, ceil_div(k * n, 2));
  return shape;
}

OpCost cost_bnb4(const OpContext& op) { return op.streamed() + decoded_product_work(op, k_times_n(op), kScale); }

// B is a blob; input 2 holds its logical shape [K, N].
Shape fp_q4_shape(OpContext& op) {
  const auto shape = known_sizes(op, 2);
  if (shape && shape->size() != 2) op.fail(cat("B_shape has ", shape->size(), " entries, expected 2"));
  if (shape) return multiplied(op, (*shape)[0], (*shape)[1]);
  if (op.shape(0).empty()) op.fail("input 0 is a scalar");
  return appended(leading(op.shape(0)), {op.fresh("columns", "the shape of the packed weights is data")});
}

OpCost cost_fp_q4(const OpContext& op) {
  return op.streamed({0, 1}) + decoded_product_work(op, dim_of(op, 0, -1) * op.output_shape(0).back(), kShiftAndScale);
}

// --- weights in 4- or 8-bit floating point with block scales: B is [N, K], FP4 two to a byte ---

template <int PerByte>
Shape block_float_shape(OpContext& op) {
  expect_rank(op, 1, 2);
  return multiplied(op, PerByte * dim_of(op, 1, 1), dim_of(op, 1, 0));
}

// The block's scale of FP4 is first multiplied by the global one.
OpCost cost_block_fp4(const OpContext& op) {
  return op.streamed({0, 1, 2, 3, 5}) + decoded_product_work(op, 2 * op.elements(1), kScale) +
         Work{.arith = op.elements(2) + when(op.has_input(5), op.output_elements(0))};
}

// If A has a scale, its elements are divided by it, converted to FP8, and scaled back.
OpCost cost_block_fp8(const OpContext& op) {
  OpCost cost = op.has_input(3) ? in_precision(ElementType::Float8e4m3fn, op.streamed()) : op.streamed();
  return std::move(cost) + decoded_product_work(op, op.elements(1), kScale) +
         Work{.arith = when(op.has_input(3), 2 * op.elements(0)) + when(op.has_input(4), op.output_elements(0))};
}

// --- weights in packed formats: B is [N, bytes of a row] ---

Shape packed_product_shape(OpContext& op) {
  const Dim columns = positive_attribute(op, "N");
  expect_rank(op, 1, 2);
  Shape shape = multiplied(op, positive_attribute(op, "K"), columns);
  expect_dim(op, 1, 0, columns, "N and rows of B");
  return shape;
}

// Whatever the format, a product with its block's scale per weight; a global scale and an activation per output.
OpCost cost_packed_product(const OpContext& op) {
  const Work activation = activation_work(op, op.attribute("activation_type", "none"));
  return op.streamed() + decoded_product_work(op, k_times_n(op), kScale) +
         (activation + Work{.arith = when(op.has_input(2), 1)}) * op.output_elements(0);
}

// --- MatMulNBits with an adapter: X·W + (X·A)·B, all three quantised; an empty A or B is left out ---

OpCost cost_nbits_lora(const OpContext& op) {
  const Dim columns = positive_attribute(op, "N");
  const bool adapts = op.elements(5) != Dim(0);
  Dim weights = positive_attribute(op, "K") * (columns + dim_of(op, 3, 0));
  if (adapts) weights += dim_of(op, 4, 0) * columns;
  return op.streamed() + Work{.arith = when(adapts, op.output_elements(0))} +
         decoded_product_work(op, weights, kShiftAndScale);
}

// --- RouterGateUpProj: X·W split into router logits, gate and up; SwiGLU of the last two ---

Dim gated_columns(const OpContext& op) {
  return divided(op, dim_of(op, 1, 1) - positive_attribute(op, "router_size"), 2, "columns of gate and up");
}

void infer_router_gate_up(OpContext& op) {
  set_element(op, 0, op.element(0));
  set_element(op, 1, op.element(0));
  expect_rank(op, 1, 2);
  const Dim& inner = dim_of(op, 1, 0);
  op.set_output(0, op.element(0), multiplied(op, inner, positive_attribute(op, "router_size")));
  op.set_output(1, op.element(0), multiplied(op, inner, gated_columns(op)));
}

OpCost cost_router_gate_up(const OpContext& op) {
  return op.streamed() + Work{.macs = row_count(op.shape(0)) * op.elements(1)} +
         swiglu_work(op, op.attribute("limit", 0.0) > 0) * (row_count(op.shape(0)) * gated_columns(op));
}

// --- products in 8-bit integers, quantised beforehand or at run time ---

// The work besides the products of matrices in integers: subtracting the zero points of both operands, once per
// element; combining both scales, once per element of B's scale.
Work scaled_product_work(const OpContext& op, int b, int b_scale, int a_zero_point, int b_zero_point) {
  return zero_point_work(op, 0, a_zero_point) + zero_point_work(op, b, b_zero_point) +
         Work{.arith = op.has_input(b_scale) ? op.elements(b_scale) : Dim(0)};
}

// --- MatMulIntegerToFloat: A, B, scales, zero points, bias ---

OpCost cost_to_float(const OpContext& op) {
  const Dim outputs = op.output_elements(0);
  return int8_cost(op) + product_work(op, 1) + scaled_product_work(op, 1, 3, 4, 5) +
         Work{.arith = outputs + when(op.has_input(6), outputs)};
}

// --- DynamicQuantizeMatMul: A in floating point, B, scale, zero point, bias ---

OpCost cost_dynamic_matmul(const OpContext& op) {
  const Dim outputs = op.output_elements(0);
  const Dim shifts = op.elements(0);  // by A's zero point
  return int8_cost(op) + product_work(op, 1) + dynamic_quantize_work(op.elements(0), 1) +
         scaled_product_work(op, 1, 2, -1, 3) + Work{.arith = shifts + outputs + when(op.has_input(4), outputs)};
}

// --- MatMulInteger16 ---

void infer_integer16(OpContext& op) {
  const bool is_signed = op.element(0) == ElementType::Int16 || op.element(1) == ElementType::Int16;
  if (is_signed) return shaped_as<product_shape<1>, ElementType::Int32>(op);
  shaped_as<product_shape<1>, ElementType::Uint32>(op);
}

// --- QGemm: A, scale, zero point, B, scale, zero point, C, scale and zero point of Y ---

void infer_q_gemm(OpContext& op) {
  const ElementType element = op.has_input(8) ? op.element(8) : ElementType::Float32;
  infer_gemm_output(op, 0, 3, 6, element);
}

// The combined scale takes a multiplication per element of B's scale, one more for alpha ≠ 1, one for a quantised Y.
OpCost cost_q_gemm(const OpContext& op) {
  const Dim outputs = op.output_elements(0);
  const bool quantizes = op.has_input(7);
  const int scalings = (op.attribute("alpha", 1.0) != 1.0 ? 1 : 0) + (quantizes ? 1 : 0);
  return int8_cost(op) + scaled_product_work(op, 3, 4, 2, 5) +
         Work{.arith = scalings * op.elements(4) + when(op.has_input(6), outputs),
              .macs = outputs * gemm_sizes(op, 0, 3).inner()} +
         (quantizes ? quantize_work() : Work{.arith = 1}) * outputs;
}

// --- QOrderedMatMul: A, scale, B, scale, scale of Y, bias, C, scale of C ---

// The scales are combined per element of B's scale (2); per output element scale, bias, C (mul, add), round, 2 clamps.
OpCost cost_q_ordered_matmul(const OpContext& op) {
  const int additions = (op.has_input(5) ? 1 : 0) + (op.has_input(6) ? 2 : 0);
  return int8_cost(op) + product_work(op, 2) + Work{.arith = 2 * op.elements(3)} +
         Work{.arith = 4 + additions, .comparisons = 3} * op.output_elements(0);
}

// --- Inverse ---

void infer_inverse(OpContext& op) {
  if (op.has_shape(0)) op.unify(dim_of(op, 0, -2), dim_of(op, 0, -1), "rows and columns");
  op.set_output(0, op.input(0));
}

// Gauss–Jordan elimination in place with partial pivoting. Per pivot: a reciprocal, n − 1 multiplications of its row
// and n − 1 of its column, (n − 1)² multiplications and subtractions of the rest; n(n − 1)/2 comparisons in all.
OpCost cost_inverse(const OpContext& op) {
  const Dim n = dim_of(op, 0, -1);
  const Dim matrices = row_count(leading(op.shape(0)));
  const Dim pivots = floor_div(n * (n - 1), 2);
  return op.streamed() + Work{.arith = matrices * (n * (1 + 2 * (n - 1) + 2 * (n - 1) * (n - 1)) + pivots),
                              .comparisons = matrices * pivots};
}

// clang-format off
constexpr OpRule kContribMatmulRules[] = {
    // op                     infer                          cost                    fold     cost in words
    {"DynamicQuantizeMatMul", shaped<product_shape<1>>,      cost_dynamic_matmul,    nullptr, "K macs, scale, bias per output element; quantise (7), zero point per element of A", kOtherProduct},
    {"FusedGemm",             infer_fused_gemm,              cost_fused_gemm,        nullptr, "K macs, bias add, activation / output element; 1 mul per element scaled by alpha or beta ≠ 1", kMatrixProduct.with(Gradient::Unmodelled)},
    {"FusedMatMul",           shaped<fused_matmul_shape>,    cost_fused_matmul,      nullptr, "K macs / output element; 1 mul for alpha ≠ 1", kMatrixProducts.reads({WeightUse::Weight, WeightUse::Weight})},
    {"FusedMatMulActivation", shaped<fused_matmul_shape>,    cost_matmul_activation, nullptr, "as FusedMatMul, then the activation / output element", kMatrixProducts.with(Gradient::Unmodelled)},
    {"GemmFastGelu",          shaped<product_shape<1>>,      cost_gemm_fast_gelu,    nullptr, "K macs, bias add, 5 mul, 2 add, tanh / output element", kMatrixProduct.with(Gradient::Unmodelled)},
    {"GemmFloat8",            infer_gemm_float8,             cost_gemm_float8,       nullptr, "K macs, scales, bias add, activation / output element", kOtherProduct},
    {"Inverse",               infer_inverse,                 cost_inverse,           nullptr, "Gauss–Jordan: n(2n² − 2n + 1), n(n − 1)/2 comparisons per matrix", kOther.with(Gradient::Unmodelled)},
    {"MatMulBlockQuantizedFp4Weight", shaped<block_float_shape<2>>,  cost_block_fp4,         nullptr, "K·N macs per row, 1 mul per weight and per block scale, bias add", kOtherProduct},
    {"MatMulBlockQuantizedFp8Weight", shaped<block_float_shape<1>>,  cost_block_fp8,         nullptr, "K·N macs per row, 1 mul per weight, div and mul per element of A with a scale, bias add", kOtherProduct},
    {"MatMulBnb4",            shaped<bnb4_shape>,            cost_bnb4,              nullptr, "K·N macs per row, 1 mul per weight", kOtherProduct},
    {"MatMulFpQ4",            shaped<fp_q4_shape>,           cost_fp_q4,             nullptr, "K·N macs per row, sub and mul per weight", kOtherProduct},
    {"MatMulInteger16",       infer_integer16,               cost_as<"MatMul">,      nullptr, "K macs per output element", kOtherProduct},
    {"MatMulIntegerToFloat",  shaped<product_shape<1>, 2>,   cost_to_float,          nullptr, "K macs, scale, bias per output element; zero points per operand element", kOtherProduct},
    {"MatMulNBits",           shaped<nbits_shape>,           cost_nbits,             nullptr, "K·N macs per row, sub and mul per weight, bias add", kOtherProduct.reads({{}, {}, WeightUse::QuantScale, WeightUse::ZeroPoint})},
    {"MatMulNBitsMlp",        infer_nbits_mlp,               cost_nbits_mlp,         nullptr, "2·K·N macs per row, sub and mul per weight, norm, biases, activation, mul", kOtherProduct},
    {"MatMulNBitsQLoRA",      shaped<k_by_n_shape>,          cost_nbits_lora,        nullptr, "K·N macs, with an adapter of rank R also R·(K + N), per row; sub and mul per weight; add per output element", kOtherProduct},
    {"MatMulNBitsQkv",        infer_nbits_qkv,               cost_nbits_qkv,         nullptr, "K·(Nq + 2·Nkv) macs per row, sub and mul per weight, norm, biases", kOtherProduct},
    {"MatMulPacked",          shaped<packed_product_shape>,  cost_packed_product,    nullptr, "K·N macs per row, 1 mul per weight, activation", kOtherProduct},
    {"QGemm",                 infer_q_gemm,                  cost_q_gemm,            nullptr, "K macs, bias, scale or quantise (5) per output element; zero points per operand element", kOtherProduct},
    {"QOrderedMatMul",        shaped<product_shape<2>>,      cost_q_ordered_matmul,  nullptr, "K macs, scale, bias, C, round, 2 clamps per output element", kOtherProduct},
    {"RouterGateUpProj",      infer_router_gate_up,          cost_router_gate_up,    nullptr, "K macs per column of W and row; SwiGLU (2 mul, sigmoid) per gate", kOtherProduct},
    {"SparseToDenseMatMul",   shaped<fused_matmul_shape, 1>, cost_sparse_matmul,     nullptr, "not known: the number of stored elements is data", kOtherProduct},
    {"TransposeMatMul",       shaped<fused_matmul_shape>,    cost_fused_matmul,      nullptr, "as FusedMatMul", kMatrixProducts.with(Gradient::Unmodelled)},
};
// clang-format on
static_assert(well_formed(kContribMatmulRules));

}  // namespace

std::span<const OpRule> contrib_matmul_rules() { return kContribMatmulRules; }

}  // namespace pagoda::inline core::ops
