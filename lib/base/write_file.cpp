// Files that are whole or not there: a new file beside the old one, then a rename.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "pagoda/base/files.h"
#include "pagoda/base/text.h"

namespace pagoda::base {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  int get() const { return descriptor_; }
  bool close() {
    const int descriptor = descriptor_;
    descriptor_ = -1;
    return descriptor < 0 || ::close(descriptor) == 0;
  }

 private:
  int descriptor_;
};

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

[[noreturn]] void fail(const std::string& path, int code) {
  throw Error("cannot write " + printable(path) + ": " + std::strerror(code));
}

}  // namespace

void write_file(const std::string& path, std::string_view text) {
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0 || !write_all(file.get(), text) || !file.close()) fail(path, errno);
    return;
  }
  // A link stays a link: what it points to is replaced.
  std::string target = path;
  if (exists) {
    const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
    if (real) target = real.get();
  }
  const std::string temporary = target + ".tmp" + std::to_string(::getpid());
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) fail(path, errno);
  if (exists) (void)::fchmod(file.get(), status.st_mode & 07777);
  if (write_all(file.get(), text) && file.close() && ::rename(temporary.c_str(), target.c_str()) == 0) return;
  const int code = errno;
  ::unlink(temporary.c_str());
  fail(path, code);
}

}  // namespace pagoda::base
