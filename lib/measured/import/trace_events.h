// Events of Chrome's trace format, as engines write them and as viewers save them again: numbers as texts, and a pair
// of events ("B", "E") for one ("X").
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "pagoda/base/json.h"

namespace pagoda::measured::import {

// A member that is a number, or a text that is one; empty for any other. "ts" and "dur" are in microseconds, whatever
// "displayTimeUnit" says.
std::optional<double> event_number(const base::JsonField& event, const char* key);
std::optional<std::int64_t> event_integer(const base::JsonField& event, const char* key);  // rounded
// A member as text; empty if it is missing.
std::string event_text(const base::JsonField& event, const char* key);

// Passes each event that has a duration to `add`, which returns the setter of that duration for an event that only
// begins, or nothing if it does not keep the event.
class TraceEvents {
 public:
  using SetDuration = std::function<void(double)>;
  explicit TraceEvents(std::function<SetDuration(const base::JsonField&)> add) : add_(std::move(add)) {}
  void read(const base::JsonField& event);

 private:
  struct Begun {
    std::optional<double> start;
    SetDuration set_duration;
  };
  std::function<SetDuration(const base::JsonField&)> add_;
  std::unordered_map<std::string, std::vector<Begun>> begun_;  // by process and thread, innermost last
};

}  // namespace pagoda::measured::import
