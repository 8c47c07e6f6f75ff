#include "pagoda/base/open_file.h"

#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <share.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "windows/windows.h"

namespace pagoda::base {
namespace {

using windows::Handle;
using windows::wide;

// The most bytes of one call.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

int opened(const std::string& path, int flags) {
  int descriptor = -1;
  const errno_t error =
      ::_wsopen_s(&descriptor, wide(path).c_str(), flags | _O_BINARY | _O_NOINHERIT, _SH_DENYNO, _S_IREAD | _S_IWRITE);
  if (error != 0) errno = error;
  return descriptor;
}

HANDLE handle_of(int descriptor) { return reinterpret_cast<HANDLE>(::_get_osfhandle(descriptor)); }

// Any file or folder, for questions about it.
Handle asked(const std::string& path) {
  Handle handle =
      windows::file_handle(::CreateFileW(wide(path).c_str(), 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                                         nullptr, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr));
  if (!handle) windows::set_errno();
  return handle;
}

std::optional<FileState> state_of(HANDLE handle) {
  if (::GetFileType(handle) != FILE_TYPE_DISK) return FileState{};
  BY_HANDLE_FILE_INFORMATION found{};
  if (::GetFileInformationByHandle(handle, &found) == 0) {
    windows::set_errno();
    return std::nullopt;
  }
  const auto joined = [](DWORD high, DWORD low) { return std::uint64_t{high} << 32 | low; };
  return FileState{
      .kind = (found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? FileKind::Folder : FileKind::Regular,
      .bytes = joined(found.nFileSizeHigh, found.nFileSizeLow),
      .volume = found.dwVolumeSerialNumber,
      .number = joined(found.nFileIndexHigh, found.nFileIndexLow)};
}

OVERLAPPED at_offset(std::uint64_t offset) {
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return place;
}

}  // namespace

std::optional<FileState> file_state(const std::string& path) {
  const Handle handle = asked(path);
  if (!handle) return std::nullopt;
  return state_of(handle.get());
}

std::string resolved_path(const std::string& path) {
  const Handle handle = asked(path);
  if (!handle) return {};
  std::wstring found(32768, L'\0');  // the longest path
  const DWORD length =
      ::GetFinalPathNameByHandleW(handle.get(), found.data(), static_cast<DWORD>(found.size()), FILE_NAME_NORMALIZED);
  if (length == 0 || length >= found.size()) {
    windows::set_errno();
    return {};
  }
  found.resize(length);
  std::string text = windows::utf8(found);
  // The form that has no limit of length: \\?\C:\folder, \\?\UNC\server\folder.
  constexpr std::string_view kNetwork = "\\\\?\\UNC\\", kLong = "\\\\?\\";
  if (text.starts_with(kNetwork))
    text.replace(0, kNetwork.size(), "\\\\");
  else if (text.starts_with(kLong))
    text.erase(0, kLong.size());
  std::replace(text.begin(), text.end(), '\\', '/');
  return text;
}

bool can_write(const std::string& path) { return ::_waccess(wide(path).c_str(), 2) == 0; }

bool move_file(const std::string& from, const std::string& to) {
  if (::MoveFileExW(wide(from).c_str(), wide(to).c_str(), MOVEFILE_REPLACE_EXISTING) != 0) return true;
  windows::set_errno();
  return false;
}

bool remove_file(const std::string& path) { return ::_wunlink(wide(path).c_str()) == 0; }

std::string make_unique_folder(const std::string& prefix) {
  for (unsigned attempt = 0; attempt < 1000; ++attempt) {
    std::string path = prefix + std::to_string(process_number()) + "-" + std::to_string(::GetTickCount() + attempt);
    if (::_wmkdir(wide(path).c_str()) == 0) return path;
    if (errno != EEXIST) break;
  }
  return {};
}

unsigned long process_number() { return ::GetCurrentProcessId(); }

OpenFile OpenFile::any(const std::string& path) { return OpenFile(opened(path, _O_RDONLY)); }

OpenFile OpenFile::regular(const std::string& path, bool follows_links) {
  if (!follows_links) {
    const DWORD attributes = ::GetFileAttributesW(wide(path).c_str());
    if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0) {
      errno = ELOOP;
      return {};
    }
  }
  return OpenFile(opened(path, _O_RDONLY));
}

OpenFile OpenFile::created(const std::string& path) { return OpenFile(opened(path, _O_WRONLY | _O_CREAT | _O_EXCL)); }

OpenFile OpenFile::nameless(const std::string&) {
  errno = ENOSYS;
  return {};
}

OpenFile OpenFile::overwritten(const std::string& path) { return OpenFile(opened(path, _O_WRONLY)); }

OpenFile OpenFile::appended(const std::string& path) { return OpenFile(opened(path, _O_RDWR | _O_APPEND | _O_CREAT)); }

bool OpenFile::close() { return descriptor_ < 0 || ::_close(take()) == 0; }

std::optional<FileState> OpenFile::state() const { return state_of(handle_of(descriptor_)); }

std::optional<std::size_t> OpenFile::read(std::span<char> bytes) const {
  const int got = ::_read(descriptor_, bytes.data(), static_cast<unsigned>(std::min(bytes.size(), kMostBytes)));
  if (got < 0) return std::nullopt;
  return static_cast<std::size_t>(got);
}

std::optional<std::size_t> OpenFile::read_at(std::uint64_t offset, std::span<char> bytes) const {
  if (offset > static_cast<std::uint64_t>(LLONG_MAX)) return 0;  // no file is that long
  OVERLAPPED place = at_offset(offset);
  DWORD got = 0;
  if (::ReadFile(handle_of(descriptor_), bytes.data(), static_cast<DWORD>(std::min(bytes.size(), kMostBytes)), &got,
                 &place) != 0)
    return got;
  if (::GetLastError() == ERROR_HANDLE_EOF) return 0;
  windows::set_errno();
  return std::nullopt;
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const int written = ::_write(descriptor, text.data(), static_cast<unsigned>(std::min(text.size(), kMostBytes)));
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool OpenFile::set_permissions(unsigned) const { return true; }

bool OpenFile::give_name(const std::string&) const {
  errno = ENOSYS;
  return false;
}

bool OpenFile::lock() const {
  // A byte behind every file: a lock on Windows keeps others from reading the range, too.
  OVERLAPPED place = at_offset(std::uint64_t{LLONG_MAX});
  if (::LockFileEx(handle_of(descriptor_), LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &place) != 0) return true;
  windows::set_errno();
  return false;
}

bool OpenFile::sync() const { return ::_commit(descriptor_) == 0; }

const std::byte* OpenFile::map(std::size_t bytes) const {
  const Handle mapping(::CreateFileMappingW(handle_of(descriptor_), nullptr, PAGE_READONLY, 0, 0, nullptr));
  const void* pages = mapping ? ::MapViewOfFile(mapping.get(), FILE_MAP_READ, 0, 0, bytes) : nullptr;
  if (pages == nullptr) windows::set_errno();
  return static_cast<const std::byte*>(pages);
}

void unmap(const std::byte* pages, std::size_t) { ::UnmapViewOfFile(pages); }

void expect_order(std::span<const std::byte>, PageOrder) {}  // Windows decides by itself

// Unlocking pages that are not locked removes them from the working set.
void release_pages(const std::byte* begin, const std::byte* end) {
  if (begin < end) ::VirtualUnlock(const_cast<std::byte*>(begin), static_cast<SIZE_T>(end - begin));
}

}  // namespace pagoda::base
