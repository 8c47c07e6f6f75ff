// A read-only mapping of a regular file.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "pagoda/core/model.h"

namespace pagoda::inline core {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) { throw Error(path + ": " + what); }

std::string reason() { return std::generic_category().message(errno); }

// Closes a descriptor at the end of a scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

void require_regular(const std::string& path, const struct stat& status) {
  if (S_ISDIR(status.st_mode)) fail(path, "is a folder, expected an ONNX file; name the .onnx file in it");
  if (!S_ISREG(status.st_mode))
    fail(path, "is a pipe or device, expected an ONNX file; save it to a regular file first");
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) fail(path, "cannot be opened: " + reason() + "; check the path");
  // Before opening: to open a pipe or device may wait or do something.
  require_regular(path, status);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.number() < 0) fail(path, "cannot be opened: " + reason() + "; check its permissions");
  if (::fstat(file.number(), &status) != 0) fail(path, "cannot be read: " + reason());
  require_regular(path, status);
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  void* mapping = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (mapping == MAP_FAILED) fail(path, "cannot be mapped: " + reason());
  // The walk hops from header to header: reading ahead would fetch weights.
  ::madvise(mapping, size_, MADV_RANDOM);
  data_ = static_cast<const std::byte*>(mapping);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release(std::size_t begin, std::size_t end) const {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  begin = (begin + page - 1) / page * page;
  end = std::min(end, size_) / page * page;
  if (begin < end) ::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

}  // namespace pagoda::inline core
