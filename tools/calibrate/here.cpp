#include "here.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <span>
#include <sstream>
#include <thread>

#include "pagoda/base/csv_line.h"
#include "pagoda/base/files.h"
#include "pagoda/base/process.h"
#include "pagoda/base/statistics.h"
#include "pagoda/base/text.h"
#include "pagoda/core/calibrate.h"
#include "pagoda/core/model.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/ceilings.h"
#include "pagoda/documents/cpu_calibration.h"
#include "pagoda/documents/device.h"
#include "pagoda/documents/tensorrt.h"
#include "pagoda/measured/import.h"
#include "pagoda/measured/ort_kernels.h"
#include "pagoda/measured/runner.h"
#include "studies.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

namespace fs = std::filesystem;

// The folder of the models: in the sources, or installed.
std::string models_folder() {
  if (const char* named = std::getenv("PAGODA_MODELS"); named != nullptr && *named != '\0') return named;
  for (const char* folder : {PAGODA_MODELS_SOURCE, PAGODA_MODELS_INSTALLED})
    if (fs::exists(folder)) return folder;
  throw Error(std::string("models: found neither ") + PAGODA_MODELS_SOURCE + " nor " + PAGODA_MODELS_INSTALLED +
              "; name the folder of skeletons by PAGODA_MODELS");
}

// The path of a Pagoda program: beside this one, in its folder of the build, or on the PATH.
std::string program(const std::string& name, const std::string& build_folder) {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& path : {here / name, here / build_folder / name})
    if (fs::exists(path, error)) return path.string();
  return name;
}

void say(const std::string& text) {
  if (isatty(STDERR_FILENO) != 0) std::cerr << "pagoda-calibrate: " << text << '\n';
}

struct Here;

// What can be measured here, a row each.
struct Engine {
  std::string_view id;
  const char* name;              // for people
  const char* version;           // in the metadata of its runs
  const char *backend, *device;  // of pagoda-bench
  const char* type;              // of its products; null: the model's own
  std::int64_t rounds;           // of all runs
  double budget_seconds, warmup_seconds;  // of a run in a round
  const char* profile;  // how another run gives the time of each kernel: the worker's option layers_by, "" for its own
                        // way; null: none does
  std::span<const StudyRow> study;
  std::span<const char* const> ceilings;  // arguments of ert-ceilings
  void (*fit)(const Here& here);
};

// A run of the study that gave a time.
struct HereRun {
  const StudyRow* row;
  const documents::Result* result;  // of its fastest round
  double seconds;                   // the mean of its rounds
};

// What was measured.
struct Here {
  const Engine& engine;
  const CalibrateArguments& arguments;
  std::string folder;
  std::vector<HereRun> runs;
  std::string ceilings;
  DeviceSpec device;

  std::string name_of(std::size_t run) const {
    std::string name = runs[run].row->model;
    for (const char* axis : {"batch", "sequence"})
      if (const auto found = runs[run].result->config.find(axis); found != runs[run].result->config.end())
        name += std::string(" ") + axis + " " + base::setting_text(found->second);
    return name;
  }
  std::string version() const {
    const auto& metadata = runs.front().result->metadata;
    const auto found = metadata.find(engine.version);
    return found == metadata.end() ? "of an unknown version" : base::setting_text(found->second);
  }
  // As the worker counted them, where it can.
  int threads() const {
    const auto& metadata = runs.front().result->metadata;
    const auto found = metadata.find("threads");
    const auto* counted = found == metadata.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
    const std::int64_t logical = std::max<std::int64_t>(std::thread::hardware_concurrency(), 1);
    return static_cast<int>(counted != nullptr ? *counted : arguments.threads.value_or(logical));
  }
  // "ONNX Runtime 1.32.0 on a CPU, 2 threads, the engine's default"
  std::string regime() const {
    std::string text = std::string(engine.name) + " " + version() + " on " + device.name;
    if (std::string_view(engine.device) != "cpu") return text;
    return text + ", " + std::to_string(threads()) + (threads() == 1 ? " thread" : " threads") +
           (arguments.threads ? "" : ", the engine's default");
  }
};

