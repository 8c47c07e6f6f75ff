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
  Partition(const NodeUnits& units, std::vector<PlacedNode>& rows)
      : units_(units),
        loaded_(units.loaded()),
        nodes_(loaded_.nodes()),
        rows_(rows),
        order_(loaded_.order()),
        parent_(nodes_.size()),
        place_(nodes_.size(), -1) {
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
    return number_by([&](std::int32_t n) { return root(n); });
  }

  // The runtime fills a part with each node whose inputs are there, until only refused nodes that read it are left
  // (CreateSupportedPartitions): a refused node that reads a part comes after all of it.
  std::int32_t of_joined(const ProviderParts& rules) {
    std::vector<std::int32_t> phase(units_.all().size(), 0);
    const auto is_supported = [&](std::size_t id) { return is_taken(units_.all()[id].node); };
    for (const std::int32_t n : order_) {
      const std::size_t id = units_.of(n);
      const NodeUnit& unit = units_.all()[id];
      if (unit.node != n) continue;
      std::vector<ValueId> reads = nodes_[index(n)].captured;
      for (const NodeUnit::Operand& input : unit.inputs) reads.push_back(input.value);
      for (const ValueId value : reads) {
        if (loaded_.writer(value) < 0) continue;
        const std::size_t before = units_.of(loaded_.writer(value));
        phase[id] = std::max(phase[id], phase[before] + (is_supported(before) && !is_supported(id) ? 1 : 0));
      }
    }
    const auto phase_of = [&](std::int32_t n) { return phase[units_.of(n)]; };
    std::map<std::int32_t, std::int32_t> sizes;
    for (const std::int32_t n : order_)
      if (is_taken(n)) ++sizes[phase_of(n)];
    for (const std::int32_t n : order_)
      if (is_taken(n) && sizes[phase_of(n)] == 1 &&
          std::ranges::find(rules.never_alone, qualified_name(nodes_[index(n)])) != rules.never_alone.end())
        drop({n}, "alone in its part");
    return number_by(phase_of);
  }

  std::int32_t of_runs(const ProviderParts& rules) {
    if (std::ranges::all_of(order_, [&](std::int32_t n) { return is_taken(n); })) {
      parts_.push_back(order_);
      std::ranges::fill(place_, 0);
      const std::string_view reason = not_whole(rules);
      if (!reason.empty())
        drop(order_, reason);
      else if (!order_.empty())
        keep(order_);
      return count_;
    }
    find_runs(rules);
    const auto count = static_cast<std::int32_t>(parts_.size());
    for (std::int32_t i = 0; i < count; ++i) {
      const Nodes& part = parts_[index(i)];
      const std::string_view end = end_of(i, rules);
      if (part.size() == 1 && i + 1 < count)
        join_later(part.front());
      else if (!end.empty())
        drop(part, cat("its part ends in ", end));
      else if (!reads(i, [](ValueId) { return true; }))
        drop(part, kNoInput);
      else
        keep(part);
    }
    return count_;
  }

 private:
  // Numbers the parts in the order of the nodes; nodes with equal keys are one part.
  template <typename Key>
  std::int32_t number_by(const Key& key) {
    std::map<std::int32_t, std::int32_t> numbers;
    for (std::int32_t n = 0; n < static_cast<std::int32_t>(nodes_.size()); ++n)
      if (is_taken(n)) {
        const auto number = static_cast<std::int32_t>(numbers.size());
        rows_[index(n)].part = numbers.emplace(key(n), number).first->second;
      }
    return static_cast<std::int32_t>(numbers.size());
  }

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
    ++count_;
  }

  std::int32_t place_of(std::int32_t n) const { return n < 0 ? -1 : place_[index(n)]; }

  // Whether a node of the part reads such a value from outside.
  template <typename Test>
  bool reads(std::int32_t part, Test is_such) const {
    return std::ranges::any_of(parts_[index(part)], [&](std::int32_t n) {
      return std::ranges::any_of(inputs_and_captured(nodes_[index(n)]), [&](ValueId value) {
        return value != kAbsent && place_of(loaded_.writer(value)) != part && is_such(value);
      });
    });
  }

  // Why a graph that is taken as a whole is left all the same; empty: it is not.
  std::string_view not_whole(const ProviderParts& rules) const {
    const auto is_input = [&](ValueId value) { return !loaded_.is_constant(value); };
    if (!reads(0, is_input)) return kNoInput;
    if (reads(0, [&](ValueId value) { return is_input(value) && loaded_.shape(value) == nullptr; }))
      return "an input of the model has no rank";
    for (const ProviderParts::SmallGraph& small : rules.small)
      if (static_cast<std::int64_t>(order_.size()) <= small.nodes &&
          holds(small.first, qualified_name(nodes_[index(order_.front())]), units_.all()[units_.of(order_.front())],
                units_))
        return small.first.reason;
    return "";
  }

  // Connected nodes of each stretch of the order without a node on the CPU; by their first nodes.
  void find_runs(const ProviderParts& rules) {
    std::vector<std::int32_t> stretch(nodes_.size(), -1), part_of_root(nodes_.size(), -1);
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
      std::int32_t& part = part_of_root[index(root(n))];
      if (part < 0) {
        part = static_cast<std::int32_t>(parts_.size());
        parts_.emplace_back();
      }
      parts_[index(part)].push_back(n);
      place_[index(n)] = part;
    }
  }

  // The node, which is a part of its own, joins the next part that it is connected to.
  void join_later(std::int32_t n) {
    const std::int32_t own = place_of(n);
    std::int32_t next = -1;
    const auto look = [&](std::int32_t neighbour) {
      if (const std::int32_t part = place_of(neighbour); part > own && (next < 0 || part < next)) next = part;
    };
    for (const ValueId value : inputs_and_captured(nodes_[index(n)])) look(loaded_.writer(value));
    for (const ValueId value : nodes_[index(n)].outputs)
      if (value != kAbsent)
        for (const std::int32_t reader : loaded_.readers(value)) look(reader);
    if (next < 0) return drop({n}, "a part of one node");
    parts_[index(next)].push_back(n);
    place_[index(n)] = next;
  }

  // The operator for which the part is dropped; empty: none.
  std::string_view end_of(std::int32_t part, const ProviderParts& rules) const {
    for (const std::int32_t n : parts_[index(part)]) {
      const LoadedNode& node = nodes_[index(n)];
      if (std::ranges::find(rules.no_end, qualified_name(node)) == rules.no_end.end()) continue;
      const ValueId result = node.outputs.front();
      const std::vector<std::int32_t>& readers = loaded_.readers(result);
      const bool is_read_outside =
          std::ranges::any_of(readers, [&](std::int32_t reader) { return place_of(reader) != part; });
      if (is_read_outside || (loaded_.is_output(result) && !readers.empty())) return node.op;
    }
    return "";
  }

  const NodeUnits& units_;
  const LoadedGraph& loaded_;
  const std::vector<LoadedNode>& nodes_;
  std::vector<PlacedNode>& rows_;
  const Nodes order_;
  std::vector<std::int32_t> parent_;  // by node: joined sets of nodes
  std::vector<Nodes> parts_;          // runs, those that are dropped among them
  std::vector<std::int32_t> place_;   // by node: its run; -1: none
  std::int32_t count_ = 0;
};

}  // namespace

std::int32_t number_parts(const NodeUnits& units, const Provider& provider, const std::vector<bool>& computed,
                          std::vector<PlacedNode>& rows) {
  Partition partition(units, rows);
  switch (provider.parts.kind) {
    case PartKind::Connected:
      return partition.of_connected(computed);
    case PartKind::Joined:
      return partition.of_joined(provider.parts);
    case PartKind::Runs:
      return partition.of_runs(provider.parts);
  }
  return 0;
}

}  // namespace pagoda::inline core
