// From options to a document: runs the program, reads its records and merges them.
#include "arguments.h"

#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "injected.h"
#include "ncu_run.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/measured/join.h"
#include "pagoda/measured/record.h"
#include "pagoda/present/report.h"
#include "pagoda/present/spell.h"
#include "probe.h"
#include "program.h"

namespace pagoda::tools::profile {
namespace {

namespace fs = std::filesystem;
using documents::Measured, documents::MetricMode, measured::profile::RecordedRun;

// Matches the runs of models/run_torch.py; other programs need --iteration.
// Without Python's nvtx package, the ranges are in the default domain.
constexpr const char* kIterations = "^(pagoda@)?run [0-9]+$";

// Makes the folder of the records: next to the output if they are kept, else `temporary`.
std::string make_folder(const Options& options, std::optional<base::TemporaryFolder>& temporary) {
  if (!options.record.keep_raw) return temporary.emplace("pagoda-profile").path();
  const std::string path =
      (options.output.empty() || options.output == "-" ? "pagoda-profile" : options.output) + ".raw";
  fs::remove_all(path);
  fs::create_directories(path);
  return fs::absolute(path).string();
}

struct Ran {
  RecordedRun run;
  base::ProcessEnd end;
};

Ran run_once(const Options& options, Settings settings, const std::string& folder) {
  fs::create_directories(folder);
  settings.folder = folder;
  const base::ProcessEnd end = run_program(options.command, injection(injected_library(options.library), settings));
  return {read_records(folder), end};
}

Settings settings_of(const Options& options) {
  Settings settings = options.record;
  if (settings.iteration.empty()) settings.iteration = kIterations;
  if (options.safe) settings.batch = 1;
  if (options.mode == "time") settings.collect = Collect::Times;
  if (options.mode == "range") settings.collect = Collect::Ranges;
  settings.replay = options.mode == "exact";
  return settings;
}

MetricMode metric_mode(const std::string& mode) {
  if (mode == "exact" || mode == "ncu") return MetricMode::Exact;
  return mode == "rotate" ? MetricMode::Rotate : MetricMode::Quick;
}

measured::profile::NcuRequest ncu_request(const Options& options, const std::string& chip) {
  measured::profile::NcuRequest request;
  request.ncu = options.ncu;
  request.chip = chip;
  request.command = options.command;
  request.kernel_regex = options.record.kernel;
  request.launch_skip = static_cast<std::int64_t>(options.record.skip);
  if (options.record.count) request.launch_count = static_cast<std::int64_t>(*options.record.count);
  return request;
}

void add_environment(const Probe& probed, const Options& options, Measured& measured) {
  measured.tool = std::string("pagoda-profile ") + PAGODA_VERSION;
  if (probed.driver > 0) measured.env["driver"] = cat(probed.driver / 1000, ".", probed.driver % 1000 / 10);
  if (options.mode == "time") return;
  measured.env["caches"] = std::string("as the kernel before left them");
  measured.env["clock control"] = std::string("none");
  measured.env["replay"] = std::string(options.mode == "exact" ? "each kernel" : "none");
  measured.env["bytes"] = std::string(options.mode == "exact" ? "replayed" : "of the run itself");
  if (measured.device.empty() && !probed.devices.empty()) measured.device = probed.devices.front().name;
}

int report(const Options& options, Measured& measured, const std::string& csv) {
  std::string joined;
  if (!options.estimate.empty()) {
    const documents::EstimateDocument estimate = documents::load_estimate(options.estimate);
    measured::join(measured, estimate);
    joined = "\n" + measured::join_report(measured, estimate, options.top);
  }
  const bool to_stdout = options.output == "-" || options.csv == "-";
  const auto put = [](const std::string& path, const std::string& text) {
    if (path == "-")
      std::fputs(text.c_str(), stdout);
    else if (!path.empty())
      base::write_file(path, text);
  };
  put(options.output, documents::write_measured(measured));
  put(options.csv, csv);
  const auto rows = options.by == "node" ? measured::profile::TableBy::Node : measured::profile::TableBy::Kernel;
  if (!measured.kernels.empty())
    std::fputs((measured::profile::profile_table(measured, options.top, rows) + joined).c_str(),
               to_stdout ? stderr : stdout);
  for (const std::string& note : measured.notes) std::fprintf(stderr, "pagoda-profile: %s\n", note.c_str());
  if (measured.kernels.empty()) {
    std::fprintf(
        stderr,
        "pagoda-profile: no kernel was recorded; see that the program uses the GPU, and that --nvtx, --kernel, "
        "--skip and --count let something through (--list-ranges shows the ranges)\n");
    return kUnusable;
  }
  return options.strict && measured.env.contains("launches_without_counters") ? kPartial : kDone;
}

int list_ranges(const Options& options) {
  std::optional<base::TemporaryFolder> temporary;
  const Ran ran = run_once(options, settings_of(options), make_folder(options, temporary));
  std::vector<std::string> order;
  std::map<std::string, std::size_t> counts;
  for (const auto& process : ran.run)
    for (const std::string& range : process.ranges)
      if (counts[range]++ == 0) order.push_back(range);
  for (const std::string& range : order) std::printf("%8zu  %s\n", counts[range], range.c_str());
  if (order.empty()) std::fprintf(stderr, "pagoda-profile: the program opened no NVTX range\n");
  return end_as(ran.end);
}

// --verify ncu: runs the same command under Nsight Compute and compares the counts; once per chip, since each has its
// own metrics.
int verify(const Options& options, const Measured& ours, const Probe& probed) {
  std::map<std::string, std::vector<int>> devices;
  for (const ProbedDevice& device : probed.devices)
    if (std::ranges::any_of(ours.devices,
                            [&](const documents::MeasuredDevice& used) { return used.chip == device.chip; }))
      devices[device.chip].push_back(device.index);
  bool passed = !devices.empty();
  for (const auto& [chip, indices] : devices) {
    measured::profile::NcuRequest request = ncu_request(options, chip);
    const documents::MetricPlan plan =
        documents::plan_metrics(documents::chip_metrics(chip), metric_mode(options.mode), options.precision);
    for (const documents::MetricGroup& group : plan.groups)
      request.metrics.insert(request.metrics.end(), group.metrics.begin(), group.metrics.end());
    if (devices.size() > 1) {
      request.devices = indices;
      std::printf("%s\n", chip.c_str());
    }
    const Measured theirs = run_ncu(request);
    const std::optional<double> bytes =
        options.verify_bytes ? std::optional(*options.verify_bytes / 100) : std::nullopt;
    const auto verification = measured::profile::verify_counts(
        devices.size() > 1 ? measured::profile::of_chip(ours, chip) : ours, theirs, bytes);
    std::fputs(measured::profile::verification_report(verification).c_str(), stdout);
    passed = passed && verification.passed();
  }
  return passed ? kDone : kPartial;
}

std::vector<documents::Missing> spelled(std::vector<documents::Missing> missing) {
  for (documents::Missing& each : missing) each.why = present::command_line(each.why);
  return missing;
}

// Models × batches: one file each in the folder of --output. A failure is reported and the study goes on.
int profile_study(const Options& options, const measured::profile::NcuRequest& request,
                  const std::vector<documents::Missing>& missing) {
  if (options.output.empty() || options.output == "-")
    throw Error("a study writes a file for each of its points; give their folder with --output");
  fs::create_directories(options.output);
  const auto keep = [&](const NcuOutcome& outcome) {
    if (!outcome.measured) {
      std::fprintf(stderr, "pagoda-profile: %s: %s\n", outcome.name.c_str(), outcome.failure.c_str());
      return;
    }
    Measured measured = *outcome.measured;
    measured.missing.insert(measured.missing.end(), missing.begin(), missing.end());
    const std::string path = options.output + "/" + outcome.name + ".json";
    base::write_file(path, documents::write_measured(measured));
    std::printf("%s: %zu kernels\n", path.c_str(), measured.kernels.size());
  };
  return study_exit_code(run_ncu_study(request, options.models, options.batches, keep));
}

int profile_with_ncu(const Options& options, const std::string& chip) {
  const std::vector<documents::Missing> missing =
      spelled(documents::plan_metrics(documents::chip_metrics(chip), MetricMode::Exact).missing);
  measured::profile::NcuRequest request = ncu_request(options, chip);
  request.metrics = measured::profile::ncu_metrics(chip);
  request.nvtx_include = options.record.nvtx;
  if (!options.models.empty() || !options.batches.empty()) return profile_study(options, request, missing);
  Measured measured = run_ncu(request);
  measured.missing.insert(measured.missing.end(), missing.begin(), missing.end());
  return report(options, measured, "");
}

// Missing quantities of the chips that ran kernels; names the chip if there are several.
std::vector<documents::Missing> missing_of(const std::map<std::string, std::vector<documents::Missing>>& by_chip,
                                           const std::vector<RecordedRun>& runs) {
  std::set<std::string> used;
  for (const RecordedRun& run : runs)
    for (const auto& process : run) used.insert(process.chips.begin(), process.chips.end());
  std::vector<documents::Missing> all;
  for (const auto& [chip, missing] : by_chip)
    if (used.contains(chip) || used.empty())
      for (const documents::Missing& m : missing)
        all.push_back({m.what, used.size() > 1 ? "on " + chip + ": " + m.why : m.why});
  return all;
}

int profile_program(const Options& options, const Probe& probed) {
  std::optional<base::TemporaryFolder> temporary;
  const std::string folder = make_folder(options, temporary);
  Settings settings = settings_of(options);
  std::vector<documents::Missing> missing;
  std::map<std::string, std::vector<documents::Missing>> missing_by_chip;
  if (options.mode == "time") {
    missing = {{"flops", "--mode time reads no counters"}, {"bytes", "--mode time reads no counters"}};
  } else {
    for (const ProbedDevice& device : probed.devices) {
      const documents::MetricPlan plan =
          documents::plan_metrics(documents::chip_metrics(device.chip), metric_mode(options.mode), options.precision);
      settings.groups[device.chip] = measured::profile::session_metrics(plan, metric_mode(options.mode));
      missing_by_chip[device.chip] = spelled(plan.missing);
    }
    missing.push_back({"energy", "counters change how long the program takes; --mode time measures it"});
  }
  // --mode rotate: one run of the program per group or, with --iteration, one run whose iterations take turns.
  std::size_t turns = 1;
  const bool in_turns = options.mode == "rotate" && options.record.iteration.empty();
  const auto all = settings.groups;
  if (in_turns)
    for (const auto& [chip, groups] : all) turns = std::max(turns, groups.size());
  std::vector<RecordedRun> runs;
  base::ProcessEnd end;
  for (std::size_t turn = 0; turn < turns; ++turn) {
    if (in_turns)
      for (const auto& [chip, groups] : all) settings.groups[chip] = {groups[turn % groups.size()]};
    Ran ran = run_once(options, settings, folder + "/run" + std::to_string(turn));
    end = ran.end;
    if (in_turns)
      for (auto& process : ran.run)
        for (auto& launch : process.launches) launch.group = static_cast<std::int64_t>(turn);
    runs.push_back(std::move(ran.run));
    if (!end.succeeded()) break;
  }
  const auto of_chips = missing_of(missing_by_chip, runs);
  missing.insert(missing.begin(), of_chips.begin(), of_chips.end());
  Measured measured = evaluated(runs, {options.mode, missing, options.warmup});
  add_environment(probed, options, measured);
  // The record of a program that failed may be incomplete.
  if (!end.succeeded()) measured.notes.push_back("the program " + to_string(end));
  int code = report(options, measured, measured::profile::record_csv(runs));
  if (!end.succeeded()) return end_as(end);
  if (!options.verify.empty() && code == kDone) code = verify(options, measured, probed);
  return code;
}

// Checks before the program runs that the files needed afterwards can be read and written.
void require_files(const Options& options) {
  if (!options.estimate.empty()) documents::load_estimate(options.estimate);
  const bool is_study = !options.models.empty() || !options.batches.empty();
  for (const std::string& path : {options.output, options.csv})
    if (!path.empty() && path != "-" && !is_study) base::check_writable(path);
}

// Warns about obstacles to profiling in the environment or in the program itself.
void warn(const std::string& of_program) {
  if (!of_program.empty()) std::fprintf(stderr, "pagoda-profile: %s\n", of_program.c_str());
  for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"})
    if (const char* const value = std::getenv(name); value != nullptr && *value != '\0')
      std::fprintf(stderr, "pagoda-profile: %s was %s; for the program it is the profiler of this run instead\n", name,
                   value);
}

}  // namespace

int run(const Options& options) {
  if (!options.record.cupti.empty()) setenv("PAGODA_CUPTI", options.record.cupti.c_str(), 1);
  require_files(options);
  const std::string warning = check_program(options.command.front());
  if (options.mode != "ncu") warn(warning);
  if (options.record.list_ranges) return list_ranges(options);
  if (options.mode == "ncu" && !options.chip.empty()) return profile_with_ncu(options, options.chip);
  const ProbeFor what = options.mode == "time"  ? ProbeFor::Times
                        : options.mode == "ncu" ? ProbeFor::Chip
                                                : ProbeFor::Counters;
  const Probe probed = probe(what, injected_library(options.library));
  if (!probed.problem.empty()) throw ToolError(probed.is_driver_old ? kOldDriver : kNoDevice, probed.problem);
  if (options.mode != "ncu") return profile_program(options, probed);
  const std::string& chip = probed.devices.front().chip;
  for (const ProbedDevice& device : probed.devices)
    if (device.chip != chip)
      throw Error("the devices have different chips (" + chip + ", " + device.chip +
                  "), whose metrics differ; choose one with --chip, and its devices with CUDA_VISIBLE_DEVICES");
  return profile_with_ncu(options, chip);
}

}  // namespace pagoda::tools::profile
