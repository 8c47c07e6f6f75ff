#include "here.h"

#include <algorithm>
#include <thread>

#include "pagoda/base/cat.h"
#include "pagoda/base/csv_line.h"
#include "pagoda/base/text.h"

namespace pagoda::tools {
namespace {

std::string interval_text(const lab::Fit& fit) {
  const Calibration& fitted = fit.file.fitted;
  if (!fitted.interval) return "no interval: too few families to claim one\n";
  return cat(base::rounded(100 * fitted.coverage), " % of runs are expected between ",
             base::rounded(fitted.interval->low), " and ", base::rounded(fitted.interval->high),
             " of the prediction; of these, ", base::rounded(100 * fit.covered),
             " % lie in the interval that the other families give\n");
}

}  // namespace

std::string Here::name_of(std::size_t run) const {
  std::string name = runs[run].row->model;
  for (const char* axis : {"batch", "sequence"})
    if (const auto found = runs[run].result->config.find(axis); found != runs[run].result->config.end())
      name += cat(" ", axis, " ", base::setting_text(found->second));
  return name;
}

int Here::threads() const {
  const std::int64_t logical = std::max<std::int64_t>(std::thread::hardware_concurrency(), 1);
  const auto counted = documents::integer_of(runs.front().result->metadata, "threads");
  return static_cast<int>(counted.value_or(arguments.threads.value_or(logical)));
}

std::string Here::regime() const {
  const auto& metadata = runs.front().result->metadata;
  const auto found = metadata.find(engine.version);
  const std::string version = found == metadata.end() ? "of an unknown version" : base::setting_text(found->second);
  const std::string text = cat(engine.name, " ", version, " on ", device.name);
  if (std::string_view(engine.device) != "cpu") return text;
  return cat(text, ", ", threads(), threads() == 1 ? " thread" : " threads",
             arguments.threads ? "" : ", the engine's default");
}

Analysis analysis_of(const Model& model, const documents::Result& result, std::optional<Precision> precision) {
  AnalyzeOptions sizes{.precision = precision};
  for (const documents::InputTensor& input : result.inputs) sizes.input_shapes[input.name] = input.shape;
  return analyze(model, sizes);
}

void require_costs(const Here& here, std::size_t run, std::int64_t unknown_rows) {
  if (unknown_rows > 0)
    throw Error(cat(here.name_of(run), ": ", unknown_rows,
                    " operators have no cost; expected a model of the study without any"));
}

HereFit with_residuals(const Here& here, lab::Fit fit, bool has_intervals) {
  std::vector<std::string> header = {"run", "seconds", "predicted"};
  if (has_intervals) header.insert(header.end(), {"low", "high"});
  std::string text = base::csv_line(header);
  for (std::size_t i = 0; i < here.runs.size(); ++i) {
    base::CsvLine line;
    line.add(here.name_of(i)).add(here.runs[i].seconds).add(fit.predicted[i]);
    if (has_intervals) line.add(fit.intervals[i].low).add(fit.intervals[i].high);
    text += std::move(line).end();
  }
  return {std::move(fit), std::move(text)};
}

std::string report(const Here& here, const lab::Fit& fit) {
  const CalibrationErrors& errors = fit.file.fitted.errors;
  const auto percent = [](double part) { return base::rounded(100 * part) + " %"; };
  base::Grid grid{.columns = {{.header = "run"},
                              {.header = "measured", .is_number = true},
                              {.header = "predicted", .is_number = true},
                              {.header = "error", .is_number = true}},
                  .rows = {}};
  bool has_unknown = false;
  for (std::size_t i = 0; i < here.runs.size(); ++i) {
    if (here.runs[i].row->family[0] == '\0') continue;
    const double seconds = here.runs[i].seconds;
    const std::optional<double>& predicted = fit.predicted[i];
    has_unknown = has_unknown || !predicted;
    grid.rows.push_back({here.name_of(i), base::si_seconds(seconds), predicted ? base::si_seconds(*predicted) : "?",
                         predicted ? percent(*predicted / seconds - 1) : "?"});
  }
  const std::string fitted = cat("with all of them ", percent(fit.fitted_mean_error), "\n");
  const std::string table = base::aligned(grid, 0) + (has_unknown ? "?: no other family runs these kernels\n" : "");
  if (errors.models == 0) return cat(table, "no family is judged by others; mean error ", fitted);
  return cat(table, "each by a fit without its family: mean error ", percent(errors.mean_error), ", median ",
             percent(errors.median_error), ", 90th percentile ", percent(errors.p90_error), "; ", fitted,
             interval_text(fit));
}

}  // namespace pagoda::tools