std::string measured_ceilings(const Engine& engine, const std::string& folder) {
  const std::string path = folder + "/ceilings.json";
  if (!fs::exists(path)) {
    say("ceilings of this machine, about half a minute");
    base::ProcessOptions quiet{.out = base::Stream::Null, .err = base::Stream::Pipe};
    std::vector<std::string> command = {program("ert-ceilings", "ceilings"), "--quick", "--json", path};
    command.insert(command.end(), engine.ceilings.begin(), engine.ceilings.end());
    const base::Output output = base::run_and_capture(command, quiet);
    if (!output.end.succeeded())
      throw Error(base::joined(command, " ") + " " + to_string(output.end) + ": " + output.err);
  }
  return base::read_file(path, "ceilings of this machine");
}

// A machine that is busy or throttled for a while slows one round of a run, which then does not count.
measured::Study study_of(const Engine& engine, const std::string& models, std::optional<std::int64_t> threads) {
  measured::Study study;
  study.name = "here";
  study.layers = engine.profile != nullptr;
  study.repeats = engine.rounds;
  study.measure.budget_seconds = engine.budget_seconds;
  study.measure.warmup_seconds = engine.warmup_seconds;
  study.limits.seconds = 300;
  for (const StudyRow& row : engine.study) {
    const std::string file = models + (row.family[0] == '\0' ? "/../probes/" : "/") + row.model + ".onnx";
    const bool is_module = row.named[0] != '\0';
    if (is_module) study.models[row.model] = {.onnx = file, .named = row.named};
    std::vector<measured::Axis> block = {{"model", {is_module ? std::string(row.model) : file}},
                                         {"backend", {std::string(engine.backend)}},
                                         {"device", {std::string(engine.device)}}};
    if (engine.type != nullptr) block.push_back({"dtype", {std::string(engine.type)}});
    if (row.batch > 0) block.push_back({"batch", {row.batch}});
    if (row.sequence > 0) block.push_back({"sequence", {row.sequence}});
    if (threads) block.push_back({"threads", {*threads}});
    if (engine.profile != nullptr && engine.profile[0] != '\0')
      block.push_back({"layers_by", {std::string(engine.profile)}});
    study.blocks.push_back(std::move(block));
  }
  return study;
}

// The row that a result is of.
const StudyRow& row_of(const Engine& engine, const documents::Result& result) {
  const auto number = [&](const char* axis) {
    const auto found = result.config.find(axis);
    const auto* value = found == result.config.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
    return value == nullptr ? 0 : *value;
  };
  const std::string model = documents::text_of(result.config, "model");
  const auto found = std::find_if(engine.study.begin(), engine.study.end(), [&](const StudyRow& row) {
    return model == row.model && row.sequence == number("sequence") &&
           std::max<std::int64_t>(row.batch, 1) == number("batch");
  });
  if (found == engine.study.end()) throw Error(documents::config_label(result.config) + ": is not a run of this study");
  return *found;
}

Analysis analysis_of(const Model& model, const documents::Result& result, std::optional<Precision> precision = {}) {
  AnalyzeOptions sizes{.precision = precision};
  for (const documents::InputTensor& input : result.inputs) sizes.input_shapes[input.name] = input.shape;
  return analyze(model, sizes);
}

documents::Measured profile_of(const documents::Result& result, const std::string& folder) {
  for (const documents::LayerTime& layer : result.layers)
    if (const auto found = layer.facts.find("profile"); found != layer.facts.end())
      return measured::load_profile(folder + "/work/" + base::setting_text(found->second));
  return {};
}

// How the runs fare, each by a fit without its family.
struct Comparison {
  std::vector<std::optional<double>> predicted = {};  // by run; empty: no other family runs its kernels
  double models = 0, mean_error = 0, median_error = 0, p90_error = 0, fitted_mean_error = 0;
  std::optional<Factors> interval = {};
  double coverage = 0, covered = 0;  // what the interval claims, and the share of runs inside that of other families
};

