// pagoda-profile: runs a program and says what each of its kernels did on the GPU, and for which node of the model.
#include <regex.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "executable.h"
#include "inject/settings.h"
#include "pagoda/measured/join.h"
#include "pagoda/measured/ncu.h"
#include "pagoda/measured/record.h"
#include "pagoda/present/report.h"
#include "probe.h"
#include "program.h"

namespace {

namespace fs = std::filesystem;
using pagoda::documents::Measured;
using pagoda::documents::MetricMode;
using pagoda::measured::profile::RecordedRun;

constexpr int kDone = 0, kUnusable = 1, kUsage = 2, kPartial = 3, kNoDevice = 4;
// The runs of models/run_torch.py; programs of others name theirs.
constexpr const char* kIterations = "^pagoda@run [0-9]+$";

struct Options {
  std::string mode = "quick", precision, nvtx, kernel, iteration, output, csv, estimate, library, cupti, verify;
  std::string ncu = "ncu", chip, by = "kernel";
  std::vector<std::string> models, batches;  // of a study under Nsight Compute
  std::uint64_t skip = 0, batch = 512;
  std::optional<std::uint64_t> count;
  std::optional<std::int64_t> warmup;
  bool keep_raw = false, safe = false, list_ranges = false, strict = false;
  std::size_t top = 20;
  std::vector<std::string> command;
};

// Where records go: beside the output where they are kept, else a folder that goes with this process.
class Folder {
 public:
  explicit Folder(const Options& options) {
    if (options.keep_raw) {
      is_kept_ = true;
      path_ = (options.output.empty() || options.output == "-" ? "pagoda-profile" : options.output) + ".raw";
      fs::remove_all(path_);
      fs::create_directories(path_);
      path_ = fs::absolute(path_).string();
      return;
    }
    path_ = (fs::temp_directory_path() / "pagoda-profile-XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr)
      throw pagoda::Error("no folder can be made in " + fs::temp_directory_path().string() +
                          "; set TMPDIR to one that can be written");
  }
  ~Folder() {
    std::error_code ignored;
    if (!is_kept_) fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool is_kept_ = false;
};

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Beside this program, or where it was installed.
std::string injected_library(const Options& options) {
  if (!options.library.empty()) return fs::absolute(options.library).string();
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& path :
       {self / "libpagoda_inject.so", self / ".." / PAGODA_LIBDIR / "pagoda/libpagoda_inject.so"})
    if (fs::exists(path)) return fs::canonical(path).string();
  return (self / "libpagoda_inject.so").string();
}

RecordedRun read_records(const std::string& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".record") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  RecordedRun run;
  for (const fs::path& path : paths)
    run.push_back(pagoda::measured::profile::parse_record(read_file(path), path.string()));
  return run;
}

struct Ran {
  RecordedRun run;
  int status = 0;
};

Ran run_once(const Options& options, profile::Settings settings, const std::string& folder) {
  fs::create_directories(folder);
  settings.folder = folder;
  const std::string file = folder + "/settings", library = injected_library(options);
  std::ofstream(file) << profile::write_settings(settings);
  Ran ran;
  ran.status = profile::run_program(
      options.command,
      {{"CUDA_INJECTION64_PATH", library}, {"NVTX_INJECTION64_PATH", library}, {profile::kSettingsVariable, file}});
  ran.run = read_records(folder);
  return ran;
}

profile::Settings settings_of(const Options& options) {
  profile::Settings settings;
  settings.nvtx = options.nvtx;
  settings.kernel = options.kernel;
  settings.iteration = options.iteration.empty() ? kIterations : options.iteration;
  settings.skip = options.skip;
  settings.count = options.count;
  settings.batch = options.safe ? 1 : options.batch;
  settings.keep_raw = options.keep_raw;
  settings.cupti = options.cupti;
  settings.list_ranges = options.list_ranges;
  if (options.mode == "time") settings.collect = profile::Collect::Times;
  if (options.mode == "range") settings.collect = profile::Collect::Ranges;
  settings.replay = options.mode == "exact";
  return settings;
}

pagoda::documents::MetricMode metric_mode(const std::string& mode) {
  if (mode == "exact" || mode == "ncu") return pagoda::documents::MetricMode::Exact;
  return mode == "rotate" ? pagoda::documents::MetricMode::Rotate : pagoda::documents::MetricMode::Quick;
}

std::vector<std::string> metrics_of(const pagoda::documents::MetricPlan& plan) {
  std::vector<std::string> all;
  for (const pagoda::documents::MetricGroup& group : plan.groups)
    all.insert(all.end(), group.metrics.begin(), group.metrics.end());
  return all;
}

void add_environment(const profile::Probe& probed, const Options& options, pagoda::documents::Measured& measured) {
  measured.tool = std::string("pagoda-profile ") + PAGODA_VERSION;
  if (probed.driver > 0)
    measured.env["driver"] = std::to_string(probed.driver / 1000) + "." + std::to_string(probed.driver % 1000 / 10);
  if (options.mode == "time") return;
  measured.env["caches"] = std::string("as the kernel before left them");
  measured.env["clock control"] = std::string("none");
  measured.env["replay"] = std::string(options.mode == "exact" ? "each kernel" : "none");
  if (measured.device.empty() && !probed.devices.empty()) measured.device = probed.devices.front().name;
}

// How the program ended, where that was not well: what was recorded may be less than what it does.
void add_end(int status, pagoda::documents::Measured& measured) {
  if (WIFSIGNALED(status))
    measured.notes.push_back("the program was ended by signal " + std::to_string(WTERMSIG(status)));
  else if (WEXITSTATUS(status) != 0)
    measured.notes.push_back("the program exited with " + std::to_string(WEXITSTATUS(status)));
}

int report(const Options& options, pagoda::documents::Measured& measured, const std::string& csv) {
  if (!options.estimate.empty()) pagoda::measured::join(measured, pagoda::measured::load_estimate(options.estimate));
  const bool to_stdout = options.output == "-" || options.csv == "-";
  const auto put = [](const std::string& path, const std::string& text) {
    if (path == "-")
      std::fputs(text.c_str(), stdout);
    else if (!path.empty())
      pagoda::base::write_file(path, text);
  };
  put(options.output, pagoda::documents::write_measured(measured));
  put(options.csv, csv);
  const auto rows =
      options.by == "node" ? pagoda::measured::profile::TableBy::Node : pagoda::measured::profile::TableBy::Kernel;
  if (!measured.kernels.empty())
    std::fputs(pagoda::measured::profile::profile_table(measured, options.top, rows).c_str(),
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
  const Folder folder(options);
  const Ran ran = run_once(options, settings_of(options), folder.path());
  std::vector<std::string> order;
  std::map<std::string, std::size_t> counts;
  for (const auto& process : ran.run)
    for (const std::string& range : process.ranges)
      if (counts[range]++ == 0) order.push_back(range);
  for (const std::string& range : order) std::printf("%8zu  %s\n", counts[range], range.c_str());
  if (order.empty()) std::fprintf(stderr, "pagoda-profile: the program opened no NVTX range\n");
  return profile::end_as(ran.status);
}

// --verify ncu: the same command under Nsight Compute, and the counts side by side; once a chip, as each has metrics of
// its own.
int verify(const Options& options, const pagoda::documents::Measured& ours, const profile::Probe& probed) {
  std::map<std::string, std::vector<int>> devices;
  for (const profile::ProbedDevice& device : probed.devices)
    if (std::any_of(ours.devices.begin(), ours.devices.end(),
                    [&](const pagoda::documents::MeasuredDevice& used) { return used.chip == device.chip; }))
      devices[device.chip].push_back(device.index);
  bool passed = !devices.empty();
  for (const auto& [chip, indices] : devices) {
    pagoda::measured::profile::NcuRequest request;
    request.ncu = options.ncu;
    request.chip = chip;
    request.metrics = metrics_of(pagoda::documents::plan_metrics(pagoda::documents::chip_metrics(chip),
                                                                 metric_mode(options.mode), options.precision));
    request.command = options.command;
    request.kernel_regex = options.kernel;
    if (devices.size() > 1) {
      request.devices = indices;
      std::printf("%s\n", chip.c_str());
    }
    const pagoda::documents::Measured theirs = pagoda::measured::profile::run_ncu(request);
    const auto verification = pagoda::measured::profile::verify_counts(
        devices.size() > 1 ? pagoda::measured::profile::of_chip(ours, chip) : ours, theirs);
    std::fputs(pagoda::measured::profile::verification_report(verification).c_str(), stdout);
    passed = passed && verification.passed();
  }
  return passed ? kDone : kPartial;
}

// Models × batches: a file each in the folder of --output; what fails is told, and the others go on.
int profile_study(const Options& options, const pagoda::measured::profile::NcuRequest& request,
                  const std::vector<pagoda::documents::Missing>& missing) {
  if (options.output.empty() || options.output == "-")
    throw pagoda::Error("a study writes a file for each of its points; give their folder with --output");
  fs::create_directories(options.output);
  const auto keep = [&](const pagoda::measured::profile::NcuOutcome& outcome) {
    if (!outcome.measured) {
      std::fprintf(stderr, "pagoda-profile: %s: %s\n", outcome.name.c_str(), outcome.failure.c_str());
      return;
    }
    pagoda::documents::Measured measured = *outcome.measured;
    measured.missing.insert(measured.missing.end(), missing.begin(), missing.end());
    const std::string path = options.output + "/" + outcome.name + ".json";
    pagoda::base::write_file(path, pagoda::documents::write_measured(measured));
    std::printf("%s: %zu kernels\n", path.c_str(), measured.kernels.size());
  };
  return study_exit_code(run_ncu_study(request, options.models, options.batches, {}, keep));
}

int profile_with_ncu(const Options& options, const std::string& chip) {
  const pagoda::documents::MetricPlan plan =
      pagoda::documents::plan_metrics(pagoda::documents::chip_metrics(chip), pagoda::documents::MetricMode::Exact);
  pagoda::measured::profile::NcuRequest request;
  request.ncu = options.ncu;
  request.chip = chip;
  request.metrics = pagoda::measured::profile::ncu_metrics(chip);
  request.command = options.command;
  request.kernel_regex = options.kernel;
  request.nvtx_include = options.nvtx;
  request.launch_skip = static_cast<std::int64_t>(options.skip);
  if (options.count) request.launch_count = static_cast<std::int64_t>(*options.count);
  if (!options.models.empty() || !options.batches.empty()) return profile_study(options, request, plan.missing);
  pagoda::documents::Measured measured = pagoda::measured::profile::run_ncu(request);
  measured.missing.insert(measured.missing.end(), plan.missing.begin(), plan.missing.end());
  return report(options, measured, "");
}

// Of the chips that ran kernels; each is named where there are several.
std::vector<pagoda::documents::Missing> missing_of(
    const std::map<std::string, std::vector<pagoda::documents::Missing>>& by_chip,
    const std::vector<RecordedRun>& runs) {
  std::set<std::string> used;
  for (const RecordedRun& run : runs)
    for (const auto& process : run) used.insert(process.chips.begin(), process.chips.end());
  std::vector<pagoda::documents::Missing> all;
  for (const auto& [chip, missing] : by_chip)
    if (used.contains(chip) || used.empty())
      for (const pagoda::documents::Missing& m : missing)
        all.push_back({m.what, used.size() > 1 ? "on " + chip + ": " + m.why : m.why});
  return all;
}

int profile_program(const Options& options, const profile::Probe& probed) {
  const Folder folder(options);
  profile::Settings settings = settings_of(options);
  std::vector<pagoda::documents::Missing> missing;
  std::map<std::string, std::vector<pagoda::documents::Missing>> missing_by_chip;
  if (options.mode == "time") {
    missing = {{"flops", "--mode time reads no counters"}, {"bytes", "--mode time reads no counters"}};
  } else {
    for (const profile::ProbedDevice& device : probed.devices) {
      const pagoda::documents::MetricPlan plan = pagoda::documents::plan_metrics(
          pagoda::documents::chip_metrics(device.chip), metric_mode(options.mode), options.precision);
      settings.groups[device.chip] = pagoda::measured::profile::session_metrics(plan, metric_mode(options.mode));
      missing_by_chip[device.chip] = plan.missing;
    }
    missing.push_back({"energy", "counters change how long the program takes; --mode time measures it"});
  }
  // One run of the program a group, or one run whose iterations take turns.
  std::size_t turns = 1;
  const bool in_turns = options.mode == "rotate" && options.iteration.empty();
  const auto all = settings.groups;
  if (in_turns)
    for (const auto& [chip, groups] : all) turns = std::max(turns, groups.size());
  std::vector<RecordedRun> runs;
  int status = 0;
  for (std::size_t turn = 0; turn < turns; ++turn) {
    if (in_turns)
      for (const auto& [chip, groups] : all) settings.groups[chip] = {groups[turn % groups.size()]};
    Ran ran = run_once(options, settings, folder.path() + "/run" + std::to_string(turn));
    status = ran.status;
    if (in_turns)
      for (auto& process : ran.run)
        for (auto& launch : process.launches) launch.group = static_cast<std::int64_t>(turn);
    runs.push_back(std::move(ran.run));
    if (status != 0) break;
  }
  std::string chip;
  for (const RecordedRun& run : runs)
    for (const auto& process : run)
      if (chip.empty() && !process.chips.empty()) chip = process.chips.front();
  const auto of_chips = missing_of(missing_by_chip, runs);
  missing.insert(missing.begin(), of_chips.begin(), of_chips.end());
  const pagoda::measured::profile::RecordOptions how{options.mode, missing, options.warmup};
  pagoda::documents::Measured measured =
      options.mode == "time" || chip.empty()
          ? pagoda::measured::profile::measured_of(runs, how)
          : pagoda::measured::profile::measured_of(runs, pagoda::documents::chip_metrics(chip), how);
  add_environment(probed, options, measured);
  add_end(status, measured);
  int code = report(options, measured, pagoda::measured::profile::record_csv(runs));
  if (status != 0) return profile::end_as(status);
  if (!options.verify.empty() && code == kDone) code = verify(options, measured, probed);
  return code;
}

// Why these options do not go together; empty: they do. All that can be known before the program runs, which may take
// long.
std::string wrong_use(const Options& options) {
  const bool is_ncu = options.mode == "ncu", is_study = !options.models.empty() || !options.batches.empty();
  if (!is_ncu && (is_study || !options.chip.empty())) return "--models, --batches and --chip are of --mode ncu";
  if (options.mode == "range" && options.nvtx.empty())
    return "--mode range needs --nvtx; --list-ranges shows what the program opens";
  if (!options.precision.empty() && options.mode != "quick" && options.mode != "range")
    return "--precision is of --mode quick and range; exact and rotate count every precision";
  if (!options.verify.empty() && (options.mode == "time" || options.mode == "range" || is_ncu))
    return "--verify compares counts of kernels, which --mode quick, exact and rotate have";
  if (is_ncu && !options.csv.empty()) return "--csv is of the other modes; ncu writes a table of its own";
  if (options.output == "-" && options.csv == "-") return "--output and --csv cannot both be standard output";
  if (!is_ncu)  // whose expressions are its own
    for (const auto& [name, text] :
         {std::pair{"--nvtx", &options.nvtx}, {"--kernel", &options.kernel}, {"--iteration", &options.iteration}}) {
      regex_t compiled = {};
      const int error = text->empty() ? 0 : regcomp(&compiled, text->c_str(), REG_EXTENDED | REG_NOSUB);
      char why[128] = {};
      if (error != 0) {
        regerror(error, &compiled, why, sizeof why);
        return std::string(name) + " " + *text + " is no extended regular expression: " + why;
      }
      if (!text->empty()) regfree(&compiled);
    }
  return "";
}

// Files are read and written after the program has run: whether they can be is seen before.
void require_files(const Options& options) {
  if (!options.estimate.empty()) pagoda::measured::load_estimate(options.estimate);
  const bool is_study = !options.models.empty() || !options.batches.empty();
  for (const std::string& path : {options.output, options.csv}) {
    if (path.empty() || path == "-" || is_study) continue;
    const fs::path folder = fs::absolute(path).parent_path();
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) throw pagoda::Error(path + " is a folder; give the path of a file");
    if (!fs::is_directory(folder, ignored) || access(folder.c_str(), W_OK) != 0)
      throw pagoda::Error(path + " cannot be written; see that " + folder.string() + " is a folder that can be");
  }
}

// What stands in the way of the profiler in the environment or in the program itself.
void warn(const profile::Executable& program) {
  if (!program.warning.empty()) std::fprintf(stderr, "pagoda-profile: %s\n", program.warning.c_str());
  for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"})
    if (const char* const value = std::getenv(name); value != nullptr && *value != '\0')
      std::fprintf(stderr, "pagoda-profile: %s was %s; for the program it is the profiler of this run instead\n", name,
                   value);
}

int run(const Options& options) {
  require_files(options);
  const profile::Executable program = profile::find_executable(options.command.front());
  if (!program.problem.empty()) {
    std::fprintf(stderr, "pagoda-profile: %s\n", program.problem.c_str());
    return program.exit_code;
  }
  if (options.mode != "ncu") warn(program);
  if (options.list_ranges) return list_ranges(options);
  if (options.mode == "ncu" && !options.chip.empty()) return profile_with_ncu(options, options.chip);
  const profile::ProbeFor what = options.mode == "time"  ? profile::ProbeFor::Times
                                 : options.mode == "ncu" ? profile::ProbeFor::Chip
                                                         : profile::ProbeFor::Counters;
  const profile::Probe probed = profile::probe(what, injected_library(options));
  if (!probed.problem.empty()) {
    std::fprintf(stderr, "pagoda-profile: %s\n", probed.problem.c_str());
    return kNoDevice;
  }
  if (options.mode != "ncu") return profile_program(options, probed);
  const std::string& chip = probed.devices.front().chip;
  for (const profile::ProbedDevice& device : probed.devices)
    if (device.chip != chip)
      throw pagoda::Error("the devices are of several chips (" + chip + ", " + device.chip +
                          "), whose metrics differ; choose one with --chip, and its devices with CUDA_VISIBLE_DEVICES");
  return profile_with_ncu(options, chip);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Runs a program and measures what each kernel does on the GPU: time, operations by precision, bytes."};
  app.set_version_flag("--version", "pagoda-profile " PAGODA_VERSION);
  app.prefix_command();
  app.add_option(
         "--mode", options.mode,
         "time: no counters, no privilege; quick: one pass; exact: kernels replayed for everything; rotate: the "
         "program again for each group of counters; range: of NVTX ranges; ncu: by Nsight Compute")
      ->check(CLI::IsMember({"time", "quick", "exact", "rotate", "range", "ncu"}))
      ->capture_default_str();
  app.add_option("--precision", options.precision, "quick: count this one, as tf32.tensor, float64.tensor");
  app.add_option("--nvtx", options.nvtx, "only launches whose open ranges match; range: the ranges, as domain@name");
  app.add_option("--kernel", options.kernel, "only kernels whose name matches this extended regular expression");
  app.add_option("--skip", options.skip, "leave out so many of the wanted launches")->check(CLI::NonNegativeNumber);
  app.add_option("--count", options.count, "and take so many")->check(CLI::NonNegativeNumber);
  app.add_option("--iteration", options.iteration,
                 "ranges, as domain@name, that are one run of the model each; rotate then takes turns in one run");
  app.add_option("--warmup", options.warmup, "runs of the model to leave out; 1 of three or more")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--batch", options.batch, "launches between two readings of the counters")
      ->check(CLI::Range(1, 2000))
      ->capture_default_str();
  app.add_flag("--safe", options.safe, "read counters after every launch: slow, and loses nothing in a crash");
  app.add_flag("--keep-raw", options.keep_raw, "keep records and counter images beside the output");
  app.add_flag("--list-ranges", options.list_ranges, "only print the NVTX ranges that the program opens; needs no GPU");
  app.add_option("--estimate", options.estimate, "join with what onnx-estimate wrote");
  app.add_option("--verify", options.verify,
                 "run again under Nsight Compute and compare counts; exit 3 where they differ")
      ->check(CLI::IsMember({"ncu"}));
  app.add_option("--ncu", options.ncu, "path of Nsight Compute's command line")->capture_default_str();
  app.add_option("--chip", options.chip, "ncu: the chip as CUPTI names it (GH100), where CUPTI cannot be asked");
  app.add_option("--models", options.models, "ncu: take the place of {model} in the command, one run each")
      ->delimiter(',');
  app.add_option("--batches", options.batches, "ncu: take the place of {batch} in the command")->delimiter(',');
  app.add_option("-o,--output", options.output, "write pagoda.measured/1 here; - is standard output");
  app.add_option("--csv", options.csv, "write one row a launch as Nsight Compute's raw page; - is standard output");
  app.add_option("--top", options.top, "rows of the table")->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--by", options.by, "what a row of the table is of")
      ->check(CLI::IsMember({"kernel", "node"}))
      ->capture_default_str();
  app.add_flag("--strict", options.strict, "exit 3 where counters of some launches are unknown");
  app.add_option("--library", options.library, "path of libpagoda_inject.so");
  app.add_option("--cupti", options.cupti, "path of libcupti.so");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  options.command = app.remaining();
  if (!options.command.empty() && options.command.front() == "--") options.command.erase(options.command.begin());
  if (options.command.empty()) {
    std::fprintf(stderr, "pagoda-profile: say what to run: pagoda-profile [options] -- PROGRAM [ARGUMENTS]\n");
    return kUsage;
  }
  if (options.command.front().starts_with("-")) {
    std::fprintf(stderr, "pagoda-profile: %s is no option; --help lists them\n", options.command.front().c_str());
    return kUsage;
  }
  if (const std::string wrong = wrong_use(options); !wrong.empty()) {
    std::fprintf(stderr, "pagoda-profile: %s\n", wrong.c_str());
    return kUsage;
  }
  if (!options.cupti.empty()) setenv("PAGODA_CUPTI", options.cupti.c_str(), 1);
  try {
    return run(options);
  } catch (const pagoda::measured::profile::NcuFailure& error) {
    std::fprintf(stderr, "pagoda-profile: %s\n", error.what());
    return error.exit_code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pagoda-profile: %s\n", error.what());
    return kUnusable;
  }
}
