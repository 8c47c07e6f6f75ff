// pagoda-import: the profile of an engine or profiler as pagoda.measured/1, joined with a static estimate where one is
// given.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>

#include "pagoda/measured/import.h"
#include "pagoda/measured/join.h"
#include "pagoda/present/report.h"

namespace {

constexpr int kUnusableInput = 1, kUsage = 2;

constexpr const char* kExamples = R"(Examples:
  pagoda-import onnxruntime_profile.json -o measured.json
      what session.end_profiling() wrote; the format is recognised by the content
  onnx-estimate resnet50.onnx --device h100-sxm -o estimate.json
  pagoda-import profile.json --layers layers.json --estimate estimate.json -o measured.json
      trtexec --exportProfile and --exportLayerInfo, joined with the estimate: a table of measured time against bound
  pagoda-import ncu.csv --runs 20 -o measured.json
      ncu --import report.ncu-rep --csv --page raw; the program ran the model 20 times
  pagoda-import measured.json --estimate estimate.json --csv counts.csv -o joined.json
      what pagoda-profile or models/run_torch.py wrote: counters and times held against the estimate, node by node

Without -o and --estimate the measurement goes to stdout as JSON. With --estimate a table goes there.
Exit codes: 0 done, 1 unusable input or output, 2 usage.)";

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Reads profiles of ONNX Runtime, TensorRT, Nsight Compute, torch.profiler, pagoda-profile and Jetson power "
      "tables.",
      "pagoda-import");
  app.set_version_flag("--version", "pagoda-import " PAGODA_VERSION);
  app.footer(kExamples);
  std::string file, format, estimate_file, output, csv;
  std::int64_t runs = 0, warmup = 0;
  std::size_t top = 20, width = 0;
  pagoda::measured::ImportOptions options;
  app.add_option("FILE", file, "The profile")->required();
  app.add_option("--format", format, "Its format (default: recognised)")
      ->check(CLI::IsMember({"ort", "tensorrt", "ncu", "kineto", "jetson", "measured"}));
  app.add_option("--layers", options.layer_info, "TensorRT's layer information (trtexec --exportLayerInfo)");
  app.add_option("--estimate", estimate_file, "JSON of onnx-estimate to join the kernels with");
  app.add_option("--chip", options.chip, "GPU chip as CUPTI names it (GH100), whose formulas read ncu's metrics");
  CLI::Option* runs_option =
      app.add_option("--runs", runs, "Runs of the model in the file, where it does not say so (ncu, kineto)")
          ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000}));
  CLI::Option* warmup_option =
      app.add_option("--warmup", warmup, "Runs to leave out at the start (default: 1 of three or more)")
          ->check(CLI::Range(std::int64_t{0}, std::int64_t{1000000}));
  app.add_option("--top", top, "Rows of the table (default 20; 0: all)");
  app.add_option("--width", width, "Columns of the terminal (default: as wide as it takes)");
  app.add_option("--csv", csv, "File for counters beside the estimate, one row a group of nodes; needs --estimate");
  app.add_option("-o,--output", output, "File for pagoda.measured/1");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  if (!csv.empty() && estimate_file.empty()) {
    std::cerr << "pagoda-import: --csv holds counters beside the estimate; give one with --estimate\n";
    return kUsage;
  }
  if (!format.empty()) options.format = pagoda::measured::profile_format(format);
  if (*runs_option) options.runs = runs;
  if (*warmup_option) options.warmup = warmup;
  try {
    pagoda::documents::Measured measured = pagoda::measured::load_profile(file, options);
    std::string report;
    if (!estimate_file.empty()) {
      const pagoda::measured::EstimateDocument estimate = pagoda::measured::load_estimate(estimate_file);
      pagoda::measured::join(measured, estimate);
      report = pagoda::measured::join_report(measured, estimate, top, width);
      if (!csv.empty()) pagoda::base::write_file(csv, pagoda::measured::node_counts_csv(measured, estimate));
    }
    const std::string json = pagoda::documents::write_measured(measured);
    if (!output.empty()) pagoda::base::write_file(output, json);
    std::cout << (!report.empty() ? report : output.empty() ? json : "") << std::flush;
    for (const std::string& note : measured.notes)
      std::cerr << "pagoda-import: " << pagoda::base::printable(note) << '\n';
    if (!std::cout) throw pagoda::Error("standard output: cannot be written");
  } catch (const std::exception& error) {
    std::cerr << "pagoda-import: " << error.what() << '\n';
    return kUnusableInput;
  }
  return 0;
}
