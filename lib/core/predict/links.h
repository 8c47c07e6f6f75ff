// Who writes and who reads each value of a graph.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "graph/index.h"
#include "pagoda/core/graph.h"

namespace pagoda::inline core {

class Links {
 public:
  explicit Links(const Graph& graph)
      : graph_(graph),
        readers_(graph.values.size()),
        writer_(graph.values.size(), -1),
        outputs_(graph.outputs.begin(), graph.outputs.end()) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const auto id = static_cast<std::int32_t>(n);
      for (const ValueId input : graph.nodes[n].inputs)
        if (input != kAbsent && (readers_[index(input)].empty() || readers_[index(input)].back() != id))
          readers_[index(input)].push_back(id);
      for (const ValueId output : graph.nodes[n].outputs)
        if (output != kAbsent) writer_[index(output)] = id;
    }
  }

  const std::vector<std::int32_t>& readers(ValueId value) const { return readers_[index(value)]; }
  // The node that writes the value; -1 if it is an input or stored.
  std::int32_t writer(ValueId value) const { return value == kAbsent ? -1 : writer_[index(value)]; }
  bool is_output(ValueId value) const { return outputs_.contains(value); }
  // The only node that reads the value; null if there are none or several, or the value is an output of the model.
  const Node* only_reader(ValueId value) const {
    if (value == kAbsent || is_output(value) || readers(value).size() != 1) return nullptr;
    return &graph_.node(readers(value).front());
  }
  std::int32_t id(const Node& node) const { return static_cast<std::int32_t>(&node - graph_.nodes.data()); }

 private:
  const Graph& graph_;
  std::vector<std::vector<std::int32_t>> readers_;
  std::vector<std::int32_t> writer_;
  std::set<ValueId> outputs_;
};

}  // namespace pagoda::inline core
