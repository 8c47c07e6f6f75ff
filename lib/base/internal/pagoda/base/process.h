// Child processes: programs started from an argument list, never through a shell, and functions run in a copy of this
// process because they may crash or hang.
//
//   const Output output = run_and_capture({"git", "rev-parse", "HEAD"}, {.err = Stream::Null, .seconds = 10});
//   if (output.end.succeeded()) use(output.out);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pagoda/base/error.h"
#include "pagoda/base/open_file.h"

#pragma GCC visibility push(default)
namespace pagoda::base {

enum class Stream : std::uint8_t {
  Inherit,  // this process's own
  Null,     // /dev/null
  Pipe,     // a pipe to this process
};

struct ProcessOptions {
  Stream in = Stream::Inherit, out = Stream::Inherit, err = Stream::Inherit;
  std::vector<std::pair<std::string, std::string>> environment = {};  // added to this process's own
  std::string folder = {};                                            // the working directory; empty: this process's
  bool is_group = false;         // leads its own process group and is killed when this process dies
  bool is_first_victim = false;  // the kernel kills it first when memory runs out
  // Called with the child's number before this process can receive another signal: a handler that it installs misses
  // none.
  std::function<void(int)> started = {};
  double seconds = 0;  // for run_and_capture(): time limit; 0: none
};

// How a process ended.
struct ProcessEnd {
  std::optional<int> code, signal;  // one of them is set
  bool is_late = false;             // killed at its time limit
  std::int64_t peak_bytes = 0;      // peak resident size: the largest of the process and the children it waited for
  bool succeeded() const { return code == 0 && !is_late; }
};
// "exited with 3", "was ended by signal 11", "did not end within its time".
inline std::string to_string(const ProcessEnd& end) {
  if (end.is_late) return "did not end within its time";
  if (end.signal) return "was ended by signal " + std::to_string(*end.signal);
  return "exited with " + std::to_string(end.code.value_or(-1));
}

// The program cannot be started.
class CannotStart : public Error {
 public:
  CannotStart(const std::string& program, int number)
      : Error(program + ": cannot be started: " + error_text(number)), error(number) {}
  int error;  // errno: ENOENT, EACCES …
};

// One running process.
class ChildProcess {
 public:
  // `words`: the program, looked up in PATH if it contains no slash, and its arguments. Throws CannotStart.
  explicit ChildProcess(const std::vector<std::string>& words, const ProcessOptions& options = {});
  // Runs `body` in a copy of this process, which exits with its result; an exception is exit code 1. `body` must not
  // depend on other threads. Throws CannotStart.
  ChildProcess(const std::function<int()>& body, const ProcessOptions& options);
  ~ChildProcess();  // kills the process and waits, unless it was waited for
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  int pid() const { return pid_; }
  // This side's end of a pipe, which the caller closes; -1 if the stream is not a pipe or was already taken.
  int take_in() { return in_.take(); }
  int take_out() { return out_.take(); }
  int take_err() { return err_.take(); }

  std::optional<ProcessEnd> ended() { return collect(/*waits=*/false); }
  ProcessEnd wait() { return collect(/*waits=*/true).value_or(ProcessEnd{}); }
  void kill() const;  // the whole group if it leads one

 private:
  // The argument of `body` says whether the streams and the folder were set up.
  void start(const std::function<int(bool)>& body, const std::string& program, const ProcessOptions& options);
  std::optional<ProcessEnd> collect(bool waits);
  struct System;                    // handles of the operating system besides the number
  std::unique_ptr<System> system_;  // null where it needs nothing
  int pid_ = -1;
  bool is_group_ = false;
  OpenFile in_, out_, err_;
  std::optional<ProcessEnd> end_;
};

struct Output {
  ProcessEnd end;
  std::string out, err;  // contents of the streams that are pipes
};
// Runs the program to its end. Captures `out`, and `err` if it is a pipe; `in` must not be a pipe. Throws CannotStart.
Output run_and_capture(const std::vector<std::string>& words, ProcessOptions options = {});

// Runs `ask` in a copy of this process and returns the bytes that it writes to the given descriptor: a crash or a hang
// loses only the answer. Throws CannotStart.
Output ask_in_child(const std::function<int(int to)>& ask, double seconds);

}  // namespace pagoda::base
#pragma GCC visibility pop
