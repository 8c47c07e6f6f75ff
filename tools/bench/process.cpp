// Starts, monitors and ends workers.
#include "process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"
#include "system_files.h"

namespace pagoda::tools::bench {

volatile std::sig_atomic_t interrupted = 0;

namespace {

constexpr std::size_t kTailBytes = 4096;
constexpr std::size_t kLongestLine = std::size_t{256} << 20;
constexpr std::chrono::milliseconds kLook{25};  // between samples of memory use
constexpr int kSlice = 200;                     // ms; longest wait between checks for interrupts

void on_signal(int) { interrupted = 1; }

// How many processes the kernel has killed for lack of memory since the machine started.
std::int64_t kernel_kills() {
  return base::parse_number<std::int64_t>(SystemFiles().field("/proc/vmstat", "oom_kill").value_or("")).value_or(0);
}

// Orphans that left the group become our children (PR_SET_CHILD_SUBREAPER): kills them, so none outlives the worker.
void reap_strays() {
  while (const auto child = SystemFiles().number(cat("/proc/self/task/", ::getpid(), "/children"))) {
    const auto pid = static_cast<pid_t>(*child);
    ::kill(pid, SIGKILL);
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

}  // namespace

void watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Process::Process(const std::vector<std::string>& command, const ProcessLimits& limits)
    // If memory runs out, the kernel should kill the worker, not the runner.
    : child_(command, {.in = base::Stream::Pipe,
                       .out = base::Stream::Pipe,
                       .err = base::Stream::Pipe,
                       .is_group = true,
                       .is_first_victim = true}),
      in_(child_.take_in()),
      out_(child_.take_out()),
      err_(child_.take_err()),
      limits_(limits),
      start_(Clock::now()),
      next_look_(start_),
      kernel_kills_(kernel_kills()) {
  std::signal(SIGPIPE, SIG_IGN);
  for (const int fd : {out_, err_}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
}

Process::~Process() {
  if (!finished_) finish(true);
}

void Process::pass_on(const std::string& line) const {
  if (limits_.passes_on) base::write_all(STDERR_FILENO, line + "\n");
}

bool Process::write_line(const std::string& line) { return base::write_all(in_, line + "\n"); }

// Appends available data; false if the other end is closed.
bool Process::drain(int& fd, std::string& into) {
  char block[65536];
  while (fd >= 0) {
    const ssize_t n = ::read(fd, block, sizeof block);
    if (n > 0) {
      into.append(block, static_cast<std::size_t>(n));
      if (&into == &stderr_ && limits_.passes_on) base::write_all(STDERR_FILENO, {block, static_cast<std::size_t>(n)});
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
  for (const std::string& name : SystemFiles().names("/proc")) {
    const auto pid = base::parse_number<pid_t>(name);
    if (!pid || *pid <= 0 || ::getpgid(*pid) != child_.pid()) continue;
    const auto sizes = words(SystemFiles().text("/proc/" + name + "/statm").value_or(""));
    if (sizes.size() > 1) pages += base::parse_number<std::int64_t>(sizes[1]).value_or(0);
  }
  return pages * kPage;
}

double Process::seconds_left() const {
  return limits_.seconds > 0 ? limits_.seconds - std::chrono::duration<double>(Clock::now() - start_).count() : 1e9;
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
    const double left = seconds_left();
    if (left <= 0) return End::Timeout;
    const End state = wait_for_output(left);
    if (state == End::Memory || state == End::Interrupted) return state;
    if (limits_.waiting) limits_.waiting();
  }
}

Exit Process::finish(bool kill_now) {
  Exit result;
  if (finished_) return result;
  finished_ = true;
  if (in_ >= 0) ::close(in_);
  while (!kill_now && !child_.ended()) {
    const double left = seconds_left();
    const End state = wait_for_output(std::min(left, 0.005));
    if (state == End::Closed && err_ < 0) ::usleep(1000);
    if (left <= 0 || state == End::Memory || state == End::Interrupted) kill_now = true;
  }
  child_.kill();  // also processes left in its group
  static_cast<base::ProcessEnd&>(result) = child_.wait();
  drain(err_, stderr_);
  for (const int fd : {out_, err_})
    if (fd >= 0) ::close(fd);
  in_ = out_ = err_ = -1;
  reap_strays();
  if (stderr_.size() > kTailBytes) stderr_.erase(0, stderr_.size() - kTailBytes);
  result.kernel_out_of_memory = kernel_kills() > kernel_kills_;
  return result;
}

}  // namespace pagoda::tools::bench
