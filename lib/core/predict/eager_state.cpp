#include "predict/eager_state.h"

#include <algorithm>

#include "predict/graph_facts.h"

namespace pagoda::inline core {
namespace {

const Tile kUnknown = {};

// A network of many convolutions without one norm or bias is not built; onnxscript's optimizer makes it of one whose
// norms have their initial values (torch.export of PyTorch 2.15, exports of mobilenet_v2 and resnet18 without
// training).
bool lost_biases(const Model& model) {
  constexpr std::string_view kNorms[] = {"BatchNormalization", "GroupNormalization", "InstanceNormalization",
                                         "LayerNormalization"};
  constexpr int kMany = 8;
  int convolutions = 0;
  for (const Node& node : model.main().nodes) {
    if (is_one_of(node.op_type, kNorms)) return false;
    if (node.op_type != "Conv") continue;
    if (node.input(2) != kAbsent && !model.main().value(node.input(2)).name.ends_with(pytorch::kMergedBias))
      return false;
    ++convolutions;
  }
  return model.producer == "pytorch" && convolutions >= kMany;
}

}  // namespace

EagerState::EagerState(const Model& model, const Analysis& analysis, const EagerOptions& options)
    : model_(model),
      analysis_(analysis),
      options_(options),
      rows_(rows_of_nodes(model.main(), analysis)),
      tiles_(model.main().values.size()),
      lacks_biases_(lost_biases(model)) {
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    const Value& value = graph().values[i];
    if (value.initializer < 0 && !value.is_input) continue;
    tiles_[i] = declared(static_cast<ValueId>(i));
    tiles_[i].is_constant = value.initializer >= 0;
    if (options.channels_last && tiles_[i].sizes.size() == 4) tiles_[i].strides = channels_last(tiles_[i].sizes);
  }
}

Tile EagerState::declared(ValueId value) const {
  Tile tile;
  if (value == kAbsent) return tile;
  const TensorType& type = analysis_.types[static_cast<std::size_t>(value)];
  if (!type.shape || type.container != Container::Tensor) return tile;
  tile.known = true;
  tile.type = type.element == ElementType::Bfloat16 ? ElementType::Float16 : type.element;
  for (const Dim& dim : *type.shape) tile.sizes.push_back(static_cast<std::int64_t>(dim.evaluate(bindings())));
  tile.strides = contiguous(tile.sizes);
  return tile;
}

const Tile& EagerState::tile(ValueId value) const {
  return value == kAbsent ? kUnknown : tiles_[static_cast<std::size_t>(value)];
}

void EagerState::set(ValueId value, Tile tile) {
  if (value == kAbsent) return;
  tile.known = true;
  if (!kernels_.empty() && kernels_.back().row == row_ && kernels_.back().written == 0)
    kernels_.back().written = std::min(tile.bytes(), kernels_.back().bytes);
  tiles_[static_cast<std::size_t>(value)] = std::move(tile);
}

void EagerState::launch(KernelLaunch kernel) {
  kernel.row = row_;
  kernels_.push_back(kernel);
}

std::vector<KernelLaunch> EagerState::take() {
  // A kernel is taken to read what the latest of the last kLook kernels with a comparable output wrote; casts of
  // weights may lie between.
  constexpr std::size_t kLook = 6;
  for (std::size_t i = 1; i < kernels_.size(); ++i) {
    KernelLaunch& kernel = kernels_[i];
    const double read = kernel.bytes - kernel.written;
    double between = kernel.bytes / 2;
    for (std::size_t back = 1; back <= std::min(i, kLook); ++back) {
      const KernelLaunch& earlier = kernels_[i - back];
      if (earlier.written > read / 8) {
        kernel.fresh = std::min(read, earlier.written);
        kernel.distance = between + earlier.bytes / 2;
        break;
      }
      between += earlier.bytes;
    }
  }
  return std::move(kernels_);
}

Tile EagerState::cast(Tile tile, ElementType type) {
  if (tile.type == type || !is_float(tile.type)) return tile;
  return converted(std::move(tile), type);
}

Tile EagerState::converted(Tile tile, ElementType type) {
  // A broadcast tensor (Expand) counts in full, although only its distinct elements are stored.
  const double before = tile.bytes();
  tile.type = type;
  if (!is_dense(tile.sizes, tile.strides)) tile.strides = contiguous(tile.sizes);
  launch({.kind = KernelClass::Cast, .bytes = before + tile.bytes(), .written = tile.bytes()});
  return tile;
}

Tile EagerState::copy(Tile tile, Strides strides) {
  const bool is_aligned = same_inner_axis(tile.sizes, tile.strides, strides);
  launch({.kind = is_aligned ? KernelClass::Copy : KernelClass::CopyTransposing,
          .bytes = 2 * tile.bytes(),
          .written = tile.bytes()});
  tile.strides = std::move(strides);
  return tile;
}

Tile EagerState::make_contiguous(Tile tile) {
  if (is_contiguous(tile.sizes, tile.strides)) return tile;
  return copy(tile, contiguous(tile.sizes));
}

Tile EagerState::make_packed(Tile tile) {
  if (!is_channels_last(tile.sizes, tile.strides)) return make_contiguous(std::move(tile));
  if (is_dense(tile.sizes, tile.strides)) return tile;
  return copy(tile, channels_last(tile.sizes));
}

Tile EagerState::reshaped(Tile tile, const Sizes& sizes) {
  if (auto strides = view_as(tile.sizes, tile.strides, sizes)) {
    tile.sizes = sizes;
    tile.strides = std::move(*strides);
    return tile;
  }
  tile = make_contiguous(std::move(tile));
  tile.sizes = sizes;
  tile.strides = contiguous(sizes);
  return tile;
}

}  // namespace pagoda::inline core
