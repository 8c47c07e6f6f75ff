// The analysis lists rows in execution order: a node's own row, then those of the branch or body that it entered; a
// call to a local function has no row of its own unless the body became one aggregate. This reads them back.
#include "memory/schedule.h"

#include <utility>

#include "graph/by_operator.h"

namespace pagoda::inline core {
namespace {

class RowReader {
 public:
  RowReader(const Model& model, const std::vector<NodeReport>& rows)
      : model_(model), rows_(rows), budget_(8 * rows.size() + 4096) {}

  // Reads the rows of one run of graph `id` from `at`, and advances `at` past them. False when they do not match.
  bool read(GraphId id, std::size_t& at, std::vector<Step>* steps) {
    if (depth_ == kMaxBodyDepth) return false;
    ++depth_;
    const bool match = read_nodes(id, at, steps);
    --depth_;
    return match;
  }

 private:
  bool read_nodes(GraphId id, std::size_t& at, std::vector<Step>* steps) {
    const Graph& graph = model_.graphs[static_cast<std::size_t>(id)];
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (budget_ == 0) return false;
      --budget_;
      Step step;
      if (!read_node(id, i, graph.nodes[i], at, step)) return false;
      if (steps != nullptr) steps->push_back(std::move(step));
    }
    return true;
  }

  bool is_row_of(std::size_t at, GraphId id, std::size_t node) const {
    return at < rows_.size() && rows_[at].graph == id && rows_[at].node == static_cast<std::int32_t>(node);
  }

  bool read_node(GraphId id, std::size_t index, const Node& node, std::size_t& at, Step& step) {
    const Function* function =
        functions_.of(node, nullptr, [&] { return model_.function(node.domain, node.op_type, node.overload); });
    std::vector<GraphId> bodies = function != nullptr ? std::vector<GraphId>{function->body} : node.bodies();
    step.has_body = !bodies.empty();
    const bool has_row = is_row_of(at, id, index);
    if (!has_row && function == nullptr) return false;
    if (has_row) {
      step.row = static_cast<std::int32_t>(at);
      step.is_pointwise = rows_[at].facts.kind == OpKind::Pointwise;
      step.mark = rows_[at++].cost.mark;
      // A call with a row is an aggregate or unmodelled; so is a row that follows a structure's own row for the same
      // node.
      if (function != nullptr || step.mark != Mark::View) return true;
      if (is_row_of(at, id, index) && rows_[at].cost.mark != Mark::View) {
        ++at;
        return true;
      }
    }
    if (bodies.empty()) return true;
    // Of two branches, the one that matches more rows is the one taken.
    step.body_begin = step.body_end = at;
    for (const GraphId body : bodies) {
      std::size_t end = at;
      if (!read(body, end, nullptr) || (step.body >= 0 && end <= step.body_end)) continue;
      step.body = body;
      step.body_end = end;
    }
    if (step.body < 0) return false;
    step.last_run = step.body_begin;
    if (function == nullptr && node.op_type != "If") read_further_runs(step);
    at = step.body_end;
    return true;
  }

  // An unrolled loop has rows for every trip, a SequenceMap for every kind of member, all in one scope.
  void read_further_runs(Step& step) {
    for (std::size_t end = step.body_end; end < rows_.size() && rows_[end].scope == rows_[step.body_begin].scope;) {
      if (!read(step.body, end, nullptr) || end <= step.body_end) return;
      step.last_run = std::exchange(step.body_end, end);
    }
  }

  const Model& model_;
  const std::vector<NodeReport>& rows_;
  std::size_t budget_;  // limit on nodes visited: functions may nest without rows
  int depth_ = 0;
  ByOperator<const Function*> functions_;  // null for an operator of another kind
};

}  // namespace

std::vector<Step> locate_steps(const Model& model, const std::vector<NodeReport>& rows, GraphId id, std::size_t begin) {
  const Graph& graph = model.graphs[static_cast<std::size_t>(id)];
  std::vector<Step> steps;
  steps.reserve(graph.nodes.size());
  std::size_t at = begin;
  if (RowReader(model, rows).read(id, at, &steps)) return steps;

  steps.clear();
  steps.resize(graph.nodes.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Node& node = graph.nodes[i];
    steps[i].has_body = model.function(node.domain, node.op_type, node.overload) != nullptr || !node.bodies().empty();
    steps[i].mark = Mark::Unmodelled;
  }
  for (std::size_t i = begin; i < rows.size(); ++i) {
    if (rows[i].graph != id) continue;
    Step& step = steps[static_cast<std::size_t>(rows[i].node)];
    step.row = static_cast<std::int32_t>(i);
    step.mark = rows[i].cost.mark;
  }
  return steps;
}

}  // namespace pagoda::inline core
