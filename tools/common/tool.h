// What every main shares: exit codes, failures that carry one, and the catch that no exception escapes.
#pragma once

#include <string>
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
  kPartial = 3,     // a part is missing, or over a budget
  kNoDevice = 4,    // no such device, or no privilege
  kImpossible = 5,  // a measured value that cannot be, or that did not converge
  kOldDriver = 6,   // a device is there, and its driver is older than what this was built with needs
};

// A failure with the exit code that it ends a tool with; every other error means kUnusable.
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

// False after --help or --version, whose text is on standard output. Throws UsageError.
bool parse(CLI::App& app, int argc, char** argv);

// Throws UsageError where `option`, which answers by itself, stands beside any but those of `takes`.
void refuse_beside(const CLI::App& app, const std::string& option, const std::vector<std::string>& takes);

// Runs `body` and returns its result, or says "NAME: what happened" on standard error and returns the code of the
// failure: CLI::ParseError and UsageError 2 (CLI::Success 0), UnknownDevice 4, ToolError its own, everything else 1.
int run_tool(const char* name, int argc, char** argv, int (*body)(int argc, char** argv)) noexcept;

std::string utc_now();  // "2026-01-31T12:00:00Z"

// To standard output, where `path` is empty or "-", else a file that is whole or not there. Throws Error.
void write_output(const std::string& path, const std::string& text);

}  // namespace pagoda::tools
