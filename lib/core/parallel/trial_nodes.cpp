// From the parts of a node's operands to the parts of its results, by kind of operator.
#include <algorithm>

#include "pagoda/base/cat.h"
#include "parallel/trial.h"

namespace pagoda::inline core {

void Trial::visit(std::int32_t id) {
  const Node& node = lookup_.graph.node(id);
  const NodeReport* row = lookup_.rows[index(id)];
  if (row == nullptr || !node.bodies().empty()) stop(id, "has a body");
  if (row->cost.mark == Mark::Host || row->facts.placement == Placement::AsksShape) return;
  if (node.output(0) == kAbsent || lookup_.is_constant[index(node.output(0))]) return;
  if (const auto form = lookup_.product(id)) {
    if (const Part* part = part_of(node.input(0))) split_rows(id, *form, *part);
    return;
  }
  const OpKind kind = row->facts.kind;
  if (kind == OpKind::Pointwise) return pointwise(id, node);
  if (kind == OpKind::Product && row->facts.form == ProductForm::Matrices) return matrices(id, node);
  if (kind == OpKind::View || kind == OpKind::Expand || kind == OpKind::Transpose) return rearrange(id, node, kind);
  if (kind == OpKind::Norm) return norm(id, node, row->facts.rows);
  if (kind == OpKind::Attention) return attention(id, node);
  if (node.op_type == "Concat") return concat(id, node);
  if (node.op_type == "Split" || node.op_type == "Slice") return pieces(id, node);
  if (node.op_type == "TensorScatter") return scatter(id, node);
  if (node.op_type == "DynamicQuantizeLinear")  // each device finds the scale of its part
    return set(node.output(0), first_part(id, node));
  constexpr OpKind kKeeping[] = {OpKind::Quantize, OpKind::Dequantize, OpKind::Layout, OpKind::Reduction};
  if (std::find(std::begin(kKeeping), std::end(kKeeping), kind) != std::end(kKeeping) || node.op_type == "Gather")
    return keep_axes(id, node);
  stop(id, "needs the whole of a tensor that would be split");
}

void Trial::scatter(std::int32_t id, const Node& node) {
  const Part* added = part_of(node.input(1));
  if (added == nullptr) stop(id, "takes a cache in parts and new rows that are whole");
  const auto part = same_axes(*added, shape(node.input(1)), shape(node.input(0)));
  if (!part) stop(id, "places rows along an axis that would be split");
  set(node.input(0), *part);
  set(node.output(0), *part);
}

const Part& Trial::first_part(std::int32_t id, const Node& node) const {
  const Part* part = part_of(node.input(0));
  if (part == nullptr) stop(id, "takes parts in an operand that holds its sizes");
  return *part;
}

void Trial::pointwise(std::int32_t id, const Node& node) {
  const Shape& whole = shape(node.output(0));
  std::optional<Part> result;
  for (const ValueId input : node.inputs) {
    const Part* part = part_of(input);
    if (part == nullptr || lookup_.is_constant[index(input)]) continue;
    const auto each = broadcast(*part, shape(input), whole);
    if (!each) stop(id, "takes parts that do not fit its result");
    if (result && result->shape != each->shape) stop(id, "takes parts of different sizes");
    if (!result || each->replicas > result->replicas) result = each;
  }
  if (!result) return;
  bool waits = false;
  for (const ValueId input : node.inputs)
    if (input != kAbsent && part_of(input) == nullptr) waits = !match(input, *result, whole) || waits;
  if (waits) return void(waiting_.insert(id));
  for (const ValueId output : node.outputs) set(output, *result);
}

bool Trial::match(ValueId input, const Part& result, const Shape& whole, std::size_t inner) {
  const Shape& own = shape(input);
  for (std::size_t axis = 0; axis + inner < own.size(); ++axis) {
    const std::size_t there = whole.size() - own.size() + axis;
    if (result.shape[there] == whole[there] || own[axis] == Dim(1)) continue;
    if (inner > 0 || !lookup_.is_constant[index(input)]) {
      wanted_.insert(input);
      return false;
    }
    split_weight(input, static_cast<int>(axis), fraction({result.shape[there]}, {whole[there]}));
  }
  return true;
}

void Trial::matrices(std::int32_t id, const Node& node) {
  const Shape& whole = shape(node.output(0));
  std::optional<Part> result;
  for (const ValueId input : {node.input(0), node.input(1)}) {
    const Part* part = part_of(input);
    const Shape& own = shape(input);
    if (part == nullptr) continue;
    if (own.size() < 3 || is_split(*part, own, -1) || is_split(*part, own, -2))
      stop(id, "contracts an axis that is split, of two activations");
    Part counted{.shape = {part->shape.begin(), part->shape.end() - 2},
                 .replicas = part->replicas,
                 .has_heads = true,
                 .origin = part->origin};
    const auto each = broadcast(counted, {own.begin(), own.end() - 2}, {whole.begin(), whole.end() - 2});
    if (!each) stop(id, "takes parts that do not fit its result");
    if (!result || fraction(each->shape, {whole.begin(), whole.end() - 2}).whole > 1) {
      if (result && result->shape != each->shape && each->replicas == 1 && result->replicas == 1)
        stop(id, "takes parts of different sizes");
      if (!result || each->replicas < result->replicas) result = each;
    }
  }
  if (!result) return;
  result->shape.insert(result->shape.end(), whole.end() - 2, whole.end());
  for (const ValueId input : {node.input(0), node.input(1)}) {
    if (part_of(input) == nullptr && !match(input, *result, whole, 2)) return void(waiting_.insert(id));
  }
  set(node.output(0), *result);
}

void Trial::rearrange(std::int32_t id, const Node& node, OpKind kind) {
  const Part& part = first_part(id, node);
  const Shape& from = shape(node.input(0));
  const Shape& to = shape(node.output(0));
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
    if (!result && heads != Dim(0)) share_heads(id, part, heads);
  }
  if (!result) stop(id, "cuts a split axis in another place");
  set(node.output(0), *result);
}

