// Files, read and written whole.
#pragma once

#include <string>
#include <string_view>

#include "pagoda/base/error.h"

#pragma GCC visibility push(default)
namespace pagoda::base {

// Writes `text` to a new file beside `path` and renames it to `path`, so that readers see the old file or the whole
// new one. What is no regular file (a pipe, /dev/stdout) is written directly. Throws Error.
void write_file(const std::string& path, std::string_view text);

// Throws what write_file() would for a missing folder, a folder in its place or missing permission, and changes
// nothing: for programs that compute long before they write.
void check_writable(const std::string& path);

}  // namespace pagoda::base
#pragma GCC visibility pop
