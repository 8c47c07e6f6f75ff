// One run of Nsight Compute as a process: its log and table in a folder of its own, the program's output where it would
// go without it.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "pagoda/measured/ncu.h"

namespace pagoda::measured::profile {
namespace {

constexpr int kUnusable = 1, kNoDevice = 4;
constexpr int kNotFound = 127;  // what a shell exits with, too

class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pagoda-ncu-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw Error("cannot make a folder in " + std::filesystem::temp_directory_path().string() + ": " +
                  std::strerror(errno) + "; set TMPDIR to one that can be written");
    folder_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string path(const char* name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

// Runs to the end; a status of waitpid. Signals that a terminal sends reach both, as they share a process group.
int run(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) throw Error(std::string("cannot start a process: ") + std::strerror(errno));
  if (child == 0) {
    execvp(arguments[0], arguments.data());
    _exit(errno == ENOENT || errno == EACCES ? kNotFound : 126);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw Error(std::string("cannot wait for ncu: ") + std::strerror(errno));
  return status;
}

}  // namespace

documents::Measured run_ncu(const NcuRequest& request, const ImportOptions& options) {
  const Scratch scratch;
  const std::string log_file = scratch.path("ncu.csv");
  const int status = run(ncu_arguments(request, log_file));
  std::ifstream stream(log_file, std::ios::binary);
  const std::string log(std::istreambuf_iterator<char>(stream), {});
  if (log.empty() && WIFEXITED(status) && WEXITSTATUS(status) == kNotFound)
    throw NcuFailure(kNoDevice, request.ncu +
                                    " cannot be run; install Nsight Compute (a part of the CUDA toolkit, package "
                                    "nsight-compute) and put it in PATH, or give its path");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || log.find("\"Kernel Name\"") == std::string::npos)
    throw_ncu_failure(log, status, request.ncu);
  ImportOptions as_ncu = options;
  as_ncu.format = ProfileFormat::Ncu;
  as_ncu.chip = request.chip;
  documents::Measured measured = import_profile(log, request.ncu + "'s table", as_ncu);
  measured.env["caches"] =
      std::string(request.flush_caches ? "flushed before each kernel" : "as the kernel before left them");
  measured.env["clock control"] = std::string(request.lock_clocks ? "locked to base" : "none");
  return measured;
}

std::vector<NcuOutcome> run_ncu_study(const NcuRequest& request, const std::vector<std::string>& models,
                                      const std::vector<std::string>& batches, const ImportOptions& options,
                                      const std::function<void(const NcuOutcome&)>& on_done) {
  std::vector<NcuOutcome> outcomes;
  std::map<std::string, int> names;
  std::string hopeless;  // why no point can run
  for (NcuPoint& point : ncu_points(request.command, models, batches)) {
    NcuOutcome outcome;
    outcome.name = point.name();
    if (const int seen = names[outcome.name]++; seen > 0) outcome.name += "-" + std::to_string(seen + 1);
    outcome.point = std::move(point);
    try {
      if (!hopeless.empty()) throw NcuFailure(kNoDevice, "not started: " + hopeless);
      NcuRequest one = request;
      one.command = outcome.point.command;
      outcome.measured = run_ncu(one, options);
      if (!outcome.point.model.empty()) outcome.measured->env["model"] = outcome.point.model;
      if (!outcome.point.batch.empty()) outcome.measured->env["batch"] = outcome.point.batch;
    } catch (const NcuFailure& failure) {
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
  constexpr int kPartial = 3;
  const auto failed = [](const NcuOutcome& outcome) { return !outcome.measured; };
  if (std::none_of(outcomes.begin(), outcomes.end(), failed)) return 0;
  const bool all = std::all_of(outcomes.begin(), outcomes.end(), failed);
  return all ? outcomes.front().exit_code : kPartial;
}

}  // namespace pagoda::measured::profile
