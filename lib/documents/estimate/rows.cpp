// Rows of an estimate: the parts that belong together, found once for all outputs.
#include <algorithm>
#include <map>
#include <string>

#include "pagoda/documents/columns.h"

namespace pagoda::documents {
namespace {

constexpr const char* kStepParts[] = {"forward", "dx", "dw"};  // in the order of Row::step

// Files may leave nodes out.
std::optional<double> predicted_seconds(const EstimateDocument& estimate, std::size_t node) {
  const bool has = has_predicted_rows(estimate) && node < estimate.roofline->predicted->row_seconds.size();
  return has ? std::optional(estimate.roofline->predicted->row_seconds[node]) : std::nullopt;
}

void set_predicted(std::vector<Row>& types, const EstimateDocument& estimate) {
  std::map<std::pair<std::string_view, std::string_view>, std::optional<double>> seconds;
  for (const EstimateNode& node : estimate.nodes)
    if (const std::optional<double> of_node = predicted_seconds(estimate, node.index)) {
      std::optional<double>& sum = seconds[{node.domain.view(), node.op_type.view()}];
      sum = sum.value_or(0) + *of_node;
    }
  for (Row& row : types) row.predicted_seconds = seconds[{row.type->domain, row.type->op_type}];
}

}  // namespace

std::optional<double> Row::seconds() const {
  return bound == nullptr || bound->bound == Bound::Unknown ? std::nullopt : std::optional(bound->seconds);
}

std::vector<const EstimateNode*> Row::nodes() const {
  if (kernel == nullptr) return {node};
  const std::vector<EstimateNode>& all = estimate->nodes;
  std::vector<const EstimateNode*> found;
  found.reserve(kernel->nodes.size());
  for (const std::size_t wanted : kernel->nodes) {
    const bool is_in_place = wanted < all.size() && all[wanted].index == wanted;
    const auto at = is_in_place ? all.begin() + static_cast<std::ptrdiff_t>(wanted)
                                : std::find_if(all.begin(), all.end(),
                                               [&](const EstimateNode& each) { return each.index == wanted; });
    if (at != all.end()) found.push_back(&*at);
  }
  return found;
}

const EstimateNode* Row::main_node() const { return kernel == nullptr ? node : heaviest_node(nodes()); }

std::string Row::shown_name() const {
  if (type != nullptr) return operators();
  const EstimateNode* const main = main_node();
  return main == nullptr ? std::string() : std::string(main->shown_name());
}

std::string Row::operators() const {
  if (type != nullptr) return qualified(type->domain, type->op_type);
  if (kernel == nullptr) return node->qualified_op();
  std::string text;
  for (const EstimateNode* each : nodes()) text += (text.empty() ? "" : "+") + each->qualified_op();
  return text;
}

Row node_row(const EstimateDocument& estimate, const EstimateNode& node) {
  Row row{.estimate = &estimate, .kind = RowKind::Node, .index = node.index, .node = &node, .counts = &node.counts};
  if (node.symbolic) row.symbolic = &*node.symbolic;
  row.bound = estimate.bound_of(node);
  if (estimate.training && node.index < estimate.training->nodes.size())
    row.training = &estimate.training->nodes[node.index];
  row.predicted_seconds = predicted_seconds(estimate, node.index);
  return row;
}

Row kernel_row(const EstimateDocument& estimate, std::size_t index) {
  const EstimateGroup& kernel = estimate.traffic->groups[index];
  Row row{.estimate = &estimate, .kind = RowKind::Kernel, .index = index, .kernel = &kernel, .counts = &kernel.counts};
  if (kernel.symbolic) row.symbolic = &*kernel.symbolic;
  row.bound = estimate.bound_of_group(index);
  for (const std::size_t node : kernel.nodes)
    if (const std::optional<double> seconds = predicted_seconds(estimate, node))
      row.predicted_seconds = row.predicted_seconds.value_or(0) + *seconds;
  return row;
}

Row total_row(const EstimateDocument& estimate) {
  Row row{.estimate = &estimate, .kind = RowKind::Total, .counts = &estimate.totals.counts};
  if (estimate.roofline && estimate.roofline->predicted) row.predicted_seconds = estimate.roofline->predicted->seconds;
  if (estimate.measured) row.measured_seconds = estimate.measured->seconds;
  return row;
}

std::vector<Row> rows_of(const EstimateDocument& estimate, RowKind kind) {
  std::vector<Row> rows;
  switch (kind) {
    case RowKind::Node:
      rows.reserve(estimate.nodes.size());
      for (const EstimateNode& node : estimate.nodes) rows.push_back(node_row(estimate, node));
      if (!estimate.training) break;
      for (const EstimateTraining::Row& part : estimate.training->rows)
        for (std::size_t i = 0; i < std::size(kStepParts); ++i)
          if (part.part == kStepParts[i] && part.node < rows.size()) rows[part.node].step[i] = &part.bound;
      break;
    case RowKind::Kernel:
      for (std::size_t i = 0; estimate.traffic && i < estimate.traffic->groups.size(); ++i)
        rows.push_back(kernel_row(estimate, i));
      break;
    case RowKind::Type:
      for (const EstimateType& type : *estimate.types) {
        rows.push_back({.estimate = &estimate,
                        .kind = kind,
                        .index = rows.size(),
                        .type = &type,
                        .counts = &type.counts,
                        .symbolic = type.symbolic ? &*type.symbolic : nullptr});
      }
      if (has_predicted_rows(estimate)) set_predicted(rows, estimate);
      break;
    case RowKind::Part:
      for (const auto& [name, member] : kTrainingParts)
        rows.push_back(
            {.estimate = &estimate, .kind = kind, .index = rows.size(), .counts = &((*estimate.training).*member)});
      break;
    case RowKind::Point:
    case RowKind::PublishedPoint:
      for (const EstimatePoint& point : estimate.sweep->points)
        rows.push_back({.estimate = &estimate,
                        .kind = kind,
                        .index = rows.size(),
                        .counts = &point.counts,
                        .run = point.time ? &*point.time : nullptr,
                        .point = &point});
      break;
    case RowKind::Variant:
      for (const EstimateVariant& variant : estimate.variants)
        rows.push_back({.estimate = &estimate, .kind = kind, .index = rows.size(), .variant = &variant});
      break;
    case RowKind::Total:
    case RowKind::AtLoad:
    case RowKind::Backward:
    case RowKind::Run:
    case RowKind::NodeTime:
    case RowKind::KernelTime:
    case RowKind::StepTime:
    case RowKind::Dot:
      break;
  }
  return rows;
}

const EstimateNode* heaviest_node(std::span<const EstimateNode* const> nodes) {
  const auto weight = [](const EstimateNode* node) {
    const Count bytes = node->runs_nothing() ? 0 : node->counts.bytes;
    return std::pair(node->counts.macs.value_or(0), bytes.value_or(0));
  };
  const auto heaviest = std::max_element(
      nodes.begin(), nodes.end(), [&](const EstimateNode* a, const EstimateNode* b) { return weight(a) < weight(b); });
  return heaviest == nodes.end() ? nullptr : *heaviest;
}

bool has_predicted_rows(const EstimateDocument& estimate) {
  return estimate.roofline && estimate.roofline->predicted && !estimate.roofline->predicted->row_seconds.empty();
}

}  // namespace pagoda::documents
