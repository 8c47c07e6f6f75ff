// The backend cmd: runs any command, timed as a whole process or by the times that it prints.
#pragma once

namespace pagoda::tools::bench {

// Speaks the workers' protocol on standard input and output until told to quit. Returns the exit code.
int cmd_worker();

}  // namespace pagoda::tools::bench
