// The signal handlers only pass signals on to the child.
#include "program.h"

#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <optional>

#include "tool.h"

namespace pagoda::tools::profile {
namespace {

volatile pid_t running = 0;
constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

void forward(int number, siginfo_t* info, void*) {
  const int saved = errno;
  if (running > 0 && info->si_code != SI_KERNEL) kill(running, number);
  errno = saved;
}

}  // namespace

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
