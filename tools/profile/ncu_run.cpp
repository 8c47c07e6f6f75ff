// Runs Nsight Compute as a process. Its log and table go to a temporary folder; the program's output is not redirected.
#include "ncu_run.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>

#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/base/process.h"

namespace pagoda::tools::profile {

using documents::Measured, measured::profile::NcuRequest;

namespace {

// Parts of ncu's error messages that are the same in all its versions.
struct Failure {
  std::string_view message;
  int exit_code;
  std::string_view meaning;
};
// clang-format off
constexpr std::array<Failure, 8> kFailures = {{
    {"ERR_NVGPUCTRPERM", kNoDevice,
     "the driver lets only administrators read counters; run as root (containers: --cap-add=SYS_ADMIN), or set "
     "NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module and load it again"},
    {"LibraryNotLoaded", kNoDevice,
     "the counters' library cannot be loaded, as in sandboxes that hide the driver; run outside of the sandbox, or "
     "measure times alone with --mode time"},
    {"driver resource was unavailable", kNoDevice,
     "something else holds the counters; stop the other profiler, or pause monitoring with dcgmi profile --pause"},
    {"No CUDA-capable device", kNoDevice, "there is no NVIDIA GPU here, or the driver is not loaded"},
    {"CUDA driver library", kNoDevice, "there is no NVIDIA driver here"},
    {"Failed to find metric", kUnusable,
     "this ncu does not know a metric that the catalogue names for the chip; update one of them"},
    {"Profiling is not supported on", kNoDevice, "this ncu does not profile this device; install a version that does"},
    {"No kernels were profiled", kUnusable,
     "the program launched no kernel that the filters let through; check the filters, and that it uses the GPU"},
}};
// clang-format on

// The line of the log that contains a position.
std::string line_at(std::string_view log, std::size_t at) {
  const std::size_t before = log.rfind('\n', at), after = log.find('\n', at);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return std::string(log.substr(begin, after == std::string_view::npos ? std::string_view::npos : after - begin));
}

[[noreturn]] void fail(std::string_view log, const base::ProcessEnd& end, const std::string& ncu) {
  for (const Failure& failure : kFailures)
    if (const std::size_t at = log.find(failure.message); at != std::string_view::npos)
      throw ToolError(failure.exit_code, cat(ncu, " said \"", line_at(log, at), "\": ", failure.meaning));
  if (const std::size_t at = log.find("==ERROR=="); at != std::string_view::npos)
    throw ToolError(kUnusable, ncu + " said \"" + line_at(log, at) + "\" and " + to_string(end));
  throw ToolError(kUnusable, ncu + " " + to_string(end) +
                                 " and wrote no table of kernels; run the program alone "
                                 "first, then under ncu by hand to see what it says");
}

// Signals from a terminal reach both processes, since they share a process group.
base::ProcessEnd run(const std::string& ncu, const std::vector<std::string>& words) {
  try {
    return base::ChildProcess(words).wait();
  } catch (const base::CannotStart&) {
    throw ToolError(kNoDevice, ncu +
                                   " cannot be run; install Nsight Compute (a part of the CUDA toolkit, package "
                                   "nsight-compute) and put it in PATH, or give its path");
  }
}

}  // namespace

Measured run_ncu(const NcuRequest& request) {
  const base::TemporaryFolder scratch("pagoda-ncu");
  const std::string log_file = scratch.path("ncu.csv");
  const base::ProcessEnd end = run(request.ncu, measured::profile::ncu_arguments(request, log_file));
  std::ifstream stream(log_file, std::ios::binary);
  const std::string log(std::istreambuf_iterator<char>(stream), {});
  if (!end.succeeded() || log.find("\"Kernel Name\"") == std::string::npos) fail(log, end, request.ncu);
  Measured measured = measured::import_profile(log, request.ncu + "'s table",
                                               {.format = measured::ProfileFormat::Ncu, .chip = request.chip});
  measured.env["caches"] =
      std::string(request.flush_caches ? "flushed before each kernel" : "as the kernel before left them");
  measured.env["clock control"] = std::string(request.lock_clocks ? "locked to base" : "none");
  return measured;
}

std::vector<NcuOutcome> run_ncu_study(const NcuRequest& request, const std::vector<std::string>& models,
                                      const std::vector<std::string>& batches,
                                      const std::function<void(const NcuOutcome&)>& on_done) {
  std::vector<NcuOutcome> outcomes;
  std::map<std::string, int> names;
  std::string hopeless;  // why no point can run
  for (const measured::profile::NcuPoint& point : measured::profile::ncu_points(request.command, models, batches)) {
    NcuOutcome outcome{point.name()};
    if (const int seen = names[outcome.name]++; seen > 0) outcome.name += "-" + std::to_string(seen + 1);
    try {
      if (!hopeless.empty()) throw ToolError(kNoDevice, "not started: " + hopeless);
      NcuRequest one = request;
      one.command = point.command;
      outcome.measured = run_ncu(one);
      if (!point.model.empty()) outcome.measured->env["model"] = point.model;
      if (!point.batch.empty()) outcome.measured->env["batch"] = point.batch;
    } catch (const ToolError& failure) {
      outcome.failure = failure.what();
      outcome.exit_code = failure.exit_code;
    } catch (const Error& error) {
      outcome.failure = error.what();
      outcome.exit_code = kUnusable;
    }
    if (outcome.exit_code == kNoDevice && hopeless.empty()) hopeless = outcome.failure;
    if (on_done) on_done(outcome);
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

int study_exit_code(const std::vector<NcuOutcome>& outcomes) {
  const auto failed = [](const NcuOutcome& outcome) { return !outcome.measured; };
  if (std::ranges::none_of(outcomes, failed)) return kDone;
  const bool all = std::ranges::all_of(outcomes, failed);
  return all ? outcomes.front().exit_code : kPartial;
}

}  // namespace pagoda::tools::profile
