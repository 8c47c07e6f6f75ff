// Sends requests and reads answers.
#include "session.h"

#include <chrono>

#include "pagoda/base/cat.h"

namespace pagoda::tools::bench {

void Session::stage(const std::string& name, bool ticks) {
  stage_ = name;
  ticks_ = ticks;
  began_ = shown_ = Clock::now();
  if (show_) show_(name);
}

// Without a terminal nothing is called, so that nothing wakes the runner.
ProcessLimits Session::with_ticks(ProcessLimits limits) {
  if (show_) limits.waiting = [this] { tick(); };
  return limits;
}

void Session::tick() {
  using std::chrono::seconds;
  const Clock::time_point now = Clock::now();
  if (!ticks_ || now - shown_ < seconds(1)) return;
  shown_ = now;
  show_(cat(stage_, ", ", std::chrono::duration_cast<seconds>(now - began_).count(), " s"));
}

JsonValue Session::ask(const std::string& asked, std::string_view expected) {
  process_.write_line(asked);
  std::string line;
  while (true) {
    const End end = process_.read_line(line);
    if (end != End::Line) throw Ended{end};
    // Ignore stray framework output.
    std::optional<JsonValue> answer = line.starts_with("{") ? parse_line(line) : std::nullopt;
    const std::string name = answer ? text(*answer, "event") : std::string();
    if (answer && name == expected) return std::move(*answer);
    if (name == "progress") stage(text(*answer, "message"), ticks_);
    if (name == "error" || name == "unavailable" || name == "unsupported")
      throw Ended{End::Line, name, text(*answer, "kind"), text(*answer, "message")};
    if (name.empty()) process_.pass_on(line);
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

}  // namespace pagoda::tools::bench
