// The native backends of pagoda-bench, as commands and as a worker.
#pragma once

#include <iosfwd>

namespace pagoda::tools::conv {

// Arguments as in main, beginning with the subcommand's name. Return the exit code.
int conv_command(int argc, char** argv);    // convolutions of models over algorithms and input sizes
int matmul_command(int argc, char** argv);  // matrix products over libraries

// The worker of the backend `conv`: JSON lines (tools/bench/workers/README.md).
int conv_worker(std::istream& requests, std::ostream& answers);

}  // namespace pagoda::tools::conv
