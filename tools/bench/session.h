// A conversation with a worker in JSON lines (tools/bench/workers/README.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "process.h"
#include "worker_json.h"

namespace pagoda::tools::bench {

// The conversation ended early. `end` says how; Line: the worker answered with an event that ends it.
struct Ended {
  End end = End::Closed;
  std::string event = {}, kind = {}, message = {};
};

class Session {
 public:
  Session(const std::vector<std::string>& command, const ProcessLimits& limits) : process_(command, "", limits) {}

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
  Process process_;
};

}  // namespace pagoda::tools::bench
