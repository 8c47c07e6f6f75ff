#include "here_fit.h"
#include "pagoda/documents/calibration.h"

namespace pagoda::tools {

// By whole runs; coefficients that they do not determine are those of the devices of the built-in calibration.
HereFit fit_tensorrt(const Here& here) {
  const std::optional<TensorRtRates> rates = tensorrt_rates(here.device);
  if (!rates)
    throw Error(here.folder +
                "/ceilings.json: states no float16 rate of tensor units, memory bandwidth, L2 capacity, "
                "clock, power limit or compute capability; measure it again on a GPU with tensor units");
  std::vector<lab::TensorRtRun> runs;
  for (std::size_t i = 0; i < here.runs.size(); ++i) {
    const auto& [row, result, seconds, apart_seconds] = here.runs[i];
    const Model model = load_model(documents::text_of(result->config, "model_file"));
    TensorRtKernels kernels = tensorrt_kernels(model, analysis_of(model, *result, Precision::Float16));
    require_costs(here, i, kernels.unknown_rows);
    runs.push_back({.device = here.device.name,
                    .group = row->family,
                    .kernels = std::move(kernels),
                    .rates = *rates,
                    .seconds = seconds});
  }
  const TensorRtCoefficients elsewhere = tensorrt_coefficients(documents::calibration("tensorrt"));
  return with_residuals(here, lab::fit_tensorrt(runs, 0.8, &elsewhere), false);
}

}  // namespace pagoda::tools
