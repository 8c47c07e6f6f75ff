// Starts, asks, monitors and ends workers.
#include "session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

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

Session::Session(const std::vector<std::string>& command, const RunOptions& options)
    : limits_(options.limits),
      prints_(options.prints_workers),
      show_(options.shows_stage),
      // If memory runs out, the kernel should kill the worker, not the runner.
      child_(command, {.in = base::Stream::Pipe,
                       .out = base::Stream::Pipe,
                       .err = base::Stream::Pipe,
                       .is_group = true,
                       .is_first_victim = true}),
      in_(child_.take_in()),
      out_(child_.take_out()),
      err_(child_.take_err()),
      start_(Clock::now()),
      next_look_(start_),
      kernel_kills_(kernel_kills()) {
  std::signal(SIGPIPE, SIG_IGN);
  for (const int fd : {out_, err_}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
}

Session::~Session() {
  if (!finished_) finish(true);
}

void Session::stage(const std::string& name, bool ticks) {
  stage_ = name;
  ticks_ = ticks;
  began_ = shown_ = Clock::now();
  if (show_) show_(name);
}

void Session::tick() {
  using std::chrono::seconds;
  const Clock::time_point now = Clock::now();
  if (!show_ || !ticks_ || now - shown_ < seconds(1)) return;
  shown_ = now;
  show_(cat(stage_, ", ", std::chrono::duration_cast<seconds>(now - began_).count(), " s"));
}

// Appends available data; false if the other end is closed.
bool Session::drain(int& fd, std::string& into) {
  char block[65536];
  while (fd >= 0) {
    const ssize_t n = ::read(fd, block, sizeof block);
    if (n > 0) {
      into.append(block, static_cast<std::size_t>(n));
      if (&into == &stderr_ && prints_) base::write_all(STDERR_FILENO, {block, static_cast<std::size_t>(n)});
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

std::int64_t Session::group_bytes() const {
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

double Session::seconds_left() const {
  return limits_.seconds > 0 ? limits_.seconds - std::chrono::duration<double>(Clock::now() - start_).count() : 1e9;
}

End Session::wait_for_output(double seconds_at_most) {
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

std::string Session::read_line() {
  while (true) {
    if (const std::size_t end = buffer_.find('\n', searched_); end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      searched_ = 0;
      return line;
    }
    searched_ = buffer_.size();
    if (out_ < 0 || buffer_.size() > kLongestLine) throw Ended{End::Closed};
    const double left = seconds_left();
    if (left <= 0) throw Ended{End::Timeout};
    const End state = wait_for_output(left);
    if (state == End::Memory || state == End::Interrupted) throw Ended{state};
    tick();
  }
}

JsonValue Session::ask(const std::string& asked, std::string_view expected) {
  base::write_all(in_, asked + "\n");
  while (true) {
    const std::string line = read_line();
    // Ignore stray framework output.
    std::optional<JsonValue> answer = line.starts_with("{") ? parse_line(line) : std::nullopt;
    const std::string name = answer ? text(*answer, "event") : std::string();
    if (answer && name == expected) return std::move(*answer);
    if (name == "progress") stage(text(*answer, "message"), ticks_);
    if (name == "error" || name == "unavailable" || name == "unsupported")
      throw Ended{End::Line, name, text(*answer, "kind"), text(*answer, "message")};
    if (name.empty() && prints_) base::write_all(STDERR_FILENO, line + "\n");
  }
}

JsonValue Session::ask_if_known(const std::string& asked, std::string_view expected) {
  try {
    return ask(asked, expected);
  } catch (const Ended& ended) {
    if (ended.end != End::Line || ended.event != "unsupported") throw;
    return JsonValue{JsonValue::Object{}};
  }
}

Exit Session::finish(bool kill_now) {
  Exit result;
  if (finished_) return result;
  finished_ = true;
  if (!kill_now) base::write_all(in_, request("quit") + "\n");
  ::close(in_);
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
