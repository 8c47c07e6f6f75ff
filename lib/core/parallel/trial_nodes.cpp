// From the parts of a node's operands to the parts of its results, by kind of operator.
#include <algorithm>

#include "parallel/trial.h"

namespace pagoda::inline core {
namespace {

const Part& first_part(const Trial& trial, std::int32_t id, const Node& node) {
  const Part* part = trial.part_of(node.input(0));
  if (part == nullptr) trial.stop(id, "takes parts in an operand that holds its sizes");
  return *part;
}

// Fits a whole operand to a result in parts, splitting a weight. False if the operand must first be in parts. The
// last `inner` axes are those of matrices, which stay whole.
bool match(Trial& trial, std::int32_t id, ValueId input, const Part& result, const Shape& whole,
           std::size_t inner = 0) {
  const Shape& own = trial.shape(input);
  for (std::size_t axis = 0; axis + inner < own.size(); ++axis) {
    const std::size_t there = whole.size() - own.size() + axis;
    if (result.shape[there] == whole[there] || own[axis] == Dim(1)) continue;
    if (inner > 0 || !trial.lookup.is_constant[index(input)]) {
      trial.wait(id, input);
      return false;
    }
    trial.split_weight(input, static_cast<int>(axis), fraction({result.shape[there]}, {whole[there]}));
  }
  return true;
}

// Element-wise: operands broadcast along the split axis stay whole, weights are split, others must be in parts.
void pointwise(Trial& trial, std::int32_t id, const Node& node) {
  const Shape& whole = trial.shape(node.output(0));
  std::optional<Part> result;
  for (const ValueId input : node.inputs) {
    const Part* part = trial.part_of(input);
    if (part == nullptr || trial.lookup.is_constant[index(input)]) continue;
    const auto each = broadcast(*part, trial.shape(input), whole);
    if (!each) trial.stop(id, "takes parts that do not fit its result");
    if (result && result->shape != each->shape) trial.stop(id, "takes parts of different sizes");
    if (!result || each->replicas > result->replicas) result = each;
  }
  if (!result) return;
  bool waits = false;
  for (const ValueId input : node.inputs)
    if (input != kAbsent && trial.part_of(input) == nullptr) waits = !match(trial, id, input, *result, whole) || waits;
  if (waits) return;
  for (const ValueId output : node.outputs) trial.set(output, *result);
}

// Products of activations alone: the batch axes of the matrices are split.
void matrices(Trial& trial, std::int32_t id, const Node& node) {
  const Shape& whole = trial.shape(node.output(0));
  std::optional<Part> result;
  for (const ValueId input : {node.input(0), node.input(1)}) {
    const Part* part = trial.part_of(input);
    const Shape& own = trial.shape(input);
    if (part == nullptr) continue;
    if (own.size() < 3 || is_split(*part, own, -1) || is_split(*part, own, -2))
      trial.stop(id, "contracts an axis that is split, of two activations");
    Part counted{.shape = {part->shape.begin(), part->shape.end() - 2},
                 .replicas = part->replicas,
                 .has_heads = true,
                 .origin = part->origin};
    const auto each = broadcast(counted, {own.begin(), own.end() - 2}, {whole.begin(), whole.end() - 2});
    if (!each) trial.stop(id, "takes parts that do not fit its result");
    if (!result || fraction(each->shape, {whole.begin(), whole.end() - 2}).whole > 1) {
      if (result && result->shape != each->shape && each->replicas == 1 && result->replicas == 1)
        trial.stop(id, "takes parts of different sizes");
      if (!result || each->replicas < result->replicas) result = each;
    }
  }
  if (!result) return;
  result->shape.insert(result->shape.end(), whole.end() - 2, whole.end());
  for (const ValueId input : {node.input(0), node.input(1)})
    if (trial.part_of(input) == nullptr && !match(trial, id, input, *result, whole, 2)) return;
  trial.set(node.output(0), *result);
}

// Split axes pass through unchanged; the operands after the first only affect the other axes.
void keep_axes(Trial& trial, std::int32_t id, const Node& node) {
  const Part& part = first_part(trial, id, node);
  const Shape& from = trial.shape(node.input(0));
  for (const ValueId output : node.outputs) {
    if (output == kAbsent) continue;
    const Shape& to = trial.shape(output);
    Part rest = part;
    Shape left = from;
    if (to.size() < from.size()) {  // an axis was reduced away, or one entry of it was picked
      std::int64_t axis = node.integer("axis", 0);
      if (const auto* axes = node.integers("axes"); axes != nullptr && axes->size() == 1) axis = axes->front();
      if (axis < 0) axis += static_cast<std::int64_t>(from.size());
      if (is_split(part, from, static_cast<int>(axis)) || index(static_cast<std::int32_t>(axis)) >= from.size())
        trial.stop(id, "works along an axis that would be split");
      rest.shape.erase(rest.shape.begin() + axis);
      left.erase(left.begin() + axis);
    }
    const auto result = same_axes(rest, left, to);
    if (!result) trial.stop(id, "works along an axis that would be split");
    trial.set(output, *result);
  }
}

void norm(Trial& trial, std::int32_t id, const Node& node, RowAxes rows) {
  const Part& part = first_part(trial, id, node);
  const Shape& whole = trial.shape(node.input(0));
  const auto rank = static_cast<std::int64_t>(whole.size());
  std::int64_t first = rank - 1;
  if (rows == RowAxes::Softmax || rows == RowAxes::FromAxis) {
    first = node.integer("axis", -1);
    if (first < 0) first += rank;
  } else if (rows != RowAxes::Last) {
    trial.stop(id, "takes statistics over a tensor that would be split");
  }
  for (std::int64_t axis = first; axis < rank; ++axis) {
    if (is_split(part, whole, static_cast<int>(axis)))
      trial.stop(id, "takes statistics along an axis that would be split");
    if (rows == RowAxes::Softmax) break;
  }
  keep_axes(trial, id, node);
}

// New rows placed in a cache, which is split like the rows.
void scatter(Trial& trial, std::int32_t id, const Node& node) {
  const Part* added = trial.part_of(node.input(1));
  if (added == nullptr) trial.stop(id, "takes a cache in parts and new rows that are whole");
  const auto part = same_axes(*added, trial.shape(node.input(1)), trial.shape(node.input(0)));
  if (!part) trial.stop(id, "places rows along an axis that would be split");
  trial.set(node.input(0), *part);
  trial.set(node.output(0), *part);
}

// The past cache that the value is, or that one node passes on to it; else kAbsent.
ValueId past_behind(const Trial& trial, ValueId value) {
  if (trial.lookup.pasts.contains(value)) return value;
  const std::int32_t from = trial.lookup.producer[index(value)];
  if (from < 0) return kAbsent;
  const Node& node = trial.lookup.graph.node(from);
  const bool passes = node.inputs.size() == 1 && (node.op_type == "Concat" || node.op_type == "Identity");
  return passes && trial.lookup.pasts.contains(node.input(0)) ? node.input(0) : kAbsent;
}

void concat(Trial& trial, std::int32_t id, const Node& node) {
  std::int64_t along = node.integer("axis", 0);
  if (along < 0) along += static_cast<std::int64_t>(trial.shape(node.output(0)).size());
  const Part* known = nullptr;
  for (const ValueId input : node.inputs)
    if (const Part* part = trial.part_of(input);
        part != nullptr && (known == nullptr || part->replicas > known->replicas))
      known = part;
  if (known == nullptr) return;
  Part result = *known;
  Dim sum = 0;
  for (const ValueId input : node.inputs) {
    if (trial.part_of(input) == nullptr) {
      Part part = result;
      part.shape[along] = trial.shape(input)[along];
      if (part.shape != trial.shape(input)) {
        const ValueId past = past_behind(trial, input);
        if (past == kAbsent) return trial.wait(id, input);
        part.shape[along] = trial.shape(past)[along];
        trial.set(past, part);
        if (past != input) return;  // visited again when its operand is in parts
      }
    }
    const Part* part = trial.part_of(input);
    sum += (part != nullptr ? part->shape : trial.shape(input))[along];
  }
  result.shape[along] = sum;
  trial.set(node.output(0), result);
}

// Several projections in one product: each projection's part of the split axis is split separately.
void pieces(Trial& trial, std::int32_t id, const Node& node) {
  const ValueId packed = node.input(0);
  const Part& part = first_part(trial, id, node);
  const Shape& whole = trial.shape(packed);
  const int axis = split_axis(part, whole);
  const auto at = index(axis);
  const bool passes = std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
    return output == kAbsent || trial.shape(output)[at] == whole[at];
  });
  if (passes) return keep_axes(trial, id, node);
  if (part.has_heads || part.origin == kAbsent) trial.stop(id, "takes pieces of an axis that would be split");
  std::vector<ValueId> all;
  for (const std::int32_t reader : trial.lookup.readers[index(packed)])
    if (trial.lookup.graph.node(reader).op_type == node.op_type)
      for (const ValueId output : trial.lookup.graph.node(reader).outputs)
        if (output != kAbsent) all.push_back(output);
  Dim sum = 0, sum_whole = 0;
  std::vector<Part> parts;
  for (const ValueId piece : all) {
    const Shape& size = trial.shape(piece);
    Part each{.shape = size, .origin = piece};
    if (const auto known = trial.learnt.find(piece); known != trial.learnt.end()) {
      each.replicas = known->second.replicas;
      each.shape[at] = known->second.shape[at];
    } else {
      const auto share = exact_div(size[at], trial.devices);
      if (!share)
        trial.note_uneven(trial.lookup.name(id) + " takes pieces that " + to_string(trial.devices) +
                          " devices do not divide");
      each.shape[at] = share.value_or(ceil_div(size[at], trial.devices));
    }
    sum += each.shape[at];
    sum_whole += size[at];
    parts.push_back(each);
  }
  if (sum_whole != whole[at]) trial.stop(id, "takes pieces that are not all of an axis that would be split");
  if (sum != part.shape[at]) trial.restart(id, "pieces", part.origin, sum);
  for (std::size_t i = 0; i < all.size(); ++i) trial.set(all[i], parts[i]);
}

