// Numbers of a report: evaluated once, then shown by every format.
#include "report/rows.h"

#include <algorithm>
#include <map>

#include "pagoda/base/error.h"

namespace pagoda::present::report {
namespace {

// The published estimator tells neither reads from writes nor what it could not model.
void set_published(Counters& counters, const PagodaCount& published, bool failed) {
  counters.flops = failed ? Number() : published.flops;
  counters.param_bytes = failed ? Number() : published.param_bytes;
  counters.bytes = failed ? Number() : published.memory_bytes;
  counters.bytes_read = counters.bytes_written = std::nullopt;
}

bool is_unmodelled(const NodeReport& row) { return row.cost.mark == Mark::Unmodelled || row.unmodelled_inside > 0; }

double seconds_of(const NodeRow& row) { return row.bound == nullptr ? 0 : row.bound->seconds; }
double seconds_of(const GroupRow& row) { return row.bound == nullptr ? 0 : row.bound->seconds; }
double seconds_of(const TypeRow& row) { return row.seconds.value_or(0); }

// Most time first, where a device is known; then most FLOPs, unknown last, then in order of execution (or of name).
template <typename Row>
void sort_by_weight(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    if (seconds_of(a) != seconds_of(b)) return seconds_of(a) > seconds_of(b);
    return a.counters.flops.value_or(-1) > b.counters.flops.value_or(-1);
  });
}

std::vector<NodeRow> node_rows(const Model& model, const Analysis& analysis, const ReportOptions& options) {
  std::vector<NodeRow> rows;
  rows.reserve(analysis.nodes.size());
  for (const NodeReport& report : analysis.nodes) {
    const Graph& graph = model.graphs[static_cast<std::size_t>(report.graph)];
    NodeRow row{.index = rows.size(),
                .report = &report,
                .graph = &graph,
                .node = &graph.nodes[static_cast<std::size_t>(report.node)],
                .counters = documents::counts_of(report.cost, report.params, report.param_bytes, options.count,
                                                 !is_unmodelled(report))};
    if (options.sections.time != nullptr) row.bound = &options.sections.time->bound->rows[row.index];
    if (options.count == Convention::Pagoda && options.published) {
      const bool in_main = report.graph == 0;
      const PagodaCount none;
      set_published(row.counters, in_main ? options.published->nodes.at(static_cast<std::size_t>(report.node)) : none,
                    !options.published->failure.empty());
    }
    rows.push_back(row);
  }
  return rows;
}

std::vector<TypeRow> type_rows(const std::vector<NodeRow>& nodes, bool with_formulas) {
  std::map<std::pair<std::string, std::string>, TypeRow> types;
  for (const NodeRow& node : nodes) {
    TypeRow& type = types[{node.node->domain, node.node->op_type}];
    type.op_type = node.node->op_type;
    type.domain = node.node->domain;
    ++type.nodes;
    if (is_unmodelled(*node.report)) {
      ++type.unmodelled_nodes;
    } else if (with_formulas) {
      type.cost += node.report->cost;
    }
    if (node.bound != nullptr) type.seconds = type.seconds.value_or(0) + node.bound->seconds;
    for (const auto& [name, counter] : documents::kEstimateCounts)
      if (const Number& value = node.counters.*counter)
        type.counters.*counter = (type.counters.*counter).value_or(0) + *value;
  }
  std::vector<TypeRow> rows;
  rows.reserve(types.size());
  for (auto& [key, row] : types) rows.push_back(std::move(row));
  sort_by_weight(rows);
  return rows;
}