void Trial::share_heads(std::int32_t id, const Part& part, const Dim& heads) {
  const auto count = heads.value();
  if (!count || part.origin == kAbsent || part.has_heads || *count % devices_ == 0)
    stop(id, "cuts a split axis in another place");
  restart(id, "heads", part.origin, head_part(id, shape(part.origin), *count));
}

void Trial::restart(std::int32_t id, std::string_view what, ValueId origin, Part part) const {
  throw TrialStop{.reason = cat(what, " of ", lookup_.name(id)), .origin = origin, .part = std::move(part)};
}

void Trial::give_up(std::string reason) const { throw TrialStop{.reason = std::move(reason), .is_final = true}; }

Part Trial::head_part(std::int32_t id, const Shape& whole, Int heads) const {
  Part part{.shape = whole, .replicas = replicas_of(id, heads)};
  part.shape.back() = exact_div(whole.back() * part.replicas, devices_).value_or(whole.back());
  return part;
}

Int Trial::replicas_of(std::int32_t id, Int heads) const {
  if (heads % devices_ == 0) return 1;
  if (heads > 0 && devices_ % heads == 0) return devices_ / heads;
  give_up(cat(to_string(devices_), " devices do not divide the ", to_string(heads), " heads of ", lookup_.name(id),
              ", nor do those divide the devices"));
}

void Trial::norm(std::int32_t id, const Node& node, RowAxes rows) {
  const Part& part = first_part(id, node);
  const Shape& whole = shape(node.input(0));
  const auto rank = static_cast<std::int64_t>(whole.size());
  std::int64_t first = rank - 1;
  if (rows == RowAxes::Softmax || rows == RowAxes::FromAxis) {
    first = node.integer("axis", -1);
    if (first < 0) first += rank;
  } else if (rows != RowAxes::Last) {
    stop(id, "takes statistics over a tensor that would be split");
  }
  for (std::int64_t axis = first; axis < rank; ++axis) {
    if (is_split(part, whole, static_cast<int>(axis))) stop(id, "takes statistics along an axis that would be split");
    if (rows == RowAxes::Softmax) break;
  }
  keep_axes(id, node);
}

