// ONNX Runtime optimises a graph for its CUDA provider as for a CPU, without blocks of channels (ort_provider.h). This
// gives each kernel of that graph its class on a GPU, and adds what the provider launches beside it.
#include "predict/ort_cuda.h"

#include <algorithm>
#include <cmath>

#include "predict/gpu_products.h"
#include "predict/names.h"
#include "predict/ort_provider.h"
#include "predict/tensors.h"

namespace pagoda::inline core {
namespace {

// Run on the CPU provider, with copies from the device and back, or on integers of the device, which no run measured.
bool is_of_integers(OrtKernelClass kind) {
  return is_quantized(kind) || kind == OrtKernelClass::ProductBits || kind == OrtKernelClass::Quantize ||
         kind == OrtKernelClass::Integer || kind == OrtKernelClass::IntegerPool;
}

constexpr double kFloatBytes = 4;
constexpr std::int64_t kFusedRows = 256;  // from which on attention in float32 is one kernel

class CudaLowering {
 public:
  CudaLowering(const Model& model, const Analysis& analysis)
      : graph_(model.main()), analysis_(analysis), tensors_(analysis) {}

  EagerKernels run(const OrtKernels& optimized) {
    result_.unknown_rows = optimized.unknown_rows;
    for (const OrtKernel& kernel : optimized.kernels) lower(kernel);
    return std::move(result_);
  }

 private:
  void launch(KernelLaunch kernel, std::int32_t row) {
    kernel.row = row;
    result_.kernels.push_back(kernel);
  }

  void lower(const OrtKernel& kernel) {
    const NodeReport& row = analysis_.nodes[static_cast<std::size_t>(kernel.row)];
    const Node* node = row.graph == 0 ? &graph_.node(row.node) : nullptr;  // null: of a body
    KernelLaunch launched{.kind = class_of(kernel.kind, node), .bytes = kernel.bytes + kernel.weight_bytes};
    if (is_of_integers(kernel.kind)) ++result_.unknown_rows;
    if (runs_on_host(kernel, row, node)) return launch({.on_host = true}, kernel.row);
    if (is_product(kernel.kind)) {
      launched.macs = kernel.flops / 2;
      const bool has_sizes = kernel.width > 0 || launched.kind == KernelClass::MaskedAttention;
      if (!has_sizes) launched.kind = KernelClass::Other;
      launched.rows = kernel.rows;
      launched.width = kernel.width;
      launched.depth = kernel.depth;
      launched.tiles = kernel.matrices * blocks(kernel.rows / kernel.matrices, kernel.width);
    }
    switch (launched.kind) {
      case KernelClass::BatchedMatmul:
        launched.width = std::min(kernel.rows / kernel.matrices, kernel.width);
        break;
      case KernelClass::ConvGrouped:
        launched.tiles *= static_cast<double>(node->integer("group", 1));
        break;
      case KernelClass::MaskedAttention:
        set_attention(launched, *node);
        break;
      case KernelClass::MaxPool:
      case KernelClass::AveragePool:
        launched.macs = taps(*node) * tensors_.elements(node->output(0));
        break;
      default:
        break;
    }
    if (launched.kind == KernelClass::MaskedAttention && launch_steps(*node, kernel)) return;
    // gemm.cc copies the bias to the whole result, to which the product then adds.
    launched.is_inside = kernel.kind == OrtKernelClass::ProductBiased;
    if (launched.is_inside)
      launch({.kind = KernelClass::PointwiseBroadcast, .bytes = kFloatBytes * kernel.rows * kernel.width}, kernel.row);
    launch(launched, kernel.row);
    const double result = node == nullptr ? 0 : kFloatBytes * tensors_.elements(node->output(0));
    const auto after = [&](KernelClass kind, double bytes) {
      launch({.kind = kind, .bytes = bytes, .is_inside = true}, kernel.row);
    };
    // conv.cc, fused_conv.cc: cuDNN adds a bias in a kernel of its own, and does what a FusedConv absorbed in others
    // where it has no kernel for all.
    if (kernel.has_bias) after(KernelClass::PointwiseBroadcast, 2 * result);
    for (int i = 0; i < kernel.sums; ++i) after(KernelClass::Pointwise, 3 * result);
    for (int i = 0; i < kernel.activations; ++i) after(KernelClass::Pointwise, 2 * result);
  }

