// Expands models × sizes × batches × algorithms, measures each combination, prints a line for it and keeps its record.
#include "conv_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <set>
#include <span>

#include "conv_study.h"
#include "cuda_driver.h"
#include "gpu_watch.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/base/number.h"
#include "pagoda/base/text.h"
#include "pagoda/lab/axes.h"
#include "pagoda/lab/result_report.h"
#include "system_files.h"
#include "tool.h"
#include "units.h"

namespace pagoda::tools::conv {
namespace {

constexpr double kMebi = 1024.0 * 1024.0;

constexpr const char* kExamples = R"(Examples:
  pagoda-bench conv models/skeletons/resnet50.onnx --csv resnet50_layers.csv
  pagoda-bench conv models/skeletons/{vgg16,alexnet}.onnx --input-size 32,64,128,256,512,1024 --algorithm auto,winograd
  pagoda-bench conv resnet50.onnx --device cuda --support        which layers each algorithm of cuDNN takes
Times are of the layer alone in the library's own layouts; bringing tensors into them is not in it. Errors are
Σ|got − reference| / Σ|reference| against the definition in double precision, the worst of the layers.
Exit codes: 0 done, 1 unusable input, 2 usage, 3 a result is wrong or nothing could be run, 4 no such device.)";

struct Flags {
  std::vector<std::string> models, algorithms;
  std::vector<std::string> sizes, batches = {"1"};
  std::string device = "cpu", math = "fma", layers_csv, overall_csv, folder;
  int threads = 0;
  double layer_budget = 0.1, whole_budget = 1, threshold = 1e-3;
  std::int64_t check = 4096;
  std::uint64_t seed = 1;
  std::int64_t runs = 0, warmup_runs = 0;
  bool support = false, no_fallback = false, list_models = false, list_algorithms = false;
};

std::string decimal(double value, int digits, std::chars_format format = std::chars_format::fixed) {
  return base::decimal(value, format, digits);
}

struct Case {
  std::string path, model;
  base::Setting size;  // monostate: the file's
  std::int64_t batch = 1;

