// What the implementations for Windows share: names in UTF-16, and errors as errno.
#pragma once

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

#include <psapi.h>  // uses types of windows.h

#include <memory>
#include <string>
#include <string_view>

namespace pagoda::base::windows {

std::wstring wide(std::string_view utf8);
std::string utf8(std::wstring_view wide);
int errno_of(unsigned long error);  // the errno of a value of GetLastError()
void set_errno();                   // from GetLastError()

struct HandleCloser {
  void operator()(HANDLE handle) const { ::CloseHandle(handle); }
};
using Handle = std::unique_ptr<void, HandleCloser>;
// Takes the handle that CreateFileW() returned; null if it failed.
inline Handle file_handle(HANDLE file) { return Handle(file == INVALID_HANDLE_VALUE ? nullptr : file); }

}  // namespace pagoda::base::windows
