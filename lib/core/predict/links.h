// Relations between the nodes and values of a graph that several lowerings need.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <string_view>
#include <vector>

#include "graph/index.h"
#include "pagoda/core/analysis.h"

namespace pagoda::inline core {

// By node of the main graph: its row.
inline std::vector<const NodeReport*> rows_of_nodes(const Graph& graph, const Analysis& analysis) {
  std::vector<const NodeReport*> rows(graph.nodes.size(), nullptr);
  for (const NodeReport& row : analysis.nodes)
    if (row.graph == 0) rows[index(row.node)] = &row;
  return rows;
}

// By value of the main graph: whether it is stored, or written by a row with one of these marks.
inline std::vector<bool> constants_by_mark(const Graph& graph, const Analysis& analysis,
                                           std::initializer_list<Mark> marks) {
  std::vector<bool> constant;
  for (const Value& value : graph.values) constant.push_back(value.initializer >= 0);
  for (const NodeReport& row : analysis.nodes)
    if (row.graph == 0 && std::find(marks.begin(), marks.end(), row.cost.mark) != marks.end())
      for (const ValueId output : graph.node(row.node).outputs)
        if (output != kAbsent) constant[index(output)] = true;
  return constant;
}

enum class Reads : std::uint8_t { Nodes, Uses };  // a node that reads a value twice counts once, or twice

// Who writes and who reads each value of a graph.
class Links {
 public:
  explicit Links(const Graph& graph, Reads reads = Reads::Nodes)
      : graph_(graph),
        readers_(graph.values.size()),
        writer_(graph.values.size(), -1),
        outputs_(graph.outputs.begin(), graph.outputs.end()) {
    for (const Node& node : graph.nodes) {
      for (const ValueId input : node.inputs)
        if (input != kAbsent)
          if (auto& list = readers_[index(input)]; reads == Reads::Uses || list.empty() || list.back() != id(node))
            list.push_back(id(node));
      for (const ValueId output : node.outputs)
        if (output != kAbsent) writer_[index(output)] = id(node);
    }
  }

  const std::vector<std::int32_t>& readers(ValueId value) const { return readers_[index(value)]; }
  // The node that writes the value; -1 or null if it is absent, an input or stored.
  std::int32_t writer(ValueId value) const { return value == kAbsent ? -1 : writer_[index(value)]; }
  const Node* writing(ValueId value) const { return writer(value) < 0 ? nullptr : &graph_.node(writer(value)); }
  bool is_written_by(ValueId value, std::string_view op) const {
    return writer(value) >= 0 && writing(value)->op_type == op;
  }
  bool is_output(ValueId value) const { return outputs_.contains(value); }
  // The only node that reads the value; -1 or null if there are none or several, or the value is an output of the
  // model.
  std::int32_t only_reader_id(ValueId value) const {
    return value == kAbsent || is_output(value) || readers(value).size() != 1 ? -1 : readers(value).front();
  }
  const Node* only_reader(ValueId value) const {
    const std::int32_t reader = only_reader_id(value);
    return reader < 0 ? nullptr : &graph_.node(reader);
  }
  std::int32_t id(const Node& node) const { return static_cast<std::int32_t>(&node - graph_.nodes.data()); }

 private:
  const Graph& graph_;
  std::vector<std::vector<std::int32_t>> readers_;
  std::vector<std::int32_t> writer_;
  std::set<ValueId> outputs_;
};

}  // namespace pagoda::inline core