std::string interval_text(const Comparison& comparison) {
  if (!comparison.interval) return "no interval: too few families to claim one\n";
  return base::rounded(100 * comparison.coverage) + " % of runs are expected between " +
         base::rounded(comparison.interval->low) + " and " + base::rounded(comparison.interval->high) +
         " of the prediction; of these, " + base::rounded(100 * comparison.covered) +
         " % lie in the interval that the other families give\n";
}

std::string report(const Here& here, const Comparison& comparison) {
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
    const std::optional<double>& predicted = comparison.predicted[i];
    has_unknown = has_unknown || !predicted;
    grid.rows.push_back({here.name_of(i), base::si_seconds(seconds), predicted ? base::si_seconds(*predicted) : "?",
                         predicted ? percent(*predicted / seconds - 1) : "?"});
  }
  const std::string fitted = "with all of them " + percent(comparison.fitted_mean_error) + "\n";
  const std::string table = base::aligned(grid, 0) + (has_unknown ? "?: no other family runs these kernels\n" : "");
  if (comparison.models == 0) return table + "no family is judged by others; mean error " + fitted;
  return table + "each by a fit without its family: mean error " + percent(comparison.mean_error) + ", median " +
         percent(comparison.median_error) + ", 90th percentile " + percent(comparison.p90_error) + "; " + fitted +
         interval_text(comparison);
}

using Rounds = std::map<const StudyRow*, std::vector<const documents::Result*>>;

// The rounds of each run that gave a time, the fastest first.
Rounds rounds_of(const Engine& engine, const std::vector<documents::Result>& results) {
  Rounds rounds;
  for (const documents::Result& result : results)
    if (result.status == documents::ResultStatus::Ok && result.timing)
      rounds[&row_of(engine, result)].push_back(&result);
  for (auto& [row, list] : rounds)
    std::sort(list.begin(), list.end(), [](const documents::Result* a, const documents::Result* b) {
      return a->timing->latency.p50 < b->timing->latency.p50;
    });
  return rounds;
}

constexpr double kDisturbed = 1.25;  // times the fastest round

// Of the rounds that were not disturbed: a machine that shares its host is slower at some times than at others, and a
// prediction is of neither.
double mean_seconds(const std::vector<const documents::Result*>& rounds) {
  double sum = 0, count = 0;
  for (const documents::Result* round : rounds) {
    const double seconds = round->timing->latency.p50;
    if (seconds <= kDisturbed * rounds.front()->timing->latency.p50) sum += seconds, ++count;
  }
  return sum / count;
}

// Runs whose fastest round was disturbed, or whose rounds disagree.
std::size_t disturbed_runs(const Rounds& rounds) {
  return static_cast<std::size_t>(std::count_if(rounds.begin(), rounds.end(), [](const auto& each) {
    const auto &fastest = each.second.front()->timing->latency, &slowest = each.second.back()->timing->latency;
    return fastest.p95 > 2 * fastest.min || slowest.p50 > kDisturbed * fastest.p50;
  }));
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
    for (const CpuKernel& kernel : run.lowered.kernels) {
      auto& sum = sums[static_cast<std::size_t>(kernel.kind)];
      sum[2] += 1;
      sum[3] += cpu_kernel_seconds(kernel, fit.calibration, has_cold_weights(run.lowered, fit.calibration.cache_bytes));
      if (without != fit.without.end())
        sum[4] += cpu_kernel_seconds(kernel, without->second,
                                     has_cold_weights(run.lowered, without->second.cache_bytes));
    }
    for (std::size_t kind = 0; kind < kCpuKernelClasses; ++kind) {
      if (sums[kind][0] + sums[kind][2] == 0) continue;
      base::CsvLine line;
      line.add(run.name).add(to_string(static_cast<CpuKernelClass>(kind)));
      for (std::size_t i = 0; i < 4; ++i) line.add(sums[kind][i]);
      line.add(without != fit.without.end() ? std::optional(sums[kind][4]) : std::nullopt);
      text += std::move(line).end();
    }
  }
  return text;
}

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
    const auto& [row, result, seconds] = here.runs[i];
    const Model model = load_model(documents::text_of(result->config, "model_file"));
    TimedCpuRun& run = runs.emplace_back();
    run.name = here.name_of(i);
    run.family = row->family;
    run.seconds = seconds;
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
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (!runs[i].family.empty()) file.runs.push_back({runs[i].name, runs[i].family, runs[i].seconds, fit.predicted[i]});
  base::write_file(here.arguments.output, to_json(file));
  if (!here.arguments.residuals.empty()) base::write_file(here.arguments.residuals, by_class(fit, runs));
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

