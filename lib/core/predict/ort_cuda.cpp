// ONNX Runtime optimises a graph for its CUDA provider as for a CPU, without blocks of channels (OrtProvider). This
// gives each kernel of that graph its class on a GPU, and adds what the provider launches beside it.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "predict/gpu_products.h"
#include "predict/graph_facts.h"
#include "predict/ort_graph.h"

namespace pagoda::inline core {
namespace {

// Run on the CPU provider, with copies from the device and back, or on integers of the device, which no run measured.
bool is_of_integers(OrtKernelClass kind) {
  return is_quantized(kind) || kind == OrtKernelClass::ProductBits || kind == OrtKernelClass::Quantize ||
         kind == OrtKernelClass::Integer || kind == OrtKernelClass::IntegerPool;
}

constexpr double kFloatBytes = 4;
constexpr std::int64_t kFusedRows = 256;  // from which on attention in float32 is one kernel

// By OrtKernelClass, for nodes whose operator does not decide.
// clang-format off
constexpr KernelClass kCudaClasses[] = {
    KernelClass::Conv, KernelClass::Conv, KernelClass::Conv, KernelClass::Conv,  // in blocks, pointwise, stem, columns
    KernelClass::Conv, KernelClass::Conv, KernelClass::Conv, KernelClass::Conv,  // depthwise, quantised
    KernelClass::Linear, KernelClass::Linear, KernelClass::Linear,               // products with a weight
    KernelClass::BatchedMatmul,
    KernelClass::Linear, KernelClass::Linear, KernelClass::Linear,               // quantised, unsigned, bits
    KernelClass::MaskedAttention, KernelClass::Recurrent,
    KernelClass::Pointwise, KernelClass::PointwiseBroadcast,
    KernelClass::Activation, KernelClass::Activation,                            // logistic
    KernelClass::LayerNorm, KernelClass::LayerNorm,                              // of a sum
    KernelClass::Softmax, KernelClass::Softmax,                                  // of an outer axis
    KernelClass::Reduce, KernelClass::AveragePool,
    KernelClass::Copy, KernelClass::CopyTransposing, KernelClass::CopyTransposing,  // transposes
    KernelClass::Copy, KernelClass::Gather,
    KernelClass::Resize, KernelClass::Resize,                                    // cubic
    KernelClass::Other, KernelClass::Other, KernelClass::Other,                  // integers
    KernelClass::Other, KernelClass::Other, KernelClass::Other,                  // reorder, other, small
};
// clang-format on
static_assert(std::size(kCudaClasses) == kOrtKernelClasses);

class CudaLowering : Tensors {
 public:
  CudaLowering(const Model& model, const Analysis& analysis) : Tensors(model.main(), analysis) {}

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
    const NodeReport& row = analysis().nodes[static_cast<std::size_t>(kernel.row)];
    const Node* node = row.graph == 0 ? &graph().node(row.node) : nullptr;  // null: of a body
    if (is_of_integers(kernel.kind)) ++result_.unknown_rows;
    if (runs_on_host(kernel, row, node)) return launch({.times = kernel.times, .on_host = true}, kernel.row);
    KernelLaunch launched{
        .kind = class_of(kernel.kind, node), .times = kernel.times, .bytes = kernel.bytes + kernel.weight_bytes};
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
        launched.macs = element_count(integers(*node, "kernel_shape")) * elements(node->output(0));
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
    const double result = node == nullptr ? 0 : kFloatBytes * elements(node->output(0));
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
    return row.cost.mark == Mark::Host || !is_float(type(node->output(0)));
  }

  // Attention of short sequences in float32 runs step by step (attention_impl.cu; fused kernels begin at 256 rows): the
  // projection of com.microsoft.Attention, its bias with a transpose, scores, softmax, values, a transpose back.
  bool launch_steps(const Node& node, const OrtKernel& kernel) {
    const Sizes x = sizes(node.input(0));
    const double heads = static_cast<double>(node.integer("num_heads", 0));
    if (x.size() != 3 || heads <= 0 || x[1] >= kFusedRows) return false;
    const bool projects = node.op_type == "Attention";
    const double batch = static_cast<double>(x[0]), rows = static_cast<double>(x[1]), depth = static_cast<double>(x[2]);
    const double hidden = row_width(node.output(0)), head = hidden / heads;
    const double keys = projects ? rows : number_at(node.input(1), 1);
    if (hidden <= 0 || keys <= 0) return false;
    const double queries = kFloatBytes * batch * rows * hidden, values = kFloatBytes * batch * keys * hidden;
    const double scores = kFloatBytes * batch * heads * rows * keys;
    const auto batched = [&](double width, double inner, double bytes) {
      KernelLaunch product = batched_matmul(batch * rows * keys * hidden, bytes, batch * heads, rows, width, inner);
      product.rows = batch * heads * rows;
      return product;
    };
    std::vector<KernelLaunch> steps;
    if (projects) {
      const double width = row_width(node.input(1));
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

  // From the result [batch, heads, rows, size of a head], or [batch, rows, heads × size]. As many keys as rows.
  void set_attention(KernelLaunch& kernel, const Node& node) const {
    const ValueId result = node.output(0);
    const bool has_heads = sizes(result).size() == 4;
    const double rows = number_at(result, has_heads ? 2 : 1), batch = number_at(result, 0);
    const double heads =
        batch * (has_heads ? number_at(result, 1)
                           : static_cast<double>(std::max<std::int64_t>(node.integer("num_heads", 1), 1)));
    kernel.rows = heads * rows;
    kernel.width = kernel.rows > 0 ? elements(result) / kernel.rows : 0;
    kernel.depth = rows;
    kernel.tiles = heads * std::ceil(rows / 64);
  }

  // `node` is null for rows of bodies.
  KernelClass class_of(OrtKernelClass kind, const Node* node) const {
    if (node == nullptr) {
      const bool needs_node = kind == OrtKernelClass::Attention || kind == OrtKernelClass::Pool;
      return needs_node ? KernelClass::Other : kCudaClasses[static_cast<std::size_t>(kind)];
    }
    const base::Name& op = node->op_type;
    const bool is_conv = kind <= OrtKernelClass::ConvQuantizedDepthwise;
    if (is_conv && op != "QLinearConv") {
      const Sizes input = sizes(node->input(0)), weight = sizes(node->input(1));
      const bool is_known = input.size() >= 3 && weight.size() == input.size();
      return is_known ? conv_class(*node, input, weight) : KernelClass::Conv;
    }
    if (kind == OrtKernelClass::PointwiseBroadcast && op == "BatchNormalization") return KernelClass::BatchNorm;
    if (kind == OrtKernelClass::Norm || kind == OrtKernelClass::SkipNorm)
      if (is_one_of(op, kNormsOfChannels)) return KernelClass::GroupNorm;
    if (kind == OrtKernelClass::Pool && op == "MaxPool") return KernelClass::MaxPool;
    if (kind == OrtKernelClass::Copy)
      return op == "Concat" || op == "Split" ? KernelClass::Concat
             : op == "Pad"                   ? KernelClass::Pad
             : op == "Cast"                  ? KernelClass::Cast
                                             : KernelClass::Copy;
    return kCudaClasses[static_cast<std::size_t>(kind)];
  }

  static constexpr std::string_view kNormsOfChannels[] = {"GroupNorm", "GroupNormalization", "InstanceNormalization"};

  EagerKernels result_;
};

}  // namespace

EagerKernels ort_cuda_kernels(const Model& model, const Analysis& analysis) {
  return CudaLowering(model, analysis).run(ort_kernels(model, analysis, kCudaProvider));
}

}  // namespace pagoda::inline core
