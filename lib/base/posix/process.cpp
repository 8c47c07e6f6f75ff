// Only async-signal-safe calls may run between fork and exec.
#include "pagoda/base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#elif defined(__APPLE__)
#include <crt_externs.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace pagoda::base {
namespace {

constexpr const char* kCopy = "a copy of this process";

// Functions of Linux that other systems, such as macOS, replace or lack.
#ifdef __linux__

// Both ends are closed by exec.
bool make_pipe(int (&ends)[2]) { return ::pipe2(ends, O_CLOEXEC) == 0; }

// Becomes the program, looked up in this process's PATH; returns if it cannot.
void execute(char* const* words, char* const* environment) { ::execvpe(words[0], words, environment); }

// In a child.
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

void execute(char* const* words, char* const* environment) {
  environ = const_cast<char**>(environment);
  ::execvp(words[0], words);
}

void die_with_parent() {}
void be_first_victim() {}

std::int64_t peak_bytes(const rusage& usage) { return usage.ru_maxrss; }

#endif

struct PipeEnds {
  OpenFile read, write;

  void open(const std::string& program) {
    int both[2];
    if (!make_pipe(both)) throw CannotStart(program, errno);
    read = OpenFile(both[0]);
    write = OpenFile(both[1]);
  }
};

// In the child: sets its group, signals, standard streams and folder; false if one of the last two failed.
bool arrange(const ProcessOptions& options, const std::array<int, 3>& streams, pid_t parent, const sigset_t& blocked) {
  if (options.is_group) {
    ::setpgid(0, 0);
    die_with_parent();
    if (::getppid() != parent) ::_exit(127);  // the parent died before that
  }
  if (options.is_first_victim) be_first_victim();
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  // exec resets handlers, but an ignored SIGPIPE would stay ignored.
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE})
    if (options.is_group || signal == SIGPIPE) ::sigaction(signal, &usual, nullptr);
  ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
  for (int i = 0; i < 3; ++i) {
    const int from = streams[static_cast<std::size_t>(i)];
    if (from >= 0 && ::dup2(from, i) < 0) return false;
  }
  return options.folder.empty() || ::chdir(options.folder.c_str()) == 0;
}

// Built before the fork, since the child must not allocate.
class Environment {
 public:
  explicit Environment(const std::vector<std::pair<std::string, std::string>>& more) {
#ifdef __APPLE__
    char** entry = *_NSGetEnviron();  // its libraries do not see `environ`
#else
    char** entry = environ;
#endif
    for (; *entry != nullptr; ++entry) {
      const std::string_view text = *entry, name = text.substr(0, text.find('='));
      if (std::none_of(more.begin(), more.end(), [&](const auto& set) { return set.first == name; }))
        texts_.emplace_back(text);
    }
    for (const auto& [name, value] : more) texts_.push_back(name + "=" + value);
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  char* const* get() const { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

// Reads both pipes to their ends and closes them; false if the time runs out first.
bool drain(std::array<OpenFile, 2>& pipes, double seconds, std::array<std::string*, 2> into) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  std::array<char, 65536> block{};
  while (pipes[0] || pipes[1]) {
    pollfd waiting[2] = {{pipes[0].descriptor(), POLLIN, 0}, {pipes[1].descriptor(), POLLIN, 0}};
    int milliseconds = -1;
    if (seconds > 0) {
      const double left = seconds - std::chrono::duration<double>(Clock::now() - start).count();
      if (left <= 0) return false;
      milliseconds = static_cast<int>(std::min(left, 3600.0) * 1000) + 1;
    }
    if (::poll(waiting, 2, milliseconds) < 0) continue;  // interrupted by a signal
    for (std::size_t i = 0; i < 2; ++i) {
      if (waiting[i].revents == 0) continue;
      if (const std::size_t got = pipes[i].read(block).value_or(0); got > 0)
        into[i]->append(block.data(), got);
      else
        pipes[i].close();
    }
  }
  return true;
}

Output finish(ChildProcess& child, std::array<OpenFile, 2> pipes, double seconds) {
  Output output;
  const bool is_late = !drain(pipes, seconds, {&output.out, &output.err});
  for (OpenFile& pipe : pipes) pipe.close();
  if (is_late) child.kill();
  output.end = child.wait();
  output.end.is_late = is_late;
  return output;
}

}  // namespace

struct ChildProcess::System {};

ChildProcess::ChildProcess(const std::vector<std::string>& words, const ProcessOptions& options) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const Environment environment(options.environment);
  PipeEnds report;
  report.open(words.at(0));
  start(
      [&](bool is_arranged) -> int {
        if (is_arranged) execute(arguments.data(), environment.get());
        const int error = errno;
        [[maybe_unused]] const ssize_t ignored = ::write(report.write.descriptor(), &error, sizeof error);
        return 127;
      },
      words[0], options);
  report.write.close();
  int error = 0;
  const auto got = report.read.read({reinterpret_cast<char*>(&error), sizeof error});
  if (got.value_or(0) == 0) return;  // exec has closed the other end
  wait();
  throw CannotStart(words[0], error);
}

