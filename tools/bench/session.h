// A conversation with a worker: JSON lines as tools/bench/workers/README.md describes them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "process.h"

namespace pagoda::tools::bench {

using Json = nlohmann::json;

// The conversation ended before its time. `end` says how; Line: the worker answered with an event that ends it,
// `event`.
struct Ended {
  End end = End::Closed;
  Json event;
};

class Session {
 public:
  Session(const std::vector<std::string>& command, const ProcessLimits& limits) : process_(command, "", limits) {}

  // Sends a request and returns the answer, an object whose "event" is `expected`. Throws Ended.
  Json ask(const Json& request, const std::string& expected);
  // An empty object where the worker does not know the request.
  Json ask_if_known(const Json& request, const std::string& expected);
  Exit finish(bool kill_now) {
    if (!kill_now) process_.write_line(R"({"op":"quit"})");
    return process_.finish(kill_now);
  }
  const Process& process() const { return process_; }

 private:
  Process process_;
};

}  // namespace pagoda::tools::bench
