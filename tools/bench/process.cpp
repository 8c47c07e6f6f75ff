// Starting, watching and ending workers.
#include "process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "pagoda/base/error.h"

namespace bench {

volatile std::sig_atomic_t interrupted = 0;

namespace {

constexpr std::size_t kTailBytes = 4096;
constexpr std::size_t kLongestLine = std::size_t{256} << 20;
constexpr std::chrono::milliseconds kLook{25};  // between looks at memory
constexpr int kSlice = 200;                     // ms, at most, until the next look at interrupts

void on_signal(int) { interrupted = 1; }

double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

struct Pipe {
  Pipe() {
    if (::pipe2(fds, O_CLOEXEC) != 0) throw pagoda::Error(std::string("no pipe: ") + std::strerror(errno));
  }
  ~Pipe() {
    for (const int fd : fds)
      if (fd >= 0) ::close(fd);
  }
  int release(int end) {
    const int fd = fds[end];
    fds[end] = -1;
    return fd;
  }
  int fds[2];
};

// How often the kernel killed for want of memory since the machine started.
std::int64_t kernel_kills() {
  std::ifstream file("/proc/vmstat");
  std::string name;
  std::int64_t count = 0;
  while (file >> name >> count)
    if (name == "oom_kill") return count;
  return 0;
}

void kill_by_hand(pid_t pid) {
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// Processes that left the group and lost their parent become ours (PR_SET_CHILD_SUBREAPER): none may outlive it.
void reap_strays() {
  while (true) {
    std::ifstream file("/proc/self/task/" + std::to_string(::getpid()) + "/children");
    pid_t child = 0;
    if (!(file >> child)) return;
    kill_by_hand(child);
  }
}

// In the child: only what is safe after fork.
[[noreturn]] void become(char* const* argv, const char* folder, pid_t runner, int in, int out, int err, int report) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != runner) ::_exit(127);  // it died before the line above
  const int score = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score >= 0) {
    // Where memory runs out the kernel should take the worker, not the runner.
    [[maybe_unused]] const ssize_t ignored = ::write(score, "1000", 4);
    ::close(score);
  }
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) ::sigaction(signal, &usual, nullptr);
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  if (*folder == '\0' || ::chdir(folder) == 0) ::execvp(argv[0], argv);
  const int error = errno;
  [[maybe_unused]] const ssize_t ignored = ::write(report, &error, sizeof error);
  ::_exit(127);
}

}  // namespace

void watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Process::Process(const std::vector<std::string>& command, const std::string& folder, const ProcessLimits& limits)
    : limits_(limits), start_(Clock::now()), next_look_(start_), kernel_kills_(kernel_kills()) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe in, out, err, report;
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t runner = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw pagoda::Error(std::string("no process: ") + std::strerror(errno));
  if (pid_ == 0) become(argv.data(), folder.c_str(), runner, in.fds[0], out.fds[1], err.fds[1], report.fds[1]);
  ::setpgid(pid_, pid_);  // the child does it, too: whoever comes first
  ::close(report.release(1));
  int error = 0;
  ssize_t got;
  while ((got = ::read(report.fds[0], &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (got > 0) {
    kill_by_hand(pid_);
    throw pagoda::Error(command[0] + ": cannot be started: " + std::strerror(error));
  }
  in_ = in.release(1);
  out_ = out.release(0);
  err_ = err.release(0);
  for (const int fd : {out_, err_}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
}

Process::~Process() {
  if (!finished_) finish(true);
}

bool Process::write_line(const std::string& line) {
  const std::string text = line + "\n";
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(in_, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

// Appends what is there; false when the other end is closed.
bool Process::drain(int& fd, std::string& into) {
  char block[65536];
  while (fd >= 0) {
    const ssize_t n = ::read(fd, block, sizeof block);
    if (n > 0) {
      into.append(block, static_cast<std::size_t>(n));
      if (&into == &stderr_ && stderr_.size() > 2 * kTailBytes) stderr_.erase(0, stderr_.size() - kTailBytes);
      if (static_cast<std::size_t>(n) < sizeof block) return true;
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else if (n < 0 && errno == EAGAIN) {
      return true;
    } else {
      ::close(fd);
      fd = -1;
    }
  }
  return false;
}

std::int64_t Process::group_bytes() const {
  static const std::int64_t kPage = ::sysconf(_SC_PAGESIZE);
  std::int64_t pages = 0;
  DIR* proc = ::opendir("/proc");
  if (!proc) return 0;
  while (const dirent* entry = ::readdir(proc)) {
    const pid_t pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= 0 || ::getpgid(pid) != pid_) continue;
    std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
    std::int64_t size = 0, resident = 0;
    if (file >> size >> resident) pages += resident;
  }
  ::closedir(proc);
  return pages * kPage;
}

End Process::wait_for_output(double seconds_at_most) {
  pollfd fds[2] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
  const bool watches = limits_.memory_bytes > 0;
  int ms = std::min(kSlice, static_cast<int>(std::max(0.0, seconds_at_most) * 1000) + 1);
  if (watches) ms = std::min<int>(ms, kLook.count());
  ::poll(fds, 2, ms);
  drain(err_, stderr_);
  const bool open = drain(out_, buffer_);
  if (interrupted) return End::Interrupted;
  if (watches && Clock::now() >= next_look_) {
    next_look_ = Clock::now() + kLook;
    seen_bytes_ = std::max(seen_bytes_, group_bytes());
    if (seen_bytes_ > limits_.memory_bytes) return End::Memory;
  }
  return open ? End::Line : End::Closed;
}

End Process::read_line(std::string& line) {
  while (true) {
    const std::size_t end = buffer_.find('\n', searched_);
    if (end != std::string::npos) {
      line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      searched_ = 0;
      return End::Line;
    }
    searched_ = buffer_.size();
    if (out_ < 0 || buffer_.size() > kLongestLine) return End::Closed;
    const double left = limits_.seconds > 0 ? limits_.seconds - seconds_since(start_) : 1e9;
    if (left <= 0) return End::Timeout;
    const End state = wait_for_output(left);
    if (state == End::Memory || state == End::Interrupted) return state;
  }
}

void Process::kill_group() const { ::kill(-pid_, SIGKILL); }

Exit Process::finish(bool kill_now) {
  Exit result;
  if (finished_) return result;
  finished_ = true;
  if (in_ >= 0) ::close(in_);
  int status = 0;
  rusage usage{};
  pid_t ended = 0;
  while (!kill_now && (ended = ::wait4(pid_, &status, WNOHANG, &usage)) == 0) {
    const double left = limits_.seconds > 0 ? limits_.seconds - seconds_since(start_) : 1e9;
    const End state = wait_for_output(std::min(left, 0.005));
    if (state == End::Closed && err_ < 0) ::usleep(1000);
    if (left <= 0 || state == End::Memory || state == End::Interrupted) kill_now = true;
  }
  kill_group();
  while (ended == 0 && (ended = ::wait4(pid_, &status, 0, &usage)) < 0 && errno == EINTR) ended = 0;
  drain(err_, stderr_);
  for (const int fd : {out_, err_})
    if (fd >= 0) ::close(fd);
  in_ = out_ = err_ = -1;
  reap_strays();
  if (stderr_.size() > kTailBytes) stderr_.erase(0, stderr_.size() - kTailBytes);
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.peak_bytes = std::int64_t{usage.ru_maxrss} * 1024;
  result.kernel_out_of_memory = kernel_kills() > kernel_kills_;
  return result;
}

}  // namespace bench
