// Measured runs of a whole model: each a star at the model's FLOPs and bytes over the time that it took.
#include <algorithm>
#include <array>
#include <set>

#include "plot/chart.h"
#include "plot/text.h"

namespace pagoda::present::plot {
namespace {

using documents::Measured;
using documents::MeasuredRun;

// Names of the batch in files whose dims are not called so.
constexpr std::array<std::string_view, 4> kBatchNames = {"batch", "batch_size", "N", "n"};

std::optional<std::int64_t> integer_of(const base::Setting& setting) {
  if (const auto* integer = std::get_if<std::int64_t>(&setting)) return *integer;
  return std::nullopt;
}

// The dim of the estimate that a setting of a run is the size of; empty: none.
std::string dim_of(const documents::EstimateDocument& estimate, const std::string& setting) {
  if (estimate.bindings.contains(setting)) return setting;
  if (setting == "batch")
    for (const std::string_view name : kBatchNames)
      if (estimate.bindings.contains(std::string(name))) return std::string(name);
  return {};
}

// The sizes of the run that the estimate leaves free. `problem` says why the estimate is not of this run.
Bindings sizes_of(const documents::EstimateDocument& estimate, const base::Settings& config, std::string& problem) {
  Bindings sizes;
  for (const auto& [name, setting] : config) {
    const std::optional<std::int64_t> size = integer_of(setting);
    const std::string dim = dim_of(estimate, name);
    if (!size || dim.empty()) continue;
    const std::optional<std::int64_t>& bound = estimate.bindings.at(dim);
    if (!bound)
      sizes[dim] = *size;
    else if (*bound != *size)
      problem = "it ran " + dim + "=" + std::to_string(*size) + ", the estimate is of " + std::to_string(*bound) +
                "; leave the dim free, or estimate that size";
  }
  return sizes;
}

std::optional<double> at(const std::string& formula, const Bindings& sizes) {
  const std::optional<Dim> dim = Dim::parse(formula);
  if (!dim) return std::nullopt;
  return static_cast<double>(dim->evaluate(sizes));
}

std::optional<Star> star_of(const documents::EstimateDocument& estimate, const MeasuredRun& run, std::string& problem) {
  const Bindings sizes = sizes_of(estimate, run.config, problem);
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

// The settings in which runs differ: "batch=8, gpu_hz=918000000".
std::string label_of(const MeasuredRun& run, const std::vector<MeasuredRun>& runs) {
  std::string label;
  for (const auto& [name, setting] : run.config) {
    const bool differs = std::any_of(runs.begin(), runs.end(), [&, &key = name, &value = setting](const auto& other) {
      const auto found = other.config.find(key);
      return found == other.config.end() || found->second != value;
    });
    if (differs) label += (label.empty() ? "" : ", ") + name + "=" + base::setting_text(setting);
  }
  return label;
}

// The file's runs; one that is told beside them, by its wall clock, where there are none.
std::vector<MeasuredRun> runs_of(const Measured& measured) {
  if (!measured.runs.empty() || !measured.seconds) return measured.runs;
  return {
      MeasuredRun{.config = measured.env, .seconds = measured.seconds, .watts = {}, .energy_joules = {}, .note = {}}};
}

}  // namespace

bool is_of_whole_runs(const Measured& measured) {
  return measured.kernels.empty() && (measured.seconds || !measured.runs.empty());
}

void add_runs(Series& series, Chart& chart, const Measured& measured, const std::string& file) {
  const documents::EstimateDocument& estimate = chart.estimates[*series.estimate].document;
  const std::vector<MeasuredRun> runs = runs_of(measured);
  std::set<std::string> problems;
  for (const MeasuredRun& run : runs) {
    std::string problem;
    std::optional<Star> star = star_of(estimate, run, problem);
    if (!star) {
      problems.insert(problem);
      continue;
    }
    star->label = runs.size() > 1 ? label_of(run, runs) : series.label;
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
