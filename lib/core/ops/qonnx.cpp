// Quantisation to any number of bits, as QONNX writes it: Brevitas exports these operators, and FINN and hls4ml read
// them, under the domains qonnx.custom_op.general, onnx.brevitas and finn.custom_op.general. Values stay floats: an
// input states the bits. Weights and traffic therefore count as the file stores them.
#include "ops/nn_work.h"

namespace pagoda::inline core::ops {
namespace {

// Rounds x / scale + zero point, divides it by a power of two, rounds again and scales back. Version 2, with a scale of
// the result, also clamps.
OpCost cost_trunc(const OpContext& op) {
  const int clamps = op.has_input(5) ? 2 : 0;
  return op.streamed() + Work{.arith = 7 + clamps, .comparisons = 2 + clamps} * op.elements(0);
}

// scale · the number of thresholds that x reaches + bias; thresholds [C or 1, T].
OpCost cost_thresholds(const OpContext& op) {
  const Dim& thresholds = dim_of(op, 1, -1);
  const int scaled = (op.attribute("out_scale", 1.0) != 1.0 ? 1 : 0) + (op.attribute("out_bias", 0.0) != 0.0 ? 1 : 0);
  return op.streamed() +
         Work{.arith = (2 * thresholds - 1 + scaled) * op.elements(0), .comparisons = thresholds * op.elements(0)};
}

void infer_thresholds(OpContext& op) {
  expect_rank(op, 1, 2);
  infer_same(op);
}

constexpr OpFacts kRounded = kQuantize.with(Gradient::Constant);
constexpr OpFacts kRoundedByScale = kRounded.reads({{}, WeightUse::QuantScale, WeightUse::ZeroPoint});

// BipolarQuant is scale where x ≥ 0, else −scale. FloatQuant has the unit of the last place
// u = 2^max(floor(log2(|x / scale| + ε)) − mantissa, least), then clamp(round(x / scale / u)·u)·scale. IntQuant and
// Quant are (clamp(round(x / scale + zero point)) − zero point)·scale: as QuantizeLinear and DequantizeLinear.
// clang-format off
constexpr OpRule kQonnxRules[] = {
    // op              infer             cost                 fold     cost in words
    {"BipolarQuant",   infer_same,       cost_each<2, 0, 1>,  nullptr, "compare, mul per element", kRounded},
    {"FloatQuant",     infer_same,       cost_each<12, 2, 5>, nullptr, "2 div, abs, add, sub, 2 roundings, max, 2 mul, 2 clamps, log2, 2 to a power per element", kRounded},
    {"IntQuant",       infer_same,       cost_each<7, 0, 3>,  nullptr, "div, add, round, 2 clamps, sub, mul per element", kRoundedByScale},
    {"MultiThreshold", infer_thresholds, cost_thresholds,     nullptr, "compares with each threshold and adds up; scale and bias per element", kSteps},
    {"Quant",          infer_same,       cost_each<7, 0, 3>,  nullptr, "div, add, round, 2 clamps, sub, mul per element", kRoundedByScale},
    {"Trunc",          infer_same,       cost_trunc,          nullptr, "2 div, add, 2 roundings, sub, mul per element; 2 clamps in version 2", kRoundedByScale},
};
// clang-format on
static_assert(well_formed(kQonnxRules));

}  // namespace

std::span<const OpRule> qonnx_rules() { return kQonnxRules; }

}  // namespace pagoda::inline core::ops
