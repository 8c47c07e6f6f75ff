// Estimates as charts use them, and measured runs of a whole model: each is a star at the model's FLOPs and bytes and
// the run's time.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

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
using documents::Measured;
using documents::MeasuredRun;
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
  const EstimateNode* found = documents::heaviest_node(list);
  return found == nullptr ? 0 : *position(found->index);
}

namespace {

// The settings of a run that give sizes of the estimate.
MeasuredRun with_sizes_alone(const documents::EstimateDocument& estimate, MeasuredRun run) {
  std::string problem;
  std::erase_if(run.config, [&](const auto& setting) {
    return estimate::run_sizes(estimate, {{setting.first, setting.second}}, problem).empty();
  });
  return run;
}

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
    if (dim != without) name += cat(", ", dim, "=", size ? cat(*size) : "1 (free)");
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

void keep_best(Series& series) {
  std::vector<Star> all = std::move(series.runs);
  std::ranges::move(series.other_runs, std::back_inserter(all));
  series.runs.clear(), series.other_runs.clear();
  std::ranges::stable_sort(all, {}, [](const Star& star) { return std::tuple(star.flops, star.bytes, -star.y()); });
  for (Star& star : all) {
    const bool is_same =
        !series.runs.empty() && series.runs.back().flops == star.flops && series.runs.back().bytes == star.bytes;
    (is_same ? series.other_runs : series.runs).push_back(std::move(star));
  }
}

bool is_of_whole_runs(const Measured& measured) {
  return measured.kernels.empty() && (measured.seconds || !measured.runs.empty());
}

void add_runs(Series& series, Chart& chart, const Measured& measured, const std::string& file) {
  const documents::EstimateDocument& estimate = chart.estimates[*series.estimate].document();
  const std::vector<MeasuredRun> runs = estimate::whole_runs(measured);
  std::vector<MeasuredRun> sizes;
  sizes.reserve(runs.size());
  for (const MeasuredRun& run : runs) sizes.push_back(with_sizes_alone(estimate, run));
  std::map<std::string, std::multiset<std::string>> problems;  // of runs that are not drawn, by kind
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const MeasuredRun& run = runs[i];
    std::string problem;
    const auto work = estimate::run_work(estimate, run, problem);
    if (!work) {
      // "it ran batch=#": problems that differ in their numbers alone are one problem of several runs.
      problems[report::without_numbers(problem)].insert(problem);
      continue;
    }
    Star star{.label = runs.size() > 1 ? estimate::run_label(sizes[i], sizes) : series.label,
              .flops = work->flops,
              .bytes = work->bytes,
              .seconds = *run.seconds,
              .joules = estimate::joules_of(run)};
    if (runs.size() == 1 && measured.spread) {
      star.shortest = measured.spread->min;
      star.longest = measured.spread->max;
    }
    series.runs.push_back(std::move(star));
  }
  if (series.runs.empty())
    throw Error(cat(file, ": none of its runs can be drawn: ",
                    problems.empty() ? "it holds none" : *problems.begin()->second.begin()));
  for (const auto& [kind, list] : problems)
    chart.warnings.push_back(
        cat(file, ": ", list.size() > 1 ? cat(list.size(), " runs are not drawn; the first: ") : "a run is not drawn: ",
            *list.begin()));
  keep_best(series);
  // A single run is the model's star; several runs form a path.
  if (series.runs.size() == 1) series.measured_star = series.runs.front();
}

}  // namespace plot

PlotEstimate read_plot_estimate(const std::string& name, std::string_view text) {
  PlotEstimate estimate{name, base::hex(base::sha256(text)), documents::parse_estimate(text, name)};
  if (estimate.document.types)
    throw Error(name + ": holds no nodes; a chart needs a row per node: write it without --by type");
  return estimate;
}

}  // namespace pagoda::present
