// Rearranging and repeating elements: output bytes that have to be written, without arithmetic.
#include <numeric>

#include "ops/fixed_sizes.h"
#include "ops/fold.h"
#include "ops/images.h"

namespace pagoda::inline core::ops {
namespace {

// --- Transpose ---

std::vector<std::size_t> permutation(const OpContext& op, std::size_t rank) {
  std::vector<std::size_t> perm(rank);
  std::iota(perm.rbegin(), perm.rend(), std::size_t{0});
  const auto listed = op.integer_list("perm");
  if (!listed || (listed->empty() && rank > 0)) return perm;
  if (listed->size() != rank) op.fail(cat("perm has ", listed->size(), " entries for rank ", rank));
  const std::vector<int> axes = normal_axes(op, *listed, static_cast<int>(rank));
  std::copy(axes.begin(), axes.end(), perm.begin());
  return perm;
}

Shape transposed_shape(OpContext& op) {
  Shape shape;
  for (const std::size_t axis : permutation(op, op.shape(0).size())) shape.push_back(op.shape(0)[axis]);
  return shape;
}

void fold_transpose(OpContext& op) {
  const auto input = known_input(op, 0);
  if (!input) return;
  const std::vector<std::size_t> perm = permutation(op, input->shape.size());
  const Extents from = strides_of(input->shape);
  fold_axes(op, [&](std::size_t axis, std::int64_t at) { return at * from[perm[axis]]; });
}

}  // namespace

Shape depth_to_space_shape(OpContext& op) {
  const Dim block = positive_attribute(op, "blocksize");
  expect_rank(op, 0, 4);
  Image image = image_of(op);
  image.channels = divided(op, image.channels, block * block, "channels and blocks");
  for (Dim& size : image.spatial) size *= block;
  return image.shape(layout_of(op));
}

Shape space_to_depth_shape(OpContext& op) {
  const Dim block = positive_attribute(op, "blocksize");
  expect_rank(op, 0, 4);
  Image image = image_of(op);
  image.channels *= block * block;
  for (Dim& size : image.spatial) size = divided(op, size, block, "image and blocks");
  return image.shape(layout_of(op));
}

namespace {

// --- Expand ---

Dim followed_size(const OpContext& op, std::size_t rank, std::size_t axis, const Dim& own, const Dim& size) {
  const FixedSizes* fixed = op.fixed_sizes();
  if (fixed == nullptr || !size.is_constant() || size == Dim(1)) return size;
  if (fixed->hold_other(own)) return fixed->as_exported(own) == size ? own : size;
  // Constants made of constants are as good as stored: they follow where they are met element by element.
  if (own != Dim(1) || (op.is_constant(0) && op.is_constant(1))) return size;
  return size_of_similar_tensors(op, rank, axis, size);
}

void infer_expand(OpContext& op) {
  static_cast<void>(op.input(1));
  set_element(op, 0, op.element(0));
  if (!op.has_shape(0)) return;
  const Shape& shape = op.shape(0);
  if (const TensorValue* target = op.value(1)) {
    // Where a target size is unknown, the input's own size stays, unless it is or may be 1.
    Shape stated;
    const std::size_t offset = target->size() > shape.size() ? 0 : shape.size() - target->size();
    const std::size_t added = target->size() > shape.size() ? target->size() - shape.size() : 0;
    for (std::size_t i = 0; i < target->size(); ++i) {
      const auto size = as_dim((*target)[i]);
      if (size && size->is_constant() && *size->value() < 0) op.fail("a target size of " + size->to_string());
      const Dim own = i < added ? Dim(1) : shape[offset + i - added];
      const bool fixed = own.is_constant() && own != Dim(1);
      // In a fixed export, a stated size is the input's own or that of other tensors.
      stated.push_back(size    ? followed_size(op, target->size(), i, own, *size)
                       : fixed ? own
                               : op.fresh("expanded_dim", "a size computed from data"));
    }
    return op.set_output(0, op.element(0), op.broadcast(shape, stated));
  }
  const auto length = entry_count(op, 1);
  if (!length) return;
  Shape result = shape;
  while (result.size() < *length) result.insert(result.begin(), 1);
  for (std::size_t i = result.size() - *length; i < result.size(); ++i)
    if (!result[i].is_constant() || result[i] == Dim(1))
      result[i] = op.fresh("expanded_dim", "a size computed from data");
  op.set_output(0, op.element(0), std::move(result));
}

void fold_expand(OpContext& op) {
  const auto input = known_input(op, 0);
  const auto output = small_output(op, 0);
  if (input && output) return fold_moved(op, BroadcastIndex(*output, input->shape));
  if (!input) return fold_same(op);
  if (input->count == 1) publish_uniform(op, (*input)[0]);
}

// --- Tile ---

// How often each axis is repeated. Opset 1 names one axis and one count; since opset 6 there is a count per axis.
TensorValue repeats(const OpContext& op) {
  const auto rank = static_cast<std::size_t>(op.rank(0));
  const TensorValue* counts = op.value(1);
  if (op.opset() >= 6) {
    if (counts != nullptr && counts->size() != rank) op.fail(cat(counts->size(), " repeats for rank ", rank));
    return counts != nullptr ? *counts : TensorValue(rank);
  }
  const TensorValue* axis = op.value(2);
  const auto along = axis != nullptr && axis->size() == 1 ? as_real((*axis)[0]) : std::nullopt;
  if (!along) op.unknown("the axis to repeat is not known");
  const Scalar count = counts != nullptr && counts->size() == 1 ? (*counts)[0] : Scalar();
  TensorValue result(rank, Dim(1));
  result[normal_axis(op, static_cast<std::int64_t>(*along), op.rank(0))] =
      convert(count, op.element(1), ElementType::Int64);
  return result;
}

Shape tiled_shape(OpContext& op) {
  static_cast<void>(op.input(1));
  Shape shape = op.shape(0);
  const TensorValue counts = repeats(op);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto count = as_dim(counts[i]);
    if (count && count->is_constant() && *count->value() < 0) op.fail("repeats holds " + count->to_string());
    if (count && shape[i] == Dim(1))
      shape[i] = followed_size(op, shape.size(), i, 1, *count);
    else
      shape[i] = count ? shape[i] * *count : op.fresh("tiled_dim", "repeats are computed from data");
  }
  return shape;
}

void fold_tile(OpContext& op) {
  const auto input = known_input(op, 0);
  if (!input) return;
  const Extents from = strides_of(input->shape);
  fold_axes(op, [&](std::size_t axis, std::int64_t at) { return at % input->shape[axis] * from[axis]; });
}

// --- Pad ---

// Elements added (negative: removed) before and after each axis; unknown where they are computed from data.
using Padding = std::optional<std::pair<Dim, Dim>>;

std::vector<Padding> padding(const OpContext& op) {
  const std::size_t rank = op.shape(0).size();
  TensorValue listed;
  if (op.opset() < 11 && !op.has_input(1)) {
    const auto pads = op.integer_list(op.opset() < 2 ? "paddings" : "pads");
    if (!pads) op.fail("attribute pads is missing");
    listed.assign(pads->begin(), pads->end());
  } else if (const TensorValue* pads = op.value(1)) {
    listed = *pads;
  } else {
    static_cast<void>(op.input(1));
    return std::vector<Padding>(rank);
  }
  std::vector<std::int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (op.has_input(3)) {
    const auto stated = op.integers(3);
    if (!stated) return std::vector<Padding>(rank);
    axes = *stated;
  }
  if (listed.size() != 2 * axes.size())
    op.fail(cat("pads has ", listed.size(), " entries, expected ", 2 * axes.size()));
  std::vector<Padding> result(rank, std::pair(Dim(0), Dim(0)));
  const std::vector<int> normal = normal_axes(op, axes, op.rank(0));
  for (std::size_t i = 0; i < normal.size(); ++i) {
    const auto begin = as_dim(listed[i]), end = as_dim(listed[i + normal.size()]);
    result[normal[i]] = begin && end ? Padding(std::pair(*begin, *end)) : std::nullopt;
  }
  return result;
}

Shape padded_shape(OpContext& op) {
  Shape shape = op.shape(0);
  const std::vector<Padding> pads = padding(op);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    shape[i] =
        pads[i] ? shape[i] + pads[i]->first + pads[i]->second : op.fresh("padded_dim", "pads are computed from data");
    if (shape[i].is_constant() && *shape[i].value() < 0) op.fail(cat("pads remove more than axis ", i, " has"));
  }
  return shape;
}

