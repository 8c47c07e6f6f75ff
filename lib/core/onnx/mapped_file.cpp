// Regular files: opened with care, read and mapped.
#include "onnx/regular_file.h"

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

void require_regular(const std::string& path, const struct stat& status) {
  if (S_ISDIR(status.st_mode)) fail(path, "is a folder, expected an ONNX file; name the .onnx file in it");
  if (!S_ISREG(status.st_mode))
    fail(path, "is a pipe or device, expected an ONNX file; save it to a regular file first");
}

}  // namespace

RegularFile::RegularFile(const std::string& path) : path_(path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) fail(path, "cannot be opened: " + reason() + "; check the path");
  // Before opening: opening a pipe or device may block or have side effects.
  require_regular(path, status);
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file_ < 0) fail(path, "cannot be opened: " + reason() + "; check its permissions");
  try {
    if (::fstat(file_, &status) != 0) fail(path, "cannot be read: " + reason());
    require_regular(path, status);
  } catch (...) {
    ::close(file_);
    throw;
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

RegularFile::~RegularFile() { ::close(file_); }

void* RegularFile::map(std::size_t bytes) const {
  void* mapping = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file_, 0);
  return mapping == MAP_FAILED ? nullptr : mapping;
}

bool RegularFile::can_be_mapped() const {
  if (size_ == 0) return true;
  void* first = map(1);
  if (first != nullptr) ::munmap(first, 1);
  return first != nullptr;
}

void RegularFile::read(std::uint64_t offset, std::span<char> bytes) const {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = ::pread(file_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path_, "cannot be read: " + reason());
    if (got == 0) fail(path_, "has become shorter while it was read");
    done += static_cast<std::size_t>(got);
  }
}

MappedFile::MappedFile(const std::string& path) {
  const RegularFile file(path);
  size_ = static_cast<std::size_t>(file.size());
  if (size_ == 0) return;
  void* mapping = file.map(size_);
  if (mapping == nullptr) fail(path, "cannot be mapped: " + reason());
  // The walk jumps from header to header: read-ahead would fetch weights.
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
