// A worker as a process of its own: a group that is killed as a whole, limits of time and memory, the end of its
// standard error kept. When the runner dies, however it dies, so does the worker.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/base/process.h"

namespace pagoda::tools::bench {

using Clock = std::chrono::steady_clock;

// Set by SIGINT and SIGTERM after watch_interrupts(); experiments then end without a record.
extern volatile std::sig_atomic_t interrupted;
void watch_interrupts();

struct ProcessLimits {
  double seconds = 0;             // of wall time; 0: none
  std::int64_t memory_bytes = 0;  // resident, of the whole group; 0: none
  bool passes_on = false;         // what the worker prints goes to standard error as well
};

// Why reading ended.
enum class End { Line, Closed, Timeout, Memory, Interrupted };

struct Exit : base::ProcessEnd {
  bool kernel_out_of_memory = false;  // the kernel killed something for want of memory meanwhile
};

class Process {
 public:
  // Throws Error where the program cannot be started.
  Process(const std::vector<std::string>& command, const std::string& folder, const ProcessLimits& limits);
  ~Process();  // kills what is left of the group
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // False where the worker no longer reads.
  bool write_line(const std::string& line);
  // Lines longer than 256 MiB end the reading as if closed.
  End read_line(std::string& line);
  // Waits for the end, within the limits; kills the group and whatever left it.
  Exit finish(bool kill_now);

  // Standard output that is no answer, where it is to be seen.
  void pass_on(const std::string& line) const;

  const std::string& stderr_tail() const { return stderr_; }
  std::int64_t seen_bytes() const { return seen_bytes_; }  // largest sum over the group when it was looked at

 private:
  End wait_for_output(double seconds_at_most);
  bool drain(int& fd, std::string& into);
  std::int64_t group_bytes() const;

  base::ChildProcess child_;
  int in_ = -1, out_ = -1, err_ = -1;
  std::string buffer_, stderr_;
  std::size_t searched_ = 0;  // bytes of buffer_ that hold no end of line
  ProcessLimits limits_;
  Clock::time_point start_, next_look_;
  std::int64_t seen_bytes_ = 0, kernel_kills_ = 0;
  bool finished_ = false;
};

}  // namespace pagoda::tools::bench