  // The provider leaves sizes and what is computed of them to the CPU (GetCpuPreferredNodes).
  bool runs_on_host(const OrtKernel& kernel, const NodeReport& row, const Node* node) const {
    if (node == nullptr || kernel.bytes + kernel.weight_bytes >= kFewBytes) return false;
    return row.cost.mark == Mark::Host || !is_float(analysis_.types[index(node->output(0))].element);
  }

  // Attention of short sequences in float32 runs step by step (attention_impl.cu; fused kernels begin at 256 rows): the
  // projection of com.microsoft.Attention, its bias with a transpose, scores, softmax, values, a transpose back.
  bool launch_steps(const Node& node, const OrtKernel& kernel) {
    const Sizes x = tensors_.sizes(node.input(0));
    const double heads = static_cast<double>(node.integer("num_heads", 0));
    if (x.size() != 3 || heads <= 0 || x[1] >= kFusedRows) return false;
    const bool projects = node.op_type == "Attention";
    const double batch = static_cast<double>(x[0]), rows = static_cast<double>(x[1]), depth = static_cast<double>(x[2]);
    const double hidden = tensors_.row_width(node.output(0)), head = hidden / heads;
    const double keys = projects ? rows : tensors_.number_at(node.input(1), 1);
    if (hidden <= 0 || keys <= 0) return false;
    const double queries = kFloatBytes * batch * rows * hidden, values = kFloatBytes * batch * keys * hidden;
    const double scores = kFloatBytes * batch * heads * rows * keys;
    const auto batched = [&](double width, double inner, double bytes) {
      return KernelLaunch{.kind = KernelClass::BatchedMatmul,
                          .macs = batch * rows * keys * hidden,
                          .bytes = bytes,
                          .width = std::min(rows, width),
                          .depth = inner,
                          .tiles = batch * heads * blocks(rows, width),
                          .rows = batch * heads * rows};
    };
    std::vector<KernelLaunch> steps;
    if (projects) {
      const double width = tensors_.row_width(node.input(1));
      steps.push_back({.kind = KernelClass::Linear,
                       .macs = batch * rows * depth * width,
                       .bytes = kFloatBytes * (batch * rows * (depth + width) + depth * width),
                       .width = width,
                       .depth = depth,
                       .tiles = blocks(batch * rows, width),
                       .rows = batch * rows});
    }
    steps.push_back({.kind = KernelClass::Copy, .bytes = 2 * (queries + 2 * values)});
    steps.push_back(batched(keys, head, queries + values + scores));
    steps.push_back({.kind = KernelClass::Softmax, .bytes = 2 * scores});
    steps.push_back(batched(head, keys, scores + values + queries));
    steps.push_back({.kind = KernelClass::Copy, .bytes = 2 * queries});
    for (std::size_t i = 0; i < steps.size(); ++i) {
      steps[i].is_inside = i > 0;
      launch(steps[i], kernel.row);
    }
    return true;
  }

  static double taps(const Node& node) {
    const auto window = integers(node, "kernel_shape");
    return element_count(window);
  }

  // From the result [batch, heads, rows, size of a head], or [batch, rows, heads × size]. As many keys as rows.
  void set_attention(KernelLaunch& kernel, const Node& node) const {
    const ValueId result = node.output(0);
    const bool has_heads = tensors_.sizes(result).size() == 4;
    const double rows = tensors_.number_at(result, has_heads ? 2 : 1), batch = tensors_.number_at(result, 0);
    const double heads =
        batch * (has_heads ? tensors_.number_at(result, 1)
                           : static_cast<double>(std::max<std::int64_t>(node.integer("num_heads", 1), 1)));
    kernel.rows = heads * rows;
    kernel.width = kernel.rows > 0 ? tensors_.elements(result) / kernel.rows : 0;
    kernel.depth = rows;
    kernel.tiles = heads * std::ceil(rows / 64);
  }

