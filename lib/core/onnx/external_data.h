// Reads small pieces of external data files: only of regular files below the model's folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pagoda/core/graph.h"

namespace pagoda::inline core::wire {

class ExternalData {
 public:
  // Folders that data may lie below; empty names are none.
  explicit ExternalData(const std::vector<std::string>& folders);
  ExternalData(const ExternalData&) = delete;
  ExternalData& operator=(const ExternalData&) = delete;
  ~ExternalData();

  struct Bytes {
    std::string bytes;
    std::string problem;  // why there are none; empty when they were read
  };
  // The `bytes` bytes at the extent. Symbolic links and ".." are followed and must end below a folder; what is no
  // regular file is not opened.
  Bytes read(const Extent& extent, std::uint64_t bytes) const;

 private:
  const std::string& open(const std::string& location) const;

  std::vector<std::string> folders_;  // resolved, with a slash at the end
  // The file opened last: models keep their tensors in one file, or each in its own.
  mutable std::string location_, problem_;
  mutable int file_ = -1;
};

// The folders that external data of the model at `path` may lie below: the path's own and, behind a symbolic link,
// the file's own.
std::vector<std::string> folders_of(const std::string& path);

}  // namespace pagoda::inline core::wire
