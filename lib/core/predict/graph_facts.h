// Facts of a graph that lowerings need: sizes and types as numbers, writers and readers of values, constant values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <set>
#include <string_view>
#include <vector>

#include "graph/index.h"
#include "pagoda/core/analysis.h"
#include "predict/strides.h"

namespace pagoda::inline core {

template <std::size_t N>
bool is_one_of(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Throws as Dim::evaluate does if the size has symbols.
inline double number(const Dim& dim) { return static_cast<double>(dim.evaluate({})); }

// Whether the value is known to be this number throughout.
inline bool is_all(const Graph& graph, const Analysis& analysis, ValueId value, double number) {
  if (value == kAbsent) return false;
  const std::int32_t stored = graph.value(value).initializer;
  const auto& known = stored < 0 ? analysis.values[index(value)] : graph.initializers[index(stored)].value;
  return known && std::all_of(known->begin(), known->end(), [&](const Scalar& each) {
           const auto* real = std::get_if<double>(&each);
           return real != nullptr && *real == number;
         });
}

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

// A graph with the sizes and types of its values. All dims must be bound.
class Tensors {
 public:
  Tensors(const Graph& graph, const Analysis& analysis) : graph_(graph), analysis_(analysis) {}

  const Graph& graph() const { return graph_; }
  const Analysis& analysis() const { return analysis_; }
  ElementType type(ValueId value) const {
    return value == kAbsent ? ElementType::Undefined : analysis_.types[index(value)].element;
  }
  const Shape* shape(ValueId value) const { return shape_of(analysis_, value); }
  Sizes sizes(ValueId value) const {
    Sizes result;
    if (const Shape* known = shape(value))
      for (const Dim& dim : *known) result.push_back(static_cast<std::int64_t>(dim.evaluate({})));
    return result;
  }
  double elements(ValueId value) const {
    const Shape* known = shape(value);
    return known == nullptr ? 0 : number(element_count(*known));
  }
  double bytes(ValueId value) const { return elements(value) * bits(type(value)) / 8; }
  bool is_float32(ValueId value) const { return type(value) == ElementType::Float32; }
  // The size of an axis; 0 if it is not known.
  double number_at(ValueId value, std::size_t axis) const {
    const Shape* known = shape(value);
    return known == nullptr || axis >= known->size() ? 0 : number((*known)[axis]);
  }
  // The elements of the innermost axis.
  double row_width(ValueId value) const {
    const Shape* known = shape(value);
    return known == nullptr || known->empty() ? 0 : number(known->back());
  }

 private:
  const Graph& graph_;
  const Analysis& analysis_;
};

enum class Reads : std::uint8_t { Nodes, Uses };  // a node that reads a value twice counts once, or twice

// Who writes and who reads each value of a graph.
class Links : public Tensors {
 public:
  Links(const Graph& graph, const Analysis& analysis, Reads reads = Reads::Nodes)
      : Tensors(graph, analysis),
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
  const Node* writing(ValueId value) const { return writer(value) < 0 ? nullptr : &graph().node(writer(value)); }
  bool is_written_by(ValueId value, std::string_view op) const {
    return writer(value) >= 0 && writing(value)->op_type == op;
  }
  bool is_output(ValueId value) const { return outputs_.contains(value); }
  // The only node that reads the value; -1 or null if none or several do, or the value is an output of the model.
  std::int32_t only_reader_id(ValueId value) const {
    return value == kAbsent || is_output(value) || readers(value).size() != 1 ? -1 : readers(value).front();
  }
  const Node* only_reader(ValueId value) const {
    const std::int32_t reader = only_reader_id(value);
    return reader < 0 ? nullptr : &graph().node(reader);
  }
  std::int32_t id(const Node& node) const { return static_cast<std::int32_t>(&node - graph().nodes.data()); }

 private:
  std::vector<std::vector<std::int32_t>> readers_;
  std::vector<std::int32_t> writer_;
  std::set<ValueId> outputs_;
};

}  // namespace pagoda::inline core
