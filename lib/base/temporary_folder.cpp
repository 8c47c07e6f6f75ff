#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "pagoda/base/files.h"

namespace pagoda::base {

TemporaryFolder::TemporaryFolder(std::string_view purpose)
    : path_((std::filesystem::temp_directory_path() / (std::string(purpose) + "-XXXXXX")).string()) {
  if (mkdtemp(path_.data()) == nullptr)
    throw Error("no folder can be made in " + std::filesystem::temp_directory_path().string() + ": " +
                std::strerror(errno) + "; set TMPDIR to one that can be written");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace pagoda::base
