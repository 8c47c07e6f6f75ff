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
bool is_of_integers(CpuKernelClass kind) {
  return is_quantized(kind) || kind == CpuKernelClass::ProductBits || kind == CpuKernelClass::Quantize ||
         kind == CpuKernelClass::Integer || kind == CpuKernelClass::IntegerPool;
}

class CudaLowering {
 public:
  CudaLowering(const Model& model, const Analysis& analysis)
      : graph_(model.main()), analysis_(analysis), tensors_(analysis) {}

  EagerKernels run(const CpuKernels& optimized) {
    result_.unknown_rows = optimized.unknown_rows;
    for (const CpuKernel& kernel : optimized.kernels) lower(kernel);
    return std::move(result_);
  }

 private:
  void launch(KernelLaunch kernel, std::int32_t row) {
    kernel.row = row;
    result_.kernels.push_back(kernel);
  }

  void lower(const CpuKernel& kernel) {
    const NodeReport& row = analysis_.nodes[static_cast<std::size_t>(kernel.row)];
    const Node* node = row.graph == 0 ? &graph_.node(row.node) : nullptr;  // null: of a body
    KernelLaunch launched{.kind = class_of(kernel.kind, node), .bytes = kernel.bytes + kernel.weight_bytes};
    if (is_of_integers(kernel.kind)) ++result_.unknown_rows;
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
    // gemm.cc copies the bias to the whole result, to which the product then adds.
    const bool has_bias = kernel.kind == CpuKernelClass::ProductBiased;
    if (has_bias) launch({.kind = KernelClass::PointwiseBroadcast, .bytes = 4 * kernel.rows * kernel.width}, kernel.row);
    launch(launched, kernel.row);
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
    const double heads = batch * (has_heads ? tensors_.number_at(result, 1)
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

  KernelClass class_of(CpuKernelClass kind, const Node* node) const {
    switch (kind) {
      case CpuKernelClass::Conv:
      case CpuKernelClass::ConvPointwise:
      case CpuKernelClass::ConvStem:
      case CpuKernelClass::ConvColumns:
      case CpuKernelClass::ConvDepthwise:
      case CpuKernelClass::ConvQuantized:
      case CpuKernelClass::ConvQuantizedDepthwise:
        return node != nullptr && node->op_type != "QLinearConv" ? conv_class_of(*node) : KernelClass::Conv;
      case CpuKernelClass::Product:
      case CpuKernelClass::ProductBiased:
      case CpuKernelClass::ProductVector:
      case CpuKernelClass::ProductQuantized:
      case CpuKernelClass::ProductUnsigned:
      case CpuKernelClass::ProductBits:
        return KernelClass::Linear;
      case CpuKernelClass::ProductBatched:
        return KernelClass::BatchedMatmul;
      case CpuKernelClass::Attention:
        return node != nullptr ? KernelClass::MaskedAttention : KernelClass::Other;
      case CpuKernelClass::Recurrent:
        return KernelClass::Recurrent;
      case CpuKernelClass::Pointwise:
        return KernelClass::Pointwise;
      case CpuKernelClass::PointwiseBroadcast:
        return node != nullptr && node->op_type == "BatchNormalization" ? KernelClass::BatchNorm
                                                                         : KernelClass::PointwiseBroadcast;
      case CpuKernelClass::Activation:
      case CpuKernelClass::Logistic:
        return KernelClass::Activation;
      case CpuKernelClass::Norm:
      case CpuKernelClass::SkipNorm:
        return node != nullptr && is_one_of(node->op_type, kNormsOfChannels) ? KernelClass::GroupNorm
                                                                              : KernelClass::LayerNorm;
      case CpuKernelClass::Softmax:
      case CpuKernelClass::SoftmaxOuter:
        return KernelClass::Softmax;
      case CpuKernelClass::Reduce:
        return KernelClass::Reduce;
      case CpuKernelClass::Pool:
        if (node == nullptr) return KernelClass::Other;
        return node->op_type == "MaxPool" ? KernelClass::MaxPool : KernelClass::AveragePool;
      case CpuKernelClass::Transpose:
        return KernelClass::Copy;
      case CpuKernelClass::TransposeInner:
      case CpuKernelClass::TransposeScattered:
        return KernelClass::CopyTransposing;
      case CpuKernelClass::Copy:
        if (node == nullptr) return KernelClass::Copy;
        return node->op_type == "Concat" || node->op_type == "Split" ? KernelClass::Concat
               : node->op_type == "Pad"                              ? KernelClass::Pad
               : node->op_type == "Cast"                             ? KernelClass::Cast
                                                                     : KernelClass::Copy;
      case CpuKernelClass::Gather:
        return KernelClass::Gather;
      case CpuKernelClass::Resize:
      case CpuKernelClass::ResizeCubic:
        return KernelClass::Resize;
      case CpuKernelClass::Quantize:
      case CpuKernelClass::Integer:
      case CpuKernelClass::IntegerPool:
      case CpuKernelClass::Reorder:
      case CpuKernelClass::Other:
      case CpuKernelClass::Small:
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
