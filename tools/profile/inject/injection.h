// State shared by the two entry points of the injected library.
#pragma once

#include "recorder.h"

namespace pagoda::tools::profile {

// Null if nothing is to be recorded. Created at the first call, from NVTX or CUDA, whichever the program uses first.
Recorder* recorder();
const Settings& settings();

// Sets the access to the device; call before the first launch.
void set_device(Device device);
// Ends the record now, as at the end of the process.
void finish_record();
// Registers a function to call at the end of the process, before the last lines are written.
void at_end(void (*function)());

}  // namespace pagoda::tools::profile