std::vector<GroupRow> group_rows(const std::vector<NodeRow>& nodes, const ReportOptions& options) {
  std::vector<GroupRow> rows;
  if (options.sections.traffic == nullptr) return rows;
  const Traffic& traffic = *options.sections.traffic;
  const Roofline* bound = options.sections.time == nullptr ? nullptr : options.sections.time->bound;
  for (std::size_t id = 0; id < traffic.groups.size(); ++id) {
    const TrafficGroup& group = traffic.groups[id];
    GroupRow row{.index = id, .group = &group, .name = {}, .ops = {}, .counters = {}};
    Dim params, param_bytes;
    const NodeRow* main = nullptr;
    for (const std::int32_t member : group.rows) {
      const NodeRow& node = nodes[static_cast<std::size_t>(member)];
      params += node.report->params;
      param_bytes += node.report->param_bytes;
      row.ops += (row.ops.empty() ? "" : "+") + qualified(node.node->domain, node.node->op_type);
      if (main == nullptr || (main->report->cost.macs == Dim(0) && node.report->cost.macs != Dim(0))) main = &node;
    }
    if (main != nullptr) row.name = main->name();
    row.counters =
        documents::counts_of(group.cost, params, param_bytes, options.count, group.cost.mark != Mark::Unmodelled);
    if (bound != nullptr)
      row.bound = bound->groups.empty() ? &bound->rows[static_cast<std::size_t>(group.rows[0])] : &bound->groups[id];
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::string NodeRow::scope() const {
  if (report->scope.empty() || node->scope.empty()) return report->scope + node->scope;
  return report->scope + "/" + node->scope;
}

std::string NodeRow::problem() const {
  if (!report->problem.empty() || report->unmodelled_inside == 0) return report->problem;
  return std::to_string(report->unmodelled_inside) + " nodes inside are not modelled";
}

Data collect(const Model& model, const Analysis& analysis, const ReportOptions& options) {
  const Totals& totals = analysis.totals;
  Data data{
      .model = model,
      .analysis = analysis,
      .options = options,
      .totals = {},
      .activation_peak_bytes = totals.activation_peak_bytes ? number(*totals.activation_peak_bytes) : std::nullopt,
      .intensity = {},
      .nodes = node_rows(model, analysis, options),
      .types = {},
      .groups = {},
      .cost = totals.cost};
  if (data.traffic() != TrafficModel::Unfused) {
    data.cost.bytes_read = options.sections.traffic->bytes_read;
    data.cost.bytes_written = options.sections.traffic->bytes_written;
  }
  data.totals = documents::counts_of(data.cost, totals.params, totals.param_bytes, options.count);
  if (options.count == Convention::Pagoda && options.published)
    set_published(data.totals, options.published->total, !options.published->failure.empty());
  // A ratio of two lower bounds bounds nothing.
  if (!analysis.partial || data.published()) data.intensity = data.totals.intensity();
  if (options.rows == Rows::Type) {
    data.types = type_rows(data.nodes, options.node_formulas);
    data.nodes.clear();
  } else if (options.rows == Rows::Group) {
    data.groups = group_rows(data.nodes, options);
    data.nodes.clear();
  }
  const auto choose = [&](auto& rows, bool is_sorted) {
    if (options.top == 0) return;
    if (!is_sorted) sort_by_weight(rows);
    if (rows.size() > options.top) rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(options.top), rows.end());
  };
  choose(data.nodes, false);
  choose(data.types, true);
  choose(data.groups, false);
  return data;
}

std::string qualified(const std::string& domain, const std::string& op_type) {
  return domain.empty() ? op_type : domain + "." + op_type;
}

std::string type_text(const TensorType& type) {
  std::string text = type_name(type);
  if (!type.shape) return text;
  text += '[';
  for (const Dim& dim : *type.shape) text += (text.back() == '[' ? "" : ",") + dim.to_string();
  return text + "]";
}

std::string device_text(const TimeSection& time) {
  std::string text = base::printable(time.device->name.empty() ? time.device->id : time.device->name);
  if (!time.device->power_mode.empty()) text += ", mode " + base::printable(time.device->power_mode);
  if (time.options.precision)
    text += ", floats as " + std::string(to_string(*time.options.precision)) + " in work and memory";
  return text;
}

std::string_view meaning(Convention count) {
  switch (count) {
    case Convention::Flops:
      return "2·MACs + arith + special";
    case Convention::Macs:
      return "MACs";
    case Convention::Contraction:
      return "2·MACs";
    case Convention::Hardware:
      return "2·MACs + arith − comparisons";
    case Convention::Pagoda:
      return "the published Pagoda rules";
  }
  return "";
}

}  // namespace pagoda::present::report
