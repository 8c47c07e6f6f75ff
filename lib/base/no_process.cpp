// For systems without processes, such as a browser: every attempt to start one throws CannotStart.
#include <cerrno>

#include "pagoda/base/process.h"

namespace pagoda::base {

struct ChildProcess::System {};

ChildProcess::ChildProcess(const std::vector<std::string>& words, const ProcessOptions&) {
  throw CannotStart(words.empty() ? "a program" : words.front(), ENOSYS);
}
ChildProcess::ChildProcess(const std::function<int()>&, const ProcessOptions&) {
  throw CannotStart("a copy of this process", ENOSYS);
}
ChildProcess::~ChildProcess() = default;
void ChildProcess::kill() const {}
std::optional<ProcessEnd> ChildProcess::collect(bool) { return end_; }

Output run_and_capture(const std::vector<std::string>& words, ProcessOptions options) {
  const ChildProcess child(words, options);
  return {};
}

Output ask_in_child(const std::function<int(int)>&, double) { throw CannotStart("a copy of this process", ENOSYS); }

}  // namespace pagoda::base