// Number of devices that hold the same head: 1 if there are enough heads for all.
Int replicas_of(const Trial& trial, std::int32_t id, Int heads) {
  if (heads % trial.devices == 0) return 1;
  if (heads > 0 && trial.devices % heads == 0) return trial.devices / heads;
  trial.give_up(cat(to_string(trial.devices), " devices do not divide the ", to_string(heads), " heads of ",
                    trial.lookup.name(id), ", nor do those divide the devices"));
}

// Stops the trial, or restarts it with the origin of the split cut between its `heads` heads.
[[noreturn]] void share_heads(Trial& trial, std::int32_t id, const Part& part, const Dim& heads) {
  const auto count = heads.value();
  if (!count || part.origin == kAbsent || part.has_heads || *count % trial.devices == 0)
    trial.stop(id, "cuts a split axis in another place");
  const Int replicas = replicas_of(trial, id, *count);  // one head each if there are fewer heads than devices
  const Dim& whole = trial.shape(part.origin).back();
  trial.restart(id, "heads", part.origin, exact_div(whole * replicas, trial.devices).value_or(whole), replicas);
}

void rearrange(Trial& trial, std::int32_t id, const Node& node, OpKind kind) {
  const Part& part = first_part(trial, id, node);
  const Shape& from = trial.shape(node.input(0));
  const Shape& to = trial.shape(node.output(0));
  std::optional<Part> result;
  if (kind == OpKind::Expand) {
    result = broadcast(part, from, to);
  } else if (kind == OpKind::Transpose) {
    const auto* perm = node.integers("perm");
    result = part;
    for (std::size_t axis = 0; axis < from.size(); ++axis)
      result->shape[axis] =
          part.shape[perm == nullptr ? from.size() - 1 - axis : index(static_cast<std::int32_t>((*perm)[axis]))];
  } else {
    Dim heads = 0;
    result = reshaped(part, from, to, &heads);
    if (!result && heads != Dim(0)) share_heads(trial, id, part, heads);
  }
  if (!result) trial.stop(id, "cuts a split axis in another place");
  trial.set(node.output(0), *result);
}

