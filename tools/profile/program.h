// The profiled program: examined before it starts, then run as a child process with its environment and signals.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pagoda/base/process.h"

namespace pagoda::tools::profile {

// Searches like execvp: a word with a slash is a path, any other is looked up in PATH. Throws ToolError with a shell's
// exit code if it cannot be started: 127, not found; 126, not executable. Returns why recording it may fail; empty: no
// known reason.
std::string check_program(const std::string& word);

// Runs the program to its end. Passes signals on to the child, except those that a terminal has sent to both processes.
// Throws ToolError with a shell's exit code, 127 or 126, if the program cannot be started.
base::ProcessEnd run_program(const std::vector<std::string>& words,
                             const std::vector<std::pair<std::string, std::string>>& environment);

// Ends this process as the program ended: by its exit code, or by the signal that ended it.
int end_as(const base::ProcessEnd& end);

}  // namespace pagoda::tools::profile
