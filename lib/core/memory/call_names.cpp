// Follows the rows of every call, and of the bodies inside.
#include "pagoda/core/call_names.h"

#include <algorithm>

#include "memory/schedule.h"

namespace pagoda::inline core {

CallNames::CallNames(const Model& model, const std::vector<NodeReport>& rows) : model_(model), rows_(rows) {
  if (model.functions.empty()) return;
  call_of_.assign(rows.size(), -1);
  follow(0, 0, -1);
}

// Takes the rows of one run of the graph from `begin`, inside `call`, and returns the row after them.
std::size_t CallNames::follow(GraphId id, std::size_t begin, std::int32_t call) {
  const Graph& graph = model_.graph(id);
  const std::vector<Step> steps = locate_steps(model_, rows_, id, begin);
  std::size_t end = begin;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    if (step.row >= 0) {
      const auto row = static_cast<std::size_t>(step.row);
      // A structure's aggregated body follows its own row.
      for (end = row; end < rows_.size() && rows_[end].graph == id && rows_[end].node == rows_[row].node; ++end)
        call_of_[end] = call;
    }
    if (step.body < 0) continue;
    const Node& node = graph.nodes[i];
    const Function* function = model_.function(node.domain, node.op_type, node.overload);
    const std::int32_t inside = function == nullptr ? call : enter(node, id, *function, call);
    std::size_t at = step.body_begin;
    while (at < step.body_end) {  // run by run
      const std::size_t next = follow(step.body, at, inside);
      if (next <= at) break;
      at = next;
    }
    end = std::max(end, step.body_end);
  }
  return end;
}

std::int32_t CallNames::enter(const Node& node, GraphId graph, const Function& function, std::int32_t caller) {
  Call call{.body = function.body, .names = {}};
  const Graph& body = model_.graph(function.body);
  for (std::size_t i = 0; i < std::min(node.inputs.size(), body.inputs.size()); ++i)
    call.names.emplace(body.inputs[i], name_in(caller, graph, node.inputs[i]));
  // An output that is an input, too, is the caller's value of that input.
  for (std::size_t i = 0; i < std::min(node.outputs.size(), body.outputs.size()); ++i)
    if (node.outputs[i] != kAbsent) call.names.emplace(body.outputs[i], name_in(caller, graph, node.outputs[i]));
  calls_.push_back(std::move(call));
  return static_cast<std::int32_t>(calls_.size()) - 1;
}

// Bodies within a function capture its values.
Name CallNames::name_in(std::int32_t call, GraphId graph, ValueId value) const {
  if (value == kAbsent) return {};
  while (call >= 0) {
    const Call& inside = calls_[static_cast<std::size_t>(call)];
    if (graph == inside.body) {
      const auto found = inside.names.find(value);
      return found == inside.names.end() ? model_.graph(graph).value(value).name : found->second;
    }
    const Value& captured = model_.graph(graph).value(value);
    if (captured.outer == kAbsent || model_.graph(graph).parent < 0) break;
    value = captured.outer;
    graph = model_.graph(graph).parent;
  }
  return model_.graph(graph).value(value).name;
}

Name CallNames::of(std::size_t row, ValueId value) const {
  return name_in(call_of_.empty() ? -1 : call_of_[row], rows_[row].graph, value);
}

}  // namespace pagoda::inline core
