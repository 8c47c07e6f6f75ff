// Everything but products: element-wise kernels, norms, pools, and views that cost nothing until a kernel needs a copy.
#include <algorithm>
#include <cmath>

#include "predict/eager_state.h"
#include "predict/gpu_products.h"
#include "predict/pytorch.h"

namespace pagoda::inline core {
namespace {

constexpr auto kHalf = ElementType::Float16;
constexpr auto kSingle = ElementType::Float32;

using pytorch::Autocast;

Autocast autocast(std::string_view op) {
  for (const pytorch::AutocastOp& known : pytorch::kAutocast)
    if (known.op == op) return known.autocast;
  return Autocast::Plain;
}

// Strides of an operand along the axes of the result, 0 along broadcast axes.
Strides aligned(const Tile& operand, const Sizes& sizes) {
  Strides strides(sizes.size(), 0);
  const std::size_t missing = sizes.size() - std::min(sizes.size(), operand.sizes.size());
  for (std::size_t i = missing; i < sizes.size(); ++i)
    if (operand.sizes[i - missing] == sizes[i] && sizes[i] != 1) strides[i] = operand.strides[i - missing];
  return strides;
}

std::optional<std::int64_t> integer(const EagerState& state, ValueId value, std::size_t element) {
  if (value == kAbsent) return std::nullopt;
  const auto& known = state.analysis().values[static_cast<std::size_t>(value)];
  if (!known || element >= known->size()) return std::nullopt;
  const Dim* dim = std::get_if<Dim>(&(*known)[element]);
  if (dim == nullptr) return std::nullopt;
  return static_cast<std::int64_t>(dim->evaluate(state.bindings()));
}

Tile result_of(const EagerState& state, ValueId value, ElementType type) {
  Tile tile = state.declared(value);
  if (is_float(tile.type)) tile.type = type;
  return tile;
}

// Sets the result to what `lower` makes of the first operand and the declared sizes; false if it cannot.
template <typename Function>
bool lower_first(EagerState& state, const Node& node, const Function& lower) {
  const Tile input = state.tile(node.inputs[0]);
  Tile output = result_of(state, node.outputs[0], input.type);
  if (!input.known || !output.known || !lower(input, output)) return false;
  state.set(node.outputs[0], std::move(output));
  return true;
}

// --- views ---

bool lower_transpose(EagerState& state, const Node& node) {
  const Tile input = state.tile(node.inputs[0]);
  if (!input.known) return false;
  const auto* perm = node.integers("perm");
  Tile output = input;
  for (std::size_t i = 0; i < input.sizes.size(); ++i) {
    const std::size_t from = perm == nullptr ? input.sizes.size() - 1 - i : static_cast<std::size_t>((*perm)[i]);
    output.sizes[i] = input.sizes[from];
    output.strides[i] = input.strides[from];
  }
  state.set(node.outputs[0], std::move(output));
  return true;
}

bool lower_reshape(EagerState& state, const Node& node) {
  return lower_first(state, node, [&](const Tile& input, Tile& output) {
    if (input.elements() != output.elements()) return false;
    output = state.reshaped(input, output.sizes);
    return true;
  });
}

bool lower_expand(EagerState& state, const Node& node) {
  return lower_first(state, node, [](const Tile& input, Tile& output) {
    if (input.sizes.size() > output.sizes.size()) return false;
    output.strides = aligned(input, output.sizes);
    return true;
  });
}

bool lower_slice(EagerState& state, const Node& node) {
  return lower_first(state, node, [&](const Tile& input, Tile& output) {
    const std::size_t rank = input.sizes.size();
    if (rank != output.sizes.size()) return false;
    output.strides = input.strides;
    for (std::size_t i = 0; node.inputs.size() > 4 && i < rank; ++i) {
      const auto step = integer(state, node.inputs[4], i);
      auto axis = integer(state, node.inputs[3], i).value_or(static_cast<std::int64_t>(i));
      if (!step) break;
      if (axis < 0) axis += static_cast<std::int64_t>(rank);
      if (*step < 0) {  // flip
        state.launch({.kind = KernelClass::Copy, .bytes = 2 * output.bytes()});
        output.strides = contiguous(output.sizes);
        break;
      }
      output.strides[static_cast<std::size_t>(axis)] *= *step;
    }
    return true;
  });
}

bool lower_split(EagerState& state, const Node& node) {
  const Tile input = state.tile(node.inputs[0]);
  if (!input.known) return false;
  for (const ValueId value : node.outputs) {
    Tile output = state.declared(value);
    if (!output.known) continue;
    output.type = input.type;
    output.strides = input.strides;
    state.set(value, std::move(output));
  }
  return true;
}

bool lower_gather(EagerState& state, const Node& node) {
  const Tile picked = state.declared(node.inputs[1]);
  return lower_first(state, node, [&](const Tile& input, Tile& output) {
    if (picked.known && picked.sizes.empty()) {  // a single index: a view
      std::int64_t axis = node.integer("axis", 0);
      if (axis < 0) axis += static_cast<std::int64_t>(input.sizes.size());
      output.strides = input.strides;
      output.strides.erase(output.strides.begin() + axis);
    } else {
      state.launch({.kind = KernelClass::Gather, .bytes = 2 * output.bytes()});
    }
    return true;
  });
}

// --- kernels that move ---

bool lower_concat(EagerState& state, const Node& node) {
  ElementType type = ElementType::Undefined;
  double read = 0;
  bool all_channels_last = true;
  for (const ValueId value : node.inputs) {
    const Tile& tile = state.tile(value);
    if (!tile.known) return false;
    if (type == ElementType::Undefined || (type == kHalf && tile.type == kSingle)) type = tile.type;
    read += tile.bytes();
    all_channels_last = all_channels_last && is_channels_last(tile.sizes, tile.strides);
  }
  Tile output = result_of(state, node.outputs[0], type);
  if (!output.known) return false;
  if (all_channels_last) output.strides = strides_like(output.sizes, {&state.tile(node.inputs[0]).strides, 1});
  state.launch({.kind = KernelClass::Concat, .bytes = read + output.bytes()});
  state.set(node.outputs[0], std::move(output));
  return true;
}

bool lower_pad(EagerState& state, const Node& node) {
  return lower_first(state, node, [&](const Tile& input, Tile& output) {
    if (output.sizes == input.sizes) {
      output = input;
      return true;
    }
    // The result is filled, then the input is copied into the middle.
    state.launch({.kind = KernelClass::Pad, .bytes = output.bytes() + 2 * input.bytes()});
    if (is_channels_last(input.sizes, input.strides)) output.strides = strides_like(output.sizes, {&input.strides, 1});
    return true;
  });
}

template <KernelClass Kind>
bool lower_move(EagerState& state, const Node& node) {
  return lower_first(state, node, [&](const Tile& input, const Tile& output) {
    state.launch({.kind = Kind, .bytes = input.bytes() + output.bytes()});
    return true;
  });
}

// Bilinear and bicubic kernels of row-major tensors have one thread per position in an image, which loops over all
// images and channels: small images leave most of the device idle.
bool lower_resize(EagerState& state, const Node& node) {
  return lower_first(state, node, [&](const Tile& input, const Tile& output) {
    if (output.sizes.size() < 3) return false;
    KernelLaunch kernel{.kind = KernelClass::Resize, .bytes = input.bytes() + output.bytes()};
    const std::string_view mode = node.text("mode");
    const bool interpolates = !mode.empty() && mode != "nearest";
    if (interpolates && !is_channels_last(input.sizes, input.strides))
      kernel.tiles = output.elements() / static_cast<double>(output.sizes[0] * output.sizes[1]) / 512;
    state.launch(kernel);
    return true;
  });
}

// In place: only what is assigned moves.
bool lower_assignment(EagerState& state, const Node& node) {
  const Tile input = state.tile(node.inputs[0]);
  if (!input.known || node.inputs.size() < 3 || !state.tile(node.inputs[2]).known) return false;
  state.launch({.kind = KernelClass::Copy, .bytes = 2 * state.tile(node.inputs[2]).bytes()});
  state.set(node.outputs[0], input);
  return true;
}

// --- kernels that compute ---

bool lower_recurrent(EagerState& state, const Node& node) {
  const Tile input = state.tile(node.inputs[0]), weight = state.tile(node.inputs[1]);
  Tile output = result_of(state, node.outputs[0], state.product_type());
  if (!input.known || !weight.known || !output.known || input.sizes.size() != 3 || weight.sizes.size() != 3)
    return false;
  KernelLaunch kernel{.kind = KernelClass::Recurrent};
  kernel.macs = state.macs();
  kernel.bytes = state.cast(input, state.product_type()).bytes() + output.bytes();
  kernel.width = static_cast<double>(weight.sizes[1]);
  kernel.depth = static_cast<double>(weight.sizes[2]);
  kernel.tiles = std::ceil(static_cast<double>(input.sizes[1]) / 128) * std::ceil(kernel.width / 128);
  state.launch(kernel);
  state.set(node.outputs[0], std::move(output));
  return true;
}

template <KernelClass Kind>
bool lower_pool(EagerState& state, const Node& node) {
  return lower_first(state, node, [&](const Tile& operand, Tile& output) {
    const Tile input = state.make_packed(operand);
    const double taps = element_count(integers(node, "kernel_shape"));
    output.strides = strides_like(output.sizes, {&input.strides, 1});
    state.launch({.kind = Kind, .macs = output.elements() * taps, .bytes = input.bytes() + output.bytes()});
    return true;
  });
}

bool lower_reduce(EagerState& state, ValueId operand, ValueId result, ElementType type) {
  const Tile input = state.tile(operand);
  Tile output = result_of(state, result, type == ElementType::Undefined ? input.type : type);
  if (!input.known || !output.known) return false;
  state.launch({.kind = KernelClass::Reduce, .bytes = input.bytes() + output.bytes()});
  state.set(result, std::move(output));
  return true;
}

bool lower_softmax(EagerState& state, const Node& node) {
  if (!state.tile(node.inputs[0]).known) return false;
  const Tile input = state.make_contiguous(state.tile(node.inputs[0]));
  Tile output = input;
  output.type = kSingle;  // autocast: the kernel reads either type and writes float32
  state.launch({.kind = KernelClass::Softmax, .bytes = input.bytes() + output.bytes()});
  state.set(node.outputs[0], std::move(output));
  return true;
}

bool lower_cast(EagerState& state, const Node& node) {
  Tile tile = state.tile(node.inputs[0]);
  const Tile wanted = state.declared(node.outputs[0]);
  if (!tile.known || !wanted.known) return false;
  if (tile.type != wanted.type) tile = state.converted(std::move(tile), wanted.type);
  state.set(node.outputs[0], std::move(tile));
  return true;
}

}  // namespace

bool lower_pointwise(EagerState& state, std::string_view op, std::span<const ValueId> operands, ValueId result) {
  const Autocast kind = op.empty() ? Autocast::Heavy : autocast(op);  // empty: an idiom, one function of one tensor
  Tile output = state.declared(result);
  if (!output.known) return false;
  std::vector<Tile> tiles;
  for (const ValueId value : operands) {
    Tile tile = state.tile(value);
    if (!tile.known || (op == "Clip" && !tiles.empty())) continue;  // bounds are arguments
    // Scalars are arguments and do not promote.
    if (tile.sizes.empty() && !output.sizes.empty()) continue;
    if (kind == Autocast::Single) tile = state.cast(std::move(tile), kSingle);
    tiles.push_back(std::move(tile));
  }
  if (tiles.empty()) return false;
  bool has_half = false, has_single = false, is_broadcast = false, is_strided = false;
  double bytes = 0;
  std::vector<Strides> full, all;
  for (const Tile& tile : tiles) {
    has_half = has_half || tile.is_half();
    has_single = has_single || tile.type == kSingle;
    bytes += tile.bytes();
    all.push_back(aligned(tile, output.sizes));
    if (tile.sizes == output.sizes)
      full.push_back(all.back());
    else if (tile.elements() > 1)
      is_broadcast = true;
  }
  if (is_float(output.type)) output.type = has_single || !has_half ? kSingle : kHalf;
  output.strides = strides_like(output.sizes, full.empty() ? all : full);
  for (const Strides& strides : full)
    is_strided = is_strided || !same_inner_axis(output.sizes, strides, output.strides);
  bytes += output.bytes();
  const KernelClass chosen = is_strided                ? KernelClass::PointwiseStrided
                             : kind == Autocast::Heavy ? KernelClass::Activation
                             : has_half && has_single  ? KernelClass::PointwiseMixed
                             : is_broadcast            ? KernelClass::PointwiseBroadcast
                                                       : KernelClass::Pointwise;
  state.launch({.kind = chosen, .bytes = bytes});
  state.set(result, std::move(output));
  return true;
}

bool lower_norm(EagerState& state, KernelClass kind, ValueId operand, ValueId result) {
  Tile input = state.tile(operand);
  if (!input.known) return false;
  if (kind == KernelClass::BatchNorm) {  // runs in the type and layout of its input
    if (is_channels_last(input.sizes, input.strides) || input.sizes.size() == 2)
      kind = KernelClass::BatchNormChannelsLast;
    else
      input = state.make_packed(std::move(input));
    state.launch({.kind = kind, .bytes = 2 * input.bytes()});
  } else {  // needs contiguous rows; layer norms run in float32
    const bool is_halved = kind == KernelClass::GroupNorm && state.product_type() == pytorch::kGroupNorm;
    const ElementType type = is_halved ? pytorch::kGroupNorm : kSingle;
    input = state.make_contiguous(state.cast(std::move(input), type));
    // A group does not fit into registers: it is read once for its statistics, once to normalise it.
    const double passes = kind == KernelClass::GroupNorm ? 3 : 2;
    state.launch({.kind = kind, .bytes = passes * input.bytes()});
  }
  Tile output = input;
  output.sizes = state.declared(result).sizes;
  if (output.sizes.size() != output.strides.size()) output.strides = contiguous(output.sizes);
  output.is_constant = false;
  state.set(result, std::move(output));
  return true;
}

bool lower_call(EagerState& state, const Idiom& idiom) {
  double macs = 0;
  for (const std::int32_t product : idiom.products) macs += state.number(state.row_of(product).cost.macs);
  switch (idiom.call) {
    case Call::Own:
    case Call::Part:
      return true;
    case Call::Linear:
      return lower_product(state, idiom.operands, idiom.result, macs);
    case Call::Activation:
      return lower_pointwise(state, "", idiom.operands, idiom.result);
    case Call::LayerNorm:
      return lower_norm(state, KernelClass::LayerNorm, idiom.operands[0], idiom.result);
    case Call::GroupNorm:
      return lower_norm(state, KernelClass::GroupNorm, idiom.operands[0], idiom.result);
    case Call::Variance:
      return lower_reduce(state, idiom.operands[0], idiom.result, ElementType::Undefined);
    case Call::Attention:
      return lower_attention(state, idiom);
  }
  return false;
}

namespace {

template <KernelClass Kind>
bool lower_norm_node(EagerState& state, const Node& node) {
  return lower_norm(state, Kind, node.inputs[0], node.outputs[0]);
}
template <ElementType Type>
bool lower_reduction(EagerState& state, const Node& node) {
  return lower_reduce(state, node.inputs[0], node.outputs[0], Type);
}
bool lower_own_conv(EagerState& state, const Node& node) { return lower_conv(state, node, state.macs()); }
bool lower_matmul(EagerState& state, const Node& node) {
  return lower_product(state, node.inputs, node.outputs[0], state.macs());
}

struct OpLowering {
  std::string_view op;
  bool (*lower)(EagerState& state, const Node& node);
};
// clang-format off
constexpr OpLowering kLowerings[] = {
    {"Attention",             lower_attention_operator},
    {"AveragePool",           lower_pool<KernelClass::AveragePool>},
    {"BatchNormalization",    lower_norm_node<KernelClass::BatchNorm>},
    {"Cast",                  lower_cast},
    {"CastLike",              lower_cast},
    {"Concat",                lower_concat},
    {"Conv",                  lower_own_conv},
    {"DepthToSpace",          lower_move<KernelClass::CopyTransposing>},
    {"Dropout",               lower_reshape},
    {"Expand",                lower_expand},
    {"Flatten",               lower_reshape},
    {"GRU",                   lower_recurrent},
    {"Gather",                lower_gather},
    {"Gemm",                  lower_matmul},
    {"GlobalAveragePool",     lower_reduction<ElementType::Undefined>},
    {"GlobalMaxPool",         lower_reduction<ElementType::Undefined>},
    {"GroupNormalization",    lower_norm_node<KernelClass::GroupNorm>},
    {"Identity",              lower_reshape},
    {"InstanceNormalization", lower_norm_node<KernelClass::GroupNorm>},
    {"LSTM",                  lower_recurrent},
    {"LayerNormalization",    lower_norm_node<KernelClass::LayerNorm>},
    {"LogSoftmax",            lower_softmax},
    {"MatMul",                lower_matmul},
    {"MaxPool",               lower_pool<KernelClass::MaxPool>},
    {"Pad",                   lower_pad},
    {"RNN",                   lower_recurrent},
    {"ReduceL1",              lower_reduction<ElementType::Undefined>},
    {"ReduceL2",              lower_reduction<ElementType::Undefined>},
    {"ReduceMax",             lower_reduction<ElementType::Undefined>},
    {"ReduceMean",            lower_reduction<ElementType::Undefined>},
    {"ReduceMin",             lower_reduction<ElementType::Undefined>},
    {"ReduceProd",            lower_reduction<kSingle>},
    {"ReduceSum",             lower_reduction<kSingle>},
    {"ReduceSumSquare",       lower_reduction<kSingle>},
    {"Reshape",               lower_reshape},
    {"Resize",                lower_resize},
    {"ScatterND",             lower_assignment},
    {"Slice",                 lower_slice},
    {"Softmax",               lower_softmax},
    {"SpaceToDepth",          lower_move<KernelClass::CopyTransposing>},
    {"Split",                 lower_split},
    {"Squeeze",               lower_reshape},
    {"Tile",                  lower_move<KernelClass::Copy>},
    {"Transpose",             lower_transpose},
    {"Unsqueeze",             lower_reshape},
};
// clang-format on
static_assert(std::ranges::is_sorted(kLowerings, {}, &OpLowering::op));

}  // namespace

bool lower_node(EagerState& state, const Node& node) {
  if (node.inputs.empty() || node.outputs.empty()) return true;
  const auto* known = std::ranges::lower_bound(kLowerings, node.op_type.view(), {}, &OpLowering::op);
  if (known != std::end(kLowerings) && known->op == node.op_type) return known->lower(state, node);
  // PyTorch has no function for operators that an engine fused, unless autocast's table names them.
  const bool is_function = plain_domain(node.domain).empty() || autocast(node.op_type) != Autocast::Plain;
  return is_function && state.row().facts.kind == OpKind::Pointwise &&
         lower_pointwise(state, node.op_type, node.inputs, node.outputs[0]);
}

std::vector<std::string_view> pytorch::lowered_operators() {
  std::vector<std::string_view> names;
  for (const OpLowering& lowering : kLowerings) names.push_back(lowering.op);
  return names;
}

}  // namespace pagoda::inline core
