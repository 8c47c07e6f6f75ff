#include "pagoda/base/open_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace pagoda::base {
namespace {

FileState state_of(const struct stat& found) {
  return {.kind = S_ISREG(found.st_mode)   ? FileKind::Regular
                  : S_ISDIR(found.st_mode) ? FileKind::Folder
                                           : FileKind::Other,
          .bytes = static_cast<std::uint64_t>(found.st_size),
          .volume = static_cast<std::uint64_t>(found.st_dev),
          .number = static_cast<std::uint64_t>(found.st_ino),
          .permissions = static_cast<unsigned>(found.st_mode) & 07777U};
}

// Repeats a call that a signal interrupts; empty: it failed.
template <typename Call>
std::optional<std::size_t> repeated(const Call& call) {
  for (;;) {
    const auto result = call();
    if (result >= 0) return static_cast<std::size_t>(result);
    if (errno != EINTR) return std::nullopt;
  }
}

}  // namespace

std::optional<FileState> file_state(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return state_of(found);
}

std::string resolved_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : std::string();
}

bool can_write(const std::string& path) { return ::access(path.c_str(), W_OK) == 0; }
bool move_file(const std::string& from, const std::string& to) { return std::rename(from.c_str(), to.c_str()) == 0; }
bool remove_file(const std::string& path) { return ::unlink(path.c_str()) == 0; }

std::string make_unique_folder(const std::string& prefix) {
  std::string path = prefix + "XXXXXX";
  return ::mkdtemp(path.data()) != nullptr ? path : std::string();
}

unsigned long process_number() { return static_cast<unsigned long>(::getpid()); }

OpenFile OpenFile::any(const std::string& path) { return OpenFile(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); }

OpenFile OpenFile::regular(const std::string& path, bool follows_links) {
  return OpenFile(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (follows_links ? 0 : O_NOFOLLOW)));
}

OpenFile OpenFile::created(const std::string& path) {
  return OpenFile(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
}

#ifdef __linux__
OpenFile OpenFile::nameless(const std::string& folder) {
  // It gets its name through /proc.
  if (::access("/proc/self/fd", X_OK) != 0) return {};
  return OpenFile(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
}
#else
OpenFile OpenFile::nameless(const std::string&) {
  errno = ENOTSUP;
  return {};
}
#endif

OpenFile OpenFile::overwritten(const std::string& path) { return OpenFile(::open(path.c_str(), O_WRONLY | O_CLOEXEC)); }

OpenFile OpenFile::appended(const std::string& path) {
  return OpenFile(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
}

bool OpenFile::close() { return descriptor_ < 0 || ::close(take()) == 0; }

std::optional<FileState> OpenFile::state() const {
  struct stat found {};
  if (::fstat(descriptor_, &found) != 0) return std::nullopt;
  return state_of(found);
}

std::optional<std::size_t> OpenFile::read(std::span<char> bytes) const {
  return repeated([&] { return ::read(descriptor_, bytes.data(), bytes.size()); });
}

std::optional<std::size_t> OpenFile::read_at(std::uint64_t offset, std::span<char> bytes) const {
  if (offset > static_cast<std::uint64_t>(LLONG_MAX)) return 0;  // no file is that long
  return repeated([&] { return ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const auto written = repeated([&] { return ::write(descriptor, text.data(), text.size()); });
    if (written.value_or(0) == 0) return false;
    text.remove_prefix(*written);
  }
  return true;
}

bool OpenFile::set_permissions(unsigned permissions) const {
  return ::fchmod(descriptor_, static_cast<mode_t>(permissions)) == 0;
}

bool OpenFile::give_name(const std::string& path) const {
  const std::string nameless = "/proc/self/fd/" + std::to_string(descriptor_);
  return ::linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

bool OpenFile::lock() const {
  return repeated([&] { return ::flock(descriptor_, LOCK_EX); }).has_value();
}

bool OpenFile::sync() const { return ::fsync(descriptor_) == 0 || errno == EINVAL; }  // EINVAL: a pipe

const std::byte* OpenFile::map(std::size_t bytes) const {
  void* pages = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor_, 0);
  return pages == MAP_FAILED ? nullptr : static_cast<const std::byte*>(pages);
}

void unmap(const std::byte* pages, std::size_t bytes) { ::munmap(const_cast<std::byte*>(pages), bytes); }

void expect_order(std::span<const std::byte> pages, PageOrder order) {
  if (!pages.empty())
    ::madvise(const_cast<std::byte*>(pages.data()), pages.size(),
              order == PageOrder::Random ? MADV_RANDOM : MADV_SEQUENTIAL);
}

void release_pages(const std::byte* begin, const std::byte* end) {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
  const std::uintptr_t last = reinterpret_cast<std::uintptr_t>(end) / page * page;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace pagoda::base
