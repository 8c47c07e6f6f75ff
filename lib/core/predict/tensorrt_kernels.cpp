// The kernels of a model under TensorRT: the groups of fused traffic, with the sizes that decide their times.
#include <algorithm>
#include <cmath>

#include "pagoda/core/tensorrt.h"
#include "pagoda/core/traffic.h"
#include "predict/graph_facts.h"

namespace pagoda::inline core {
namespace {

using Kind = TensorRtKernel::Kind;

class TensorRtLowering : Tensors {
 public:
  TensorRtLowering(const Model& model, const Analysis& analysis)
      : Tensors(model.main(), analysis), constant_(constants_by_mark(graph(), analysis, {Mark::Folded})) {}

  TensorRtKernels lower(const Traffic& fused) {
    for (const TrafficGroup& group : fused.groups) {
      if (group.cost.mark == Mark::Unmodelled) ++result_.unknown_rows;
      lower(group);
    }
    bool has_narrow = false;
    for (const TensorRtKernel& kernel : result_.kernels) {
      result_.weight_bytes += kernel.weight_bytes;
      has_narrow = has_narrow || (kernel.is_int8 && kernel.flops > 0);
    }
    if (!has_narrow && result_.unfused_conversions.empty()) result_.float_products.clear();
    return std::move(result_);
  }

 private:
  const NodeReport& row(std::int32_t id) const { return analysis().nodes[index(id)]; }
  const Node& node(std::int32_t id) const { return graph().nodes[index(row(id).node)]; }
  bool is_main(std::int32_t id) const { return row(id).graph == 0; }

  // Sizes of a value; empty if they are not known.
  std::vector<double> sizes(ValueId value) const {
    std::vector<double> result;
    if (const Shape* known = shape(value))
      for (const Dim& dim : *known) result.push_back(number(dim));
    return result;
  }

  void lower(const TrafficGroup& group) {
    TensorRtKernel kernel;
    kernel.rows = group.rows;
    kernel.is_int8 = precision_of(group.cost.precision) == Precision::Int8;
    kernel.other_bytes = number(group.cost.bytes());
    kernel.flops = 2 * number(group.cost.macs);
    std::vector<std::int32_t> products;
    for (const std::int32_t id : group.rows)
      if (row(id).cost.macs != Dim(0)) products.push_back(id);
    if (!kernel.is_int8) result_.float_products.insert(result_.float_products.end(), products.begin(), products.end());
    const auto converts = [&](std::int32_t id) {
      return row(id).facts.kind == OpKind::Quantize || row(id).facts.kind == OpKind::Dequantize;
    };
    if (std::all_of(group.rows.begin(), group.rows.end(), converts))
      result_.unfused_conversions.insert(result_.unfused_conversions.end(), group.rows.begin(), group.rows.end());
    const bool is_attention =
        group.rule == Fusion::Attention ||
        std::any_of(products.begin(), products.end(), [&](auto id) { return row(id).facts.kind == OpKind::Attention; });
    if (!products.empty() && is_main(products.front())) {
      is_attention ? as_attention(kernel, products) : as_product(kernel, products);
    }
    kernel.shares_launch = kernel.kind == Kind::Other && !result_.kernels.empty() &&
                           result_.kernels.back().kind == Kind::Other && group.rule != Fusion::Normalisation &&
                           row(group.rows.front()).facts.kind != OpKind::Norm;
    result_.kernels.push_back(std::move(kernel));
  }

  // Products that share an operand are joined side by side: their n adds up. Convolutions multiply patches by filters;
  // grouped ones with fewer than 8 output channels per group run on vector units, as Kind::Other.
  void as_product(TensorRtKernel& kernel, const std::vector<std::int32_t>& products) const {
    for (const std::int32_t id : products) {
      const std::vector<double> output = sizes(node(id).outputs[0]);
      double elements = 1;
      for (const double size : output) elements *= size;
      if (output.size() < 2 || elements <= 0) return;
      const ProductForm form = row(id).facts.form;
      const bool is_conv = form == ProductForm::Convolution || form == ProductForm::Deconvolution;
      const double groups = is_conv ? static_cast<double>(node(id).integer("group", 1)) : 1;
      const bool is_weighted = node(id).input(1) != kAbsent && constant_[index(node(id).input(1))];
      const double n = is_conv ? output[1] / groups : output.back();
      const double k = number(row(id).cost.macs) / elements;
      double batch = groups;
      if (!is_conv && !is_weighted)
        for (std::size_t axis = 0; axis + 2 < output.size(); ++axis) batch *= output[axis];
      if (is_conv && groups > 1 && n < 8) return;
      kernel.kind = Kind::Product;
      kernel.batch = batch;
      kernel.m = elements / (is_conv ? output[1] : n * batch);
      kernel.k = k;
      kernel.n += n;
      if (is_weighted || is_conv) kernel.weight_bytes += groups * n * k * (kernel.is_int8 ? 1 : 2);
    }
    kernel.weight_bytes = std::min(kernel.weight_bytes, kernel.other_bytes);
    kernel.other_bytes -= kernel.weight_bytes;
  }

  // If the operator also projects its operands, as ONNX Runtime's optimizer writes it, a product kernel comes first.
  void as_attention(TensorRtKernel& kernel, const std::vector<std::int32_t>& products) {
    kernel.kind = Kind::Attention;
    const Node& first = node(products.front());
    if (row(products.front()).facts.kind != OpKind::Attention) {
      const std::vector<double> scores = sizes(first.outputs[0]);
      if (scores.size() < 2) return;
      kernel.m = scores[scores.size() - 2];
      kernel.n = scores.back();
      for (std::size_t axis = 0; axis + 2 < scores.size(); ++axis) kernel.batch *= scores[axis];
      return;
    }
    const std::vector<double> queries = sizes(first.inputs[0]);
    if (queries.size() < 3) return;
    const bool has_heads = queries.size() == 4;
    const double heads =
        has_heads ? queries[1]
                  : static_cast<double>(std::max(first.integer("num_heads", 1), first.integer("q_num_heads", 1)));
    kernel.batch = queries[0] * heads;
    kernel.m = kernel.n = has_heads ? queries[2] : queries[1];
    const std::vector<double> weight = sizes(first.input(1));
    if (first.op_type != "Attention" || first.domain != "com.microsoft" || weight.size() != 2) return;
    TensorRtKernel projection{.kind = Kind::Product, .is_int8 = kernel.is_int8, .rows = kernel.rows};
    const double width = kernel.is_int8 ? 1 : 2;
    projection.m = queries[0] * queries[1];
    projection.n = weight[1];
    projection.k = weight[0];
    projection.flops = 2 * projection.m * projection.n * projection.k;
    projection.weight_bytes = width * weight[0] * weight[1];
    projection.other_bytes = width * projection.m * (projection.n + projection.k);
    kernel.flops -= projection.flops;
    kernel.other_bytes = width * projection.m * 4 / 3 * projection.n;
    result_.kernels.push_back(std::move(projection));
  }

  std::vector<bool> constant_;  // by value
  TensorRtKernels result_;
};

}  // namespace

TensorRtKernels tensorrt_kernels(const Model& model, const Analysis& analysis) {
  return TensorRtLowering(model, analysis).lower(traffic(model, analysis, {.model = TrafficModel::Fused}));
}

}  // namespace pagoda::inline core