// Checks the heads of an operand [tokens …, heads · size]: its part must have `expected` elements in the last axis.
void expect_heads(Trial& trial, std::int32_t id, ValueId value, const Dim& expected, Int replicas) {
  if (value == kAbsent) return;
  const Part* part = trial.part_of(value);
  if (part == nullptr) return trial.wait(id, value);
  if (part->shape.back() == expected) return;
  if (part->origin == kAbsent || trial.shape(part->origin).back() != trial.shape(value).back())
    trial.stop(id, "takes heads that are split in another way");
  trial.restart(id, "heads", part->origin, expected, replicas);
}

// The caches of keys and values that an attention takes, from input `past` on, and returns.
void split_caches(Trial& trial, const Node& node, std::size_t past, int axis, const Dim& heads, Int replicas) {
  for (const ValueId cache : {node.input(past), node.input(past + 1), node.output(1), node.output(2)}) {
    if (cache == kAbsent) continue;
    Part part{.shape = trial.shape(cache), .replicas = replicas, .has_heads = true};
    part.shape[axis] = heads;
    trial.set(cache, part);
  }
}

// The standard operator with heads on their own axis, [batch, heads, tokens, size].
void split_attention(Trial& trial, std::int32_t id, const Node& node) {
  for (const std::size_t place : {0U, 1U, 2U})
    if (trial.part_of(node.input(place)) == nullptr) return trial.wait(id, node.input(place));
  const Part& query = *trial.part_of(node.input(0));
  const Part& key = *trial.part_of(node.input(1));
  for (const std::size_t place : {0U, 1U, 2U})
    for (const int axis : {0, 2, 3})
      if (is_split(*trial.part_of(node.input(place)), trial.shape(node.input(place)), axis))
        trial.stop(id, "takes operands that are split in another axis than the heads");
  Part part{.shape = trial.shape(node.output(0)), .has_heads = true};
  part.shape[1] = query.shape[1];
  trial.set(node.output(0), part);
  split_caches(trial, node, 4, 1, key.shape[1], key.replicas);
}

