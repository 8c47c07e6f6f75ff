// Reads and writes whole files.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "pagoda/base/error.h"
#include "pagoda/base/what_file.h"

#pragma GCC visibility push(default)
namespace pagoda::base {

// Whether a name is that of a JSON file, not of something built in: it contains '/' or '\\', or ends in ".json" (or
// ".json.gz", ".json.zst", ".json.xz"), or is "-", standard input.
bool is_path(std::string_view name);

// Reads the whole file, at most `limit` bytes; "-" is standard input. A pipe or a device is read to its end. Throws
// Error, which names the file, the cause and `expected` ("a device file"). `reads`: what the messages propose.
std::string read_file(const std::string& path, std::string_view expected,
                      std::size_t limit = std::numeric_limits<std::size_t>::max(), Reads reads = Reads::Json);

// The same as UTF-8: decompressed and converted (decoded.h), at most `limit` bytes before and after. Throws Error also
// for a file of another kind than `reads`, which is named.
std::string read_text(const std::string& path, std::string_view expected, Reads reads = Reads::Json,
                      std::size_t limit = std::numeric_limits<std::size_t>::max());

// Writes `text` to a new file beside `path` and renames it to `path`, so that readers see either the old file or the
// complete new one. A pipe or a device (/dev/stdout) is written directly. Throws Error.
void write_file(const std::string& path, std::string_view text);

// Throws what write_file() would for a missing folder, a folder in place of the file, or missing permission, and
// changes nothing. For programs that compute for a long time before they write.
void check_writable(const std::string& path);

// A new folder in the system's temporary folder, removed with its contents on destruction. Throws Error if it cannot be
// created.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(std::string_view purpose);  // prefix of its name: "pagoda-plot"
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string path(std::string_view file) const { return path_ + "/" + std::string(file); }

 private:
  std::string path_;
};

}  // namespace pagoda::base
#pragma GCC visibility pop