// What PyTorch's operators on a CPU compute, by the classes that a lowering takes for the same work. Attention is one
// kernel or several, as its modules are written. Operators that take about as long as the profiler needs for one, such
// as activations, have no row, and count in the whole run.
using Kinds = std::vector<KernelClass>;
struct Convolutions {
  Kinds depthwise, pointwise, others;
};
const Convolutions kConvolutions = {
    {KernelClass::Depthwise, KernelClass::DepthwiseLibrary, KernelClass::DepthwiseChannelsLast},
    {KernelClass::ConvPointwise},
    {KernelClass::Conv, KernelClass::ConvStem, KernelClass::ConvPatch, KernelClass::ConvGrouped,
     KernelClass::ConvChannelsLast}};
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
  if (is_one(sizes[1]) && !is_one(sizes[0])) return kConvolutions.depthwise;
  if (std::all_of(sizes.begin() + 2, sizes.end(), is_one)) return kConvolutions.pointwise;
  return kConvolutions.others;
}

// The centre of a prior: PyTorch's max pool of row-major images on a CPU (ATen's MaxPoolKernel.cpp) looks at one element
// at a time, where the rate of vector units counts 16 lanes in each of two.
constexpr double kScalarPool = 4 * 16 * 2;

std::vector<TimedPart> parts_of(const documents::Result& result) {
  std::vector<TimedPart> parts;
  for (const documents::LayerTime& layer : result.layers) {
    const auto row = kOperators.find(layer.op_type);
    if (row == kOperators.end() || !layer.seconds || *layer.seconds <= 0) continue;
    const Kinds kinds =
        row->second.empty() ? convolutions_of(documents::text_of(layer.facts, "second")) : row->second;
    if (kinds.empty()) continue;
    const auto same =
        std::find_if(parts.begin(), parts.end(), [&](const TimedPart& part) { return part.kinds == kinds; });
    if (same == parts.end())
      parts.push_back({kinds, *layer.seconds});
    else
      same->seconds += *layer.seconds;
  }
  return parts;
}

