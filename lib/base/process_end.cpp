// How processes end, or why they cannot start.
#include <cstring>

#include "pagoda/base/process.h"

namespace pagoda::base {

CannotStart::CannotStart(const std::string& program, int number)
    : Error(program + ": cannot be started: " + std::strerror(number)), error(number) {}

std::string to_string(const ProcessEnd& end) {
  if (end.is_late) return "did not end within its time";
  if (end.signal) return "was ended by signal " + std::to_string(*end.signal);
  return "exited with " + std::to_string(end.code.value_or(-1));
}

}  // namespace pagoda::base
