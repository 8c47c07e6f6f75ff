// Classes of ONNX Runtime's kernels, and kernels built from their sizes.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "pagoda/base/enum_names.h"
#include "predict/ort_graph.h"

namespace pagoda::inline core {
namespace {

// clang-format off
constexpr base::EnumNames<OrtKernelClass::Small> kOrtNames(
    "conv", "conv_pointwise", "conv_stem", "conv_columns", "conv_depthwise", "conv_depthwise_columns", "conv_quantized",
    "conv_quantized_depthwise", "product", "product_biased", "product_vector", "product_batched", "product_quantized",
    "product_unsigned", "product_bits", "attention", "recurrent", "pointwise", "pointwise_broadcast", "activation",
    "logistic", "norm", "skip_norm", "softmax", "softmax_outer", "reduce", "pool", "transpose", "transpose_inner",
    "transpose_scattered", "copy", "gather", "resize", "resize_cubic", "quantize", "integer", "integer_pool",
    "reorder", "other", "small");

struct OperatorClass {
  std::string_view op;
  OrtKernelClass kind;
};
// Operators of ai.onnx and com.microsoft, and those that ONNX Runtime 1.31 turns them into (by name in its profile);
// sorted.
constexpr OperatorClass kOperators[] = {
    {"Attention", OrtKernelClass::Attention}, {"AveragePool", OrtKernelClass::Pool},
    {"BatchNormalization", OrtKernelClass::PointwiseBroadcast}, {"BiasGelu", OrtKernelClass::Activation},
    {"Cast", OrtKernelClass::Copy}, {"Clip", OrtKernelClass::Pointwise}, {"Concat", OrtKernelClass::Copy},
    {"Cos", OrtKernelClass::Activation}, {"CumSum", OrtKernelClass::Other},
    {"DepthToSpace", OrtKernelClass::TransposeInner}, {"DequantizeLinear", OrtKernelClass::Quantize},
    {"DynamicQuantizeLinear", OrtKernelClass::Quantize}, {"DynamicQuantizeMatMul", OrtKernelClass::ProductQuantized},
    {"Elu", OrtKernelClass::Activation}, {"EmbedLayerNormalization", OrtKernelClass::Gather},
    {"Erf", OrtKernelClass::Activation}, {"Exp", OrtKernelClass::Activation}, {"Expand", OrtKernelClass::Copy},
    {"FastGelu", OrtKernelClass::Logistic}, {"FusedGemm", OrtKernelClass::ProductBiased},
    {"FusedMatMul", OrtKernelClass::Product}, {"GRU", OrtKernelClass::Recurrent}, {"Gather", OrtKernelClass::Gather},
    {"GatherElements", OrtKernelClass::Gather}, {"GatherND", OrtKernelClass::Gather},
    {"Gelu", OrtKernelClass::Activation}, {"Gemm", OrtKernelClass::ProductBiased},
    {"GlobalAveragePool", OrtKernelClass::Reduce}, {"GlobalMaxPool", OrtKernelClass::Reduce},
    {"GroupQueryAttention", OrtKernelClass::Attention}, {"HardSigmoid", OrtKernelClass::Pointwise},
    {"HardSwish", OrtKernelClass::Pointwise}, {"InstanceNormalization", OrtKernelClass::Norm},
    {"LSTM", OrtKernelClass::Recurrent}, {"LayerNormalization", OrtKernelClass::Norm},
    {"LeakyRelu", OrtKernelClass::Pointwise}, {"Log", OrtKernelClass::Activation},
    {"LogSoftmax", OrtKernelClass::Softmax}, {"LpNormalization", OrtKernelClass::Norm},
    {"MatMul", OrtKernelClass::Product}, {"MatMulInteger", OrtKernelClass::ProductQuantized},
    {"MatMulNBits", OrtKernelClass::ProductBits}, {"MaxPool", OrtKernelClass::Pool},
    {"Mish", OrtKernelClass::Activation}, {"MultiHeadAttention", OrtKernelClass::Attention},
    {"NhwcMaxPool", OrtKernelClass::Pool}, {"Pad", OrtKernelClass::Copy}, {"Pow", OrtKernelClass::Activation},
    {"QAttention", OrtKernelClass::ProductQuantized}, {"QGemm", OrtKernelClass::ProductQuantized},
    {"QLinearAdd", OrtKernelClass::Integer}, {"QLinearAveragePool", OrtKernelClass::IntegerPool},
    {"QLinearConcat", OrtKernelClass::Integer}, {"QLinearConv", OrtKernelClass::ConvQuantized},
    {"QLinearGlobalAveragePool", OrtKernelClass::Integer}, {"QLinearLeakyRelu", OrtKernelClass::Integer},
    {"QLinearMatMul", OrtKernelClass::ProductQuantized}, {"QLinearMul", OrtKernelClass::Integer},
    {"QLinearSigmoid", OrtKernelClass::Integer}, {"QLinearSoftmax", OrtKernelClass::Integer},
    {"QuantizeLinear", OrtKernelClass::Quantize},
    {"QuickGelu", OrtKernelClass::Logistic}, {"RNN", OrtKernelClass::Recurrent},
    {"ReduceMax", OrtKernelClass::Reduce}, {"ReduceMean", OrtKernelClass::Reduce},
    {"ReduceSum", OrtKernelClass::Reduce}, {"Relu", OrtKernelClass::Pointwise},
    {"ReorderInput", OrtKernelClass::Reorder}, {"ReorderOutput", OrtKernelClass::Reorder},
    {"Resize", OrtKernelClass::Resize}, {"RotaryEmbedding", OrtKernelClass::Copy},
    {"Sigmoid", OrtKernelClass::Logistic}, {"SimplifiedLayerNormalization", OrtKernelClass::Norm},
    {"Sin", OrtKernelClass::Activation}, {"SkipLayerNormalization", OrtKernelClass::SkipNorm},
    {"SkipSimplifiedLayerNormalization", OrtKernelClass::SkipNorm}, {"Slice", OrtKernelClass::Copy},
    {"Softmax", OrtKernelClass::Softmax}, {"Softplus", OrtKernelClass::Activation},
    {"SpaceToDepth", OrtKernelClass::TransposeInner}, {"Split", OrtKernelClass::Copy},
    {"Tanh", OrtKernelClass::Logistic}, {"Tile", OrtKernelClass::Copy}, {"Upsample", OrtKernelClass::Resize},
};
// Of all other operators, by their facts.
constexpr std::pair<OpKind, OrtKernelClass> kByFacts[] = {
    {OpKind::Product, OrtKernelClass::Product}, {OpKind::Pointwise, OrtKernelClass::Pointwise},
    {OpKind::Reduction, OrtKernelClass::Reduce}, {OpKind::Norm, OrtKernelClass::Norm},
    {OpKind::Quantize, OrtKernelClass::Quantize}, {OpKind::Dequantize, OrtKernelClass::Quantize},
    {OpKind::Transpose, OrtKernelClass::TransposeInner}, {OpKind::View, OrtKernelClass::Small},
    {OpKind::Expand, OrtKernelClass::Copy}, {OpKind::Layout, OrtKernelClass::Copy},
    {OpKind::Gather, OrtKernelClass::Gather}, {OpKind::Attention, OrtKernelClass::Attention},
    {OpKind::Pool, OrtKernelClass::Pool}, {OpKind::Recurrent, OrtKernelClass::Recurrent},
};
// clang-format on
static_assert(std::ranges::is_sorted(kOperators, {}, &OperatorClass::op));

constexpr double kFloat = 4;  // bytes

double product_of(const Sizes& sizes, std::size_t from = 0) { return element_count(std::span(sizes).subspan(from)); }

double rounded_up(std::int64_t value, std::int64_t block) {
  return static_cast<double>(block > 0 ? (value + block - 1) / block * block : value);
}

}  // namespace

std::string_view to_string(OrtKernelClass kind) { return kOrtNames[kind]; }

bool is_product(OrtKernelClass kind) { return kind <= OrtKernelClass::Recurrent; }
bool is_bound_by_work(OrtKernelClass kind) { return is_product(kind) && kind != OrtKernelClass::ProductVector; }
bool is_quantized(OrtKernelClass kind) {
  return kind == OrtKernelClass::ConvQuantized || kind == OrtKernelClass::ConvQuantizedDepthwise ||
         kind == OrtKernelClass::ProductQuantized || kind == OrtKernelClass::ProductUnsigned;
}

OrtKernelClass ort_class_of(std::string_view op_type, const OpFacts& facts, bool is_broadcast) {
  const auto* found = std::ranges::lower_bound(kOperators, op_type, {}, &OperatorClass::op);
  if (found != std::end(kOperators) && found->op == op_type) return found->kind;
  if (facts.kind == OpKind::Pointwise && is_broadcast) return OrtKernelClass::PointwiseBroadcast;
  for (const auto& [kind, of_kind] : kByFacts)
    if (kind == facts.kind) return of_kind;
  return OrtKernelClass::Other;
}

OrtKernel transpose_kernel(const Sizes& sizes, const Sizes& perm, double element_bytes) {
  // Axes longer than 1, with neighbours that stay together merged into one.
  Sizes axes, lengths;
  for (const std::int64_t axis : perm) {
    const std::int64_t length = sizes[static_cast<std::size_t>(axis)];
    if (length == 1) continue;
    bool follows = !axes.empty() && axes.back() < axis;
    for (std::int64_t between = follows ? axes.back() + 1 : axis; between < axis; ++between)
      follows = follows && sizes[static_cast<std::size_t>(between)] == 1;
    if (!follows) axes.push_back(axis), lengths.push_back(1);
    axes.back() = axis;
    lengths.back() *= length;
  }
  if (axes.size() <= 1) return {};  // the bytes stay where they are
  const double bytes = 2 * element_bytes * product_of(lengths);
  const std::int64_t innermost = *std::max_element(axes.begin(), axes.end());
  if (axes.back() == innermost)
    return moving_kernel(OrtKernelClass::Transpose, bytes, 0, static_cast<double>(lengths.back()));
  // After merging, two blocks that swap are the last two.
  const bool swaps = std::is_sorted(axes.begin(), axes.end() - 1) && axes[axes.size() - 2] == innermost &&
                     (axes.size() == 2 || axes.back() > axes[axes.size() - 3]);
  return moving_kernel(swaps ? OrtKernelClass::TransposeInner : OrtKernelClass::TransposeScattered, bytes, 0,
                       static_cast<double>(std::min(lengths.back(), lengths[lengths.size() - 2])));
}

std::optional<OrtKernel> transpose_kernel_between(const Sizes& from, const Sizes& to, double element_bytes) {
  constexpr std::size_t kMostAxes = 7;  // 5,040 orders
  if (from.size() != to.size() || from == to || from.size() > kMostAxes) return std::nullopt;
  Sizes perm(from.size());
  std::iota(perm.begin(), perm.end(), std::int64_t{0});
  std::optional<OrtKernel> found;
  do {
    const auto fits = [&](std::int64_t axis, std::int64_t size) {
      return from[static_cast<std::size_t>(axis)] == size;
    };
    if (!std::equal(perm.begin(), perm.end(), to.begin(), fits)) continue;
    const OrtKernel kernel = transpose_kernel(from, perm, element_bytes);
    if (kernel.kind == OrtKernelClass::Small) continue;
    if (found && (found->kind != kernel.kind || found->width != kernel.width)) return std::nullopt;
    found = kernel;
  } while (std::next_permutation(perm.begin(), perm.end()));
  return found;
}

OrtKernel conv_kernel(const Sizes& x, const Sizes& w, const Sizes& y, std::int64_t block, ConvForm form) {
  const bool is_float = form != ConvForm::Integers;
  const auto depthwise =
      form == ConvForm::Plain && block > 0 ? OrtKernelClass::ConvDepthwiseColumns : OrtKernelClass::ConvDepthwise;
  if (form != ConvForm::Blocks) block = 0;
  const std::int64_t groups = w[1] > 0 ? std::max<std::int64_t>(x[1] / w[1], 1) : 1;
  const bool is_depthwise = w[1] == 1 && groups > 1;
  const bool is_stem = block > 0 && groups == 1 && x[1] < block;
  const double window = product_of(w, 2), places = static_cast<double>(y[0]) * product_of(y, 2);
  const double channels = is_stem || is_depthwise ? static_cast<double>(w[1]) : rounded_up(w[1], block);
  const double outputs = rounded_up(w[0], block);
  OrtKernel kernel;
  kernel.kind = !is_float      ? (is_depthwise ? OrtKernelClass::ConvQuantizedDepthwise : OrtKernelClass::ConvQuantized)
                : is_depthwise ? depthwise
                : block == 0   ? OrtKernelClass::ConvColumns
                : is_stem      ? OrtKernelClass::ConvStem
                : window == 1  ? OrtKernelClass::ConvPointwise
                               : OrtKernelClass::Conv;
  const double bytes = is_float ? kFloat : 1;
  kernel.flops = 2 * places * outputs * channels * window;
  kernel.bytes = bytes * (product_of(x) + places * outputs);
  kernel.weight_bytes = bytes * outputs * channels * window;
  kernel.rows = places;
  kernel.width = is_depthwise ? outputs : outputs / static_cast<double>(groups);
  kernel.depth = channels * window;
  // snchwc.cpp: a kernel works on one line of the output, except that 1×1 at stride 1 takes the image as one line.
  const bool is_strided = y.back() < x.back();
  if (block > 0 && (window > 1 || is_strided)) kernel.line = static_cast<double>(y.back());
  return kernel;
}

OrtKernel product_kernel(OrtKernelClass kind, double matrices, double rows, double depth, double width,
                         double element_bytes, bool has_weight) {
  if ((kind == OrtKernelClass::Product || kind == OrtKernelClass::ProductBiased) && rows == 1)
    kind = OrtKernelClass::ProductVector;
  OrtKernel kernel{.kind = kind, .rows = rows, .width = width, .depth = depth};
  kernel.flops = 2 * matrices * rows * depth * width;
  kernel.bytes = kFloat * matrices * (rows * depth + rows * width);
  (has_weight ? kernel.weight_bytes : kernel.bytes) += element_bytes * matrices * depth * width;
  // Threads divide matrices among them just as they divide rows.
  kernel.rows *= matrices;
  kernel.matrices = matrices;
  return kernel;
}

OrtKernel moving_kernel(OrtKernelClass kind, double bytes, double weight_bytes, double width) {
  return {.kind = kind, .bytes = bytes, .weight_bytes = weight_bytes, .width = width};
}

namespace {

bool is_broadcast(const Tensors& tensors, const Node& node) {
  const double full = tensors.elements(node.output(0));
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    const double count = tensors.elements(input);
    return count > 1 && count < full;
  });
}