// Reads only the elements that negative pads do not crop.
OpCost cost_pad(const OpContext& op) {
  const std::vector<Padding> pads = padding(op);
  Dim kept = 1;
  for (std::size_t i = 0; i < pads.size(); ++i) {
    const Dim& size = op.shape(0)[i];
    kept *= pads[i] ? max(size + min(pads[i]->first, 0) + min(pads[i]->second, 0), 0) : size;
  }
  return cost_reading(op, {}, byte_size(kept, op.element(0)));
}

// --- Trilu, ReverseSequence ---

void infer_trilu(OpContext& op) {
  if (op.has_shape(0) && op.rank(0) < 2) op.fail(cat("the input has rank ", op.rank(0), ", expected 2 or more"));
  op.set_output(0, op.input(0));
}

// The same where the elements are too many to list: 0 outside the band.
void fold_large_trilu(OpContext& op, bool upper) {
  const ValueInfo* input = OpContext::State::of(op).inputs[0];
  const auto diagonal = op.has_input(1) ? scalar_value(op, 1) : std::optional(Dim(0));
  if (!input->banded || !diagonal) return;
  Banded banded = *input->banded;
  const Scalar zero = is_float(op.element(0)) ? real(0, op.element(0)) : Scalar(Dim(0));
  if ((banded.least || banded.most) && is_true(banded.outside) != false) return;
  banded.outside = zero;
  if (upper)
    banded.least = banded.least ? max(*banded.least, *diagonal) : *diagonal;
  else
    banded.most = banded.most ? min(*banded.most, *diagonal) : *diagonal;
  publish_banded(op, std::move(banded));
}

