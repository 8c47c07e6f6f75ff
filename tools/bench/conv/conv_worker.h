// The worker of the backend `conv`: JSON lines on standard input and output (tools/bench/workers/README.md).
#pragma once

#include <iosfwd>

namespace pagoda::tools::conv {

int conv_worker(std::istream& requests, std::ostream& answers);

}  // namespace pagoda::tools::conv