// The matrix of 8-bit numbers on the right of a product, a stored one if there is one; kAbsent: none.
ValueId integer_matrix(const Tensors& tensors, const Node& node) {
  ValueId matrix = kAbsent;
  for (const ValueId input : node.inputs) {
    const Shape* known = tensors.shape(input);
    if (known == nullptr || known->size() < 2 || bits(tensors.type(input)) != 8) continue;
    if (matrix == kAbsent || !tensors.graph().is_stored(matrix)) matrix = input;
  }
  return matrix;
}

}  // namespace

OrtKernelClass ort_class_of_integers(const Links& links, ValueId matrix) {
  if (links.is_written_by(matrix, "DequantizeLinear")) matrix = links.writing(matrix)->input(0);
  return links.type(matrix) == ElementType::Uint8 ? OrtKernelClass::ProductUnsigned : OrtKernelClass::ProductQuantized;
}

OrtKernelClass ort_class(const Links& links, const Node* node, const NodeReport& row) {
  if (node == nullptr) return ort_class_of("", row.facts, false);
  if (node->op_type == "Resize" && node->text("mode") == "cubic") return OrtKernelClass::ResizeCubic;
  const Shape* known = links.shape(node->input(0));
  if (node->op_type == "Softmax" && known != nullptr && !known->empty()) {
    const std::int64_t axis = node->integer("axis", -1);
    if (axis != -1 && axis + 1 != static_cast<std::int64_t>(known->size())) return OrtKernelClass::SoftmaxOuter;
  }
  const OrtKernelClass kind = ort_class_of(node->op_type, row.facts, is_broadcast(links, *node));
  if (kind != OrtKernelClass::ProductQuantized) return kind;
  const ValueId matrix = integer_matrix(links, *node);
  return matrix == kAbsent ? kind : ort_class_of_integers(links, matrix);
}

double ort_row_width(const Tensors& tensors, OrtKernelClass kind, const Node& node) {
  const bool has_rows =
      kind == OrtKernelClass::Norm || kind == OrtKernelClass::SkipNorm || kind == OrtKernelClass::Softmax;
  return has_rows ? tensors.row_width(node.output(0)) : 0;
}

double cubic_resize_bytes(const Tensors& tensors, const Node& node) {
  constexpr double kTaps = 4;
  const Shape *from = tensors.shape(node.input(0)), *to = tensors.shape(node.output(0));
  if (from == nullptr || to == nullptr || from->size() < 2 || to->size() < 2) return 0;
  const double outputs = tensors.elements(node.output(0)), lines = number((*to)[to->size() - 2]);
  const double read = lines > 0 ? std::min(kTaps, number((*from)[from->size() - 2]) / lines) : 0;
  return kTaps * kFloat * outputs * (1 + read);
}

}  // namespace pagoda::inline core
