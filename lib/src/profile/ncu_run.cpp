// One run of Nsight Compute as a process: its log and table in a folder of its own, the program's output where it would
// go without it.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "profile/ncu.h"

namespace pagoda::profile {
namespace {

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

Measured run_ncu(const NcuRequest& request, const ImportOptions& options) {
  const Scratch scratch;
  const std::string log_file = scratch.path("ncu.csv");
  const int status = run(ncu_arguments(request, log_file));
  std::ifstream stream(log_file, std::ios::binary);
  const std::string log(std::istreambuf_iterator<char>(stream), {});
  if (log.empty() && WIFEXITED(status) && WEXITSTATUS(status) == kNotFound)
    throw NcuFailure(4, request.ncu +
                            " cannot be run; install Nsight Compute (a part of the CUDA toolkit, package "
                            "nsight-compute) and put it in PATH, or give its path");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || log.find("\"Kernel Name\"") == std::string::npos)
    throw_ncu_failure(log, status, request.ncu);
  ImportOptions as_ncu = options;
  as_ncu.format = ProfileFormat::Ncu;
  as_ncu.chip = request.chip;
  Measured measured = import_profile(log, request.ncu + "'s table", as_ncu);
  measured.env["caches"] =
      std::string(request.flush_caches ? "flushed before each kernel" : "as the kernel before left them");
  measured.env["clock control"] = std::string(request.lock_clocks ? "locked to base" : "none");
  return measured;
}

}  // namespace pagoda::profile
