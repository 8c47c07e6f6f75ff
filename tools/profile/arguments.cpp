#include "arguments.h"

#include <regex.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "pagoda/base/cat.h"
#include "tool.h"

namespace pagoda::tools::profile {
namespace {

// The modes in which an option works, and why it does not in the others.
struct ModesOf {
  const char* option;
  std::string_view modes;
  const char* otherwise;
};
constexpr std::string_view kRecording = "time, quick, exact, rotate or range",
                           kCounting = "quick, exact, rotate or range",
                           kCountingAll = "quick, exact, rotate, range or ncu", kKernels = "quick, exact or rotate";
constexpr ModesOf kModes[] = {
    {"--precision", "quick or range", "exact and rotate count every precision, time counts none"},
    {"--batch", kCounting, "no counters are read"},
    {"--safe", kCounting, "no counters are read"},
    {"--strict", kCountingAll, "no counter can be unknown"},
    {"--iteration", kRecording, "Nsight Compute selects launches by --nvtx"},
    {"--warmup", kRecording, "Nsight Compute leaves launches out by --skip"},
    {"--keep-raw", kRecording, "Nsight Compute keeps files of its own"},
    {"--csv", kRecording, "Nsight Compute writes a table of its own"},
    {"--verify", kKernels, "Nsight Compute counts kernels"},
    {"--chip", "ncu", "CUPTI names the chip"},
    {"--models", "ncu", "profile each model by itself"},
    {"--batches", "ncu", "profile each batch by itself"},
};

// Throws UsageError if the options cannot be combined.
void check_use(const CLI::App& app, const Options& options) {
  const bool is_study = !options.models.empty() || !options.batches.empty();
  for (const ModesOf& row : kModes)
    if (app.count(row.option) > 0 && row.modes.find(options.mode) == std::string_view::npos)
      throw UsageError(cat(row.option, ": found --mode ", options.mode, ", expected ", row.modes, "; ", row.otherwise));
  if (options.mode == "range" && options.record.nvtx.empty())
    throw UsageError("--mode range needs --nvtx; --list-ranges shows what the program opens");
  if (app.count("--ncu") > 0 && options.mode != "ncu" && options.verify.empty())
    throw UsageError("--ncu needs --mode ncu or --verify ncu, which run Nsight Compute");
  if (!options.verify.empty() && !options.record.nvtx.empty())
    throw UsageError(
        "--verify does not go with --nvtx, whose expressions Nsight Compute reads otherwise; select launches with "
        "--kernel, --skip and --count");
  for (const char* option : {"--estimate", "--strict", "--top", "--by"})
    if (is_study && app.count(option) > 0)
      throw UsageError(cat(option,
                           " does not go with --models and --batches, which only write a file for each run; read those "
                           "with pagoda-import or roofline-plot"));
  if (options.output == "-" && options.csv == "-")
    throw UsageError("--output and --csv cannot both be standard output");
  if (options.mode != "ncu")  // ncu has its own syntax of expressions
    for (const auto& [name, text] : {std::pair{"--nvtx", &options.record.nvtx},
                                     {"--kernel", &options.record.kernel},
                                     {"--iteration", &options.record.iteration}}) {
      regex_t compiled = {};
      const int error = text->empty() ? 0 : regcomp(&compiled, text->c_str(), REG_EXTENDED | REG_NOSUB);
      char why[128] = {};
      if (error != 0) {
        regerror(error, &compiled, why, sizeof why);
        throw UsageError(cat(name, " ", *text, " is not an extended regular expression: ", why));
      }
      if (!text->empty()) regfree(&compiled);
    }
}

constexpr const char* kExamples = R"(Examples:
  pagoda-profile -o measured.json -- ./program
      one pass: time of each kernel, bytes of DRAM, L2 and L1, tensor operations
  pagoda-profile --mode exact --estimate estimate.json -o joined.json -- ./program
      every precision, beside the estimate of onnx-estimate, node by node
  pagoda-profile --mode time -o measured.json -- python3 models/run_torch.py resnet50.onnx --device cuda
      no counters, no privilege: seconds of each kernel, and its node
  pagoda-profile --list-ranges -- ./program
      its NVTX ranges, for --nvtx and --iteration; needs no GPU
  pagoda-profile --mode exact --verify ncu -o measured.json -- ./program
      Nsight Compute as a witness: exit 3 where counts differ

Exit codes: the program's own where it fails, else 0 done, 1 unusable input or output, 2 usage, 3 counters differ or are unknown
(--verify, --strict), 4 no device, counters or privilege, 6 the driver is older than the toolkit.)";

}  // namespace

