// The program that a command names, looked at before anything is started.
#pragma once

#include <string>

namespace pagoda::tools::profile {

struct Executable {
  std::string path;
  int exit_code = 0;    // as shells have it: 127, there is none; 126, it cannot be executed
  std::string problem;  // empty: it can be started
  std::string warning;  // why nothing of it may be recorded; empty: nothing known
};

// Found as execvp does: by path where there is a slash, else in PATH.
Executable find_executable(const std::string& word);

}  // namespace pagoda::tools::profile
