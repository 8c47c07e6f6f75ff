// Quantization: QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear, per tensor, axis or block alike.
#include "ops/rule_parts.h"

namespace pagoda::inline core::ops {
namespace {

// The type an attribute names by number; empty when the attribute is absent or 0.
std::optional<ElementType> stated_type(const OpContext& op, std::string_view attribute) {
  const std::int64_t type = op.attribute(attribute, 0);
  if (type == 0) return std::nullopt;
  if (type < 0 || type > static_cast<std::int64_t>(ElementType::Int2)) op.fail(cat(attribute, " is ", type));
  return static_cast<ElementType>(type);
}

// Scale per tensor (one element), per axis (rank 1) or per block (the input's rank).
void check_scale(const OpContext& op) {
  if (!op.has_shape(0) || !op.has_shape(1)) return;
  const int rank = op.rank(1);
  if (rank > 1 && rank != op.rank(0)) op.fail(cat("the scale has rank ", rank, ", the input ", op.rank(0)));
  if (rank == 1 && op.rank(0) > 1 && op.opset() >= 13) normal_axis(op, op.attribute("axis", 1), op.rank(0));
}

void infer_quantize(OpContext& op) {
  check_scale(op);
  set_shape_of_first(op,
                     op.has_input(2) ? op.element(2) : stated_type(op, "output_dtype").value_or(ElementType::Uint8));
}

// saturate(round(x / scale) + zero_point): divide, round, add where there is a zero point, clamp at both ends.
OpCost cost_quantize(const OpContext& op) {
  return in_precision(stated_type(op, "precision").value_or(op.element(1)), op.streamed()) +
         Work{.arith = op.has_input(2) ? 5 : 4, .comparisons = 3} * op.elements(0);
}

void infer_dequantize(OpContext& op) {
  check_scale(op);
  set_shape_of_first(op, stated_type(op, "output_dtype").value_or(op.element(1)));
}

// (x − zero_point)·scale.
OpCost cost_dequantize(const OpContext& op) {
  return in_precision(op.output(0).element, op.streamed()) + Work{.arith = (op.has_input(2) ? 2 : 1) * op.elements(0)};
}

void infer_dynamic_quantize(OpContext& op) {
  set_shape_of_first(op, ElementType::Uint8);
  op.set_output(1, ElementType::Float32, {});
  op.set_output(2, ElementType::Uint8, {});
}

OpCost cost_dynamic_quantize(const OpContext& op) { return op.streamed() + dynamic_quantize_work(op.elements(0), 1); }

// clang-format off
constexpr OpRule kQuantizeRules[] = {
    // op                     infer                   cost                   fold     cost in words
    {"DequantizeLinear",      infer_dequantize,       cost_dequantize,       nullptr, "mul, and sub of the zero point, per element", kDequantize.reads({{}, WeightUse::QuantScale, WeightUse::ZeroPoint})},
    {"DynamicQuantizeLinear", infer_dynamic_quantize, cost_dynamic_quantize, nullptr, "min, max, div, round, add, 2 clamps per element; 9 per tensor", kOther.with(Gradient::Integers)},
    {"QuantizeLinear",        infer_quantize,         cost_quantize,         nullptr, "div, round, 2 clamps, and add of the zero point, per element", kQuantize.reads({{}, WeightUse::QuantScale, WeightUse::ZeroPoint})},
};
// clang-format on
static_assert(well_formed(kQuantizeRules));

}  // namespace

std::span<const OpRule> quantize_rules() { return kQuantizeRules; }

}  // namespace pagoda::inline core::ops
