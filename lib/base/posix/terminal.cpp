#include "pagoda/base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace pagoda::base {

void prepare_standard_streams() {}

bool is_output_terminal() { return ::isatty(STDOUT_FILENO) != 0; }

std::size_t output_columns() {
  winsize size{};
  return is_output_terminal() && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace pagoda::base
