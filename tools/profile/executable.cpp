// CUDA and NVTX load the profiler through the dynamic loader. Static programs have no loader, and for set-user-ID
// programs it ignores the environment.
#include "executable.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "system_files.h"

namespace pagoda::tools::profile {
namespace {

bool is_program(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

// Whether the file is a 64-bit ELF program without an interpreter (dynamic loader).
bool is_static(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr head = {};
  if (!file.read(reinterpret_cast<char*>(&head), sizeof head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr))
    return false;
  file.seekg(static_cast<std::streamoff>(head.e_phoff));
  for (int i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment = {};
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment) || segment.p_type == PT_INTERP) return false;
  }
  return true;
}

bool changes_user(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return false;
  return ((status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid()) ||
         ((status.st_mode & S_ISGID) != 0 && status.st_gid != getegid());
}

}  // namespace

Executable find_executable(const std::string& word) {
  Executable found;
  found.path = word.find('/') != std::string::npos ? word : program_file(word);
  if (found.path.empty() || access(found.path.c_str(), F_OK) != 0) {
    found.exit_code = 127;
    found.problem = word + ": there is no such program" +
                    (found.path.empty() ? " in PATH; write ./" + word + " for one in this folder" : "");
  } else if (!is_program(found.path)) {
    found.exit_code = 126;
    found.problem = word + ": cannot be executed; see whether it is a file with the permission to";
  } else if (changes_user(found.path)) {
    found.warning = word +
                    " runs as another user (set-user-ID), for which the loader ignores where the profiler lies: "
                    "start it as that user";
  } else if (is_static(found.path)) {
    found.warning = word +
                    " is linked statically, so that the profiler cannot be loaded into it, only into programs that "
                    "it starts: link it dynamically";
  }
  return found;
}

}  // namespace pagoda::tools::profile
