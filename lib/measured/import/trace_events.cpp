// The forms of an event.
#include "import/trace_events.h"

#include <cmath>
#include <utility>

#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"

namespace pagoda::measured::import {
namespace {

constexpr double kExact = 9e15;  // below, doubles hold all integers

}  // namespace

std::optional<double> event_number(const base::JsonField& event, const char* key) {
  const auto found = event.find(key);
  if (!found) return std::nullopt;
  if (found->value().is_number()) return found->number();
  const auto number = found->value().is_text() ? base::parse_number<double>(found->text()) : std::nullopt;
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<std::int64_t> event_integer(const base::JsonField& event, const char* key) {
  const std::optional<double> number = event_number(event, key);
  return number && std::abs(*number) < kExact ? std::optional(std::llround(*number)) : std::nullopt;
}

std::string event_text(const base::JsonField& event, const char* key) {
  const auto found = event.find(key);
  if (!found) return "";
  return found->value().is_text() ? found->text() : found->value().dump();
}

void TraceEvents::read(const base::JsonField& event) {
  if (!event.value().is_object()) event.fail("expected an event object");
  const std::string phase = event_text(event, "ph");
  if (phase == "X" || phase.empty()) {  // ONNX Runtime wrote none at first
    add_(event);
    return;
  }
  if (phase != "B" && phase != "E") return;
  std::vector<Begun>& begun = begun_[cat(event_text(event, "pid"), ":", event_text(event, "tid"))];
  if (phase == "B") {
    begun.push_back({event_number(event, "ts"), add_(event)});
  } else if (!begun.empty()) {
    const auto end = event_number(event, "ts");
    if (const auto& [start, set_duration] = begun.back(); start && end && set_duration) set_duration(*end - *start);
    begun.pop_back();
  }
}

}  // namespace pagoda::measured::import