  KernelClass conv_class_of(const Node& node) const {
    const Sizes input = tensors_.sizes(node.input(0)), weight = tensors_.sizes(node.input(1));
    if (input.size() < 3 || weight.size() != input.size()) return KernelClass::Conv;
    return conv_class(node, input, weight);
  }

  KernelClass class_of(OrtKernelClass kind, const Node* node) const {
    switch (kind) {
      case OrtKernelClass::Conv:
      case OrtKernelClass::ConvPointwise:
      case OrtKernelClass::ConvStem:
      case OrtKernelClass::ConvColumns:
      case OrtKernelClass::ConvDepthwise:
      case OrtKernelClass::ConvDepthwiseColumns:
      case OrtKernelClass::ConvQuantized:
      case OrtKernelClass::ConvQuantizedDepthwise:
        return node != nullptr && node->op_type != "QLinearConv" ? conv_class_of(*node) : KernelClass::Conv;
      case OrtKernelClass::Product:
      case OrtKernelClass::ProductBiased:
      case OrtKernelClass::ProductVector:
      case OrtKernelClass::ProductQuantized:
      case OrtKernelClass::ProductUnsigned:
      case OrtKernelClass::ProductBits:
        return KernelClass::Linear;
      case OrtKernelClass::ProductBatched:
        return KernelClass::BatchedMatmul;
      case OrtKernelClass::Attention:
        return node != nullptr ? KernelClass::MaskedAttention : KernelClass::Other;
      case OrtKernelClass::Recurrent:
        return KernelClass::Recurrent;
      case OrtKernelClass::Pointwise:
        return KernelClass::Pointwise;
      case OrtKernelClass::PointwiseBroadcast:
        return node != nullptr && node->op_type == "BatchNormalization" ? KernelClass::BatchNorm
                                                                        : KernelClass::PointwiseBroadcast;
      case OrtKernelClass::Activation:
      case OrtKernelClass::Logistic:
        return KernelClass::Activation;
      case OrtKernelClass::Norm:
      case OrtKernelClass::SkipNorm:
        return node != nullptr && is_one_of(node->op_type, kNormsOfChannels) ? KernelClass::GroupNorm
                                                                             : KernelClass::LayerNorm;
      case OrtKernelClass::Softmax:
      case OrtKernelClass::SoftmaxOuter:
        return KernelClass::Softmax;
      case OrtKernelClass::Reduce:
        return KernelClass::Reduce;
      case OrtKernelClass::Pool:
        if (node == nullptr) return KernelClass::Other;
        return node->op_type == "MaxPool" ? KernelClass::MaxPool : KernelClass::AveragePool;
      case OrtKernelClass::Transpose:
        return KernelClass::Copy;
      case OrtKernelClass::TransposeInner:
      case OrtKernelClass::TransposeScattered:
        return KernelClass::CopyTransposing;
      case OrtKernelClass::Copy:
        if (node == nullptr) return KernelClass::Copy;
        return node->op_type == "Concat" || node->op_type == "Split" ? KernelClass::Concat
               : node->op_type == "Pad"                              ? KernelClass::Pad
               : node->op_type == "Cast"                             ? KernelClass::Cast
                                                                     : KernelClass::Copy;
      case OrtKernelClass::Gather:
        return KernelClass::Gather;
      case OrtKernelClass::Resize:
      case OrtKernelClass::ResizeCubic:
        return KernelClass::Resize;
      case OrtKernelClass::Quantize:
      case OrtKernelClass::Integer:
      case OrtKernelClass::IntegerPool:
      case OrtKernelClass::Reorder:
      case OrtKernelClass::Other:
      case OrtKernelClass::Small:
        return KernelClass::Other;
    }
    return KernelClass::Other;
  }

  static constexpr std::string_view kNormsOfChannels[] = {"GroupNorm", "GroupNormalization", "InstanceNormalization"};

  const Graph& graph_;
  const Analysis& analysis_;
  const Tensors tensors_;
  EagerKernels result_;
};

}  // namespace

EagerKernels ort_cuda_kernels(const Model& model, const Analysis& analysis) {
  return CudaLowering(model, analysis).run(ort_kernels(model, analysis, kCudaProvider));
}

}  // namespace pagoda::inline core