void attention(Trial& trial, std::int32_t id, const Node& node) {
  if (node.op_type == "RotaryEmbedding") return keep_axes(trial, id, node);
  const bool grouped = node.op_type == "GroupQueryAttention" || node.op_type == "PagedAttention";
  const bool multi = node.op_type == "MultiHeadAttention";
  const bool standard = node.op_type == "Attention" && node.domain.empty();
  if (!grouped && !multi && !standard) trial.stop(id, "is an attention that is not split");
  if (standard && trial.shape(node.input(0)).size() == 4) return split_attention(trial, id, node);
  const Int heads = node.integer(standard ? "q_num_heads" : "num_heads", 0);
  const Int key_heads = multi ? heads : node.integer("kv_num_heads", 0);
  if (heads <= 0 || key_heads <= 0) trial.stop(id, "states no heads");
  if (heads % trial.devices != 0)
    trial.give_up(cat(to_string(trial.devices), " devices do not divide the ", to_string(heads), " query heads of ",
                      trial.lookup.name(id), "; give a divisor of them"));
  const Int replicas = replicas_of(trial, id, key_heads);
  const bool packed = node.input(1) == kAbsent;
  if (packed && multi) trial.stop(id, "takes queries, keys and values packed");
  const Dim per_head = floor_div(trial.shape(node.input(0)).back(), heads + (packed ? 2 * key_heads : 0));
  const Int own = heads / trial.devices, own_keys = key_heads * replicas / trial.devices;
  expect_heads(trial, id, node.input(0), per_head * (own + (packed ? 2 * own_keys : 0)), 1);
  if (!packed)
    for (const std::size_t place : {1U, 2U})
      if (node.input(place) != kAbsent && trial.shape(node.input(place)).size() < 4)
        expect_heads(trial, id, node.input(place),
                     floor_div(trial.shape(node.input(place)).back(), key_heads) * own_keys, replicas);
  if (trial.waits(id)) return;
  const std::size_t past = multi ? 6 : standard ? 4 : 3;
  const int axis = node.op_type == "PagedAttention" ? 2 : 1;
  split_caches(trial, node, past, axis, own_keys, replicas);
  Part part{.shape = trial.shape(node.output(0)), .has_heads = true};
  part.shape.back() = floor_div(part.shape.back(), heads) * own;
  trial.set(node.output(0), part);
}

}  // namespace

void place_results(Trial& trial, std::int32_t id) {
  const Node& node = trial.lookup.graph.node(id);
  const NodeReport* row = trial.lookup.rows[index(id)];
  if (row == nullptr || !node.bodies().empty()) trial.stop(id, "has a body");
  if (row->cost.mark == Mark::Host || row->facts.placement == Placement::AsksShape) return;
  if (node.output(0) == kAbsent || trial.lookup.is_constant[index(node.output(0))]) return;
  if (const auto form = trial.lookup.product(id)) {
    if (const Part* part = trial.part_of(node.input(0))) trial.split_rows(id, *form, *part);
    return;
  }
  const OpKind kind = row->facts.kind;
  if (kind == OpKind::Pointwise) return pointwise(trial, id, node);
  if (kind == OpKind::Product && row->facts.form == ProductForm::Matrices) return matrices(trial, id, node);
  if (kind == OpKind::View || kind == OpKind::Expand || kind == OpKind::Transpose)
    return rearrange(trial, id, node, kind);
  if (kind == OpKind::Norm) return norm(trial, id, node, row->facts.rows);
  if (kind == OpKind::Attention) return attention(trial, id, node);
  if (node.op_type == "Concat") return concat(trial, id, node);
  if (node.op_type == "Split" || node.op_type == "Slice") return pieces(trial, id, node);
  if (node.op_type == "TensorScatter") return scatter(trial, id, node);
  if (node.op_type == "DynamicQuantizeLinear")  // each device finds the scale of its part
    return trial.set(node.output(0), first_part(trial, id, node));
  constexpr OpKind kKeeping[] = {OpKind::Quantize, OpKind::Dequantize, OpKind::Layout, OpKind::Reduction};
  if (std::find(std::begin(kKeeping), std::end(kKeeping), kind) != std::end(kKeeping) || node.op_type == "Gather")
    return keep_axes(trial, id, node);
  trial.stop(id, "needs the whole of a tensor that would be split");
}

}  // namespace pagoda::inline core
