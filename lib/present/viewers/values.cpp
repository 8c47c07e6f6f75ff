// Numbers of nodes from the estimate, its prediction and a joined measurement.
#include "viewers/values.h"

#include <algorithm>

#include "pagoda/base/text.h"
#include "pagoda/measured/join.h"
#include "report/rows.h"

namespace pagoda::present {
namespace {

using documents::Count;
using documents::EstimateCounts;
using documents::EstimateDocument;
using documents::EstimateNode;

void add_run(std::vector<NodeValues>& values, const Viewed& viewed) {
  for (const measured::JoinedGroup& group : measured::joined_groups(*viewed.run, viewed.estimate)) {
    if (!group.seconds) continue;
    if (group.rows.size() == 1) {
      values[group.rows.front()].measured_seconds = group.seconds;
      continue;
    }
    for (const std::size_t row : group.rows) {
      values[row].together_seconds = group.seconds;
      values[row].together = joined_names(viewed.estimate, group.rows);
    }
  }
}

}  // namespace

std::string joined_names(const EstimateDocument& estimate, const std::vector<std::size_t>& nodes) {
  return base::joined(nodes, "; ", [&](std::size_t node) { return estimate.nodes[node].shown_name(); });
}

std::vector<const Metric*> metrics() {
  return documents::columns_of(documents::RowKind::Node, documents::View::Viewer);
}

const Metric* metric(std::string_view name) {
  const std::vector<const Metric*> all = metrics();
  const auto found = std::ranges::find(all, name, &Metric::name);
  return found == all.end() ? nullptr : *found;
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const Metric* each : metrics()) names.emplace_back(each->name);
  return names;
}

std::vector<NodeValues> row_values(const Viewed& viewed) {
  const EstimateDocument& estimate = viewed.estimate;
  std::vector<NodeValues> values(estimate.nodes.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const EstimateNode& node = estimate.nodes[i];
    NodeValues& row = values[i];
    row.node = &node;
    row.rows = 1;
    row.counts = node.counts;
    row.problem = node.problem;
    const Row parts = documents::node_row(estimate, node);
    row.time.bound = Bound::Unknown;
    if (parts.seconds()) {
      row.time = *parts.bound;
      row.bound = to_string(parts.bound->bound);
    }
    row.predicted_seconds = parts.predicted_seconds;
  }
  if (viewed.run != nullptr) add_run(values, viewed);
  return values;
}

void add(NodeValues& sum, const NodeValues& row) {
  const auto plus = [](auto& to, const auto& part) {
    if (to && part)
      to = *to + *part;
    else
      to = std::nullopt;  // the sum is unknown if a part is unknown
  };
  ++sum.rows;
  for (const auto& [name, member] : documents::kEstimateCounts) plus(sum.counts.*member, row.counts.*member);
  plus(sum.predicted_seconds, row.predicted_seconds);
  plus(sum.measured_seconds, row.measured_seconds);
  if (row.time.bound == Bound::Unknown) sum.time.bound = Bound::Unknown;
  for (const auto member : {&RowBound::seconds, &RowBound::compute_seconds, &RowBound::memory_seconds})
    sum.time.*member += row.time.*member;
  if (sum.bound != row.bound) sum.bound.clear();
  if (sum.problem.empty()) sum.problem = row.problem;
  sum.together_seconds.reset();  // it covers only the first row and its neighbours
}

NodeValues total_values(const Viewed& viewed) {
  const Row row = documents::total_row(viewed.estimate);
  NodeValues total;
  total.counts = *row.counts;
  total.predicted_seconds = row.predicted_seconds;
  total.measured_seconds = row.measured_seconds;
  total.time.bound = Bound::Unknown;
  if (const auto& roofline = viewed.estimate.roofline) {
    total.time.bound = roofline->totals.bound();
    total.time.seconds = roofline->totals.seconds;
    total.time.compute_seconds = roofline->totals.compute_seconds;
    total.time.memory_seconds = roofline->totals.memory_seconds;
  }
  return total;
}

Cell cell(const Metric& metric, const NodeValues& values) {
  return metric.cell({.node = values.node,
                      .counts = &values.counts,
                      .bound = &values.time,
                      .predicted_seconds = values.predicted_seconds,
                      .measured_seconds = values.measured_seconds});
}

std::string label_text(const Metric& metric, const NodeValues& values) {
  const Cell value = cell(metric, values);
  // Viewers have no room for the digits of large ratios.
  const double* const ratio = std::get_if<double>(&value);
  return ratio != nullptr && metric.kind == documents::CellKind::Intensity ? base::rounded(*ratio)
                                                                           : shown_text(value, metric.kind);
}

std::string refusal(const Metric& metric, const Viewed& viewed) {
  if (metric.remedy == nullptr) return {};
  for (const NodeValues& row : row_values(viewed))
    if (documents::number(cell(metric, row))) return {};
  return "--metric " + std::string(metric.name) + " " + metric.remedy;
}

}  // namespace pagoda::present
