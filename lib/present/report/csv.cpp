// Exact numbers for spreadsheets and scripts (RFC 4180). Columns: report.h.
#include "pagoda/base/csv_line.h"

#include <algorithm>
#include <map>

#include "report/rows.h"

namespace pagoda::present {
namespace {

using base::CsvLine;
using documents::EstimateDocument;

constexpr std::initializer_list<const char*> kBoundColumns = {"seconds", "compute_seconds", "memory_seconds",
                                                              "bound",   "share",           "headroom"};

void add_bound(CsvLine& line, const RowBound* bound) {
  const bool is_known = bound != nullptr && bound->bound != Bound::Unknown;
  const auto known = [&](double RowBound::*member) { return is_known ? std::optional(bound->*member) : std::nullopt; };
  line.add(known(&RowBound::seconds)).add(known(&RowBound::compute_seconds)).add(known(&RowBound::memory_seconds));
  line.add(bound == nullptr ? std::string() : std::string(to_string(bound->bound))).add(known(&RowBound::share));
  line.add(is_known ? bound->headroom : std::nullopt);
}

void add_counters(CsvLine& line, const report::EstimateCounts& counters) {
  for (const auto& [name, member] : documents::kEstimateCounts) line.add(counters.*member);
  line.add(counters.intensity());
}

void add_formulas(CsvLine& line, const report::EstimateFormulas& formulas) {
  line.add(formulas.macs).add(formulas.flops).add(formulas.bytes);
}

constexpr std::initializer_list<const char*> kTrainingColumns = {
    "dx_macs",        "dx_flops",   "dx_bytes",   "dw_macs",         "dw_flops",   "dw_bytes",
    "gradient_bytes", "kept_bytes", "recomputed", "forward_seconds", "dx_seconds", "dw_seconds"};

// The least time of each part of a node; empty without a device.
using StepTimes = std::map<std::pair<std::size_t, std::string>, double>;

StepTimes step_times(const EstimateDocument& estimate) {
  StepTimes times;
  if (estimate.training)
    for (const auto& row : estimate.training->rows)
      if (row.bound.bound != Bound::Unknown) times[{row.node, row.part}] = row.bound.seconds;
  return times;
}

// The backward work of a node, and the bytes that forward keeps for it; empty if its backward is not modelled.
void add_training(CsvLine& line, const documents::EstimateTraining::Node& node, const StepTimes& times) {
  using documents::Count;
  const auto sum = [](const Count& a, const Count& b) { return a && b ? Count(*a + *b) : Count(); };
  for (const documents::EstimateWork* part : {&node.dx, &node.dw}) {
    const bool is_known = node.problem.empty();
    line.add(is_known ? part->macs : Count()).add(is_known ? report::flops_of(*part) : Count());
    line.add(is_known ? sum(part->bytes_read, part->bytes_written) : Count());
  }
  line.add(sum(node.gradient_bytes, node.parameter_gradient_bytes)).add(node.saved_bytes);
  line.add(std::string(node.recomputed ? "true" : "false"));
  for (const char* part : {"forward", "dx", "dw"}) {
    const auto found = times.find({node.index, part});
    line.add(found == times.end() ? std::nullopt : std::optional(found->second));
  }
}

// A line below the nodes: the optimizer belongs to no node.
std::string optimizer_line(const EstimateDocument& estimate, std::size_t columns) {
  const documents::EstimateWork& work = estimate.training->optimizer_work;
  base::CsvLine line;
  line.add("").add("optimizer").add(std::string(to_string(estimate.training->optimizer)));
  for (int i = 0; i < 4; ++i) line.add("");
  report::EstimateCounts counts{.macs = work.macs,
                                .arith = work.arith,
                                .special = work.special,
                                .comparisons = {},
                                .flops = report::flops_of(work),
                                .params = {},  // counted at the nodes
                                .param_bytes = {},
                                .bytes_read = work.bytes_read,
                                .bytes_written = work.bytes_written,
                                .bytes = {}};
  if (work.bytes_read && work.bytes_written) counts.bytes = *work.bytes_read + *work.bytes_written;
  add_counters(line, counts);
  std::size_t told = 7 + std::size(documents::kEstimateCounts) + 1;
  const auto& rows = estimate.training->rows;
  const auto row = std::find_if(rows.begin(), rows.end(), [](const auto& each) { return each.part == "optimizer"; });
  if (estimate.roofline && row != rows.end() && row->bound.bound != Bound::Unknown) {
    line.add("").add("").add("");  // precision, mark, problem
    line.add(row->bound.seconds).add(row->bound.compute_seconds).add(row->bound.memory_seconds);
    line.add(std::string(to_string(row->bound.bound)));  // no share: those above are parts of the forward pass alone
    told += 3 + 4;
  }
  for (std::size_t i = told; i < columns; ++i) line.add("");
  return std::move(line).end();
}

std::string node_line(const EstimateDocument& estimate, const report::EstimateNode& node, const ReportOptions& options,
                      const StepTimes& times) {
  std::string inputs, outputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) inputs.append(i == 0 ? "" : ";").append(node.inputs[i]);
  for (const OutputInfo& output : node.outputs)
    outputs.append(outputs.empty() ? "" : ";").append(output.name).append(":").append(report::type_text(output.type));
  base::CsvLine line;
  line.add(std::to_string(node.index)).name(node.name).name(node.op_type).name(node.domain).name(node.scope);
  line.name(inputs).name(outputs);
  add_counters(line, node.counts);
  line.add(node.precision == ElementType::Undefined ? std::string_view() : to_string(node.precision));
  line.add(to_string(node.mark)).name(node.problem);
  if (estimate.roofline) add_bound(line, estimate.bound_of(node));
  if (report::has_predicted_rows(estimate)) line.add(report::predicted_of(estimate, node));
  if (estimate.training) add_training(line, estimate.training->nodes[node.index], times);
  if (options.row_formulas) add_formulas(line, node.symbolic.value_or(report::EstimateFormulas{}));
  return std::move(line).end();
}

std::string group_line(const EstimateDocument& estimate, const report::GroupRow& row, const ReportOptions& options) {
  std::string nodes;
  for (const std::size_t node : row.group->nodes)
    nodes += (nodes.empty() ? "" : ";") + estimate.nodes[node].shown_name();
  base::CsvLine line;
  line.add(std::to_string(row.index)).name(row.name).name(row.ops).name(nodes);
  add_counters(line, row.group->counts);
  line.add(row.group->saved_bytes).add(std::string(to_string(row.group->rule)));
  if (estimate.roofline) add_bound(line, row.bound);
  if (report::has_predicted_rows(estimate)) line.add(report::predicted_of(estimate, *row.group));
  if (options.row_formulas) add_formulas(line, row.group->symbolic.value_or(report::EstimateFormulas{}));
  return std::move(line).end();
}

std::string type_line(const EstimateDocument& estimate, const report::EstimateType& type,
                      const ReportOptions& options) {
  base::CsvLine line;
  line.name(type.op_type).name(type.domain);
  line.add(std::to_string(type.nodes)).add(std::to_string(type.unmodelled_nodes));
  add_counters(line, type.counts);
  if (estimate.roofline) line.add(type.seconds);
  if (report::has_predicted_rows(estimate)) line.add(report::predicted_of(estimate, type));
  if (options.row_formulas) add_formulas(line, type.symbolic.value_or(report::EstimateFormulas{}));
  return std::move(line).end();
}

std::vector<std::string_view> columns_of(const EstimateDocument& estimate, Rows rows, bool has_formulas) {
  std::vector<std::string_view> columns;
  const auto add = [&](std::initializer_list<const char*> names) {
    columns.insert(columns.end(), names.begin(), names.end());
  };
  const auto add_counters = [&] {
    for (const auto& [name, member] : documents::kEstimateCounts) columns.emplace_back(name);
    columns.emplace_back("intensity");
  };
  const bool is_timed = estimate.roofline.has_value(), is_predicted = report::has_predicted_rows(estimate);
  switch (rows) {
    case Rows::Type:
      add({"op_type", "domain", "nodes", "unmodelled_nodes"});
      add_counters();
      if (is_timed) add({"seconds"});
      if (is_predicted) add({"predicted_seconds"});
      break;
    case Rows::Group:
      add({"index", "kernel", "ops", "nodes"});
      add_counters();
      add({"saved_bytes", "rule"});
      if (is_timed) add(kBoundColumns);
      if (is_predicted) add({"predicted_seconds"});
      break;
    case Rows::Node:
    case Rows::None:
      add({"index", "name", "op_type", "domain", "scope", "inputs", "outputs"});
      add_counters();
      add({"precision", "mark", "problem"});
      if (is_timed) add(kBoundColumns);
      if (is_predicted) add({"predicted_seconds"});
      if (estimate.training) add(kTrainingColumns);
  }
  if (has_formulas) add({"macs_formula", "flops_formula", "bytes_formula"});
  return columns;
}

}  // namespace

std::string csv_report(const documents::EstimateDocument& estimate, const ReportOptions& options) {
  if (!estimate.variants.empty()) return report::variants_csv(estimate);
  ReportOptions chosen = options;
  if (chosen.rows == Rows::None) chosen.rows = Rows::Node;
  const report::Data data = report::collect(estimate, chosen);
  const std::vector<std::string_view> columns = columns_of(estimate, chosen.rows, options.row_formulas);
  constexpr std::size_t kUsualLine = 384;  // most are shorter
  std::string text = base::csv_line(columns);
  text.reserve(kUsualLine * (1 + data.nodes.size()));
  const StepTimes times = step_times(estimate);
  for (const report::EstimateNode* node : data.nodes) text += node_line(estimate, *node, options, times);
  if (estimate.training && !data.nodes.empty()) text += optimizer_line(estimate, columns.size());
  for (const report::EstimateType* type : data.types) text += type_line(estimate, *type, options);
  for (const report::GroupRow& group : data.groups) text += group_line(estimate, group, options);
  return text;
}

}  // namespace pagoda::present
