#include "arguments.h"

#include <CLI/CLI.hpp>

#include "pagoda/base/text.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

constexpr const char* kExamples = R"(Examples:
  pagoda-calibrate runs.csv --id my-gpu --regime "PyTorch 2.4, autocast" --source "own runs" -o my-gpu.json
      fits, judges by families left out, writes the calibration
  pagoda-calibrate runs.csv --check rtx-3090-amp-nchw --residuals residuals.csv
      holds a calibration against runs, row by row
  pagoda-calibrate --energy table.csv --device orin-agx -o my-orin.json
      joules of work, of traffic and of time, with intervals, written as a device's energy section
  pagoda-calibrate --here onnxruntime-cpu -o here.json
      measures this machine and ONNX Runtime on it, in minutes; then: onnx-estimate MODEL --predict --engine
      onnxruntime-cpu --calibration here.json; onnxruntime-cuda and tensorrt do the same on a GPU, pytorch-cpu and
      pytorch-cuda for eager PyTorch
  pagoda-calibrate --energy resnet50.csv --estimate resnet50.json --each gpu_hz
      a fit for each clock of a table of power modes
  pagoda-calibrate data/calibration/tensorrt/bert.csv --engine tensorrt --id tensorrt --source "…" -o tensorrt.json
      fits kernels of TensorRT, judges them by devices and sequence lengths left out

RUNS is CSV with a header. With --engine tensorrt: device, model, sequence, batch, precision (fp16 or int8), tensorrt (the release; of several the
median counts) and seconds. Else columns: model (path, relative to the file), family (models that are left out together),
batch, device (name or file), seconds (of one batch), and maybe layout (nchw or nhwc); others are ignored. Lines that start with # are skipped.
With --energy: CSV with columns flops, bytes, seconds and joules or watts (units may follow, as in time(ms); the CSV of onnx-estimate
--sweep --measured is one), measured runs with joules and the --estimate of their model, or results of pagoda-bench; several.
Exit codes: 0 done, 1 unusable input or output, 2 usage.)";

}  // namespace

std::optional<CalibrateArguments> parse_calibrate(int argc, char** argv) {
  CLI::App app("Fits predicted times to measured ones and judges them by families left out.", "pagoda-calibrate");
  app.set_version_flag("--version", "pagoda-calibrate " PAGODA_VERSION);
  app.footer(kExamples);
  CalibrateArguments arguments;
  CLI::Option* runs =
      app.add_option("RUNS", arguments.runs, "CSV of models and their measured seconds")->expected(1, 1000);
  CLI::Option* here = app.add_option("--here", arguments.here,
                                     "Measure this machine and an engine on it: " + base::joined(engines_here()) +
                                         "; -o names the result")
                          ->check(CLI::IsMember(engines_here()))
                          ->type_name("ENGINE")
                          ->excludes(runs);
  app.add_option("--threads", arguments.threads, "With --here: threads of the engine (default: the engine's own)")
      ->check(CLI::Range(1, 1024))
      ->needs(here);
  app.add_option("--id", arguments.options.id, "Name of the calibration, also its file's");
  app.add_option("--regime", arguments.options.regime, "What was measured: framework, precision, layout, batches");
  app.add_option("--source", arguments.options.source, "Where the measured times come from");
  app.add_option("--folds", arguments.options.folds, "Groups of families that are left out in turn (default 10)");
  app.add_option("--coverage", arguments.options.coverage, "Of the interval (default 0.9)")
      ->check(CLI::Range(0.01, 0.99));
  app.add_option("--elsewhere", arguments.elsewhere,
                 "CSV of runs on other devices: not fitted, they give the interval there");
  app.add_option("-o,--output", arguments.output, "Write the calibration there");
  app.add_option("--residuals", arguments.residuals, "Write measured, predicted and bound of every run there, as CSV");
  app.add_option("--check", arguments.check,
                 "Fit nothing: hold this calibration (built in, or a .json file) against the runs")
      ->excludes("--output");
  std::string engine = "pytorch-amp";
  app.add_option("--engine", engine, "That ran the models: pytorch-amp (default) or tensorrt")
      ->check(CLI::IsMember({"pytorch-amp", "tensorrt"}));
  std::string precision;
  CLI::Option* energy = app.add_flag("--energy", arguments.energy, "Fit joules per FLOP, per byte and constant watts");
  app.add_option(
         "--estimate", arguments.estimates,
         "With --energy: the work of measured runs, a file of onnx-estimate --format json; repeatable, or among RUNS")
      ->needs(energy)
      ->allow_extra_args(false);
  app.add_option("--each", arguments.each, "With --energy: a fit for each value of these settings, gpu_hz,mem_hz …")
      ->needs(energy)
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--device", arguments.device,
                 "With --energy: say its balance points; with -o, add the constants to its file. ID:MODE: to that mode")
      ->needs(energy);
  app.add_option("--precision", precision, "With --energy: of the work (default float32)")->needs(energy);
  app.add_option("--format", arguments.format, "With --energy: text (default) or csv")
      ->needs(energy)
      ->check(CLI::IsMember({"text", "csv"}));
  if (!parse(app, argc, argv)) return std::nullopt;
  refuse_beside(app, "--here", {"--threads", "--output", "--residuals"});
  arguments.tensorrt = engine == "tensorrt";
  if (arguments.tensorrt && !(arguments.check.empty() && arguments.elsewhere.empty() && !arguments.energy))
    throw UsageError(
        "--engine tensorrt fits and judges by devices left out; it does not go with --check, --elsewhere or --energy");
  if (arguments.here.empty() && arguments.runs.empty())
    throw UsageError("names nothing to calibrate by; give a table of RUNS, or --here ENGINE");
  if (!arguments.energy && arguments.runs.size() > 1) throw UsageError("one table of RUNS is fitted at a time");
  if (arguments.energy && !arguments.output.empty() && arguments.device.empty())
    throw UsageError("-o writes the constants into a device's file: name it by --device");
  if (arguments.energy && !arguments.output.empty() && !arguments.each.empty())
    throw UsageError("-o holds the constants of one fit; it does not go with --each");
  const char* const ways[] = {"--id", "--regime", "--folds", "--coverage", "--elsewhere", "--check", "--engine"};
  for (const char* option : ways)
    if (arguments.energy && app.count(option) > 0)
      throw UsageError(std::string(option) + " is for calibrations of time; it does not go with --energy");
  // --device only has an effect on balance points in text and on the device's file.
  const bool is_text = arguments.format == "text" && arguments.each.empty(), has_file = !arguments.output.empty();
  if (arguments.energy && !arguments.device.empty() && !is_text && !has_file)
    throw UsageError(
        "--device gives balance points in the text of one fit; it does not go with --format csv or --each");
  if (arguments.energy && !precision.empty() && arguments.device.empty())
    throw UsageError("--precision is that of the balance points of --device, which is not given");
  if (arguments.energy && app.count("--source") > 0 && !has_file)
    throw UsageError("--source is written beside the constants; give -o FILE and --device, whose file that is");
  if (!precision.empty()) {
    const auto known = pagoda::precision(precision);
    if (!known) throw UsageError("--precision " + precision + ": expected one of " + precision_names());
    arguments.precision = *known;
  }
  return arguments;
}

}  // namespace pagoda::tools