// Keeps the elements on and above (below) the diagonal that is k to the right of the main one.
void fold_trilu(OpContext& op) {
  const auto input = known_input(op, 0);
  const bool upper = op.flag("upper", true);
  if (!input) return fold_large_trilu(op, upper);
  const auto diagonal = op.has_input(1) ? op.integers(1) : std::vector<std::int64_t>{0};
  if (!diagonal || diagonal->size() != 1) return;
  const std::int64_t columns = input->shape.back();
  const std::int64_t rows = input->shape[input->shape.size() - 2];
  const Scalar zero = is_float(op.element(0)) ? real(0, op.element(0)) : Scalar(Dim(0));
  TensorValue value = *input->known;
  for (std::int64_t i = 0; i < input->count; ++i) {
    const std::int64_t offset = i % columns - i / columns % rows;
    if (upper ? offset < diagonal->front() : offset > diagonal->front()) value[i] = zero;
  }
  publish(op, std::move(value));
}

void infer_reverse_sequence(OpContext& op) {
  if (op.has_shape(0)) {
    const std::size_t time = axis_of(op, 0, "time_axis"), batch = axis_of(op, 1, "batch_axis");
    if (time == batch) op.fail("time_axis and batch_axis are the same");
    if (op.has_shape(1)) {
      if (op.rank(1) != 1) op.fail(cat("sequence_lens has rank ", op.rank(1), ", expected 1"));
      op.unify(op.shape(0)[batch], op.shape(1)[0], "batch and sequence_lens");
    }
  }
  op.set_output(0, op.input(0));
}

// clang-format off
constexpr OpRule kLayoutRules[] = {
    // op               infer                         cost             fold            cost in words
    {"DepthToSpace",    shaped<depth_to_space_shape>, cost_move,       nullptr,        "no arithmetic; reads and writes all", kLayout},
    {"Expand",          infer_expand,                 cost_move_first, fold_expand,    "no arithmetic; reads the input once, writes the output", kExpand},
    {"Pad",             shaped<padded_shape>,         cost_pad,        nullptr,        "no arithmetic; reads what is not cropped", kLayout},
    {"ReverseSequence", infer_reverse_sequence,       cost_move,       nullptr,        "no arithmetic; reads and writes all", kLayout},
    {"SpaceToDepth",    shaped<space_to_depth_shape>, cost_move,       nullptr,        "no arithmetic; reads and writes all", kLayout},
    {"Tile",            shaped<tiled_shape>,          cost_move_first, fold_tile,      "no arithmetic; reads the input once, writes the output", kLayout.with(Numbers::Rearranged).with(Placement::Materialises)},
    {"Transpose",       shaped<transposed_shape>,     cost_move,       fold_transpose, "no arithmetic; reads and writes all", kTranspose},
    {"Trilu",           infer_trilu,                  cost_move_first, fold_trilu,     "no arithmetic; reads and writes all", kLayout},
};
// clang-format on
static_assert(well_formed(kLayoutRules));

}  // namespace

std::span<const OpRule> layout_rules() { return kLayoutRules; }

}  // namespace pagoda::inline core::ops