// By whole runs, and by operators where a profiler times them: ONNX Runtime's times the launches of kernels on a GPU, not
// the kernels.
void fit_whole_runs(const Here& here) {
  const EagerEngine& engine = eager_engine(here.engine.id);
  const std::optional<KernelRates> rates = kernel_rates(here.device, engine);
  if (!rates) throw Error(here.folder + "/ceilings.json: states no float32 rate or memory bandwidth; measure it again");
  const std::string models = models_folder();
  std::vector<TimedRun> runs;
  for (std::size_t i = 0; i < here.runs.size(); ++i) {
    const auto& [row, result, seconds] = here.runs[i];
    const Model model = load_model(models + "/" + row->model + ".onnx");
    AnalyzeOptions sizes;
    sizes.batch = row->batch;
    if (row->sequence > 0) sizes.dims["sequence"] = row->sequence;
    // The inputs of a module are not those of its file.
    const Analysis analysis = row->named[0] != '\0' ? analyze(model, sizes) : analysis_of(model, *result);
    EagerKernels kernels = eager_kernels(model, analysis, {.engine = engine});
    if (kernels.unknown_rows > 0)
      throw Error(here.name_of(i) + ": " + std::to_string(kernels.unknown_rows) +
                  " operators have no cost; expected a model of the study without any");
    runs.push_back({.name = here.name_of(i),
                    .family = row->family,
                    .kernels = std::move(kernels.kernels),
                    .device = here.device.id,
                    .rates = *rates,
                    .seconds = seconds,
                    .parts = parts_of(*result)});
  }
  const CalibrationResult fit = calibrate(runs, {.id = "here",
                                                 .regime = here.regime() + (engine.products == Precision::Tf32
                                                                                ? ", float32 with products in tf32"
                                                                                : ", float32, eager"),
                                                 .source = "measured on this machine",
                                                 .folds = runs.size(),  // each family is left out alone
                                                 .coverage = 0.8,
                                                 .fits_rows = engine.is_of_one_machine,
                                                 .pool_issues = engine.on_cpu ? kScalarPool : 4,
                                                 .fits_host = std::string_view(here.engine.device) == "cuda"});
  documents::CalibrationFile file{.fitted = fit.calibration, .ceilings = here.ceilings, .device = here.device};
  file.fitted.engine = engine;
  file.fitted.shortest_kernel_seconds = 0;  // short operators are among those measured
  base::write_file(here.arguments.output, to_json(file));
  Comparison comparison{.models = fit.calibration.models,
                        .mean_error = fit.calibration.mean_error,
                        .median_error = fit.calibration.median_error,
                        .p90_error = fit.calibration.p90_error,
                        .fitted_mean_error = fit.fitted_mean_error,
                        .interval = fit.calibration.interval,
                        .coverage = fit.calibration.coverage,
                        .covered = fit.covered};
  std::string residuals = base::csv_line({"run", "seconds", "predicted", "low", "high"});
  for (std::size_t i = 0; i < runs.size(); ++i) {
    comparison.predicted.emplace_back(fit.runs[i].predicted);
    base::CsvLine line;
    line.add(runs[i].name).add(runs[i].seconds).add(fit.runs[i].predicted).add(fit.runs[i].low).add(fit.runs[i].high);
    residuals += std::move(line).end();
  }
  if (!here.arguments.residuals.empty()) base::write_file(here.arguments.residuals, residuals);
  write_output("", report(here, comparison));
}

// By whole runs; coefficients that they do not determine are those of the devices of the built-in calibration.
void fit_tensorrt(const Here& here) {
  const std::optional<TensorRtRates> rates = tensorrt_rates(here.device);
  if (!rates)
    throw Error(here.folder + "/ceilings.json: states no float16 rate of tensor units, memory bandwidth, L2 capacity, "
                              "clock, power limit or compute capability; measure it again on a GPU with tensor units");
  std::vector<TensorRtRun> runs;
  for (std::size_t i = 0; i < here.runs.size(); ++i) {
    const auto& [row, result, seconds] = here.runs[i];
    const Model model = load_model(documents::text_of(result->config, "model_file"));
    TensorRtKernels kernels = tensorrt_kernels(model, analysis_of(model, *result, Precision::Float16));
    if (kernels.unknown_rows > 0)
      throw Error(here.name_of(i) + ": " + std::to_string(kernels.unknown_rows) +
                  " kernels have no cost; expected a model of the study without any");
    runs.push_back({.device = here.device.name,
                    .group = row->family,
                    .pair = here.name_of(i),
                    .kernels = std::move(kernels),
                    .rates = *rates,
                    .seconds = seconds});
  }
  const TensorRtCalibration elsewhere = documents::tensorrt_calibration("tensorrt");
  TensorRtFit fit = calibrate_tensorrt(runs, 0.8, &elsewhere);
  fit.calibration.id = "here";
  fit.calibration.regime = here.regime() + ", float16";
  fit.calibration.source = "measured on this machine";
  base::write_file(here.arguments.output, documents::to_json(fit, here.ceilings));
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
  if (!here.arguments.residuals.empty()) base::write_file(here.arguments.residuals, residuals);
  write_output("", report(here, comparison));
}

