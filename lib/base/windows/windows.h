// What the implementations for Windows share: names in UTF-16, and errors as errno.
#pragma once

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

#include <psapi.h>  // uses types of windows.h

#include <string>
#include <string_view>

namespace pagoda::base::windows {

std::wstring wide(std::string_view utf8);
std::string utf8(std::wstring_view wide);
int errno_of(unsigned long error);  // the errno of a value of GetLastError()
void set_errno();                   // from GetLastError()

// Closed on destruction.
class Handle {
 public:
  Handle() = default;
  explicit Handle(HANDLE handle) : handle_(handle == INVALID_HANDLE_VALUE ? nullptr : handle) {}
  Handle(Handle&& other) noexcept : handle_(other.take()) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      close();
      handle_ = other.take();
    }
    return *this;
  }
  ~Handle() { close(); }
  explicit operator bool() const { return handle_ != nullptr; }
  HANDLE get() const { return handle_; }
  HANDLE* place() { return &handle_; }
  HANDLE take() {
    const HANDLE handle = handle_;
    handle_ = nullptr;
    return handle;
  }
  void close() {
    if (handle_ != nullptr) ::CloseHandle(take());
  }

 private:
  HANDLE handle_ = nullptr;
};

}  // namespace pagoda::base::windows
