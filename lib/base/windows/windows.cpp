#include "windows/windows.h"

#include <cerrno>
#include <utility>

// A DLL exports every name that is not hidden, this one of the C library among them, which each program has of its own.
asm(".section .drectve,\"yn\"\n\t.ascii \" -exclude-symbols:atexit\"\n\t.text");

namespace pagoda::base::windows {

std::wstring wide(std::string_view utf8) {
  const int bytes = static_cast<int>(utf8.size());
  std::wstring text(static_cast<std::size_t>(::MultiByteToWideChar(CP_UTF8, 0, utf8.data(), bytes, nullptr, 0)), L'\0');
  ::MultiByteToWideChar(CP_UTF8, 0, utf8.data(), bytes, text.data(), static_cast<int>(text.size()));
  return text;
}

std::string utf8(std::wstring_view wide) {
  const int units = static_cast<int>(wide.size());
  const int bytes = ::WideCharToMultiByte(CP_UTF8, 0, wide.data(), units, nullptr, 0, nullptr, nullptr);
  std::string text(static_cast<std::size_t>(bytes), '\0');
  ::WideCharToMultiByte(CP_UTF8, 0, wide.data(), units, text.data(), bytes, nullptr, nullptr);
  return text;
}

int errno_of(unsigned long error) {
  constexpr std::pair<unsigned long, int> kErrors[] = {
      {ERROR_FILE_NOT_FOUND, ENOENT},    {ERROR_PATH_NOT_FOUND, ENOENT},   {ERROR_INVALID_NAME, ENOENT},
      {ERROR_BAD_PATHNAME, ENOENT},      {ERROR_INVALID_DRIVE, ENOENT},    {ERROR_ACCESS_DENIED, EACCES},
      {ERROR_SHARING_VIOLATION, EACCES}, {ERROR_LOCK_VIOLATION, EACCES},   {ERROR_FILE_EXISTS, EEXIST},
      {ERROR_ALREADY_EXISTS, EEXIST},    {ERROR_BAD_EXE_FORMAT, ENOEXEC},  {ERROR_DIRECTORY, ENOTDIR},
      {ERROR_DISK_FULL, ENOSPC},         {ERROR_HANDLE_DISK_FULL, ENOSPC}, {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
      {ERROR_OUTOFMEMORY, ENOMEM},       {ERROR_COMMITMENT_LIMIT, ENOMEM}, {ERROR_INVALID_PARAMETER, EINVAL},
  };
  for (const auto& [known, number] : kErrors)
    if (known == error) return number;
  return EIO;
}

void set_errno() { errno = errno_of(::GetLastError()); }

}  // namespace pagoda::base::windows
