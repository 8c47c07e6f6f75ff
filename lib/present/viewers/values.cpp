// Numbers of nodes from the estimate, its prediction and a joined measurement.
#include "viewers/values.h"

#include "pagoda/base/text.h"
#include "pagoda/measured/join.h"
#include "report/rows.h"

namespace pagoda::present {
namespace {

using documents::Count;
using documents::EstimateCounts;
using documents::EstimateDocument;
using documents::EstimateNode;

constexpr std::string_view kNeedsDevice = "needs --device";
constexpr std::string_view kNeedsPrediction = "needs --predict, of an engine that is predicted node by node";
constexpr std::string_view kNeedsRun = "needs --measured, a profile whose kernels join the nodes";

// clang-format off
constexpr Metric kMetrics[] = {
    // name, shown, kind, count, number, remedy
    {"seconds",           "Time at least",      MetricKind::Seconds, nullptr, &NodeValues::seconds,           kNeedsDevice},
    {"compute_seconds",   "Compute at least",   MetricKind::Seconds, nullptr, &NodeValues::compute_seconds,   kNeedsDevice},
    {"memory_seconds",    "Memory at least",    MetricKind::Seconds, nullptr, &NodeValues::memory_seconds,    kNeedsDevice},
    {"predicted_seconds", "Time predicted",     MetricKind::Seconds, nullptr, &NodeValues::predicted_seconds, kNeedsPrediction},
    {"measured_seconds",  "Time measured",      MetricKind::Seconds, nullptr, &NodeValues::measured_seconds,  kNeedsRun},
    {"flops",             "FLOPs",              MetricKind::Count,   &EstimateCounts::flops},
    {"macs",              "MACs",               MetricKind::Count,   &EstimateCounts::macs},
    {"arith",             "Arithmetic",         MetricKind::Count,   &EstimateCounts::arith},
    {"special",           "Special functions",  MetricKind::Count,   &EstimateCounts::special},
    {"comparisons",       "Comparisons",        MetricKind::Count,   &EstimateCounts::comparisons},
    {"params",            "Parameters",         MetricKind::Count,   &EstimateCounts::params},
    {"param_bytes",       "Parameter bytes",    MetricKind::Bytes,   &EstimateCounts::param_bytes},
    {"bytes_read",        "Bytes read",         MetricKind::Bytes,   &EstimateCounts::bytes_read},
    {"bytes_written",     "Bytes written",      MetricKind::Bytes,   &EstimateCounts::bytes_written},
    {"bytes",             "Bytes",              MetricKind::Bytes,   &EstimateCounts::bytes},
    {"intensity",         "FLOPs per byte",     MetricKind::Ratio},
};
// clang-format on

std::string joined_names(const EstimateDocument& estimate, const std::vector<std::size_t>& nodes) {
  return base::joined(nodes, "; ", [&](std::size_t node) { return estimate.nodes[node].shown_name(); });
}

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

const Metric* metric(std::string_view name) {
  for (const Metric& each : kMetrics)
    if (each.name == name) return &each;
  return nullptr;
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const Metric& each : kMetrics) names.emplace_back(each.name);
  return names;
}

std::vector<const Metric*> metrics() {
  std::vector<const Metric*> list;
  for (const Metric& each : kMetrics) list.push_back(&each);
  return list;
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
    if (const RowBound* bound = estimate.bound_of(node); bound != nullptr && bound->bound != Bound::Unknown) {
      row.seconds = bound->seconds;
      row.compute_seconds = bound->compute_seconds;
      row.memory_seconds = bound->memory_seconds;
      row.bound = to_string(bound->bound);
    }
    if (estimate.roofline && estimate.roofline->predicted && i < estimate.roofline->predicted->nodes.size())
      row.predicted_seconds = estimate.roofline->predicted->nodes[i];
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
  for (const auto member : {&NodeValues::seconds, &NodeValues::compute_seconds, &NodeValues::memory_seconds,
                            &NodeValues::predicted_seconds, &NodeValues::measured_seconds})
    plus(sum.*member, row.*member);
  if (sum.bound != row.bound) sum.bound.clear();
  if (sum.problem.empty()) sum.problem = row.problem;
  sum.together_seconds.reset();  // it covers only the first row and its neighbours
}

NodeValues total_values(const Viewed& viewed) {
  NodeValues total;
  total.counts = viewed.estimate.totals.counts;
  if (const auto& roofline = viewed.estimate.roofline) {
    total.seconds = roofline->totals.seconds;
    total.compute_seconds = roofline->totals.compute_seconds;
    total.memory_seconds = roofline->totals.memory_seconds;
    if (roofline->predicted) total.predicted_seconds = roofline->predicted->seconds;
  }
  if (viewed.estimate.measured) total.measured_seconds = viewed.estimate.measured->seconds;
  return total;
}

std::optional<double> number(const Metric& metric, const NodeValues& values) {
  if (metric.count != nullptr) return documents::real(values.counts.*metric.count);
  return metric.number != nullptr ? values.*metric.number : values.counts.intensity();
}

std::string exact_text(const Metric& metric, const NodeValues& values) {
  if (metric.count == nullptr) {
    const std::optional<double> value = number(metric, values);
    return value ? base::shortest(*value) : std::string();
  }
  const Count& count = values.counts.*metric.count;
  return count ? to_string(*count) : std::string();
}

std::string shown_text(const Metric& metric, const NodeValues& values) {
  const std::optional<double> value = number(metric, values);
  if (!value) return {};
  switch (metric.kind) {
    case MetricKind::Count:
      return base::si(*(values.counts.*metric.count));
    case MetricKind::Bytes:
      return base::si(*(values.counts.*metric.count), "B");
    case MetricKind::Seconds:
      return base::si_seconds(*value);
    case MetricKind::Ratio:
      return base::rounded(*value);
  }
  return {};
}

std::string refusal(const Metric& metric, const Viewed& viewed) {
  if (metric.remedy.empty()) return {};
  for (const NodeValues& row : row_values(viewed))
    if (number(metric, row)) return {};
  return "--metric " + std::string(metric.name) + " " + std::string(metric.remedy);
}

std::optional<KernelText> kernel_text(const EstimateDocument& estimate, const EstimateNode& node) {
  if (!estimate.traffic || node.group < 0) return std::nullopt;
  const auto id = static_cast<std::size_t>(node.group);
  const documents::EstimateGroup& group = estimate.traffic->groups[id];
  const RowBound* bound = estimate.bound_of_group(id);
  return KernelText{
      .number = std::to_string(id),
      .nodes = joined_names(estimate, group.nodes),
      .seconds = bound == nullptr || bound->bound == Bound::Unknown ? "" : base::shortest(bound->seconds)};
}

}  // namespace pagoda::present
