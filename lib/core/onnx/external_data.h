// Reads small pieces of external data files: only of regular files below the model's folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/open_file.h"
#include "pagoda/core/graph.h"

namespace pagoda::inline core::wire {

// The location with which a skeleton refers to data inside its original file. No file has this name.
inline constexpr std::string_view kInModel = "<in the model>";

class ExternalData {
 public:
  // Folders below which data may be stored; empty names are ignored.
  explicit ExternalData(const std::vector<std::string>& folders);

  struct Bytes {
    std::string bytes;
    std::string problem;  // why there are no bytes; empty when they were read
  };
  // The `bytes` bytes at the extent. Symbolic links and ".." are followed and must end below a folder; only regular
  // files are opened.
  Bytes read(const Extent& extent, std::uint64_t bytes) const;

 private:
  const std::string& open(const std::string& location) const;

  std::vector<std::string> folders_;  // resolved, with a slash at the end
  // The last file opened: models keep all tensors in one file, or each in its own.
  mutable std::string location_, problem_;
  mutable base::OpenFile file_;
};

// The folders below which external data of the model at `path` may be stored: that of the path and, if it is a symbolic
// link, that of its target.
std::vector<std::string> folders_of(const std::string& path);

}  // namespace pagoda::inline core::wire
