#include "plot/estimate_file.h"

#include <algorithm>

#include "pagoda/base/sha256.h"
#include "pagoda/base/text.h"
#include "pagoda/estimate/measured_runs.h"
#include "draw/text.h"
#include "report/rows.h"

namespace pagoda::present {
namespace plot {
namespace {

using documents::EstimateNode;
using documents::real;

std::vector<EstimateGroup> groups_of(const EstimateFile& file) {
  std::vector<EstimateGroup> groups;
  if (!file.document.traffic) return groups;
  for (const documents::EstimateGroup& each : file.document.traffic->groups) {
    EstimateGroup group{
        .rule = std::string(to_string(each.rule)), .nodes = {}, .main = 0, .bytes = {}, .saved_bytes = {}};
    std::vector<const EstimateNode*> nodes;
    nodes.reserve(each.nodes.size());
    for (const std::size_t index : each.nodes) {
      const std::optional<std::size_t> at = file.position(index);
      if (!at) continue;
      group.nodes.push_back(*at);
      nodes.push_back(&file.nodes()[*at]);
    }
    if (const EstimateNode* heaviest = report::heaviest_node(nodes))
      group.main = static_cast<std::size_t>(heaviest - file.nodes().data());
    group.bytes = real(each.counts.bytes);
    group.saved_bytes = real(each.saved_bytes);
    groups.push_back(std::move(group));
  }
  return groups;
}

std::optional<EstimateCurve> curve_of(const documents::EstimateSweep& sweep, std::vector<std::string>& notes) {
  if (sweep.dims.size() != 1) {
    notes.push_back("a sweep over " + std::to_string(sweep.dims.size()) +
                    " dims is not drawn: only one dim makes a curve");
    return std::nullopt;
  }
  if (sweep.points.empty()) return std::nullopt;
  EstimateCurve curve{sweep.dims.front(), {}};
  curve.points.reserve(sweep.points.size());
  for (const documents::EstimatePoint& point : sweep.points) {
    curve.points.push_back({.size = static_cast<double>(point.sizes.front()),
                            .flops = real(point.counts.flops),
                            .bytes = real(point.counts.bytes),
                            .seconds = point.time ? std::optional(point.time->seconds) : std::nullopt,
                            .memory_bytes = real(point.memory_bytes),
                            .measured_seconds = point.measured_seconds,
                            .measured_joules = point.measured_joules});
  }
  return curve;
}

}  // namespace

std::optional<std::size_t> EstimateFile::position(std::size_t index) const {
  const auto found = std::lower_bound(nodes().begin(), nodes().end(), index,
                                      [](const EstimateNode& node, std::size_t at) { return node.index < at; });
  if (found == nodes().end() || found->index != index) return std::nullopt;
  return static_cast<std::size_t>(found - nodes().begin());
}

std::optional<double> EstimateFile::weight_bytes() const {
  if (!document.memory || document.memory->weights.empty()) return std::nullopt;
  double sum = 0;
  for (const auto& weights : document.memory->weights) sum += static_cast<double>(weights.bytes);
  return sum;
}

namespace {

std::string model_label(const EstimateFile& estimate) {
  std::string name = estimate::short_model_name(estimate.document);
  if (name.empty()) name = estimate.file;
  const auto& training = estimate.document.training;
  return training ? name + ", training step by " + std::string(to_string(training->optimizer)) : name;
}

}  // namespace

std::string EstimateFile::label_without_free() const {
  std::string name = model_label(*this);
  for (const auto& [dim, size] : document.bindings)
    if (size) name += ", " + dim + "=" + std::to_string(*size);
  return name;
}

std::string EstimateFile::label(const std::string& without) const {
  std::string name = model_label(*this);
  for (const auto& [dim, size] : document.bindings)
    if (dim != without) name += ", " + dim + "=" + (size ? base::shortest(static_cast<double>(*size)) : "1 (free)");
  return name;
}

EstimateFile chart_estimate(const PlotEstimate& estimate) {
  EstimateFile result;
  result.file = estimate.name;
  result.sha256 = estimate.sha256;
  result.document = estimate.document;
  result.what_if = estimate.what_if;
  documents::EstimateDocument& document = result.document;
  result.model = document.model.path.empty() ? document.model.name : document.model.path;
  std::sort(document.nodes.begin(), document.nodes.end(),
            [](const EstimateNode& a, const EstimateNode& b) { return a.index < b.index; });
  double sum = 0;
  for (EstimateNode& node : document.nodes) {
    node.name = node.shown_name();
    sum += real(node.counts.flops).value_or(0);
  }
  result.groups = groups_of(result);
  if (document.sweep) result.sweep = curve_of(*document.sweep, result.notes);
  if (const auto flops = real(document.totals.counts.flops); flops && sum < *flops * (1 - 1e-9))
    result.notes.push_back("the estimate lists only the nodes of " + percent_text(sum / *flops) +
                           " of its FLOPs; write it without --top for all");
  for (const std::string& member : document.unknown) result.notes.push_back(documents::left_out(member));
  return result;
}

std::string shape_text(const EstimateNode& node) {
  if (node.outputs.empty()) return "";
  const TensorType& type = node.outputs.front().type;
  if (!type.shape) return "?";
  const std::string text = base::joined(*type.shape, "x", &Dim::to_string);
  return text.empty() ? "scalar" : text;
}

std::string dtype_text(const EstimateNode& node) {
  return node.precision == ElementType::Undefined ? std::string() : std::string(to_string(node.precision));
}

}  // namespace plot

PlotEstimate read_plot_estimate(const std::string& name, std::string_view text) {
  PlotEstimate estimate{name, base::hex(base::sha256(text)), documents::parse_estimate(text, name)};
  if (estimate.document.types)
    throw Error(name + ": holds no nodes; a chart needs a row per node: write it without --by type");
  return estimate;
}

}  // namespace pagoda::present
