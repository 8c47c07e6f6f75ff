// Standard streams and the terminal behind them.
#pragma once

#include <cstddef>

#pragma GCC visibility push(default)
namespace pagoda::base {

// Before the first output of a program: text is UTF-8 and its line ends stay as they are. Only Windows needs it.
void prepare_standard_streams();
bool is_output_terminal();
std::size_t output_columns();  // of the terminal behind standard output; 0: there is none, or its width is not known

}  // namespace pagoda::base
#pragma GCC visibility pop
