// Expands models × sizes × batches × algorithms, measures each, prints one line a combination and keeps records.
#include "conv_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>

#include "conv_study.h"
#include "pagoda/base/files.h"
#include "pagoda/base/text.h"
#include "pagoda/present/report.h"
#include "pagoda/present/result_report.h"
#include "tool.h"

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
  std::vector<std::int64_t> sizes = {0}, batches = {1};
  std::string device = "cpu", math = "fma", layers_csv, overall_csv, folder;
  int threads = 0;
  double layer_budget = 0.1, whole_budget = 1, threshold = 1e-3;
  std::int64_t check = 4096;
  std::uint64_t seed = 1;
  bool support = false, no_fallback = false;
};

ConvLibrary library_for(const Flags& flags) {
  if (!flags.device.starts_with("cuda")) return onednn_library(flags.threads);
  const std::size_t colon = flags.device.find(':');
  return cudnn_library(colon == std::string::npos ? 0 : std::stoi(flags.device.substr(colon + 1)),
                       flags.math == "tf32");
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}
std::string scientific(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1e", value);
  return text;
}

struct Case {
  std::string path, model;
  std::int64_t size = 0, batch = 1;
};

documents::Result measure(const Case& c, const LayerList& list, const ConvLibrary& library,
                          const std::string& algorithm, const Flags& flags) {
  const auto start = std::chrono::steady_clock::now();
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
  if (c.size > 0) result.config["input_size"] = c.size;
  if (flags.threads > 0) result.config["threads"] = std::int64_t{flags.threads};
  if (flags.device.starts_with("cuda")) result.config["math"] = flags.math;
  result.key = documents::config_key(result.config);
  result.metadata = {{"time", utc_now()},
                     {"version." + library.name, library.version},
                     {"convolutions", static_cast<std::int64_t>(list.layers.size())},
                     {"convolutions_left_out", static_cast<std::int64_t>(list.left_out.size())}};
  if (!library.device.empty()) result.metadata["device"] = library.device;
  try {
    const PreparedModel model = prepare_model(
        list, library,
        {.algorithm = algorithm, .seed = flags.seed, .check_points = flags.check, .fall_back = !flags.no_fallback});
    result.compile_seconds = model.prepare_seconds;
    result.metadata["convolution_macs"] = model.macs();
    result.metadata["convolutions_refused"] = model.refused();
    result.layers = time_layers(model, {.budget_seconds = flags.layer_budget, .warmup_seconds = flags.layer_budget});
    result.verification = verification(model, flags.threshold);
    if (model.is_whole()) {
      result.timing = base::time_runs([&](std::int64_t n) { return run_model(model, n); },
                                      {.budget_seconds = flags.whole_budget, .warmup_seconds = flags.whole_budget});
      result.clock = library.clock;
      result.items = static_cast<double>(c.batch);
    } else {
      result.status = documents::ResultStatus::NotAvailable;
      result.reason = algorithm + " refuses " + std::to_string(model.refused()) + " of " +
                      std::to_string(list.layers.size()) + " convolutions";
    }
  } catch (const std::bad_alloc&) {
    result.status = documents::ResultStatus::OutOfMemory;
    result.reason = "the layers' tensors do not fit into memory";
  } catch (const Error& error) {
    result.status = documents::ResultStatus::Failed;
    result.reason = error.what();
  }
  result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

const char* kHeader =
    "model             size batch  algorithm              layers  whole [ms]  sum alone [ms]   GMAC/s  workspace [MiB] "
    " worst error  check\n";

std::string padded(std::string text, std::size_t width, bool right) {
  if (text.size() >= width) return text;
  return right ? std::string(width - text.size(), ' ') + text : text + std::string(width - text.size(), ' ');
}

// The sum is over the layers that the algorithm takes; the whole has the others as auto.
std::string line_of(const documents::Result& r, const Case& c, const std::string& algorithm) {
  double sum = 0, macs = 0, workspace = 0;
  std::int64_t taken = 0;
  for (const documents::LayerTime& layer : r.layers) {
    if (!layer.seconds) continue;
    ++taken;
    sum += *layer.seconds;
    if (const auto it = layer.facts.find("macs"); it != layer.facts.end())
      macs += static_cast<double>(std::get<std::int64_t>(it->second));
    if (const auto it = layer.facts.find("workspace_bytes"); it != layer.facts.end())
      workspace = std::max(workspace, static_cast<double>(std::get<std::int64_t>(it->second)));
  }
  std::string line = padded(c.model, 16, false) + " " + padded(c.size > 0 ? std::to_string(c.size) : "file", 5, true) +
                     " " + padded(std::to_string(c.batch), 5, true) + "  " + padded(algorithm, 21, false) + " " +
                     padded(std::to_string(taken) + "/" + std::to_string(r.layers.size()), 7, true);
  line += padded(r.timing ? fixed(r.timing->latency.p50 * 1e3, 3) : "-", 12, true);
  line += padded(taken > 0 ? fixed(sum * 1e3, 3) : "-", 16, true);
  line += padded(sum > 0 ? fixed(macs / sum * 1e-9, 1) : "-", 9, true);
  line += padded(taken > 0 ? fixed(workspace / kMebi, 1) : "-", 17, true);
  line += padded(r.verification && r.verification->error ? scientific(*r.verification->error) : "-", 13, true);
  line += "  " + std::string(r.verification ? to_string(r.verification->code) : "");
  if (!r.reason.empty()) line += "  " + base::printable(r.reason);
  return line + "\n";
}

void print_support(const Case& c, const LayerList& list, const ConvLibrary& library,
                   const std::vector<std::string>& algorithms) {
  for (const ConvLayer& layer : list.layers) {
    for (const std::string& algorithm : algorithms) {
      if (algorithm == "auto") continue;
      const std::string objection = library.objection ? library.objection(layer, algorithm) : "";
      std::cout << c.model << "  " << base::printable(layer.name) << "  " << to_string(layer) << "  " << algorithm
                << "  " << (objection.empty() ? "nothing speaks against it" : "refused: " + objection) << '\n';
    }
  }
}

void keep(const Flags& flags, const std::vector<documents::Result>& results) {
  if (!flags.layers_csv.empty())
    base::write_file(flags.layers_csv, present::results_csv(results, present::ResultColumns::TidyLayers));
  if (!flags.overall_csv.empty())
    base::write_file(flags.overall_csv, present::results_csv(results, present::ResultColumns::Tidy));
}

int run(const Flags& flags) {
  const bool is_cuda = flags.device.starts_with("cuda");
  const ConvLibrary library = library_for(flags);
  std::vector<std::string> algorithms = flags.algorithms;
  if (algorithms.empty()) algorithms = library.algorithms;
  if (!flags.support && !library.unavailable.empty()) {
    std::cerr << "pagoda-bench: " << library.name << " is not available: " << library.unavailable << '\n';
    return is_cuda ? kNoDevice : kUnusable;
  }
  if (flags.support && !library.unavailable.empty())
    std::cerr << "pagoda-bench: " << library.name << ": " << library.unavailable
              << "; what follows is what shapes alone tell\n";
  std::vector<documents::Result> results;
  bool all_right = true;
  if (!flags.support)
    std::cout << library.name << " " << library.version << (library.device.empty() ? "" : " on ") << library.device
              << "\n"
              << kHeader;
  for (const std::string& path : flags.models) {
    for (const std::int64_t size : flags.sizes) {
      for (const std::int64_t batch : flags.batches) {
        const Case c{.path = path, .model = std::filesystem::path(path).stem().string(), .size = size, .batch = batch};
        const LayerList list = conv_layers(path, {.batch = batch, .input_size = size});
        for (const LeftOut& left : list.left_out)
          std::cerr << "pagoda-bench: " << c.model << (size > 0 ? " at " + std::to_string(size) : std::string()) << ": "
                    << base::printable(left.name) << " left out: " << base::printable(left.reason) << '\n';
        if (list.layers.empty()) throw Error(path + ": no convolution that can be run alone");
        if (flags.support) {
          print_support(c, list, library, algorithms);
          continue;
        }
        for (const std::string& algorithm : algorithms) {
          const bool is_reference = algorithm == "reference";
          results.push_back(measure(c, list, is_reference ? reference_library() : library, algorithm, flags));
          const documents::Result& r = results.back();
          std::cout << line_of(r, c, algorithm) << std::flush;
          const bool wrong = r.verification && (r.verification->code == documents::VerificationCode::Fail ||
                                                r.verification->code == documents::VerificationCode::NonFinite);
          all_right = all_right && !wrong && r.status != documents::ResultStatus::Failed;
          if (!flags.folder.empty()) {
            std::filesystem::create_directories(flags.folder);
            documents::append_result(flags.folder + "/results.jsonl", r);
          }
        }
      }
    }
  }
  keep(flags, results);
  return all_right ? kDone : kPartial;
}

}  // namespace

