#include "here.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "pagoda/core/eager.h"

namespace pagoda::tools {
namespace {

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
    auto part = std::find_if(parts.begin(), parts.end(), [&](const auto& known) { return known.kinds == kinds; });
    if (part == parts.end()) part = parts.insert(part, {kinds, 0});
    part->seconds += *layer.seconds;
  }
  return parts;
}

}  // namespace

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
