// pagoda-import: converts the profile of an engine or profiler to pagoda.measured/1, joined with a static estimate if
// one is given.
#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>

#include "pagoda/base/text.h"
#include "pagoda/measured/import.h"
#include "pagoda/measured/join.h"
#include "pagoda/present/report.h"
#include "pagoda/present/spell.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

struct ImportArguments {
  std::string file, estimate, output, csv;  // paths; empty: not given
  std::size_t top = 20, width = 0;
  bool table = false;
  measured::ImportOptions options;
};

constexpr const char* kExamples = R"(Examples:
  pagoda-import onnxruntime_profile.json -o measured.json
      what session.end_profiling() wrote; the format is recognised by the content
  onnx-estimate resnet50.onnx --device h100-sxm -o estimate.json
  pagoda-import profile.json --layers layers.json --estimate estimate.json -o measured.json
      trtexec --exportProfile and --exportLayerInfo, joined with the estimate: a table of measured time against bound
  pagoda-import ncu.csv --runs 20 -o measured.json --csv kernels.csv
      ncu --import report.ncu-rep --csv --page raw; the program ran the model 20 times: a table by kernel, totals of a run
  pagoda-import counter_collection.csv --runs 5 --estimate estimate.json -o measured.json
      rocprofv3 --pmc FETCH_SIZE WRITE_SIZE --output-format csv; with --kernel-rename kernels have the names of ROCTx ranges
  pagoda-import measured.json --estimate estimate.json --csv counts.csv -o joined.json
      what pagoda-profile or models/run_torch.py wrote: counters and times held against the estimate, node by node

Without -o, --estimate and --table the measurement goes to stdout as JSON; with one of them a table goes there.
Exit codes: 0 done, 1 unusable input or output, 2 usage.)";

// Empty after --help or --version. Throws UsageError.
std::optional<ImportArguments> parse_import(int argc, char** argv) {
  CLI::App app("Reads " + measured::known_profiles() + ".", "pagoda-import");
  app.set_version_flag("--version", "pagoda-import " PAGODA_VERSION);
  app.footer(kExamples);
  ImportArguments arguments;
  std::string format;
  std::int64_t runs = 0, warmup = 0;
  app.add_option("FILE", arguments.file, "The profile")->required();
  app.add_option("--format", format, "Its format (default: recognised)")
      ->check(CLI::IsMember(measured::profile_formats()));
  app.add_option("--layers", arguments.options.layer_info, "TensorRT's layer information (trtexec --exportLayerInfo)");
  app.add_option("--estimate", arguments.estimate, "JSON of onnx-estimate to join the kernels with");
  app.add_option("--chip", arguments.options.chip,
                 "GPU chip as CUPTI names it (GH100), whose formulas read ncu's metrics");
  CLI::Option* runs_option = app.add_option("--runs", runs, "Runs of the model in the file, where it does not say so")
                                 ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000}));
  CLI::Option* warmup_option =
      app.add_option("--warmup", warmup, "Runs to leave out at the start (default: 1 of three or more)")
          ->check(CLI::Range(std::int64_t{0}, std::int64_t{1000000}));
  app.add_option("--top", arguments.top, "Rows of the table (default 20; 0: all)");
  app.add_option("--width", arguments.width, "Columns of the terminal (default: as wide as it takes)");
  app.add_option(
      "--csv", arguments.csv,
      "File: a row a group of nodes with its kernels, bound and counters; without --estimate a row a kernel");
  app.add_flag("--table", arguments.table, "Print the table by kernel, also where -o is not given");
  app.add_option("-o,--output", arguments.output, "File for pagoda.measured/1");
  if (!parse(app, argc, argv)) return std::nullopt;
  const bool has_table = arguments.table || !arguments.output.empty() || !arguments.estimate.empty();
  for (const char* option : {"--top", "--width"})
    if (app.count(option) > 0 && !has_table)
      throw UsageError(std::string(option) + " shapes the table by kernel; give --table, -o or --estimate, too");
  if (!format.empty()) arguments.options.format = measured::profile_format(format);
  if (*runs_option) arguments.options.runs = runs;
  if (*warmup_option) arguments.options.warmup = warmup;
  return arguments;
}

int import(int argc, char** argv) {
  const std::optional<ImportArguments> arguments = parse_import(argc, argv);
  if (!arguments) return kDone;
  documents::Measured measured = measured::load_profile(arguments->file, arguments->options);
  for (std::string& note : measured.notes) note = present::command_line(note);
  std::string report;
  if (!arguments->estimate.empty()) {
    const documents::EstimateDocument estimate = documents::load_estimate(arguments->estimate);
    measured::join(measured, estimate);
    report = measured::join_report(measured, estimate, arguments->top, arguments->width);
    if (!arguments->csv.empty()) write_output(arguments->csv, measured::node_counts_csv(measured, estimate));
  } else {
    if (arguments->table || (!arguments->output.empty() && !measured.kernels.empty()))
      report = present::command_line(measured::kernel_report(measured, arguments->top, arguments->width));
    if (!arguments->csv.empty()) write_output(arguments->csv, measured::kernels_csv(measured));
  }
  const std::string json = documents::write_measured(measured);
  if (!arguments->output.empty()) write_output(arguments->output, json);
  for (const std::string& member : measured.unknown)
    std::cerr << "pagoda-import: " << base::printable(documents::left_out(member)) << '\n';
  for (const std::string& note : measured.notes) std::cerr << "pagoda-import: " << base::printable(note) << '\n';
  if (!report.empty() || arguments->output.empty()) write_output("", report.empty() ? json : report);
  return kDone;
}

}  // namespace
}  // namespace pagoda::tools

int main(int argc, char** argv) { return pagoda::tools::run_tool("pagoda-import", argc, argv, pagoda::tools::import); }
