// Atomic file writes: writes a new file beside the old one, then renames it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "pagoda/base/files.h"
#include "pagoda/base/process.h"
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

[[noreturn]] void fail(const std::string& path, int code) {
  throw Error("cannot write " + printable(path) + ": " + std::strerror(code));
}

// The destination of a file: its target, and the temporary file beside it until that is complete.
struct Place {
  std::string path, target, temporary;
  struct stat status = {};
  bool exists = false;

  explicit Place(const std::string& given) : path(given), target(given) {
    exists = ::stat(path.c_str(), &status) == 0;
    if (exists) {  // a link stays a link: its target is replaced
      const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
      if (real) target = real.get();
    }
    temporary = target + ".tmp" + std::to_string(::getpid());
  }
  // A pipe or a device, which a rename must not replace.
  bool is_direct() const { return exists && !S_ISREG(status.st_mode); }
  Descriptor open_temporary() const {
    const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) fail(path, errno);
    if (exists) (void)::fchmod(descriptor, status.st_mode & 07777);
    return Descriptor(descriptor);
  }
};

}  // namespace

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void write_file(const std::string& path, std::string_view text) {
  const Place place(path);
  if (place.is_direct()) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0 || !write_all(file.get(), text) || !file.close()) fail(path, errno);
    return;
  }
  Descriptor file = place.open_temporary();
  if (write_all(file.get(), text) && file.close() && ::rename(place.temporary.c_str(), place.target.c_str()) == 0)
    return;
  const int code = errno;
  ::unlink(place.temporary.c_str());
  fail(path, code);
}

void check_writable(const std::string& path) {
  const Place place(path);
  if (place.is_direct()) {  // opening a pipe would wait for its reader
    if (S_ISDIR(place.status.st_mode)) fail(path, EISDIR);
    if (::access(path.c_str(), W_OK) != 0) fail(path, errno);
    return;
  }
  (void)place.open_temporary();
  ::unlink(place.temporary.c_str());
}

}  // namespace pagoda::base
