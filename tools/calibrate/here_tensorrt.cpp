#include "here_fit.h"

#include <algorithm>
#include <cmath>

#include "pagoda/base/csv_line.h"
#include "pagoda/base/statistics.h"
#include "pagoda/documents/tensorrt.h"
#include "tool.h"

namespace pagoda::tools {

// By whole runs; coefficients that they do not determine are those of the devices of the built-in calibration.
void fit_tensorrt(const Here& here) {
  const std::optional<TensorRtRates> rates = tensorrt_rates(here.device);
  if (!rates)
    throw Error(here.folder + "/ceilings.json: states no float16 rate of tensor units, memory bandwidth, L2 capacity, "
                              "clock, power limit or compute capability; measure it again on a GPU with tensor units");
  std::vector<TensorRtRun> runs;
  for (std::size_t i = 0; i < here.runs.size(); ++i) {
    const auto& [row, result, seconds, apart_seconds] = here.runs[i];
    const Model model = load_model(documents::text_of(result->config, "model_file"));
    TensorRtKernels kernels = tensorrt_kernels(model, analysis_of(model, *result, Precision::Float16));
    if (kernels.unknown_rows > 0)
      throw Error(here.name_of(i) + ": " + std::to_string(kernels.unknown_rows) +
                  " kernels have no cost; expected a model of the study without any");
    runs.push_back({.device = here.device.name,
                    .group = row->family,
                    .kernels = std::move(kernels),
                    .rates = *rates,
                    .seconds = seconds});
  }
  const TensorRtCalibration elsewhere = documents::tensorrt_calibration("tensorrt");
  TensorRtFit fit = calibrate_tensorrt(runs, 0.8, &elsewhere);
  fit.calibration.id = "here";
  fit.calibration.regime = here.regime() + ", float16";
  fit.calibration.source = "measured on this machine";
  write_output(here.arguments.output, documents::to_json(fit, here.ceilings));
  Comparison comparison{.predicted = fit.predicted,
                        .fitted_mean_error = fit.fitted.front().mean,
                        .interval = fit.calibration.interval,
                        .coverage = fit.calibration.coverage,
                        .covered = fit.covered};
  std::vector<double> errors;
  std::string residuals = base::csv_line({"run", "seconds", "predicted"});
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (fit.predicted[i]) errors.push_back(std::abs(*fit.predicted[i] / runs[i].seconds - 1));
    base::CsvLine line;
    line.add(here.name_of(i)).add(runs[i].seconds).add(fit.predicted[i]);
    residuals += std::move(line).end();
  }
  std::sort(errors.begin(), errors.end());
  comparison.models = static_cast<double>(errors.size());
  for (const double error : errors) comparison.mean_error += error / comparison.models;
  if (!errors.empty()) {
    comparison.median_error = base::quantile(errors, 0.5);
    comparison.p90_error = base::quantile(errors, 0.9);
  }
  if (!here.arguments.residuals.empty()) write_output(here.arguments.residuals, residuals);
  write_output("", report(here, comparison));
}

}  // namespace pagoda::tools
