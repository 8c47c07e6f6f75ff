// A worker: a process of its own that answers requests in JSON lines (tools/bench/workers/README.md). Its process group
// has limits of time and memory and is killed as a whole. If the runner dies in any way, the worker dies too.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/process.h"
#include "pagoda/lab/study.h"
#include "worker_json.h"

namespace pagoda::tools::bench {

using Clock = std::chrono::steady_clock;

// Set on SIGINT and SIGTERM after watch_interrupts(); experiments then end without a record.
extern volatile std::sig_atomic_t interrupted;
void watch_interrupts();

// Takes what the worker is doing: "compiling by inductor", or "compiling by inductor, 40 s" once a second.
using ShowStage = std::function<void(const std::string&)>;

struct RunOptions {
  lab::ExperimentLimits limits;
  std::string folder;  // for files of workers and references; created if missing
  double threshold = 0.02;
  bool prints_workers = false;  // also copy the workers' output to standard error
  ShowStage shows_stage = {};   // may be empty
  base::Settings metadata;
};

// Why a conversation ended. Line: the worker answered with an event that ends it.
enum class End { Line, Closed, Timeout, Memory, Interrupted };

// The conversation ended early.
struct Ended {
  End end = End::Closed;
  std::string event = {}, kind = {}, message = {};
};

struct Exit : base::ProcessEnd {
  bool kernel_out_of_memory = false;  // meanwhile, the kernel killed some process for lack of memory
};

class Session {
 public:
  // Throws Error if the program cannot be started.
  Session(const std::vector<std::string>& command, const RunOptions& options);
  ~Session();  // kills the rest of the group
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Shows what is done from now on; with `ticks`, also how long it has taken. Workers name stages of their own.
  void stage(const std::string& name, bool ticks = true);

  // Sends a request and returns the answer, an object whose "event" is `expected`. Throws Ended.
  JsonValue ask(const std::string& asked, std::string_view expected);
  // Returns an empty object if the worker does not support the request.
  JsonValue ask_if_known(const std::string& asked, std::string_view expected);
  // Tells the worker to quit and waits for its end within the limits, or kills it; then kills its stray processes.
  Exit finish(bool kill_now);

  const std::string& stderr_tail() const { return stderr_; }
  std::int64_t seen_bytes() const { return seen_bytes_; }  // largest sampled sum over the group

 private:
  double seconds_left() const;
  std::string read_line();  // longer than 256 MiB: as if the worker had closed its output
  End wait_for_output(double seconds_at_most);
  bool drain(int& fd, std::string& into);
  std::int64_t group_bytes() const;
  void tick();

  lab::ExperimentLimits limits_;
  bool prints_;
  ShowStage show_;
  base::ChildProcess child_;
  int in_, out_, err_;
  std::string buffer_, stderr_, stage_;
  std::size_t searched_ = 0;  // bytes of buffer_ already searched for an end of line
  bool ticks_ = false, finished_ = false;
  Clock::time_point start_, next_look_, began_, shown_;
  std::int64_t seen_bytes_ = 0, kernel_kills_ = 0;
};

}  // namespace pagoda::tools::bench
