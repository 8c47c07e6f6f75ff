// Finds the inputs with past keys, values or states, and the outputs that return them updated.
// A pair is found by structure: an output that one node (a Concat, an attention operator, a cache update) computes from
// an input of the same element type and rank that differs in at most one axis. Failing that, by name, as exporters pair
// them: past_key_values.3.key and present.3.key.
#include <algorithm>
#include <map>
#include <set>

#include "graph/index.h"
#include "memory/schedule.h"
#include "pagoda/core/memory.h"

namespace pagoda::inline core {
namespace {

class Finder {
 public:
  Finder(const Model& model, const Analysis& analysis)
      : graph_(model.main()),
        analysis_(analysis),
        producer_(producers_of(graph_)),
        row_(graph_.nodes.size(), nullptr),
        inputs_(graph_.inputs.begin(), graph_.inputs.end()) {
    for (const NodeReport& row : analysis.nodes)
      if (row.graph == 0) row_[index(row.node)] = &row;
  }

  KvCache find() {
    KvCache cache;
    for (const ValueId output : graph_.outputs) {
      if (output == kAbsent || inputs_.contains(output)) continue;
      auto pair = by_structure(output);
      if (!pair) pair = by_name(output);
      if (!pair || !used_.insert(pair->past).second) continue;
      pair->is_fixed = pair->tokens_per_page == Dim(0) && type(pair->past).shape == type(pair->present).shape;
      add(cache, *pair);
      cache.pairs.push_back(std::move(*pair));
    }
    if (!cache.pairs.empty()) add_read_only(cache);
    return cache;
  }

 private:
  const TensorType& type(ValueId value) const { return analysis_.types[index(value)]; }

  // Keys and values of an encoder's output: decoders take them as further pasts, and return them unchanged or not at
  // all.
  void add_read_only(KvCache& cache) const {
    for (const ValueId input : graph_.inputs) {
      const TensorType& tensor = type(input);
      if (used_.contains(input) || !is_float(tensor.element) || !tensor.shape || tensor.shape->size() != 4 ||
          !key_of(graph_.values[index(input)].name, "past"))
        continue;
      const Dim bytes = bytes_of(tensor).value_or(Dim(0));
      for (Dim* sum : {&cache.past_bytes, &cache.shared_bytes, &cache.separate_bytes, &cache.fixed_bytes})
        *sum += bytes;
    }
  }

  // The bytes of a present that a run writes are those stated by its row; for a Concat, all except the past's.
  void add(KvCache& cache, const CachePair& pair) const {
    const Dim past = bytes_of(type(pair.past)).value_or(Dim(0));
    const Dim present = bytes_of(type(pair.present)).value_or(Dim(0));
    const Dim larger = greater_equal(present, past) == true ? present : max(past, present);
    cache.bytes_per_token += pair.bytes_per_token;
    cache.past_bytes += past;
    cache.shared_bytes += larger;
    cache.separate_bytes += past + present;
    if (pair.is_fixed) cache.fixed_bytes += larger;
    if (!pair.is_in_place) {
      const bool is_state = pair.axis == CachePair::kState;
      cache.written_bytes += is_state ? present : present - past;
      cache.copied_bytes += is_state ? Dim(0) : 2 * past;
      return;
    }
    const std::int32_t from = producer_[index(behind_identity(pair.present))];
    const int place = place_of(graph_.nodes[index(from)], pair.present);
    const OpCost& cost = row_[index(from)]->cost;
    const Dim written = cost.writes_whole(place) ? present : cost.part_written(place);
    cache.written_bytes += written;
    cache.copied_bytes += present - written;
  }

  ValueId behind_identity(ValueId value) const {
    for (int looks = 0; looks < 8; ++looks) {
      const std::int32_t from = producer_[index(value)];
      if (from < 0 || graph_.node(from).op_type != "Identity" || graph_.node(from).input(0) == kAbsent) break;
      value = graph_.node(from).input(0);
    }
    return value;
  }

  int place_of(const Node& node, ValueId output) const {
    const auto place = std::find(node.outputs.begin(), node.outputs.end(), behind_identity(output));
    return static_cast<int>(place - node.outputs.begin());
  }

  std::optional<CachePair> by_structure(ValueId output) const {
    const std::int32_t from = producer_[index(behind_identity(output))];
    if (from < 0) return std::nullopt;
    const Node& node = graph_.nodes[index(from)];
    if (row_[index(from)] == nullptr || !type(output).shape) return std::nullopt;
    const OpFacts& facts = row_[index(from)]->facts;
    const std::int8_t tokens = facts.token_axis;
    if (tokens == OpFacts::kNoTokens) return updated(node, facts.updates, output);
    const int place = place_of(node, output);
    if (facts.updates.count > 0 && facts.updates.input_of(place) < 0) return std::nullopt;  // the attention's result
    std::int64_t axis = node.integer("axis", tokens);
    if (axis < 0) axis += static_cast<std::int64_t>(type(output).shape->size());
    for (const ValueId operand : node.inputs) {
      if (operand == kAbsent) continue;
      const ValueId past = behind_identity(operand);
      if (!inputs_.contains(past) || used_.contains(past)) continue;
      auto pair = pair_of(past, output, axis);
      if (!pair) continue;
      pair->is_in_place = facts.updates.count > 0;
      // A window-sized buffer holds as many rows however long the sequence gets.
      if (node.integer("sliding_window_cache", 0) != 0) pair->bytes_per_token = 0;
      return pair;
    }
    return std::nullopt;
  }

