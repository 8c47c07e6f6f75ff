// Convolutions, matrix products and attention: which kernel PyTorch 2.4 picks, and what it launches around it.
#include <algorithm>
#include <cmath>

#include "predict/eager_state.h"
#include "predict/gpu_products.h"
#include "predict/graph_facts.h"
#include "predict/pytorch.h"

namespace pagoda::inline core {
namespace {

using pytorch::kDepthwise;

// Whether cuDNN runs a row-major float16 depthwise convolution: small square windows, enough channels, stride 1, or
// stride 2 on large inputs. Otherwise PyTorch's own kernel does.
bool takes_library_depthwise(const Node& node, const Tile& input, const Tile& weight) {
  const auto strides = integers(node, "strides"), dilations = integers(node, "dilations");
  if (input.sizes.size() != 4 || weight.sizes[0] != input.sizes[1] || input.sizes[1] < kDepthwise.channels)
    return false;
  const std::int64_t window = weight.sizes[2], width = input.sizes[3], channels = input.sizes[1];
  if (weight.sizes[3] != window || (window != 1 && window != 3 && window != 5) || width < kDepthwise.width)
    return false;
  if (std::any_of(dilations.begin(), dilations.end(), [](std::int64_t d) { return d != 1; })) return false;
  const std::int64_t stride = strides.empty() ? 1 : strides[0];
  if (stride == 1) return true;
  return stride == 2 && window > 1 &&
         (channels >= kDepthwise.wide_channels ||
          (channels >= kDepthwise.channels_on_wide && width >= kDepthwise.wide));
}

KernelClass conv_class(const Node& node, const Tile& input, const Tile& weight, bool is_channels_last) {
  const KernelClass kind = conv_class(node, input.sizes, weight.sizes);
  if (kind == KernelClass::DepthwiseLibrary) {
    if (is_channels_last) return KernelClass::DepthwiseChannelsLast;
    return takes_library_depthwise(node, input, weight) ? kind : KernelClass::Depthwise;
  }
  const bool has_layouts = kind == KernelClass::Conv || kind == KernelClass::ConvPointwise;
  return is_channels_last && has_layouts ? KernelClass::ConvChannelsLast : kind;
}

// Whether the exporter folded the batch norm after a convolution into its weights; eager execution runs the norm.
bool has_folded_norm(const EagerState& state, const Node& node) {
  if (node.input(2) == kAbsent) return state.lacks_biases();
  const std::string_view weight = state.graph().value(node.inputs[1]).name;
  std::string_view bias = state.graph().value(node.inputs[2]).name;
  if (weight.starts_with(pytorch::kFoldedConv) && bias.starts_with(pytorch::kFoldedConv)) return true;
  if (!bias.starts_with(weight)) return false;
  bias.remove_prefix(weight.size());
  return bias == pytorch::kFoldedBias;
}

}  // namespace

bool lower_conv(EagerState& state, const Node& node, double macs) {
  Tile input = state.tile(node.inputs[0]), weight = state.tile(node.inputs[1]);
  Tile output = state.declared(node.outputs[0]);
  if (!input.known || !weight.known || !output.known || input.sizes.size() < 3) return false;
  input = state.cast(std::move(input), state.product_type());
  weight = state.cast(std::move(weight), state.product_type());
  const bool channels_last = is_channels_last(input.sizes, input.strides);
  input = state.make_packed(std::move(input));
  output.type = state.product_type();
  if (channels_last) output.strides = pagoda::channels_last(output.sizes);
  KernelLaunch kernel{.kind = conv_class(node, input, weight, channels_last), .macs = macs};
  kernel.bytes = input.bytes() + weight.bytes() + output.bytes();
  const double groups = static_cast<double>(node.integer("group", 1));
  const double channels = static_cast<double>(output.sizes[1]);
  kernel.rows = output.elements() / channels;
  kernel.width = channels / groups;
  kernel.depth = output.elements() > 0 ? kernel.macs / output.elements() : 0;
  kernel.tiles = groups * blocks(kernel.rows, kernel.width);
  state.launch(kernel);
  state.set(node.outputs[0], output);
  if (has_folded_norm(state, node)) return lower_norm(state, KernelClass::BatchNorm, node.outputs[0], node.outputs[0]);
  // A separate kernel adds the bias, except with PyTorch's own depthwise kernel and with oneDNN.
  // Without its optimizer, torch.export gives convolutions without a bias one of zeros.
  const bool has_bias = node.input(2) != kAbsent && !is_all(state.graph(), state.analysis(), node.input(2), 0);
  if (has_bias && kernel.kind != KernelClass::Depthwise && !state.on_cpu())
    state.launch({.kind = KernelClass::PointwiseBroadcast, .bytes = 2 * output.bytes()});
  return true;
}

// `operands`: two factors and an optional bias. Whether they are stored transposed does not matter: that is a view.
bool lower_product(EagerState& state, std::span<const ValueId> operands, ValueId result, double macs) {
  Tile a = state.tile(operands[0]), b = state.tile(operands[1]);
  Tile output = state.declared(result);
  if (!a.known || !b.known || !output.known || a.sizes.empty() || b.sizes.empty()) return false;
  a = state.cast(std::move(a), state.product_type());
  b = state.cast(std::move(b), state.product_type());
  output.type = state.product_type();
  const bool has_bias = operands.size() > 2 && operands[2] != kAbsent;
  const double columns = static_cast<double>(output.sizes.empty() ? 1 : output.sizes.back());
  const double depth = output.elements() > 0 ? macs / output.elements() : 0;
  KernelLaunch kernel{.macs = macs, .depth = depth};
  const bool is_weight = b.sizes.size() <= 2;
  bool folds = true;  // the first factor is one matrix without a copy; else a batch of matrices over its last two axes
  if (is_weight && a.sizes.size() > 2) {
    const std::int64_t inner = a.sizes.back();
    const Sizes flat = {static_cast<std::int64_t>(a.elements()) / std::max<std::int64_t>(inner, 1), inner};
    // In float32 the modules run without autocast, where nn.MultiheadAttention multiplies its input as it comes, before
    // the exchange of batch and tokens that a trace of its other path has.
    const bool is_exchange = a.sizes.size() == 3 && a.strides.back() == 1 && output.type == ElementType::Float32;
    folds = is_exchange || view_as(a.sizes, a.strides, flat).has_value();
  }
  kernel.rows = output.elements() / columns;
  if (is_weight && folds) {
    kernel.kind = KernelClass::Linear;
    kernel.width = columns;
    kernel.tiles = blocks(kernel.rows, columns);
  } else {
    const std::size_t rank = output.sizes.size();
    const double rows = rank < 2 ? 1 : static_cast<double>(output.sizes[rank - 2]);
    // Several batch axes are folded into one: a copy if strides do not allow a view, or the operand is broadcast.
    for (Tile* tile : {&a, &b}) {
      if (tile->sizes.size() <= 3) continue;
      const std::int64_t outer = *(tile->sizes.end() - 2), inner = tile->sizes.back();
      const std::int64_t matrices =
          static_cast<std::int64_t>(tile->elements()) / std::max<std::int64_t>(outer * inner, 1);
      *tile = state.reshaped(std::move(*tile), {matrices, outer, inner});
    }
    kernel.kind = KernelClass::BatchedMatmul;
    kernel.width = std::min(rows, columns);
    kernel.tiles = output.elements() / std::max(rows * columns, 1.0) * blocks(rows, columns);
  }
  kernel.bytes = a.bytes() + b.bytes() + output.bytes();
  state.launch(kernel);
  if (has_bias && kernel.kind != KernelClass::Linear)
    state.launch({.kind = KernelClass::PointwiseBroadcast, .bytes = 2 * output.bytes()});
  state.set(result, std::move(output));
  return true;
}

// Fused kernels take batch × heads × rows × head size; for other ranks PyTorch computes step by step.
static bool lower_attention_by_parts(EagerState& state, const Idiom& idiom, Tile query, Tile key, Tile value) {
  Tile output = state.declared(idiom.result);
  const std::size_t rank = output.sizes.size();
  if (query.sizes.size() != rank || key.sizes.size() != rank) return false;
  for (Tile* tile : {&query, &key}) {  // each is scaled by the square root of the factor
    state.launch({.kind = KernelClass::Pointwise, .bytes = 2 * tile->bytes()});
    tile->strides = contiguous(tile->sizes);
  }
  Sizes scores = output.sizes;
  scores[rank - 1] = value.sizes[rank - 2];
  const double rows = static_cast<double>(scores[rank - 2]), keys = static_cast<double>(scores[rank - 1]);
  const double head = static_cast<double>(output.sizes[rank - 1]), heads = element_count(scores) / (rows * keys);
  const double bytes = element_count(scores) * bits(state.product_type()) / 8, macs = heads * rows * keys * head;
  output.type = state.product_type();
  state.launch(batched_matmul(macs, query.bytes() + key.bytes() + bytes, heads, rows, keys, head));
  if (idiom.mask != kAbsent) state.launch({.kind = KernelClass::PointwiseBroadcast, .bytes = 2 * bytes});
  state.launch({.kind = KernelClass::Softmax, .bytes = 2 * bytes});
  if (!is_contiguous(value.sizes, value.strides)) value = state.make_contiguous(std::move(value));
  state.launch(batched_matmul(macs, value.bytes() + output.bytes() + bytes, heads, rows, head, keys));
  state.set(idiom.result, std::move(output));
  return true;
}

// As the dynamo exporter writes the call from opset 23 on.
bool lower_attention_operator(EagerState& state, const Node& node) {
  if (!plain_domain(node.domain).empty() || state.declared(node.outputs[0]).sizes.size() != 4) return false;
  return lower_attention(state, {.call = Call::Attention,
                                 .operands = {node.input(0), node.input(1), node.input(2)},
                                 .result = node.outputs[0],
                                 .mask = node.input(3)});
}

bool lower_attention(EagerState& state, const Idiom& idiom) {
  Tile query = state.tile(idiom.operands[0]), key = state.tile(idiom.operands[1]);
  Tile value = state.tile(idiom.operands[2]), output = state.declared(idiom.result);
  if (!query.known || !key.known || !value.known || !output.known || output.sizes.size() < 3) return false;
  for (Tile* tile : {&query, &key, &value}) *tile = state.cast(std::move(*tile), state.product_type());
  if (output.sizes.size() != 4) return lower_attention_by_parts(state, idiom, query, key, value);
  output.type = state.product_type();
  // Stored as batch × rows × heads × head size, so the transpose that follows is free.
  const std::size_t rank = output.sizes.size();
  Sizes stored = output.sizes;
  std::swap(stored[rank - 2], stored[rank - 3]);
  output.strides = contiguous(stored);
  std::swap(output.strides[rank - 2], output.strides[rank - 3]);

  KernelLaunch kernel{.kind = KernelClass::Attention};
  kernel.bytes = query.bytes() + key.bytes() + value.bytes() + output.bytes();
  if (const Tile& mask = state.tile(idiom.mask); idiom.mask != kAbsent) {
    kernel.kind = KernelClass::MaskedAttention;
    if (mask.known) kernel.bytes += state.cast(mask, state.product_type()).bytes();
  }
  // Blocks of 64 queries by 64 keys; partial blocks are computed in full.
  const auto padded = [](double size) { return std::ceil(size / 64) * 64; };
  const double rows = static_cast<double>(output.sizes[rank - 2]), head = static_cast<double>(output.sizes[rank - 1]);
  const double keys = value.sizes.size() < 2 ? 1 : static_cast<double>(value.sizes[value.sizes.size() - 2]);
  const double heads = output.elements() / std::max(rows * head, 1.0);
  const double query_head = query.sizes.empty() ? head : static_cast<double>(query.sizes.back());
  kernel.macs = heads * padded(rows) * padded(keys) * (query_head + head);
  kernel.width = head;
  kernel.depth = keys;
  kernel.tiles = heads * std::ceil(rows / 64);
  state.launch(kernel);
  state.set(idiom.result, std::move(output));
  return true;
}

}  // namespace pagoda::inline core
