// Source: onnxruntime/core/optimizer/transpose_optimization, release 1.31.
#include "place/passages.h"

#include <algorithm>
#include <iterator>

namespace pagoda::inline core {
namespace {

struct Row {
  std::string_view op;
  Passage passage;
};

// clang-format off
constexpr Row kPassages[] = {
    {"Abs", Passage::First}, {"Acos", Passage::First}, {"Acosh", Passage::First}, {"Add", Passage::Broadcast},
    {"And", Passage::Broadcast}, {"ArgMax", Passage::ArgReduce}, {"ArgMin", Passage::ArgReduce},
    {"Asin", Passage::First}, {"Asinh", Passage::First}, {"Atan", Passage::First}, {"Atanh", Passage::First},
    {"BitShift", Passage::Broadcast}, {"Cast", Passage::First}, {"CastLike", Passage::First},
    {"Ceil", Passage::First}, {"Celu", Passage::First}, {"Clip", Passage::First}, {"Concat", Passage::Concat},
    {"Cos", Passage::First}, {"Cosh", Passage::First}, {"DequantizeLinear", Passage::Quantize},
    {"Div", Passage::Broadcast}, {"Elu", Passage::First}, {"Equal", Passage::Broadcast}, {"Erf", Passage::First}, {"Exp", Passage::First},
    {"Floor", Passage::First}, {"Gather", Passage::Gather}, {"Gelu", Passage::First}, {"Greater", Passage::Broadcast},
    {"GreaterOrEqual", Passage::Broadcast}, {"HardSigmoid", Passage::First}, {"HardSwish", Passage::First},
    {"Hardmax", Passage::Softmax}, {"Identity", Passage::First}, {"IsInf", Passage::First},
    {"IsNaN", Passage::First}, {"LeakyRelu", Passage::First}, {"Less", Passage::Broadcast},
    {"LessOrEqual", Passage::Broadcast}, {"Log", Passage::First}, {"LogSoftmax", Passage::Softmax},
    {"Max", Passage::Broadcast}, {"Mean", Passage::Broadcast}, {"Min", Passage::Broadcast},
    {"Mod", Passage::Broadcast}, {"Mul", Passage::Broadcast}, {"Neg", Passage::First}, {"Not", Passage::First},
    {"Or", Passage::Broadcast}, {"PRelu", Passage::Broadcast}, {"Pad", Passage::Pad}, {"Pow", Passage::Broadcast},
    {"QuantizeLinear", Passage::Quantize}, {"Reciprocal", Passage::First}, {"ReduceL1", Passage::Reduce},
    {"ReduceL2", Passage::Reduce}, {"ReduceLogSum", Passage::Reduce}, {"ReduceLogSumExp", Passage::Reduce},
    {"ReduceMax", Passage::Reduce}, {"ReduceMean", Passage::Reduce}, {"ReduceMin", Passage::Reduce},
    {"ReduceProd", Passage::Reduce}, {"ReduceSum", Passage::Reduce}, {"ReduceSumSquare", Passage::Reduce},
    {"Relu", Passage::First}, {"Reshape", Passage::Reshape}, {"Round", Passage::First}, {"Selu", Passage::First},
    {"Shape", Passage::ShapeOf}, {"Shrink", Passage::First}, {"Sigmoid", Passage::First}, {"Sign", Passage::First},
    {"Sin", Passage::First}, {"Sinh", Passage::First}, {"Slice", Passage::Slice}, {"Softmax", Passage::Softmax},
    {"Softplus", Passage::First}, {"Softsign", Passage::First}, {"Split", Passage::Split},
    {"Sqrt", Passage::First}, {"Squeeze", Passage::Squeeze}, {"Sub", Passage::Broadcast},
    {"Sum", Passage::Broadcast}, {"Tan", Passage::First}, {"Tanh", Passage::First},
    {"ThresholdedRelu", Passage::First}, {"Tile", Passage::Tile}, {"Transpose", Passage::Transpose},
    {"Unsqueeze", Passage::Unsqueeze}, {"Where", Passage::Broadcast}, {"Xor", Passage::Broadcast},
};
constexpr Row kContribPassages[] = {
    {"DequantizeLinear", Passage::Quantize}, {"QLinearAdd", Passage::QLinearBinary},
    {"QLinearConcat", Passage::QLinearConcat}, {"QLinearLeakyRelu", Passage::First},
    {"QLinearMul", Passage::QLinearBinary}, {"QLinearReduceMean", Passage::Reduce},
    {"QLinearSigmoid", Passage::First}, {"QLinearSoftmax", Passage::Softmax}, {"QuantizeLinear", Passage::Quantize},
};
// clang-format on
static_assert(std::ranges::is_sorted(kPassages, {}, &Row::op) &&
              std::ranges::is_sorted(kContribPassages, {}, &Row::op));

}  // namespace

Passage passage_of(const LoadedNode& node, Release release) {
  if ((node.op == "Elu" || node.op == "Gather") && release < kSince1_28) return Passage::None;
  const auto find = [&](const auto& rows) {
    const auto found = std::ranges::lower_bound(rows, node.op, {}, &Row::op);
    return found != std::end(rows) && found->op == node.op ? found->passage : Passage::None;
  };
  if (is_plain(node)) return find(kPassages);
  return node.domain == "com.microsoft" ? find(kContribPassages) : Passage::None;
}

bool moves_outputs(Passage passage) {
  return passage != Passage::None && passage != Passage::ShapeOf && passage != Passage::Transpose &&
         passage != Passage::Reshape;
}

}  // namespace pagoda::inline core
