// CUDA and NVTX load the profiler through the dynamic loader. Static programs have no loader, and for set-user-ID
// programs it ignores the environment. The signal handlers only pass signals on to the child.
#include "program.h"

#include <elf.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <optional>

#include "system_files.h"
#include "tool.h"

namespace pagoda::tools::profile {
namespace {

bool is_program(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

// A 64-bit ELF program without an interpreter (dynamic loader).
bool is_static(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr head = {};
  if (!file.read(reinterpret_cast<char*>(&head), sizeof head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr))
    return false;
  file.seekg(static_cast<std::streamoff>(head.e_phoff));
  for (int i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment = {};
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment) || segment.p_type == PT_INTERP) return false;
  }
  return true;
}

bool changes_user(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return false;
  return ((status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid()) ||
         ((status.st_mode & S_ISGID) != 0 && status.st_gid != getegid());
}

volatile pid_t running = 0;
constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

void forward(int number, siginfo_t* info, void*) {
  const int saved = errno;
  if (running > 0 && info->si_code != SI_KERNEL) kill(running, number);
  errno = saved;
}

}  // namespace

std::string check_program(const std::string& word) {
  const std::string path = word.find('/') != std::string::npos ? word : program_file(word);
  if (path.empty() || access(path.c_str(), F_OK) != 0)
    throw ToolError(127, word + ": there is no such program" +
                             (path.empty() ? " in PATH; write ./" + word + " for one in this folder" : ""));
  if (!is_program(path))
    throw ToolError(126, word + ": cannot be executed; see whether it is a file with the permission to");
  if (changes_user(path))
    return word +
           " runs as another user (set-user-ID), for which the loader ignores where the profiler lies: start it as "
           "that user";
  if (is_static(path))
    return word +
           " is linked statically, so that the profiler cannot be loaded into it, only into programs that it starts: "
           "link it dynamically";
  return "";
}

base::ProcessEnd run_program(const std::vector<std::string>& words,
                             const std::vector<std::pair<std::string, std::string>>& environment) {
  const auto started = [](int pid) {
    running = pid;
    struct sigaction ours = {};
    ours.sa_sigaction = forward;
    ours.sa_flags = SA_SIGINFO | SA_RESTART;
    for (const int number : kForwarded) sigaction(number, &ours, nullptr);
  };
  std::optional<base::ChildProcess> child;
  try {
    child.emplace(words, base::ProcessOptions{.environment = environment, .started = started});
  } catch (const base::CannotStart& error) {
    running = 0;
    throw ToolError(error.error == ENOENT ? 127 : 126, error.what());
  }
  const base::ProcessEnd end = child->wait();
  running = 0;
  return end;
}

int end_as(const base::ProcessEnd& end) {
  if (!end.signal) return end.code.value_or(kUnusable);
  const rlimit none = {};
  setrlimit(RLIMIT_CORE, &none);  // the program's own dump is the useful one
  std::signal(*end.signal, SIG_DFL);
  std::raise(*end.signal);
  return 128 + *end.signal;
}

}  // namespace pagoda::tools::profile
