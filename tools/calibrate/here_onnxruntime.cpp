#include "here_fit.h"

#include <algorithm>
#include <array>
#include <map>

#include "pagoda/base/csv_line.h"
#include "pagoda/base/files.h"
#include "pagoda/documents/ceilings.h"
#include "pagoda/documents/cpu_calibration.h"
#include "pagoda/measured/import.h"
#include "pagoda/measured/ort_kernels.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

documents::Measured profile_of(const documents::Result& result, const std::string& folder) {
  for (const documents::LayerTime& layer : result.layers)
    if (const auto found = layer.facts.find("profile"); found != layer.facts.end())
      return measured::load_profile(folder + "/work/" + base::setting_text(found->second));
  return {};
}

// For each run and kernel class, the profiled time (including the profiler's overhead) and the predicted time, also by
// a fit without the run's family.
std::string by_class(const CpuFit& fit, const std::vector<TimedCpuRun>& runs) {
  std::string text = base::csv_line({"run", "class", "profiled_kernels", "profiled_seconds", "kernels",
                                     "predicted_seconds", "unseen_seconds"});
  for (const TimedCpuRun& run : runs) {
    std::array<std::array<double, 5>, kCpuKernelClasses> sums = {};
    const auto without = fit.without.find(run.family);
    for (const TimedCpuKernel& timed : run.timed) {
      auto& sum = sums[static_cast<std::size_t>(timed.kernel.kind)];
      sum[0] += 1;
      sum[1] += timed.seconds;
    }
    const bool is_judged = without != fit.without.end();
    const double cold = cold_share(run.lowered, fit.calibration.cache_bytes);
    const double cold_without = is_judged ? cold_share(run.lowered, without->second.cache_bytes) : 0;
    for (const CpuKernel& kernel : run.lowered.kernels) {
      auto& sum = sums[static_cast<std::size_t>(kernel.kind)];
      sum[2] += 1;
      sum[3] += cpu_kernel_seconds(kernel, fit.calibration, cold);
      if (is_judged) sum[4] += cpu_kernel_seconds(kernel, without->second, cold_without);
    }
    for (std::size_t kind = 0; kind < kCpuKernelClasses; ++kind) {
      if (sums[kind][0] + sums[kind][2] == 0) continue;
      base::CsvLine line;
      line.add(run.name).add(to_string(static_cast<CpuKernelClass>(kind)));
      for (std::size_t i = 0; i < 4; ++i) line.add(sums[kind][i]);
      line.add(is_judged ? std::optional(sums[kind][4]) : std::nullopt);
      text += std::move(line).end();
    }
  }
  return text;
}

}  // namespace

void fit_onnxruntime(const Here& here) {
  documents::CpuCalibrationFile file{.engine = std::string(here.engine.id),
                                     .fitted = {},
                                     .runs = {},
                                     .ceilings = here.ceilings,
                                     .device = here.device};
  std::vector<documents::Measured> profiles;
  for (const HereRun& run : here.runs) profiles.push_back(profile_of(*run.result, here.folder));
  CpuCalibration machine;
  machine.id = "here";
  machine.threads = here.threads();
  machine.regime = here.regime();
  machine.channel_block = 0;
  for (const documents::Measured& profile : profiles)
    if (const int block = measured::channel_block(profile); block > 0)
      machine.channel_block = machine.channel_block > 0 ? std::min(machine.channel_block, block) : block;
  const documents::CeilingsDocument ceilings = documents::parse_ceilings(here.ceilings, here.folder + "/ceilings.json");
  for (const char* level : {"l1_bytes", "l2_bytes", "l3_bytes"})
    if (const auto found = ceilings.machine.find(level); found != ceilings.machine.end())
      if (const auto* bytes = std::get_if<std::int64_t>(&found->second))
        machine.cache_bytes = std::max(machine.cache_bytes, static_cast<double>(*bytes));

  std::vector<TimedCpuRun> runs;
  for (std::size_t i = 0; i < here.runs.size(); ++i) {
    const auto& [row, result, seconds, apart_seconds] = here.runs[i];
    const Model model = load_model(documents::text_of(result->config, "model_file"));
    TimedCpuRun& run = runs.emplace_back();
    run.name = here.name_of(i);
    run.family = row->family;
    run.seconds = seconds;
    run.apart_seconds = apart_seconds;
    const Analysis analysis = analysis_of(model, *result);
    run.lowered = cpu_kernels(model, analysis, machine.channel_block);
    std::map<std::string, CpuKernel> named;
    for (const CpuKernel& kernel : run.lowered.kernels) {
      const NodeReport& node = analysis.nodes[static_cast<std::size_t>(kernel.row)];
      if (node.graph == 0 && (is_product(kernel.kind) || measured::depends_on_graph(kernel.kind)))
        named.emplace(model.main().node(node.node).name, kernel);
    }
    for (const documents::MeasuredKernel& kernel : profiles[i].kernels) {
      run.profiled_seconds += kernel.seconds.value_or(0);
      run.profiled_kernels += static_cast<double>(kernel.launches.value_or(1));
    }
    run.timed = measured::timed_kernels(profiles[i], machine.channel_block, named);
    // The profile is of the fastest round.
    const double slower = seconds / result->timing->latency.p50;
    run.profiled_seconds *= slower;
    for (TimedCpuKernel& timed : run.timed) timed.seconds *= slower;
  }
  const CpuFit fit = fit_cpu(runs, machine);
  file.fitted = fit.calibration;
  if (file.fitted.apart) file.fitted.apart->share = here.apart_share;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (!runs[i].family.empty()) file.runs.push_back({runs[i].name, runs[i].family, runs[i].seconds, fit.predicted[i]});
  write_output(here.arguments.output, to_json(file));
  if (!here.arguments.residuals.empty()) write_output(here.arguments.residuals, by_class(fit, runs));
  const CpuCalibration& c = fit.calibration;
  write_output("", report(here, {.predicted = fit.predicted,
                                 .models = c.models,
                                 .mean_error = c.mean_error,
                                 .median_error = c.median_error,
                                 .p90_error = c.p90_error,
                                 .fitted_mean_error = fit.fitted_mean_error,
                                 .interval = c.interval,
                                 .coverage = c.coverage,
                                 .covered = fit.covered}));
}

}  // namespace pagoda::tools