  // A paged cache, or a state: the operator defines which output updates which input.
  std::optional<CachePair> updated(const Node& node, const Updates& updates, ValueId output) const {
    const int input = updates.input_of(place_of(node, output));
    if (input < 0 || node.input(index(input)) == kAbsent) return std::nullopt;
    const ValueId past = behind_identity(node.input(index(input)));
    if (!inputs_.contains(past) || used_.contains(past) || !type(past).shape) return std::nullopt;
    const Shape& shape = *type(past).shape;
    CachePair pair{.past = past, .present = output, .axis = CachePair::kState, .bytes_per_token = 0};
    pair.is_in_place = true;
    if (!updates.in_pages) return pair;
    if (shape.size() != 4) return std::nullopt;
    pair.axis = 1;
    pair.tokens_per_page = shape[1];
    pair.bytes_per_token = byte_size(shape[2] * shape[3], type(past).element);
    return pair;
  }

  std::optional<CachePair> by_name(ValueId output) {
    if (past_by_key_.empty())
      for (const ValueId input : graph_.inputs)
        if (const auto key = key_of(graph_.values[index(input)].name, "past")) past_by_key_.emplace(*key, input);
    const auto key = key_of(graph_.values[index(output)].name, "present");
    const auto found = key ? past_by_key_.find(*key) : past_by_key_.end();
    if (found == past_by_key_.end() || used_.contains(found->second)) return std::nullopt;
    auto pair = pair_of(found->second, output, std::nullopt);
    return pair ? pair : state_of(found->second, output);
  }

  // A state that other operators than those with Updates bring from one step to the next, as in Mamba. An encoder's
  // keys, computed anew or passed on, are none.
  std::optional<CachePair> state_of(ValueId past, ValueId present) {
    const TensorType& before = type(past);
    const bool is_alike =
        before.shape && before.element == type(present).element && before.shape == type(present).shape;
    if (!is_alike || !is_computed_from(present, past)) return std::nullopt;
    return CachePair{.past = past, .present = present, .axis = CachePair::kState, .bytes_per_token = 0};
  }

  // Breadth first: an update is a few nodes behind its result, and all layers before it are behind those. The limit, on
  // all searches of a model together, is for files made to exhaust it.
  bool is_computed_from(ValueId value, ValueId source) {
    if (inputs_.contains(behind_identity(value))) return false;
    std::vector<ValueId> found = {value};
    std::set<ValueId> seen = {value};
    for (std::size_t next = 0; next < found.size() && visits_left_ > 0; ++next, --visits_left_) {
      if (found[next] == source) return true;
      const std::int32_t from = producer_[index(found[next])];
      if (from < 0) continue;
      for (const ValueId input : graph_.nodes[index(from)].inputs)
        if (input != kAbsent && seen.insert(input).second) found.push_back(input);
    }
    return false;
  }

  // The rest of a name without "past" or "present": "past_key_values.3.decoder.key" → ".3.decoder.key", as of
  // "past_states.3.conv".
  static std::optional<std::string> key_of(std::string name, std::string_view tense) {
    const std::size_t at = name.find(tense);
    if (at == std::string::npos) return std::nullopt;
    name.erase(0, at + tense.size());
    for (const std::string_view holder : {"_key_values", "_states"})
      if (name.starts_with(holder)) name.erase(0, holder.size());
    return name;
  }

  // `axis` is the token axis if the operator states it; otherwise the axis in which the sizes differ.
  std::optional<CachePair> pair_of(ValueId past, ValueId present, std::optional<std::int64_t> axis) const {
    const TensorType& before = type(past);
    const TensorType& after = type(present);
    if (before.element != after.element || !before.shape || !after.shape ||
        before.shape->size() != after.shape->size() || before.shape->size() < 2)
      return std::nullopt;
    for (std::size_t i = 0; i < before.shape->size(); ++i) {
      if ((*before.shape)[i] == (*after.shape)[i]) continue;
      if (axis && *axis != static_cast<std::int64_t>(i)) return std::nullopt;
      axis = static_cast<std::int64_t>(i);
    }
    if (!axis || *axis < 0 || *axis >= static_cast<std::int64_t>(before.shape->size())) return std::nullopt;
    Dim elements = 1;
    for (std::size_t i = 0; i < before.shape->size(); ++i)
      if (static_cast<std::int64_t>(i) != *axis) elements *= (*before.shape)[i];
    return CachePair{.past = past,
                     .present = present,
                     .axis = static_cast<int>(*axis),
                     .bytes_per_token = byte_size(elements, before.element)};
  }

  const Graph& graph_;
  const Analysis& analysis_;
  std::vector<std::int32_t> producer_;  // by value
  std::vector<const NodeReport*> row_;  // by node
  std::set<ValueId> inputs_, used_ = {};
  std::map<std::string, ValueId> past_by_key_;
  std::int64_t visits_left_ = 1'000'000;  // of is_computed_from()
};

}  // namespace

Dim KvCache::bytes_after(const Dim& tokens, const Dim& sequences) const {
  Dim bytes = fixed_bytes;
  for (const CachePair& pair : pairs) {
    if (pair.is_fixed) continue;
    if (pair.tokens_per_page == Dim(0))
      bytes += tokens * pair.bytes_per_token;
    else
      bytes += sequences * ceil_div(tokens, pair.tokens_per_page) * pair.tokens_per_page * pair.bytes_per_token;
  }
  return bytes;
}

KvCache find_kv_cache(const Model& model, const Analysis& analysis) { return Finder(model, analysis).find(); }

}  // namespace pagoda::inline core
