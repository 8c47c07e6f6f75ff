#include <cerrno>
#include <cstring>
#include <filesystem>

#include "pagoda/base/files.h"
#include "pagoda/base/open_file.h"

namespace pagoda::base {

TemporaryFolder::TemporaryFolder(std::string_view purpose)
    : path_(make_unique_folder((std::filesystem::temp_directory_path() / (std::string(purpose) + "-")).string())) {
  if (path_.empty())
    throw Error("no folder can be made in " + std::filesystem::temp_directory_path().string() + ": " +
                std::strerror(errno) + "; set TMPDIR to one that can be written");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace pagoda::base
