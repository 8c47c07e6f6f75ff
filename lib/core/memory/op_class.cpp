#include "memory/op_class.h"

#include <algorithm>
#include <utility>

namespace pagoda::inline core {
namespace {

constexpr std::string_view kMs = "com.microsoft";
using enum OpKind;

// clang-format off
constexpr OpClass kClasses[] = {
    // op                             domain  kind         epilogue
    {"Abs",                           "",     Pointwise},
    {"Add",                           "",     Pointwise,   Epilogue::Add},
    {"And",                           "",     Pointwise},
    {"BatchNormalization",            "",     Pointwise,   Epilogue::BatchNorm},
    {"BiasAdd",                       kMs,    Pointwise,   Epilogue::Add},
    {"BiasGelu",                      kMs,    Pointwise},
    {"BitwiseAnd",                    "",     Pointwise},
    {"BitwiseNot",                    "",     Pointwise},
    {"BitwiseOr",                     "",     Pointwise},
    {"BitwiseXor",                    "",     Pointwise},
    {"Cast",                          "",     Pointwise},
    {"CastLike",                      "",     Pointwise},
    {"Ceil",                          "",     Pointwise},
    {"Celu",                          "",     Pointwise},
    {"Clip",                          "",     Pointwise},
    {"Conv",                          "",     Contraction},
    {"Conv",                          "com.microsoft.nchwc", Contraction},
    {"ConvInteger",                   "",     Contraction},
    {"ConvTranspose",                 "",     Contraction},
    {"Cos",                           "",     Pointwise},
    {"DequantizeLinear",              "",     Dequantize},
    {"DequantizeLinear",              kMs,    Dequantize},
    {"Div",                           "",     Pointwise,   Epilogue::Multiply},
    {"Dropout",                       "",     Pointwise},
    {"DynamicQuantizeMatMul",         kMs,    Contraction},
    {"Einsum",                        "",     Contraction},
    {"Elu",                           "",     Pointwise},
    {"Equal",                         "",     Pointwise},
    {"Erf",                           "",     Pointwise},
    {"Exp",                           "",     Pointwise},
    {"Expand",                        "",     Expand},
    {"FastGelu",                      kMs,    Pointwise},
    {"Floor",                         "",     Pointwise},
    {"FusedConv",                     kMs,    Contraction},
    {"FusedGemm",                     kMs,    Contraction},
    {"FusedMatMul",                   kMs,    Contraction},
    {"Gelu",                          "",     Pointwise},
    {"Gelu",                          kMs,    Pointwise},
    {"Gemm",                          "",     Contraction},
    {"Greater",                       "",     Pointwise},
    {"GreaterOrEqual",                "",     Pointwise},
    {"GroupNormalization",            "",     RowNorm},
    {"HardSigmoid",                   "",     Pointwise},
    {"HardSwish",                     "",     Pointwise},
    {"InstanceNormalization",         "",     RowNorm},
    {"IsInf",                         "",     Pointwise},
    {"IsNaN",                         "",     Pointwise},
    {"LayerNormalization",            "",     RowNorm},
    {"LeakyRelu",                     "",     Pointwise},
    {"Less",                          "",     Pointwise},
    {"LessOrEqual",                   "",     Pointwise},
    {"Log",                           "",     Pointwise},
    {"LogSoftmax",                    "",     RowNorm},
    {"MatMul",                        "",     Contraction},
    {"MatMulInteger",                 "",     Contraction},
    {"MatMulIntegerToFloat",          kMs,    Contraction},
    {"MatMulNBits",                   kMs,    Contraction},
    {"Max",                           "",     Pointwise},
    {"Mean",                          "",     Pointwise},
    {"Min",                           "",     Pointwise},
    {"Mish",                          "",     Pointwise},
    {"Mod",                           "",     Pointwise},
    {"Mul",                           "",     Pointwise,   Epilogue::Multiply},
    {"Neg",                           "",     Pointwise},
    {"NhwcConv",                      kMs,    Contraction},
    {"Not",                           "",     Pointwise},
    {"Or",                            "",     Pointwise},
    {"PRelu",                         "",     Pointwise},
    {"Pow",                           "",     Pointwise},
    {"QGemm",                         kMs,    Contraction},
    {"QLinearAdd",                    kMs,    Pointwise,   Epilogue::Add},
    {"QLinearConv",                   "",     Contraction},
    {"QLinearConv",                   kMs,    Contraction},
    {"QLinearLeakyRelu",              kMs,    Pointwise},
    {"QLinearMatMul",                 "",     Contraction},
    {"QLinearMul",                    kMs,    Pointwise,   Epilogue::Multiply},
    {"QLinearSigmoid",                kMs,    Pointwise},
    {"QuantizeLinear",                "",     Quantize},
    {"QuantizeLinear",                kMs,    Quantize},
    {"QuickGelu",                     kMs,    Pointwise},
    {"RMSNormalization",              "",     RowNorm},
    {"Reciprocal",                    "",     Pointwise},
    {"ReduceL1",                      "",     Reduction},
    {"ReduceL2",                      "",     Reduction},
    {"ReduceLogSum",                  "",     Reduction},
    {"ReduceLogSumExp",               "",     Reduction},
    {"ReduceMax",                     "",     Reduction},
    {"ReduceMean",                    "",     Reduction},
    {"ReduceMin",                     "",     Reduction},
    {"ReduceProd",                    "",     Reduction},
    {"ReduceSum",                     "",     Reduction},
    {"ReduceSumSquare",               "",     Reduction},
    {"Relu",                          "",     Pointwise},
    {"Round",                         "",     Pointwise},
    {"Selu",                          "",     Pointwise},
    {"Shrink",                        "",     Pointwise},
    {"Sigmoid",                       "",     Pointwise},
    {"Sign",                          "",     Pointwise},
    {"SimplifiedLayerNormalization",  "",     RowNorm},
    {"SimplifiedLayerNormalization",  kMs,    RowNorm},
    {"Sin",                           "",     Pointwise},
    {"SkipLayerNormalization",        kMs,    RowNorm},
    {"SkipSimplifiedLayerNormalization", kMs, RowNorm},
    {"Softmax",                       "",     RowNorm},
    {"Softplus",                      "",     Pointwise},
    {"Softsign",                      "",     Pointwise},
    {"Sqrt",                          "",     Pointwise},
    {"Sub",                           "",     Pointwise,   Epilogue::Add},
    {"Sum",                           "",     Pointwise,   Epilogue::Add},
    {"SwiGLU",                        "",     Pointwise},
    {"Swish",                         "",     Pointwise},
    {"Tanh",                          "",     Pointwise},
    {"ThresholdedRelu",               "",     Pointwise},
    {"Transpose",                     "",     Transpose},
    {"Where",                         "",     Pointwise},
    {"Xor",                           "",     Pointwise},
};
// clang-format on

constexpr bool before(const OpClass& a, const OpClass& b) {
  return a.name != b.name ? a.name < b.name : a.domain < b.domain;
}
static_assert(std::is_sorted(std::begin(kClasses), std::end(kClasses), before));

// Outputs beyond the first and, since opset 14, an attribute ask for training.
bool trains(const Node& node) {
  if (node.outputs.size() > 1) return true;
  const Attribute* mode = node.attribute("training_mode");
  const auto* on = mode == nullptr ? nullptr : std::get_if<std::int64_t>(&mode->value);
  return on != nullptr && *on != 0;
}

}  // namespace

const OpClass* op_class(const Node& node) {
  const OpClass key{
      .name = node.op_type, .domain = node.domain == "ai.onnx" ? "" : std::string_view(node.domain), .kind = Pointwise};
  const OpClass* found = std::lower_bound(std::begin(kClasses), std::end(kClasses), key, before);
  if (found == std::end(kClasses) || before(key, *found)) return nullptr;
  if (found->epilogue == Epilogue::BatchNorm && trains(node)) return nullptr;
  return found;
}

}  // namespace pagoda::inline core