  bool has_size() const { return !std::holds_alternative<std::monostate>(size); }
  std::string size_text() const { return has_size() ? base::setting_text(size) : "file"; }
};

// Values of --batch or --input-size, in the format of `pagoda-bench run`.
std::vector<base::Setting> values_of(const char* flag, const char* axis, const std::vector<std::string>& given) {
  return parsed(flag, [&] { return lab::bench::axis_values(*lab::bench::find_axis(axis), base::joined(given, ",")); });
}

base::TimingOptions timing_of(const Flags& flags, double budget) {
  base::TimingOptions options{.budget_seconds = budget, .warmup_seconds = budget};
  if (flags.runs > 0) options.min_iterations = options.max_iterations = flags.runs;
  options.warmup_iterations = flags.warmup_runs;
  return options;
}

documents::Result measure(const Case& c, const LayerList& list, const ConvLibrary& library,
                          const std::string& algorithm, const Flags& flags) {
  const double start = steady_seconds();
  documents::Result result;
  result.config = {{"model", c.model},
                   {"model_file", c.path},
                   {"backend", std::string("conv")},
                   {"mode", std::string("inference")},
                   {"device", flags.device},
                   {"dtype", std::string("float32")},
                   {"algorithm", algorithm},
                   {"batch", c.batch},
                   {"seed", static_cast<std::int64_t>(flags.seed)},
                   {"repeat", std::int64_t{0}}};
  if (c.has_size()) result.config["input_size"] = c.size;
  if (flags.threads > 0) result.config["threads"] = std::int64_t{flags.threads};
  if (flags.device != "cpu") result.config["math"] = flags.math;
  result.key = documents::config_key(result.config);
  result.metadata = {{"time", base::utc_now()},
                     {"version." + library.name, library.version},
                     {"convolutions", static_cast<std::int64_t>(list.layers.size())},
                     {"convolutions_left_out", static_cast<std::int64_t>(list.left_out.size())}};
  if (!library.device.empty()) result.metadata["device"] = library.device;
  try {
    const PreparedModel model = prepare_model(list, library,
                                              {.algorithm = algorithm,
                                               .seed = flags.seed,
                                               .check_points = flags.check,
                                               .threshold = flags.threshold,
                                               .fall_back = !flags.no_fallback});
    result.compile_seconds = model.prepare_seconds;
    result.metadata["convolution_macs"] = model.macs;
    result.metadata["convolutions_refused"] = model.refused;
    result.layers = time_layers(model, timing_of(flags, flags.layer_budget));
    result.verification = model.verification;
    if (model.is_whole) {
      bench::Meters meters(bench::cuda_index(flags.device));
      const bench::MeteredTiming timed = bench::time_with_energy(
          meters, [&](std::int64_t n) { return run_model(model, n); }, timing_of(flags, flags.whole_budget));
      result.timing = timed.timing;
      result.energy = timed.energy;
      result.clock = library.clock;
      result.items = static_cast<double>(c.batch);
    } else {
      result.status = documents::ResultStatus::NotAvailable;
      result.reason = model.refusal();
    }
  } catch (const std::bad_alloc&) {
    result.status = documents::ResultStatus::OutOfMemory;
    result.reason = "the layers' tensors do not fit into memory";
  } catch (const Error& error) {
    result.status = documents::ResultStatus::Failed;
    result.reason = error.what();
  }
  result.wall_seconds = steady_seconds() - start;
  return result;
}

constexpr const char* kHeader =
    "model               size batch  algorithm              layers  whole [ms]  sum alone [ms]   GMAC/s  "
    "workspace [MiB]  worst error  check\n";

// The sum includes only layers that the algorithm accepts; the time of the whole runs the others with "auto".
void print_line(const documents::Result& r, const Case& c, const std::string& algorithm) {
  double sum = 0, macs = 0, workspace = 0;
  std::int64_t taken = 0;
  for (const documents::LayerTime& layer : r.layers) {
    if (!layer.seconds) continue;
    ++taken;
    sum += *layer.seconds;
    macs += documents::number_of(layer.facts, "macs").value_or(0);
    workspace = std::max(workspace, documents::number_of(layer.facts, "workspace_bytes").value_or(0));
  }
  using std::left, std::right, std::setw;
  const auto shown = [](bool is_known, const std::string& text) { return is_known ? text : "-"; };
  const bool has_error = r.verification && r.verification->error;
  std::cout << left << setw(16) << c.model << ' ' << right << setw(7) << c.size_text() << ' ' << setw(5) << c.batch
            << "  " << left << setw(21) << algorithm << ' ' << right << setw(7) << cat(taken, "/", r.layers.size())
            << setw(12) << shown(r.timing.has_value(), decimal(r.timing ? r.timing->latency.p50 * 1e3 : 0, 3))
            << setw(16) << shown(taken > 0, decimal(sum * 1e3, 3)) << setw(9)
            << shown(sum > 0, decimal(macs / sum * 1e-9, 1)) << setw(17)
            << shown(taken > 0, decimal(workspace / kMebi, 1)) << setw(13)
            << shown(has_error, decimal(has_error ? *r.verification->error : 0, 1, std::chars_format::scientific))
            << "  " << (r.verification ? to_string(r.verification->code) : "") << (r.reason.empty() ? "" : "  ")
            << base::printable(r.reason) << std::endl;
}

void print_support(const Case& c, const LayerList& list, const ConvLibrary& library,
                   const std::vector<std::string>& algorithms) {
  for (const ConvLayer& layer : list.layers)
    for (const std::string& algorithm : algorithms) {
      if (algorithm == "auto") continue;
      const std::string objection = library.objection ? library.objection(layer, algorithm) : "";
      std::cout << c.model << "  " << base::printable(layer.name) << "  " << to_string(layer) << "  " << algorithm
                << "  " << (objection.empty() ? "nothing speaks against it" : "refused: " + objection) << '\n';
    }
}

std::vector<Case> cases_of(const Flags& flags) {
  std::vector<base::Setting> sizes = {base::Setting()};
  if (!flags.sizes.empty()) sizes = values_of("--input-size", "input_size", flags.sizes);
  const std::vector<base::Setting> batches = values_of("--batch", "batch", flags.batches);
  std::vector<Case> cases;
  for (const std::string& path : flags.models)
    for (const base::Setting& size : sizes)
      for (const base::Setting& batch : batches)
        cases.push_back({path, std::filesystem::path(path).stem().string(), size, std::get<std::int64_t>(batch)});
  return cases;
}

LayerList layers_of(const Case& c) {
  LayerList list = conv_layers(c.path, {.batch = c.batch, .input_size = input_sizes(c.size)});
  for (const LeftOut& left : list.left_out)
    std::cerr << "pagoda-bench: " << c.model << (c.has_size() ? " at " + c.size_text() : "") << ": "
              << base::printable(left.name) << " left out: " << base::printable(left.reason) << '\n';
  if (list.layers.empty()) throw Error(c.path + ": no convolution that can be run alone");
  return list;
}

// Measures a case with an algorithm, prints its line and keeps its record; false if it failed or its result is wrong.
bool run_case(const Case& c, const LayerList& list, const ConvLibrary& library, const std::string& algorithm,
              const Flags& flags, std::vector<documents::Result>& results) {
  const bool is_reference = algorithm == "reference";
  results.push_back(measure(c, list, is_reference ? reference_library() : library, algorithm, flags));
  const documents::Result& r = results.back();
  print_line(r, c, algorithm);
  if (!flags.folder.empty()) {
    std::filesystem::create_directories(flags.folder);
    documents::append_result(flags.folder + "/results.jsonl", r);
  }
  const bool is_wrong = r.verification && (r.verification->code == documents::VerificationCode::Fail ||
                                           r.verification->code == documents::VerificationCode::NonFinite);
  return !is_wrong && r.status != documents::ResultStatus::Failed;
}

int run(const Flags& flags) {
  const ConvLibrary library = library_of(flags.device, flags.threads, flags.math == "tf32");
  std::vector<std::string> algorithms = flags.algorithms.empty() ? library.algorithms : flags.algorithms;
  std::ranges::replace(algorithms, "guess", "auto");  // its name in other tools
  if (!library.unavailable.empty()) {
    std::cerr << "pagoda-bench: " << library.name << (flags.support ? ": " : " is not available: ")
              << library.unavailable << (flags.support ? "; the list follows from the shapes alone\n" : "\n");
    if (!flags.support) return bench::gpu_of(flags.device) ? kNoDevice : kUnusable;
  }
  for (const std::string& path : {flags.layers_csv, flags.overall_csv})
    if (!path.empty()) base::check_writable(path);
  const std::vector<Case> cases = cases_of(flags);
  std::vector<documents::Result> results;
  bool all_right = true;
  if (!flags.support)
    std::cout << cat(library.name, " ", library.version, library.device.empty() ? "" : " on ", library.device, "\n",
                     kHeader);
  for (const Case& c : cases) {
    const LayerList list = layers_of(c);
    if (flags.support) {
      print_support(c, list, library, algorithms);
      continue;
    }
    for (const std::string& algorithm : algorithms)
      all_right = run_case(c, list, library, algorithm, flags, results) && all_right;
  }
  if (!flags.layers_csv.empty())
    base::write_file(flags.layers_csv, lab::results_csv(results, lab::ResultColumns::TidyLayers));
  if (!flags.overall_csv.empty())
    base::write_file(flags.overall_csv, lab::results_csv(results, lab::ResultColumns::Tidy));
  return all_right ? kDone : kPartial;
}

// Prints the valid algorithm names; needs no device.
int list_algorithms(const Flags& flags) {
  struct Row {
    const char *name, *meaning;
  };
  // clang-format off
  constexpr Row kCpu[] = {
      {"auto",      "oneDNN's own choice"},
      {"direct",    "by the definition, in blocks"},
      {"gemm",      "a matrix product over unrolled patches"},
      {"winograd",  "3x3 at stride 1 by Winograd's transforms"},
  };
  constexpr Row kCuda[] = {
      {"auto",                   "cuDNN's heuristic, also called its guess"},
      {"direct",                 "by the definition; cuDNN has no kernels of it and refuses every layer"},
      {"gemm",                   "a matrix product over explicit patches, in a workspace"},
      {"implicit_gemm",          "patches made on the fly"},
      {"implicit_precomp_gemm",  "… with indices computed before"},
      {"fft",                    "by Fourier transforms of whole images"},
      {"fft_tiling",             "… of tiles"},
      {"winograd",               "Winograd's transforms in one kernel"},
      {"winograd_nonfused",      "… in several kernels"},
  };
  // clang-format on
  const bool is_cuda = bench::gpu_of(flags.device).has_value();
  std::cout << (is_cuda ? "cuDNN" : "oneDNN") << '\n' << std::left;
  for (const Row& row : is_cuda ? std::span<const Row>(kCuda) : std::span<const Row>(kCpu))
    std::cout << std::setw(23) << row.name << row.meaning << '\n';
  std::cout << std::setw(23) << "reference"
            << "plain loops on one thread, in double precision\n";
  return kDone;
}

// Prints a file with its number of convolutions, if it has any.
void list_model(const std::string& file) {
  try {
    const LayerList list = conv_layers(file, {});
    if (list.layers.empty()) return;
    std::cout << file << "  " << list.layers.size() << (list.layers.size() == 1 ? " convolution" : " convolutions");
    if (!list.left_out.empty())
      std::cout << "; " << list.left_out.size() << " left out: " << base::printable(list.left_out.front().reason);
    std::cout << '\n';
  } catch (const Error& error) {
    std::cerr << "pagoda-bench: left out: " << error.what() << '\n';
  }
}

// Lists the ONNX files in folders that contain a convolution.
int list_models(const Flags& flags) {
  for (const std::string& folder : flags.models.empty() ? std::vector<std::string>{"."} : flags.models) {
    if (!std::filesystem::is_directory(folder))
      throw Error(folder + ": not a folder; --list-models looks into folders");
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".onnx") files.insert(entry.path().string());
    for (const std::string& file : files) list_model(file);
  }
  return kDone;
}

}  // namespace

