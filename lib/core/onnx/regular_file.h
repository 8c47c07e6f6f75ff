// A regular file, open for reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "pagoda/base/open_file.h"

namespace pagoda::inline core {

class RegularFile {
 public:
  // Throws Error unless it is a readable regular file.
  explicit RegularFile(const std::string& path);

  std::uint64_t size() const { return size_; }
  // False where the system cannot map files, as in a browser.
  bool can_be_mapped() const;
  // Its pages, read-only; null where they cannot be mapped, with errno set. It outlives the object.
  const std::byte* map(std::size_t bytes) const { return file_.map(bytes); }
  // Fills `bytes`, starting at `offset`. Throws Error when it cannot, or when the file has become shorter.
  void read(std::uint64_t offset, std::span<char> bytes) const;

 private:
  std::string path_;
  base::OpenFile file_;
  std::uint64_t size_ = 0;
};

}  // namespace pagoda::inline core
