// Measured runs of a whole model: each is a star at the model's FLOPs and bytes and the run's time.
#include <algorithm>
#include <set>

#include "pagoda/documents/measured_runs.h"
#include "plot/chart.h"

namespace pagoda::present::plot {
namespace {

using documents::Measured;
using documents::MeasuredRun;

std::optional<Star> star_of(const documents::EstimateDocument& estimate, const MeasuredRun& run, std::string& problem) {
  const auto work = documents::run_work(estimate, run, problem);
  if (!work) return std::nullopt;
  return Star{.label = {},
              .flops = work->flops,
              .bytes = work->bytes,
              .seconds = *run.seconds,
              .joules = documents::joules_of(run)};
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
  // A single run is the model's star; several runs form a path.
  if (series.runs.size() == 1) series.measured_star = series.runs.front();
}

}  // namespace pagoda::present::plot
