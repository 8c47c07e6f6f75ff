// The program that a command names, examined before anything is started.
#pragma once

#include <string>

namespace pagoda::tools::profile {

struct Executable {
  std::string path;
  int exit_code = 0;    // a shell's code: 127, not found; 126, not executable
  std::string problem;  // empty: it can be started
  std::string warning;  // why recording it may fail; empty: no known reason
};

// Searches like execvp: a word with a slash is a path, any other is looked up in PATH.
Executable find_executable(const std::string& word);

}  // namespace pagoda::tools::profile
