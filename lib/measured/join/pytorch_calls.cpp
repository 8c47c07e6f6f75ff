#include "join/pytorch_calls.h"

#include <algorithm>
#include <iterator>

namespace pagoda::measured {
namespace {

// clang-format off
constexpr PytorchCall kCalls[] = {
    {"aten::_softmax",             {"Softmax"}},
    {"aten::adaptive_avg_pool2d",  {"GlobalAveragePool", "AveragePool"}},
    {"aten::add",                  {"Add"}},
    {"aten::add_",                 {"Add"}},
    {"aten::addmm",                {"Gemm"}},
    {"aten::avg_pool2d",           {"AveragePool"}},
    {"aten::baddbmm",              {"MatMul", "Gemm"}},
    {"aten::batch_norm",           {"BatchNormalization"}},
    {"aten::bmm",                  {"MatMul"}},
    {"aten::cat",                  {"Concat"}},
    {"aten::conv1d",               {"Conv"}},
    {"aten::conv2d",               {"Conv"}},
    {"aten::conv3d",               {"Conv"}},
    {"aten::conv_transpose2d",     {"ConvTranspose"}},
    {"aten::div",                  {"Div"}},
    {"aten::embedding",            {"Gather"}},
    {"aten::exp",                  {"Exp"}},
    {"aten::flatten",              {"Flatten", "Reshape"}},
    {"aten::gelu",                 {"Gelu"}},
    {"aten::gru",                  {"GRU"}},
    {"aten::hardsigmoid",          {"HardSigmoid"}},
    {"aten::hardswish",            {"HardSwish"}},
    {"aten::hardswish_",           {"HardSwish"}},
    {"aten::layer_norm",           {"LayerNormalization"}},
    {"aten::leaky_relu",           {"LeakyRelu"}},
    {"aten::linear",               {"Gemm", "MatMul"}},
    {"aten::lstm",                 {"LSTM"}},
    {"aten::matmul",               {"MatMul"}},
    {"aten::max_pool2d",           {"MaxPool"}},
    {"aten::mean",                 {"ReduceMean"}},
    {"aten::mm",                   {"MatMul", "Gemm"}},
    {"aten::mul",                  {"Mul"}},
    {"aten::pow",                  {"Pow"}},
    {"aten::relu",                 {"Relu"}},
    {"aten::relu_",                {"Relu"}},
    {"aten::reshape",              {"Reshape"}},
    {"aten::sigmoid",              {"Sigmoid"}},
    {"aten::softmax",              {"Softmax"}},
    {"aten::sqrt",                 {"Sqrt"}},
    {"aten::sub",                  {"Sub"}},
    {"aten::tanh",                 {"Tanh"}},
    {"aten::transpose",            {"Transpose"}},
    {"aten::upsample_nearest2d",   {"Resize"}},
    {"aten::where",                {"Where"}},
};
// clang-format on
static_assert(std::ranges::is_sorted(kCalls, {}, &PytorchCall::aten));

}  // namespace

std::span<const PytorchCall> pytorch_calls() { return kCalls; }

bool may_be(std::string_view op, std::string_view op_type) {
  if (op == op_type) return true;
  const auto* call = std::ranges::lower_bound(kCalls, op, {}, &PytorchCall::aten);
  return call != std::end(kCalls) && call->aten == op && !op_type.empty() &&
         std::ranges::find(call->onnx, op_type) != call->onnx.end();
}

}  // namespace pagoda::measured
