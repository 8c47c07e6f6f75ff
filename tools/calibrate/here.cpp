// --here: measures this machine and an engine on it in rounds, and writes the calibration that fits them.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <vector>

#include "here.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/base/process.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/device.h"
#include "pagoda/lab/runner.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

namespace fs = std::filesystem;

// The folder of the models: in the sources, or installed.
std::string models_folder() {
  if (const char* named = std::getenv("PAGODA_MODELS"); named != nullptr && *named != '\0') return named;
  for (const char* folder : {PAGODA_MODELS_SOURCE, PAGODA_MODELS_INSTALLED})
    if (fs::exists(folder)) return folder;
  throw Error("models: found neither " PAGODA_MODELS_SOURCE " nor " PAGODA_MODELS_INSTALLED
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

// Beyond an engine's own, for runs that a host has disturbed in each of those.
constexpr std::int64_t kMoreRounds = 2;

void say(const std::string& text) {
  if (isatty(STDERR_FILENO) != 0) std::cerr << "pagoda-calibrate: " << text << '\n';
}

std::string measured_ceilings(const HereEngine& engine, const std::string& folder) {
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
  return base::read_text(path, "ceilings of this machine");
}

// A machine that is busy or throttled for a while slows one round of a run, which then does not count.
lab::Study study_of(const HereEngine& engine, const std::vector<const StudyRow*>& rows, std::int64_t rounds,
                    const std::string& models, std::optional<std::int64_t> threads) {
  lab::Study study;
  study.name = "here";
  study.layers = engine.profile != nullptr;
  study.repeats = rounds;
  study.measure.budget_seconds = engine.budget_seconds;
  study.measure.warmup_seconds = engine.warmup_seconds;
  study.limits.seconds = 300;
  for (const StudyRow* row : rows) {
    const std::string file = cat(models, row->family[0] == '\0' ? "/../probes/" : "/", row->model, ".onnx");
    const bool is_module = row->named[0] != '\0';
    if (is_module) study.models[row->model] = {.onnx = file, .named = row->named};
    auto& block = study.blocks.emplace_back();
    const auto add = [&](const char* axis, const auto& value) { block.push_back({axis, {value}}); };
    add("model", is_module ? std::string(row->model) : file);
    add("backend", std::string(engine.backend));
    add("device", std::string(engine.device));
    if (engine.type != nullptr) add("dtype", std::string(engine.type));
    if (row->batch > 0) add("batch", row->batch);
    if (row->sequence > 0) add("sequence", row->sequence);
    if (threads) add("threads", *threads);
    if (engine.profile != nullptr && engine.profile[0] != '\0') add("layers_by", std::string(engine.profile));
  }
  return study;
}

constexpr const char* kCpu[] = {"--cpu"};
constexpr const char* kGpu[] = {"--gpu", "0"};
constexpr HereEngine kEngines[] = {
    {"onnxruntime-cpu", "ONNX Runtime", "version.onnxruntime", "ort", "cpu", nullptr, 2, 1.0, 0.5, "", kFiles, kCpu,
     fit_onnxruntime},
    {"onnxruntime-cuda", "ONNX Runtime", "version.onnxruntime", "ort", "cuda", nullptr, 1, 0.5, 0.5, nullptr,
     kCudaFiles, kGpu, fit_whole_runs, ", float32 with products in tf32"},
    {"tensorrt", "TensorRT", "version.tensorrt", "ort", "tensorrt", "float16", 1, 0.5, 0.5, nullptr, kTensorRtFiles,
     kGpu, fit_tensorrt, ", float16"},
    {"pytorch-cpu", "PyTorch", "version.torch", "torch", "cpu", nullptr, 1, 1.5, 1.0, "operators", kModules, kCpu,
     fit_whole_runs, ", float32, eager"},
    {"pytorch-cuda", "PyTorch", "version.torch", "torch", "cuda", nullptr, 1, 0.5, 0.5, nullptr, kModules, kGpu,
     fit_whole_runs, ", float32, eager"},
};

}  // namespace

std::vector<std::string> engines_here() {
  std::vector<std::string> ids;
  for (const HereEngine& engine : kEngines) ids.emplace_back(engine.id);
  return ids;
}

int calibrate_here(const CalibrateArguments& arguments) {
  if (arguments.output.empty())
    throw UsageError(cat("--here ", arguments.here, " needs -o FILE, the calibration; its runs are kept beside it"));
  const HereEngine& engine = *std::ranges::find(kEngines, arguments.here, &HereEngine::id);
  const std::string folder = arguments.output + ".runs";
  fs::create_directories(folder);
  const std::string models = models_folder();
  say(cat("runs of ", engine.study.size(), " models, a few minutes; kept in ", folder,
          ", the same command goes on after an interruption"));
  const auto results_of = [&](const std::vector<const StudyRow*>& rows, std::int64_t rounds) {
    return lab::run_study(study_of(engine, rows, rounds, models, arguments.threads),
                          {.folder = folder,
                           .program = program("pagoda-bench", "bench"),
                           .retry = {documents::ResultStatus::Failed, documents::ResultStatus::Killed,
                                     documents::ResultStatus::NotAvailable}})
        .results;
  };
  std::vector<const StudyRow*> rows;
  for (const StudyRow& row : engine.study) rows.push_back(&row);
  std::vector<documents::Result> results = results_of(rows, engine.rounds);
  const Placements placements = placements_of(rounds_of(engine, results));
  for (std::int64_t more = 1; more <= kMoreRounds; ++more) {
    rows = runs_without_one_cache(rounds_of(engine, results), placements);
    if (rows.empty()) break;
    say(cat(rows.size(), " runs once more: the host had their processors on different caches"));
    for (documents::Result& result : results_of(rows, engine.rounds + more))
      if (std::ranges::find(results, result.key, &documents::Result::key) == results.end())
        results.push_back(std::move(result));
  }
  const Rounds rounds = rounds_of(engine, results);
  Here here{.engine = engine,
            .arguments = arguments,
            .folder = folder,
            .models = models,
            .apart_share = placements.apart_share()};
  std::string reason;
  std::size_t failed = 0;
  for (const documents::Result& result : results)
    if (result.status != documents::ResultStatus::Ok || !result.timing) {
      ++failed;
      if (reason.empty()) reason = documents::config_label(result.config) + ": " + result.reason;
    }
  for (const StudyRow& row : engine.study)
    if (const auto found = rounds.find(&row); found != rounds.end())
      here.runs.push_back(run_of(row, found->second, placements));
  if (here.runs.empty())
    throw Error(cat("--here ", arguments.here, ": none of ", results.size(), " runs gave a time; the first: ", reason));
  if (!reason.empty())
    std::cerr << "pagoda-calibrate: left out " << failed << " of " << results.size() << " runs, the first " << reason
              << '\n';
  for (const std::string& note : notes_of(rounds, placements, folder))
    std::cerr << "pagoda-calibrate: " << note << '\n';
  here.ceilings = measured_ceilings(engine, folder);
  here.device = documents::parse_device(here.ceilings, folder + "/ceilings.json");
  HereFit fitted = engine.fit(here);
  documents::CalibrationFile& file = fitted.fit.file;
  file.fitted.id = "here";
  file.fitted.regime = here.regime() + engine.regime;
  file.fitted.source = "measured on this machine";
  file.ceilings = here.ceilings;
  write_output(arguments.output, documents::to_json(file));
  if (!arguments.residuals.empty()) write_output(arguments.residuals, fitted.residuals);
  write_output("", report(here, fitted.fit));
  std::error_code ignored;
  fs::remove_all(folder + "/work/filled",
                 ignored);  // the models with their weights: gigabytes, made again where needed
  return kDone;
}

}  // namespace pagoda::tools