void Trial::keep_axes(std::int32_t id, const Node& node) {
  const Part& part = first_part(id, node);
  const Shape& from = shape(node.input(0));
  for (const ValueId output : node.outputs) {
    if (output == kAbsent) continue;
    const Shape& to = shape(output);
    std::optional<Part> result;
    if (to.size() < from.size()) {  // an axis was reduced away, or one entry of it was picked
      std::int64_t axis = node.integer("axis", 0);
      if (const auto* axes = node.integers("axes"); axes != nullptr && axes->size() == 1) axis = axes->front();
      if (axis < 0) axis += static_cast<std::int64_t>(from.size());
      Part rest = part;
      Shape left = from;
      if (is_split(part, from, static_cast<int>(axis)) || index(static_cast<std::int32_t>(axis)) >= from.size())
        stop(id, "works along an axis that would be split");
      rest.shape.erase(rest.shape.begin() + axis);
      left.erase(left.begin() + axis);
      result = same_axes(rest, left, to);
    } else {
      result = same_axes(part, from, to);
    }
    if (!result) stop(id, "works along an axis that would be split");
    set(output, *result);
  }
}

void Trial::concat(std::int32_t id, const Node& node) {
  const Shape& whole = shape(node.output(0));
  std::int64_t along = node.integer("axis", 0);
  if (along < 0) along += static_cast<std::int64_t>(whole.size());
  const Part* known = nullptr;
  for (const ValueId input : node.inputs)
    if (const Part* part = part_of(input); part != nullptr && (known == nullptr || part->replicas > known->replicas))
      known = part;
  if (known == nullptr) return;
  Part result = *known;
  result.shape = whole;
  for (std::size_t axis = 0; axis < whole.size(); ++axis)
    if (static_cast<std::int64_t>(axis) != along && known->shape[axis] != whole[axis])
      result.shape[axis] = known->shape[axis];
  Dim sum = 0;
  for (const ValueId input : node.inputs) {
    if (part_of(input) == nullptr) {
      Part part = result;
      part.shape[along] = shape(input)[along];
      if (part.shape != shape(input)) {
        const ValueId past = past_behind(input);
        if (past == kAbsent) {
          wanted_.insert(input);
          return void(waiting_.insert(id));
        }
        part.shape[along] = shape(past)[along];
        set(past, part);
        if (past != input) return;  // visited again when its operand is in parts
      }
    }
    sum += local(input)[along];
  }
  result.shape[along] = sum;
  set(node.output(0), result);
}

ValueId Trial::past_behind(ValueId value) const {
  if (lookup_.pasts.contains(value)) return value;
  const std::int32_t from = lookup_.producer[index(value)];
  if (from < 0) return kAbsent;
  const Node& node = lookup_.graph.node(from);
  const bool passes = node.inputs.size() == 1 && (node.op_type == "Concat" || node.op_type == "Identity");
  return passes && lookup_.pasts.contains(node.input(0)) ? node.input(0) : kAbsent;
}

void Trial::pieces(std::int32_t id, const Node& node) {
  const ValueId packed = node.input(0);
  const Part& part = first_part(id, node);
  const Shape& whole = shape(packed);
  const int axis = split_axis(part, whole);
  const auto at = index(axis);
  const bool passes = std::all_of(node.outputs.begin(), node.outputs.end(),
                                  [&](ValueId output) { return output == kAbsent || shape(output)[at] == whole[at]; });
  if (passes) return keep_axes(id, node);
  if (part.has_heads || part.origin == kAbsent) stop(id, "takes pieces of an axis that would be split");
  std::vector<ValueId> all;
  for (const std::int32_t reader : lookup_.readers[index(packed)])
    if (lookup_.graph.node(reader).op_type == node.op_type)
      for (const ValueId output : lookup_.graph.node(reader).outputs)
        if (output != kAbsent) all.push_back(output);
  Dim sum = 0, sum_whole = 0;
  std::vector<Part> parts;
  for (const ValueId piece : all) {
    const Shape& size = shape(piece);
    Part each{.shape = size, .origin = piece};
    if (const auto known = learnt_.find(piece); known != learnt_.end()) {
      each.replicas = known->second.replicas;
      each.shape[at] = known->second.shape[at];
    } else {
      const auto share = exact_div(size[at], devices_);
      if (!share) uneven_ = lookup_.name(id) + " takes pieces that " + to_string(devices_) + " devices do not divide";
      each.shape[at] = share.value_or(ceil_div(size[at], devices_));
    }
    sum += each.shape[at];
    sum_whole += size[at];
    parts.push_back(each);
  }
  if (sum_whole != whole[at]) stop(id, "takes pieces that are not all of an axis that would be split");
  if (sum != part.shape[at]) {
    Part known{.shape = shape(part.origin)};
    known.shape.back() = sum;
    restart(id, "pieces", part.origin, known);
  }
  for (std::size_t i = 0; i < all.size(); ++i) set(all[i], parts[i]);
}

