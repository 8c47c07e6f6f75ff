// Measured runs of a whole model: each is a star at the model's FLOPs and bytes and the run's time.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "pagoda/estimate/measured_runs.h"
#include "plot/chart.h"

namespace pagoda::present::plot {
namespace {

using documents::Measured;
using documents::MeasuredRun;

std::optional<Star> star_of(const documents::EstimateDocument& estimate, const MeasuredRun& run, std::string& problem) {
  const auto work = estimate::run_work(estimate, run, problem);
  if (!work) return std::nullopt;
  return Star{.label = {},
              .flops = work->flops,
              .bytes = work->bytes,
              .seconds = *run.seconds,
              .joules = estimate::joules_of(run)};
}

// The settings of a run that give sizes of the estimate.
MeasuredRun with_sizes_alone(const documents::EstimateDocument& estimate, MeasuredRun run) {
  std::string problem;
  std::erase_if(run.config, [&](const auto& setting) {
    return estimate::run_sizes(estimate, {{setting.first, setting.second}}, problem).empty();
  });
  return run;
}

// "it ran batch=#": problems that differ in their numbers alone are one problem of several runs.
std::string kind_of(const std::string& problem) {
  std::string kind;
  for (const char c : problem)
    if (c < '0' || c > '9')
      kind += c;
    else if (kind.empty() || kind.back() != '#')
      kind += '#';
  return kind;
}

}  // namespace

void keep_best(Series& series) {
  std::vector<Star> all = std::move(series.runs);
  all.insert(all.end(), std::make_move_iterator(series.other_runs.begin()),
             std::make_move_iterator(series.other_runs.end()));
  series.runs.clear(), series.other_runs.clear();
  std::ranges::stable_sort(all, [](const Star& a, const Star& b) {
    return std::tuple(a.flops, a.bytes, -a.y()) < std::tuple(b.flops, b.bytes, -b.y());
  });
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
    std::optional<Star> star = star_of(estimate, run, problem);
    if (!star) {
      problems[kind_of(problem)].insert(problem);
      continue;
    }
    star->label = runs.size() > 1 ? estimate::run_label(sizes[i], sizes) : series.label;
    if (runs.size() == 1 && measured.spread) {
      star->shortest = measured.spread->min;
      star->longest = measured.spread->max;
    }
    series.runs.push_back(std::move(*star));
  }
  if (series.runs.empty())
    throw Error(file + ": none of its runs can be drawn: " +
                (problems.empty() ? "it holds none" : *problems.begin()->second.begin()));
  for (const auto& [kind, list] : problems)
    chart.warnings.push_back(
        file + ": " +
        (list.size() > 1 ? std::to_string(list.size()) + " runs are not drawn; the first: " : "a run is not drawn: ") +
        *list.begin());
  keep_best(series);
  // A single run is the model's star; several runs form a path.
  if (series.runs.size() == 1) series.measured_star = series.runs.front();
}

}  // namespace pagoda::present::plot
