#include "posix/system.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#ifdef __linux__
#include <sys/prctl.h>
#endif

extern char** environ;

namespace pagoda::base::posix {

#ifdef __linux__

bool make_pipe(int (&ends)[2]) { return ::pipe2(ends, O_CLOEXEC) == 0; }

int nameless_file(const char* folder) {
  // It gets its name through /proc.
  if (::access("/proc/self/fd", X_OK) != 0) return -1;
  return ::open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

void execute(char* const* words, char* const* environment) { ::execvpe(words[0], words, environment); }

void die_with_parent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

void be_first_victim() {
  const int score = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score < 0) return;
  [[maybe_unused]] const auto ignored = ::write(score, "1000", 4);
  ::close(score);
}

std::int64_t peak_bytes(const rusage& usage) { return std::int64_t{usage.ru_maxrss} * 1024; }

#else

bool make_pipe(int (&ends)[2]) {
  if (::pipe(ends) != 0) return false;
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  return true;
}

int nameless_file(const char*) {
  errno = ENOTSUP;
  return -1;
}

void execute(char* const* words, char* const* environment) {
  environ = const_cast<char**>(environment);
  ::execvp(words[0], words);
}

void die_with_parent() {}
void be_first_victim() {}

std::int64_t peak_bytes(const rusage& usage) { return usage.ru_maxrss; }

#endif

}  // namespace pagoda::base::posix
