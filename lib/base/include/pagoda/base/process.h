// Child processes: programs started by their words, never by a shell, and questions put to a copy of this process that
// may crash or hang.
//
//   const Output output = run_and_capture({"git", "rev-parse", "HEAD"}, {.err = Stream::Null, .seconds = 10});
//   if (output.end.succeeded()) use(output.out);
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pagoda/base/error.h"

#pragma GCC visibility push(default)
namespace pagoda::base {

enum class Stream : std::uint8_t {
  Inherit,  // this process's own
  Null,     // /dev/null
  Pipe,     // a pipe whose other end is this process's
};

struct ProcessOptions {
  Stream in = Stream::Inherit, out = Stream::Inherit, err = Stream::Inherit;
  std::vector<std::pair<std::string, std::string>> environment = {};  // set in addition to this process's own
  std::string folder = {};                                            // the working directory; empty: this process's
  bool is_group = false;         // leads a process group of its own and is killed when this process dies
  bool is_first_victim = false;  // where memory runs out the kernel takes it first
  std::optional<sigset_t> blocked = std::nullopt;  // signals blocked in the child; empty: as in this process
  double seconds = 0;                              // of run_and_capture(): killed after this; 0: no limit
};

// How a process ended.
struct ProcessEnd {
  std::optional<int> code, signal;  // one of them
  bool is_late = false;             // killed at its time limit
  std::int64_t peak_bytes = 0;      // resident, of the largest among it and the children it waited for
  bool succeeded() const { return code == 0 && !is_late; }
};
// "exited with 3", "was ended by signal 11", "did not end within its time".
std::string to_string(const ProcessEnd& end);

// The program cannot be started.
class CannotStart : public Error {
 public:
  CannotStart(const std::string& program, int error);
  int error;  // errno: ENOENT, EACCES …
};

// One running process.
class ChildProcess {
 public:
  // `words`: the program, looked for in PATH where it holds no slash, and its arguments. Throws CannotStart.
  explicit ChildProcess(const std::vector<std::string>& words, const ProcessOptions& options = {});
  // Runs `body` in a copy of this process, which exits with its result; an exception is exit code 1. `body` must not
  // depend on other threads. Throws CannotStart.
  ChildProcess(const std::function<int()>& body, const ProcessOptions& options);
  ~ChildProcess();  // kills and waits where nobody has waited
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  int pid() const { return pid_; }
  // This side's end of a pipe, which the caller closes; -1 if the stream is not a pipe or was already taken.
  int take_in() { return std::exchange(in_, -1); }
  int take_out() { return std::exchange(out_, -1); }
  int take_err() { return std::exchange(err_, -1); }

  std::optional<ProcessEnd> ended();  // without waiting
  ProcessEnd wait();
  void kill() const;  // the whole group where it leads one

 private:
  // `body` learns whether streams and folder are as they should be.
  void start(const std::function<int(bool)>& body, const std::string& program, const ProcessOptions& options);
  void close_pipes();
  std::optional<ProcessEnd> collect(int wait_options);
  int pid_ = -1;
  bool is_group_ = false;
  int in_ = -1, out_ = -1, err_ = -1;
  std::optional<ProcessEnd> end_;
};

struct Output {
  ProcessEnd end;
  std::string out, err;  // of the streams that are pipes
};
// Runs to the end. `out` is a pipe, and `err` where it is asked for; `in` is not to be a pipe. Throws CannotStart.
Output run_and_capture(const std::vector<std::string>& words, ProcessOptions options = {});

// What `ask` writes to the descriptor it is given, asked in a copy of this process: a crash or a hang costs the answer
// and nothing else. Throws CannotStart.
Output ask_in_child(const std::function<int(int to)>& ask, double seconds);

// Writes all of it; false where the other end is closed.
bool write_all(int descriptor, std::string_view text);

}  // namespace pagoda::base
#pragma GCC visibility pop
