// The prediction for one model at one size: its kernels' times, summed and attributed to rows.
#include "pagoda/core/predict.h"

#include <algorithm>

#include "predict/launch_queue.h"
#include "predict/merged_branches.h"

namespace pagoda::inline core {

std::optional<Factors> interval(const Calibration& calibration, std::string_view device, bool channels_last) {
  const auto holds = [](const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (holds(calibration.devices, device) && holds(calibration.layouts, channels_last ? "nhwc" : "nchw"))
    return calibration.interval;
  return calibration.elsewhere;
}

Prediction predict(const Model& model, const Analysis& analysis, const DeviceSpec& device,
                   const Calibration& calibration, const EagerOptions& options) {
  Prediction result;
  result.calibration = calibration.id;
  std::string lacks;
  const auto rates = kernel_rates(device, calibration.engine, &lacks);
  if (!rates) {
    result.problem = device.id + " " + lacks + ", which calibration " + calibration.id + " needs";
    return result;
  }
  EagerOptions as_measured = options;
  as_measured.engine = calibration.engine;
  const EagerKernels eager = eager_kernels(model, analysis, as_measured);
  result.unknown_rows = eager.unknown_rows;
  result.kernels = static_cast<std::int64_t>(eager.kernels.size());
  result.row_seconds.assign(analysis.nodes.size(), 0);
  double seconds = 0;
  const std::vector<double> added = added_seconds(eager.kernels, *rates, calibration);
  for (std::size_t i = 0; i < added.size(); ++i) {
    result.row_seconds[static_cast<std::size_t>(eager.kernels[i].row)] += added[i];
    seconds += added[i];
  }
  result.seconds = seconds;
  if (!as_measured.engine.optimizes && !find_merged_branches(model, analysis).empty()) {
    as_measured.merges_branches = true;
    const EagerKernels merged = eager_kernels(model, analysis, as_measured);
    result.mergeable_branches = merged.merged_branches;
    result.merged_seconds = 0;
    for (const double time : added_seconds(merged.kernels, *rates, calibration)) *result.merged_seconds += time;
  }
  if (const auto factors = interval(calibration, device.id, options.channels_last)) {
    result.low = seconds * factors->low;
    result.high = seconds * factors->high;
    result.coverage = calibration.coverage;
  }
  // Short kernels wait for the host, which was never the limit in the measured runs.
  if (result.kernels > 0 && seconds < static_cast<double>(result.kernels) * calibration.shortest_kernel_seconds)
    result.problem = "kernels are shorter than any that calibration " + calibration.id +
                     " was fitted to: the host may be the limit; take a larger batch";
  return result;
}

}  // namespace pagoda::inline core
