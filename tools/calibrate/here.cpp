#include "here.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <thread>

#include "pagoda/base/csv_line.h"
#include "pagoda/base/files.h"
#include "pagoda/base/process.h"
#include "pagoda/base/text.h"
#include "pagoda/core/model.h"
#include "pagoda/documents/ceilings.h"
#include "pagoda/documents/cpu_calibration.h"
#include "pagoda/documents/device.h"
#include "pagoda/measured/import.h"
#include "pagoda/measured/ort_kernels.h"
#include "pagoda/measured/runner.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

namespace fs = std::filesystem;

// Small enough to run within minutes; together they cover every kernel class, with products of one, few and many rows.
struct StudyRow {
  const char* model;  // in models/skeletons
  const char* family;
  std::int64_t batch = 0, sequence = 0;  // 0: as in the file
};
constexpr StudyRow kStudy[] = {
    {"resnet50_dynamic", "resnet", 1},
    {"resnet50_dynamic", "resnet", 4},
    {"r3d_18", "resnet"},
    {"deeplabv3_resnet50", "resnet"},
    {"resnet50_qdq_int8", "resnet"},
    {"resnet50_qoperator_int8", "resnet"},
    {"mobilenet_v3_large", "mobilenet"},
    {"efficientnet_b0", "efficientnet"},
    {"densenet121_dynamic", "densenet", 1},
    {"googlenet", "inception"},
    {"alexnet", "vgg"},
    {"vgg16", "vgg"},
    {"unet", "unet", 2},
    {"yolov8n", "yolo"},
    {"convnext_tiny", "convnext"},
    {"swin_t", "swin"},
    {"swin_t_dynamic", "swin", 2},
    {"vit_b_16_dynamic", "vit", 1},
    {"vit_b_16_dynamo", "vit"},
    {"bert_base", "bert", 1, 1},
    {"bert_base", "bert", 1, 128},
    {"bert_base", "bert", 8, 32},
    {"bert_base_dynamo", "bert", 1, 64},
    {"bert_base_fused", "bert", 1, 128},
    {"bert_base_fused_dynamic_int8", "bert", 1, 128},
    {"gpt2", "gpt2", 1, 1},
    {"gpt2", "gpt2", 1, 64},
    {"t5_encoder", "t5", 1, 128},
    {"llama", "llama", 1, 1},
    {"llama", "llama", 1, 96},
    {"whisper_encoder", "whisper"},
    {"lstm", "lstm", 2},
};

std::string family_of(const std::string& model) {
  const auto* found =
      std::find_if(std::begin(kStudy), std::end(kStudy), [&](const StudyRow& row) { return model == row.model; });
  return found == std::end(kStudy) ? model : found->family;
}

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

std::string engine_version(const documents::Result& result) {
  const auto found = result.metadata.find("version.onnxruntime");
  return found == result.metadata.end() ? "of an unknown version" : base::setting_text(found->second);
}

void say(const std::string& text) {
  if (isatty(STDERR_FILENO) != 0) std::cerr << "pagoda-calibrate: " << text << '\n';
}

std::string measured_ceilings(const std::string& folder) {
  const std::string path = folder + "/ceilings.json";
  if (!fs::exists(path)) {
    say("ceilings of this CPU, about half a minute");
    base::ProcessOptions quiet{.out = base::Stream::Null, .err = base::Stream::Pipe};
    const std::string tool = program("ert-ceilings", "ceilings");
    const base::Output output = base::run_and_capture({tool, "--cpu", "--quick", "--json", path}, quiet);
    if (!output.end.succeeded())
      throw Error(tool + " --cpu --quick " + to_string(output.end) + ": " + output.err);
  }
  return base::read_file(path, "ceilings of this CPU");
}

measured::Study study_of(const std::string& models, std::optional<std::int64_t> threads) {
  measured::Study study;
  study.name = "here";
  study.layers = true;
  study.measure.budget_seconds = 1.5;
  study.measure.warmup_seconds = 1;
  study.limits.seconds = 300;
  for (const StudyRow& row : kStudy) {
    std::vector<measured::Axis> block = {{"model", {std::string(models + "/" + row.model + ".onnx")}},
                                         {"backend", {std::string("ort")}},
                                         {"device", {std::string("cpu")}}};
    if (row.batch > 0) block.push_back({"batch", {row.batch}});
    if (row.sequence > 0) block.push_back({"sequence", {row.sequence}});
    if (threads) block.push_back({"threads", {*threads}});
    study.blocks.push_back(std::move(block));
  }
  return study;
}

