#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "pagoda/base/fail.h"
#include "pagoda/base/files.h"
#include "pagoda/base/text.h"

namespace pagoda::base {

std::string read_file(const std::string& path, std::string_view expected, std::size_t limit) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const auto stop = [&](const std::string& what) {
    if (file >= 0) ::close(file);
    fail(printable(path), what + "; expected " + std::string(expected));
  };
  const auto reason = [] { return std::string(std::strerror(errno)); };
  if (file < 0) stop("cannot be opened: " + reason());
  struct stat status {};
  std::string text;
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode))
    text.reserve(std::min(static_cast<std::size_t>(status.st_size), limit) + 1);
  for (char part[1 << 16];;) {
    const ssize_t length = ::read(file, part, sizeof part);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) stop("cannot be read: " + reason());
    if (length == 0) break;
    text.append(part, static_cast<std::size_t>(length));
    if (text.size() > limit) stop("over " + std::to_string(limit >> 20) + " MiB");
  }
  ::close(file);
  return text;
}

}  // namespace pagoda::base
