#include "pagoda/measured/ort_kernels.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "pagoda/core/operators.h"
#include "pagoda/core/tensor_type.h"

namespace pagoda::measured {
namespace {

using Sizes = std::vector<std::int64_t>;

struct Tensor {
  double element_bytes = 4;
  bool is_float = false;
  Sizes sizes;
  double elements() const {
    return std::accumulate(sizes.begin(), sizes.end(), 1.0,
                           [](double product, std::int64_t size) { return product * static_cast<double>(size); });
  }
  double bytes() const { return element_bytes * elements(); }
};

struct Tensors {
  std::vector<Tensor> in, out;
};

// "float[1,3,224,224],int64[2]" as import_ort() joins them.
std::vector<Tensor> tensors(std::string_view text) {
  std::vector<Tensor> list;
  while (!text.empty()) {
    const std::size_t open = text.find('['), close = text.find(']');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) return list;
    const std::string_view type = text.substr(0, open);
    Tensor& tensor = list.emplace_back();
    tensor.is_float = type == "float";
    tensor.element_bytes = type == "int64" || type == "uint64" || type == "double"      ? 8
                           : type == "float" || type == "int32" || type == "uint32"     ? 4
                           : type == "float16" || type == "bfloat16" || type == "int16" ? 2
                                                                                        : 1;
    for (const char *at = text.data() + open + 1, *end = text.data() + close; at < end;) {
      std::int64_t size = 0;
      const auto [next, error] = std::from_chars(at, end, size);
      if (error != std::errc()) return {};
      tensor.sizes.push_back(size);
      at = next + 1;
    }
    text.remove_prefix(std::min(text.size(), close + 2));
  }
  return list;
}

Tensors tensors_of(const documents::MeasuredKernel& kernel) {
  const std::string_view detail = kernel.detail;
  const std::size_t arrow = detail.find(" -> ");
  if (arrow == std::string_view::npos) return {};
  return {tensors(detail.substr(0, arrow)), tensors(detail.substr(arrow + 4))};
}

bool is_conv(std::string_view op) { return op == "Conv" || op == "FusedConv"; }
bool is_matmul(std::string_view op) {
  return op == "MatMul" || op == "Gemm" || op == "FusedMatMul" || op == "FusedGemm";
}

std::string_view plain_name(std::string_view op) {
  const std::size_t dot = op.rfind('.');
  return dot == std::string_view::npos ? op : op.substr(dot + 1);
}

// "/conv1/Conv" from "/conv1/Conv_token_1", the engine's name of a node moved to a different layout.
std::string plain_node(const std::string& name) { return name.substr(0, name.rfind("_token_")); }

// For shape computations and fewer than a thousand numbers, only the launch cost is visible.
constexpr double kFew = 4000;

// As the lowering states it (OrtKernel::width).
double row_width(OrtKernelClass kind, const Tensors& t) {
  const bool has_rows =
      kind == OrtKernelClass::Norm || kind == OrtKernelClass::SkipNorm || kind == OrtKernelClass::Softmax;
  return has_rows && !t.out[0].sizes.empty() ? static_cast<double>(t.out[0].sizes.back()) : 0;
}

std::optional<OrtKernel> conv(const Tensors& t, std::int64_t block) {
  if (t.in.size() < 2 || t.out.empty()) return std::nullopt;
  const Sizes &x = t.in[0].sizes, &w = t.in[1].sizes, &y = t.out[0].sizes;
  if (x.size() < 3 || w.size() != x.size() || y.size() != x.size() || w[1] <= 0) return std::nullopt;
  const bool is_blocked = block > 0 && x.size() == 4 && w[0] % block == 0;
  return conv_kernel(x, w, y, block, is_blocked ? ConvForm::Blocks : ConvForm::Plain);
}

std::optional<OrtKernel> matmul(std::string_view op, const Tensors& t) {
  if (t.in.empty() || t.out.empty() || t.in[0].sizes.empty() || t.out[0].sizes.empty()) return std::nullopt;
  const Sizes& y = t.out[0].sizes;
  const double width = static_cast<double>(y.back()), total = t.out[0].elements();
  const auto has_axis = [](const Sizes& sizes, std::int64_t size) {
    return sizes.size() >= 2 && (sizes.back() == size || sizes[sizes.size() - 2] == size);
  };
  // Batched if the second operand is an activation: a weight is repacked, and the profile has a bias in its place.
  const bool is_batched = t.in.size() > 1 && t.in[1].sizes.size() >= 2 && y.size() >= 3;
  // Skips operands that are stored transposed: their axes are in a different order.
  if (is_batched && (t.in[1].sizes.size() != y.size() || !has_axis(t.in[1].sizes, y.back()))) return std::nullopt;
  const double matrices = is_batched ? total / (width * static_cast<double>(y[y.size() - 2])) : 1;
  const double rows = total / width / matrices, depth = t.in[0].elements() / (rows * matrices);
  if (width <= 0 || rows <= 0 || depth <= 0) return std::nullopt;
  const bool is_biased = t.in.size() > 1 && (op == "Gemm" || op == "FusedGemm");
  return product_kernel(is_batched  ? OrtKernelClass::ProductBatched
                        : is_biased ? OrtKernelClass::ProductBiased
                                    : OrtKernelClass::Product,
                        matrices, rows, depth, width, 4, !is_batched);
}

std::optional<OrtKernel> other(std::string_view op, const Tensors& t) {
  if (t.out.empty()) return std::nullopt;
  const double full = t.out[0].elements();
  const bool is_broadcast = std::ranges::any_of(
      t.in, [&](const Tensor& tensor) { return tensor.elements() > 1 && tensor.elements() < full; });
  OrtKernelClass kind = ort_class_of(op, operator_facts("", op), is_broadcast);
  double read = 0, written = 0;
  for (const Tensor& tensor : t.in) read += tensor.bytes();
  for (const Tensor& tensor : t.out) written += tensor.bytes();
  if (op == "Transpose") {
    const auto known = transpose_kernel_between(t.in[0].sizes, t.out[0].sizes, t.in[0].element_bytes);
    return known && known->bytes < kFew ? OrtKernel{} : known;
  }
  if (is_product(kind)) return std::nullopt;
  if (written + read < kFew || kind == OrtKernelClass::Small) return OrtKernel{};
  // These read only the elements that they select.
  const bool is_part = kind == OrtKernelClass::Copy || kind == OrtKernelClass::Gather;
  return moving_kernel(kind, is_part ? 2 * written : read + written, 0, row_width(kind, t));
}

}  // namespace

