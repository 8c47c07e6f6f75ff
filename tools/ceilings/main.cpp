// ert-ceilings: measures the roof of this machine and reports its uncertainty.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "protocol.h"
#include "runs.h"
#include "units.h"

namespace pagoda::tools::ceilings {
namespace {

constexpr const char* kExamples = R"(Examples:
  ert-ceilings --cpu --quick --json here.json
      every roof of this machine's CPU in half a minute; then: onnx-estimate MODEL --device here.json
  ert-ceilings --gpu 0 --full --energy --json gpu.json --csv gpu.csv
      all of a GPU, with joules per operation and byte, in about ten minutes
  ert-ceilings --gpu 0 --only dram,fma --json gpu.json
      memory and fused multiply-adds alone
  ert-ceilings --gpu 0 --resume gpu.json --json gpu.json
      what an interrupted run did not measure
  ert-ceilings --cpu --check here.json
      exit 3 if this run is worse than that one

Exit codes: 0 done, 1 unusable input or output, 2 usage, 3 worse than the baseline (--check), 4 no such device or privilege,
5 a value is impossible, or with --strict did not converge, 6 the driver is older than the toolkit.)";

// Empty after --help or --version.
std::optional<Options> parse_options(int argc, char** argv) {
  Options options;
  CLI::App app{"Measures the roof of a CPU or a GPU: every arithmetic and memory ceiling, with how sure it is.",
               "ert-ceilings"};
  app.set_version_flag("--version", "ert-ceilings " PAGODA_VERSION);
  app.add_flag("--cpu", options.cpu, "measure this machine's CPU");
  app.add_option("--gpu", options.gpu, "measure the GPU with this number")->excludes("--cpu");
  bool quick = false, full = false;
  app.add_flag("--quick", quick, "under half a minute; wider intervals");
  app.add_flag("--full", full, "about ten minutes; longer samples, more variants")->excludes("--quick");
  app.add_option("--only", options.only, "only ceilings whose id holds one of these parts: fma,dram.triad")
      ->delimiter(',');
  app.add_flag("--energy", options.energy, "also fit joules per operation and byte (minutes)");
  app.add_flag("--audit", options.audit, "print the instructions of every embedded hot loop and stop");
  app.add_flag("--counters", options.counters, "compare credited work with hardware counters where they can be read");
  auto* check =
      app.add_option("--check", options.baseline, "a ceilings file to compare with; exit 3 if this run is worse");
  app.add_option("--tolerance", options.tolerance,
                 "difference that --check allows beyond both intervals, as a fraction")
      ->needs(check)
      ->transform(in(base::Measure::Share))
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--resume", options.resume,
                 "a ceilings file of this machine: measure the missing ceilings and keep the rest");
  app.add_flag("--strict", options.strict, "exit 5 if a ceiling did not converge");
  app.add_option("--budget", options.budget_seconds, "seconds for all ceilings together")
      ->transform(in(base::Measure::Seconds))
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "seed of the random order")->capture_default_str();
  app.add_option("--json", options.json,
                 "write pagoda.ceilings/1 here, and sweep points beside it; - is standard output");
  app.add_option("--csv", options.csv, "write one row per ceiling; - is standard output");
  app.add_option("--csv-ert", options.ert_csv, "write lines as plotters of the Empirical Roofline Tool read them");
  app.add_option("--csv-rocprof", options.rocprof_csv, "write columns as rocprof-compute's roofline.csv has them");
  app.footer(kExamples);
  if (!parse(app, argc, argv)) return std::nullopt;
  if (quick) options.depth = Depth::Quick;
  if (full) options.depth = Depth::Full;
  refuse_beside(app, "--audit", {"--cpu", "--gpu"});
  const std::vector<std::string> outputs = options.outputs();
  if (std::ranges::count(outputs, "-") > 1)
    throw UsageError("only one of --json, --csv, --csv-ert and --csv-rocprof can be standard output");
  if (options.cpu && !options.resume.empty())
    throw UsageError("--resume continues a measurement of a GPU; with --cpu, leave it out and measure everything");
  if (!options.cpu && !options.gpu) throw UsageError("say what to measure: --cpu or --gpu 0");
  return options;
}

int audit(const Options& options) {
  std::string text;
  const bool fine = options.cpu ? audit_cpu(options, text) : audit_gpu(options, text);
  std::fputs(text.c_str(), stdout);
  return fine ? kDone : kImpossible;
}

int run(int argc, char** argv) try {
  const std::optional<Options> options = parse_options(argc, argv);
  if (!options) return kDone;
  if (options->audit) return audit(*options);
  const std::optional<documents::CeilingsDocument> baseline = check_files(*options);
  const bool is_terminal = isatty(STDERR_FILENO) != 0;
  Outcome outcome = options->gpu ? run_gpu(*options, is_terminal) : run_cpu(*options, is_terminal);
  outcome.document.tool = std::string("ert-ceilings ") + PAGODA_VERSION;
  const int code = publish(*options, baseline, outcome);
  if (outcome.lost) {  // the driver's clean-up would wait for the device
    std::fflush(stdout);
    std::_Exit(code);
  }
  return code;
} catch (const DeviceLost& error) {  // lost before there was anything to report
  std::fprintf(stderr, "ert-ceilings: the device is lost: %s\n", error.what());
  std::_Exit(kNoDevice);
}

}  // namespace
}  // namespace pagoda::tools::ceilings

int main(int argc, char** argv) {
  return pagoda::tools::run_tool("ert-ceilings", argc, argv, pagoda::tools::ceilings::run);
}
