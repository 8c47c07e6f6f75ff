#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "pagoda/base/fail.h"
#include "pagoda/base/files.h"
#include "pagoda/base/open_file.h"
#include "pagoda/base/text.h"

namespace pagoda::base {

bool is_path(std::string_view name) {
  return name.find_first_of("/\\") != std::string_view::npos || name.ends_with(".json");
}

std::string read_file(const std::string& path, std::string_view expected, std::size_t limit) {
  const auto stop = [&](const std::string& what) {
    fail(printable(path), what + "; expected " + std::string(expected));
  };
  const auto reason = [] { return std::string(std::strerror(errno)); };
  const OpenFile file = OpenFile::any(path);
  if (!file) stop("cannot be opened: " + reason());
  std::string text;
  if (const auto found = file.state(); found && found->kind == FileKind::Regular)
    text.reserve(std::min(static_cast<std::size_t>(found->bytes), limit) + 1);
  for (std::array<char, 1 << 16> part{};;) {
    const auto length = file.read(part);
    if (!length) stop("cannot be read: " + reason());
    if (*length == 0) return text;
    text.append(part.data(), *length);
    if (text.size() > limit) stop("over " + std::to_string(limit >> 20) + " MiB");
  }
}

}  // namespace pagoda::base
