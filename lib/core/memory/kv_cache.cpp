// A pair is found by structure: an output that one node (a Concat, an attention operator, a cache update) makes from an
// input of the same element type and rank that differs in one axis at most. Failing that by name, as exporters pair
// them: past_key_values.3.key and present.3.key.
#include "memory/kv_cache.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/index.h"

namespace pagoda::inline core {
namespace {

class Finder {
 public:
  Finder(const Model& model, const Analysis& analysis) : graph_(model.main()), analysis_(analysis) {
    producer_.assign(graph_.values.size(), -1);
    token_axis_.assign(graph_.nodes.size(), OpFacts::kNoTokens);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      for (const ValueId output : graph_.nodes[i].outputs)
        if (output != kAbsent) producer_[index(output)] = static_cast<std::int32_t>(i);
    inputs_.insert(graph_.inputs.begin(), graph_.inputs.end());
    for (const NodeReport& row : analysis.nodes)
      if (row.graph == 0) token_axis_[index(row.node)] = row.facts.token_axis;
  }

  KvCache find() {
    KvCache cache;
    for (const ValueId output : graph_.outputs) {
      if (output == kAbsent || inputs_.contains(output)) continue;
      auto pair = by_structure(output);
      if (!pair) pair = by_name(output);
      if (!pair || !used_.insert(pair->past).second) continue;
      cache.bytes_per_token += pair->bytes_per_token;
      cache.past_bytes += bytes_of(type(pair->past)).value_or(Dim(0));
      cache.pairs.push_back(std::move(*pair));
    }
    return cache;
  }

 private:
  const TensorType& type(ValueId value) const { return analysis_.types[index(value)]; }

  ValueId behind_identity(ValueId value) const {
    for (int looks = 0; looks < 8; ++looks) {
      const std::int32_t from = producer_[index(value)];
      if (from < 0 || graph_.nodes[index(from)].op_type != "Identity" || graph_.nodes[index(from)].inputs.empty())
        break;
      if (graph_.nodes[index(from)].inputs[0] == kAbsent) break;
      value = graph_.nodes[index(from)].inputs[0];
    }
    return value;
  }

  std::optional<CachePair> by_structure(ValueId output) const {
    const std::int32_t from = producer_[index(behind_identity(output))];
    if (from < 0) return std::nullopt;
    const Node& node = graph_.nodes[index(from)];
    const std::int8_t tokens = token_axis_[index(from)];
    if (tokens == OpFacts::kNoTokens || !type(output).shape) return std::nullopt;
    std::int64_t axis = node.integer("axis", tokens);
    if (axis < 0) axis += static_cast<std::int64_t>(type(output).shape->size());
    for (const ValueId operand : node.inputs) {
      if (operand == kAbsent) continue;
      const ValueId past = behind_identity(operand);
      if (!inputs_.contains(past) || used_.contains(past)) continue;
      if (auto pair = pair_of(past, output, axis)) return pair;
    }
    return std::nullopt;
  }

  std::optional<CachePair> by_name(ValueId output) {
    if (past_by_key_.empty())
      for (const ValueId input : graph_.inputs)
        if (const auto key = key_of(graph_.values[index(input)].name, "past")) past_by_key_.emplace(*key, input);
    const auto key = key_of(graph_.values[index(output)].name, "present");
    const auto found = key ? past_by_key_.find(*key) : past_by_key_.end();
    return found == past_by_key_.end() || used_.contains(found->second) ? std::nullopt
                                                                        : pair_of(found->second, output, std::nullopt);
  }

  // What a name says beside "past" or "present": "past_key_values.3.decoder.key" → ".3.decoder.key".
  static std::optional<std::string> key_of(std::string name, std::string_view tense) {
    const std::size_t at = name.find(tense);
    if (at == std::string::npos) return std::nullopt;
    name.erase(0, at + tense.size());
    constexpr std::string_view kHolder = "_key_values";
    if (name.starts_with(kHolder)) name.erase(0, kHolder.size());
    return name;
  }

  // `axis` is that of the tokens where the operator says it; else it is the one in which the sizes differ.
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
  std::vector<std::int32_t> producer_;   // by value
  std::vector<std::int8_t> token_axis_;  // by node, as OpFacts states it
  std::set<ValueId> inputs_, used_;
  std::map<std::string, ValueId> past_by_key_;
};

}  // namespace

KvCache find_kv_cache(const Model& model, const Analysis& analysis) { return Finder(model, analysis).find(); }

}  // namespace pagoda::inline core
