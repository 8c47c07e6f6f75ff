// A worker as a separate process: a process group that is killed as a whole, with limits of time and memory. Keeps the
// end of its standard error. If the runner dies in any way, the worker dies too.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pagoda/base/process.h"

namespace pagoda::tools::bench {

using Clock = std::chrono::steady_clock;

// Set on SIGINT and SIGTERM after watch_interrupts(); experiments then end without a record.
extern volatile std::sig_atomic_t interrupted;
void watch_interrupts();

struct ProcessLimits {
  double seconds = 0;                  // of wall time; 0: no limit
  std::int64_t memory_bytes = 0;       // resident, of the whole group; 0: no limit
  bool passes_on = false;              // also copy the worker's output to standard error
  std::function<void()> waiting = {};  // called several times a second while the worker does not answer; may be empty
};

// Why reading ended.
enum class End { Line, Closed, Timeout, Memory, Interrupted };

struct Exit : base::ProcessEnd {
  bool kernel_out_of_memory = false;  // meanwhile, the kernel killed some process for lack of memory
};

class Process {
 public:
  // Throws Error if the program cannot be started.
  Process(const std::vector<std::string>& command, const ProcessLimits& limits);
  ~Process();  // kills the rest of the group
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // False if the worker no longer reads.
  bool write_line(const std::string& line);
  // A line longer than 256 MiB ends reading as if the worker had closed its output.
  End read_line(std::string& line);
  // Waits for the end within the limits, then kills the group and its stray processes.
  Exit finish(bool kill_now);

  // Copies a line of standard output that is not an answer to standard error, if passes_on is set.
  void pass_on(const std::string& line) const;

  const std::string& stderr_tail() const { return stderr_; }
  std::int64_t seen_bytes() const { return seen_bytes_; }  // largest sampled sum over the group

 private:
  double seconds_left() const;
  End wait_for_output(double seconds_at_most);
  bool drain(int& fd, std::string& into);
  std::int64_t group_bytes() const;

  base::ChildProcess child_;
  int in_ = -1, out_ = -1, err_ = -1;
  std::string buffer_, stderr_;
  std::size_t searched_ = 0;  // bytes of buffer_ already searched for an end of line
  ProcessLimits limits_;
  Clock::time_point start_, next_look_;
  std::int64_t seen_bytes_ = 0, kernel_kills_ = 0;
  bool finished_ = false;
};

}  // namespace pagoda::tools::bench