int conv_command(int argc, char** argv) {
  CLI::App app("Every convolution of models, alone and one after the other, over algorithms and input sizes.",
               "pagoda-bench conv");
  app.footer(kExamples);
  Flags flags;
  app.add_option("MODEL", flags.models, "ONNX files; skeletons without weights are enough");
  app.add_option("--algorithm", flags.algorithms,
                 "auto, direct, gemm, winograd, reference; on cuda also implicit_gemm, implicit_precomp_gemm, fft, "
                 "fft_tiling, winograd_nonfused (default: all of the library)")
      ->delimiter(',');
  app.add_option("--input-size", flags.sizes,
                 "of every spatial axis of the input, 64,96..256, or HEIGHTxWIDTH (default: the file's)");
  app.add_option("--batch", flags.batches, "lists and ranges, 1,2..8 (default 1)");
  app.add_option("--device", flags.device, "cpu (oneDNN), cuda[:N] (cuDNN), or auto")->capture_default_str();
  app.add_option("--math", flags.math, "cuda: fma multiplies in float32, tf32 lets tensor cores round operands")
      ->check(CLI::IsMember({"fma", "tf32"}))
      ->capture_default_str();
  app.add_option("--threads", flags.threads, "cpu (default: all)")->check(CLI::Range(1, 4096));
  auto* layer_budget =
      app.add_option("--layer-budget", flags.layer_budget, "seconds of measured runs, a shape")
          ->transform(in(base::Measure::Seconds))
          ->capture_default_str();
  auto* budget = app.add_option("--budget", flags.whole_budget, "seconds of measured passes over all layers")
                     ->transform(in(base::Measure::Seconds))
                     ->capture_default_str();
  app.add_option("--runs", flags.runs, "exactly N measured runs and passes")
      ->excludes(layer_budget)
      ->excludes(budget)
      ->check(CLI::PositiveNumber);
  app.add_option("--warmup-runs", flags.warmup_runs, "exactly N runs before them")->check(CLI::PositiveNumber);
  app.add_option("--check", flags.check, "outputs a layer that are compared with the reference; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--threshold", flags.threshold, "mean relative error of a layer that passes")
      ->transform(in(base::Measure::Share))
      ->capture_default_str();
  app.add_option("--seed", flags.seed, "of operands")->capture_default_str();
  app.add_flag("--no-fallback", flags.no_fallback, "no pass over all layers where the algorithm refuses some");
  app.add_flag("--support", flags.support, "run nothing: say for each layer which algorithms take it");
  app.add_flag("--list-models", flags.list_models, "the models of the folders MODEL (default: here) with convolutions");
  app.add_flag("--list-algorithms", flags.list_algorithms, "those of --device");
  app.add_option("--csv", flags.layers_csv, "file: a row a layer");
  app.add_option("--overall", flags.overall_csv, "file: a row a combination");
  app.add_option("-o,--output", flags.folder, "folder whose results.jsonl the records join");
  if (!parse(app, argc, argv)) return kDone;
  if (flags.device == "auto") flags.device = automatic_device();
  refuse_beside(app, "--list-algorithms", {"--device"});
  refuse_beside(app, "--list-models", {"MODEL"});
  refuse_beside(app, "--support",
                {"MODEL", "--algorithm", "--input-size", "--batch", "--device", "--math", "--threads"});
  const bool is_cuda = bench::gpu_of(flags.device).has_value();
  if (is_cuda && flags.threads > 0) throw UsageError("--threads is for --device cpu, found " + flags.device);
  if (!is_cuda && app.count("--math") > 0) throw UsageError("--math is for --device cuda, found " + flags.device);
  if (flags.list_algorithms) return list_algorithms(flags);
  if (flags.list_models) return list_models(flags);
  if (flags.models.empty()) throw UsageError("MODEL: found none; expected ONNX files, or --list-models");
  return run(flags);
}

}  // namespace pagoda::tools::conv
