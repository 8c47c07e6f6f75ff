// Between fork and exec only what is safe there; handlers only pass signals on.
#include "program.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "pagoda/base/error.h"

namespace profile {
namespace {

volatile pid_t running = 0;
constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

void forward(int number, siginfo_t* info, void*) {
  const int saved = errno;
  if (running > 0 && info->si_code != SI_KERNEL) kill(running, number);
  errno = saved;
}

}  // namespace

int run_program(const std::vector<std::string>& words,
                const std::vector<std::pair<std::string, std::string>>& environment) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);  // a signal that comes now waits until there is a child to have it
  const pid_t child = fork();
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    execvp(arguments[0], arguments.data());
    std::fprintf(stderr, "pagoda-profile: %s: %s\n", arguments[0], std::strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
  }
  if (child < 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    throw pagoda::Error(std::string("cannot start a process: ") + std::strerror(errno));
  }
  running = child;
  struct sigaction ours = {};
  ours.sa_sigaction = forward;
  ours.sa_flags = SA_SIGINFO | SA_RESTART;
  for (const int number : kForwarded) sigaction(number, &ours, nullptr);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw pagoda::Error(std::string("cannot wait for the program: ") + std::strerror(errno));
  running = 0;
  return status;
}

int end_as(int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  const int number = WTERMSIG(status);
  const rlimit none = {};
  setrlimit(RLIMIT_CORE, &none);  // the program's own dump is the one that tells something
  std::signal(number, SIG_DFL);
  std::raise(number);
  return 128 + number;
}

}  // namespace profile
