// Measured runs of a whole model: each is a star at the model's FLOPs and bytes and the run's time.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "pagoda/base/cat.h"
#include "pagoda/estimate/measured_runs.h"
#include "plot/chart.h"
#include "report/folded.h"

namespace pagoda::present::plot {
namespace {

using documents::Measured;
using documents::MeasuredRun;

// The settings of a run that give sizes of the estimate.
MeasuredRun with_sizes_alone(const documents::EstimateDocument& estimate, MeasuredRun run) {
  std::string problem;
  std::erase_if(run.config, [&](const auto& setting) {
    return estimate::run_sizes(estimate, {{setting.first, setting.second}}, problem).empty();
  });
  return run;
}

}  // namespace

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

}  // namespace pagoda::present::plot