void Trial::expect_heads(std::int32_t id, ValueId value, const Dim& expected, Int replicas) {
  if (value == kAbsent) return;
  const Part* part = part_of(value);
  if (part == nullptr) {
    wanted_.insert(value);
    waiting_.insert(id);
    return;
  }
  if (part->shape.back() == expected) return;
  if (part->origin == kAbsent || shape(part->origin).back() != shape(value).back())
    stop(id, "takes heads that are split in another way");
  Part known{.shape = shape(part->origin), .replicas = replicas};
  known.shape.back() = expected;
  restart(id, "heads", part->origin, known);
}

void Trial::split_cache(ValueId value, int axis, const Dim& heads, Int replicas) {
  if (value == kAbsent) return;
  Part part{.shape = shape(value), .replicas = replicas, .has_heads = true};
  part.shape[axis] = heads;
  set(value, part);
}

void Trial::attention(std::int32_t id, const Node& node) {
  if (node.op_type == "RotaryEmbedding") return keep_axes(id, node);
  const bool grouped = node.op_type == "GroupQueryAttention" || node.op_type == "PagedAttention";
  const bool multi = node.op_type == "MultiHeadAttention";
  const bool standard = node.op_type == "Attention" && node.domain.empty();
  if (!grouped && !multi && !standard) stop(id, "is an attention that is not split");
  if (standard && shape(node.input(0)).size() == 4) return split_attention(id, node);
  const Int heads = node.integer(standard ? "q_num_heads" : "num_heads", 0);
  const Int key_heads = multi ? heads : node.integer("kv_num_heads", 0);
  if (heads <= 0 || key_heads <= 0) stop(id, "states no heads");
  if (heads % devices_ != 0)
    give_up(cat(to_string(devices_), " devices do not divide the ", to_string(heads), " query heads of ",
                lookup_.name(id), "; give a divisor of them"));
  const Int replicas = replicas_of(id, key_heads);
  const bool packed = node.input(1) == kAbsent;
  if (packed && multi) stop(id, "takes queries, keys and values packed");
  const Dim per_head = floor_div(shape(node.input(0)).back(), heads + (packed ? 2 * key_heads : 0));
  const Int own = heads / devices_, own_keys = key_heads * replicas / devices_;
  expect_heads(id, node.input(0), per_head * (own + (packed ? 2 * own_keys : 0)), 1);
  if (!packed)
    for (const std::size_t place : {1U, 2U})
      if (node.input(place) != kAbsent && shape(node.input(place)).size() < 4)
        expect_heads(id, node.input(place), floor_div(shape(node.input(place)).back(), key_heads) * own_keys, replicas);
  if (waiting_.contains(id)) return;
  const std::size_t past = multi ? 6 : standard ? 4 : 3;
  const int axis = node.op_type == "PagedAttention" ? 2 : 1;
  for (const std::size_t each : {past, past + 1}) split_cache(node.input(each), axis, own_keys, replicas);
  for (const std::size_t each : {1U, 2U}) split_cache(node.output(each), axis, own_keys, replicas);
  Part part{.shape = shape(node.output(0)), .has_heads = true};
  part.shape.back() = floor_div(part.shape.back(), heads) * own;
  set(node.output(0), part);
}

void Trial::split_attention(std::int32_t id, const Node& node) {
  for (const std::size_t place : {0U, 1U, 2U})
    if (part_of(node.input(place)) == nullptr) {
      wanted_.insert(node.input(place));
      return void(waiting_.insert(id));
    }
  const Part& query = *part_of(node.input(0));
  const Part& key = *part_of(node.input(1));
  for (const std::size_t place : {0U, 1U, 2U})
    for (const int axis : {0, 2, 3})
      if (is_split(*part_of(node.input(place)), shape(node.input(place)), axis))
        stop(id, "takes operands that are split in another axis than the heads");
  Part part{.shape = shape(node.output(0)), .has_heads = true};
  part.shape[1] = query.shape[1];
  set(node.output(0), part);
  for (const std::size_t place : {4U, 5U}) split_cache(node.input(place), 1, key.shape[1], key.replicas);
  for (const std::size_t place : {1U, 2U}) split_cache(node.output(place), 1, key.shape[1], key.replicas);
}

}  // namespace pagoda::inline core
