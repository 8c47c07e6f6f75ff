// Source of runs: onnxruntime/core/providers/openvino/ov_versions/capability.cc, release 1.24; compared with the
// runtime's own answers.
#include "place/parts.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>

#include "graph/index.h"
#include "pagoda/base/cat.h"
#include "place/conditions.h"

namespace pagoda::inline core {
namespace {

using Nodes = std::vector<std::int32_t>;

constexpr std::string_view kNoInput = "its part has no input";

std::vector<ValueId> inputs_and_captured(const LoadedNode& node) {
  std::vector<ValueId> values = node.inputs;
  values.insert(values.end(), node.captured.begin(), node.captured.end());
  return values;
}

class Partition {
 public:
  Partition(const LoadedGraph& loaded, std::vector<PlacedNode>& rows)
      : loaded_(loaded), nodes_(loaded.nodes()), rows_(rows), order_(loaded.order()), parent_(nodes_.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  // Odd phases are on the provider, even ones on the CPU: a path through the CPU raises the phase by two. Nodes that
  // depend on no input go with their readers.
  std::int32_t of_connected(const std::vector<bool>& computed) {
    const auto is_free = [&](std::int32_t n) {
      return std::ranges::all_of(nodes_[index(n)].outputs,
                                 [&](ValueId value) { return value == kAbsent || computed[index(value)]; });
    };
    std::vector<std::int32_t> phase(nodes_.size(), 0);
    for (const std::int32_t n : order_) {
      const std::vector<ValueId> inputs = inputs_and_captured(nodes_[index(n)]);
      for (const ValueId input : inputs)
        if (const std::int32_t before = loaded_.writer(input); before >= 0 && !is_free(before))
          phase[index(n)] = std::max(phase[index(n)], phase[index(before)]);
      if ((phase[index(n)] % 2 != 0) != is_taken(n)) ++phase[index(n)];
      for (const ValueId input : inputs)
        if (const std::int32_t before = loaded_.writer(input);
            before >= 0 && is_taken(n) && is_taken(before) &&
            (is_free(before) || phase[index(before)] == phase[index(n)]))
          parent_[index(root(n))] = root(before);
    }
    std::map<std::int32_t, std::int32_t> numbers;
    for (std::int32_t n = 0; n < static_cast<std::int32_t>(nodes_.size()); ++n)
      if (is_taken(n)) {
        const auto number = static_cast<std::int32_t>(numbers.size());
        rows_[index(n)].part = numbers.emplace(root(n), number).first->second;
      }
    return static_cast<std::int32_t>(numbers.size());
  }

  std::int32_t of_runs(const ProviderParts& rules) {
    if (std::ranges::all_of(order_, [&](std::int32_t n) { return is_taken(n); })) {
      const std::string_view reason = not_whole(rules);
      if (reason.empty())
        keep(order_);
      else
        drop(order_, reason);
      return count_;
    }
    std::vector<Nodes> parts = runs(rules);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string_view end = end_of(parts[i], rules);
      if (parts[i].size() == 1 && i + 1 < parts.size())
        join_later(parts, i);
      else if (!end.empty())
        drop(parts[i], cat("its part ends in ", end));
      else if (!reads(parts[i], [](ValueId) { return true; }))
        drop(parts[i], kNoInput);
      else
        keep(parts[i]);
    }
    return count_;
  }

 private:
  bool is_taken(std::int32_t n) const { return rows_[index(n)].on == PlacedOn::Provider; }

  std::int32_t root(std::int32_t n) {
    while (parent_[index(n)] != n) n = parent_[index(n)] = parent_[index(parent_[index(n)])];
    return n;
  }

  void drop(const Nodes& part, std::string_view reason) {
    for (const std::int32_t n : part)
      if (is_taken(n)) rows_[index(n)] = {.on = PlacedOn::Cpu, .part = -1, .reason = std::string(reason)};
  }

  void keep(const Nodes& part) {
    for (const std::int32_t n : part) rows_[index(n)].part = count_;
    if (!part.empty()) ++count_;
  }

  // Whether a node of the part reads such a value from outside.
  template <typename Test>
  bool reads(const Nodes& part, Test is_such) const {
    return std::ranges::any_of(part, [&](std::int32_t n) {
      return std::ranges::any_of(inputs_and_captured(nodes_[index(n)]), [&](ValueId value) {
        return value != kAbsent && !is_written_by(part, value) && is_such(value);
      });
    });
  }