ChildProcess::ChildProcess(const std::function<int()>& body, const ProcessOptions& options) {
  start(
      [&](bool) -> int {
        // The parent's handlers would report the child's crash as the parent's own.
        for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGALRM}) ::signal(number, SIG_DFL);
        for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
        try {
          return body();
        } catch (...) {
          return 1;  // nothing above can catch it
        }
      },
      kCopy, options);
}

void ChildProcess::start(const std::function<int(bool)>& body, const std::string& program,
                         const ProcessOptions& options) {
  PipeEnds in, out, err;
  OpenFile null;
  if (options.in == Stream::Pipe) in.open(program);
  if (options.out == Stream::Pipe) out.open(program);
  if (options.err == Stream::Pipe) err.open(program);
  if (options.in == Stream::Null || options.out == Stream::Null || options.err == Stream::Null)
    null = OpenFile(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto chosen = [&](Stream stream, const OpenFile& pipe) {
    return (stream == Stream::Null ? null : pipe).descriptor();
  };
  const std::array<int, 3> streams = {chosen(options.in, in.read), chosen(options.out, out.write),
                                      chosen(options.err, err.write)};
  is_group_ = options.is_group;
  const pid_t parent = ::getpid();
  // Blocks all signals, since the parent's handlers must not run in the child.
  sigset_t all, before;
  sigfillset(&all);  // a macro on some systems
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_ = ::fork();
  const int error = errno;
  if (pid_ == 0) ::_exit(body(arrange(options, streams, parent, before)));
  if (pid_ > 0 && options.started) options.started(pid_);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid_ < 0) throw CannotStart(program, error);
  if (is_group_) ::setpgid(pid_, pid_);  // the child also does this; either may be first
  in_ = std::move(in.write);
  out_ = std::move(out.read);
  err_ = std::move(err.read);
}

ChildProcess::~ChildProcess() {
  if (!end_) {
    kill();
    wait();
  }
}

void ChildProcess::kill() const {
  if (pid_ > 0 && (is_group_ || !end_)) ::kill(is_group_ ? -pid_ : pid_, SIGKILL);
}

std::optional<ProcessEnd> ChildProcess::collect(bool waits) {
  if (end_) return end_;
  int status = 0;
  rusage usage{};
  pid_t found = 0;
  while ((found = ::wait4(pid_, &status, waits ? 0 : WNOHANG, &usage)) < 0 && errno == EINTR) {
  }
  if (found == 0) return std::nullopt;
  end_.emplace();
  if (found < 0) return end_;  // already reaped elsewhere
  if (WIFEXITED(status)) end_->code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end_->signal = WTERMSIG(status);
  end_->peak_bytes = peak_bytes(usage);
  return end_;
}

Output run_and_capture(const std::vector<std::string>& words, ProcessOptions options) {
  options.out = Stream::Pipe;
  ChildProcess child(words, options);
  return finish(child, {OpenFile(child.take_out()), OpenFile(child.take_err())}, options.seconds);
}

Output ask_in_child(const std::function<int(int to)>& ask, double seconds) {
  // Not standard output, since libraries may print to it.
  PipeEnds answer;
  answer.open(kCopy);
  ChildProcess child([&] { return ask(answer.write.descriptor()); }, {});
  answer.write.close();
  return finish(child, {std::move(answer.read), OpenFile()}, seconds);
}

}  // namespace pagoda::base
