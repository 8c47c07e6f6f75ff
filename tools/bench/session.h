// A conversation with a worker in JSON lines (tools/bench/workers/README.md).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "process.h"
#include "worker_json.h"

namespace pagoda::tools::bench {

// The conversation ended early. `end` says how; Line: the worker answered with an event that ends it.
struct Ended {
  End end = End::Closed;
  std::string event = {}, kind = {}, message = {};
};

// Takes what the worker is doing: "compiling by inductor", or "compiling by inductor, 40 s" once a second.
using ShowStage = std::function<void(const std::string&)>;

class Session {
 public:
  Session(const std::vector<std::string>& command, const ProcessLimits& limits, ShowStage show = {})
      : show_(std::move(show)), process_(command, with_ticks(limits)) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Shows what is done from now on; with `ticks`, also how long it has taken. Workers name stages of their own.
  void stage(const std::string& name, bool ticks = true);

  // Sends a request and returns the answer, an object whose "event" is `expected`. Throws Ended.
  JsonValue ask(const std::string& asked, std::string_view expected);
  // Returns an empty object if the worker does not support the request.
  JsonValue ask_if_known(const std::string& asked, std::string_view expected);
  Exit finish(bool kill_now) {
    if (!kill_now) process_.write_line(request("quit"));
    return process_.finish(kill_now);
  }
  const Process& process() const { return process_; }

 private:
  ProcessLimits with_ticks(ProcessLimits limits);
  void tick();

  ShowStage show_;
  std::string stage_;
  bool ticks_ = false;
  Clock::time_point began_, shown_;
  Process process_;
};

}  // namespace pagoda::tools::bench