int conv_command(int argc, char** argv) {
  CLI::App app("Every convolution of models, alone and one after the other, over algorithms and input sizes.",
               "pagoda-bench conv");
  app.footer(kExamples);
  Flags flags;
  app.add_option("MODEL", flags.models, "ONNX files; skeletons without weights are enough")->required();
  app.add_option("--algorithm", flags.algorithms,
                 "auto, direct, gemm, winograd, reference; on cuda also implicit_gemm, implicit_precomp_gemm, fft, "
                 "fft_tiling, winograd_nonfused (default: all of the library)")
      ->delimiter(',');
  app.add_option("--input-size", flags.sizes, "of every spatial axis of the input (default: the file's)")
      ->delimiter(',')
      ->check(CLI::Range(1, 16384));
  app.add_option("--batch", flags.batches, "(default 1)")->delimiter(',')->check(CLI::Range(1, 65536));
  app.add_option("--device", flags.device, "cpu (oneDNN) or cuda[:N] (cuDNN)")->capture_default_str();
  app.add_option("--math", flags.math, "cuda: fma multiplies in float32, tf32 lets tensor cores round operands")
      ->check(CLI::IsMember({"fma", "tf32"}))
      ->capture_default_str();
  app.add_option("--threads", flags.threads, "cpu (default: all)")->check(CLI::Range(1, 4096));
  app.add_option("--layer-budget", flags.layer_budget, "seconds of measured runs, a shape")->capture_default_str();
  app.add_option("--budget", flags.whole_budget, "seconds of measured passes over all layers")->capture_default_str();
  app.add_option("--check", flags.check, "outputs a layer that are compared with the reference; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--threshold", flags.threshold, "mean relative error of a layer that passes")->capture_default_str();
  app.add_option("--seed", flags.seed, "of operands")->capture_default_str();
  app.add_flag("--no-fallback", flags.no_fallback, "no pass over all layers where the algorithm refuses some");
  app.add_flag("--support", flags.support, "run nothing: say for each layer which algorithms take it");
  app.add_option("--csv", flags.layers_csv, "file: a row a layer");
  app.add_option("--overall", flags.overall_csv, "file: a row a combination");
  app.add_option("-o,--output", flags.folder, "folder whose results.jsonl the records join");
  return parse(app, argc, argv) ? run(flags) : int{kDone};
}

}  // namespace pagoda::tools::conv