  // Why a graph that is taken as a whole is left all the same; empty: it is not.
  std::string_view not_whole(const ProviderParts& rules) const {
    const auto is_input = [&](ValueId value) { return !loaded_.is_constant(value); };
    if (!reads(order_, is_input)) return kNoInput;
    if (reads(order_, [&](ValueId value) { return is_input(value) && loaded_.shape(value) == nullptr; }))
      return "an input of the model has no rank";
    for (const ProviderParts::SmallGraph& small : rules.small)
      if (static_cast<std::int64_t>(order_.size()) <= small.nodes &&
          holds(small.first, nodes_[index(order_.front())], loaded_))
        return small.first.reason;
    return "";
  }

  bool is_written_by(const Nodes& part, ValueId value) const { return contains(part, loaded_.writer(value)); }
  static bool contains(const Nodes& part, std::int32_t n) { return std::ranges::find(part, n) != part.end(); }

  // Connected nodes of each stretch of the order without a node on the CPU; by their first nodes.
  std::vector<Nodes> runs(const ProviderParts& rules) {
    std::vector<Nodes> parts;
    std::vector<std::int32_t> stretch(nodes_.size(), -1), place(nodes_.size(), -1);
    std::int32_t current = 0;
    for (const std::int32_t n : order_) {
      if (is_taken(n) && std::ranges::find(rules.breaks, qualified_name(nodes_[index(n)])) != rules.breaks.end())
        drop({n}, "beside nodes that are not taken");
      if (is_taken(n))
        stretch[index(n)] = current;
      else
        ++current;
    }
    for (const std::int32_t n : order_)
      for (const ValueId input : inputs_and_captured(nodes_[index(n)]))
        if (const std::int32_t before = loaded_.writer(input);
            before >= 0 && stretch[index(n)] >= 0 && stretch[index(before)] == stretch[index(n)])
          parent_[index(root(n))] = root(before);
    for (const std::int32_t n : order_) {
      if (stretch[index(n)] < 0) continue;
      std::int32_t& at = place[index(root(n))];
      if (at < 0) {
        at = static_cast<std::int32_t>(parts.size());
        parts.emplace_back();
      }
      parts[index(at)].push_back(n);
    }
    return parts;
  }

  bool is_connected(std::int32_t n, const Nodes& part) const {
    const auto is_in = [&](std::int32_t other) { return contains(part, other); };
    return std::ranges::any_of(inputs_and_captured(nodes_[index(n)]),
                               [&](ValueId value) { return is_written_by(part, value); }) ||
           std::ranges::any_of(nodes_[index(n)].outputs, [&](ValueId value) {
             return value != kAbsent && std::ranges::any_of(loaded_.readers(value), is_in);
           });
  }

  void join_later(std::vector<Nodes>& parts, std::size_t i) {
    const std::int32_t n = parts[i].front();
    for (std::size_t later = i + 1; later < parts.size(); ++later)
      if (is_connected(n, parts[later])) return parts[later].push_back(n);
    drop(parts[i], "a part of one node");
  }

  // The operator for which the part is dropped; empty: none.
  std::string_view end_of(const Nodes& part, const ProviderParts& rules) const {
    for (const std::int32_t n : part) {
      const LoadedNode& node = nodes_[index(n)];
      if (std::ranges::find(rules.no_end, qualified_name(node)) == rules.no_end.end()) continue;
      const ValueId result = node.outputs.front();
      const std::vector<std::int32_t>& readers = loaded_.readers(result);
      const bool is_read_outside =
          std::ranges::any_of(readers, [&](std::int32_t reader) { return !contains(part, reader); });
      if (is_read_outside || (loaded_.is_output(result) && !readers.empty())) return node.op;
    }
    return "";
  }

  const LoadedGraph& loaded_;
  const std::vector<LoadedNode>& nodes_;
  std::vector<PlacedNode>& rows_;
  const Nodes order_;
  std::vector<std::int32_t> parent_;  // by node: joined sets of nodes
  std::int32_t count_ = 0;
};

}  // namespace

std::int32_t number_parts(const LoadedGraph& loaded, const Provider& provider, const std::vector<bool>& computed,
                          std::vector<PlacedNode>& rows) {
  Partition partition(loaded, rows);
  return provider.parts.are_runs ? partition.of_runs(provider.parts) : partition.of_connected(computed);
}

}  // namespace pagoda::inline core
