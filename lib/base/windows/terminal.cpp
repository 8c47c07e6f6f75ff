#include "pagoda/base/terminal.h"

#include <fcntl.h>
#include <io.h>

#include <cstdio>

#include "windows/windows.h"

namespace pagoda::base {

void prepare_standard_streams() {
  for (std::FILE* stream : {stdin, stdout, stderr}) ::_setmode(::_fileno(stream), _O_BINARY);
  ::SetConsoleOutputCP(CP_UTF8);
}

bool is_output_terminal() {
  DWORD mode = 0;
  const HANDLE output = ::GetStdHandle(STD_OUTPUT_HANDLE);
  if (::GetConsoleMode(output, &mode) == 0) return false;
  // Colours are escape sequences, which a console understands once asked.
  ::SetConsoleMode(output, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  return true;
}

std::size_t output_columns() {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  if (::GetConsoleScreenBufferInfo(::GetStdHandle(STD_OUTPUT_HANDLE), &info) == 0) return 0;
  return static_cast<std::size_t>(info.srWindow.Right - info.srWindow.Left + 1);
}

}  // namespace pagoda::base
