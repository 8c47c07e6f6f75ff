// Measured runs of a whole model: each a star at the model's FLOPs and bytes over the time that it took.
#include <algorithm>
#include <set>

#include "pagoda/documents/measured_runs.h"
#include "plot/chart.h"

namespace pagoda::present::plot {
namespace {

using documents::Measured;
using documents::MeasuredRun;

std::optional<double> at(const std::string& formula, const Bindings& sizes) {
  const std::optional<Dim> dim = Dim::parse(formula);
  if (!dim) return std::nullopt;
  return static_cast<double>(dim->evaluate(sizes));
}

std::optional<Star> star_of(const documents::EstimateDocument& estimate, const MeasuredRun& run, std::string& problem) {
  const Bindings sizes = documents::run_sizes(estimate, run.config, problem);
  if (!problem.empty()) return std::nullopt;
  const documents::EstimateCounts& totals = estimate.totals.counts;
  std::optional<double> flops = documents::real(totals.flops), bytes = documents::real(totals.bytes);
  if (!sizes.empty() && estimate.symbolic) {
    flops = at(estimate.symbolic->totals.flops, sizes);
    bytes = at(estimate.symbolic->totals.bytes, sizes);
  }
  if (!run.seconds || *run.seconds <= 0)
    problem = "it has no time";
  else if (!flops || *flops <= 0 || !bytes || *bytes <= 0)
    problem = "the estimate knows no FLOPs or no bytes";
  if (!problem.empty()) return std::nullopt;
  return Star{.label = {}, .flops = *flops, .bytes = *bytes, .seconds = *run.seconds};
}

}  // namespace

bool is_of_whole_runs(const Measured& measured) {
  return measured.kernels.empty() && (measured.seconds || !measured.runs.empty());
}

void add_runs(Series& series, Chart& chart, const Measured& measured, const std::string& file) {
  const documents::EstimateDocument& estimate = chart.estimates[*series.estimate].document;
  const std::vector<MeasuredRun> runs = documents::whole_runs(measured);
  std::set<std::string> problems;
  for (const MeasuredRun& run : runs) {
    std::string problem;
    std::optional<Star> star = star_of(estimate, run, problem);
    if (!star) {
      problems.insert(problem);
      continue;
    }
    star->label = runs.size() > 1 ? documents::run_label(run, runs) : series.label;
    if (runs.size() == 1 && measured.spread) {
      star->shortest = measured.spread->min;
      star->longest = measured.spread->max;
    }
    series.runs.push_back(std::move(*star));
  }
  if (series.runs.empty())
    throw Error(file + ": none of its runs can be drawn: " + (problems.empty() ? "it holds none" : *problems.begin()));
  for (const std::string& problem : problems) chart.warnings.push_back(file + ": a run is not drawn: " + problem);
  std::stable_sort(series.runs.begin(), series.runs.end(),
                   [](const Star& a, const Star& b) { return a.flops < b.flops; });
  // One star stands for the model where there is one run; several make a path.
  if (series.runs.size() == 1) series.measured_star = series.runs.front();
}

}  // namespace pagoda::present::plot