Analysis analysis_of(const Model& model, const documents::Result& result) {
  AnalyzeOptions sizes;
  for (const documents::InputTensor& input : result.inputs) sizes.input_shapes[input.name] = input.shape;
  return analyze(model, sizes);
}

documents::Measured profile_of(const documents::Result& result, const std::string& folder) {
  for (const documents::LayerTime& layer : result.layers)
    if (const auto found = layer.facts.find("profile"); found != layer.facts.end())
      return measured::load_profile(folder + "/work/" + base::setting_text(found->second));
  return {};
}

std::string report(const CpuFit& fit, const std::vector<TimedCpuRun>& runs) {
  const auto percent = [](double part) { return base::rounded(100 * part) + " %"; };
  base::Grid grid{.columns = {{.header = "run"},
                              {.header = "measured", .is_number = true},
                              {.header = "predicted", .is_number = true},
                              {.header = "error", .is_number = true}},
                  .rows = {}};
  for (std::size_t i = 0; i < runs.size(); ++i)
    grid.rows.push_back({runs[i].name, base::si_seconds(runs[i].seconds),
                         fit.predicted[i] ? base::si_seconds(*fit.predicted[i]) : "?",
                         fit.predicted[i] ? percent(*fit.predicted[i] / runs[i].seconds - 1) : "?"});
  const CpuCalibration& c = fit.calibration;
  const bool has_unknown = std::any_of(fit.predicted.begin(), fit.predicted.end(), [](const auto& p) { return !p; });
  const std::string fitted = "with all of them " + percent(fit.fitted_mean_error) + "\n";
  const std::string table =
      base::aligned(grid, 0) + (has_unknown ? "?: no other family runs these kernels\n" : "");
  if (c.models == 0) return table + "no family is judged by others; mean error " + fitted;
  return table + "each by a fit without its family: mean error " + percent(c.mean_error) +
         ", median " + percent(c.median_error) + ", 90th percentile " + percent(c.p90_error) + "; " + fitted;
}

std::size_t disturbed_runs(const std::vector<documents::Result>& results) {
  return static_cast<std::size_t>(std::count_if(results.begin(), results.end(), [](const documents::Result& result) {
    return result.timing && result.timing->latency.p95 > 2 * result.timing->latency.min;
  }));
}

// For each run and kernel class, the profiled time (including the profiler's overhead) and the predicted time.
std::string by_class(const CpuFit& fit, const std::vector<TimedCpuRun>& runs) {
  std::string text =
      base::csv_line({"run", "class", "profiled_kernels", "profiled_seconds", "kernels", "predicted_seconds"});
  for (const TimedCpuRun& run : runs) {
    std::array<std::array<double, 4>, kCpuKernelClasses> sums = {};
    for (const TimedCpuKernel& timed : run.timed) {
      auto& sum = sums[static_cast<std::size_t>(timed.kernel.kind)];
      sum[0] += 1;
      sum[1] += timed.seconds;
    }
    const bool is_cold = run.lowered.weight_bytes > fit.calibration.cache_bytes;
    for (const CpuKernel& kernel : run.lowered.kernels) {
      auto& sum = sums[static_cast<std::size_t>(kernel.kind)];
      sum[2] += 1;
      sum[3] += cpu_kernel_seconds(kernel, fit.calibration, is_cold);
    }
    for (std::size_t kind = 0; kind < kCpuKernelClasses; ++kind) {
      if (sums[kind][0] + sums[kind][2] == 0) continue;
      base::CsvLine line;
      line.add(run.name).add(to_string(static_cast<CpuKernelClass>(kind)));
      for (const double sum : sums[kind]) line.add(sum);
      text += std::move(line).end();
    }
  }
  return text;
}

}  // namespace

