#include "arguments.h"

#include <CLI/CLI.hpp>

#include "tool.h"

namespace pagoda::tools {
namespace {

constexpr const char* kExamples = R"(Examples:
  pagoda-calibrate runs.csv --id my-gpu --regime "PyTorch 2.4, autocast" --source "own runs" -o my-gpu.json
      fits, judges by families left out, writes the calibration
  pagoda-calibrate runs.csv --check rtx-3090-amp-nchw --residuals residuals.csv
      holds a calibration against runs, row by row

RUNS is CSV with a header. Columns: model (path, relative to the file), family (models that are left out together),
batch, device (name or file), seconds (of one batch), and maybe layout (nchw or nhwc); others are ignored. Lines that start with # are skipped.
Exit codes: 0 done, 1 unusable input or output, 2 usage.)";

}  // namespace

std::optional<CalibrateArguments> parse_calibrate(int argc, char** argv) {
  CLI::App app("Fits predicted times to measured ones and judges them by families left out.", "pagoda-calibrate");
  app.set_version_flag("--version", "pagoda-calibrate " PAGODA_VERSION);
  app.footer(kExamples);
  CalibrateArguments arguments;
  app.add_option("RUNS", arguments.runs, "CSV of models and their measured seconds")->required();
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
  if (!parse(app, argc, argv)) return std::nullopt;
  return arguments;
}

}  // namespace pagoda::tools
