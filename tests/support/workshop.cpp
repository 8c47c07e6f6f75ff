#include "support/workshop.h"

#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>
#include <stdexcept>

#include "support/files.h"

namespace pagoda::test {
namespace {

std::string new_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "pagoda-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a folder " + name);
  return name;
}

}  // namespace

Workshop::Workshop() : folder(new_folder()) {}

Workshop::~Workshop() {
  std::error_code ignored;  // a program that outlived its test may still write
  std::filesystem::remove_all(folder, ignored);
}

// What a program writes lies beside the folder, which holds only what tests put there.
Outcome Workshop::shell(const std::string& command) const {
  const std::string out = folder + ".out", err = folder + ".err";
  const int status =
      std::system(("cd '" + folder + "' && { " + command + "\n} </dev/null >'" + out + "' 2>'" + err + "'").c_str());
  Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(out), read_file(err)};
  for (const std::string& file : {out, err}) std::filesystem::remove(file);
  return outcome;
}

}  // namespace pagoda::test
