#include "support/workshop.h"

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "support/files.h"

namespace pagoda::test {
// Output goes to files beside the folder, which contains only what tests put there.
Outcome Workshop::shell(const std::string& command) const {
  const std::string out = folder + ".out", err = folder + ".err";
  const int status =
      std::system(("cd '" + folder + "' && { " + command + "\n} </dev/null >'" + out + "' 2>'" + err + "'").c_str());
  Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(out), read_file(err)};
  for (const std::string& file : {out, err}) std::filesystem::remove(file);
  return outcome;
}

}  // namespace pagoda::test
