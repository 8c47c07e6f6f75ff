// The profiled program as a child process: its environment, its signals, its end.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace profile {

// Runs to the end; a status of waitpid. Signals that come to this process go on to the child, except those that a
// terminal has sent to both. Exit code 127, as of a shell, where there is no such program.
int run_program(const std::vector<std::string>& words,
                const std::vector<std::pair<std::string, std::string>>& environment);

// Ends this process as the program ended: by its exit code, or by the signal that ended it.
int end_as(int status);

}  // namespace profile