constexpr const char* kCpu[] = {"--cpu"};
constexpr const char* kGpu[] = {"--gpu", "0"};
constexpr Engine kEngines[] = {
    {"onnxruntime-cpu", "ONNX Runtime", "version.onnxruntime", "ort", "cpu", nullptr, 2, 1.0, 0.5, "", kFiles, kCpu,
     fit_onnxruntime},
    {"onnxruntime-cuda", "ONNX Runtime", "version.onnxruntime", "ort", "cuda", nullptr, 1, 0.5, 0.5, nullptr,
     kCudaFiles, kGpu, fit_whole_runs},
    {"tensorrt", "TensorRT", "version.tensorrt", "ort", "tensorrt", "float16", 1, 0.5, 0.5, nullptr, kTensorRtFiles,
     kGpu, fit_tensorrt},
    {"pytorch-cpu", "PyTorch", "version.torch", "torch", "cpu", nullptr, 1, 1.5, 1.0, "operators", kModules, kCpu,
     fit_whole_runs},
    {"pytorch-cuda", "PyTorch", "version.torch", "torch", "cuda", nullptr, 1, 0.5, 0.5, nullptr, kModules, kGpu,
     fit_whole_runs},
};

}  // namespace

std::vector<std::string> engines_here() {
  std::vector<std::string> ids;
  for (const Engine& engine : kEngines) ids.emplace_back(engine.id);
  return ids;
}

int calibrate_here(const CalibrateArguments& arguments) {
  if (arguments.output.empty())
    throw UsageError("--here " + arguments.here + " needs -o FILE, the calibration; its runs are kept beside it");
  const Engine& engine = *std::find_if(std::begin(kEngines), std::end(kEngines),
                                       [&](const Engine& row) { return row.id == arguments.here; });
  const std::string folder = arguments.output + ".runs";
  fs::create_directories(folder);
  const measured::Study study = study_of(engine, models_folder(), arguments.threads);
  say("runs of " + std::to_string(engine.study.size()) + " models, a few minutes; kept in " + folder +
      ", the same command goes on after an interruption");
  const measured::StudyRun ran =
      measured::run_study(study, {.folder = folder,
                                  .program = program("pagoda-bench", "bench"),
                                  .retry = {documents::ResultStatus::Failed, documents::ResultStatus::Killed,
                                            documents::ResultStatus::NotAvailable}});
  Here here{.engine = engine, .arguments = arguments, .folder = folder, .runs = {}, .ceilings = {}, .device = {}};
  std::string reason;
  std::size_t failed = 0;
  for (const documents::Result& result : ran.results)
    if (result.status != documents::ResultStatus::Ok || !result.timing) {
      ++failed;
      if (reason.empty()) reason = documents::config_label(result.config) + ": " + result.reason;
    }
  const Rounds rounds = rounds_of(engine, ran.results);
  for (const StudyRow& row : engine.study)
    if (const auto found = rounds.find(&row); found != rounds.end())
      here.runs.push_back({&row, found->second.front(), mean_seconds(found->second)});
  if (here.runs.empty())
    throw Error("--here " + arguments.here + ": none of " + std::to_string(ran.results.size()) +
                " runs gave a time; the first says " + reason);
  if (!reason.empty())
    std::cerr << "pagoda-calibrate: left out " << failed << " of " << ran.results.size()
              << " runs, the first " << reason << '\n';
  if (const std::size_t disturbed = disturbed_runs(rounds); disturbed > 0)
    std::cerr << "pagoda-calibrate: " << disturbed << " of " << here.runs.size()
              << " runs were disturbed: one of twenty took over twice the fastest, or one round over 1.25 times the other; "
                 "delete "
              << folder
              << " and measure again on an idle machine\n";
  here.ceilings = measured_ceilings(engine, folder);
  here.device = documents::parse_device(here.ceilings, folder + "/ceilings.json");
  engine.fit(here);
  return kDone;
}

}  // namespace pagoda::tools
