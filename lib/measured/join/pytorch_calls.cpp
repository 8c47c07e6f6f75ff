#include "join/pytorch_calls.h"

#include <algorithm>
#include <iterator>

namespace pagoda::measured {
namespace {

// Scaled before the products, as PyTorch's exporters write it, or between them, as models do.
constexpr std::string_view kAttention = "Transpose? Sqrt? Mul? Sqrt? Mul? MatMul Mul? Div? Where? Add? Softmax MatMul";

// clang-format off
constexpr PytorchCall kCalls[] = {
    {"aten::_convolution",                                {"Conv", "ConvTranspose"}},
    {"aten::_log_softmax",                                {"LogSoftmax"}},
    {"aten::_scaled_dot_product_attention_math",          {"Attention", kAttention}},
    {"aten::_scaled_dot_product_cudnn_attention",         {"Attention", kAttention}},
    {"aten::_scaled_dot_product_efficient_attention",     {"Attention", kAttention}},
    {"aten::_scaled_dot_product_flash_attention",         {"Attention", kAttention}},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", {"Attention", kAttention}},
    {"aten::_softmax",                                    {"Softmax"}},
    {"aten::_unsafe_view",                                {"Reshape"}},
    {"aten::adaptive_avg_pool2d",                         {"GlobalAveragePool", "AveragePool", "ReduceMean"}},
    {"aten::add",                                         {"Add"}},
    {"aten::addmm",                                       {"Gemm", "MatMul Add", "MatMul"}},
    {"aten::avg_pool2d",                                  {"AveragePool"}},
    {"aten::baddbmm",                                     {"MatMul", "Gemm"}},
    {"aten::batch_norm",                                  {"BatchNormalization"}},
    {"aten::bmm",                                         {"MatMul"}},
    {"aten::cat",                                         {"Concat"}},
    {"aten::chunk",                                       {"Split", "Slice+"}},
    {"aten::clamp",                                       {"Clip"}},
    {"aten::conv1d",                                      {"Conv"}},
    {"aten::conv2d",                                      {"Conv"}},
    {"aten::conv3d",                                      {"Conv"}},
    {"aten::conv_transpose2d",                            {"ConvTranspose"}},
    {"aten::convolution",                                 {"Conv", "ConvTranspose"}},
    {"aten::cos",                                         {"Cos"}},
    {"aten::cumsum",                                      {"CumSum"}},
    {"aten::div",                                         {"Div"}},
    {"aten::einsum",                                      {"Einsum"}},
    {"aten::elu",                                         {"Elu"}},
    {"aten::embedding",                                   {"Gather"}},
    {"aten::exp",                                         {"Exp"}},
    {"aten::expand",                                      {"Expand"}},
    {"aten::flatten",                                     {"Flatten", "Reshape"}},
    {"aten::gelu",                                        {"Gelu", "Div Erf Add Mul Mul"}},
    {"aten::group_norm",                                  {"GroupNormalization", "Reshape InstanceNormalization Reshape Mul Add"}},
    {"aten::gru",                                         {"GRU"}},
    {"aten::hardsigmoid",                                 {"HardSigmoid"}},
    {"aten::hardswish",                                   {"HardSwish", "HardSigmoid Mul"}},
    {"aten::hardtanh",                                    {"Clip"}},
    {"aten::instance_norm",                               {"InstanceNormalization"}},
    {"aten::layer_norm",                                  {"LayerNormalization"}},
    {"aten::leaky_relu",                                  {"LeakyRelu"}},
    {"aten::linear",                                      {"Gemm", "MatMul Add", "MatMul"}},
    {"aten::log",                                         {"Log"}},
    {"aten::log_softmax",                                 {"LogSoftmax"}},
    {"aten::lstm",                                        {"LSTM"}},
    {"aten::masked_fill",                                 {"Where"}},
    {"aten::matmul",                                      {"MatMul"}},
    {"aten::max_pool2d",                                  {"MaxPool"}},
    {"aten::mean",                                        {"ReduceMean"}},
    {"aten::mm",                                          {"MatMul", "Gemm"}},
    {"aten::mul",                                         {"Mul"}},
    {"aten::neg",                                         {"Neg"}},
    {"aten::pad",                                         {"Pad"}},
    {"aten::permute",                                     {"Transpose"}},
    {"aten::pow",                                         {"Pow"}},
    {"aten::prelu",                                       {"PRelu"}},
    {"aten::reciprocal",                                  {"Reciprocal"}},
    {"aten::relu",                                        {"Relu"}},
    {"aten::relu6",                                       {"Clip"}},
    {"aten::reshape",                                     {"Reshape"}},
    {"aten::rms_norm",                                    {"RMSNormalization", "Pow ReduceMean Add Sqrt Reciprocal Mul Mul"}},
    {"aten::rsqrt",                                       {"Sqrt Reciprocal", "Sqrt Div"}},
    {"aten::scaled_dot_product_attention",                {"Attention", kAttention}},
    {"aten::select",                                      {"Gather"}},
    {"aten::sigmoid",                                     {"Sigmoid"}},
    {"aten::silu",                                        {"Sigmoid Mul", "Swish"}},
    {"aten::sin",                                         {"Sin"}},
    {"aten::slice",                                       {"Slice"}},
    {"aten::softmax",                                     {"Softmax"}},
    {"aten::softplus",                                    {"Softplus"}},
    {"aten::split",                                       {"Split", "Slice+"}},
    {"aten::sqrt",                                        {"Sqrt"}},
    {"aten::squeeze",                                     {"Squeeze", "Reshape"}},
    {"aten::stack",                                       {"Concat"}},
    {"aten::sub",                                         {"Sub"}},
    {"aten::sum",                                         {"ReduceSum"}},
    {"aten::t",                                           {"Transpose"}},
    {"aten::tanh",                                        {"Tanh"}},
    {"aten::transpose",                                   {"Transpose"}},
    {"aten::unbind",                                      {"Split", "Slice+", "Gather+"}},
    {"aten::unsqueeze",                                   {"Unsqueeze", "Reshape"}},
    {"aten::upsample_bilinear2d",                         {"Resize"}},
    {"aten::upsample_nearest2d",                          {"Resize"}},
    {"aten::view",                                        {"Reshape"}},
    {"aten::where",                                       {"Where"}},
};
// clang-format on
static_assert(std::ranges::is_sorted(kCalls, {}, &PytorchCall::aten));

const PytorchCall* exact_call(std::string_view op) {
  const auto* call = std::ranges::lower_bound(kCalls, op, {}, &PytorchCall::aten);
  return call != std::end(kCalls) && call->aten == op ? call : nullptr;
}

}  // namespace

std::span<const PytorchCall> pytorch_calls() { return kCalls; }

const PytorchCall* pytorch_call(std::string_view op) {
  const PytorchCall* call = exact_call(op);
  return call == nullptr && op.ends_with('_') ? exact_call(op.substr(0, op.size() - 1)) : call;
}

bool may_be(std::string_view op, std::string_view op_type) {
  if (op == op_type) return true;
  const PytorchCall* call = pytorch_call(op);
  return call != nullptr && !op_type.empty() && std::ranges::find(call->onnx, op_type) != call->onnx.end();
}

std::vector<std::size_t> places_of(std::string_view sequence, std::span<const TypedNode> nodes, std::size_t first) {
  std::vector<std::size_t> places;
  std::size_t now = first;
  const auto find = [&](std::string_view type) {  // views are passed over, but not before the first operator
    std::size_t at = now;
    while (!places.empty() && at < nodes.size() && nodes[at].is_view && nodes[at].type != type) ++at;
    if (at >= nodes.size() || nodes[at].type != type) return false;
    places.push_back(at);
    now = at + 1;
    return true;
  };
  while (!sequence.empty()) {
    const std::size_t end = std::min(sequence.find(' '), sequence.size());
    std::string_view type = sequence.substr(0, end);
    sequence.remove_prefix(std::min(end + 1, sequence.size()));
    const char mark = type.back();
    if (mark == '?' || mark == '+') type.remove_suffix(1);
    if (!find(type) && mark != '?') return {};
    while (mark == '+' && find(type)) {
    }
  }
  return places;
}

}  // namespace pagoda::measured
