// Estimates as charts use them.
#include <algorithm>

#include "draw/text.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/sha256.h"
#include "pagoda/base/text.h"
#include "pagoda/estimate/measured_runs.h"
#include "plot/chart.h"
#include "report/rows.h"

namespace pagoda::present {
namespace plot {
using documents::EstimateNode;
using documents::real;

std::optional<double> least_seconds(const documents::EstimatePoint& point) {
  return point.time ? std::optional(point.time->seconds) : std::nullopt;
}

const std::string& ChartEstimate::model() const {
  return document().model.path.empty() ? document().model.name : document().model.path;
}

std::optional<std::size_t> ChartEstimate::position(std::size_t index) const {
  const auto found = std::ranges::lower_bound(nodes, index, {}, &EstimateNode::index);
  if (found == nodes.end() || (*found)->index != index) return std::nullopt;
  return static_cast<std::size_t>(found - nodes.begin());
}

std::vector<std::size_t> ChartEstimate::positions(const std::vector<std::size_t>& indices) const {
  std::vector<std::size_t> result;
  for (const std::size_t index : indices)
    if (const auto at = position(index)) result.push_back(*at);
  return result;
}

std::size_t ChartEstimate::heaviest(const std::vector<std::size_t>& positions) const {
  std::vector<const EstimateNode*> list;
  list.reserve(positions.size());
  for (const std::size_t at : positions) list.push_back(nodes[at]);
  const EstimateNode* found = report::heaviest_node(list);
  return found == nullptr ? 0 : *position(found->index);
}

std::string_view ChartEstimate::traffic() const {
  return document().traffic ? to_string(document().traffic->model) : "unfused";
}

std::optional<double> ChartEstimate::weight_bytes() const {
  if (!document().memory || document().memory->weights.empty()) return std::nullopt;
  double sum = 0;
  for (const auto& weights : document().memory->weights) sum += static_cast<double>(weights.bytes);
  return sum;
}

namespace {

std::string model_label(const ChartEstimate& estimate) {
  std::string name = estimate::short_model_name(estimate.document());
  if (name.empty()) name = estimate.source->name;
  const auto& training = estimate.document().training;
  return training ? cat(name, ", training step by ", to_string(training->optimizer)) : name;
}

}  // namespace

std::string ChartEstimate::label_without_free() const {
  std::string name = model_label(*this);
  for (const auto& [dim, size] : document().bindings)
    if (size) name += cat(", ", dim, "=", *size);
  return name;
}

std::string ChartEstimate::label(const std::string& without) const {
  std::string name = model_label(*this);
  for (const auto& [dim, size] : document().bindings)
    if (dim != without) name += cat(", ", dim, "=", size ? base::shortest(static_cast<double>(*size)) : "1 (free)");
  return name;
}

ChartEstimate chart_estimate(const PlotEstimate& estimate) {
  ChartEstimate result{.source = &estimate, .nodes = {}, .notes = {}};
  const documents::EstimateDocument& document = estimate.document;
  double sum = 0;
  result.nodes.reserve(document.nodes.size());
  for (const EstimateNode& node : document.nodes) {
    result.nodes.push_back(&node);
    sum += real(node.counts.flops).value_or(0);
  }
  std::ranges::sort(result.nodes, {}, &EstimateNode::index);
  if (document.sweep && document.sweep->dims.size() != 1)
    result.notes.push_back(
        cat("a sweep over ", document.sweep->dims.size(), " dims is not drawn: only one dim makes a curve"));
  else if (document.sweep && !document.sweep->points.empty())
    result.sweep = &*document.sweep;
  if (const auto flops = real(document.totals.counts.flops); flops && sum < *flops * (1 - 1e-9))
    result.notes.push_back(cat("the estimate lists only the nodes of ", percent_text(sum / *flops),
                               " of its FLOPs; write it without --top for all"));
  for (const std::string& member : document.unknown) result.notes.push_back(documents::left_out(member));
  return result;
}

}  // namespace plot

PlotEstimate read_plot_estimate(const std::string& name, std::string_view text) {
  PlotEstimate estimate{name, base::hex(base::sha256(text)), documents::parse_estimate(text, name)};
  if (estimate.document.types)
    throw Error(name + ": holds no nodes; a chart needs a row per node: write it without --by type");
  return estimate;
}

}  // namespace pagoda::present
