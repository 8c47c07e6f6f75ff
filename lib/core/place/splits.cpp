// Gathers and Slices that read each part of a dim once become one Split.
// Source: onnxruntime/core/optimizer/gather_fusion.cc, release 1.31; compared with the graphs that the runtime writes.
#include <algorithm>
#include <optional>
#include <utility>

#include "ops/shape_math.h"
#include "place/loaded.h"

namespace pagoda::inline core {

struct LoadedGraph::Piece {
  std::int32_t node;
  std::int64_t axis, begin, end;
};

std::optional<std::int64_t> LoadedGraph::stored_integer(ValueId value) const {
  const TensorValue* held = is_constant(value) ? known(value) : nullptr;
  return held == nullptr || held->size() != 1 ? std::nullopt : integer_of(held->front());
}

// What a Gather or Slice takes of the value.
std::optional<LoadedGraph::Piece> LoadedGraph::piece_of(std::int32_t id, ValueId value) const {
  const LoadedNode& each = node(id);
  const Shape* sizes = shape(value);
  if (!is_plain(each) || sizes == nullptr || each.inputs.size() < 2 || each.inputs[0] != value) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(sizes->size());
  const auto size_of = [&](std::int64_t axis) {
    return axis < 0 || axis >= rank ? std::nullopt : (*sizes)[at(static_cast<std::int32_t>(axis))].value64();
  };
  std::optional<std::int64_t> axis, begin, end;
  if (each.op == "Gather") {
    axis = !each.axes.empty() ? each.axes.front() : each.like == nullptr ? 0 : each.like->integer("axis", 0);
    begin = stored_integer(each.inputs[1]);
    end = begin;
  } else if (each.op == "Slice" && each.inputs.size() > 2) {
    axis = !each.axes.empty()       ? std::optional(each.axes.front())
           : each.inputs.size() > 3 ? stored_integer(each.inputs[3])
                                    : std::optional<std::int64_t>(0);
    begin = stored_integer(each.inputs[1]);
    end = stored_integer(each.inputs[2]);
    if (each.inputs.size() > 4 && stored_integer(each.inputs[4]) != 1) return std::nullopt;
  }
  if (!axis || !begin || !end) return std::nullopt;
  if (*axis < 0) *axis += rank;
  const auto size = size_of(*axis);
  if (!size) return std::nullopt;
  if (*begin < 0) *begin += *size;
  if (*end < 0) *end += *size;
  if (each.op == "Gather") end = *begin + 1;
  return Piece{id, *axis, std::clamp<std::int64_t>(*begin, 0, *size), std::clamp<std::int64_t>(*end, 0, *size)};
}

bool LoadedGraph::fuse_split(ValueId value, const std::vector<bool>& is_taken) {
  if (is_vague(value) || (writer(value) >= 0 && node(writer(value)).op == "Shape")) return false;
  std::vector<Piece> pieces;
  for (const std::int32_t reader : readers(value)) {
    if (at(reader) < is_taken.size() && !is_taken[at(reader)]) continue;
    const std::optional<Piece> piece = piece_of(reader, value);
    if (piece && (pieces.empty() || piece->axis == pieces.front().axis)) pieces.push_back(*piece);
  }
  if (pieces.size() < 2) return false;
  std::ranges::sort(pieces, {}, &Piece::begin);
  std::int64_t next = 0;
  for (const Piece& each : pieces)
    if (each.end <= each.begin || std::exchange(next, each.end) != each.begin) return false;
  if ((*shape(value))[static_cast<std::size_t>(pieces.front().axis)] != Dim(next)) return false;
  LoadedNode split = made_node("Split", {value});
  std::vector<std::int32_t> nodes(pieces.size());
  std::ranges::transform(pieces, nodes.begin(), &Piece::node);
  split.made_of = note_fused(kSplits, nodes, node(nodes.front()).outputs.front());
  for (const Piece& each : pieces) {
    split.outputs.push_back(node(each.node).outputs.front());
    remove(each.node);
  }
  add_node(std::move(split));
  return true;
}

bool LoadedGraph::fuse_splits(const std::vector<bool>& is_taken) {
  constexpr std::int64_t kFirstOpset = 13;
  bool has_changed = false;
  if (model_.opset("") < kFirstOpset) return false;
  const std::size_t count = values_.size();
  for (std::size_t value = 0; value < count; ++value)
    if (values_[value].readers.size() > 1) has_changed |= fuse_split(static_cast<ValueId>(value), is_taken);
  return has_changed;
}

}  // namespace pagoda::inline core
