// Files, read and written whole.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "pagoda/base/error.h"

#pragma GCC visibility push(default)
namespace pagoda::base {

// The whole file, of at most `limit` bytes; what is no regular file is read to its end. Throws Error that names it, the
// cause and `expected` ("a device file").
std::string read_file(const std::string& path, std::string_view expected,
                      std::size_t limit = std::numeric_limits<std::size_t>::max());

// Writes `text` to a new file beside `path` and renames it to `path`, so that readers see the old file or the whole
// new one. What is no regular file (a pipe, /dev/stdout) is written directly. Throws Error.
void write_file(const std::string& path, std::string_view text);

// Throws what write_file() would for a missing folder, a folder in its place or missing permission, and changes
// nothing: for programs that compute long before they write.
void check_writable(const std::string& path);

}  // namespace pagoda::base
#pragma GCC visibility pop
