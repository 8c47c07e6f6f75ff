// Fits of --here: by the kernels that ONNX Runtime's profiler timed on a CPU, and by whole runs.
#include <algorithm>
#include <array>
#include <map>
#include <sstream>

#include "here.h"
#include "pagoda/base/csv_line.h"
#include "pagoda/core/eager.h"
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

// By run and kernel class: profiled time with the profiler's overhead, predicted time, and that without the family.
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

// PyTorch's operators on a CPU, with the classes that a lowering takes for the same work. Attention is one kernel or
// several, as its modules are written. Operators that take about as long as the profiler needs for one, such as
// activations, have no row, and count in the whole run.
using Kinds = std::vector<KernelClass>;
const Kinds kDepthwise = {KernelClass::Depthwise, KernelClass::DepthwiseLibrary, KernelClass::DepthwiseChannelsLast};
const Kinds kPointwise = {KernelClass::ConvPointwise};
const Kinds kWindows = {KernelClass::Conv, KernelClass::ConvStem, KernelClass::ConvPatch, KernelClass::ConvGrouped,
                        KernelClass::ConvChannelsLast};
const Kinds kLinear = {KernelClass::Linear};
const Kinds kAttention = {KernelClass::BatchedMatmul, KernelClass::Attention, KernelClass::MaskedAttention,
                          KernelClass::Softmax};
// clang-format off
const std::map<std::string_view, Kinds> kOperators = {
    {"aten::_scaled_dot_product_flash_attention_for_cpu", kAttention},
    {"aten::_slow_conv2d_forward",                        {}},  // by the window
    {"aten::_softmax",                                    kAttention},
    {"aten::addmm",                                       kLinear},
    {"aten::baddbmm",                                     kAttention},
    {"aten::bmm",                                         kAttention},
    {"aten::max_pool2d_with_indices",                     {KernelClass::MaxPool}},
    {"aten::mkldnn_convolution",                          {}},
    {"aten::mm",                                          kLinear},
    {"aten::native_batch_norm",                           {KernelClass::BatchNorm, KernelClass::BatchNormChannelsLast}},
    {"aten::native_layer_norm",                           {KernelClass::LayerNorm}},
    {"aten::slow_conv3d_forward",                         {}},
};
// clang-format on

// `weight`: "64x3x7x7", outputs × inputs of a group × window; no classes for another text.
Kinds convolutions_of(const std::string& weight) {
  std::vector<std::string> sizes;
  std::istringstream text(weight);
  for (std::string size; std::getline(text, size, 'x');) sizes.push_back(size);
  if (sizes.size() < 3) return {};
  const auto is_one = [](const std::string& size) { return size == "1"; };
  if (is_one(sizes[1]) && !is_one(sizes[0])) return kDepthwise;
  if (std::all_of(sizes.begin() + 2, sizes.end(), is_one)) return kPointwise;
  return kWindows;
}

// The centre of a prior: PyTorch's max pool of row-major images on a CPU (ATen's MaxPoolKernel.cpp) looks at one
// element at a time, where the rate of vector units counts 16 lanes in each of two.
constexpr double kScalarPool = 4 * 16 * 2;

std::vector<lab::TimedPart> parts_of(const documents::Result& result) {
  std::vector<lab::TimedPart> parts;
  for (const documents::LayerTime& layer : result.layers) {
    const auto row = kOperators.find(layer.op_type);
    if (row == kOperators.end() || !layer.seconds || *layer.seconds <= 0) continue;
    const Kinds kinds = row->second.empty() ? convolutions_of(documents::text_of(layer.facts, "second")) : row->second;
    if (kinds.empty()) continue;
    auto part = std::ranges::find(parts, kinds, &lab::TimedPart::kinds);
    if (part == parts.end()) part = parts.insert(part, {kinds, 0});
    part->seconds += *layer.seconds;
  }
  return parts;
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

// By whole runs, and by operators where a profiler times them: ONNX Runtime's times the launches of kernels on a GPU,
// not the kernels.
HereFit fit_whole_runs(const Here& here) {
  const EagerEngine& engine = eager_engine(here.engine.id);
  const std::optional<KernelRates> rates = kernel_rates(here.device, engine);
  if (!rates) throw Error(here.folder + "/ceilings.json: states no float32 rate or memory bandwidth; measure it again");
  std::vector<lab::TimedRun> runs;
  for (std::size_t i = 0; i < here.runs.size(); ++i) {
    const auto& [row, result, seconds, apart_seconds] = here.runs[i];
    const Model model = load_model(here.models + "/" + row->model + ".onnx");
    AnalyzeOptions sizes;
    sizes.batch = row->batch;
    if (row->sequence > 0) sizes.dims["sequence"] = row->sequence;
    // The inputs of a module are not those of its file.
    const Analysis analysis = row->named[0] != '\0' ? analyze(model, sizes) : analysis_of(model, *result);
    EagerKernels kernels = eager_kernels(model, analysis, {.engine = engine});
    require_costs(here, i, kernels.unknown_rows);
    runs.push_back({.name = here.name_of(i),
                    .family = row->family,
                    .kernels = std::move(kernels.kernels),
                    .device = here.device.id,
                    .rates = *rates,
                    .seconds = seconds,
                    .parts = parts_of(*result)});
  }
  lab::Fit fit = lab::fit_eager(runs, {.engine = std::string(engine.id),
                                       .folds = runs.size(),  // each family is left out alone
                                       .coverage = 0.8,
                                       .fits_rows = engine.is_of_one_machine,
                                       .pool_issues = engine.on_cpu ? kScalarPool : 4,
                                       .fits_host = std::string_view(here.engine.device) == "cuda"});
  fit.file.fitted.coefficients["shortest_kernel_seconds"] = 0;  // short operators are among those measured
  return with_residuals(here, std::move(fit), true);
}

}  // namespace pagoda::tools