std::optional<Options> parse_options(int argc, char** argv) {
  Options options;
  Settings& record = options.record;
  CLI::App app{"Runs a program and measures what each kernel does on the GPU: time, operations by precision, bytes.",
               "pagoda-profile"};
  app.set_version_flag("--version", "pagoda-profile " PAGODA_VERSION);
  app.prefix_command();
  app.add_option(
         "--mode", options.mode,
         "time: no counters, no privilege; quick: one pass; exact: kernels replayed for everything; rotate: the "
         "program again for each group of counters; range: of NVTX ranges; ncu: by Nsight Compute")
      ->check(CLI::IsMember({"time", "quick", "exact", "rotate", "range", "ncu"}))
      ->capture_default_str();
  app.add_option("--precision", options.precision, "quick: count this one, as tf32.tensor, float64.tensor");
  app.add_option("--nvtx", record.nvtx, "only launches whose open ranges match; range: the ranges, as domain@name");
  app.add_option("--kernel", record.kernel, "only kernels whose name matches this extended regular expression");
  app.add_option("--skip", record.skip, "leave out the first N of the selected launches")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--count", record.count, "and take N of the rest")->check(CLI::NonNegativeNumber);
  app.add_option("--iteration", record.iteration,
                 "ranges, as domain@name, that are one run of the model each; rotate then takes turns in one run");
  app.add_option("--warmup", options.warmup, "runs of the model to leave out; 1 of three or more")
      ->check(CLI::NonNegativeNumber);
  auto* batch = app.add_option("--batch", record.batch, "launches between two readings of the counters");
  batch->check(CLI::Range(1, 2000))->capture_default_str();
  app.add_flag("--safe", options.safe, "read counters after every launch: slow, and loses nothing in a crash")
      ->excludes(batch);
  app.add_flag("--keep-raw", record.keep_raw, "keep records and counter images beside the output");
  app.add_flag("--list-ranges", record.list_ranges, "only print the NVTX ranges that the program opens; needs no GPU");
  app.add_option("--estimate", options.estimate, "join with this output of onnx-estimate");
  auto* verify = app.add_option("--verify", options.verify,
                                "run again under Nsight Compute and compare counts; exit 3 if they differ");
  verify->check(CLI::IsMember({"ncu"}));
  app.add_option("--verify-bytes", options.verify_bytes,
                 "judge bytes as well, within N percent; only for programs whose data exceed the caches")
      ->needs(verify)
      ->check(CLI::PositiveNumber);
  app.add_option("--ncu", options.ncu, "path of Nsight Compute's command line")->capture_default_str();
  auto* chip =
      app.add_option("--chip", options.chip, "ncu: the chip as CUPTI names it (GH100), where CUPTI cannot be asked");
  app.add_option("--models", options.models, "ncu: take the place of {model} in the command, one run each")
      ->delimiter(',');
  app.add_option("--batches", options.batches, "ncu: take the place of {batch} in the command")->delimiter(',');
  app.add_option("-o,--output", options.output, "write pagoda.measured/1 here; - is standard output");
  app.add_option("--csv", options.csv, "write one row per launch, as Nsight Compute's raw page; - is standard output");
  app.add_option("--top", options.top, "rows of the table")->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--by", options.by, "rows of the table: kernels or nodes")
      ->check(CLI::IsMember({"kernel", "node"}))
      ->capture_default_str();
  app.add_flag("--strict", options.strict, "exit 3 if counters of some launches are unknown");
  app.add_option("--library", options.library, "path of libpagoda_inject.so")->excludes(chip);
  app.add_option("--cupti", record.cupti, "path of libcupti.so")->excludes(chip);
  app.footer(kExamples);
  if (!parse(app, argc, argv)) return std::nullopt;
  options.command = app.remaining();
  if (!options.command.empty() && options.command.front() == "--") options.command.erase(options.command.begin());
  if (options.command.empty()) throw UsageError("say what to run: pagoda-profile [options] -- PROGRAM [ARGUMENTS]");
  if (options.command.front().starts_with("-")) throw UsageError(options.command.front() + " is not an option");
  refuse_beside(app, "--list-ranges", {"--library", "--cupti", "--keep-raw"});
  check_use(app, options);
  return options;
}

}  // namespace pagoda::tools::profile
