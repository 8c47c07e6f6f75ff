// The state that the injected library's two entries share.
#pragma once

#include "recorder.h"

namespace pagoda::tools::profile {

// Null where nothing is asked for. Made at the first call: NVTX or CUDA, whichever the program reaches first.
Recorder* recorder();
const Settings& settings();

// Set before the first launch: what speaks to the device.
void set_device(Device device);
// Ends the record now, as at the end of the process.
void finish_record();
// Called at the end of the process before the last lines are written.
void at_end(void (*function)());

}  // namespace pagoda::tools::profile