double most_elements(const documents::MeasuredKernel& kernel) {
  double most = 0;
  for (const Tensor& tensor : tensors_of(kernel).out) most = std::max(most, tensor.elements());
  return most;
}

int channel_block(const documents::Measured& profile) {
  std::int64_t divisor = 0;
  for (const documents::MeasuredKernel& kernel : profile.kernels) {
    if (plain_name(kernel.op_type) != "Conv") continue;
    const Tensors t = tensors_of(kernel);
    if (t.in.size() > 1 && t.in[1].sizes.size() == 4) divisor = std::gcd(divisor, t.in[1].sizes[0]);
  }
  std::int64_t block = 1;
  while (block < 64 && divisor > 0 && divisor % (2 * block) == 0) block *= 2;
  return block < 4 ? 0 : static_cast<int>(block);
}

bool depends_on_graph(OrtKernelClass kind) {
  return kind == OrtKernelClass::SoftmaxOuter || kind == OrtKernelClass::ResizeCubic ||
         kind == OrtKernelClass::ConvColumns;
}

std::vector<TimedOrtKernel> timed_kernels(const documents::Measured& profile, int channel_block,
                                          const std::map<std::string, OrtKernel>& named) {
  std::vector<TimedOrtKernel> timed;
  for (const documents::MeasuredKernel& kernel : profile.kernels) {
    if (!kernel.seconds || *kernel.seconds <= 0 || !kernel.nvtx.empty()) continue;  // in a body, sizes may vary
    const Tensors t = tensors_of(kernel);
    const std::string_view op = plain_name(kernel.op_type);
    std::optional<OrtKernel> known = is_conv(op)     ? conv(t, channel_block)
                                     : is_matmul(op) ? matmul(op, t)
                                                     : other(op, t);
    if (const auto found = named.find(plain_node(kernel.name)); found != named.end())
      if (!known || depends_on_graph(found->second.kind)) known = found->second;
    if (known) timed.push_back({*known, *kernel.seconds / static_cast<double>(kernel.launches.value_or(1))});
  }
  return timed;
}

}  // namespace pagoda::measured
