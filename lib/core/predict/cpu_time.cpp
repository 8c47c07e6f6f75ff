// Classes of CPU kernels, kernels built from their sizes, and the time of a kernel.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "pagoda/core/cpu_engine.h"
#include "predict/cpu_apart.h"
#include "predict/strides.h"

namespace pagoda::inline core {
namespace {

// clang-format off
constexpr std::array<std::string_view, kCpuKernelClasses> kCpuNames = {
    "conv", "conv_pointwise", "conv_stem", "conv_columns", "conv_depthwise", "conv_depthwise_columns", "conv_quantized",
    "conv_quantized_depthwise", "product", "product_biased", "product_vector", "product_batched", "product_quantized",
    "product_unsigned", "product_bits", "attention", "recurrent", "pointwise", "pointwise_broadcast", "activation",
    "logistic", "norm", "skip_norm", "softmax", "softmax_outer", "reduce", "pool", "transpose", "transpose_inner",
    "transpose_scattered", "copy", "gather", "resize", "resize_cubic", "quantize", "integer", "integer_pool",
    "reorder", "other", "small"};

struct OperatorClass {
  std::string_view op;
  CpuKernelClass kind;
};
// Operators of ai.onnx and com.microsoft, and those that ONNX Runtime 1.31 turns them into (by name in its profile);
// sorted.
constexpr OperatorClass kOperators[] = {
    {"Attention", CpuKernelClass::Attention}, {"AveragePool", CpuKernelClass::Pool},
    {"BatchNormalization", CpuKernelClass::PointwiseBroadcast}, {"BiasGelu", CpuKernelClass::Activation},
    {"Cast", CpuKernelClass::Copy}, {"Clip", CpuKernelClass::Pointwise}, {"Concat", CpuKernelClass::Copy},
    {"Cos", CpuKernelClass::Activation}, {"CumSum", CpuKernelClass::Other},
    {"DepthToSpace", CpuKernelClass::TransposeInner}, {"DequantizeLinear", CpuKernelClass::Quantize},
    {"DynamicQuantizeLinear", CpuKernelClass::Quantize}, {"DynamicQuantizeMatMul", CpuKernelClass::ProductQuantized},
    {"Elu", CpuKernelClass::Activation}, {"EmbedLayerNormalization", CpuKernelClass::Gather},
    {"Erf", CpuKernelClass::Activation}, {"Exp", CpuKernelClass::Activation}, {"Expand", CpuKernelClass::Copy},
    {"FastGelu", CpuKernelClass::Logistic}, {"FusedGemm", CpuKernelClass::ProductBiased},
    {"FusedMatMul", CpuKernelClass::Product}, {"GRU", CpuKernelClass::Recurrent}, {"Gather", CpuKernelClass::Gather},
    {"GatherElements", CpuKernelClass::Gather}, {"GatherND", CpuKernelClass::Gather},
    {"Gelu", CpuKernelClass::Activation}, {"Gemm", CpuKernelClass::ProductBiased},
    {"GlobalAveragePool", CpuKernelClass::Reduce}, {"GlobalMaxPool", CpuKernelClass::Reduce},
    {"GroupQueryAttention", CpuKernelClass::Attention}, {"HardSigmoid", CpuKernelClass::Pointwise},
    {"HardSwish", CpuKernelClass::Pointwise}, {"InstanceNormalization", CpuKernelClass::Norm},
    {"LSTM", CpuKernelClass::Recurrent}, {"LayerNormalization", CpuKernelClass::Norm},
    {"LeakyRelu", CpuKernelClass::Pointwise}, {"Log", CpuKernelClass::Activation},
    {"LogSoftmax", CpuKernelClass::Softmax}, {"LpNormalization", CpuKernelClass::Norm},
    {"MatMul", CpuKernelClass::Product}, {"MatMulInteger", CpuKernelClass::ProductQuantized},
    {"MatMulNBits", CpuKernelClass::ProductBits}, {"MaxPool", CpuKernelClass::Pool},
    {"Mish", CpuKernelClass::Activation}, {"MultiHeadAttention", CpuKernelClass::Attention},
    {"NhwcMaxPool", CpuKernelClass::Pool}, {"Pad", CpuKernelClass::Copy}, {"Pow", CpuKernelClass::Activation},
    {"QAttention", CpuKernelClass::ProductQuantized}, {"QGemm", CpuKernelClass::ProductQuantized},
    {"QLinearAdd", CpuKernelClass::Integer}, {"QLinearAveragePool", CpuKernelClass::IntegerPool},
    {"QLinearConcat", CpuKernelClass::Integer}, {"QLinearConv", CpuKernelClass::ConvQuantized},
    {"QLinearGlobalAveragePool", CpuKernelClass::Integer}, {"QLinearLeakyRelu", CpuKernelClass::Integer},
    {"QLinearMatMul", CpuKernelClass::ProductQuantized}, {"QLinearMul", CpuKernelClass::Integer},
    {"QLinearSigmoid", CpuKernelClass::Integer}, {"QLinearSoftmax", CpuKernelClass::Integer},
    {"QuantizeLinear", CpuKernelClass::Quantize},
    {"QuickGelu", CpuKernelClass::Logistic}, {"RNN", CpuKernelClass::Recurrent},
    {"ReduceMax", CpuKernelClass::Reduce}, {"ReduceMean", CpuKernelClass::Reduce},
    {"ReduceSum", CpuKernelClass::Reduce}, {"Relu", CpuKernelClass::Pointwise},
    {"ReorderInput", CpuKernelClass::Reorder}, {"ReorderOutput", CpuKernelClass::Reorder},
    {"Resize", CpuKernelClass::Resize}, {"RotaryEmbedding", CpuKernelClass::Copy},
    {"Sigmoid", CpuKernelClass::Logistic}, {"SimplifiedLayerNormalization", CpuKernelClass::Norm},
    {"Sin", CpuKernelClass::Activation}, {"SkipLayerNormalization", CpuKernelClass::SkipNorm},
    {"SkipSimplifiedLayerNormalization", CpuKernelClass::SkipNorm}, {"Slice", CpuKernelClass::Copy},
    {"Softmax", CpuKernelClass::Softmax}, {"Softplus", CpuKernelClass::Activation},
    {"SpaceToDepth", CpuKernelClass::TransposeInner}, {"Split", CpuKernelClass::Copy},
    {"Tanh", CpuKernelClass::Logistic}, {"Tile", CpuKernelClass::Copy}, {"Upsample", CpuKernelClass::Resize},
};
// clang-format on
static_assert(!kCpuNames.back().empty());
static_assert(std::is_sorted(std::begin(kOperators), std::end(kOperators),
                             [](const OperatorClass& a, const OperatorClass& b) { return a.op < b.op; }));

struct SlowClass {
  CpuKernelClass kind;
  std::string_view reason;
};
constexpr SlowClass kSlow[] = {
    {CpuKernelClass::IntegerPool, "averages of integers, which the engine computes element by element"},
    {CpuKernelClass::ProductUnsigned,
     "integers with uint8 weights, for which the engine has no fast kernel on x86, as it has for int8"},
    {CpuKernelClass::ConvColumns,
     "by a matrix of windows and a product: blocks of channels take float32 images, stored weights and groups that fill them"},
    {CpuKernelClass::ConvDepthwiseColumns,
     "channels that are no multiple of four fill no block: by a matrix of windows and a product for each"},
    {CpuKernelClass::SkipNorm, "the sum and its norm in one kernel, which runs below the memory's rate"},
    {CpuKernelClass::SoftmaxOuter, "over another axis than the innermost, which is transposed for it and back"},
    {CpuKernelClass::TransposeScattered, "moves the innermost axis among others, element by element"},
    {CpuKernelClass::ResizeCubic, "interpolates from 16 neighbours, element by element"},
    {CpuKernelClass::Reorder, "from and to blocks of channels, around operators that do not work in them"},
};
constexpr double kSlowPart = 0.05;  // share of the time from which a class is listed

constexpr double kFloat = 4;  // bytes

double product_of(const Sizes& sizes, std::size_t from = 0) {
  double product = 1;
  for (std::size_t i = from; i < sizes.size(); ++i) product *= static_cast<double>(sizes[i]);
  return product;
}

double rounded_up(std::int64_t value, std::int64_t block) {
  return static_cast<double>(block > 0 ? (value + block - 1) / block * block : value);
}

}  // namespace

std::string_view to_string(CpuKernelClass kind) { return kCpuNames[static_cast<std::size_t>(kind)]; }

std::optional<CpuKernelClass> cpu_kernel_class(std::string_view name) {
  const auto found = std::find(kCpuNames.begin(), kCpuNames.end(), name);
  if (found == kCpuNames.end()) return std::nullopt;
  return static_cast<CpuKernelClass>(std::distance(kCpuNames.begin(), found));
}

bool is_product(CpuKernelClass kind) { return kind <= CpuKernelClass::Recurrent; }
bool is_bound_by_work(CpuKernelClass kind) { return is_product(kind) && kind != CpuKernelClass::ProductVector; }
bool is_quantized(CpuKernelClass kind) {
  return kind == CpuKernelClass::ConvQuantized || kind == CpuKernelClass::ConvQuantizedDepthwise ||
         kind == CpuKernelClass::ProductQuantized || kind == CpuKernelClass::ProductUnsigned;
}

CpuKernelClass cpu_class_of(std::string_view op_type, const OpFacts& facts, bool is_broadcast) {
  const auto* found = std::lower_bound(std::begin(kOperators), std::end(kOperators), op_type,
                                       [](const OperatorClass& a, std::string_view op) { return a.op < op; });
  if (found != std::end(kOperators) && found->op == op_type) return found->kind;
  switch (facts.kind) {
    case OpKind::Product:
      return CpuKernelClass::Product;
    case OpKind::Pointwise:
      return is_broadcast ? CpuKernelClass::PointwiseBroadcast : CpuKernelClass::Pointwise;
    case OpKind::Reduction:
      return CpuKernelClass::Reduce;
    case OpKind::Norm:
      return CpuKernelClass::Norm;
    case OpKind::Quantize:
    case OpKind::Dequantize:
      return CpuKernelClass::Quantize;
    case OpKind::Transpose:
      return CpuKernelClass::TransposeInner;
    case OpKind::View:
      return CpuKernelClass::Small;
    case OpKind::Expand:
    case OpKind::Layout:
      return CpuKernelClass::Copy;
    case OpKind::Gather:
      return CpuKernelClass::Gather;
    case OpKind::Attention:
      return CpuKernelClass::Attention;
    case OpKind::Pool:
      return CpuKernelClass::Pool;
    case OpKind::Recurrent:
      return CpuKernelClass::Recurrent;
    default:
      return CpuKernelClass::Other;
  }
}

CpuKernel transpose_kernel(const Sizes& sizes, const Sizes& perm, double element_bytes) {
  // Axes longer than 1, with neighbours that stay together merged into one.
  Sizes axes, lengths;
  for (const std::int64_t axis : perm) {
    const std::int64_t length = sizes[static_cast<std::size_t>(axis)];
    if (length == 1) continue;
    bool follows = !axes.empty() && axes.back() < axis;
    for (std::int64_t between = follows ? axes.back() + 1 : axis; between < axis; ++between)
      follows = follows && sizes[static_cast<std::size_t>(between)] == 1;
    if (follows) {
      axes.back() = axis;
      lengths.back() *= length;
    } else {
      axes.push_back(axis);
      lengths.push_back(length);
    }
  }
  if (axes.size() <= 1) return {};  // the bytes stay where they are
  const double bytes = 2 * element_bytes * product_of(lengths);
  const std::int64_t innermost = *std::max_element(axes.begin(), axes.end());
  if (axes.back() == innermost)
    return moving_kernel(CpuKernelClass::Transpose, bytes, 0, static_cast<double>(lengths.back()));
  // After merging, two blocks that swap are the last two.
  const bool swaps = std::is_sorted(axes.begin(), axes.end() - 1) && axes[axes.size() - 2] == innermost &&
                     (axes.size() == 2 || axes.back() > axes[axes.size() - 3]);
  return moving_kernel(swaps ? CpuKernelClass::TransposeInner : CpuKernelClass::TransposeScattered, bytes, 0,
                       static_cast<double>(std::min(lengths.back(), lengths[lengths.size() - 2])));
}

std::optional<CpuKernel> transpose_kernel_between(const Sizes& from, const Sizes& to, double element_bytes) {
  constexpr std::size_t kMostAxes = 7;  // 5,040 orders
  if (from.size() != to.size() || from == to || from.size() > kMostAxes) return std::nullopt;
  Sizes perm(from.size());
  std::iota(perm.begin(), perm.end(), std::int64_t{0});
  std::optional<CpuKernel> found;
  do {
    bool fits = true;
    for (std::size_t i = 0; i < perm.size() && fits; ++i) fits = from[static_cast<std::size_t>(perm[i])] == to[i];
    if (!fits) continue;
    const CpuKernel kernel = transpose_kernel(from, perm, element_bytes);
    if (kernel.kind == CpuKernelClass::Small) continue;
    if (found && (found->kind != kernel.kind || found->width != kernel.width)) return std::nullopt;
    found = kernel;
  } while (std::next_permutation(perm.begin(), perm.end()));
  return found;
}

CpuKernel conv_kernel(const Sizes& x, const Sizes& w, const Sizes& y, std::int64_t block, ConvForm form) {
  const bool is_float = form != ConvForm::Integers;
  const auto depthwise =
      form == ConvForm::Plain && block > 0 ? CpuKernelClass::ConvDepthwiseColumns : CpuKernelClass::ConvDepthwise;
  if (form != ConvForm::Blocks) block = 0;
  const std::int64_t groups = w[1] > 0 ? std::max<std::int64_t>(x[1] / w[1], 1) : 1;
  const bool is_depthwise = w[1] == 1 && groups > 1;
  const bool is_stem = block > 0 && groups == 1 && x[1] < block;
  const double window = product_of(w, 2), places = static_cast<double>(y[0]) * product_of(y, 2);
  const double channels = is_stem || is_depthwise ? static_cast<double>(w[1]) : rounded_up(w[1], block);
  const double outputs = rounded_up(w[0], block);
  CpuKernel kernel;
  kernel.kind = !is_float      ? (is_depthwise ? CpuKernelClass::ConvQuantizedDepthwise : CpuKernelClass::ConvQuantized)
                : is_depthwise ? depthwise
                : block == 0   ? CpuKernelClass::ConvColumns
                : is_stem      ? CpuKernelClass::ConvStem
                : window == 1  ? CpuKernelClass::ConvPointwise
                               : CpuKernelClass::Conv;
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

CpuKernel product_kernel(CpuKernelClass kind, double matrices, double rows, double depth, double width,
                         double element_bytes, bool has_weight) {
  if ((kind == CpuKernelClass::Product || kind == CpuKernelClass::ProductBiased) && rows == 1)
    kind = CpuKernelClass::ProductVector;
  CpuKernel kernel{.kind = kind, .rows = rows, .width = width, .depth = depth};
  kernel.flops = 2 * matrices * rows * depth * width;
  kernel.bytes = kFloat * matrices * (rows * depth + rows * width);
  (has_weight ? kernel.weight_bytes : kernel.bytes) += element_bytes * matrices * depth * width;
  // Threads divide matrices among them just as they divide rows.
  kernel.rows *= matrices;
  kernel.matrices = matrices;
  return kernel;
}

CpuKernel moving_kernel(CpuKernelClass kind, double bytes, double weight_bytes, double width) {
  return {.kind = kind, .bytes = bytes, .weight_bytes = weight_bytes, .width = width};
}

void fill_unmeasured(CpuCalibration& calibration) {
  constexpr std::pair<CpuKernelClass, CpuKernelClass> kLike[] = {
      {CpuKernelClass::ProductBiased, CpuKernelClass::Product},
      {CpuKernelClass::Product, CpuKernelClass::ProductBiased},
      {CpuKernelClass::ConvPointwise, CpuKernelClass::Conv},
      {CpuKernelClass::ConvStem, CpuKernelClass::Conv},
      {CpuKernelClass::ConvColumns, CpuKernelClass::Product},
      {CpuKernelClass::ConvDepthwise, CpuKernelClass::Conv},
      {CpuKernelClass::ConvDepthwiseColumns, CpuKernelClass::ConvColumns},
      {CpuKernelClass::ConvQuantized, CpuKernelClass::Conv},
      {CpuKernelClass::ConvQuantizedDepthwise, CpuKernelClass::ConvDepthwise},
      {CpuKernelClass::ProductVector, CpuKernelClass::Product},
      {CpuKernelClass::ProductBatched, CpuKernelClass::Product},
      {CpuKernelClass::ProductQuantized, CpuKernelClass::Product},
      {CpuKernelClass::ProductUnsigned, CpuKernelClass::ProductQuantized},
      {CpuKernelClass::ProductBits, CpuKernelClass::Product},
      {CpuKernelClass::Attention, CpuKernelClass::Product},
      {CpuKernelClass::Recurrent, CpuKernelClass::Product},
      {CpuKernelClass::Logistic, CpuKernelClass::Activation},
      {CpuKernelClass::SkipNorm, CpuKernelClass::Norm},
      {CpuKernelClass::SoftmaxOuter, CpuKernelClass::Softmax},
      {CpuKernelClass::TransposeScattered, CpuKernelClass::TransposeInner},
      {CpuKernelClass::ResizeCubic, CpuKernelClass::Resize},
      {CpuKernelClass::Integer, CpuKernelClass::Quantize},
      {CpuKernelClass::IntegerPool, CpuKernelClass::Integer},
  };
  const auto at = [&](CpuKernelClass kind) -> CpuCoefficients& {
    return calibration.classes[static_cast<std::size_t>(kind)];
  };
  for (const auto& [kind, like] : kLike)
    if (at(kind).flops_per_second == 0 && (at(kind).bytes_per_second == 0 || is_bound_by_work(kind))) at(kind) = at(like);
  const double copied = at(CpuKernelClass::Copy).bytes_per_second;
  for (CpuCoefficients& each : calibration.classes)
    if (each.bytes_per_second == 0) each.bytes_per_second = copied > 0 ? copied : calibration.memory_bytes_per_second;
  at(CpuKernelClass::Small) = {};
}

double cold_share(const CpuKernels& model, double cache_bytes) {
  if (!(cache_bytes > 0)) return 1;
  const double passes = (model.weight_bytes + model.activation_bytes) / cache_bytes;
  if (!(passes > 1)) return 0;
  // Newton's method from 1, where the residual is convex, comes down to the positive root and not below it.
  double missed = 1;
  for (int i = 0; i < 50; ++i) {
    const double kept = std::exp(-missed * passes);
    missed -= (missed - 1 + kept) / (1 - passes * kept);
  }
  return missed;
}

double cpu_kernel_seconds(const CpuKernel& kernel, const CpuCalibration& calibration, double cold) {
  return cpu_kernel_seconds(kernel, calibration.classes[static_cast<std::size_t>(kernel.kind)], calibration, cold);
}

double cpu_kernel_seconds(const CpuKernel& kernel, const CpuCoefficients& c, const CpuMachine& machine,
                          double cold_share) {
  const auto half_at = [](double half, double size) { return size > 0 ? 1 + half / size : 1; };
  double work = 0, traffic = 0;
  if (c.flops_per_second > 0)
    work = kernel.flops / c.flops_per_second * half_at(c.rows, kernel.rows) * half_at(c.width, kernel.width) *
           half_at(c.depth, kernel.depth) * half_at(c.line, kernel.line);
  const double overflow = std::max(0.0, kernel.bytes - machine.cache_bytes);
  const double cold = cold_share * kernel.weight_bytes + overflow;
  const double moved = kernel.bytes + kernel.weight_bytes - cold;
  if (c.bytes_per_second > 0) traffic += moved / (c.bytes_per_second * machine.cache_speed);
  if (!is_product(kernel.kind)) traffic *= half_at(c.width, kernel.width);
  if (machine.memory_bytes_per_second > 0) traffic += cold / machine.memory_bytes_per_second;
  const bool is_alone = !is_product(kernel.kind) && kernel.bytes + kernel.weight_bytes < kFewBytes;
  const double longer = std::max(work, traffic);
  double launch = machine.launch_seconds + (is_alone ? 0 : c.start_seconds);
  if (machine.handoff_bytes_per_second > 0 && !is_alone) launch += kernel.bytes / machine.handoff_bytes_per_second;
  if (work <= 0 || traffic <= 0) return launch + longer;
  const double exponent = 1 + c.overlap;
  return launch + longer * std::pow(1 + std::pow(std::min(work, traffic) / longer, exponent), 1 / exponent);
}

namespace {

std::vector<SlowCpuKernels> slow_kernels(const std::vector<CpuKernel>& kernels, const std::vector<double>& seconds,
                                         double total) {
  std::vector<SlowCpuKernels> list;
  for (const auto& [kind, reason] : kSlow) {
    SlowCpuKernels slow{.kind = kind, .rows = {}, .reason = reason};
    std::vector<std::pair<double, std::int32_t>> found;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (kernels[i].kind != kind) continue;
      slow.seconds += seconds[i];
      found.emplace_back(-seconds[i], kernels[i].row);
    }
    if (found.empty() || slow.seconds < kSlowPart * total) continue;
    std::sort(found.begin(), found.end());
    for (const auto& [time, row] : found) slow.rows.push_back(row);
    list.push_back(std::move(slow));
  }
  std::sort(list.begin(), list.end(),
            [](const SlowCpuKernels& a, const SlowCpuKernels& b) { return a.seconds > b.seconds; });
  return list;
}

}  // namespace

CpuPrediction predict_cpu(const Model& model, const Analysis& analysis, const CpuCalibration& calibration) {
  const CpuKernels lowered = cpu_kernels(model, analysis, calibration.channel_block);
  CpuPrediction result;
  result.is_apart = calibration.apart && calibration.apart->share > 0.5;
  const CpuMachine& machine = result.is_apart ? calibration.apart->machine : calibration;
  if (calibration.apart)
    result.other_seconds = cpu_run_seconds(lowered, calibration,
                                           result.is_apart ? static_cast<const CpuMachine&>(calibration)
                                                           : calibration.apart->machine);
  result.row_seconds.assign(analysis.nodes.size(), 0);
  result.kernels = static_cast<std::int64_t>(lowered.kernels.size());
  result.unknown_rows = lowered.unknown_rows;
  const double cold = cold_share(lowered, machine.cache_bytes);
  std::vector<double> times;
  for (const CpuKernel& kernel : lowered.kernels) {
    const double seconds = cpu_kernel_seconds(
        kernel, calibration.classes[static_cast<std::size_t>(kernel.kind)], machine, cold);
    result.row_seconds[static_cast<std::size_t>(kernel.row)] += seconds;
    result.seconds += seconds;
    times.push_back(seconds);
  }
  result.slow = slow_kernels(lowered.kernels, times, result.seconds);
  if (calibration.interval) {
    result.low = result.seconds * calibration.interval->low;
    result.high = result.seconds * calibration.interval->high;
  }
  return result;
}

}  // namespace pagoda::inline core
