// Shared by every main: exit codes, errors with an exit code, and a handler for all exceptions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/error.h"

namespace CLI {
class App;
}

namespace pagoda::tools {

enum ExitCode : int {
  kDone = 0,
  kUnusable = 1,    // input or output that cannot be used
  kUsage = 2,       // the command line
  kPartial = 3,     // a part is missing, or a budget is exceeded
  kNoDevice = 4,    // no such device, or no privilege
  kImpossible = 5,  // a measured value is impossible, or did not converge
  kOldDriver = 6,   // there is a device, but its driver is too old for this build
};

// A failure with its exit code; every other error means kUnusable.
class ToolError : public Error {
 public:
  ToolError(int code, const std::string& message) : Error(message), exit_code(code) {}
  int exit_code;
};

// The command line contradicts itself.
class UsageError : public ToolError {
 public:
  explicit UsageError(const std::string& message) : ToolError(kUsage, message) {}
};

// The library's reading of an option's value; its Error becomes a UsageError that names the option.
template <typename Parse>
auto parsed(std::string_view option, const Parse& parse) {
  try {
    return parse();
  } catch (const Error& error) {
    throw UsageError(std::string(option) + ": " + error.what());
  }
}

// False after --help or --version, which print to standard output. Throws UsageError.
bool parse(CLI::App& app, int argc, char** argv);

// Throws UsageError if `option`, which is a request of its own, is combined with any option that is not in `takes`.
void refuse_beside(const CLI::App& app, const std::string& option, const std::vector<std::string>& takes);

// Runs `body` and returns its result. On failure, prints "NAME: what happened" to standard error and returns an exit
// code: CLI::ParseError and UsageError 2 (CLI::Success 0), UnknownDevice 4, ToolError its own, everything else 1.
int run_tool(const char* name, int argc, char** argv, int (*body)(int argc, char** argv)) noexcept;

// Writes to standard output if `path` is empty or "-", else to a file, which is either complete or absent. Throws
// Error, also if the command line names that file a second time, as an input.
void write_output(const std::string& path, const std::string& text);

}  // namespace pagoda::tools
