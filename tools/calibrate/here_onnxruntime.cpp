#include "here.h"

#include <algorithm>
#include <array>
#include <map>

#include "pagoda/base/csv_line.h"
#include "pagoda/documents/ceilings.h"
#include "pagoda/measured/import.h"
#include "pagoda/measured/ort_kernels.h"

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
std::string by_class(const lab::CpuFit& fit, const std::vector<lab::TimedCpuRun>& runs) {
  std::string text = base::csv_line(
      {"run", "class", "profiled_kernels", "profiled_seconds", "kernels", "predicted_seconds", "unseen_seconds"});
  for (const lab::TimedCpuRun& run : runs) {
    std::array<std::array<double, 5>, kOrtKernelClasses> sums = {};
    for (const measured::TimedOrtKernel& timed : run.timed) {
      auto& sum = sums[static_cast<std::size_t>(timed.kernel.kind)];
      sum[0] += 1;
      sum[1] += timed.seconds;
    }
    const auto without = fit.without.find(run.family);
    const bool is_judged = without != fit.without.end();
    const CpuCoefficients& others = is_judged ? without->second : fit.coefficients;
    const std::vector<double> seconds = cpu_seconds(run.lowered, fit.coefficients, fit.coefficients),
                              unseen = cpu_seconds(run.lowered, others, others);
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      auto& sum = sums[static_cast<std::size_t>(run.lowered.kernels[i].kind)];
      sum[2] += 1;
      sum[3] += seconds[i];
      sum[4] += unseen[i];
    }
    for (std::size_t kind = 0; kind < kOrtKernelClasses; ++kind) {
      if (sums[kind][0] + sums[kind][2] == 0) continue;
      base::CsvLine line;
      line.add(run.name).add(to_string(static_cast<OrtKernelClass>(kind)));
      for (std::size_t i = 0; i < 4; ++i) line.add(sums[kind][i]);
      line.add(is_judged ? std::optional(sums[kind][4]) : std::nullopt);
      text += std::move(line).end();
    }
  }
  return text;
}

}  // namespace

HereFit fit_onnxruntime(const Here& here) {
  std::vector<documents::Measured> profiles;
  for (const HereRun& run : here.runs) profiles.push_back(profile_of(*run.result, here.folder));
  CpuCoefficients machine;
  machine.threads = here.threads();
  machine.channel_block = 0;
  for (const documents::Measured& profile : profiles)
    if (const double block = measured::channel_block(profile); block > 0)
      machine.channel_block = machine.channel_block > 0 ? std::min(machine.channel_block, block) : block;
  const documents::CeilingsDocument ceilings = documents::parse_ceilings(here.ceilings, here.folder + "/ceilings.json");
  for (const char* level : {"l1_bytes", "l2_bytes", "l3_bytes"})
    if (const auto bytes = documents::integer_of(ceilings.machine, level))
      machine.cache_bytes = std::max(machine.cache_bytes, static_cast<double>(*bytes));

  std::vector<lab::TimedCpuRun> runs;
  for (std::size_t i = 0; i < here.runs.size(); ++i) {
    const auto& [row, result, seconds, apart_seconds] = here.runs[i];
    const Model model = load_model(documents::text_of(result->config, "model_file"));
    lab::TimedCpuRun& run = runs.emplace_back();
    run.name = here.name_of(i);
    run.family = row->family;
    run.seconds = seconds;
    run.apart_seconds = apart_seconds;
    const Analysis analysis = analysis_of(model, *result);
    run.lowered = ort_cpu_kernels(model, analysis, machine.channel_block);
    std::map<std::string, OrtKernel> named;
    for (const OrtKernel& kernel : run.lowered.kernels) {
      const NodeReport& node = analysis.nodes[static_cast<std::size_t>(kernel.row)];
      if (node.graph == 0 && (is_product(kernel.kind) || measured::depends_on_graph(kernel.kind)))
        named.emplace(model.main().node(node.node).name, kernel);
    }
    for (const documents::MeasuredKernel& kernel : profiles[i].kernels) {
      run.profiled_seconds += kernel.seconds.value_or(0);
      run.profiled_kernels += static_cast<double>(kernel.launches.value_or(1));
    }
    run.timed = measured::timed_kernels(profiles[i], static_cast<int>(machine.channel_block), named);
    // The profile is of the fastest round.
    const double slower = seconds / result->timing->latency.p50;
    run.profiled_seconds *= slower;
    for (measured::TimedOrtKernel& timed : run.timed) timed.seconds *= slower;
  }
  lab::CpuFit fit = lab::fit_cpu(runs, machine);
  if (fit.coefficients.apart) fit.file.fitted.coefficients["apart.share"] = here.apart_share;
  std::string csv = by_class(fit, runs);
  return {std::move(fit), std::move(csv)};
}

}  // namespace pagoda::tools