int calibrate_here(const CalibrateArguments& arguments) {
  if (arguments.output.empty())
    throw UsageError("--here " + arguments.here + " needs -o FILE, the calibration; its runs are kept beside it");
  const std::string folder = arguments.output + ".runs";
  fs::create_directories(folder);
  const measured::Study study = study_of(models_folder(), arguments.threads);
  say("runs of " + std::to_string(std::size(kStudy)) + " models, a few minutes; kept in " + folder +
      ", the same command goes on after an interruption");
  const measured::StudyRun ran =
      measured::run_study(study, {.folder = folder,
                                  .program = program("pagoda-bench", "bench"),
                                  .retry = {documents::ResultStatus::Failed, documents::ResultStatus::Killed,
                                            documents::ResultStatus::NotAvailable}});
  std::vector<std::pair<const documents::Result*, documents::Measured>> profiles;
  std::string reason;
  for (const documents::Result& result : ran.results) {
    if (result.status == documents::ResultStatus::Ok && result.timing)
      profiles.emplace_back(&result, profile_of(result, folder));
    else if (reason.empty())
      reason = documents::config_label(result.config) + ": " + result.reason;
  }
  if (profiles.empty())
    throw Error("--here " + arguments.here + ": none of " + std::to_string(ran.results.size()) +
                " runs gave a time; the first says " + reason);
  if (!reason.empty()) std::cerr << "pagoda-calibrate: left out " << reason << '\n';
  if (const std::size_t disturbed = disturbed_runs(ran.results); disturbed > 0)
    std::cerr << "pagoda-calibrate: " << disturbed << " of " << profiles.size()
              << " runs were disturbed: one of twenty took over twice the fastest; delete " << folder
              << " and measure again on an idle machine\n";

  documents::CpuCalibrationFile file{.engine = arguments.here, .fitted = {}, .runs = {}, .ceilings = {}, .device = {}};
  file.ceilings = measured_ceilings(folder);
  file.device = documents::parse_device(file.ceilings, folder + "/ceilings.json");

  CpuCalibration machine;
  machine.id = "here";
  machine.threads =
      static_cast<int>(arguments.threads.value_or(std::max<std::int64_t>(std::thread::hardware_concurrency(), 1)));
  machine.channel_block = 0;
  for (const auto& [result, profile] : profiles)
    if (const int block = measured::channel_block(profile); block > 0)
      machine.channel_block = machine.channel_block > 0 ? std::min(machine.channel_block, block) : block;
  const documents::CeilingsDocument ceilings = documents::parse_ceilings(file.ceilings, folder + "/ceilings.json");
  for (const char* level : {"l1_bytes", "l2_bytes", "l3_bytes"})
    if (const auto found = ceilings.machine.find(level); found != ceilings.machine.end())
      if (const auto* bytes = std::get_if<std::int64_t>(&found->second))
        machine.cache_bytes = std::max(machine.cache_bytes, static_cast<double>(*bytes));
  machine.regime = "ONNX Runtime " + engine_version(*profiles.front().first) + " on " + file.device.name + ", " +
                   std::to_string(machine.threads) + (machine.threads == 1 ? " thread" : " threads") +
                   (arguments.threads ? "" : ", the engine's default");

  std::vector<TimedCpuRun> runs;
  for (const auto& [result, profile] : profiles) {
    const Model model = load_model(documents::text_of(result->config, "model_file"));
    TimedCpuRun& run = runs.emplace_back();
    run.name = documents::text_of(result->config, "model");
    for (const char* axis : {"batch", "sequence"})
      if (const auto found = result->config.find(axis); found != result->config.end())
        run.name += std::string(" ") + axis + " " + base::setting_text(found->second);
    run.family = family_of(documents::text_of(result->config, "model"));
    run.seconds = result->timing->latency.p50;
    const Analysis analysis = analysis_of(model, *result);
    run.lowered = cpu_kernels(model, analysis, machine.channel_block);
    std::map<std::string, CpuKernel> named;
    for (const CpuKernel& kernel : run.lowered.kernels) {
      const NodeReport& row = analysis.nodes[static_cast<std::size_t>(kernel.row)];
      if (row.graph == 0 && (is_product(kernel.kind) || kernel.kind == CpuKernelClass::SoftmaxOuter))
        named.emplace(model.main().node(row.node).name, kernel);
    }
    run.timed = measured::timed_kernels(profile, machine.channel_block, named);
  }
  const CpuFit fit = fit_cpu(runs, machine);
  file.fitted = fit.calibration;
  for (std::size_t i = 0; i < runs.size(); ++i)
    file.runs.push_back({runs[i].name, runs[i].family, runs[i].seconds, fit.predicted[i]});
  base::write_file(arguments.output, to_json(file));
  if (!arguments.residuals.empty()) base::write_file(arguments.residuals, by_class(fit, runs));
  write_output("", report(fit, runs));
  return kDone;
}

}  // namespace pagoda::tools
