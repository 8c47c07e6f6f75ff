// The work of pagoda-profile.
#pragma once

#include "arguments.h"

namespace pagoda::tools::profile {

// Profiles according to the options, writes and prints the requested results, and returns the exit code: that of the
// program if it failed. Throws Error.
int run(const Options& options);

}  // namespace pagoda::tools::profile
