// What pagoda-profile does.
#pragma once

#include "arguments.h"

namespace pagoda::tools::profile {

// Profiles as the options say, writes and prints what they ask for, and returns the exit code, which is the program's
// own where that failed. Throws Error.
int run(const Options& options);

}  // namespace pagoda::tools::profile
